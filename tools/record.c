/* frameperf record */
#include "analyze/results.h"
#include "base/clock.h"
#include "capture/capture.h"
#include "child.h"
#include "flight.h"
#include "frameperf/meta.h"
#include "host.h"
#include "live.h"
#include "output/names.h"
#include "output/paint.h"
#include "record_options.h"
#include "session/session.h"
#include "session/writer.h"
#include "signals.h"
#include "worst.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS		100
#define FLIGHT_FLUSH_MS 1000
#define PROGRESS_NS	(FPERF_NS_PER_S / 2)
#define NAME_WAIT_US	20000
#define READ_BACK_BYTES (8u << 20)
#define WAIT_BYTES	((size_t)32 << 20) /* of records that wait while the disk is full */
/* A third smaller files, and less than a scheduler's switch takes. */
#define TIME_GRAIN_NS 1024
#define REAP_TRIES    50 /* of 10 ms: how long a command that has just ended is waited for */

struct recording {
	const struct fperf_record_config *config;
	const struct fperf_invocation *invocation;
	struct fperf_console *console;
	struct fperf_log log;
	struct fperf_invoker invoker;
	struct fperf_pids pids;
	struct fperf_child child;
	struct fperf_writer *writer;
	struct fperf_flight *flight; /* --flight; then the writer is its own */
	struct fperf_worst *worst;   /* --keep-worst; likewise */
	struct fperf_capture *capture;
	struct fperf_capture_status status;
	char path[PATH_MAX];
	uint64_t start_ns, end_ns;
	uint64_t first_ns;    /* start of the first file */
	bool disk_full;	      /* said */
	uint32_t files;	      /* written */
	bool next_file;	      /* a bound of this one was reached; another follows */
	uint64_t memory_peak; /* of the first process, in bytes */
	const char *end_reason;
};

/* Waits for a process of the name. -EINTR when a signal asked for the end. */
static int wait_for_name(struct recording *recording, struct fperf_error *err)
{
	bool said = false;

	for (;;) {
		int found = fperf_pids__find(&recording->pids, recording->config->name, err);

		if (found)
			return found < 0 ? found : 0;
		if (!said)
			fperf_console__note(recording->console,
					    "waiting for a process named '%s' (Ctrl-C ends the wait)",
					    recording->config->name);
		said = true;
		usleep(NAME_WAIT_US);
		if (fperf_signals__asked())
			return fperf_error__set(err, -EINTR, "no process named '%s' appeared",
						recording->config->name);
	}
}

static int choose_target(struct recording *recording, struct fperf_error *err)
{
	const struct fperf_record_config *config = recording->config;
	const struct fperf_invoker root = {.uid = (uid_t)-1, .gid = (gid_t)-1};
	int ret;

	if (config->name) {
		ret = wait_for_name(recording, err);
	} else if (recording->invocation->operand_count) {
		ret = fperf_child__start(&recording->child, recording->invocation->operands,
					 config->as_root ? root : recording->invoker, err);
		if (!ret) {
			char pid[32];

			snprintf(pid, sizeof(pid), "%d", (int)recording->child.pid);
			ret = fperf_pids__parse(&recording->pids, pid, err);
		}
	} else {
		ret = 0;
		for (size_t i = 0; i < config->pids.count && !ret; i++) {
			char pid[32];

			snprintf(pid, sizeof(pid), "%d", (int)config->pids.pids[i]);
			ret = fperf_pids__parse(&recording->pids, pid, err);
		}
		ret = ret ? ret : fperf_pids__check(&recording->pids, err);
	}
	return ret;
}

/* Two sessions of one second do not replace each other. */
static void path_fill(struct recording *recording, const char *name, const char *date)
{
	const char *directory = recording->config->bounds.directory;
	char again[16] = "";
	struct stat st;

	for (int i = 2; i < 1000; i++) {
		snprintf(recording->path, sizeof(recording->path), "%s%sframeperf-%s-%s%s.fperf",
			 directory ? directory : "", directory ? "/" : "", name, date, again);
		if (lstat(recording->path, &st))
			return;
		snprintf(again, sizeof(again), "-%d", i);
	}
}

