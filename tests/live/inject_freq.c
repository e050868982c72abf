/* Runs the programs of freq.bpf.c on made-up events: works on machines without cpufreq. Exit status 0 when
 * every record is right; else a line for each that is not. */
#include "capture/program.h"
#include "frameperf/wire.h"
#include "freq.skel.h"

#include <bpf/bpf.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct fperf_wire_freq records[64];
static size_t record_count;
static int wrong;

static int take(void *context, void *data, size_t size)
{
	(void)context;
	if (size == sizeof(records[0]) && record_count < 64)
		memcpy(&records[record_count++], data, size);
	return 0;
}

static void expect(int holds, const char *what)
{
	if (holds)
		return;
	printf("wrong: %s\n", what);
	wrong = 1;
}

static int inject(const struct bpf_program *program, uint64_t first, uint64_t second, int cpu)
{
	uint64_t arguments[2] = {first, second};
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = arguments, .ctx_size_in = sizeof(arguments),
		    .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = (__u32)cpu);

	return bpf_prog_test_run_opts(bpf_program__fd(program), &options);
}

static uint64_t events(struct freq_bpf *object)
{
	uint64_t count = 0;
	uint32_t zero = 0;

	bpf_map_lookup_elem(bpf_map__fd(object->maps.freq_events), &zero, &count);
	return count;
}

static void run(struct freq_bpf *object, struct ring_buffer *ring)
{
	static const uint32_t khz[] = {1800000, 600000, 3600000000u};
	int last = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;

	for (int i = 0; i < 3; i++)
		expect(!inject(object->progs.fperf_cpu_frequency, khz[i], (uint64_t)i, last),
		       "cpu_frequency runs");
	ring_buffer__consume(ring);
	expect(record_count == 3, "one record for each event");
	for (size_t i = 0; i < record_count; i++) {
		expect(records[i].header.type == FPERF_WIRE_FREQ &&
			       records[i].header.size == sizeof(records[0]),
		       "type and size");
		expect(records[i].header.cpu == i,
		       "the CPU is the one of the event, not the one that tells of it");
		expect(records[i].kind == FPERF_FREQ_CURRENT && records[i].khz == khz[i], "clock");
		expect(records[i].header.time_ns &&
			       (!i || records[i].header.time_ns >= records[i - 1].header.time_ns),
		       "time");
	}
	expect(events(object) == 3, "events are counted");
	record_count = 0;
	/* A policy that can't be read: no invented limits. */
	expect(!inject(object->progs.fperf_cpu_frequency_limits, 8, 0, 0), "cpu_frequency_limits runs");
	ring_buffer__consume(ring);
	expect(record_count == 0 && events(object) == 3, "no record of what could not be read");
}

int main(void)
{
	static struct fperf_shared_maps shared;
	struct bpf_object_open_opts options;
	struct ring_buffer *ring = NULL;
	struct fperf_error err = {0};
	struct freq_bpf *object;

	fperf_shared_maps__init(&shared);
	fperf_program__open_options(&shared, &options);
	object = freq_bpf__open_opts(&options);
	if (!object) {
		perror("freq_bpf__open");
		return 1;
	}
	object->rodata->cpu_count = 2;
	if (fperf_program__load(&shared, object->obj, "freq", &err)) {
		printf("%s\n", err.text);
		return 1;
	}
	ring = ring_buffer__new(bpf_map__fd(object->maps.fperf_ring_event), take, NULL, NULL);
	if (ring)
		run(object, ring);
	else
		expect(0, "ring_buffer__new");
	ring_buffer__free(ring);
	freq_bpf__destroy(object);
	fperf_shared_maps__close(&shared);
	return wrong;
}
