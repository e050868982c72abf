/* Clock frequencies and counters of the report page, in steps that keep the extremes. */
#include "output/html.h"

#include <errno.h>
#include <stdlib.h>

#define STEPS	   2048 /* of one cluster */
#define POINTS_MAX 4000 /* of one counter; beyond, each step keeps its lowest and highest */

/* CPUs with the same maximum are one cluster. */
struct cluster {
	uint32_t max_khz;
	uint32_t low[STEPS], high[STEPS]; /* kHz; 0: not known */
	double sum[STEPS], ns[STEPS];	  /* kHz times ns, and ns */
};

static void cluster_span(struct cluster *cluster, const struct html_page *page, uint64_t from_ns,
			 uint64_t to_ns, uint32_t khz)
{
	uint64_t step_ns = (page->end_ns - page->start_ns) / STEPS + 1;

	if (from_ns < page->start_ns)
		from_ns = page->start_ns;
	if (to_ns > page->end_ns)
		to_ns = page->end_ns;
	while (from_ns < to_ns) {
		uint64_t step = (from_ns - page->start_ns) / step_ns;
		uint64_t end = page->start_ns + (step + 1) * step_ns;
		uint64_t part = (end < to_ns ? end : to_ns) - from_ns;

		if (!cluster->low[step] || khz < cluster->low[step])
			cluster->low[step] = khz;
		if (khz > cluster->high[step])
			cluster->high[step] = khz;
		cluster->sum[step] += (double)khz * (double)part;
		cluster->ns[step] += (double)part;
		from_ns += part;
	}
}

static void cluster_put(struct fperf_html_block *block, const struct cluster *cluster)
{
	for (size_t i = 0; i < STEPS; i++)
		fperf_html_block__put(block, cluster->low[i]);
	for (size_t i = 0; i < STEPS; i++)
		fperf_html_block__put(block, cluster->high[i]);
	for (size_t i = 0; i < STEPS; i++)
		fperf_html_block__put(block,
				      cluster->ns[i] > 0 ? (int64_t)(cluster->sum[i] / cluster->ns[i]) : 0);
}

/* The highest that a CPU can do, or, where that is not known, did. */
static uint32_t cpu_max(const struct fperf_freq_cpu *cpu)
{
	uint32_t max = cpu->max_khz;

	for (size_t i = 0; !cpu->max_khz && i < cpu->count; i++)
		max = cpu->changes[i].khz > max ? cpu->changes[i].khz : max;
	return max;
}

static int clusters_fill(struct html_page *page)
{
	const struct fperf_freq *freq = page->analysis->clocks;
	struct json_build *build = &page->build;
	json_t *clusters = json_build__array(build);
	uint32_t below = UINT32_MAX;

	json_build__set(build, page->lanes.head, "clusters", clusters);
	json_build__set(build, page->lanes.head, "cluster_steps", json_build__u64(build, STEPS));
	fperf_html_block__column(&page->lanes, "cluster_khz", FPERF_HTML_DELTA);
	for (;;) {
		struct cluster *cluster;
		json_t *entry, *cpus;
		uint32_t max = 0;

		for (size_t i = 0; i < freq->count; i++)
			if (freq->cpus[i].count && cpu_max(&freq->cpus[i]) < below &&
			    cpu_max(&freq->cpus[i]) > max)
				max = cpu_max(&freq->cpus[i]);
		if (!max)
			return 0;
		below = max;
		cluster = calloc(1, sizeof(*cluster));
		if (!cluster)
			return -ENOMEM;
		cpus = json_build__array(build);
		for (size_t i = 0; i < freq->count; i++) {
			const struct fperf_freq_cpu *cpu = &freq->cpus[i];

			if (!cpu->count || cpu_max(cpu) != max)
				continue;
			json_build__add(build, cpus, json_build__u64(build, i));
			for (size_t k = 0; k < cpu->count; k++)
				cluster_span(cluster, page, cpu->changes[k].time_ns,
					     k + 1 < cpu->count ? cpu->changes[k + 1].time_ns : page->end_ns,
					     cpu->changes[k].khz);
		}
		entry = json_build__object(build);
		json_build__set(build, entry, "max_khz", json_build__u64(build, max));
		json_build__set(build, entry, "cpus", cpus);
		json_build__add(build, clusters, entry);
		cluster_put(&page->lanes, cluster);
		free(cluster);
	}
}