/* "frameperf-NAME-YYYYMMDD-HHMMSS.fperf", with nothing in NAME that a shell or a file system minds. */
static void choose_path(struct recording *recording)
{
	const struct fperf_record_config *config = recording->config;
	char name[64], date[32] = "";
	const char *from;
	time_t now = time(NULL);
	struct tm local;

	if (config->output) {
		snprintf(recording->path, sizeof(recording->path), "%s", config->output);
		return;
	}
	if (config->name) {
		from = config->name;
	} else if (recording->invocation->operand_count) {
		from = strrchr(recording->invocation->operands[0], '/');
		from = from ? from + 1 : recording->invocation->operands[0];
	} else {
		static char comm[64];

		fperf_process_name(recording->pids.pids[0], comm, sizeof(comm));
		from = comm;
	}
	snprintf(name, sizeof(name), "%s", from[0] ? from : "session");
	for (char *at = name; *at; at++) {
		if (!isalnum((unsigned char)*at) && *at != '.' && *at != '_' && *at != '+')
			*at = '-';
	}
	if (localtime_r(&now, &local))
		strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &local);
	path_fill(recording, name, date);
}

static struct fperf_flight_options flight_options(const struct recording *recording)
{
	return (struct fperf_flight_options){
		.config = recording->config,
		.console = recording->console,
		.path = recording->path,
		.invoker = recording->invoker,
		.target = recording->pids.pids[0],
	};
}

/* Nothing is written until something happens. */
static int flight_open(struct recording *recording, struct fperf_capture_options *capture,
		       struct fperf_error *err)
{
	struct fperf_flight_options options = flight_options(recording);
	int ret = fperf_flight__open(&options, &recording->flight, err);

	if (ret)
		return ret;
	fperf_signals__count_triggers();
	recording->writer = fperf_flight__writer(recording->flight);
	capture->triggers = fperf_flight__triggers(recording->flight);
	capture->flush_interval_ms = FLIGHT_FLUSH_MS;
	return 0;
}

static int worst_open(struct recording *recording, struct fperf_capture_options *capture,
		      struct fperf_error *err)
{
	struct fperf_flight_options options = flight_options(recording);
	int ret = fperf_worst__open(&options, &recording->worst, err);

	if (ret)
		return ret;
	recording->writer = fperf_worst__writer(recording->worst);
	capture->triggers = fperf_worst__triggers(recording->worst);
	capture->flush_interval_ms = FLIGHT_FLUSH_MS;
	return 0;
}

/* Below level 2, records go through an analysis first. */
static int writer_open(struct recording *recording, struct fperf_error *err)
{
	struct fperf_writer_options options = {
		.path = recording->path,
		.owner_uid = recording->invoker.uid,
		.owner_gid = recording->invoker.gid,
		.max_bytes = recording->config->bounds.max_bytes,
		.wait_bytes = WAIT_BYTES,
		.time_grain_ns = TIME_GRAIN_NS,
	};
	const struct fperf_live_options live = {
		.path = recording->path,
		.owner_uid = recording->invoker.uid,
		.owner_gid = recording->invoker.gid,
		.level = recording->config->level,
		.max_bytes = recording->config->bounds.max_bytes,
		.log = &recording->log,
	};
	struct fperf_error late;
	struct fperf_sink sink;
	int ret;

	if (recording->config->level == FPERF_LEVEL_EVENTS)
		return fperf_writer__open(&options, &recording->writer, err);
	ret = fperf_live__open(&live, &sink, err);
	if (ret)
		return ret;
	options.sink = &sink;
	ret = fperf_writer__open(&options, &recording->writer, err);
	if (ret)
		sink.ops->close(sink.self, &late);
	return ret;
}

