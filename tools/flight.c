#include "flight.h"

#include "base/clock.h"
#include "capture/flight_plan.h"
#include "capture/trigger.h"
#include "control.h"
#include "flight_dump.h"
#include "output/paint.h"
#include "session/ring.h"
#include "signals.h"
#include "target.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct fperf_flight {
	struct fperf_flight_options options;
	struct fperf_ring *ring;
	struct fperf_writer *writer; /* into the ring */
	struct fperf_triggers *triggers;
	struct fperf_capture *capture;
	struct fperf_control *control; /* NULL: cannot be asked */
	struct fperf_flight_plan plan;
	struct fperf_trigger_event event; /* that led to the session that is due */
	uint64_t begun_ns;
	unsigned int signals; /* SIGUSR2 so far */
	pid_t writing;	      /* child that writes a session; 0: none */
	char path[PATH_MAX];  /* of that */
	bool failed;	      /* a session could not be written */
};

int fperf_flight__open(const struct fperf_flight_options *options, struct fperf_flight **result,
		       struct fperf_error *err)
{
	const struct fperf_flight_config *config = &options->config->flight;
	struct fperf_ring_options ring = {.bytes = config->bytes,
					  .span_ns = config->span_ns + config->post_ns};
	struct fperf_flight *flight = calloc(1, sizeof(*flight));
	struct fperf_writer_options writer = {0};
	struct fperf_sink sink;
	int ret;

	if (!flight)
		return fperf_error__no_memory(err, "the flight recorder");
	flight->options = *options;
	flight->plan.options = (struct fperf_flight_plan_options){
		.post_ns = config->post_ns, .cooldown_ns = config->cooldown_ns, .limit = config->limit};
	ret = fperf_ring__new(&ring, &flight->ring, err);
	if (!ret) {
		sink = fperf_ring__sink(flight->ring);
		writer.sink = &sink;
		ret = fperf_writer__open(&writer, &flight->writer, err);
	}
	ret = ret ? ret : fperf_triggers__new(config->rules, config->rule_count, &flight->triggers, err);
	if (ret) {
		fperf_flight__close(flight);
		return ret;
	}
	*result = flight;
	return 0;
}

void fperf_flight__close(struct fperf_flight *flight)
{
	struct fperf_error ignored;

	if (!flight)
		return;
	fperf_control__close(flight->control);
	if (flight->writer)
		fperf_writer__close(flight->writer, &ignored);
	fperf_triggers__free(flight->triggers);
	fperf_ring__free(flight->ring);
	free(flight);
}

struct fperf_writer *fperf_flight__writer(struct fperf_flight *flight)
{
	return flight->writer;
}

struct fperf_triggers *fperf_flight__triggers(struct fperf_flight *flight)
{
	return flight->triggers;
}

uint32_t fperf_flight__sessions(const struct fperf_flight *flight)
{
	return flight->plan.number;
}

void fperf_flight__begin(struct fperf_flight *flight, struct fperf_capture *capture)
{
	const struct fperf_flight_config *config = &flight->options.config->flight;
	struct fperf_error err;
	char name[64];

	flight->capture = capture;
	flight->begun_ns = fperf_clock__now_ns();
	flight->signals = fperf_signals__triggers();
	fperf_process_name(flight->options.target, name, sizeof(name));
	if (fperf_control__open(flight->options.target, name, flight->options.invoker.uid, &flight->control,
				&err))
		fperf_console__note(flight->options.console, "`frameperf trigger` will not work: %s",
				    err.text);
	fperf_console__note(flight->options.console,
			    "lying in wait with the last %s in memory: %zu trigger%s, and SIGUSR2 or "
			    "`frameperf trigger -p %d`",
			    fperf_words__duration(config->span_ns).text, config->rule_count,
			    config->rule_count == 1 ? "" : "s", (int)getpid());
}

/* Before the ".fperf" of the path: "-stall-1". */
static void path_choose(struct fperf_flight *flight)
{
	const char *path = flight->options.path, *end = strstr(path, ".fperf");
	size_t size = strlen(path);

	if (end && !strcmp(end, ".fperf"))
		size -= strlen(".fperf");
	snprintf(flight->path, sizeof(flight->path), "%.*s-%s-%u.fperf", (int)size, path,
		 fperf_trigger_kind__name(flight->event.kind), flight->plan.number);
}

