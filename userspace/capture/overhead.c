#include "capture/overhead.h"

#include "base/clock.h"
#include "frameperf/meta.h"
#include "frameperf/wire.h"

#include <bpf/bpf.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Measuring costs time itself (two clock reads a run), so it is done for a tenth of each second; longer at
 * first, to calibrate. */
#define WINDOW_NS    (100 * FPERF_NS_PER_MS)
#define CALIBRATE_NS (300 * FPERF_NS_PER_MS)
#define READING_NS   FPERF_NS_PER_S

/* The budget refers to the time of the CPUs that are online, but of no more than this many: a game whose
 * frames one thread makes has nothing of the others. */
#define CPUS_COUNTED 4

/* Where the kernel does not tell: a switch costs about a third of a sample (docs/decisions/overhead.md). */
#define SWITCHES_PER_SAMPLE 3

struct fperf_overhead {
	struct fperf_capture_context *context;
	const struct fperf_shared_maps *shared;
	struct fperf_effort_control control;
	uint32_t cpus;
	uint64_t start_ns, reading_ns; /* of the recording; of the last reading */
	uint64_t own_ns;	       /* CPU time of the recorder at the last reading */
	uint64_t frames, frames_ns;    /* ends of frames at the last reading */
	bool measuring;		       /* in a window */
	int stats_fd;		       /* -1: none is needed, or no window is open */
	uint64_t window_from_ns, window_base_ns;
	uint64_t measured_ns, run_ns;		/* length of all windows, and run time in them */
	uint64_t last_measured_ns, last_run_ns; /* the same at the last reading */
	struct fperf_program_cost sample_base, switch_base;
	uint64_t sample_ns, switch_ns; /* calibrated cost of one; 0: not known */
};

bool fperf_overhead__can_measure_bpf(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	FILE *file;
	int on = 0;

	if (fd >= 0) {
		close(fd);
		return true;
	}
	file = fopen("/proc/sys/kernel/bpf_stats_enabled", "re");
	if (!file)
		return false;
	if (fscanf(file, "%d", &on) != 1)
		on = 0;
	fclose(file);
	return on != 0;
}

static uint32_t budget_ppm(double percent)
{
	return percent > 0 ? (uint32_t)(percent * 10000) : UINT32_MAX;
}

static uint64_t own_cpu_ns(const struct fperf_overhead *overhead)
{
	return fperf_clock__process_cpu_ns() + overhead->context->helper_cpu_ns;
}

static void window_open(struct fperf_overhead *overhead, uint64_t now_ns)
{
	overhead->measuring = true;
	overhead->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	overhead->window_from_ns = now_ns;
	overhead->window_base_ns = fperf_program__run_ns(overhead->shared);
	if (overhead->measured_ns)
		return;
	fperf_program__cost(overhead->shared, "fperf_sample", &overhead->sample_base);
	fperf_program__cost(overhead->shared, "fperf_switch", &overhead->switch_base);
}

static uint64_t cost_of_one(const struct fperf_overhead *overhead, const char *program,
			    const struct fperf_program_cost *base)
{
	struct fperf_program_cost cost;

	fperf_program__cost(overhead->shared, program, &cost);
	return cost.runs > base->runs ? (cost.run_ns - base->run_ns) / (cost.runs - base->runs) : 0;
}

/* A program that was unloaded meanwhile takes its time with it: the window then tells nothing. */
static void window_close(struct fperf_overhead *overhead, uint64_t now_ns)
{
	uint64_t run_ns = fperf_program__run_ns(overhead->shared);

	if (!overhead->measured_ns) {
		overhead->sample_ns = cost_of_one(overhead, "fperf_sample", &overhead->sample_base);
		overhead->switch_ns = cost_of_one(overhead, "fperf_switch", &overhead->switch_base);
	}
	if (run_ns >= overhead->window_base_ns) {
		overhead->run_ns += run_ns - overhead->window_base_ns;
		overhead->measured_ns += now_ns - overhead->window_from_ns;
	}
	if (overhead->stats_fd >= 0)
		close(overhead->stats_fd);
	overhead->stats_fd = -1;
	overhead->measuring = false;
}

/* What the sample program has measured of itself, and a share of it for each switch. */
static void estimate(struct fperf_overhead *overhead, uint64_t now_ns)
{
	struct fperf_self_time own;

	overhead->measured_ns = now_ns - overhead->start_ns;
	if (!fperf_program__self_time(overhead->shared, &own) || !own.count)
		return;
	overhead->sample_ns = own.ns / own.count;
	overhead->run_ns = own.ns + overhead->context->intervals * overhead->sample_ns / SWITCHES_PER_SAMPLE;
}