static int begin(struct recording *recording, struct fperf_error *err)
{
	const struct fperf_record_config *config = recording->config;
	struct fperf_capture_options options = {
		.pids = recording->pids.pids,
		.pid_count = recording->pids.count,
		.frequency_hz = config->frequency_hz,
		.overhead_percent = config->overhead_percent,
		.unwind = config->unwind,
		.unwind_memory_mib = config->unwind_memory_mib,
		.frame_auto = config->frame_auto,
		.frame = config->frame.path ? &config->frame : NULL,
		.marks = config->marks,
		.mark_count = config->mark_count,
		.scopes = config->scopes,
		.scope_count = config->scope_count,
		.helper_program = "/proc/self/exe",
		.log = &recording->log,
	};
	int ret;

	if (config->flight.span_ns)
		ret = flight_open(recording, &options, err);
	else if (config->flight.worst)
		ret = worst_open(recording, &options, err);
	else
		ret = writer_open(recording, err);
	if (ret < 0)
		return ret;
	ret = fperf_host__write(recording->writer, config, err);
	if (ret < 0)
		return ret;
	options.writer = recording->writer;
	return fperf_capture__start(&options, &recording->capture, err);
}

/* The kernel keeps the peak, but only as long as the process is there. */
static void look_at_memory(struct recording *recording)
{
	uint64_t peak = recording->pids.count ? fperf_host__memory_peak(recording->pids.pids[0]) : 0;

	if (peak > recording->memory_peak)
		recording->memory_peak = peak;
}

static void show_progress(struct recording *recording, uint64_t now)
{
	struct fperf_writer_stats stats;

	fperf_writer__stats(recording->writer, &stats);
	fperf_console__progress(
		recording->console, "recording: %s, %s (Ctrl-C ends it)",
		fperf_words__duration((now - recording->start_ns) / FPERF_NS_PER_S * FPERF_NS_PER_S).text,
		fperf_words__bytes(stats.file_bytes).text);
}

/* A bound of the file is reached when what is written every few seconds might not fit any more. */
static bool bound_reached(struct recording *recording, uint64_t now)
{
	const struct fperf_bounds *bounds = &recording->config->bounds;
	struct fperf_writer_stats stats;

	fperf_writer__stats(recording->writer, &stats);
	if (stats.waiting && !bounds->max_bytes && !recording->disk_full) {
		recording->disk_full = true;
		fperf_console__note(recording->console,
				    "the disk is full: recording goes on in memory, up to %s",
				    fperf_words__bytes(WAIT_BYTES).text);
	}
	if (bounds->max_ns && now - recording->start_ns >= bounds->max_ns)
		recording->end_reason = "max-duration";
	else if (bounds->max_bytes && (stats.waiting || stats.file_bytes >= bounds->max_bytes / 8 * 7))
		recording->end_reason = "max-size";
	else
		return false;
	recording->next_file = bounds->directory != NULL;
	return true;
}

/* Until something ends the recording; which is put into end_reason. */
static int follow(struct recording *recording, struct fperf_error *err)
{
	uint64_t shown_ns = 0, duration = recording->config->duration_ns;

	for (;;) {
		uint64_t now = fperf_clock__now_ns(), left = POLL_MS * FPERF_NS_PER_MS;
		int ret;

		if (fperf_signals__asked()) {
			recording->end_reason = "interrupted";
			return 0;
		}
		if (duration && now - recording->first_ns >= duration) {
			recording->end_reason = "duration";
			return 0;
		}
		if (!recording->flight && !recording->worst && bound_reached(recording, now))
			return 0;
		if (duration && duration - (now - recording->first_ns) < left)
			left = duration - (now - recording->first_ns);
		if (now - shown_ns >= PROGRESS_NS) {
			look_at_memory(recording);
			show_progress(recording, now);
			shown_ns = now;
		}
		ret = fperf_capture__poll(recording->capture,
					  (int)((left + FPERF_NS_PER_MS - 1) / FPERF_NS_PER_MS), err);
		if (ret >= 0 && recording->flight && fperf_flight__step(recording->flight, err) < 0)
			ret = err->code;
		if (ret >= 0 && recording->worst && fperf_worst__step(recording->worst, err) < 0)
			ret = err->code;
		if (ret < 0) {
			recording->end_reason = "write error";
			return ret;
		}
		if (!ret || fperf_child__has_ended(&recording->child)) {
			recording->end_reason = "target ended";
			return 0;
		}
	}
}

