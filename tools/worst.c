#include "worst.h"

#include "analyze/histogram.h"
#include "capture/trigger.h"
#include "flight_dump.h"
#include "session/ring.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PRE_NS	   FPERF_NS_PER_S
#define PIN_NS	   (250 * FPERF_NS_PER_MS) /* not more often: in the beginning each frame is a worst one */
#define WRITE_NS   (60 * FPERF_NS_PER_S)
#define MOST_BYTES ((size_t)64 << 20) /* of what is kept in full, whatever number was asked for */

struct kept {
	uint64_t start_ns, end_ns;
	uint64_t until_ns; /* pinned up to there; 0: not yet */
	uint32_t pid, tid;
};

struct fperf_worst {
	struct fperf_flight_options options;
	struct fperf_ring *ring;
	struct fperf_writer *writer;
	struct fperf_triggers *triggers;
	struct fperf_capture *capture;
	struct kept *kept;
	size_t count, limit;
	uint64_t begun_ns, written_ns, pinned_ns, first_ns, last_ns;
	bool changed, failed;
	pid_t writing;
	struct fperf_histogram times;
};

static uint64_t took(const struct kept *frame)
{
	return frame->end_ns - frame->start_ns;
}

static uint64_t pre_of(const struct fperf_worst *worst, const struct kept *frame)
{
	uint64_t pre = worst->options.config->flight.pre_ns ? worst->options.config->flight.pre_ns : PRE_NS;

	return frame->start_ns > pre ? frame->start_ns - pre : 0;
}

static void let_go(struct fperf_worst *worst, size_t index)
{
	struct kept *frame = &worst->kept[index];

	if (frame->until_ns)
		fperf_ring__unpin(worst->ring, pre_of(worst, frame), frame->until_ns);
	*frame = worst->kept[--worst->count];
}

static size_t least_bad(const struct fperf_worst *worst)
{
	size_t least = 0;

	for (size_t i = 1; i < worst->count; i++)
		if (took(&worst->kept[i]) < took(&worst->kept[least]))
			least = i;
	return least;
}

static void frame_seen(void *context, uint32_t pid, uint32_t tid, uint64_t start_ns, uint64_t end_ns)
{
	struct kept frame = {.start_ns = start_ns, .end_ns = end_ns, .pid = pid, .tid = tid};
	struct fperf_worst *worst = context;
	size_t least;

	if (fperf_histogram__add(&worst->times, end_ns - start_ns))
		return; /* out of memory: one frame less in the figures */
	worst->first_ns = worst->first_ns ? worst->first_ns : start_ns;
	worst->last_ns = end_ns;
	if (worst->count == worst->limit) {
		least = least_bad(worst);
		if (took(&worst->kept[least]) >= took(&frame))
			return;
		let_go(worst, least);
	}
	worst->kept[worst->count++] = frame;
	worst->changed = true;
}

int fperf_worst__open(const struct fperf_flight_options *options, struct fperf_worst **result,
		      struct fperf_error *err)
{
	const struct fperf_flight_config *config = &options->config->flight;
	struct fperf_ring_options ring = {.bytes = config->bytes, .span_ns = FPERF_WORST_SPAN_NS};
	struct fperf_worst *worst = calloc(1, sizeof(*worst));
	struct fperf_writer_options writer = {0};
	struct fperf_sink sink;
	int ret;

	if (!worst)
		return fperf_error__no_memory(err, "the worst frames");
	worst->options = *options;
	worst->limit = config->worst;
	worst->kept = calloc(worst->limit, sizeof(*worst->kept));
	ret = worst->kept ? fperf_ring__new(&ring, &worst->ring, err)
			  : fperf_error__no_memory(err, "the worst frames");
	if (!ret) {
		sink = fperf_ring__sink(worst->ring);
		writer.sink = &sink;
		ret = fperf_writer__open(&writer, &worst->writer, err);
	}
	ret = ret ? ret : fperf_triggers__new(NULL, 0, &worst->triggers, err);
	if (ret) {
		fperf_worst__close(worst);
		return ret;
	}
	fperf_triggers__listen(worst->triggers,
			       &(struct fperf_frame_listener){.frame = frame_seen, .context = worst});
	*result = worst;
	return 0;
}

