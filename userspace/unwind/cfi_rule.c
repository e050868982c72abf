/* From a state of call frame information to a packed rule. What a rule cannot hold becomes UNSUPPORTED, never
 * a guess.
 */
#include "unwind/cfi.h"

#include "frameperf/unwind_row.h"

#include <dwarf.h>
#include <elf.h>
#include <string.h>

/* An address that an expression gives: *(register + a) + b when `deref`, else register + a. */
struct address {
	uint64_t reg;
	int64_t a, b;
	bool deref;
};

static bool address_read(const uint8_t *expression, size_t size, struct address *address)
{
	struct fperf_reader reader;
	uint8_t opcode;

	*address = (struct address){0};
	fperf_reader__init(&reader, expression, size);
	opcode = fperf_reader__u8(&reader);
	if (opcode >= DW_OP_breg0 && opcode <= DW_OP_breg31)
		address->reg = opcode - DW_OP_breg0;
	else if (opcode == DW_OP_bregx)
		address->reg = cfi_uleb(&reader);
	else
		return false;
	address->a = cfi_sleb(&reader);
	while (fperf_reader__left(&reader)) {
		int64_t *sum = address->deref ? &address->b : &address->a;

		opcode = fperf_reader__u8(&reader);
		if (opcode == DW_OP_deref && !address->deref)
			address->deref = true;
		else if (opcode != DW_OP_plus_uconst ||
			 __builtin_add_overflow(*sum, (int64_t)cfi_uleb(&reader), sum))
			return false;
	}
	return !reader.failed;
}

/* Binutils' expression for a PLT that pushes in its second half: sp + 8 + ((pc & 15) >= n) * 8; n differs by
 * the PLT's flavour. Zero when it is another expression. */