static uint32_t share_ppm(const struct fperf_overhead *overhead, uint64_t ns, uint64_t of_ns)
{
	double ppm = of_ns ? 1e6 * (double)ns / (double)of_ns / overhead->cpus : 0;

	return ppm < UINT32_MAX - 1 ? (uint32_t)ppm : UINT32_MAX - 1;
}

/* Frames per 1000 s since the last reading. Where none ended it is not known: a menu may show none, and a
 * stall is what one wants to see. */
static uint32_t frame_rate(struct fperf_overhead *overhead)
{
	const struct fperf_capture_context *context = overhead->context;
	uint64_t frames = context->frame_ends - overhead->frames,
		 ns = context->frame_ends_ns - overhead->frames_ns;
	bool known = overhead->frames_ns && context->frame_ends > overhead->frames && ns;

	overhead->frames = context->frame_ends;
	overhead->frames_ns = context->frame_ends_ns;
	return known ? (uint32_t)(1e12 * (double)frames / (double)ns) : FPERF_EFFORT_UNKNOWN;
}

static struct fperf_effort_reading reading_take(struct fperf_overhead *overhead, uint64_t now_ns)
{
	struct fperf_effort_reading reading = {.time_ns = now_ns, .bpf_ppm = FPERF_EFFORT_UNKNOWN};
	uint64_t own_ns = own_cpu_ns(overhead), ns = overhead->measured_ns - overhead->last_measured_ns;

	if (ns)
		reading.bpf_ppm = share_ppm(overhead, overhead->run_ns - overhead->last_run_ns, ns);
	reading.recorder_ppm = share_ppm(overhead, own_ns - overhead->own_ns, now_ns - overhead->reading_ns);
	reading.fps_milli = frame_rate(overhead);
	overhead->last_measured_ns = overhead->measured_ns;
	overhead->last_run_ns = overhead->run_ns;
	overhead->own_ns = own_ns;
	overhead->reading_ns = now_ns;
	return reading;
}

static void step_write(struct fperf_overhead *overhead, uint8_t from, enum fperf_effort_reason reason,
		       const struct fperf_effort_reading *why, const struct fperf_effort *effort)
{
	struct fperf_writer *writer = overhead->context->writer;
	uint32_t rate = overhead->control.frequency_hz / effort->hits_per_sample;
	struct fperf_error ignored; /* sticky in the writer */
	char words[160];

	snprintf(
		words, sizeof(words),
		"%u samples/s, %g ms for stacks of waits per s and CPU, kernel stacks of waits from %g ms on",
		rate, (double)effort->stack_budget_ns / 1e6, (double)effort->kernel_stack_min_ns / 1e6);
	fperf_writer__add(writer, FPERF_RECORD_EFFORT,
			  &(struct fperf_rec_effort){
				  .time_ns = why->time_ns,
				  .step = overhead->control.step,
				  .from = from,
				  .reason = (uint8_t)reason,
				  .words = fperf_writer__text(writer, words),
				  .bpf_ppm = why->bpf_ppm,
				  .recorder_ppm = why->recorder_ppm,
				  .fps_milli = why->fps_milli,
				  .hits_per_sample = effort->hits_per_sample,
			  },
			  &ignored);
	if (reason != FPERF_EFFORT_START)
		fperf_log__write(overhead->context->log, FPERF_LOG_DETAIL, "effort: step %u to %u: %s", from,
				 overhead->control.step, words);
}

static void step_first(struct fperf_overhead *overhead)
{
	struct fperf_effort effort = fperf_effort__of_step(0, overhead->control.frequency_hz);
	struct fperf_effort_reading unknown = {
		.time_ns = overhead->start_ns,
		.bpf_ppm = FPERF_EFFORT_UNKNOWN,
		.recorder_ppm = FPERF_EFFORT_UNKNOWN,
		.fps_milli = FPERF_EFFORT_UNKNOWN,
	};

	step_write(overhead, 0, FPERF_EFFORT_START, &unknown, &effort);
}

static int meta_write(const struct fperf_overhead *overhead, struct fperf_error *err)
{
	const struct fperf_capture_context *context = overhead->context;
	double budget = context->options->overhead_percent;
	struct fperf_writer *writer = context->writer;
	char percent[32];
	int rc = fperf_writer__meta_u64(writer, FPERF_META_OVERHEAD_CPUS, overhead->cpus, err);

	snprintf(percent, sizeof(percent), "%g", budget);
	if (!rc && budget > 0)
		rc = fperf_writer__meta(writer, FPERF_META_OVERHEAD_BUDGET, percent, err);
	return rc ? rc
		  : fperf_writer__meta(writer, FPERF_META_OVERHEAD_BY,
				       context->bpf_stats ? "kernel" : "estimate", err);
}

