/* The parts of a session that an export asks for, one by one. */
#include "output/export.h"

#include "base/vec.h"

#include <errno.h>

/* First span that ends after `time_ns`; span_count if there is none. */
static size_t span_find(const struct fperf_export *export, uint64_t time_ns)
{
	size_t low = 0, high = export->span_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (export->spans[middle].to_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool fperf_export__has_time(const struct fperf_export *export, uint64_t time_ns)
{
	size_t span = span_find(export, time_ns);

	return span < export->span_count && export->spans[span].from_ns <= time_ns;
}

bool fperf_export__has_frame(const struct fperf_export *export, const struct fperf_frame *frame)
{
	size_t span = span_find(export, frame->start_ns);

	return span < export->span_count && export->spans[span].from_ns <= frame->start_ns &&
	       frame->end_ns <= export->spans[span].to_ns;
}

const char *fperf_export__thread_name(const struct fperf_export *export,
				      const struct fperf_timeline *timeline)
{
	return fperf_model__thread_ref(export->analysis->model, timeline->thread->id, UINT64_MAX).name;
}

int fperf_export__samples(const struct fperf_export *export, size_t index,
			  int (*visit)(void *context, const struct fperf_export_sample *sample),
			  void *context)
{
	struct fperf_model *model = export->analysis->model;
	const struct fperf_timeline *timeline = &model->timelines[index];
	int ret = 0;

	for (size_t i = 0; export->threads[index] && i < timeline->sample_count && !ret; i++) {
		struct fperf_export_sample sample = {
			.timeline = timeline,
			.record = &model->samples[timeline->samples[i]],
			.index = i,
		};

		if (!fperf_export__has_time(export, sample.record->time_ns))
			continue;
		sample.weight_ns = fperf_timeline__sample_weight(model, timeline, i);
		sample.stack = fperf_model__stack(model, sample.record->stack, timeline->process);
		ret = visit(context, &sample);
	}
	return ret ? ret : model->no_memory ? -ENOMEM : 0;
}

int fperf_export__pieces(const struct fperf_export *export, size_t index,
			 int (*visit)(void *context, const struct fperf_piece *piece), void *context)
{
	struct fperf_model *model = export->analysis->model;
	const struct fperf_timeline *timeline = &model->timelines[index];
	int ret = 0;

	if (!export->threads[index])
		return 0;
	for (size_t i = span_find(export, timeline->from_ns); i < export->span_count && !ret; i++) {
		struct fperf_piece piece;
		struct fperf_walk walk;

		if (export->spans[i].from_ns >= timeline->to_ns)
			break;
		fperf_walk__start(&walk, model, timeline, export->spans[i].from_ns, export->spans[i].to_ns);
		while (!ret && fperf_walk__next(&walk, &piece))
			ret = visit(context, &piece);
	}
	return ret ? ret : model->no_memory ? -ENOMEM : 0;
}

bool fperf_export__waits(const struct fperf_piece *piece)
{
	return piece->state != FPERF_STATE_USER && piece->state != FPERF_STATE_KERNEL &&
	       piece->state < FPERF_STATES;
}

int fperf_export__stack(const struct fperf_export *export, uint32_t index, struct fperf_export_stack *stack)
{
	const struct fperf_model *model = export->analysis->model;
	const struct fperf_stack_info *info = &model->stacks[index];
	const struct fperf_rec_stack *record = fperf_session__stack(export->session, info->stack);

	stack->count = 0;
	for (uint32_t i = 0; record && i < record->count; i++) {
		const struct fperf_symbol *const *symbols;
		size_t count;

		count = fperf_symbolizer__resolve(export->symbolizer, &record->frames[i], info->process,
						  &symbols);
		for (size_t k = 0; k < count; k++) {
			struct fperf_export_function *frame =
				fperf_vec__push(&stack->functions, &stack->count, &stack->capacity);

			if (!frame)
				return -ENOMEM;
			*frame = (struct fperf_export_function){.symbol = symbols[k],
								.frame = &record->frames[i]};
		}
	}
	return 0;
}
