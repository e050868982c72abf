/* Facts about stacks, worked out once per stack and process and cached. */
#include "analyze/model.h"

#include "base/vec.h"

#include <string.h>

/* Deepest user stack that is looked through for own functions; recording keeps no more. */
#define OWN_LIMIT 256

/* How far, in intervals of the same thread, a missing stack is looked for, and how many must be found. */
#define NEARBY_INTERVALS 64
#define NEARBY_STACKS	 5

/* What a function's name says, worked out once: the rules are many, and stacks repeat the same functions. */
static struct fperf_name_facts facts_of(struct fperf_model *model, const struct fperf_symbol *symbol,
					bool kernel)
{
	struct fperf_name_facts *facts, found = {.known = true, .kernel = kernel};

	if (symbol->function_id < model->fact_capacity) {
		facts = &model->facts[symbol->function_id];
		if (facts->known && facts->kernel == kernel)
			return *facts;
	}
	if (kernel) {
		found.hint = (uint8_t)fperf_blocked__kernel_hint(symbol->function);
		found.scheduler = fperf_blocked__is_scheduler(symbol->function);
		found.io_work = fperf_blocked__is_io_work(symbol->function);
		found.fault_entry = fperf_blocked__is_fault_entry(symbol->function);
		found.syscall_entry = fperf_blocked__is_syscall_entry(symbol->function);
	} else {
		found.hint = (uint8_t)fperf_blocked__user_hint(symbol->function);
	}
	/* without memory it is worked out again */
	if (!fperf_vec__grow((void **)&model->facts, &model->fact_capacity, (size_t)symbol->function_id + 1,
			     sizeof(*model->facts)))
		model->facts[symbol->function_id] = found;
	return found;
}

static void kernel_function_note(struct fperf_model *model, struct fperf_stack_info *info,
				 const struct fperf_symbol *symbol, bool *fault_entry, bool *in_syscall)
{
	struct fperf_name_facts facts = facts_of(model, symbol, true);

	if (info->kernel_hint == FPERF_HINT_NONE)
		info->kernel_hint = facts.hint;
	if (!info->leaf && !facts.scheduler)
		info->leaf = symbol;
	info->kernel_io |= facts.io_work;
	*fault_entry |= facts.fault_entry;
	*in_syscall |= facts.syscall_entry;
}

/* Wrappers of the language's library are compiled into the game itself, and still name the wait. */
static bool is_library_wrapper(const char *function)
{
	return !strncmp(function, "std::", 5) || !strncmp(function, "__gnu", 5) ||
	       !strncmp(function, "absl::", 6);
}

static void user_function_note(struct fperf_model *model, struct fperf_stack_info *info,
			       const struct fperf_symbol *symbol, bool *hint_closed)
{
	/* what was inlined is part of the function that it is in, as in every profile by symbols */
	if (!info->leaf && !symbol->inlined)
		info->leaf = symbol;
	if (symbol->own && !symbol->inlined && !info->place)
		info->place = symbol;
	if (!*hint_closed && info->user_hint == FPERF_HINT_NONE) {
		info->user_hint = facts_of(model, symbol, false).hint;
		*hint_closed = symbol->own && symbol->known && !is_library_wrapper(symbol->function);
	}
}

static bool contains(const struct fperf_symbol *const *symbols, size_t count, uint32_t function_id)
{
	for (size_t i = 0; i < count; i++)
		if (symbols[i]->function_id == function_id)
			return true;
	return false;
}

/* The own functions were found leaf first; they are stored root first, a recursive one at its place nearest
 * to the root. */
static void own_functions_store(struct fperf_model *model, struct fperf_stack_info *info,
				const struct fperf_symbol *const *own, size_t count)
{
	info->own_first = model->own_count;
	for (size_t i = count; i-- > 0;) {
		const struct fperf_symbol **slot;

		if (info->own_count &&
		    contains(&model->own_functions[info->own_first], info->own_count, own[i]->function_id))
			continue;
		slot = fperf_vec__push(&model->own_functions, &model->own_count, &model->own_capacity);
		if (!slot) {
			model->no_memory = true;
			return;
		}
		*slot = own[i];
		info->own_count++;
	}
}

