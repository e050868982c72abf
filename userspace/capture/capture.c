#include "capture/recording.h"

#include "base/clock.h"
#include "capture/kallsyms.h"
#include "capture/proc_files.h"
#include "capture/sources.h"
#include "frameperf/meta.h"

#include <bpf/bpf.h>

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In order of attaching: sched before process, which asks whether sched is there. */
static const struct fperf_capture_source_ops *const sources[] = {
	&fperf_source_sched,  &fperf_source_process, &fperf_source_sample,
	&fperf_source_unwind, &fperf_source_frame,   &fperf_source_mark,
	&fperf_source_freq,   &fperf_source_jit,     &fperf_source_kallsyms,
};

#define SOURCE_COUNT (sizeof(sources) / sizeof(sources[0]))

#define CHECK_LIVE_NS  FPERF_NS_PER_S
#define LOSSES_NS      FPERF_NS_PER_S
#define FLUSH_MS       3000
#define LOW_PRIORITY   10		       /* nice */
#define WATCH_PRIORITY -10		       /* nice */
#define LATE_NS	       (150 * FPERF_NS_PER_MS) /* between two rounds, see fperf_drain__interval_ms() */

void fperf_capture__on_process(struct fperf_capture *capture, uint32_t pid)
{
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (capture->source_state[i] && sources[i]->on_process)
			sources[i]->on_process(capture->source_state[i], pid);
}

void fperf_capture__on_fork(struct fperf_capture *capture, uint32_t parent, uint32_t child)
{
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (capture->source_state[i] && sources[i]->on_fork)
			sources[i]->on_fork(capture->source_state[i], parent, child);
}

void fperf_capture__on_exit(struct fperf_capture *capture, uint32_t pid)
{
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (capture->source_state[i] && sources[i]->on_exit)
			sources[i]->on_exit(capture->source_state[i], pid);
}

void fperf_capture__on_mapping(struct fperf_capture *capture, const struct fperf_capture_mapping *mapping)
{
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (capture->source_state[i] && sources[i]->on_mapping)
			sources[i]->on_mapping(capture->source_state[i], mapping);
}

void fperf_capture__epoch_began(struct fperf_capture *capture, uint64_t now_ns)
{
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (capture->source_state[i] && sources[i]->on_epoch)
			sources[i]->on_epoch(capture->source_state[i], now_ns);
}

void fperf_capture__sources_prepare(struct fperf_capture *capture)
{
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (capture->source_state[i] && sources[i]->prepare)
			sources[i]->prepare(capture->source_state[i]);
}

static void loss_write(struct fperf_capture *capture, enum fperf_source source, enum fperf_loss_reason reason,
		       uint64_t count)
{
	struct fperf_rec_loss record = {.time_ns = fperf_clock__now_ns(),
					.source = (uint8_t)source,
					.reason = (uint8_t)reason,
					.count = count};
	struct fperf_error ignored; /* sticky in the writer */

	fperf_writer__add(capture->context.writer, FPERF_RECORD_LOSS, &record, &ignored);
}

void fperf_capture__lost(struct fperf_capture *capture, enum fperf_source source,
			 enum fperf_loss_reason reason, uint64_t count)
{
	if (!count)
		return;
	capture->status.lost[source][reason] += count;
	loss_write(capture, source, reason, count);
}

/* What the BPF programs and the sources counted since the last time. */
static void losses_collect(struct fperf_capture *capture)
{
	uint64_t lost[FPERF_SOURCES][FPERF_LOSS_REASONS];

	if (!fperf_losses__read(&capture->shared, lost))
		return;
	for (int source = 0; source < FPERF_SOURCES; source++) {
		for (int reason = 0; reason < FPERF_LOSS_REASONS; reason++) {
			uint64_t *reported = &capture->reported_lost[source][reason];
			uint64_t now = lost[source][reason] + capture->context.lost[source][reason];

			if (now > *reported) {
				fperf_capture__lost(capture, source, reason, now - *reported);
				*reported = now;
			}
		}
	}
}

static void source_write(struct fperf_capture *capture, enum fperf_source source,
			 enum fperf_source_state state, const char *reason)
{
	struct fperf_rec_source record = {
		.source = (uint8_t)source,
		.state = (uint8_t)state,
		.reason = fperf_writer__text(capture->context.writer, reason),
	};
	struct fperf_error ignored;

	fperf_writer__add(capture->context.writer, FPERF_RECORD_SOURCE, &record, &ignored);
}