/* Ends capture and closes the file, also after a failure; the first error stays. */
static int flight_finish(struct recording *recording, int failed)
{
	int status = recording->flight ? fperf_flight__end(recording->flight, recording->end_reason)
				       : fperf_worst__end(recording->worst, recording->end_reason);
	struct fperf_error ignored;

	fperf_capture__stop(recording->capture, recording->end_reason, &ignored);
	fperf_capture__status(recording->capture, &recording->status);
	fperf_flight__close(recording->flight);
	fperf_worst__close(recording->worst);
	recording->writer = NULL;
	recording->flight = NULL;
	recording->worst = NULL;
	return failed ? FPERF_EXIT_FAILED : status;
}

/* Was all that waited written in the end? The file says. */
static int check_disk(struct recording *recording, struct fperf_error *err)
{
	uint64_t lost[FPERF_SOURCES][FPERF_LOSS_REASONS] = {0}, sum = 0;
	struct fperf_session_damage damage;
	struct fperf_session *session;

	if (fperf_session__load(recording->path, 0, &session, &damage, err))
		return err->code;
	fperf_results__lost(session, lost);
	fperf_session__free(session);
	for (unsigned int source = 0; source < FPERF_SOURCES; source++)
		sum += lost[source][FPERF_LOSS_WRITE];
	if (!sum)
		return 0;
	return fperf_error__set(err, -ENOSPC,
				"no space was left on the disk: %" PRIu64
				" records are lost; %s holds what was written until then, and says so",
				sum, recording->path);
}

static int finish(struct recording *recording, int failed, struct fperf_error *err)
{
	struct fperf_error later = {0};
	int ret = failed;

	/* What is recorded until here is in the file even if a second signal ends everything. */
	if (fperf_writer__flush(recording->writer, false, &later) < 0 && !ret) {
		*err = later;
		ret = later.code;
	}
	recording->end_ns = fperf_clock__now_ns();
	if (fperf_capture__stop(recording->capture, recording->end_reason, &later) < 0 && !ret) {
		*err = later;
		ret = later.code;
	}
	fperf_capture__status(recording->capture, &recording->status);
	look_at_memory(recording);
	if (recording->memory_peak)
		fperf_writer__meta_u64(recording->writer, FPERF_META_MEMORY_PEAK, recording->memory_peak,
				       &later);
	if (fperf_host__write_overhead(recording->writer, &later) < 0 && !ret) {
		*err = later;
		ret = later.code;
	}
	if (fperf_writer__close(recording->writer, &later) < 0 && !ret) {
		*err = later;
		ret = later.code;
	}
	recording->writer = NULL;
	if (!ret && recording->disk_full)
		ret = check_disk(recording, err);
	return ret;
}

static bool is_plain(const char *path)
{
	return path[0] && path[0] != '-' &&
	       strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+/,:@%=") ==
		       strlen(path);
}

