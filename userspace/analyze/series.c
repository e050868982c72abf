#include "analyze/series.h"

#include "analyze/stats.h"
#include "base/clock.h"
#include "analyze/gaps.h"
#include "base/map.h"
#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS FPERF_NS_PER_MS

/* Jank as PerfDog defines it: more than twice the mean of the last three frames, and longer than this. */
#define JANK_NS	    (84 * MS)
#define BIG_JANK_NS (125 * MS)

/* The budget is never closer than this to an ordinary frame: what a desktop's jitter costs. */
#define BUDGET_FLOOR_NS (2 * MS)

/* ---- which marker, which series ---- */

/* How often each marker fired: marker id to count. */
static int marks_count(const struct fperf_rec_mark *marks, size_t count, struct fperf_map *fired)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t times = 0;

		fperf_map__get(fired, marks[i].marker, &times);
		if (fperf_map__set(fired, marks[i].marker, times + 1))
			return -1;
	}
	return 0;
}

static uint64_t times_fired(const struct fperf_map *fired, uint32_t marker)
{
	uint64_t times = 0;

	fperf_map__get(fired, marker, &times);
	return times;
}

/* The marker that the recorder chose; when it chose none, the one nearest to the driver that fired at least
 * half as often as the busiest. NULL: no frame marker fired. */
static const struct fperf_rec_marker *marker_choose(const struct fperf_session *session,
						    const struct fperf_map *fired)
{
	const struct fperf_rec_marker *all, *best = NULL, *marker;
	uint64_t busiest = 0, best_times = 0, times;
	size_t count;

	all = fperf_session__records(session, FPERF_RECORD_MARKER, &count);
	for (size_t i = 0; i < count; i++) {
		times = times_fired(fired, all[i].id);
		if (all[i].kind == FPERF_MARKER_FRAME && times > busiest)
			busiest = times;
	}
	for (size_t i = 0; i < count; i++) {
		marker = fperf_session__marker(session, all[i].id); /* the last word about this id */
		times = times_fired(fired, all[i].id);
		if (!marker || marker->kind != FPERF_MARKER_FRAME || !times)
			continue;
		if (!marker->chosen && times * 2 < busiest)
			continue;
		if (!best || marker->chosen > best->chosen ||
		    (marker->chosen == best->chosen &&
		     (marker->chosen ? times > best_times : marker->rank < best->rank))) {
			best = marker;
			best_times = times;
		}
	}
	return best;
}

struct boundary {
	uint64_t time_ns;
	uint64_t surface;
	uint32_t process;
	uint32_t thread;
};

struct boundaries {
	struct boundary *items;
	size_t count, capacity;
};

static int boundaries_collect(const struct fperf_session *session, const struct fperf_rec_marker *marker,
			      struct boundaries *found)
{
	const struct fperf_rec_mark *marks;
	size_t count;

	marks = fperf_session__records(session, FPERF_RECORD_MARK, &count);
	for (size_t i = 0; i < count; i++) {
		const struct fperf_rec_thread *thread;
		struct boundary *boundary;

		if (marks[i].marker != marker->id)
			continue;
		boundary = fperf_vec__push(&found->items, &found->count, &found->capacity);
		if (!boundary)
			return -1;
		thread = fperf_session__thread(session, marks[i].thread);
		boundary->time_ns = marks[i].time_ns;
		boundary->surface = marker->surface_arg < 3 ? marks[i].args[marker->surface_arg] : 0;
		boundary->process = thread ? thread->process : 0;
		boundary->thread = marks[i].thread;
	}
	return 0;
}

static int compare_series(const void *a, const void *b)
{
	const struct boundary *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->surface != y->surface)
		return x->surface < y->surface ? -1 : 1;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static bool same_series(const struct boundary *a, const struct boundary *b)
{
	return a->process == b->process && a->surface == b->surface;
}

/* Boundaries of a series that were recorded after a later one of it. */
static int anomalies_count(const struct boundaries *found, uint64_t *anomalies)
{
	struct fperf_map latest = {0}; /* series, hashed, to its latest time */
	int failed = 0;

	for (size_t i = 0; i < found->count && !failed; i++) {
		const struct boundary *boundary = &found->items[i];
		uint64_t key = boundary->surface * 31 + boundary->process, before = 0;

		if (fperf_map__get(&latest, key, &before) && before >= boundary->time_ns)
			(*anomalies)++;
		if (boundary->time_ns > before)
			failed = fperf_map__set(&latest, key, boundary->time_ns);
	}
	fperf_map__free(&latest);
	return failed;
}