static int trigger_write(struct fperf_flight *flight, const struct fperf_trigger_event *event, bool first,
			 struct fperf_error *err)
{
	struct fperf_rec_trigger record = {
		.time_ns = event->time_ns,
		.since_ns = event->since_ns,
		.value = event->value,
		.limit = event->limit,
		.number = flight->plan.number,
		.rule = fperf_writer__text(flight->writer, event->rule),
		.reason = fperf_writer__text(flight->writer, event->reason),
		.thread = event->tid ? fperf_capture__thread_id(flight->capture, event->tid) : 0,
		.kind = event->kind,
		.first = first,
	};

	return fperf_writer__add(flight->writer, FPERF_RECORD_TRIGGER, &record, err);
}

/* What happens now is worth a look, while it lasts. */
static int session_begin(struct fperf_flight *flight, const struct fperf_trigger_event *event,
			 struct fperf_error *err)
{
	int ret;

	flight->event = *event;
	fperf_console__progress_end(flight->options.console);
	fperf_console__note(flight->options.console, "trigger %u: %s%s%s", flight->plan.number, event->rule,
			    event->rule[0] ? ": " : "", event->reason);
	ret = trigger_write(flight, event, true, err);
	return ret ? ret : fperf_capture__snapshot(flight->capture, err);
}

static int fire(struct fperf_flight *flight, const struct fperf_trigger_event *event,
		enum fperf_flight_answer *answer, struct fperf_error *err)
{
	/* What it is about may have begun before everything ran. */
	*answer = fperf_flight_plan__fire(&flight->plan, fperf_clock__now_ns());
	if (*answer == FPERF_FLIGHT_BEGINS)
		return session_begin(flight, event, err);
	return *answer == FPERF_FLIGHT_JOINS ? trigger_write(flight, event, false, err) : 0;
}

static struct fperf_trigger_event event_by_hand(uint8_t kind, const char *reason)
{
	struct fperf_trigger_event event = {.kind = kind, .time_ns = fperf_clock__now_ns()};

	snprintf(event.reason, sizeof(event.reason), "%s", reason);
	return event;
}

/* A request through the socket. */
struct request {
	struct fperf_flight *flight;
	struct fperf_error *err;
	int result;
};

static void request_answer(void *context, char *text, size_t size)
{
	struct fperf_trigger_event event =
		event_by_hand(FPERF_TRIGGER_COMMAND, "asked for by frameperf trigger");
	struct request *request = context;
	struct fperf_flight *flight = request->flight;
	enum fperf_flight_answer answer;

	request->result = fire(flight, &event, &answer, request->err);
	if (request->result) {
		snprintf(text, size, "failed: %.120s", request->err->text);
		return;
	}
	switch (answer) {
	case FPERF_FLIGHT_BEGINS:
		snprintf(text, size, "session %u will be written in %.1f s", flight->plan.number,
			 (double)flight->plan.options.post_ns / 1e9);
		break;
	case FPERF_FLIGHT_JOINS:
		snprintf(text, size, "session %u, which is about to be written, will have it",
			 flight->plan.number);
		break;
	case FPERF_FLIGHT_COOLS:
		snprintf(text, size, "refused: cools down for another %.1f s",
			 (double)fperf_flight_plan__cooldown(&flight->plan, fperf_clock__now_ns()) / 1e9);
		break;
	default:
		snprintf(text, size, "refused: all %u sessions have been written", flight->plan.number);
		break;
	}
}

static int events_take(struct fperf_flight *flight, struct fperf_error *err)
{
	struct request request = {.flight = flight, .err = err};
	unsigned int signals = fperf_signals__triggers();
	enum fperf_flight_answer answer;
	struct fperf_trigger_event event;
	int ret = 0;

	if (signals != flight->signals) {
		flight->signals = signals;
		event = event_by_hand(FPERF_TRIGGER_SIGNAL, "SIGUSR2 was sent");
		ret = fire(flight, &event, &answer, err);
	}
	while (!ret && fperf_triggers__next(flight->triggers, &event))
		ret = fire(flight, &event, &answer, err);
	if (!ret && flight->control)
		fperf_control__serve(flight->control, request_answer, &request);
	return ret ? ret : request.result;
}