/* The sources that are not there, and what was lost, each with its reason. */
static void say_what_is_missing(struct recording *recording)
{
	const struct fperf_capture_status *status = &recording->status;

	for (unsigned int source = 0; source < FPERF_SOURCES; source++) {
		const char *reason = status->source_reason[source];

		if (status->source_state[source] == FPERF_SOURCE_STATE_FAILED)
			fperf_console__note(recording->console, "%s failed: %s", fperf_source__key(source),
					    reason);
		else if (status->source_state[source] == FPERF_SOURCE_STATE_ABSENT && reason[0])
			fperf_console__note(recording->console, "%s is absent: %s", fperf_source__key(source),
					    reason);
	}
	for (unsigned int source = 0; source < FPERF_SOURCES; source++) {
		for (unsigned int reason = 0; reason < FPERF_LOSS_REASONS; reason++) {
			if (status->lost[source][reason])
				fperf_console__note(recording->console, "lost: %s: %llu events: %s",
						    fperf_source__key(source),
						    (unsigned long long)status->lost[source][reason],
						    fperf_loss__words(reason));
		}
	}
}

/* How many frame ends the file holds; only files that are read back in a moment are asked. */
static uint64_t count_frames(const char *path, uint64_t file_bytes)
{
	struct fperf_session_damage damage = {0};
	const struct fperf_rec_marker *marker;
	struct fperf_session *session = NULL;
	const struct fperf_rec_mark *marks;
	struct fperf_error err = {0};
	uint64_t frames = 0;
	size_t count = 0;

	if (file_bytes > READ_BACK_BYTES || fperf_session__load(path, 0, &session, &damage, &err) < 0)
		return 0;
	marks = fperf_session__records(session, FPERF_RECORD_MARK, &count);
	for (size_t i = 0; i < count; i++) {
		marker = fperf_session__marker(session, marks[i].marker);
		frames += marker && marker->kind == FPERF_MARKER_FRAME && marker->chosen;
	}
	fperf_session__free(session);
	return frames;
}

static void say_end(struct recording *recording)
{
	const char *path = recording->path;
	struct stat file = {0};
	char frames[48] = "";
	uint64_t count;

	stat(path, &file);
	count = count_frames(path, (uint64_t)file.st_size);
	if (count)
		snprintf(frames, sizeof(frames), ", %llu frames", (unsigned long long)count);
	fperf_console__note(recording->console, "wrote %s: %s, %s%s (%s)", path,
			    fperf_words__bytes((uint64_t)file.st_size).text,
			    fperf_words__duration(recording->end_ns - recording->start_ns).text, frames,
			    recording->end_reason);
	say_what_is_missing(recording);
	fperf_console__note(recording->console,
			    is_plain(path) ? "next: frameperf report %s" : "next: frameperf report '%s'",
			    path);
}

/* What became of the command, as the exit status; a command that still runs goes on by itself. */
static int command_status(struct recording *recording)
{
	struct fperf_child *child = &recording->child;
	const char *name = recording->invocation->operands[0];
	int status;

	for (int i = 0; i < REAP_TRIES && !fperf_child__has_ended(child); i++) {
		if (strcmp(recording->end_reason, "target ended") && i >= REAP_TRIES / 5)
			break;
		usleep(10000);
	}
	if (!child->ended) {
		fperf_console__note(recording->console, "%s (pid %d) goes on running", name, (int)child->pid);
		return FPERF_EXIT_OK;
	}
	status = fperf_child__exit_status(child);
	if (status > 128 && WIFSIGNALED(child->status))
		fperf_console__note(recording->console, "%s was killed by signal %d (%s)", name,
				    WTERMSIG(child->status), strsignal(WTERMSIG(child->status)));
	else if (status)
		fperf_console__note(recording->console, "%s ended with exit status %d", name, status);
	return status;
}

/* Lets the command run. Until its exec it had our name, so the session learns its own now. */
static int let_go(struct recording *recording, struct fperf_error *err)
{
	int ret = fperf_child__go(&recording->child, recording->invocation->operands[0], err);

	return ret ? ret : fperf_host__write_target(recording->writer, recording->child.pid, err);
}

