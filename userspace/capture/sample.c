/* sample: one inherited perf event per thread that exists when recording starts; threads and children that
 * come later inherit it, program included. Measured against per-CPU events with a filter: see
 * docs/decisions/sampling.md. */
#include "capture/program.h"
#include "capture/proc_files.h"
#include "capture/sources.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "frameperf/meta.h"
#include "sample.skel.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct sample_state {
	struct fperf_capture_context *context;
	struct sample_bpf *skeleton;
	int *fds;
	size_t fd_count, fd_capacity;
	struct fperf_map attached; /* by tid */
	bool hardware;
	uint32_t frequency_hz;
	uint32_t limit_hz; /* what the kernel allowed when last asked; 0: not known */
	uint64_t limit_asked_ns;
	uint64_t tick_ns;
	int last_errno;
};

static void sample_stop(void *data, uint64_t end_ns)
{
	struct sample_state *state = data;

	(void)end_ns;
	for (size_t i = 0; i < state->fd_count; i++)
		close(state->fds[i]);
	free(state->fds);
	fperf_map__free(&state->attached);
	sample_bpf__destroy(state->skeleton);
	free(state);
}

static void sample_pause(void *data)
{
	struct sample_state *state = data;

	for (size_t i = 0; i < state->fd_count; i++)
		ioctl(state->fds[i], PERF_EVENT_IOC_DISABLE, 0);
}

/* A little longer than asked for: games do things in round numbers of a second, and a clock that keeps step
 * with a loop sees always the same part of it. With 0.71 % more, the samples move through a loop of 8 turns a
 * millisecond in 18 ms. */
static uint64_t clock_period_ns(uint32_t frequency_hz)
{
	uint64_t period = 1000000000ull / frequency_hz;

	return period + period * 71 / 10000;
}

static int event_open(const struct sample_state *state, bool hardware, pid_t tid)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = hardware ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
		.freq = hardware,
		.inherit = 1,
		.exclude_hv = 1,
	};

	if (hardware)
		attr.sample_freq = state->frequency_hz;
	else
		attr.sample_period = clock_period_ns(state->frequency_hz);
	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Attaches to one thread. 0, or a negative errno; -ESRCH when it is gone. */
static int thread_attach(struct sample_state *state, uint32_t tid)
{
	int fd = event_open(state, state->hardware, (pid_t)tid), *slot;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(state->skeleton->progs.fperf_sample))) {
		int code = -errno;

		close(fd);
		return code;
	}
	slot = fperf_vec__push(&state->fds, &state->fd_count, &state->fd_capacity);
	if (!slot || fperf_map__set(&state->attached, tid, 1)) {
		close(fd);
		state->fd_count -= slot != NULL;
		return -ENOMEM;
	}
	*slot = fd;
	return 0;
}

/* Until a look at the process shows no thread that is not attached. A thread that was made meanwhile by an
 * attached one has inherited the event and gets a second one: its samples are denser, and nothing is made of
 * their number. */
static void sample_attach_process(void *data, uint32_t pid)
{
	struct sample_state *state = data;
	struct fperf_error ignored;
	bool again = true;

	for (int round = 0; again && round < 16; round++) {
		uint32_t *tids;
		size_t count;

		again = false;
		if (fperf_proc__threads(pid, &tids, &count, &ignored))
			return;
		for (size_t i = 0; i < count; i++) {
			int rc;

			if (fperf_map__get(&state->attached, tids[i], NULL))
				continue;
			rc = thread_attach(state, tids[i]);
			if (!rc)
				again = true;
			else if (rc != -ESRCH)
				state->last_errno = rc;
		}
		free(tids);
	}
	if (state->last_errno) {
		fperf_log__write(state->context->log, FPERF_LOG_WARNING,
				 "cannot sample some threads of process %u: perf_event_open: %s%s", pid,
				 strerror(-state->last_errno),
				 state->last_errno == -EMFILE ? " (raise `ulimit -n`)" : "");
		state->last_errno = 0;
	}
}

/* After an exec there is one thread, which has lost its event. */
static void sample_reattach_process(void *data, uint32_t pid)
{
	struct sample_state *state = data;

	fperf_map__remove(&state->attached, pid);
	sample_attach_process(state, pid);
}

/* What the kernel allows; it refuses higher rates. 0: not known. */
static uint32_t rate_limit(void)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned int limit = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%u", &limit) != 1)
		limit = 0;
	fclose(file);
	return limit;
}

/* Finds out which event this machine has, on ourselves. */
static int event_choose(struct sample_state *state, char *reason, size_t reason_size, struct fperf_error *err)
{
	uint32_t limit = rate_limit(), asked = state->frequency_hz;
	struct timespec tick = {0};
	int fd;

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick); /* which goes on at every tick */
	state->tick_ns = (uint64_t)tick.tv_nsec;
	state->limit_hz = limit;

	if (limit && limit < asked) {
		state->frequency_hz = limit;
		fperf_log__write(
			state->context->log, FPERF_LOG_WARNING,
			"the kernel allows %u samples/s, not %u (sysctl kernel.perf_event_max_sample_rate)",
			limit, asked);
	}
	state->hardware = true;
	fd = event_open(state, true, 0);
	if (fd < 0) {
		state->hardware = false;
		fd = event_open(state, false, 0);
	}
	if (fd < 0)
		return fperf_error__set_errno(err, -errno, "perf_event_open(cpu-clock, %u Hz)",
					      state->frequency_hz);
	close(fd);
	snprintf(reason, reason_size, "%s, %u Hz, per thread%s", state->hardware ? "cycles" : "cpu-clock",
		 state->frequency_hz, state->hardware ? "" : " (no hardware counter)");
	return 0;
}

