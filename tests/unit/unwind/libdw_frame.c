#include "libdw_frame.h"

#include <dwarf.h>
#include <stdlib.h>

#define DEPTH 16

struct evaluation {
	const struct host_memory *memory;
	const struct host_registers *registers;
	uint64_t cfa, pc;
	uint64_t stack[DEPTH];
	unsigned int depth;
	bool bad, is_value;
};

static void push(struct evaluation *eval, uint64_t value)
{
	if (eval->depth == DEPTH)
		eval->bad = true;
	else
		eval->stack[eval->depth++] = value;
}

static uint64_t pop(struct evaluation *eval)
{
	if (!eval->depth) {
		eval->bad = true;
		return 0;
	}
	return eval->stack[--eval->depth];
}

static uint64_t register_value(struct evaluation *eval, uint64_t number)
{
	if (number == 16)
		return eval->pc;
	if (number > 16)
		eval->bad = true;
	return number > 16 ? 0 : eval->registers->all[number];
}

static void operate(struct evaluation *eval, const Dwarf_Op *op)
{
	uint64_t a, b;

	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		push(eval, register_value(eval, op->atom - DW_OP_breg0) + op->number);
		return;
	}
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		push(eval, op->atom - DW_OP_lit0);
		return;
	}
	switch (op->atom) {
	case DW_OP_bregx:
		push(eval, register_value(eval, op->number) + op->number2);
		break;
	case DW_OP_call_frame_cfa:
		push(eval, eval->cfa);
		break;
	case DW_OP_plus_uconst:
		push(eval, pop(eval) + op->number);
		break;
	case DW_OP_plus:
		push(eval, pop(eval) + pop(eval));
		break;
	case DW_OP_and:
		push(eval, pop(eval) & pop(eval));
		break;
	case DW_OP_ge:
		b = pop(eval);
		a = pop(eval);
		push(eval, (int64_t)a >= (int64_t)b);
		break;
	case DW_OP_shl:
		b = pop(eval);
		a = pop(eval);
		push(eval, a << (b & 63));
		break;
	case DW_OP_deref:
		a = 0;
		if (!eval->memory->read(eval->memory->context, pop(eval), &a, 8))
			eval->bad = true;
		push(eval, a);
		break;
	case DW_OP_stack_value:
		eval->is_value = true;
		break;
	default:
		eval->bad = true;
	}
}

static bool evaluate(struct evaluation *eval, const Dwarf_Op *ops, size_t count, uint64_t *value)
{
	eval->depth = 0;
	eval->bad = eval->is_value = false;
	for (size_t i = 0; i < count; i++)
		operate(eval, &ops[i]);
	*value = pop(eval);
	return !eval->bad;
}

static bool saved_value(struct evaluation *eval, const Dwarf_Op *ops, size_t count, uint64_t *value)
{
	if (count == 1 && ops[0].atom == DW_OP_regx) {
		*value = register_value(eval, ops[0].number);
		return !eval->bad;
	}
	if (!evaluate(eval, ops, count, value))
		return false;
	return eval->is_value || eval->memory->read(eval->memory->context, *value, value, 8);
}

static bool register_known(Dwarf_Frame *frame, struct evaluation *eval, int number, uint64_t *value)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	*value = eval->registers->all[number];
	if (dwarf_frame_register(frame, number, memory, &ops, &count) || (!count && ops == memory))
		return false;
	return !count || saved_value(eval, ops, count, value);
}

static enum libdw_answer caller_from_frame(Dwarf_Frame *frame, struct evaluation *eval,
					   struct libdw_caller *caller)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (dwarf_frame_cfa(frame, &ops, &count) || !evaluate(eval, ops, count, &caller->cfa))
		return LIBDW_UNKNOWN;
	eval->cfa = caller->cfa;
	if (dwarf_frame_register(frame, 16, memory, &ops, &count))
		return LIBDW_UNKNOWN;
	if (!count && ops == memory)
		return LIBDW_END;
	if (!count || !saved_value(eval, ops, count, &caller->ra))
		return LIBDW_UNKNOWN;
	caller->fp_known = register_known(frame, eval, 6, &caller->fp);
	caller->bx_known = register_known(frame, eval, 3, &caller->bx);
	return LIBDW_FRAME;
}

enum libdw_answer libdw_caller_get(Dwarf_CFI *cfi, uint64_t pc, const struct host_memory *memory,
				   const struct host_registers *registers, struct libdw_caller *caller)
{
	struct evaluation eval = {.memory = memory, .registers = registers, .pc = registers->pc};
	enum libdw_answer answer;
	Dwarf_Frame *frame;

	if (dwarf_cfi_addrframe(cfi, pc, &frame))
		return LIBDW_NO_FRAME;
	answer = caller_from_frame(frame, &eval, caller);
	if (dwarf_frame_info(frame, NULL, &caller->end, NULL) < 0)
		caller->end = 0;
	free(frame);
	return answer;
}
