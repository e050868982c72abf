/* sample: one perf event per CPU, whose BPF program drops what is none of a target's. Measured against one
 * inherited event per thread: see docs/decisions/sampling.md. */
#include "capture/perf_rings.h"
#include "capture/program.h"
#include "capture/sources.h"

#include "base/clock.h"
#include "frameperf/meta.h"
#include "sample.skel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RING_PAGES  4 /* for the records of throttling, of which there are two in a tick */
#define TICK_MAX_NS (10 * FPERF_NS_PER_MS)

struct throttle {
	uint64_t since_ns; /* 0: the event of this CPU is not throttled */
	bool target;	   /* a target ran when it began */
};

struct sample_state {
	struct fperf_capture_context *context;
	struct sample_bpf *skeleton;
	struct fperf_perf_rings *events;
	struct throttle *throttles; /* by CPU */
	size_t cpu_count;
	bool hardware;
	uint32_t frequency_hz;
	uint32_t limit_hz;   /* what the kernel allowed when last asked; 0: not known */
	uint64_t checked_ns; /* when that was, and when CPUs were looked for */
};

static void sample_stop(void *data, uint64_t end_ns)
{
	struct sample_state *state = data;

	(void)end_ns;
	fperf_perf_rings__close(state->events);
	sample_bpf__destroy(state->skeleton);
	free(state->throttles);
	free(state);
}

/* A little longer than asked for: games do things in round numbers of a second, and a clock that keeps step
 * with a loop sees always the same part of it. With 0.71 % more, the samples move through a loop of 8 turns a
 * millisecond in 18 ms. */
static uint64_t clock_period_ns(uint32_t frequency_hz)
{
	uint64_t period = 1000000000ull / frequency_hz;

	return period + period * 71 / 10000;
}

static int events_open(struct sample_state *state)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = state->hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = state->hardware ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.freq = state->hardware,
		.disabled = 1,
		.exclude_hv = 1,
		.exclude_idle = !state->hardware, /* which idle CPUs do not count anyway, and some refuse */
	};

	if (state->hardware)
		attr.sample_freq = state->frequency_hz;
	else
		attr.sample_period = clock_period_ns(state->frequency_hz);
	return fperf_perf_rings__open(&state->events, &attr, RING_PAGES,
				      bpf_program__fd(state->skeleton->progs.fperf_sample));
}

static void sample_begin(void *data)
{
	struct sample_state *state = data;

	fperf_perf_rings__enable(state->events);
}

/* The kernel stops an event that fires more often in a tick than its limit allows, until the next tick. */
static void throttle_end(struct sample_state *state, struct throttle *throttle, uint64_t now_ns)
{
	uint64_t silent_ns = now_ns > throttle->since_ns ? now_ns - throttle->since_ns : 0;

	if (silent_ns > TICK_MAX_NS)
		silent_ns = TICK_MAX_NS; /* the CPU went offline, or a record was lost */
	if (throttle->since_ns && throttle->target)
		state->context->lost[FPERF_SOURCE_SAMPLE][FPERF_LOSS_THROTTLED] +=
			silent_ns / clock_period_ns(state->frequency_hz);
	throttle->since_ns = 0;
}

/* Layout: perf_event_open(2), PERF_RECORD_THROTTLE: time, id, stream id; then pid, tid, time. */
static void throttle_take(void *data, size_t cpu, const struct perf_event_header *header)
{
	struct sample_state *state = data;
	const uint8_t *body = (const uint8_t *)(header + 1);
	struct throttle *throttle;
	uint64_t time_ns;
	uint32_t pid;

	if (cpu >= state->cpu_count || header->size < sizeof(*header) + 28 ||
	    (header->type != PERF_RECORD_THROTTLE && header->type != PERF_RECORD_UNTHROTTLE))
		return;
	memcpy(&time_ns, body, sizeof(time_ns));
	memcpy(&pid, body + 24, sizeof(pid));
	throttle = &state->throttles[cpu];
	throttle_end(state, throttle, time_ns);
	if (header->type != PERF_RECORD_THROTTLE)
		return;
	throttle->since_ns = time_ns;
	throttle->target = fperf_targets__has(state->context->shared, pid);
}