/* Sorts, and leaves the longest series only: [*first, *first + count). */
static size_t series_choose(struct boundaries *found, size_t *first, size_t *series)
{
	size_t best = 0, begin = 0;

	*series = 0;
	if (found->count)
		qsort(found->items, found->count, sizeof(*found->items), compare_series);
	for (size_t i = 1; i <= found->count; i++) {
		if (i < found->count && same_series(&found->items[i], &found->items[begin]))
			continue;
		(*series)++;
		if (i - begin > best) {
			best = i - begin;
			*first = begin;
		}
		begin = i;
	}
	return best;
}

/* ---- names of marker and surface, kept in the analysis ---- */

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void names_set(struct fperf_analysis *analysis, const struct fperf_rec_marker *marker,
		      const struct boundary *boundary, size_t series)
{
	const struct fperf_session *session = analysis->session;
	const char *path = file_name(fperf_session__string(session, marker->path, NULL));
	const char *name = fperf_session__string(session, marker->symbol, NULL);

	if (!*name)
		name = fperf_session__string(session, marker->name, NULL);
	snprintf(analysis->marker_text, sizeof(analysis->marker_text), "%s%s%s", path,
		 *path && *name ? ":" : "", name);
	if (series > 1 && boundary->surface)
		snprintf(analysis->surface_text, sizeof(analysis->surface_text), "0x%llx",
			 (unsigned long long)boundary->surface);
}

static int frames_fill(struct fperf_analysis *analysis, const struct fperf_analysis_options *options,
		       const struct boundary *boundaries, size_t count)
{
	bool all = !options->from_ns && !options->to_ns;

	if (count < 2)
		return 0;
	analysis->frames = calloc(count - 1, sizeof(*analysis->frames));
	if (!analysis->frames)
		return -1;
	for (size_t i = 0; i + 1 < count; i++) {
		struct fperf_frame *frame = &analysis->frames[analysis->frame_count];

		if (boundaries[i + 1].time_ns <= boundaries[i].time_ns ||
		    fperf_gaps__between(analysis->session, boundaries[i].time_ns, boundaries[i + 1].time_ns))
			continue;
		if (!all && (boundaries[i].time_ns < options->from_ns ||
			     (options->to_ns && boundaries[i + 1].time_ns > options->to_ns)))
			continue;
		frame->index = (uint32_t)analysis->frame_count++;
		frame->start_ns = boundaries[i].time_ns;
		frame->end_ns = boundaries[i + 1].time_ns;
		frame->active_ns = frame->end_ns - frame->start_ns;
		frame->thread = boundaries[i + 1].thread;
	}
	return 0;
}

int fperf_series__find(struct fperf_analysis *analysis, const struct fperf_analysis_options *options,
		       struct fperf_error *err)
{
	const struct fperf_session *session = analysis->session;
	const struct fperf_rec_marker *marker;
	const struct fperf_rec_mark *marks;
	struct boundaries found = {0};
	struct fperf_map fired = {0};
	size_t count, first = 0, series;
	int failed;

	analysis->summary.surface = analysis->surface_text;
	analysis->summary.marker = analysis->marker_text;
	marks = fperf_session__records(session, FPERF_RECORD_MARK, &count);
	failed = marks_count(marks, count, &fired);
	marker = failed ? NULL : marker_choose(session, &fired);
	if (marker) {
		failed = boundaries_collect(session, marker, &found) ||
			 anomalies_count(&found, &analysis->summary.time_anomalies);
		count = failed ? 0 : series_choose(&found, &first, &series);
		if (count) {
			names_set(analysis, marker, &found.items[first], series);
			failed = frames_fill(analysis, options, found.items + first, count);
		}
	}
	free(found.items);
	fperf_map__free(&fired);
	return failed ? fperf_error__no_memory(err, "the frames of the session") : 0;
}

/* ---- statistics ---- */

static uint64_t frame_time(const struct fperf_frame *frame)
{
	return frame->end_ns - frame->start_ns;
}

/* Frame times in ascending order; the caller frees. */
static uint64_t *sorted_times(const struct fperf_analysis *analysis)
{
	uint64_t *times = malloc((analysis->frame_count + 1) * sizeof(*times));

	for (size_t i = 0; times && i < analysis->frame_count; i++)
		times[i] = frame_time(&analysis->frames[i]);
	if (times)
		fperf_stats__sort(times, analysis->frame_count);
	return times;
}

uint64_t fperf_series__budget(uint64_t middle_ns, uint64_t quarter_ns)
{
	uint64_t budget = middle_ns + middle_ns / 2;

	if (!middle_ns)
		return 0;
	if (quarter_ns + quarter_ns * 3 / 20 > budget)
		budget = quarter_ns + quarter_ns * 3 / 20;
	if (middle_ns + BUDGET_FLOOR_NS > budget)
		budget = middle_ns + BUDGET_FLOOR_NS;
	return budget;
}

static uint64_t budget_choose(const uint64_t *times, size_t count)
{
	return fperf_series__budget(fperf_stats__time_median(times, count, FPERF_BUDGET_WEIGHT_NS),
				    fperf_stats__percentile(times, count, 750));
}