/* The kernel lowers its limit by itself when sampling takes too long. An event may fire limit / HZ times in a
 * tick, rounded up, and once more. */
static uint32_t tick_limit(const struct sample_state *state)
{
	uint64_t hits = (state->limit_hz * state->tick_ns + FPERF_NS_PER_S - 1) / FPERF_NS_PER_S;
	uint64_t wanted = state->frequency_hz * state->tick_ns / FPERF_NS_PER_S;

	return state->limit_hz && hits <= wanted + 1 ? (uint32_t)hits : UINT32_MAX;
}

static int described(struct sample_state *state, struct fperf_error *err)
{
	struct fperf_writer *writer = state->context->writer;
	int rc = fperf_writer__meta(writer, FPERF_META_SAMPLE_EVENT, state->hardware ? "cycles" : "cpu-clock",
				    err);

	return rc ? rc
		  : fperf_writer__meta_u64(writer, FPERF_META_SAMPLE_PERIOD_NS,
					   clock_period_ns(state->frequency_hz), err);
}

static void sample_describe(void *data, uint64_t end_ns)
{
	struct fperf_error ignored; /* sticky in the writer */

	(void)end_ns;
	described(data, &ignored);
}

static int sample_start(struct fperf_capture_context *context, void **data, char *reason, size_t reason_size,
			struct fperf_error *err)
{
	struct sample_state *state = calloc(1, sizeof(*state));
	struct bpf_object_open_opts options;
	int rc;

	if (!state)
		return fperf_error__no_memory(err, "the sample source");
	state->context = context;
	state->frequency_hz = context->options->frequency_hz;
	rc = event_choose(state, reason, reason_size, err);
	if (rc)
		goto fail;
	fperf_program__open_options(context->shared, &options);
	state->skeleton = sample_bpf__open_opts(&options);
	if (!state->skeleton) {
		rc = fperf_error__set_errno(err, -errno, "cannot open BPF object 'sample'");
		goto fail;
	}
	state->skeleton->rodata->measure_self = !context->bpf_stats;
	state->skeleton->rodata->tick_ns = state->tick_ns;
	state->skeleton->rodata->hit_ns = clock_period_ns(state->frequency_hz);
	state->skeleton->data->tick_hits = tick_limit(state);
	state->skeleton->rodata->kernel_stack_size = fperf_program__kernel_stack_size();
	state->skeleton->rodata->unwind_mode = fperf_unwind__bpf_mode(context->options->unwind);
	if (context->options->unwind == FPERF_UNWIND_CHECK)
		state->skeleton->rodata->dump_interval_ns = 0;
	state->skeleton->rodata->unwind_address_mask = fperf_unwind__address_mask();
	rc = fperf_program__load(context->shared, state->skeleton->obj, "sample", err);
	if (rc)
		goto fail;
	rc = described(state, err);
	if (rc)
		goto fail;
	*data = state;
	return 0;
fail:
	sample_bpf__destroy(state->skeleton);
	free(state);
	return rc;
}

static void data_set(struct sample_state *state)
{
	int rc = fperf_program__set_data(state->skeleton->maps.data, state->skeleton->data);

	if (rc)
		fperf_log__write(state->context->log, FPERF_LOG_WARNING,
				 "cannot change the sampling rate: %s", strerror(-rc));
}

static void sample_poll(void *data, uint64_t now_ns)
{
	struct sample_state *state = data;
	uint32_t limit_hz, hits;

	if (now_ns - state->limit_asked_ns < FPERF_NS_PER_S)
		return;
	state->limit_asked_ns = now_ns;
	limit_hz = rate_limit();
	if (limit_hz == state->limit_hz)
		return;
	if (limit_hz && limit_hz < state->frequency_hz)
		fperf_log__write(state->context->log, FPERF_LOG_WARNING,
				 "the kernel now allows %u samples/s only, and throttles sampling (sysctl "
				 "kernel.perf_event_max_sample_rate)",
				 limit_hz);
	state->limit_hz = limit_hz;
	hits = tick_limit(state);
	if (hits == state->skeleton->data->tick_hits)
		return;
	state->skeleton->data->tick_hits = hits;
	data_set(state);
}

static void sample_effort(void *data, const struct fperf_effort *effort)
{
	struct sample_state *state = data;

	state->skeleton->data->hits_per_sample = effort->hits_per_sample;
	data_set(state);
}

const struct fperf_capture_source_ops fperf_source_sample = {
	.source = FPERF_SOURCE_SAMPLE,
	.name = "sample",
	.start = sample_start,
	.attach_process = sample_attach_process,
	.reattach_process = sample_reattach_process,
	.describe = sample_describe,
	.effort = sample_effort,
	.poll = sample_poll,
	.pause = sample_pause,
	.stop = sample_stop,
};