/* The end of a recording of which nothing is written now, but perhaps a session that is due. */
static int flight_status(struct recording *recording, int failed, const struct fperf_error *err)
{
	uint32_t sessions = recording->flight ? fperf_flight__sessions(recording->flight) : 1;
	int status;

	if (failed < 0)
		fperf_console__error(recording->console, "%s", err->text);
	status = flight_finish(recording, failed);
	fperf_console__note(recording->console, "%u session%s (%s)", sessions, sessions == 1 ? "" : "s",
			    recording->end_reason);
	say_what_is_missing(recording);
	if (status == FPERF_EXIT_OK && recording->child.pid && recording->child.go < 0)
		return command_status(recording);
	return status;
}

/* Before a session of --out-dir: there is a directory, and room in it. */
static int make_room(struct recording *recording, struct fperf_error *err)
{
	const struct fperf_bounds *bounds = &recording->config->bounds;

	if (!bounds->directory)
		return 0;
	if (fperf_bounds__prepare(bounds, recording->invoker, err) ||
	    fperf_bounds__rotate(bounds, 1, recording->invoker, err) < 0)
		return err->code;
	return 0;
}

/* After a first file: the target is gone. */
static bool is_over(const struct recording *recording)
{
	return recording->files && recording->pids.count && kill(recording->pids.pids[0], 0) &&
	       errno == ESRCH;
}

/* From the chosen target to the closed file. Returns the exit status. */
static int record(struct recording *recording)
{
	struct fperf_error err = {0};
	bool command = recording->child.pid != 0;
	int ret;

	ret = make_room(recording, &err);
	if (!ret)
		ret = begin(recording, &err);
	recording->start_ns = fperf_clock__now_ns();
	if (!recording->files)
		recording->first_ns = recording->start_ns;
	if (!ret && command && recording->child.go >= 0 && !fperf_signals__asked())
		ret = let_go(recording, &err);
	if (ret < 0) {
		int status =
			command && recording->capture ? err.code == -ENOENT ? 127 : 126 : FPERF_EXIT_FAILED;

		if (is_over(recording)) /* it ended between two files */
			status = command ? command_status(recording) : FPERF_EXIT_OK;
		else
			fperf_console__error(recording->console, "%s", err.text);
		/* Nothing was recorded: no file stays. */
		if (recording->writer && !recording->flight && !recording->worst)
			unlink(recording->path);
		return status;
	}
	if (recording->flight)
		fperf_flight__begin(recording->flight, recording->capture);
	if (recording->worst)
		fperf_worst__begin(recording->worst, recording->capture);
	ret = follow(recording, &err);
	fperf_console__progress_end(recording->console);
	if (recording->flight || recording->worst)
		return flight_status(recording, ret, &err);
	ret = finish(recording, ret, &err);
	if (ret < 0)
		fperf_console__error(recording->console, "%s", err.text);
	say_end(recording);
	recording->files++;
	if (!ret && recording->config->bounds.directory &&
	    fperf_bounds__rotate(&recording->config->bounds, 0, recording->invoker, &err) < 0) {
		fperf_console__error(recording->console, "%s", err.text);
		ret = err.code;
	}
	if (ret < 0)
		return FPERF_EXIT_FAILED;
	if (recording->next_file)
		return FPERF_EXIT_OK;
	return command && recording->child.go < 0 ? command_status(recording) : FPERF_EXIT_OK;
}

static int check_usage(const struct fperf_invocation *invocation)
{
	const struct fperf_record_config *config = invocation->config;
	int ways = (config->pids.count > 0) + (config->name != NULL) + (invocation->operand_count > 0);

	struct fperf_error err;

	if (fperf_record_config__check_safe(config, &err) < 0 ||
	    fperf_record_config__check_bounds(config, &err) < 0) {
		fperf_console__error(invocation->console, "%s", err.text);
		return -EINVAL;
	}
	if (ways == 1)
		return 0;
	fperf_console__error(invocation->console, "%s -p PID, -n NAME, or -- COMMAND",
			     ways ? "only one of these can be recorded at a time:"
				  : "what should be recorded? Say one of");
	return -EINVAL;
}