static void source_state_set(struct fperf_capture *capture, enum fperf_source source,
			     enum fperf_source_state state, const char *reason)
{
	capture->status.source_state[source] = (uint8_t)state;
	snprintf(capture->status.source_reason[source], sizeof(capture->status.source_reason[source]),
		 "%.159s", reason);
	source_write(capture, source, state, reason);
}

void fperf_capture__sources_describe(struct fperf_capture *capture)
{
	for (int source = 0; source < FPERF_SOURCES; source++)
		if (capture->status.source_state[source] || *capture->status.source_reason[source])
			source_write(capture, source, capture->status.source_state[source],
				     capture->status.source_reason[source]);
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (capture->source_state[i] && sources[i]->describe)
			sources[i]->describe(capture->source_state[i], capture->end_ns);
}

/* Without these nothing tells anything of the target. */
static bool source_is_core(enum fperf_source source)
{
	return source == FPERF_SOURCE_SAMPLE || source == FPERF_SOURCE_SCHED ||
	       source == FPERF_SOURCE_PROCESS;
}

/* Starts every source that can be; returns how many of the core are active. `err` keeps the first failure,
 * for when there are none. */
static size_t sources_start(struct fperf_capture *capture, struct fperf_error *err)
{
	struct fperf_error failure;
	size_t active = 0;
	bool failed = false;

	for (size_t i = 0; i < SOURCE_COUNT; i++) {
		char reason[160] = "";
		int rc = sources[i]->start(&capture->context, &capture->source_state[i], reason,
					   sizeof(reason), &failure);

		if (!rc) {
			source_state_set(capture, sources[i]->source, FPERF_SOURCE_STATE_ACTIVE, reason);
			active += source_is_core(sources[i]->source);
			continue;
		}
		capture->source_state[i] = NULL;
		if ((rc == -ENODEV || rc == -ECANCELED) && reason[0]) {
			source_state_set(capture, sources[i]->source,
					 rc == -ENODEV ? FPERF_SOURCE_STATE_ABSENT : FPERF_SOURCE_STATE_OFF,
					 reason);
			continue;
		}
		source_state_set(capture, sources[i]->source, FPERF_SOURCE_STATE_FAILED, failure.text);
		fperf_log__write(capture->context.log, FPERF_LOG_WARNING, "source '%s' is not recorded: %s",
				 sources[i]->name, failure.text);
		if (!failed)
			*err = failure;
		failed = true;
	}
	return active;
}

static void sideband_start(struct fperf_capture *capture)
{
	struct fperf_error failure;
	char reason[160];

	if (!fperf_sideband__open(&capture->sideband, reason, sizeof(reason), &failure)) {
		source_state_set(capture, FPERF_SOURCE_MAPPING, FPERF_SOURCE_STATE_ACTIVE, reason);
		return;
	}
	capture->sideband = NULL;
	snprintf(reason, sizeof(reason), "only /proc/PID/maps at start and after exec: %.100s", failure.text);
	source_state_set(capture, FPERF_SOURCE_MAPPING, FPERF_SOURCE_STATE_FAILED, reason);
	fperf_log__write(capture->context.log, FPERF_LOG_WARNING,
			 "libraries opened late will have no names: %s", failure.text);
}

static void scan_start(struct fperf_capture *capture)
{
	struct fperf_error failure;

	if (capture->status.source_state[FPERF_SOURCE_SCHED] == FPERF_SOURCE_STATE_ACTIVE &&
	    fperf_scan__open(&capture->shared, &capture->scan, &failure))
		fperf_log__write(capture->context.log, FPERF_LOG_WARNING,
				 "waits that cross the start or the end of the recording are not seen: %s",
				 failure.text);
}

/* The recorder gives way to the game, as long as it can keep up: the rings hold some hundred milliseconds.
 * With triggers it comes first: a stall has to be seen while it lasts, also when the stalled thread keeps the
 * core. */
static void priority_set(struct fperf_capture *capture)
{
	int niceness = capture->options.triggers ? WATCH_PRIORITY : LOW_PRIORITY;

	capture->other_priority = !getpriority(PRIO_PROCESS, 0) && !setpriority(PRIO_PROCESS, 0, niceness);
	capture->round_ns = fperf_clock__now_ns();
}

static void priority_restore(struct fperf_capture *capture)
{
	if (capture->other_priority)
		setpriority(PRIO_PROCESS, 0, 0);
	capture->other_priority = false;
}

