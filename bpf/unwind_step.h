/* One step of unwinding, from a stack frame to its caller. The same code runs in BPF and, for tests and
 * debuggers, as ordinary C: whoever includes it has defined, before,
 *
 *   unwind_read(to, size, address)        copies user memory; 0 or negative
 *   unwind_register(state, number, &v)    a DWARF register of the interrupted function; 0 or negative
 *   unwind_cell(index, &v)                a cell of the tables (see frameperf/unwind_row.h); 0 or negative
 *   unwind_mapping(index)                 const struct fperf_unwind_mapping *, or NULL
 *   unwind_module(slot)                   struct fperf_unwind_module *, or NULL
 *   unwind_cache(index)                   struct fperf_unwind_cache_slot *, or NULL
 *   unwind_lookup(state)                  calls unwind_lookup_rule(), maybe in a function of its own
 *   unwind_now()                          ns; coarse is enough
 *   unwind_address_mask, unwind_mode      see below
 *
 * and either FPERF_UNWIND_X86 or FPERF_UNWIND_ARM64. It keeps the floor's verifier in mind: no unbounded
 * loop, no pointer that outlives a call.
 */
#ifndef FPERF_BPF_UNWIND_STEP_H
#define FPERF_BPF_UNWIND_STEP_H

#include "frameperf/reasons.h"
#include "frameperf/unwind_row.h"

/* unwind_mode: which ways may be used */
#define UNWIND_MODE_AUTO  0 /* rows; frame pointers where there are none */
#define UNWIND_MODE_FP	  1 /* frame pointers only */
#define UNWIND_MODE_TABLE 2 /* rows only */
#define UNWIND_MODE_DUMP  3 /* none: user space unwinds a copy of the stack */
#define UNWIND_MODE_CHECK 4 /* as auto, and user space unwinds a copy of each stack, to compare */
#define UNWIND_MODE_LEAF  5 /* none: the innermost address is all that is wanted */

/* state->flags */
#define UNWIND_PC      1u  /* pc is an interrupted pc, not a return address */
#define UNWIND_LEAF    2u  /* the task's registers are this function's: any of them may be asked for */
#define UNWIND_LR      4u  /* lr is this function's (arm64) */
#define UNWIND_FP_LOST 8u  /* fp is not known here */
#define UNWIND_BX_LOST 16u /* nor is bx */
#define UNWIND_BEHIND                                                                                        \
	32u /* pc is behind the instruction that entered the kernel, maybe its function's last */
#define UNWIND_SP_LOST 64u /* arm64: sp is a lower bound only */

#define UNWIND_FAR	   (16ull << 20) /* a frame pointer further up than this is none */
#define UNWIND_SIGNALS_MAX 16
#define UNWIND_SEARCH_MAX  20 /* steps: rows of a block of 64 KiB, with room */
#define UNWIND_MAPPING_MAX 17 /* steps: FPERF_UNWIND_MAPPINGS */
#define UNWIND_LONG_WALK   15 /* times FPERF_USER_DEPTH more, to find the root of a deep stack */
#define UNWIND_HEAD	   (FPERF_USER_DEPTH / 2)	    /* a deep stack keeps so many at the leaf ... */
#define UNWIND_TAIL	   (FPERF_USER_DEPTH - UNWIND_HEAD) /* ... and so many at the root; a power of two */
#define UNWIND_WINDOW	   64 /* words of the stack that are read at once; a power of two */
#define UNWIND_SLOTS_FROM  32 /* stack frames whose slot is not kept: they are no roots of deep stacks */

