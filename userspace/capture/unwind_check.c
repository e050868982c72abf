#include "capture/unwind_check.h"

#include "frameperf/meta.h"
#include "frameperf/reasons.h"

#include <stdio.h>
#include <string.h>

/* User stack frames of a record; NULL when it does not hold what it says. */
static const uint8_t *user_frames(const void *record, size_t size, struct fperf_wire_stack *stack)
{
	const struct fperf_wire_header *header = record;
	size_t fixed = header->type == FPERF_WIRE_SAMPLE ? sizeof(struct fperf_wire_sample)
							 : sizeof(struct fperf_wire_out_stack);

	if (size < fixed)
		return NULL;
	memcpy(stack, (const uint8_t *)record + fixed - sizeof(*stack), sizeof(*stack));
	if ((size - fixed) / sizeof(uint64_t) < (size_t)stack->kernel_count + stack->user_count)
		return NULL;
	return (const uint8_t *)record + fixed + stack->kernel_count * sizeof(uint64_t);
}

static void wrong_note(struct fperf_unwind_check *check, const struct fperf_wire_header *header,
		       const struct fperf_wire_stack *stack, const uint64_t *ours,
		       const struct fperf_unwind_dump_stack *theirs)
{
	char *text = check->first_wrong;
	size_t size = sizeof(check->first_wrong), at;

	if (check->wrong++)
		return;
	at = (size_t)snprintf(text, size, "%llu ns, thread %u, outcome %u; ours, libdw's:",
			      (unsigned long long)header->time_ns, header->tid, stack->outcome);
	for (uint32_t i = 0; (i < stack->user_count || i < theirs->count) && at < size - 48; i++) {
		uint64_t one = i < stack->user_count ? ours[i] & ~FPERF_WIRE_PC_BIT : 0;
		uint64_t other = i < theirs->count ? theirs->frames[i] & ~FPERF_WIRE_PC_BIT : 0;

		at += (size_t)snprintf(text + at, size - at, " %llx,%llx", (unsigned long long)one,
				       (unsigned long long)other);
	}
}

/* Had libdw to guess on its way to stack frame `at`? Registers that it guessed go on into what it knows. */
static bool guessed(const struct fperf_unwind_dumps *dumps, uint32_t pid,
		    const struct fperf_unwind_dump_stack *theirs, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++) {
		if (!fperf_unwind_dumps__knows(dumps, pid, theirs->frames[i]))
			return true;
	}
	return false;
}

void fperf_unwind_check__compare(struct fperf_unwind_check *check, const struct fperf_unwind_dumps *dumps,
				 const void *record, size_t size)
{
	const struct fperf_wire_header *header = record;
	const struct fperf_unwind_dump_stack *theirs = fperf_unwind_dumps__find(dumps, header);
	uint64_t ours[FPERF_USER_DEPTH];
	struct fperf_wire_stack stack;
	const uint8_t *frames = user_frames(record, size, &stack);
	uint32_t count, at = 0;

	if (!frames || !theirs || !stack.user_count || stack.user_count > FPERF_USER_DEPTH)
		return;
	memcpy(ours, frames, stack.user_count * sizeof(*ours));
	count = stack.gap && stack.gap < stack.user_count ? stack.gap : stack.user_count;
	while (at < count && at < theirs->count && ours[at] == theirs->frames[at])
		at++;
	if (at == theirs->count && at == count)
		check->equal++;
	else if (at == theirs->count && theirs->outcome != FPERF_STACK_COMPLETE)
		check->longer++;
	else if (at == count && stack.outcome != FPERF_STACK_COMPLETE)
		check->shorter++;
	else if (guessed(dumps, header->pid, theirs, at))
		check->guessed++;
	else
		wrong_note(check, header, &stack, ours, theirs);
}

void fperf_unwind_check__write(const struct fperf_unwind_check *check, struct fperf_writer *writer)
{
	struct fperf_error ignored;

	fperf_writer__meta_u64(writer, FPERF_META_UNWIND_CHECK_EQUAL, check->equal, &ignored);
	fperf_writer__meta_u64(writer, FPERF_META_UNWIND_CHECK_SHORTER, check->shorter, &ignored);
	fperf_writer__meta_u64(writer, FPERF_META_UNWIND_CHECK_LONGER, check->longer, &ignored);
	fperf_writer__meta_u64(writer, FPERF_META_UNWIND_CHECK_GUESSED, check->guessed, &ignored);
	fperf_writer__meta_u64(writer, FPERF_META_UNWIND_CHECK_WRONG, check->wrong, &ignored);
	if (check->wrong)
		fperf_writer__meta(writer, FPERF_META_UNWIND_CHECK_FIRST, check->first_wrong, &ignored);
}
