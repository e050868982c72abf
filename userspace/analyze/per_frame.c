#include "analyze/per_frame.h"

#include "analyze/ledger.h"
#include "analyze/timeline.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

static int compare_threads(const void *a, const void *b)
{
	const struct fperf_ledger *x = a, *y = b;

	return (x->thread.thread > y->thread.thread) - (x->thread.thread < y->thread.thread);
}

static int ledgers_build(struct fperf_model *model, struct fperf_analysis *analysis)
{
	size_t capacity = 0;
	int failed = 0;

	for (size_t i = 0; i < analysis->frame_count && !failed; i++) {
		struct fperf_ledger *ledger;
		size_t count;

		failed = fperf_ledger__build(model, &analysis->frames[i], NULL, 0, &ledger, &count);
		if (count)
			qsort(ledger, count, sizeof(*ledger), compare_threads);
		for (size_t k = 0; k < count && !failed; k++) {
			struct fperf_frame_ledger *slot =
				fperf_vec__push(&analysis->ledgers, &analysis->ledger_count, &capacity);

			if (slot)
				*slot = (struct fperf_frame_ledger){(uint32_t)i, ledger[k]};
			else
				failed = -ENOMEM;
		}
		free(ledger);
	}
	return failed;
}

/* The function that the time of a stack counts for: the one that the leaf's code is in. 0: not known. */
static uint32_t self_function(struct fperf_model *model, uint32_t stack)
{
	const struct fperf_stack_info *info = &model->stacks[stack];
	const struct fperf_rec_stack *record = fperf_session__stack(model->session, info->stack);
	const struct fperf_symbol *const *symbols;
	size_t count;

	if (!stack || !record)
		return 0;
	for (uint32_t i = 0; i < record->count; i++) {
		if (record->frames[i].kind == FPERF_FRAME_GAP)
			continue;
		count = fperf_symbolizer__resolve(model->symbolizer, &record->frames[i], info->process,
						  &symbols);
		return count ? symbols[count - 1]->function_id : 0;
	}
	return 0;
}

/* One thread's samples, added up by frame and function; frames are passed in step with the samples. */
static int thread_add(struct fperf_model *model, const struct fperf_analysis *analysis,
		      const struct fperf_timeline *timeline, struct fperf_map *sums)
{
	size_t frame = 0;

	for (size_t i = 0; i < timeline->sample_count; i++) {
		const struct fperf_rec_sample *sample = &model->samples[timeline->samples[i]];
		uint64_t key, before = 0;

		while (frame < analysis->frame_count && analysis->frames[frame].end_ns <= sample->time_ns)
			frame++;
		if (frame == analysis->frame_count)
			break;
		if (analysis->frames[frame].start_ns > sample->time_ns)
			continue;
		key = (uint64_t)frame << 32 |
		      self_function(model, fperf_model__stack(model, sample->stack, timeline->process));
		fperf_map__get(sums, key, &before);
		if (fperf_map__set(sums, key, before + fperf_timeline__sample_weight(model, timeline, i)))
			return -ENOMEM;
	}
	return 0;
}

static int compare_hot(const void *a, const void *b)
{
	const struct fperf_frame_hot *x = a, *y = b;

	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	if (x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	return (x->function_id > y->function_id) - (x->function_id < y->function_id);
}

static int hot_build(struct fperf_model *model, struct fperf_analysis *analysis)
{
	struct fperf_map sums = {0};
	uint64_t key, ns;
	size_t cursor = 0;
	int failed = 0;

	for (size_t i = 0; i < model->timeline_count && !failed; i++)
		if (model->timelines[i].target)
			failed = thread_add(model, analysis, &model->timelines[i], &sums);
	if (!failed)
		analysis->frame_hot = calloc(sums.used + 1, sizeof(*analysis->frame_hot));
	while (analysis->frame_hot && fperf_map__next(&sums, &cursor, &key, &ns))
		analysis->frame_hot[analysis->frame_hot_count++] = (struct fperf_frame_hot){
			.frame = (uint32_t)(key >> 32), .function_id = (uint32_t)key, .self_ns = ns};
	fperf_map__free(&sums);
	if (!analysis->frame_hot)
		return -ENOMEM;
	qsort(analysis->frame_hot, analysis->frame_hot_count, sizeof(*analysis->frame_hot), compare_hot);
	return 0;
}

int fperf_per_frame__build(struct fperf_model *model, struct fperf_analysis *analysis,
			   struct fperf_error *err)
{
	if (ledgers_build(model, analysis) || hot_build(model, analysis))
		return fperf_error__no_memory(err, "the details of all frames");
	return 0;
}