static unsigned int plt_threshold(const uint8_t *expression, size_t size)
{
	static const uint8_t before[] = {DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and};
	static const uint8_t after[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
	uint8_t literal;

	if (size != sizeof(before) + 1 + sizeof(after) || memcmp(expression, before, sizeof(before)) != 0 ||
	    memcmp(expression + sizeof(before) + 1, after, sizeof(after)) != 0)
		return 0;
	literal = expression[sizeof(before)];
	return literal > DW_OP_lit0 && literal <= DW_OP_lit15 ? (unsigned int)(literal - DW_OP_lit0) : 0;
}

/* Saved at register + offset, by an expression. */
static bool register_at(const struct cfi_register *reg, uint64_t number, int64_t offset)
{
	struct address address;

	return reg->kind == CFI_EXPRESSION && address_read(reg->expression, reg->expression_size, &address) &&
	       !address.deref && address.reg == number && address.a == offset;
}

/* libc's signal trampoline on x86-64 describes where the kernel saved the registers, relative to sp: struct
 * ucontext of asm/ucontext.h, gregs from offset 40. */
static bool is_signal_context(const struct cfi_state *state)
{
	struct address cfa;

	return state->cfa_expression && address_read(state->expression, state->expression_size, &cfa) &&
	       cfa.deref && cfa.reg == CFI_X86_SP && cfa.a == 160 && cfa.b == 0 &&
	       register_at(&state->fp, CFI_X86_SP, 120) && register_at(&state->ra, CFI_X86_SP, 168);
}

/* The fp field for the caller's frame pointer. `base` is the register that the CFA comes from, CFA = base +
 * `cfa_offset` (INT64_MIN when there is no such sum). */
static uint32_t fp_field(const struct cfi_section *section, const struct cfi_register *fp, uint64_t base,
			 int64_t cfa_offset)
{
	struct address address;

	switch (fp->kind) {
	case CFI_SAME:
		return FPERF_RULE_FP_SAME;
	case CFI_OFFSET:
		if (fp->value < 0 && fp->value % 8 == 0 && -fp->value / 8 <= FPERF_RULE_FP_SLOTS)
			return (uint32_t)(-fp->value / 8);
		if (cfa_offset != INT64_MIN && fp->value == -cfa_offset)
			return FPERF_RULE_FP_AT_BASE;
		return FPERF_RULE_FP_LOST;
	case CFI_EXPRESSION:
		if (!address_read(fp->expression, fp->expression_size, &address) || address.deref ||
		    address.a != 0)
			return FPERF_RULE_FP_LOST;
		if (address.reg == cfi_fp_register(section->machine))
			return FPERF_RULE_FP_AT_FP;
		return address.reg == base ? FPERF_RULE_FP_AT_BASE : FPERF_RULE_FP_LOST;
	default:
		return FPERF_RULE_FP_LOST;
	}
}

/* The bits for the caller's rbx. */
static uint32_t bx_bits(const struct cfi_section *section, const struct cfi_register *bx, bool large)
{
	uint32_t code = FPERF_RULE_BX_LOST;

	if (section->machine != EM_X86_64 || bx->kind == CFI_SAME)
		return 0;
	if (large)
		return FPERF_RULE_BX_LARGE_LOST << 4;
	if (bx->kind == CFI_OFFSET && bx->value % 8 == 0 && bx->value <= -16 &&
	    -bx->value / 8 - 1 <= FPERF_RULE_BX_SLOTS)
		code = (uint32_t)(-bx->value / 8 - 1);
	return (code & 3) << 4 | (code & 4) << 5;
}

static bool fits(int64_t value, unsigned int bits)
{
	int64_t limit = (int64_t)8 << (bits - 1);

	return value % 8 == 0 && value >= -limit && value < limit;
}

static uint32_t large_pack(bool base_fp, int64_t offset, uint32_t fp, uint32_t flags)
{
	uint32_t code;

	if (offset < 0 || offset % 8 != 0 || offset / 8 >= 1 << 21)
		return FPERF_RULE_UNSUPPORTED;
	if (fp == FPERF_RULE_FP_SAME)
		code = FPERF_RULE_SHORT_SAME;
	else if (fp == FPERF_RULE_FP_AT_BASE || (fp == FPERF_RULE_FP_AT_FP && base_fp))
		code = FPERF_RULE_SHORT_AT_BASE;
	else if (fp >= 2 && fp <= FPERF_RULE_SHORT_SLOTS + 1)
		code = fp - 1;
	else
		code = FPERF_RULE_SHORT_LOST;
	return FPERF_RULE_LARGE | flags | (base_fp ? FPERF_RULE_BASE_FP : 0) | code << 8 |
	       (uint32_t)(offset / 8) << 11;
}

static uint32_t sum_pack(const struct cfi_section *section, const struct cfi_state *state, uint32_t flags,
			 uint64_t reg, int64_t offset)
{
	uint32_t fp = fp_field(section, &state->fp, reg, offset);
	bool is_fp = reg == cfi_fp_register(section->machine);

	if (reg != cfi_sp_register(section->machine) && !is_fp) {
		if (reg > 31 || !fits(offset, 11))
			return FPERF_RULE_UNSUPPORTED;
		return FPERF_RULE_REGISTER | flags | fp << 8 | (uint32_t)reg << 16 |
		       (uint32_t)(offset / 8) << 21;
	}
	if (!fits(offset, 16))
		return large_pack(is_fp, offset, fp, flags);
	return (is_fp ? FPERF_RULE_FP : FPERF_RULE_SP) | flags | fp << 8 | (uint32_t)(offset / 8) << 16;
}

static uint32_t expression_pack(const struct cfi_section *section, const struct cfi_state *state,
				uint32_t flags)
{
	unsigned int threshold = plt_threshold(state->expression, state->expression_size);
	bool is_fp;
	struct address cfa;

	if (threshold && section->machine == EM_X86_64)
		return FPERF_RULE_PLT | flags | fp_field(section, &state->fp, CFI_X86_SP, INT64_MIN) << 8 |
		       threshold << 16;
	if (!address_read(state->expression, state->expression_size, &cfa))
		return FPERF_RULE_UNSUPPORTED;
	if (!cfa.deref)
		return sum_pack(section, state, flags, cfa.reg, cfa.a);
	is_fp = cfa.reg == cfi_fp_register(section->machine);
	if (!is_fp && cfa.reg != cfi_sp_register(section->machine))
		return FPERF_RULE_UNSUPPORTED;
	if (!fits(cfa.a, 11) || cfa.b < 0 || cfa.b % 8 != 0 || cfa.b / 8 > 31)
		return FPERF_RULE_UNSUPPORTED;
	return (is_fp ? FPERF_RULE_FP_DEREF : FPERF_RULE_SP_DEREF) | flags |
	       fp_field(section, &state->fp, cfa.reg, INT64_MIN) << 8 |
	       ((uint32_t)(cfa.a / 8) & 0x7ff) << 16 | (uint32_t)(cfa.b / 8) << 27;
}

/* Where the return address is, as bits 4-5; false when a rule cannot hold it. On arm64, RA_FP_SLOT borrows
 * the fp field: `state` is changed to say so. */
static bool ra_pack(const struct cfi_section *section, struct cfi_state *state, uint32_t *flags)
{
	if (section->machine == EM_X86_64)
		return state->ra.kind == CFI_OFFSET && state->ra.value == -8;
	if (state->ra.kind == CFI_SAME)
		return true;
	if (state->ra.kind != CFI_OFFSET)
		return false;
	if (state->fp.kind == CFI_OFFSET && state->ra.value == state->fp.value + 8) {
		*flags |= FPERF_RULE_RA_NEXT_FP << 4;
		return true;
	}
	if (state->fp.kind != CFI_SAME)
		return false;
	*flags |= FPERF_RULE_RA_FP_SLOT << 4;
	state->fp = state->ra;
	return true;
}

static bool fp_is_lost(uint32_t rule)
{
	if ((rule & 0xf) == FPERF_RULE_LARGE)
		return (rule >> 8 & 7) == FPERF_RULE_SHORT_LOST;
	return (rule >> 8 & 0xff) == FPERF_RULE_FP_LOST;
}

/* When the return address is found through the fp field, a lost fp loses it as well. */
uint32_t cfi_rule_pack(const struct cfi_section *section, const struct cfi_cie *cie,
		       const struct cfi_state *state)
{
	struct cfi_state copy = *state;
	uint32_t flags = cie->signal_frame ? FPERF_RULE_SIGNAL_FRAME : 0;
	uint32_t rule;

	if (state->ra.kind == CFI_UNDEFINED)
		return FPERF_RULE_END;
	if (section->machine == EM_X86_64 && is_signal_context(state))
		return FPERF_RULE_SIGNAL;
	if (!ra_pack(section, &copy, &flags))
		return FPERF_RULE_UNSUPPORTED;
	rule = copy.cfa_expression ? expression_pack(section, &copy, flags)
				   : sum_pack(section, &copy, flags, copy.cfa_register, copy.cfa_offset);
	if (flags >> 4 & 3 && fp_is_lost(rule))
		return FPERF_RULE_UNSUPPORTED;
	if (rule == FPERF_RULE_UNSUPPORTED)
		return rule;
	return rule | bx_bits(section, &state->bx, (rule & 0xf) == FPERF_RULE_LARGE);
}