struct unwind_state {
	fperf_u64 pc, sp, fp;
	fperf_u64 lr;	/* arm64 */
	fperf_u64 bx;	/* x86-64 */
	fperf_u64 at;	/* address whose rule is wanted: pc, or the last byte of the call */
	fperf_u64 slot; /* where the last return address was read, 0: in a register */
	fperf_u32 first, count, generation; /* the process's mappings; generation 0: not known */
	fperf_u32 flags;
	fperf_u32 rule;	 /* what unwind_lookup found */
	fperf_u32 total; /* stack frames so far, recorded or not */
	fperf_u32 signals;
	fperf_u32 outcome;
	fperf_u32 hits, misses; /* of the cache */
	fperf_u64 failed_at;
	fperf_u64 words[8]; /* what was read from elsewhere than the stack */
	/* A piece of the stack. A read costs the same for 8 bytes as for 512, and most steps need what lies
	 * shortly behind what the step before needed. */
	fperf_u64 window_base;
	fperf_u32 window_size, reserved; /* bytes that hold what was read */
	fperf_u64 window[UNWIND_WINDOW];
	fperf_u64 frames[UNWIND_HEAD + 2 * UNWIND_TAIL]; /* see unwind_record() */
	fperf_u64 slots[UNWIND_HEAD +
			2 * UNWIND_TAIL]; /* where the address of each was read; 0: in a register */
};

static __always_inline fperf_u64 unwind_mix(fperf_u64 at, fperf_u32 generation)
{
	fperf_u64 hash = (at ^ ((fperf_u64)generation << 40)) * 0x9e3779b97f4a7c15ull;

	return hash ^ (hash >> 29) ^ ((fperf_u64)generation * 0x85ebca6b);
}

/* Where in the window `size` bytes at `address` are, in words; the window is moved there if need be. -1: they
 * cannot be read. */
static __always_inline int unwind_window(struct unwind_state *state, fperf_u64 address, fperf_u32 size)
{
	fperf_u64 at = address - state->window_base;

	if (at < sizeof(state->window) && at + size <= state->window_size && !(at & 7))
		return (int)(at / 8);
	state->window_size = 0;
	if (!unwind_read(state->window, sizeof(state->window), address)) {
		state->window_size = sizeof(state->window);
	} else { /* it ends here, most likely */
		if (size > sizeof(state->words) || unwind_read(state->window, size, address))
			return -1;
		state->window_size = size;
	}
	state->window_base = address;
	return 0;
}

/* Word number `word` behind `at`, which unwind_window() has returned. */
static __always_inline fperf_u64 unwind_window_word(const struct unwind_state *state, int at, fperf_u32 word)
{
	return state->window[((fperf_u32)at + word) & (UNWIND_WINDOW - 1)];
}

/* A single word of the stack that may lie anywhere. */
static __always_inline int unwind_word(const struct unwind_state *state, fperf_u64 address, fperf_u64 *value)
{
	fperf_u64 at = address - state->window_base;

	if (at >= sizeof(state->window) || at + 8 > state->window_size || at & 7)
		return unwind_read(value, 8, address);
	*value = state->window[at / 8 & (UNWIND_WINDOW - 1)];
	return 0;
}