/* ---- counters ---- */

struct point {
	uint64_t time_ns;
	int64_t value;
};

/* Leaves the lowest and the highest of each of POINTS_MAX / 2 steps, in order of time. */
static size_t points_thin(const struct html_page *page, struct point *points, size_t count)
{
	uint64_t step_ns = (page->end_ns - page->start_ns) / (POINTS_MAX / 2) + 1;
	size_t kept = 0, i = 0;

	if (count <= POINTS_MAX)
		return count;
	while (i < count) {
		uint64_t step = (points[i].time_ns - page->start_ns) / step_ns;
		struct point low = points[i], high = points[i];

		for (; i < count && (points[i].time_ns - page->start_ns) / step_ns == step; i++) {
			if (points[i].value < low.value)
				low = points[i];
			if (points[i].value > high.value)
				high = points[i];
		}
		points[kept++] = low.time_ns <= high.time_ns ? low : high;
		if (low.time_ns != high.time_ns)
			points[kept++] = low.time_ns <= high.time_ns ? high : low;
	}
	return kept;
}

static void counter_put(struct html_page *page, uint32_t counter, uint32_t index, struct point *points,
			size_t count, json_t *list)
{
	struct json_build *build = &page->build;
	json_t *entry = json_build__object(build), *times = json_build__array(build);
	json_t *values = json_build__array(build);

	count = points_thin(page, points, count);
	for (size_t i = 0; i < count; i++) {
		json_build__add(build, times, json_build__i64(build, html_page__us(page, points[i].time_ns)));
		json_build__add(build, values, json_build__i64(build, points[i].value));
	}
	json_build__set(build, entry, "counter", json_build__u64(build, counter));
	json_build__set(build, entry, "index", json_build__u64(build, index));
	json_build__set(build, entry, "time_us", times);
	json_build__set(build, entry, "value", values);
	json_build__add(build, list, entry);
}

static int compare_counters(const void *a, const void *b)
{
	const struct fperf_rec_counter *x = *(const struct fperf_rec_counter *const *)a,
				       *y = *(const struct fperf_rec_counter *const *)b;

	if (x->counter != y->counter)
		return x->counter > y->counter ? 1 : -1;
	if (x->index != y->index)
		return x->index > y->index ? 1 : -1;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static int counters_fill(struct html_page *page)
{
	json_t *list = json_build__array(&page->build);
	const struct fperf_rec_counter *records, **sorted;
	struct point *points;
	size_t count, used = 0;

	json_build__set(&page->build, page->lanes.head, "counters", list);
	records = fperf_session__records(page->report->session, FPERF_RECORD_COUNTER, &count);
	sorted = calloc(count + 1, sizeof(*sorted));
	points = calloc(count + 1, sizeof(*points));
	for (size_t i = 0; sorted && i < count; i++)
		sorted[i] = &records[i];
	if (sorted && points && count)
		qsort(sorted, count, sizeof(*sorted), compare_counters);
	for (size_t i = 0; sorted && points && i < count; i++) {
		points[used++] = (struct point){sorted[i]->time_ns, sorted[i]->value};
		if (i + 1 < count && sorted[i + 1]->counter == sorted[i]->counter &&
		    sorted[i + 1]->index == sorted[i]->index)
			continue;
		counter_put(page, sorted[i]->counter, sorted[i]->index, points, used, list);
		used = 0;
	}
	page->build.failed |= !sorted || !points;
	free(sorted);
	free(points);
	return page->build.failed ? -ENOMEM : 0;
}

int html_series__fill(struct html_page *page)
{
	return clusters_fill(page) || counters_fill(page) ? -ENOMEM : 0;
}