int fperf_overhead__new(struct fperf_capture_context *context, const struct fperf_shared_maps *shared,
			struct fperf_overhead **out, struct fperf_error *err)
{
	struct fperf_overhead *overhead = calloc(1, sizeof(*overhead));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const struct fperf_capture_options *options = context->options;

	if (!overhead)
		return fperf_error__no_memory(err, "the account of what recording costs");
	overhead->context = context;
	overhead->shared = shared;
	overhead->cpus = cpus < 1 ? 1 : cpus > CPUS_COUNTED ? CPUS_COUNTED : (uint32_t)cpus;
	overhead->stats_fd = -1;
	overhead->start_ns = overhead->reading_ns = fperf_clock__now_ns();
	overhead->own_ns = own_cpu_ns(overhead);
	fperf_effort_control__init(&overhead->control, budget_ppm(options->overhead_percent),
				   options->frequency_hz);
	*out = overhead;
	step_first(overhead);
	return meta_write(overhead, err);
}

bool fperf_overhead__poll(struct fperf_overhead *overhead, uint64_t now_ns, struct fperf_effort *effort)
{
	uint64_t window_ns = overhead->measured_ns ? WINDOW_NS : CALIBRATE_NS;
	struct fperf_effort_reading reading, average;
	uint8_t from = overhead->control.step;
	enum fperf_effort_reason reason;

	if (overhead->measuring && now_ns - overhead->window_from_ns >= window_ns)
		window_close(overhead, now_ns);
	else if (!overhead->measuring && overhead->context->bpf_stats &&
		 now_ns - overhead->window_from_ns >= READING_NS)
		window_open(overhead, now_ns);
	if (overhead->measuring || now_ns - overhead->reading_ns < READING_NS)
		return false;
	if (!overhead->context->bpf_stats)
		estimate(overhead, now_ns);
	reading = reading_take(overhead, now_ns);
	if (!fperf_effort_control__read(&overhead->control, &reading, &reason, &average))
		return false;
	*effort = fperf_effort__of_step(overhead->control.step, overhead->control.frequency_hz);
	step_write(overhead, from, reason, &average, effort);
	return true;
}

/* Of a recording of which only the last part is kept, the step that it was on is told again. */
static void step_repeat(struct fperf_overhead *overhead, uint64_t from_ns)
{
	struct fperf_effort effort =
		fperf_effort__of_step(overhead->control.step, overhead->control.frequency_hz);
	struct fperf_effort_reading unknown = {
		.time_ns = from_ns,
		.bpf_ppm = FPERF_EFFORT_UNKNOWN,
		.recorder_ppm = FPERF_EFFORT_UNKNOWN,
		.fps_milli = FPERF_EFFORT_UNKNOWN,
	};

	if (overhead->control.step && overhead->control.step_ns < from_ns)
		step_write(overhead, overhead->control.step, FPERF_EFFORT_START, &unknown, &effort);
}

uint64_t fperf_overhead__finish(struct fperf_overhead *overhead, uint64_t from_ns, uint64_t now_ns)
{
	double whole_ns = (double)(now_ns - from_ns);
	struct fperf_writer *writer = overhead->context->writer;
	struct fperf_error ignored; /* sticky in the writer */

	step_repeat(overhead, from_ns);
	if (overhead->measuring)
		window_close(overhead, now_ns);
	else if (!overhead->context->bpf_stats)
		estimate(overhead, now_ns);
	meta_write(overhead, &ignored); /* again: of a recording whose start is not kept */
	if (overhead->sample_ns)
		fperf_writer__meta_u64(writer, FPERF_META_OVERHEAD_SAMPLE, overhead->sample_ns, &ignored);
	if (overhead->switch_ns)
		fperf_writer__meta_u64(writer, FPERF_META_OVERHEAD_SWITCH, overhead->switch_ns, &ignored);
	if (!overhead->measured_ns)
		return 0;
	return (uint64_t)((double)overhead->run_ns / (double)overhead->measured_ns * whole_ns);
}

void fperf_overhead__free(struct fperf_overhead *overhead)
{
	if (overhead && overhead->stats_fd >= 0)
		close(overhead->stats_fd);
	free(overhead);
}
