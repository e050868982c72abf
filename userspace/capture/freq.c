/* Clocks of the CPUs: by tracepoint, and by sysfs where the driver never calls it (drivers whose hardware
 * picks the clock itself). */
#include "base/clock.h"
#include "capture/freq_sysfs.h"
#include "capture/program.h"
#include "capture/sources.h"
#include "freq.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_NS (250 * FPERF_NS_PER_MS)

struct freq {
	struct fperf_capture_context *context;
	struct freq_bpf *object; /* NULL: sysfs only */
	struct fperf_freq_cpu *cpus;
	size_t count;
	uint64_t next_poll_ns;
	bool traced; /* the tracepoint has fired: no need to poll */
	uint64_t polled;
	char driver[32];
};

static void record_write(struct freq *freq, uint64_t time_ns, uint32_t cpu, enum fperf_freq_kind kind,
			 uint32_t khz, uint32_t min_khz, uint32_t max_khz)
{
	struct fperf_rec_freq record = {
		.time_ns = time_ns,
		.cpu = (uint16_t)cpu,
		.kind = (uint8_t)kind,
		.polled = 1,
		.khz = khz,
		.min_khz = min_khz,
		.max_khz = max_khz,
	};
	struct fperf_error err;

	/* A session file that can't be written is noticed, and told, by whoever flushes it. */
	(void)fperf_writer__add(freq->context->writer, FPERF_RECORD_FREQ, &record, &err);
}

/* What a CPU is like; `before` NULL: all of it, else what has changed. */
static void cpu_write(struct freq *freq, uint64_t time_ns, const struct fperf_freq_cpu *cpu,
		      const struct fperf_freq_cpu *before)
{
	if (!before && cpu->hardware_max)
		record_write(freq, time_ns, cpu->cpu, FPERF_FREQ_HARDWARE, 0, cpu->hardware_min,
			     cpu->hardware_max);
	if (cpu->max && (!before || cpu->max != before->max || cpu->min != before->min))
		record_write(freq, time_ns, cpu->cpu, FPERF_FREQ_LIMITS, 0, cpu->min, cpu->max);
	if (cpu->current && (!before || cpu->current != before->current))
		record_write(freq, time_ns, cpu->cpu, FPERF_FREQ_CURRENT, cpu->current, 0, 0);
}

static int object_load(struct freq *freq, struct fperf_error *err)
{
	struct bpf_object_open_opts options;
	int result;

	fperf_program__open_options(freq->context->shared, &options);
	freq->object = freq_bpf__open_opts(&options);
	if (!freq->object)
		return fperf_error__set_errno(err, -errno, "cannot open BPF program 'freq'");
	freq->object->rodata->cpu_count = freq->count ? freq->cpus[freq->count - 1].cpu + 1 : 0;
	result = fperf_program__load(freq->context->shared, freq->object->obj, "freq", err);
	for (size_t i = 0; !result && i < freq->count; i++)
		result = bpf_map_update_elem(bpf_map__fd(freq->object->maps.freq_policies),
					     &freq->cpus[i].cpu, &freq->cpus[i].policy, BPF_ANY);
	if (!result && freq_bpf__attach(freq->object))
		result = fperf_error__set_errno(err, -errno,
						"tracepoints cpu_frequency and cpu_frequency_limits: attach");
	if (result) {
		freq_bpf__destroy(freq->object);
		freq->object = NULL;
	}
	return result;
}

static void freq_free(struct freq *freq)
{
	freq_bpf__destroy(freq->object);
	free(freq->cpus);
	free(freq);
}

static int freq_start(struct fperf_capture_context *context, void **state, char *reason, size_t reason_size,
		      struct fperf_error *err)
{
	struct freq *freq = calloc(1, sizeof(*freq));
	struct fperf_error why;
	uint64_t now_ns;