/* Called when a round begins. */
static void priority_watch(struct fperf_capture *capture, uint64_t now_ns)
{
	bool late = now_ns - capture->round_ns > LATE_NS ||
		    capture->status.lost[FPERF_SOURCE_SAMPLE][FPERF_LOSS_RING_FULL] ||
		    capture->status.lost[FPERF_SOURCE_SCHED][FPERF_LOSS_RING_FULL];

	if (capture->other_priority && !capture->options.triggers && late) {
		priority_restore(capture);
		fperf_log__write(capture->context.log, FPERF_LOG_DETAIL,
				 "the recorder came late at low priority and goes on at the usual one");
	}
	capture->round_ns = now_ns;
}

/* Locked memory is accounted by rlimit before 5.11; descriptors are some per CPU. */
static void limits_raise(const struct fperf_log *log)
{
	struct rlimit locked = {RLIM_INFINITY, RLIM_INFINITY}, files;

	if (setrlimit(RLIMIT_MEMLOCK, &locked))
		fperf_log__write(log, FPERF_LOG_DETAIL,
				 "cannot raise the limit of locked memory: %s (needed before Linux 5.11)",
				 strerror(errno));
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

/* The pids that BPF sees are those of the initial namespace; ours would be others. Its inode number is fixed
 * in the kernel (PROC_PID_INIT_INO). */
static int namespace_check(struct fperf_error *err)
{
	struct stat stat_buf;

	if (stat("/proc/self/ns/pid", &stat_buf) || stat_buf.st_ino == 0xEFFFFFFCu)
		return 0;
	return fperf_error__set(
		err, -ENOTSUP,
		"this shell is in a PID namespace of its own (a container), where process ids differ from "
		"those that the kernel reports: run frameperf outside of it, with the target's pid there");
}

/* The address that kernel stacks are relative to. 0 when the kernel does not tell. */
static uint64_t kernel_text_base(void)
{
	struct fperf_error hidden;
	uint64_t base;

	return fperf_kallsyms__base(FPERF_KALLSYMS_PATH, &base, &hidden) ? 0 : base;
}

int fperf_capture__write_start(struct fperf_capture *capture, struct fperf_error *err)
{
	struct fperf_writer *writer = capture->context.writer;
	struct fperf_clock_offsets offsets = fperf_clock__offsets();
	struct fperf_proc_task task;
	uint32_t pid = (uint32_t)capture->options.pids[0];
	char exe[4096], number[32];
	int rc = fperf_proc__task(pid, pid, &task, err);

	if (rc)
		return rc;
	fperf_proc__exe(pid, exe, sizeof(exe));
	snprintf(number, sizeof(number), "%" PRId64, offsets.boottime_ns);
	rc = fperf_writer__meta(writer, FPERF_META_BOOTTIME_OFFSET, number, err);
	snprintf(number, sizeof(number), "%" PRId64, offsets.realtime_ns);
	rc = rc ? rc : fperf_writer__meta(writer, FPERF_META_REALTIME_OFFSET, number, err);
	rc = rc ? rc : fperf_writer__meta_u64(writer, FPERF_META_START_NS, capture->live_ns, err);
	rc = rc ? rc : fperf_writer__meta_u64(writer, FPERF_META_TARGET_PID, pid, err);
	rc = rc ? rc : fperf_writer__meta(writer, FPERF_META_TARGET_NAME, task.name, err);
	return rc ? rc : fperf_writer__meta(writer, FPERF_META_TARGET_EXE, exe, err);
}

static void sources_begin(struct fperf_capture *capture)
{
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (capture->source_state[i] && sources[i]->begin)
			sources[i]->begin(capture->source_state[i]);
}

/* One message in place of one for each source. CAP_BPF and CAP_PERFMON are parts of CAP_SYS_ADMIN since 5.8.
 */
static int privileges_check(struct fperf_error *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};
	uint64_t effective;

	if (syscall(SYS_capget, &header, data))
		return 0; /* then let each source say what it lacks */
	effective = (uint64_t)data[1].effective << 32 | data[0].effective;
	if (effective & 1ull << CAP_SYS_ADMIN ||
	    (effective & 1ull << CAP_BPF && effective & 1ull << CAP_PERFMON))
		return 0;
	return fperf_error__set(
		err, -EPERM,
		"recording needs root, or the capabilities CAP_BPF and CAP_PERFMON: run it by sudo");
}

