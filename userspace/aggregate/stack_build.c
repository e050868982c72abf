/* From the addresses of a wire record to a stack of modules and offsets. */
#include "aggregate/aggregate_internal.h"

#include "base/vec.h"

#include <errno.h>
#include <string.h>

/* Outcomes that say where unwinding went wrong, as opposed to those that were meant. */
static bool outcome_is_failure(uint8_t outcome)
{
	return outcome != FPERF_STACK_NONE && outcome != FPERF_STACK_COMPLETE &&
	       outcome != FPERF_STACK_TRUNCATED && outcome != FPERF_STACK_SKIPPED &&
	       outcome != FPERF_STACK_LEAF;
}

static uint64_t address_at(const uint8_t *addresses, uint32_t index)
{
	uint64_t address;

	memcpy(&address, addresses + index * sizeof(address), sizeof(address));
	return address;
}

static int user_frame(struct fperf_aggregate *agg, struct fperf_process *process, uint64_t address,
		      uint8_t kind, struct fperf_stack_frame *frame, struct fperf_error *err)
{
	/* The instruction after a call that does not return may lie behind the mapping. */
	struct fperf_mapping *mapping =
		fperf_mapping_set__find(&process->maps, kind == FPERF_FRAME_RETURN ? address - 1 : address);

	*frame = (struct fperf_stack_frame){.kind = kind, .offset = address};
	if (!mapping)
		return 0;
	frame->module = mapping->module;
	frame->offset = address - mapping->bias;
	return mapping->written ? 0 : fperf_aggregate__write_mapping(agg, process, mapping, 0, err);
}

static int user_frames(struct fperf_aggregate *agg, struct fperf_process *process,
		       const struct fperf_stack_input *input, uint32_t *count, struct fperf_error *err)
{
	for (uint32_t i = 0; i < input->head.user_count; i++) {
		uint64_t address = address_at(input->user, i);
		uint8_t kind = address & FPERF_WIRE_PC_BIT ? FPERF_FRAME_PC : FPERF_FRAME_RETURN;

		if (i && i == input->head.gap)
			agg->frames[(*count)++] = (struct fperf_stack_frame){.kind = FPERF_FRAME_GAP};
		if (user_frame(agg, process, address & ~FPERF_WIRE_PC_BIT, kind, &agg->frames[*count], err))
			return err->code;
		(*count)++;
	}
	return 0;
}

static int kernel_frames(struct fperf_aggregate *agg, const struct fperf_stack_input *input, bool leaf_is_pc,
			 uint32_t *count, struct fperf_error *err)
{
	if (!input->head.kernel_count)
		return 0;
	if (!agg->kernel) {
		const struct fperf_module *kernel =
			fperf_module_table__add_kernel(agg->modules, agg->options.kernel_base, err);

		if (!kernel)
			return err->code;
		agg->kernel = kernel->id;
	}
	for (uint32_t i = 0; i < input->head.kernel_count; i++) {
		uint64_t address = address_at(input->kernel, i);

		if (!address)
			continue;
		agg->frames[(*count)++] = (struct fperf_stack_frame){
			.module = agg->kernel,
			.kind = leaf_is_pc && i == 0 ? FPERF_FRAME_PC : FPERF_FRAME_RETURN,
			.kernel = 1,
			.offset = address - agg->options.kernel_base,
		};
	}
	return 0;
}

static int kernel_addresses_keep(struct fperf_aggregate *agg, const struct fperf_stack_frame *frames,
				 uint32_t count, struct fperf_error *err)
{
	struct fperf_map *addresses = &fperf_aggregate__current(agg)->kernel_addresses;

	for (uint32_t i = 0; i < count && frames[i].kernel; i++)
		if (fperf_map__set(addresses, frames[i].offset + agg->options.kernel_base, 1))
			return fperf_error__no_memory(err, "the set of kernel addresses");
	return 0;
}

/* How the user stack ended, which is counted if it is a failure. The BPF programs cannot tell generated code
 * from a module without unwind information. */