static int epoch_begin(struct fperf_flight *flight, struct fperf_error *err)
{
	int ret = fperf_writer__forget_strings(flight->writer, err);

	ret = ret ? ret : fperf_ring__begin_epoch(flight->ring, err);
	ret = ret ? ret
		  : fperf_capture__begin_epoch(
			    flight->capture,
			    fperf_ring__epoch(flight->ring) - fperf_ring__first_epoch(flight->ring) + 1, err);
	return ret ? ret : fperf_writer__flush(flight->writer, false, err);
}

/* A copy of this process writes the file, and recording goes on. */
static int dump_begin(struct fperf_flight *flight, const char *end_reason, struct fperf_error *err)
{
	const struct fperf_flight_config *config = &flight->options.config->flight;
	struct fperf_dump dump = {
		.ring = flight->ring,
		.capture = flight->capture,
		.config = flight->options.config,
		.console = flight->options.console,
		.path = flight->path,
		.invoker = flight->options.invoker,
		.target = flight->options.target,
		.end_reason = end_reason,
		.begun_ns = flight->begun_ns,
	};
	int ret;

	path_choose(flight);
	if (config->pre_ns && flight->plan.fired_ns > config->pre_ns)
		dump.from_ns = flight->plan.fired_ns - config->pre_ns;
	ret = fperf_writer__flush(flight->writer, false, err);
	dump.first_string = fperf_writer__last_string(flight->writer);
	ret = ret ? ret : fperf_capture__look(flight->capture, &dump.end_ns, err);
	fperf_flight_plan__written(&flight->plan);
	return ret ? ret : fperf_dump__begin(&dump, &flight->writing, err);
}

/* Older sessions make room for the one that has just been written. */
static void directory_tidy(struct fperf_flight *flight)
{
	const struct fperf_bounds *bounds = &flight->options.config->bounds;
	struct fperf_error err;

	if (bounds->directory && fperf_bounds__rotate(bounds, 0, flight->options.invoker, &err) < 0)
		fperf_console__note(flight->options.console, "%s", err.text);
}

static void dump_end(struct fperf_flight *flight, int flags)
{
	int status = 0;
	pid_t ended = flight->writing ? waitpid(flight->writing, &status, flags) : 0;

	if (ended != flight->writing && !(ended < 0 && errno == ECHILD))
		return;
	if (!flight->writing)
		return;
	flight->writing = 0;
	if (ended > 0 && WIFEXITED(status) && !WEXITSTATUS(status)) {
		directory_tidy(flight);
		return; /* it has said so itself */
	}
	flight->failed = true;
	if (ended > 0 && WIFSIGNALED(status))
		fperf_console__error(flight->options.console,
				     "%s: what should have written it was killed by signal %d", flight->path,
				     WTERMSIG(status));
}

int fperf_flight__step(struct fperf_flight *flight, struct fperf_error *err)
{
	int ret = events_take(flight, err);

	dump_end(flight, WNOHANG);
	if (!ret && !flight->writing && fperf_flight_plan__is_due(&flight->plan, fperf_clock__now_ns())) {
		/* A session that cannot be written is no reason not to watch for the next. */
		if (dump_begin(flight, "trigger", err)) {
			fperf_console__error(flight->options.console, "%s: %s", flight->path, err->text);
			flight->failed = true;
		}
	}
	if (!ret && fperf_ring__wants_epoch(flight->ring))
		ret = epoch_begin(flight, err);
	return ret;
}

int fperf_flight__end(struct fperf_flight *flight, const char *end_reason)
{
	struct fperf_error err;

	dump_end(flight, 0);
	if (flight->plan.due && dump_begin(flight, end_reason, &err)) {
		fperf_console__error(flight->options.console, "%s: %s", flight->path, err.text);
		flight->failed = true;
	}
	dump_end(flight, 0);
	if (flight->plan.passed_by)
		fperf_console__note(
			flight->options.console,
			"%llu more triggers came while it cooled down or after the limit of sessions",
			(unsigned long long)flight->plan.passed_by);
	return flight->failed ? FPERF_EXIT_FAILED : FPERF_EXIT_OK;
}
