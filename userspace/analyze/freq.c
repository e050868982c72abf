#include "analyze/freq.h"

#include "base/vec.h"
#include "frameperf/wire.h"

#include <stdlib.h>

int fperf_freq__build(struct fperf_freq *freq, const struct fperf_session *session, struct fperf_error *err)
{
	const struct fperf_rec_freq *records;
	size_t count;

	*freq = (struct fperf_freq){0};
	records = fperf_session__records(session, FPERF_RECORD_FREQ, &count);
	for (size_t i = 0; i < count; i++) {
		const struct fperf_rec_freq *record = &records[i];
		struct fperf_freq_change *change;
		struct fperf_freq_cpu *cpu;

		if (record->cpu >= FPERF_MAX_CPUS)
			continue;
		if (fperf_vec__grow((void **)&freq->cpus, &freq->capacity, record->cpu + 1u,
				    sizeof(*freq->cpus)))
			return fperf_error__no_memory(err, "the frequencies");
		if (record->cpu >= freq->count)
			freq->count = record->cpu + 1u;
		cpu = &freq->cpus[record->cpu];
		if (record->kind == FPERF_FREQ_HARDWARE) {
			cpu->min_khz = record->min_khz;
			cpu->max_khz = record->max_khz;
		}
		if (record->kind != FPERF_FREQ_CURRENT || !record->khz)
			continue;
		change = fperf_vec__push(&cpu->changes, &cpu->count, &cpu->capacity);
		if (!change)
			return fperf_error__no_memory(err, "the frequencies");
		*change = (struct fperf_freq_change){.time_ns = record->time_ns, .khz = record->khz};
		freq->any = true;
	}
	return 0;
}

void fperf_freq__free(struct fperf_freq *freq)
{
	for (size_t i = 0; i < freq->count; i++)
		free(freq->cpus[i].changes);
	free(freq->cpus);
	*freq = (struct fperf_freq){0};
}

/* Last change at or before `time_ns`; -1: none. */
static ptrdiff_t change_find(const struct fperf_freq_cpu *cpu, uint64_t time_ns)
{
	size_t low = 0, high = cpu->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cpu->changes[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return (ptrdiff_t)low - 1;
}

bool fperf_freq__cycles(const struct fperf_freq *freq, uint16_t cpu, uint64_t from_ns, uint64_t to_ns,
			double *cycles)
{
	const struct fperf_freq_cpu *of = cpu < freq->count ? &freq->cpus[cpu] : NULL;
	ptrdiff_t index = of ? change_find(of, from_ns) : -1;

	*cycles = 0;
	if (index < 0)
		return false;
	for (size_t i = (size_t)index; i < of->count && from_ns < to_ns; i++) {
		uint64_t until = i + 1 < of->count ? of->changes[i + 1].time_ns : to_ns;

		if (until > to_ns)
			until = to_ns;
		if (until <= from_ns)
			continue;
		*cycles += (double)(until - from_ns) * of->changes[i].khz / 1e6;
		from_ns = until;
	}
	return true;
}

static void cpu_summarise(const struct fperf_freq_cpu *cpu, uint64_t start_ns, uint64_t end_ns,
			  struct fperf_freq_stats *stats)
{
	uint32_t highest = 0;
	double known = 0, below = 0, sum = 0;

	for (size_t i = 0; i < cpu->count; i++) {
		highest = cpu->changes[i].khz > highest ? cpu->changes[i].khz : highest;
		stats->transitions += i && cpu->changes[i].khz != cpu->changes[i - 1].khz;
	}
	stats->min_khz = cpu->min_khz;
	stats->max_khz = cpu->max_khz;
	for (size_t i = 0; i < cpu->count; i++) {
		uint64_t from = cpu->changes[i].time_ns;
		uint64_t to = i + 1 < cpu->count ? cpu->changes[i + 1].time_ns : end_ns;
		double length;

		from = from < start_ns ? start_ns : from;
		to = to > end_ns ? end_ns : to;
		length = to > from ? (double)(to - from) : 0;
		known += length;
		sum += length * cpu->changes[i].khz;
		if (cpu->changes[i].khz < (cpu->max_khz ? cpu->max_khz : highest))
			below += length;
	}
	stats->mean_khz = known > 0 ? (uint32_t)(sum / known + 0.5) : 0;
	stats->time_below_max_share = known > 0 ? below / known : 0;
}

int fperf_freq__summarise(const struct fperf_freq *freq, struct fperf_analysis *analysis,
			  struct fperf_error *err)
{
	size_t capacity = 0;

	for (size_t i = 0; i < freq->count; i++) {
		const struct fperf_freq_cpu *cpu = &freq->cpus[i];
		struct fperf_freq_stats *stats;

		if (!cpu->count && !cpu->max_khz)
			continue;
		stats = fperf_vec__push(&analysis->freq, &analysis->freq_count, &capacity);
		if (!stats)
			return fperf_error__no_memory(err, "the frequencies");
		stats->cpu = (uint32_t)i;
		cpu_summarise(cpu, analysis->start_ns, analysis->end_ns, stats);
	}
	return 0;
}