	if (!freq)
		return fperf_error__no_memory(err, "CPU clocks");
	freq->context = context;
	freq->cpus = calloc(FPERF_MAX_CPUS, sizeof(*freq->cpus));
	if (!freq->cpus) {
		free(freq);
		return fperf_error__no_memory(err, "CPU clocks");
	}
	freq->count = fperf_freq_sysfs__read(FPERF_FREQ_ROOT, fperf_freq_sysfs__cpus(FPERF_MAX_CPUS),
					     freq->cpus, freq->driver, sizeof(freq->driver));
	now_ns = fperf_clock__now_ns();
	if (!freq->count) {
		freq_free(freq);
		snprintf(reason, reason_size, "no cpufreq driver: " FPERF_FREQ_ROOT "/cpu*/cpufreq is empty");
		return -ENODEV;
	}
	for (size_t i = 0; i < freq->count; i++)
		cpu_write(freq, now_ns, &freq->cpus[i], NULL);
	if (object_load(freq, &why)) {
		fperf_log__write(context->log, FPERF_LOG_NOTE,
				 "CPU clocks are read from sysfs four times a second: %s", why.text);
		snprintf(reason, reason_size, "sysfs, 4 times a second (driver %s)", freq->driver);
	} else {
		snprintf(reason, reason_size, "tracepoints cpu_frequency, cpu_frequency_limits (driver %s)",
			 freq->driver);
	}
	*state = freq;
	return 0;
}

static bool has_traced(struct freq *freq)
{
	uint32_t zero = 0;
	uint64_t events = 0;

	if (!freq->traced && freq->object &&
	    !bpf_map_lookup_elem(bpf_map__fd(freq->object->maps.freq_events), &zero, &events) && events)
		freq->traced = true;
	return freq->traced;
}

static void freq_poll(void *state, uint64_t now_ns)
{
	struct freq *freq = state;

	if (now_ns < freq->next_poll_ns || has_traced(freq))
		return;
	freq->next_poll_ns = now_ns + POLL_NS;
	for (size_t i = 0; i < freq->count; i++) {
		struct fperf_freq_cpu before = freq->cpus[i];

		if (!fperf_freq_sysfs__update(FPERF_FREQ_ROOT, &freq->cpus[i])) {
			freq->cpus[i] = before;
			continue;
		}
		cpu_write(freq, fperf_clock__now_ns(), &freq->cpus[i], &before);
	}
	freq->polled++;
}

static void freq_on_epoch(void *state, uint64_t now_ns)
{
	struct freq *freq = state;

	for (size_t i = 0; i < freq->count; i++) {
		struct fperf_freq_cpu before = freq->cpus[i];

		if (!fperf_freq_sysfs__update(FPERF_FREQ_ROOT, &freq->cpus[i]))
			freq->cpus[i] = before;
		cpu_write(freq, now_ns, &freq->cpus[i], NULL);
	}
}

/* Which of the two it was is known only now. */
static void freq_describe(void *state, uint64_t end_ns)
{
	struct freq *freq = state;
	struct fperf_rec_source record = {.source = FPERF_SOURCE_FREQ, .state = FPERF_SOURCE_STATE_ACTIVE};
	struct fperf_error err;
	char text[160];

	(void)end_ns;
	if (freq->object && freq->polled && !has_traced(freq)) {
		snprintf(text, sizeof(text),
			 "sysfs, 4 times a second: driver %s never called the tracepoints", freq->driver);
		record.reason = fperf_writer__text(freq->context->writer, text);
		(void)fperf_writer__add(freq->context->writer, FPERF_RECORD_SOURCE, &record, &err);
	}
}

static void freq_stop(void *state, uint64_t end_ns)
{
	freq_describe(state, end_ns);
	freq_free(state);
}

const struct fperf_capture_source_ops fperf_source_freq = {
	.source = FPERF_SOURCE_FREQ,
	.name = "freq",
	.start = freq_start,
	.poll = freq_poll,
	.on_epoch = freq_on_epoch,
	.describe = freq_describe,
	.stop = freq_stop,
};