int fperf_series__judge(struct fperf_analysis *analysis, uint64_t budget_ns, struct fperf_error *err)
{
	uint64_t *times;

	analysis->summary.budget_ns = budget_ns;
	analysis->summary.budget_chosen = !budget_ns;
	if (!analysis->frame_count)
		return 0;
	if (!budget_ns) {
		times = sorted_times(analysis);
		if (!times)
			return fperf_error__no_memory(err, "the frame times");
		analysis->summary.budget_ns = budget_choose(times, analysis->frame_count);
		free(times);
	}
	for (size_t i = 0; i < analysis->frame_count; i++)
		analysis->frames[i].slow = frame_time(&analysis->frames[i]) > analysis->summary.budget_ns;
	return 0;
}

int fperf_series__judge_active(struct fperf_analysis *analysis, struct fperf_error *err)
{
	uint64_t *times, middle, limit;

	if (!analysis->frame_count || !analysis->summary.budget_chosen)
		return 0;
	times = sorted_times(analysis);
	if (!times)
		return fperf_error__no_memory(err, "the frame times");
	middle = fperf_stats__time_median(times, analysis->frame_count, FPERF_BUDGET_WEIGHT_NS);
	for (size_t i = 0; i < analysis->frame_count; i++)
		times[i] = analysis->frames[i].active_ns;
	fperf_stats__sort(times, analysis->frame_count);
	limit = middle + middle / 4;
	if (limit < middle + BUDGET_FLOOR_NS)
		limit = middle + BUDGET_FLOOR_NS;
	/* only where a limiter leaves ordinary frames time to wait */
	if (fperf_stats__percentile(times, analysis->frame_count, 500) * 10 < middle * 9)
		for (size_t i = 0; i < analysis->frame_count; i++)
			analysis->frames[i].slow |= analysis->frames[i].active_ns > limit;
	free(times);
	return 0;
}

void fperf_series__jank(uint64_t time_ns, uint64_t before_ns, uint64_t second_ns, uint64_t third_ns,
			uint64_t *jank, uint64_t *big_jank)
{
	unsigned __int128 last_three = (unsigned __int128)before_ns + second_ns + third_ns;

	if (3 * (unsigned __int128)time_ns <= 2 * last_three)
		return;
	*jank += time_ns > JANK_NS;
	*big_jank += time_ns > BIG_JANK_NS;
}

static void jank_count(struct fperf_analysis *analysis)
{
	for (size_t i = 3; i < analysis->frame_count; i++) {
		const struct fperf_frame *frame = &analysis->frames[i];

		fperf_series__jank(frame_time(frame), frame_time(frame - 1), frame_time(frame - 2),
				   frame_time(frame - 3), &analysis->summary.jank,
				   &analysis->summary.big_jank);
	}
}

/* 1 / mean frame time of the slowest 1/part of all frames, at least one. */
static double low_fps(const uint64_t *times, size_t count, size_t part)
{
	size_t slowest = count / part ? count / part : 1;
	double sum = 0;

	for (size_t i = count - slowest; i < count; i++)
		sum += (double)times[i];
	return sum > 0 ? (double)slowest * 1e9 / sum : 0;
}

int fperf_series__summarise(struct fperf_analysis *analysis, struct fperf_error *err)
{
	struct fperf_frames_summary *summary = &analysis->summary;
	size_t count = analysis->frame_count;
	uint64_t *times;

	summary->timed = count;
	if (!count)
		return 0;
	summary->count = count + 1;
	times = sorted_times(analysis);
	if (!times)
		return fperf_error__no_memory(err, "the frame times");
	summary->duration_ns = analysis->frames[count - 1].end_ns - analysis->frames[0].start_ns;
	summary->duration_ns -= fperf_gaps__between(analysis->session, analysis->frames[0].start_ns,
						    analysis->frames[count - 1].end_ns);
	summary->fps_mean = (double)count * 1e9 / (double)summary->duration_ns;
	summary->time = (struct fperf_time_stats){
		.mean = fperf_stats__mean(times, count),
		.p50 = fperf_stats__percentile(times, count, 500),
		.p90 = fperf_stats__percentile(times, count, 900),
		.p95 = fperf_stats__percentile(times, count, 950),
		.p99 = fperf_stats__percentile(times, count, 990),
		.max = times[count - 1],
	};
	summary->low_1pct_fps = low_fps(times, count, 100);
	summary->low_01pct_fps = low_fps(times, count, 1000);
	for (size_t i = 0; i < count; i++)
		summary->slow += analysis->frames[i].slow;
	summary->hitches_per_min = (double)summary->slow * 60e9 / (double)summary->duration_ns;
	jank_count(analysis);
	free(times);
	return 0;
}