static int check_flight(struct recording *recording)
{
	const struct fperf_record_config *config = recording->config;
	const char *scopes[64];
	struct fperf_error err;
	size_t count = 0;

	for (; count < config->scope_count && count < sizeof(scopes) / sizeof(scopes[0]); count++)
		scopes[count] = config->scopes[count].begin.name;
	if (config->level < FPERF_LEVEL_EVENTS && (config->flight.span_ns || config->flight.worst))
		fperf_error__set(&err, -EINVAL,
				 "--flight, --trigger and --keep-worst keep events: they need --level %d",
				 FPERF_LEVEL_EVENTS);
	else if (!fperf_flight_config__check(&config->flight, scopes, count, &err))
		return 0;
	fperf_console__error(recording->console, "%s", err.text);
	return err.code;
}

static int record_run(const struct fperf_invocation *invocation)
{
	struct recording recording = {
		.config = invocation->config,
		.invocation = invocation,
		.console = invocation->console,
		.invoker = fperf_invoker__get(),
		.child = {.go = -1, .failed = -1},
		.end_reason = "interrupted",
	};
	struct fperf_error err = {0};
	int status;

	recording.log = fperf_console__log(recording.console);
	if (check_usage(invocation) < 0 || check_flight(&recording) < 0)
		return FPERF_EXIT_USAGE;
	fperf_signals__install();
	if (choose_target(&recording, &err) < 0) {
		fperf_console__error(recording.console, "%s", err.text);
		status = FPERF_EXIT_FAILED;
		if (err.code == -EINTR)
			status = 128 + fperf_signals__asked();
		else if (invocation->operand_count && err.code == -ENOENT)
			status = 127;
		else if (invocation->operand_count && err.code == -EACCES)
			status = 126;
	} else {
		do {
			fperf_capture__free(recording.capture);
			recording.capture = NULL;
			recording.next_file = false;
			recording.end_reason = "interrupted";
			choose_path(&recording);
			status = record(&recording);
		} while (status == FPERF_EXIT_OK && recording.next_file && !fperf_signals__asked());
	}
	fperf_capture__free(recording.capture);
	if (recording.writer && !recording.flight && !recording.worst)
		fperf_writer__close(recording.writer, &err);
	fperf_flight__close(recording.flight);
	fperf_worst__close(recording.worst);
	fperf_child__close(&recording.child);
	fperf_pids__free(&recording.pids);
	return status;
}

const struct fperf_command fperf_command_record = {
	.name = "record",
	.summary = "record a game into a session file",
	.operands = "COMMAND",
	.description = "Records every thread and child process of a game: samples of where it runs, each "
		       "time a thread waits or is put "
		       "aside and what for, the boundaries of its frames, and the clocks of the CPUs. The "
		       "game is neither changed nor "
		       "stopped. Needs root.\n\n"
		       "The recording ends with the game, after -d SECONDS, or with Ctrl-C; a second Ctrl-C "
		       "ends it at once. Each "
		       "leaves a valid file. With -- COMMAND, frameperf starts the command, under sudo as "
		       "the user who called sudo, and "
		       "passes on its exit status (128 + n when signal n killed it).",
	.examples = "frameperf record -n MyGame\nframeperf record -d 30 -o slow.fperf -p 4242\n"
		    "frameperf record -- ./game --fullscreen",
	.options = fperf_record_options,
	.option_count = FPERF_RECORD_OPTIONS,
	.operands_max = SIZE_MAX,
	.command_line = true,
	.defaults = &fperf_record_defaults,
	.config_size = sizeof(struct fperf_record_config),
	.config_free = fperf_record_config__free,
	.run = record_run,
};