static int capture_open(struct fperf_capture *capture, struct fperf_error *err)
{
	struct fperf_aggregate_options aggregate_options = {
		.writer = capture->options.writer,
		.log = capture->options.log,
		.kernel_base = kernel_text_base(),
	};
	struct fperf_error why = {0};
	int rc = namespace_check(err);

	rc = rc ? rc : privileges_check(err);
	if (rc)
		return rc;
	limits_raise(capture->context.log);
	capture->context.bpf_stats = fperf_overhead__can_measure_bpf();
	if (!capture->context.bpf_stats)
		fperf_log__write(
			capture->context.log, FPERF_LOG_WARNING,
			"the kernel does not tell what BPF programs cost (needs CAP_SYS_ADMIN, or sysctl "
			"kernel.bpf_stats_enabled=1): it is estimated");
	aggregate_options.start_ns = fperf_clock__now_ns();
	rc = fperf_aggregate__new(&aggregate_options, &capture->context.aggregate, err);
	if (rc)
		return rc;
	if (!sources_start(capture, &why)) {
		*err = why;
		return fperf_error__wrap(err, "nothing can be recorded here (`frameperf doctor` says more)");
	}
	sideband_start(capture);
	scan_start(capture);
	rc = fperf_drain__open(capture, err);
	if (rc)
		return rc;
	capture->context.start_ns = fperf_clock__now_ns();
	rc = fperf_follow__start(capture, err);
	if (rc)
		return rc;
	capture->live_ns = fperf_clock__now_ns();
	capture->context.start_ns = capture->live_ns;
	fperf_aggregate__set_start(capture->context.aggregate, capture->live_ns);
	rc = fperf_capture__write_start(capture, err);
	rc = rc ? rc : fperf_follow__scan(capture, err);
	if (rc)
		return rc;
	sources_begin(capture);
	priority_set(capture);
	return fperf_overhead__new(&capture->context, &capture->shared, &capture->overhead, err);
}

int fperf_capture__start(const struct fperf_capture_options *options, struct fperf_capture **capture,
			 struct fperf_error *err)
{
	struct fperf_capture *started = calloc(1, sizeof(*started));
	int rc;

	if (!started)
		return fperf_error__no_memory(err, "the recording");
	started->source_state = calloc(SOURCE_COUNT, sizeof(*started->source_state));
	if (!started->source_state) {
		free(started);
		return fperf_error__no_memory(err, "the recording");
	}
	started->options = *options;
	if (!started->options.flush_interval_ms)
		started->options.flush_interval_ms = FLUSH_MS;
	fperf_buf__init(&started->looked, 64u << 20);
	fperf_shared_maps__init(&started->shared);
	started->context = (struct fperf_capture_context){
		.options = &started->options,
		.writer = options->writer,
		.log = options->log,
		.shared = &started->shared,
	};
	rc = capture_open(started, err);
	if (rc) {
		fperf_capture__free(started);
		return rc;
	}
	*capture = started;
	return 0;
}

/* When recording costs too much, or no longer does. */
static void overhead_watch(struct fperf_capture *capture, uint64_t now_ns)
{
	struct fperf_effort effort;

	if (!fperf_overhead__poll(capture->overhead, now_ns, &effort))
		return;
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (capture->source_state[i] && sources[i]->effort)
			sources[i]->effort(capture->source_state[i], &effort);
}

void fperf_capture__finish_stats(struct fperf_capture *capture, uint64_t now_ns)
{
	capture->status.bpf_ns = fperf_overhead__finish(capture->overhead, capture->live_ns, now_ns);
}

static void mappings_read_again(struct fperf_capture *capture)
{
	size_t cursor = 0;
	uint64_t pid, unused;

	while (fperf_map__next(&capture->live, &cursor, &pid, &unused))
		fperf_follow__read_mappings(capture, (uint32_t)pid);
}

static int housekeeping(struct fperf_capture *capture, uint64_t now_ns, struct fperf_error *err)
{
	uint32_t pid;

	while (fperf_aggregate__next_new_image(capture->context.aggregate, &pid))
		if (!capture->sideband)
			fperf_follow__read_mappings(capture, pid);
	overhead_watch(capture, now_ns);
	if (now_ns - capture->losses_ns >= LOSSES_NS) {
		capture->losses_ns = now_ns;
		losses_collect(capture);
	}
	if (now_ns - capture->checked_ns >= CHECK_LIVE_NS) {
		capture->checked_ns = now_ns;
		fperf_follow__check_live(capture);
		if (capture->sideband && (fperf_sideband__check(capture->sideband) || capture->mappings_lost))
			mappings_read_again(capture);
		capture->mappings_lost = false;
	}
	if (now_ns - capture->flushed_ns < capture->options.flush_interval_ms * FPERF_NS_PER_MS)
		return 0;
	capture->flushed_ns = now_ns;
	return fperf_writer__flush(capture->context.writer, false, err);
}