void fperf_worst__close(struct fperf_worst *worst)
{
	struct fperf_error ignored;

	if (!worst)
		return;
	if (worst->writer)
		fperf_writer__close(worst->writer, &ignored);
	fperf_triggers__free(worst->triggers);
	fperf_ring__free(worst->ring);
	fperf_histogram__free(&worst->times);
	free(worst->kept);
	free(worst);
}

struct fperf_writer *fperf_worst__writer(struct fperf_worst *worst)
{
	return worst->writer;
}

struct fperf_triggers *fperf_worst__triggers(struct fperf_worst *worst)
{
	return worst->triggers;
}

void fperf_worst__begin(struct fperf_worst *worst, struct fperf_capture *capture)
{
	worst->capture = capture;
	worst->begun_ns = worst->written_ns = fperf_clock__now_ns();
	fperf_console__note(worst->options.console, "keeping the %zu worst frames", worst->limit);
}

static bool any_loose(const struct fperf_worst *worst)
{
	for (size_t i = 0; i < worst->count; i++)
		if (!worst->kept[i].until_ns)
			return true;
	return false;
}

/* Holds fast what has just been one of the worst: its events have arrived, and waits that go on are written
 * as far as they have come. When that becomes too much, the least bad goes. */
static int frames_pin(struct fperf_worst *worst, uint64_t now_ns, struct fperf_error *err)
{
	struct fperf_ring_stats stats;
	int ret;

	if (now_ns - worst->pinned_ns < PIN_NS || !any_loose(worst))
		return 0;
	ret = fperf_capture__hold(worst->capture, err);
	ret = ret ? ret : fperf_writer__flush(worst->writer, false, err);
	if (ret)
		return ret;
	worst->pinned_ns = now_ns;
	for (size_t i = 0; i < worst->count; i++) {
		struct kept *frame = &worst->kept[i];

		if (frame->until_ns)
			continue;
		frame->until_ns = frame->end_ns > now_ns ? frame->end_ns : now_ns;
		fperf_ring__pin(worst->ring, pre_of(worst, frame), frame->until_ns);
	}
	fperf_ring__stats(worst->ring, &stats);
	if (stats.pinned_bytes > MOST_BYTES && worst->count > 1)
		let_go(worst, least_bad(worst));
	return 0;
}

static int epoch_begin(struct fperf_worst *worst, struct fperf_error *err)
{
	int ret = fperf_writer__forget_strings(worst->writer, err);

	ret = ret ? ret : fperf_ring__begin_epoch(worst->ring, err);
	ret = ret ? ret
		  : fperf_capture__begin_epoch(
			    worst->capture,
			    fperf_ring__epoch(worst->ring) - fperf_ring__first_epoch(worst->ring) + 1, err);
	return ret ? ret : fperf_writer__flush(worst->writer, false, err);
}

static int fact_write(struct fperf_writer *to, enum fperf_fact fact, uint64_t value, struct fperf_error *err)
{
	struct fperf_rec_summary record = {.fact = (uint16_t)fact, .value = value};

	return fperf_writer__add(to, FPERF_RECORD_SUMMARY, &record, err);
}

