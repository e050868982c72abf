#include "analyze/threads.h"

#include "analyze/stats.h"
#include "analyze/timeline.h"
#include "base/vec.h"
#include "frameperf/wire.h"

#include <stdlib.h>

/* Time from wake-up to running of each interval that ended with a wake-up; preemption is none. */
static size_t run_queue_collect(const struct fperf_model *model, const struct fperf_timeline *timeline,
				uint64_t *times)
{
	size_t count = 0;

	for (size_t i = 0; i < timeline->interval_count; i++) {
		const struct fperf_interval *interval = &timeline->intervals[i];
		const struct fperf_rec_offcpu *record = &model->offcpu[interval->record];

		if (!record->wake_ns || interval->state == FPERF_STATE_PREEMPTED ||
		    record->flags & FPERF_OFFCPU_OPEN_END)
			continue;
		times[count++] = interval->in_ns - fperf_timeline__wake_ns(model, interval);
	}
	return count;
}

static double complete_share(const struct fperf_model *model, const struct fperf_timeline *timeline)
{
	size_t stacks = 0, complete = 0;

	for (size_t i = 0; i < timeline->sample_count; i++) {
		uint32_t id = model->samples[timeline->samples[i]].stack;
		const struct fperf_rec_stack *stack = fperf_session__stack(model->session, id);

		stacks += stack != NULL;
		complete += stack && stack->outcome == FPERF_STACK_COMPLETE;
	}
	return stacks ? (double)complete / (double)stacks : -1;
}

static int thread_fill(struct fperf_model *model, const struct fperf_timeline *timeline,
		       struct fperf_thread_stats *stats)
{
	uint64_t *times = malloc((timeline->interval_count + 1) * sizeof(*times));
	size_t count;

	if (!times)
		return -1;
	stats->thread = fperf_model__thread_ref(model, timeline->thread->id, UINT64_MAX);
	stats->cpu_ns = fperf_timeline__cpu_ns(model, timeline);
	stats->samples = timeline->sample_count;
	for (size_t i = 0; i < timeline->interval_count; i++)
		stats->switches +=
			!(model->offcpu[timeline->intervals[i].record].flags & FPERF_OFFCPU_OPEN_START);
	count = run_queue_collect(model, timeline, times);
	fperf_stats__sort(times, count);
	stats->run_queue_p50_ns = fperf_stats__percentile(times, count, 500);
	stats->run_queue_p99_ns = fperf_stats__percentile(times, count, 990);
	stats->run_queue_max_ns = count ? times[count - 1] : 0;
	stats->stacks_complete_share = complete_share(model, timeline);
	free(times);
	return 0;
}

static int compare_cpu(const void *a, const void *b)
{
	const struct fperf_thread_stats *x = a, *y = b;

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns > y->cpu_ns ? -1 : 1;
	return (x->thread.thread > y->thread.thread) - (x->thread.thread < y->thread.thread);
}

int fperf_threads__build(struct fperf_model *model, struct fperf_analysis *analysis, struct fperf_error *err)
{
	size_t capacity = 0;

	for (size_t i = 0; i < model->timeline_count; i++) {
		struct fperf_thread_stats *stats;

		if (!model->timelines[i].target)
			continue;
		stats = fperf_vec__push(&analysis->threads, &analysis->thread_count, &capacity);
		if (!stats || thread_fill(model, &model->timelines[i], stats))
			return fperf_error__no_memory(err, "the statistics of threads");
	}
	if (analysis->thread_count)
		qsort(analysis->threads, analysis->thread_count, sizeof(*analysis->threads), compare_cpu);
	return 0;
}