int fperf_capture__poll(struct fperf_capture *capture, int timeout_ms, struct fperf_error *err)
{
	int interval = fperf_drain__interval_ms(capture), rc;
	uint64_t now_ns;

	fperf_drain__wait(capture, timeout_ms < interval ? timeout_ms : interval);
	now_ns = fperf_clock__now_ns();
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (capture->source_state[i] && sources[i]->poll)
			sources[i]->poll(capture->source_state[i], now_ns);
	priority_watch(capture, now_ns);
	rc = fperf_drain__round(capture, false, err);
	rc = rc ? rc : housekeeping(capture, now_ns, err);
	if (rc)
		return rc;
	return capture->live.used ? 1 : 0;
}

/* A script or launcher that ended up as the game gives the session the game's name. */
static int meta_write_image(struct fperf_capture *capture, struct fperf_error *err)
{
	struct fperf_writer *writer = capture->context.writer;
	const char *name, *exe;
	int rc;

	if (!fperf_aggregate__image(capture->context.aggregate, (uint32_t)capture->options.pids[0], &name,
				    &exe))
		return 0;
	rc = fperf_writer__meta(writer, FPERF_META_TARGET_NAME, name, err);
	return rc || !exe[0] ? rc : fperf_writer__meta(writer, FPERF_META_TARGET_EXE, exe, err);
}

int fperf_capture__write_end(struct fperf_capture *capture, const char *end_reason, struct fperf_error *err)
{
	struct fperf_writer *writer = capture->context.writer;
	int rc = meta_write_image(capture, err);

	rc = rc ? rc : fperf_writer__meta_u64(writer, FPERF_META_END_NS, capture->end_ns, err);
	rc = rc ? rc : fperf_writer__meta(writer, FPERF_META_END_REASON, end_reason, err);
	if (!rc && capture->status.bpf_ns)
		rc = fperf_writer__meta_u64(writer, FPERF_META_BPF_NS, capture->status.bpf_ns, err);
	return rc;
}

static int capture_finish(struct fperf_capture *capture, const char *end_reason, struct fperf_error *err)
{
	uint64_t end_ns = capture->end_ns;
	int rc = fperf_drain__round(capture, true, err);

	rc = rc ? rc : fperf_follow__scan(capture, err);
	losses_collect(capture);
	for (size_t i = SOURCE_COUNT; i-- > 0;) {
		if (capture->source_state[i] && sources[i]->stop)
			sources[i]->stop(capture->source_state[i], end_ns);
		capture->source_state[i] = NULL;
	}
	rc = rc ? rc : fperf_aggregate__finish(capture->context.aggregate, end_ns, err);
	return rc ? rc : fperf_capture__write_end(capture, end_reason, err);
}

int fperf_capture__stop(struct fperf_capture *capture, const char *end_reason, struct fperf_error *err)
{
	priority_restore(capture);
	capture->end_ns = fperf_clock__now_ns();
	fperf_capture__finish_stats(capture, capture->end_ns);
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (capture->source_state[i] && sources[i]->pause)
			sources[i]->pause(capture->source_state[i]);
	return capture_finish(capture, end_reason, err);
}

void fperf_capture__free(struct fperf_capture *capture)
{
	if (!capture)
		return;
	for (size_t i = SOURCE_COUNT; i-- > 0;)
		if (capture->source_state[i] && sources[i]->stop)
			sources[i]->stop(capture->source_state[i], fperf_clock__now_ns());
	fperf_overhead__free(capture->overhead);
	fperf_scan__close(capture->scan);
	fperf_drain__close(capture);
	fperf_sideband__close(capture->sideband);
	fperf_aggregate__free(capture->context.aggregate);
	fperf_shared_maps__close(&capture->shared);
	fperf_map__free(&capture->live);
	fperf_map__free(&capture->start_threads);
	fperf_map__free(&capture->boundaries);
	fperf_buf__free(&capture->looked);
	free(capture->source_state);
	free(capture);
}

void fperf_capture__status(const struct fperf_capture *capture, struct fperf_capture_status *status)
{
	*status = capture->status;
}
