#include "analyze/hot.h"

#include "analyze/timeline.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

/* CPU time by stack: index into model->stacks; [0] overall, [1] in slow frames. Stack 0 collects samples
 * whose stack was lost: they count for the whole, not for any function. */
struct stack_times {
	uint64_t (*ns)[2];
	size_t count, capacity;
};

static int stack_add(struct stack_times *times, uint32_t stack, uint64_t ns, bool slow)
{
	if (fperf_vec__grow((void **)&times->ns, &times->capacity, stack + 1u, sizeof(*times->ns)))
		return -ENOMEM;
	if (stack >= times->count)
		times->count = stack + 1u;
	times->ns[stack][0] += ns;
	if (slow)
		times->ns[stack][1] += ns;
	return 0;
}

static void quality_add(struct fperf_analysis *analysis, uint32_t stack)
{
	const struct fperf_rec_stack *record = fperf_session__stack(analysis->session, stack);

	if (!record)
		return;
	analysis->stacks.stacks++;
	analysis->stacks.complete += record->outcome == FPERF_STACK_COMPLETE;
	if (record->outcome < FPERF_STACK_OUTCOMES)
		analysis->stacks.by_outcome[record->outcome]++;
}

/* One thread's samples; slow frames are passed in step with them. */
static int thread_add(struct fperf_model *model, struct fperf_analysis *analysis,
		      const struct fperf_timeline *timeline, uint64_t from_ns, uint64_t to_ns,
		      struct stack_times *times)
{
	size_t frame = 0;

	for (size_t i = 0; i < timeline->sample_count; i++) {
		const struct fperf_rec_sample *sample = &model->samples[timeline->samples[i]];
		uint64_t weight = fperf_timeline__sample_weight(model, timeline, i);
		uint32_t stack;
		bool slow;

		if (sample->time_ns < from_ns || sample->time_ns >= to_ns)
			continue;
		while (frame < analysis->frame_count && analysis->frames[frame].end_ns <= sample->time_ns)
			frame++;
		slow = frame < analysis->frame_count && analysis->frames[frame].slow &&
		       analysis->frames[frame].start_ns <= sample->time_ns;
		stack = fperf_model__stack(model, sample->stack, timeline->process);
		if (stack_add(times, stack, weight, slow))
			return -ENOMEM;
		analysis->samples++;
		quality_add(analysis, sample->stack);
	}
	return 0;
}

/* ---- from stacks to functions ---- */

struct function_times {
	const struct fperf_symbol *symbol;
	uint64_t self_ns[2], total_ns[2];
	uint32_t last_stack; /* stack that was counted last into total: recursion counts once */
};

struct functions {
	struct function_times *items; /* by function id */
	size_t count, capacity;
};

static struct function_times *function_at(struct functions *functions, const struct fperf_symbol *symbol)
{
	struct function_times *function;
	size_t need = (size_t)symbol->function_id + 1;

	if (fperf_vec__grow((void **)&functions->items, &functions->capacity, need,
			    sizeof(*functions->items)))
		return NULL;
	if (need > functions->count)
		functions->count = need;
	function = &functions->items[symbol->function_id];
	function->symbol = symbol;
	return function;
}

/* Time of its own counts for the function that the code is in; what was inlined there has a share of the
 * total only, so that builds with and without debug information agree. */
static int stack_spread(struct fperf_model *model, uint32_t stack, const uint64_t ns[2],
			struct functions *functions)
{
	const struct fperf_stack_info *info = &model->stacks[stack];
	const struct fperf_rec_stack *record = fperf_session__stack(model->session, info->stack);
	bool leaf = true;

	for (uint32_t i = 0; record && i < record->count; i++) {
		const struct fperf_symbol *const *symbols;
		size_t count;

		if (record->frames[i].kind == FPERF_FRAME_GAP)
			continue;
		count = fperf_symbolizer__resolve(model->symbolizer, &record->frames[i], info->process,
						  &symbols);
		for (size_t k = 0; k < count; k++) {
			struct function_times *function = function_at(functions, symbols[k]);

			if (!function)
				return -ENOMEM;
			for (int part = 0; part < 2; part++) {
				function->self_ns[part] += leaf && !symbols[k]->inlined ? ns[part] : 0;
				function->total_ns[part] += function->last_stack != stack ? ns[part] : 0;
			}
			function->last_stack = stack;
		}
		leaf = false;
	}
	return 0;
}

static int compare_self(const void *a, const void *b)
{
	const struct fperf_hot_function *x = a, *y = b;

	if (x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return (x->function_id > y->function_id) - (x->function_id < y->function_id);
}

/* The functions of one part (overall or slow frames) as a sorted list. */
static int list_make(const struct functions *functions, int part, uint64_t whole_ns,
		     struct fperf_hot_function **list, size_t *count)
{
	size_t capacity = 0;

	for (size_t i = 0; i < functions->count; i++) {
		const struct function_times *function = &functions->items[i];
		struct fperf_hot_function *hot;

		if (!function->symbol || !function->total_ns[part])
			continue;
		hot = fperf_vec__push(list, count, &capacity);
		if (!hot)
			return -ENOMEM;
		*hot = (struct fperf_hot_function){
			.function_id = function->symbol->function_id,
			.function = function->symbol->function,
			.module = function->symbol->module,
			.self_ns = function->self_ns[part],
			.total_ns = function->total_ns[part],
			.self_share = (double)function->self_ns[part] / (double)whole_ns,
			.total_share = (double)function->total_ns[part] / (double)whole_ns,
		};
	}
	if (*count)
		qsort(*list, *count, sizeof(**list), compare_self);
	return 0;
}

int fperf_hot__build(struct fperf_model *model, struct fperf_analysis *analysis, uint64_t from_ns,
		     uint64_t to_ns, struct fperf_error *err)
{
	struct functions functions = {0};
	struct stack_times times = {0};
	uint64_t whole[2] = {0, 0};
	int failed = 0;

	for (size_t i = 0; i < model->timeline_count && !failed; i++)
		if (model->timelines[i].target)
			failed = thread_add(model, analysis, &model->timelines[i], from_ns, to_ns, &times);
	for (size_t i = 0; i < times.count && !failed; i++) {
		whole[0] += times.ns[i][0];
		whole[1] += times.ns[i][1];
		if (i && times.ns[i][0])
			failed = stack_spread(model, (uint32_t)i, times.ns[i], &functions);
	}
	if (!failed)
		failed = list_make(&functions, 0, whole[0], &analysis->hot, &analysis->hot_count) ||
			 list_make(&functions, 1, whole[1], &analysis->hot_slow, &analysis->hot_slow_count);
	analysis->sampled_ns = whole[0];
	analysis->slow_sampled_ns = whole[1];
	free(times.ns);
	free(functions.items);
	return failed ? fperf_error__no_memory(err, "the hot functions") : 0;
}