static int outcome_settle(struct fperf_aggregate *agg, struct fperf_process *process,
			  const struct fperf_wire_stack *head, uint8_t *outcome, struct fperf_error *err)
{
	uint64_t address = head->failed_at & ~FPERF_WIRE_PC_BIT, key, count = 0;
	struct fperf_map *failures = &fperf_aggregate__current(agg)->unwind_failures;
	const struct fperf_mapping *mapping =
		address ? fperf_mapping_set__find(&process->maps, address) : NULL;

	*outcome = head->outcome;
	if (!outcome_is_failure(*outcome))
		return 0;
	if (*outcome == FPERF_STACK_NO_MODULE && mapping &&
	    fperf_module_table__get(agg->modules, mapping->module)->kind == FPERF_MODULE_ELF)
		*outcome = FPERF_STACK_NO_ROW;
	key = (mapping ? (uint64_t)mapping->module << 8 : 0) | *outcome;
	fperf_map__get(failures, key, &count);
	if (fperf_map__set(failures, key, count + 1))
		return fperf_error__no_memory(err, "the counts of failed unwinds");
	return 0;
}

int fperf_aggregate__keep_stack(struct fperf_aggregate *agg, struct fperf_process *process,
				const struct fperf_stack_input *input, bool kernel, uint64_t out_ns,
				struct fperf_out_stack *out, struct fperf_error *err)
{
	uint32_t count = 0;

	out->out_ns = 0;
	if ((kernel && kernel_frames(agg, input, false, &count, err)) ||
	    outcome_settle(agg, process, &input->head, &out->outcome, err) ||
	    user_frames(agg, process, input, &count, err))
		return err->code;
	if (fperf_vec__grow((void **)&out->frames, &out->capacity, count, sizeof(*out->frames)))
		return fperf_error__no_memory(err, "the stack of a thread");
	for (uint32_t i = 0; i < count; i++)
		out->frames[i] = agg->frames[i];
	out->count = count;
	out->out_ns = out_ns;
	return 0;
}

int fperf_aggregate__intern(struct fperf_aggregate *agg, uint8_t outcome,
			    const struct fperf_stack_frame *frames, uint32_t count, enum fperf_source source,
			    uint32_t *id, struct fperf_error *err)
{
	struct fperf_rec_stack record = {.outcome = outcome, .count = count, .frames = frames};
	bool is_new;

	*id = 0;
	if (!count && outcome == FPERF_STACK_NONE)
		return 0;
	*id = fperf_stack_table__intern(agg->stacks, outcome, frames, count, &is_new);
	if (!*id)
		fperf_aggregate__count_lost(agg, source, FPERF_LOSS_TABLE_FULL, 1);
	if (!is_new)
		return 0;
	record.id = *id;
	if (kernel_addresses_keep(agg, frames, count, err))
		return err->code;
	for (uint32_t i = 0; i < count; i++)
		if (fperf_module_table__mention(agg->modules, frames[i].module, err))
			return err->code;
	return fperf_writer__add(agg->options.writer, FPERF_RECORD_STACK, &record, err);
}

int fperf_aggregate__stack(struct fperf_aggregate *agg, struct fperf_process *process,
			   const struct fperf_stack_input *input, const struct fperf_out_stack *user,
			   bool leaf_is_pc, enum fperf_source source, uint32_t *id, struct fperf_error *err)
{
	uint8_t outcome = input->head.outcome;
	uint32_t count = 0;

	*id = 0;
	if (kernel_frames(agg, input, leaf_is_pc, &count, err))
		return err->code;
	if (user) {
		for (size_t i = 0; i < user->count; i++)
			agg->frames[count++] = user->frames[i];
		outcome = user->outcome;
	} else if (outcome_settle(agg, process, &input->head, &outcome, err) ||
		   user_frames(agg, process, input, &count, err)) {
		return err->code;
	}
	return fperf_aggregate__intern(agg, outcome, agg->frames, count, source, id, err);
}
