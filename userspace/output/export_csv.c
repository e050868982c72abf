/* Tables. The frames as MangoHud logs them (github.com/flightlessmango/MangoHud, src/logging.cpp): its two
 * lines about the system, then one row a frame, with times in ms, memory in GiB, clocks in MHz; what was not
 * measured is empty. The functions: see export_functions.c. */
#include "output/export.h"

#include "base/map.h"
#include "frameperf/meta.h"
#include "output/csv.h"
#include "output/export_functions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define GIB 1073741824.0

/* Values that are logged beside a frame: the last before its end. */
struct frame_log {
	const struct fperf_rec_counter *counters;
	const struct fperf_rec_freq *freqs;
	size_t counter_count, freq_count, counter_next, freq_next;
	struct fperf_map rss; /* process to bytes */
	struct fperf_map khz; /* CPU to kHz */
};

static int log_advance(struct frame_log *log, const struct fperf_session *session, uint64_t to_ns)
{
	int failed = 0;

	for (; log->counter_next < log->counter_count && log->counters[log->counter_next].time_ns <= to_ns;
	     log->counter_next++) {
		const struct fperf_rec_counter *counter = &log->counters[log->counter_next];
		const struct fperf_rec_process *process = fperf_session__process(session, counter->index);

		if (counter->counter == FPERF_COUNTER_RSS && process && process->target)
			failed |= fperf_map__set(&log->rss, counter->index, (uint64_t)counter->value);
	}
	for (; log->freq_next < log->freq_count && log->freqs[log->freq_next].time_ns <= to_ns;
	     log->freq_next++) {
		const struct fperf_rec_freq *freq = &log->freqs[log->freq_next];

		if (freq->khz)
			failed |= fperf_map__set(&log->khz, freq->cpu, freq->khz);
	}
	return failed;
}

static void rss_put(const struct frame_log *log, FILE *stream)
{
	uint64_t process, bytes, sum = 0;
	size_t cursor = 0;

	while (fperf_map__next(&log->rss, &cursor, &process, &bytes))
		sum += bytes;
	if (log->rss.used)
		fprintf(stream, "%.6f", (double)sum / GIB);
}

static void mhz_put(const struct frame_log *log, FILE *stream)
{
	uint64_t cpu, khz, most = 0;
	size_t cursor = 0;

	while (fperf_map__next(&log->khz, &cursor, &cpu, &khz))
		most = khz > most ? khz : most;
	if (most)
		fprintf(stream, "%" PRIu64, most / 1000);
}

static void system_put(const struct fperf_session *session, FILE *stream)
{
	const char *cpu = fperf_session__meta(session, FPERF_META_HOST_MODEL);
	const char *kernel = fperf_session__meta(session, FPERF_META_HOST_KERNEL);

	fputs("os,cpu,gpu,ram,kernel,driver,cpuscheduler\n", stream);
	fputs("Linux,", stream);
	fperf_csv__text(stream, cpu ? cpu : "");
	fputs(",,,", stream);
	fperf_csv__text(stream, kernel ? kernel : "");
	fputs(",,\n", stream);
}

static int frames_put(const struct fperf_export *export, struct frame_log *log, FILE *stream)
{
	const struct fperf_analysis *analysis = export->analysis;

	fputs("fps,frametime,cpu_load,cpu_power,gpu_load,cpu_temp,gpu_temp,gpu_core_clock,gpu_mem_clock,"
	      "gpu_vram_used,gpu_power,ram_used,swap_used,process_rss,cpu_mhz,elapsed\n",
	      stream);
	for (size_t i = 0; i < analysis->frame_count; i++) {
		const struct fperf_frame *frame = &analysis->frames[i];
		uint64_t time = frame->end_ns - frame->start_ns;

		if (log_advance(log, export->session, frame->end_ns))
			return -ENOMEM;
		if (!fperf_export__has_frame(export, frame))
			continue;
		if (time)
			fprintf(stream, "%.4f", 1e9 / (double)time);
		fputc(',', stream);
		fperf_csv__ms(stream, time);
		fputs(",,,,,,,,,,,,", stream);
		rss_put(log, stream);
		fputc(',', stream);
		mhz_put(log, stream);
		fprintf(stream, ",%" PRIu64 "\n", frame->end_ns - analysis->start_ns);
	}
	return 0;
}

static int csv_write(const struct fperf_export *export, FILE *stream, struct fperf_error *err)
{
	struct frame_log log = {0};
	int failed;

	if (export->options.functions) {
		if (fperf_export_functions__write(export, stream, err))
			return err->code;
		return fperf_export__stream_end(stream, "the functions", err);
	}
	log.counters = fperf_session__records(export->session, FPERF_RECORD_COUNTER, &log.counter_count);
	log.freqs = fperf_session__records(export->session, FPERF_RECORD_FREQ, &log.freq_count);
	system_put(export->session, stream);
	failed = frames_put(export, &log, stream);
	fperf_map__free(&log.rss);
	fperf_map__free(&log.khz);
	if (failed)
		return fperf_error__no_memory(err, "the frame log");
	return fperf_export__stream_end(stream, "the frame log", err);
}

const struct fperf_export_ops fperf_export_csv = {
	.name = "csv", .extension = ".csv", .text = true, .write = csv_write};