static void info_fill(struct fperf_model *model, struct fperf_stack_info *info,
		      const struct fperf_rec_stack *stack)
{
	bool fault_entry = false, in_syscall = false, hint_closed = false;
	const struct fperf_symbol *own[OWN_LIMIT];
	size_t own_count = 0;

	for (uint32_t i = 0; i < stack->count; i++) {
		const struct fperf_stack_frame *frame = &stack->frames[i];
		const struct fperf_symbol *const *symbols;
		size_t count;

		if (frame->kind == FPERF_FRAME_GAP)
			continue;
		count = fperf_symbolizer__resolve(model->symbolizer, frame, info->process, &symbols);
		info->user |= !frame->kernel;
		info->kernel |= frame->kernel;
		for (size_t k = 0; k < count; k++) {
			if (frame->kernel)
				kernel_function_note(model, info, symbols[k], &fault_entry, &in_syscall);
			else
				user_function_note(model, info, symbols[k], &hint_closed);
			if (!frame->kernel && symbols[k]->own && !symbols[k]->inlined &&
			    own_count < OWN_LIMIT)
				own[own_count++] = symbols[k];
		}
	}
	info->fault = fault_entry && !in_syscall;
	own_functions_store(model, info, own, own_count);
}

uint32_t fperf_model__stack(struct fperf_model *model, uint32_t stack, uint32_t process)
{
	const struct fperf_rec_stack *record = fperf_session__stack(model->session, stack);
	uint64_t key = (uint64_t)stack << 32 | process, index;
	struct fperf_stack_info *info;

	if (!record)
		return 0;
	if (fperf_map__get(&model->stack_index, key, &index))
		return (uint32_t)index;
	info = fperf_vec__push(&model->stacks, &model->stack_count, &model->stack_capacity);
	if (!info) {
		model->no_memory = true;
		return 0;
	}
	index = model->stack_count - 1;
	info->stack = stack;
	info->process = process;
	info_fill(model, info, record);
	if (fperf_map__set(&model->stack_index, key, index))
		model->no_memory = true;
	return (uint32_t)index;
}

/* The same call on the same object: same system call and first argument (the futex word, the descriptor). */
static bool same_wait(const struct fperf_rec_offcpu *a, const struct fperf_rec_offcpu *b)
{
	return a->syscall == b->syscall && a->args[0] == b->args[0];
}

struct nearby {
	uint32_t stacks[NEARBY_STACKS];
	size_t count;
};

static bool nearby_add(struct fperf_model *model, const struct fperf_timeline *timeline,
		       const struct fperf_rec_offcpu *wanted, size_t interval, struct nearby *nearby)
{
	const struct fperf_rec_offcpu *record = &model->offcpu[timeline->intervals[interval].record];
	uint32_t stack;

	if (!same_wait(record, wanted))
		return false;
	stack = fperf_model__stack(model, record->stack, timeline->process);
	if (!model->stacks[stack].user)
		return false;
	nearby->stacks[nearby->count++] = stack;
	return nearby->count == NEARBY_STACKS;
}

/* The stack whose place most of the nearby ones share; 0 unless three of five, or all of fewer, agree. */
static uint32_t nearby_agree(const struct fperf_model *model, const struct nearby *nearby)
{
	for (size_t i = 0; i < nearby->count; i++) {
		size_t agree = 0;

		for (size_t k = 0; k < nearby->count; k++)
			agree += model->stacks[nearby->stacks[k]].place ==
				 model->stacks[nearby->stacks[i]].place;
		if (agree * 5 >= nearby->count * 3)
			return nearby->stacks[i];
	}
	return 0;
}

uint32_t fperf_model__interval_stack(struct fperf_model *model, const struct fperf_timeline *timeline,
				     size_t interval)
{
	const struct fperf_rec_offcpu *record = &model->offcpu[timeline->intervals[interval].record];
	uint32_t own = fperf_model__stack(model, record->stack, timeline->process), other;
	struct nearby nearby = {0};

	if (model->stacks[own].user || record->syscall < 0)
		return own;
	for (size_t away = 1; away <= NEARBY_INTERVALS; away++) {
		if (away <= interval && nearby_add(model, timeline, record, interval - away, &nearby))
			break;
		if (interval + away < timeline->interval_count &&
		    nearby_add(model, timeline, record, interval + away, &nearby))
			break;
	}
	other = nearby_agree(model, &nearby);
	return other ? other : own;
}