/* The last mapping that starts at or before `at`, if it reaches that far. */
static __always_inline const struct fperf_unwind_mapping *
unwind_find_mapping(const struct unwind_state *state)
{
	fperf_u32 low = state->first, high = state->first + state->count;
	const struct fperf_unwind_mapping *mapping;

	for (int i = 0; i < UNWIND_MAPPING_MAX && low < high; i++) {
		fperf_u32 middle = (low + high) / 2;

		mapping = unwind_mapping(middle);
		if (!mapping)
			return 0;
		if (mapping->start <= state->at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == state->first)
		return 0;
	mapping = unwind_mapping(low - 1);
	return mapping && state->at >= mapping->start && state->at < mapping->end ? mapping : 0;
}

static __always_inline fperf_u32 unwind_index(fperf_u32 cell, fperf_u32 entry)
{
	fperf_u64 pair = 0;

	if (unwind_cell(cell + entry / 2, &pair))
		return 0;
	return (fperf_u32)(pair >> (entry % 2 * 32));
}

/* The rule for a file offset inside the module's rows. */
static __always_inline fperf_u32 unwind_search(const struct fperf_unwind_module *module, fperf_u32 offset)
{
	fperf_u32 block = (offset - module->first) >> (module->shift & 31);
	fperf_u32 low = unwind_index(module->index_cell, block);
	fperf_u32 high = unwind_index(module->index_cell, block + 1);
	fperf_u32 rows = module->row_cell;
	fperf_u64 row = 0;

	if (block + 1 >= module->index_count || high >= module->row_count)
		return FPERF_RULE_MISSING;
	for (int i = 0; i < UNWIND_SEARCH_MAX && low < high; i++) {
		fperf_u32 middle = (low + high + 1) / 2;

		if (unwind_cell(rows + middle, &row))
			return FPERF_RULE_MISSING;
		if ((fperf_u32)row <= offset)
			low = middle;
		else
			high = middle - 1;
	}
	if (low != high || unwind_cell(rows + low, &row) || (fperf_u32)row > offset)
		return FPERF_RULE_MISSING;
	return (fperf_u32)(row >> 32);
}

/* The slow way to the rule for state->at: mapping, module, rows. Sets state->rule. */
static __always_inline void unwind_lookup_rule(struct unwind_state *state)
{
	const struct fperf_unwind_mapping *mapping = unwind_find_mapping(state);
	struct fperf_unwind_module *module;
	fperf_u64 offset;

	state->rule = FPERF_RULE_UNMAPPED;
	if (!mapping)
		return;
	state->rule = FPERF_RULE_NO_ROWS;
	if (mapping->module == FPERF_UNWIND_NO_MODULE || unwind_mode == UNWIND_MODE_FP)
		return;
	offset = state->at - mapping->delta;
	module = unwind_module(mapping->module);
	state->rule = FPERF_RULE_MISSING;
	if (!module)
		return;
	module->used_ns = unwind_now(); /* also says that a missing table is wanted */
	if (module->state == FPERF_UNWIND_MODULE_MISSING)
		return;
	state->rule = FPERF_RULE_NO_ROWS;
	if (module->state != FPERF_UNWIND_MODULE_LOADED)
		return;
	state->rule = FPERF_RULE_NONE;
	if (offset >= module->first && offset < module->end)
		state->rule = unwind_search(module, (fperf_u32)offset);
}

static __always_inline void unwind_rule(struct unwind_state *state)
{
	fperf_u64 mixed = unwind_mix(state->at, state->generation);
	fperf_u64 key = state->at ^ ((fperf_u64)state->generation << 48);
	fperf_u32 check = (fperf_u32)mixed;
	struct fperf_unwind_cache_slot *slot = unwind_cache(mixed >> 40 & (FPERF_UNWIND_CACHE_SLOTS - 1));
	fperf_u64 second;

	if (!slot)
		return;
	second = *(volatile fperf_u64 *)&slot->rule;
	if (*(volatile fperf_u64 *)&slot->key == key && (fperf_u32)(second >> 32) == check) {
		state->rule = (fperf_u32)second;
		state->hits++;
		return;
	}
	unwind_lookup(state);
	state->misses++;
	/* What may become known or mapped without a new generation is not kept. */
	if (state->rule == FPERF_RULE_MISSING || state->rule == FPERF_RULE_UNMAPPED)
		return;
	*(volatile fperf_u64 *)&slot->key = key;
	*(volatile fperf_u64 *)&slot->rule = (fperf_u64)check << 32 | state->rule;
}

static __always_inline int unwind_end(struct unwind_state *state, fperf_u32 outcome)
{
	state->outcome = outcome;
	state->failed_at = outcome == FPERF_STACK_COMPLETE ? 0 : state->pc;
	return 0;
}

/* Behind the first UNWIND_HEAD the array holds a ring, twice in a row: so the last UNWIND_TAIL stack frames
 * always lie together, beginning at UNWIND_HEAD + total % UNWIND_TAIL. */
static __always_inline void unwind_record(struct unwind_state *state)
{
	fperf_u64 pc = state->pc | (state->flags & UNWIND_PC ? FPERF_WIRE_PC_BIT : 0);
	fperf_u32 total = state->total++, in_ring = total & (UNWIND_TAIL - 1);

	if (total < UNWIND_HEAD) {
		state->frames[in_ring] = pc;
		if (total >= UNWIND_SLOTS_FROM)
			state->slots[in_ring] = state->slot;
		return;
	}
	state->frames[UNWIND_HEAD + in_ring] = pc;
	state->frames[UNWIND_HEAD + UNWIND_TAIL + in_ring] = pc;
	state->slots[UNWIND_HEAD + in_ring] = state->slot;
	state->slots[UNWIND_HEAD + UNWIND_TAIL + in_ring] = state->slot;
}

/* The caller has been found. */
static __always_inline int unwind_advance(struct unwind_state *state, fperf_u64 pc, fperf_u64 sp)
{
	pc &= unwind_address_mask;
	if (!pc)
		return unwind_end(state, FPERF_STACK_COMPLETE);
#if defined(FPERF_UNWIND_ARM64)
	/* A leaf may leave the stack alone and the return address in lr. */
	if (sp < state->sp || (sp == state->sp && !(state->flags & UNWIND_LR)))
		return unwind_end(state, FPERF_STACK_NO_PROGRESS);
#else
	if (sp <= state->sp)
		return unwind_end(state, FPERF_STACK_NO_PROGRESS);
#endif
	if (sp & 7)
		return unwind_end(state, FPERF_STACK_NO_PROGRESS);
	state->pc = pc;
	state->sp = sp;
	state->flags &= ~(UNWIND_PC | UNWIND_LEAF | UNWIND_LR | UNWIND_BEHIND);
	return 1;
}

static __always_inline int unwind_signal(struct unwind_state *state);

#include "unwind_arch.h"

/* A handler may run on a stack of its own, so the stack pointer may move either way. */
static __always_inline int unwind_signal(struct unwind_state *state)
{
	if (state->signals++ >= UNWIND_SIGNALS_MAX)
		return unwind_end(state, FPERF_STACK_NO_PROGRESS);
	if (unwind_context(state))
		return unwind_end(state, FPERF_STACK_BAD_READ);
	if (!state->pc)
		return unwind_end(state, FPERF_STACK_COMPLETE);
	state->slot = 0;
	state->flags &= ~(UNWIND_LEAF | UNWIND_FP_LOST | UNWIND_BX_LOST | UNWIND_BEHIND | UNWIND_SP_LOST);
	state->flags |= UNWIND_PC | UNWIND_LR;
	return 1;
}

/* A frame pointer step is believed when the saved pair lies above the stack pointer and near, and the address
 * returns behind a call instruction; that it lies in executable memory is seen at the next step. */
static __always_inline int unwind_frame_pointer(struct unwind_state *state, fperf_u32 outcome)
{
	fperf_u64 fp = state->fp, ra;
	int stepped, at;

	if (unwind_mode == UNWIND_MODE_TABLE)
		return unwind_end(state, outcome);
	stepped = unwind_code_step(state);
	if (stepped)
		return stepped > 0;
	if (state->flags & UNWIND_FP_LOST || fp & 7)
		return unwind_end(state, outcome);
	if (!fp)
		return unwind_end(state, FPERF_STACK_UNKNOWN_END);
	if (fp < state->sp || fp - state->sp > UNWIND_FAR)
		return unwind_end(state, outcome);
	at = unwind_window(state, fp, 16);
	if (at < 0)
		return unwind_end(state, outcome);
	ra = unwind_window_word(state, at, 1);
	if (!ra)
		return unwind_end(state, FPERF_STACK_UNKNOWN_END);
	if (!unwind_after_call(ra & unwind_address_mask))
		return unwind_end(state, outcome);
#if defined(FPERF_UNWIND_ARM64)
	state->flags |= UNWIND_SP_LOST;
#endif
	state->slot = fp + 8;
	state->fp = unwind_window_word(state, at, 0);
	return unwind_advance(state, ra, fp + 16);
}

/* CFA of a rule. `base` gets the register that it was computed from. */
static __always_inline int unwind_cfa(struct unwind_state *state, fperf_u32 rule, fperf_u64 *base,
				      fperf_u64 *cfa)
{
	fperf_u32 kind = rule & 0xf;
	fperf_s32 wide = (fperf_s32)rule >> 16;

	*base = state->sp;
	if (kind == FPERF_RULE_FP || kind == FPERF_RULE_FP_DEREF ||
	    (kind == FPERF_RULE_LARGE && rule & FPERF_RULE_BASE_FP)) {
		if (state->flags & UNWIND_FP_LOST)
			return -1;
		*base = state->fp;
	}
	switch (kind) {
	case FPERF_RULE_SP:
	case FPERF_RULE_FP:
		*cfa = *base + (fperf_u64)(wide * 8ll);
		return 0;
	case FPERF_RULE_LARGE:
		*cfa = *base + (fperf_u64)(rule >> 11) * 8;
		return 0;
	case FPERF_RULE_SP_DEREF:
	case FPERF_RULE_FP_DEREF:
		if (unwind_word(state, *base + (fperf_u64)(((fperf_s32)(rule << 5) >> 21) * 8ll),
				&state->words[0]))
			return -1;
		*cfa = state->words[0] + (fperf_u64)(rule >> 27) * 8;
		return 0;
	case FPERF_RULE_PLT:
		*cfa = *base + ((state->pc & 15) >= (rule >> 16) ? 16 : 8);
		return 0;
	case FPERF_RULE_REGISTER:
		if (unwind_base_register(state, rule >> 16 & 31, base))
			return -1;
		*cfa = *base + (fperf_u64)(((fperf_s32)rule >> 21) * 8ll);
		return 0;
	default:
		return -1;
	}
}

/* Where the caller's fp is saved; 0 when it is unchanged or lost. */
static __always_inline fperf_u64 unwind_fp_slot(const struct unwind_state *state, fperf_u32 rule,
						fperf_u64 base, fperf_u64 cfa)
{
	fperf_u32 field = rule >> 8 & 0xff;

	if ((rule & 0xf) == FPERF_RULE_LARGE) {
		field &= 7;
		if (field == FPERF_RULE_SHORT_AT_BASE)
			return base;
		return field && field <= FPERF_RULE_SHORT_SLOTS ? cfa - 8 * (field + 1) : 0;
	}
	if (field == FPERF_RULE_FP_AT_BASE)
		return base;
	if (field == FPERF_RULE_FP_AT_FP)
		return state->fp;
	return field && field <= FPERF_RULE_FP_SLOTS ? cfa - 8 * field : 0;
}

static __always_inline int unwind_fp_is_lost(fperf_u32 rule)
{
	if ((rule & 0xf) == FPERF_RULE_LARGE)
		return (rule >> 8 & 7) == FPERF_RULE_SHORT_LOST;
	return (rule >> 8 & 0xff) == FPERF_RULE_FP_LOST;
}

#if defined(FPERF_UNWIND_ARM64)
/* The frame record lies anywhere in its function's stack frame, so a step by frame pointer does not tell sp.
 * But the row of the function that is then met may say how far below the CFA its record is, and fp points to
 * that record. False: it can't be known. */
static __always_inline int unwind_sp_from_fp(struct unwind_state *state, fperf_u32 rule)
{
	fperf_u64 cfa = unwind_fp_slot(state, rule, 0, 0), ra = 0;
	fperf_u32 kind = rule & 0xf;

	if (kind == FPERF_RULE_FP || (kind == FPERF_RULE_LARGE && rule & FPERF_RULE_BASE_FP))
		return 1;
	if (state->flags & UNWIND_FP_LOST || (rule >> 4 & 3) != FPERF_RULE_RA_NEXT_FP ||
	    (kind != FPERF_RULE_SP && kind != FPERF_RULE_LARGE) || !cfa ||
	    unwind_word(state, state->fp + 8, &ra) || !unwind_after_call(ra & unwind_address_mask))
		return 0;
	cfa = state->fp - cfa; /* the slot is so far from a CFA of 0 */
	state->sp = cfa - (kind == FPERF_RULE_SP ? (fperf_u64)(((fperf_s32)rule >> 16) * 8ll)
						 : (fperf_u64)(rule >> 11) * 8);
	state->flags &= ~UNWIND_SP_LOST;
	return 1;
}
#else
static __always_inline int unwind_sp_from_fp(struct unwind_state *state, fperf_u32 rule)
{
	(void)state;
	(void)rule;
	return 1;
}
#endif

static __always_inline int unwind_by_rule(struct unwind_state *state, fperf_u32 rule)
{
	fperf_u64 base, cfa, slot, ra = 0;

	if (state->flags & UNWIND_SP_LOST && !unwind_sp_from_fp(state, rule))
		return unwind_end(state, FPERF_STACK_NO_MODULE);
	if (unwind_cfa(state, rule, &base, &cfa)) {
		if ((rule & 0xf) == FPERF_RULE_SP_DEREF || (rule & 0xf) == FPERF_RULE_FP_DEREF)
			return unwind_end(state, FPERF_STACK_BAD_READ);
		return unwind_end(state, FPERF_STACK_UNSUPPORTED);
	}
	slot = unwind_fp_slot(state, rule, base, cfa);
	if (unwind_saved(state, rule, cfa, slot, &ra))
		return unwind_end(state, FPERF_STACK_BAD_READ);
	if (unwind_fp_is_lost(rule))
		state->flags |= UNWIND_FP_LOST;
	if (!unwind_advance(state, ra, cfa))
		return 0;
	if (rule & FPERF_RULE_SIGNAL_FRAME)
		state->flags |= UNWIND_PC;
	return 1;
}

/* Records the stack frame at state->pc and goes on to its caller. 1: there is one; 0: the end, see
 * state->outcome. */
static __always_inline int unwind_step(struct unwind_state *state)
{
	fperf_u32 rule;

	state->at = (state->flags & (UNWIND_PC | UNWIND_BEHIND)) == UNWIND_PC ? state->pc : state->pc - 1;
	unwind_rule(state);
	rule = state->rule;
	if (rule == FPERF_RULE_UNMAPPED) {
		if (state->total)
			return unwind_end(state, FPERF_STACK_BAD_ADDRESS);
		unwind_record(state); /* a wrong caller is worse than none, but the leaf is a fact */
		return unwind_end(state, FPERF_STACK_NO_MODULE);
	}
	/* A handler returns to the trampoline's first byte, which is no address behind a call. */
	if ((rule & 0xf) == FPERF_RULE_SIGNAL ||
	    (rule & FPERF_RULE_SIGNAL_FRAME && (rule & 0xf) < FPERF_RULE_SIGNAL))
		state->flags |= UNWIND_PC;
	unwind_record(state);
	switch (rule & 0xf) {
	case FPERF_RULE_END:
		return unwind_end(state, FPERF_STACK_COMPLETE);
	case FPERF_RULE_SIGNAL:
		return unwind_signal(state);
	case FPERF_RULE_NO_ROWS:
		return unwind_frame_pointer(state, FPERF_STACK_NO_MODULE);
	case FPERF_RULE_NONE:
		return unwind_frame_pointer(state, FPERF_STACK_NO_ROW);
	case FPERF_RULE_MISSING:
		return unwind_end(state, FPERF_STACK_TABLE_MISSING);
	case FPERF_RULE_UNSUPPORTED:
		return unwind_end(state, FPERF_STACK_UNSUPPORTED);
	default:
		return unwind_by_rule(state, rule);
	}
}

#endif