/* Figures for all frames, and which of them are here in full. */
static int extra_write(void *context, struct fperf_writer *to, struct fperf_error *err)
{
	const struct fperf_worst *worst = context;
	const struct fperf_histogram *times = &worst->times;
	const struct {
		enum fperf_fact fact;
		uint64_t value;
	} facts[] = {
		{FPERF_FACT_FRAMES_TIMED, times->values},
		{FPERF_FACT_FRAMES_NS, worst->last_ns - worst->first_ns},
		{FPERF_FACT_TIME_MEAN_NS, times->values ? (uint64_t)(times->sum / (double)times->values) : 0},
		{FPERF_FACT_TIME_P50_NS, fperf_histogram__percentile(times, 500)},
		{FPERF_FACT_TIME_P90_NS, fperf_histogram__percentile(times, 900)},
		{FPERF_FACT_TIME_P95_NS, fperf_histogram__percentile(times, 950)},
		{FPERF_FACT_TIME_P99_NS, fperf_histogram__percentile(times, 990)},
		{FPERF_FACT_TIME_MAX_NS, times->max},
	};
	int ret = 0;

	for (size_t i = 0; !ret && times->values && i < sizeof(facts) / sizeof(facts[0]); i++)
		ret = fact_write(to, facts[i].fact, facts[i].value, err);
	for (size_t i = 0; !ret && i < worst->count; i++) {
		const struct kept *frame = &worst->kept[i];
		struct fperf_rec_trigger record = {
			.time_ns = frame->end_ns,
			.since_ns = frame->start_ns,
			.value = took(frame),
			.number = (uint32_t)i + 1,
			.thread = fperf_capture__thread_id(worst->capture, frame->tid),
			.kind = FPERF_TRIGGER_WORST,
		};

		ret = frame->until_ns ? fperf_writer__add(to, FPERF_RECORD_TRIGGER, &record, err) : 0;
	}
	return ret;
}

static int dump_begin(struct fperf_worst *worst, const char *end_reason, bool quiet, struct fperf_error *err)
{
	struct fperf_dump dump = {
		.ring = worst->ring,
		.capture = worst->capture,
		.config = worst->options.config,
		.console = worst->options.console,
		.path = worst->options.path,
		.invoker = worst->options.invoker,
		.target = worst->options.target,
		.end_reason = end_reason,
		.begun_ns = worst->begun_ns,
		.pinned_only = true,
		.replace = true,
		.quiet = quiet,
		.extra = extra_write,
		.extra_context = worst,
	};
	int ret = fperf_writer__flush(worst->writer, false, err);

	dump.first_string = fperf_writer__last_string(worst->writer);
	worst->written_ns = fperf_clock__now_ns();
	worst->changed = false;
	ret = ret ? ret : fperf_capture__look(worst->capture, &dump.end_ns, err);
	return ret ? ret : fperf_dump__begin(&dump, &worst->writing, err);
}

static void dump_end(struct fperf_worst *worst, int flags)
{
	int status = 0;
	pid_t ended = worst->writing ? waitpid(worst->writing, &status, flags) : 0;

	if (!worst->writing || (ended != worst->writing && !(ended < 0 && errno == ECHILD)))
		return;
	worst->writing = 0;
	worst->failed = ended < 0 || !WIFEXITED(status) || WEXITSTATUS(status);
}

int fperf_worst__step(struct fperf_worst *worst, struct fperf_error *err)
{
	uint64_t now_ns = fperf_clock__now_ns();

	if (frames_pin(worst, now_ns, err))
		return err->code;
	dump_end(worst, WNOHANG);
	if (worst->changed && !worst->writing && now_ns - worst->written_ns >= WRITE_NS &&
	    dump_begin(worst, "still recording", true, err))
		fperf_console__error(worst->options.console, "%s: %s", worst->options.path, err->text);
	return fperf_ring__wants_epoch(worst->ring) ? epoch_begin(worst, err) : 0;
}

int fperf_worst__end(struct fperf_worst *worst, const char *end_reason)
{
	struct fperf_error err;

	dump_end(worst, 0);
	worst->pinned_ns = 0;
	if (frames_pin(worst, fperf_clock__now_ns(), &err))
		fperf_console__error(worst->options.console, "the last frames are not kept: %s", err.text);
	worst->failed = false;
	if (dump_begin(worst, end_reason, false, &err)) {
		fperf_console__error(worst->options.console, "%s: %s", worst->options.path, err.text);
		return FPERF_EXIT_FAILED;
	}
	dump_end(worst, 0);
	return worst->failed ? FPERF_EXIT_FAILED : FPERF_EXIT_OK;
}