static void sample_pause(void *data)
{
	struct sample_state *state = data;
	uint64_t now_ns = fperf_clock__now_ns();

	fperf_perf_rings__disable(state->events);
	fperf_perf_rings__drain(state->events, throttle_take, state);
	for (size_t cpu = 0; cpu < state->cpu_count; cpu++)
		throttle_end(state, &state->throttles[cpu], now_ns);
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

/* Which event this machine has. */
static int events_choose(struct sample_state *state, char *reason, size_t reason_size,
			 struct fperf_error *err)
{
	uint32_t limit = rate_limit(), asked = state->frequency_hz;
	int rc;

	state->limit_hz = limit;
	if (limit && limit < asked) {
		state->frequency_hz = limit;
		fperf_log__write(
			state->context->log, FPERF_LOG_WARNING,
			"the kernel allows %u samples/s, not %u (sysctl kernel.perf_event_max_sample_rate)",
			limit, asked);
	}
	state->hardware = true;
	rc = events_open(state);
	if (rc) {
		state->hardware = false;
		rc = events_open(state);
	}
	if (rc)
		return fperf_error__set_errno(err, rc, "perf_event_open(cpu-clock, %u Hz)",
					      state->frequency_hz);
	snprintf(reason, reason_size, "%s, %u Hz, %zu CPUs%s", state->hardware ? "cycles" : "cpu-clock",
		 state->frequency_hz, fperf_perf_rings__count(state->events),
		 state->hardware ? "" : " (no hardware counter)");
	return 0;
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

static int program_load(struct sample_state *state, struct fperf_error *err)
{
	struct fperf_capture_context *context = state->context;
	struct bpf_object_open_opts options;

	fperf_program__open_options(context->shared, &options);
	state->skeleton = sample_bpf__open_opts(&options);
	if (!state->skeleton)
		return fperf_error__set_errno(err, -errno, "cannot open BPF object 'sample'");
	state->skeleton->rodata->measure_self = !context->bpf_stats;
	state->skeleton->rodata->kernel_stack_size = fperf_program__kernel_stack_size();
	state->skeleton->rodata->unwind_mode = fperf_unwind__bpf_mode(context->options->unwind);
	if (context->options->unwind == FPERF_UNWIND_CHECK)
		state->skeleton->rodata->dump_interval_ns = 0;
	state->skeleton->rodata->unwind_address_mask = fperf_unwind__address_mask();
	return fperf_program__load(context->shared, state->skeleton->obj, "sample", err);
}

static int sample_start(struct fperf_capture_context *context, void **data, char *reason, size_t reason_size,
			struct fperf_error *err)
{
	struct sample_state *state = calloc(1, sizeof(*state));
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int rc;

	if (!state)
		return fperf_error__no_memory(err, "the sample source");
	state->context = context;
	state->frequency_hz = context->options->frequency_hz;
	state->cpu_count = cpus > 0 ? (size_t)cpus : 1;
	state->throttles = calloc(state->cpu_count, sizeof(*state->throttles));
	rc = state->throttles ? program_load(state, err) : fperf_error__no_memory(err, "the sample source");
	rc = rc ? rc : events_choose(state, reason, reason_size, err);
	rc = rc ? rc : described(state, err);
	if (rc) {
		sample_stop(state, 0);
		return rc;
	}
	*data = state;
	return 0;
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
	uint32_t limit_hz;

	fperf_perf_rings__drain(state->events, throttle_take, state);
	if (now_ns - state->checked_ns < FPERF_NS_PER_S)
		return;
	state->checked_ns = now_ns;
	fperf_perf_rings__check(state->events);
	limit_hz = rate_limit();
	if (limit_hz && limit_hz < state->limit_hz && limit_hz < state->frequency_hz)
		fperf_log__write(state->context->log, FPERF_LOG_WARNING,
				 "the kernel now allows %u samples/s only, and throttles sampling (sysctl "
				 "kernel.perf_event_max_sample_rate)",
				 limit_hz);
	state->limit_hz = limit_hz;
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
	.begin = sample_begin,
	.describe = sample_describe,
	.effort = sample_effort,
	.poll = sample_poll,
	.pause = sample_pause,
	.stop = sample_stop,
};
