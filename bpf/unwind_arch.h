/* What differs by architecture in a step of unwinding: where return addresses are saved, what call
 * instructions and signal frames look like. Included by unwind_step.h only. */
#ifndef FPERF_BPF_UNWIND_ARCH_H
#define FPERF_BPF_UNWIND_ARCH_H

#if defined(FPERF_UNWIND_X86)

/* How far below the CFA the caller's rbx is saved; 0: it is unchanged or lost. */
static __always_inline fperf_u32 unwind_bx_distance(struct unwind_state *state, fperf_u32 rule)
{
	fperf_u32 code = (rule >> 4 & 3) | (rule >> 5 & 4);

	if ((rule & 0xf) == FPERF_RULE_LARGE)
		code = (rule >> 4 & 3) == FPERF_RULE_BX_LARGE_LOST ? FPERF_RULE_BX_LOST : FPERF_RULE_BX_SAME;
	if (code == FPERF_RULE_BX_LOST)
		state->flags |= UNWIND_BX_LOST;
	return code && code <= FPERF_RULE_BX_SLOTS ? (code + 1) * 8 : 0;
}

/* Return address, and the caller's fp and rbx. They usually lie together, so that one read gets all. */
static __always_inline int unwind_saved(struct unwind_state *state, fperf_u32 rule, fperf_u64 cfa,
					fperf_u64 slot, fperf_u64 *ra)
{
	fperf_u32 bx = unwind_bx_distance(state, rule), fp = 0, size;
	int at;

	state->slot = cfa - 8;
	if (slot && cfa - slot >= 16 && cfa - slot <= 64 && !((cfa - slot) & 7))
		fp = (fperf_u32)(cfa - slot);
	size = (fp > bx ? fp : bx) & 0x78;
	if (!size)
		size = 8;
	__asm__ volatile("" : "+r"(size)); /* the compiler must not forget what the verifier is to see */
	at = unwind_window(state, cfa - size, size);
	if (at < 0)
		return -1;
	*ra = unwind_window_word(state, at, size / 8 - 1);
	if (bx) {
		state->bx = unwind_window_word(state, at, (size - bx) / 8);
		state->flags &= ~UNWIND_BX_LOST;
	}
	if (fp)
		state->fp = unwind_window_word(state, at, (size - fp) / 8);
	else if (slot && unwind_word(state, slot, &state->fp))
		return -1;
	if (slot)
		state->flags &= ~UNWIND_FP_LOST;
	return 0;
}

/* A register that a CFA comes from, other than sp and fp. */
static __always_inline int unwind_base_register(struct unwind_state *state, fperf_u32 number,
						fperf_u64 *value)
{
	if (number == 3) { /* rbx */
		*value = state->bx;
		return state->flags & UNWIND_BX_LOST ? -1 : 0;
	}
	return state->flags & UNWIND_LEAF ? unwind_register(state, number, value) : -1;
}

/* Do the bytes before `address` end in a call? All encodings of call rel32 and of call r/m64. */
static __always_inline int unwind_after_call(fperf_u64 address)
{
	fperf_u64 code = 0;
	fperf_u32 last2, last3, last4, last6, last7;

	if (unwind_read(&code, 8, address - 8))
		return 0;
	if ((code >> 24 & 0xff) == 0xe8)
		return 1;
	last2 = code >> 48 & 0xffff;
	last3 = code >> 40 & 0xffff;
	last4 = code >> 32 & 0xffff;
	last6 = code >> 16 & 0xffff;
	last7 = code >> 8 & 0xffff;
	/* opcode in the low byte, ModRM in the high one, whose middle three bits are 2 */
	if ((last2 & 0xf8ff) == 0xd0ff ||
	    ((last2 & 0xf8ff) == 0x10ff && (last2 >> 8 & 7) != 4 && (last2 >> 8 & 7) != 5))
		return 1;
	if (((last3 & 0xf8ff) == 0x50ff && (last3 >> 8 & 7) != 4) || last3 == 0x14ff)
		return 1;
	if (last4 == 0x54ff || last6 == 0x15ff)
		return 1;
	return ((last6 & 0xf8ff) == 0x90ff && (last6 >> 8 & 7) != 4) || last7 == 0x94ff || last7 == 0x14ff;
}

/* The registers that the kernel saved where the trampoline's sp points: struct ucontext of asm/ucontext.h,
 * whose general registers begin at 40; rbp is at 120, rbx at 128, rsp at 160, rip at 168. */
static __always_inline int unwind_context(struct unwind_state *state)
{
	if (unwind_read(state->words, 56, state->sp + 120))
		return -1;
	state->fp = state->words[0];
	state->bx = state->words[1];
	state->sp = state->words[5];
	state->pc = state->words[6];
	return 0;
}

/* "mov rax, 15; syscall": a signal trampoline, with unwind information or without. Wants 24 bytes of code
 * from pc - 4 in state->words. */
static __always_inline int unwind_is_sigreturn(const struct unwind_state *state)
{
	fperf_u64 code = state->words[0] >> 32 | state->words[1] << 32;

	return code == 0x0f0000000fc0c748ull && (state->words[1] >> 32 & 0xff) == 0x05;
}

/* The instructions that set a frame up or take it down, where fp is still or again the caller's: how many
 * words above sp the return address is, -1 when it is none of them. Wants what unwind_is_sigreturn wants. */
static __always_inline int unwind_frame_edge(const struct unwind_state *state)
{
	fperf_u32 code = (fperf_u32)(state->words[0] >> 32), first = code & 0xff;
	fperf_u32 before = state->words[0] >> 24 & 0xff;

	if (first == 0x55 || first == 0xc3 || code == 0xfa1e0ff3) /* push rbp; ret; endbr64 */
		return 0;
	if (before == 0x55 &&
	    ((code & 0xffffff) == 0xe58948 || (code & 0xffffff) == 0xec8b48)) /* mov rbp, rsp */
		return 1;
	return (code & 0xffff) == 0xc35d ? 1 : -1; /* pop rbp; ret */
}

/* A step in text without rows whose code says what to do. 1: stepped; 0: the code says nothing; -1: the end.
 */
static __always_inline int unwind_code_step(struct unwind_state *state)
{
	fperf_u64 fp = state->fp, ra;
	int edge;

	if (unwind_read(state->words, 24, state->pc - 4))
		return 0;
	if (unwind_is_sigreturn(state))
		return unwind_signal(state) ? 1 : -1;
	if (!(state->flags & UNWIND_PC))
		return 0;
	edge = unwind_frame_edge(state);
	if (edge < 0 || unwind_read(state->words, 16, state->sp))
		return 0;
	ra = state->words[0];
	if (edge) {
		ra = state->words[1];
		fp = state->words[0];
	}
	if (!unwind_after_call(ra))
		return 0;
	if (edge)
		state->flags &= ~UNWIND_FP_LOST;
	state->fp = fp;
	state->slot = state->sp + (edge ? 8 : 0);
	return unwind_advance(state, ra, state->slot + 8) ? 1 : -1;
}

#else

/* A register that a CFA comes from, other than sp and fp. */
static __always_inline int unwind_base_register(struct unwind_state *state, fperf_u32 number,
						fperf_u64 *value)
{
	return state->flags & UNWIND_LEAF ? unwind_register(state, number, value) : -1;
}

/* Return address and caller's fp: a frame record holds both, in this order. */
static __always_inline int unwind_saved(struct unwind_state *state, fperf_u32 rule, fperf_u64 cfa,
					fperf_u64 slot, fperf_u64 *ra)
{
	fperf_u32 where = rule >> 4 & 3;
	int at;

	(void)cfa;
	if (where == FPERF_RULE_RA_DEFAULT) {
		if (!(state->flags & UNWIND_LR))
			return -1;
		state->slot = 0;
		*ra = state->lr;
		if (!slot)
			return 0;
		state->flags &= ~UNWIND_FP_LOST;
		return unwind_word(state, slot, &state->fp);
	}
	if (!slot)
		return -1;
	if (where == FPERF_RULE_RA_FP_SLOT) {
		state->slot = slot;
		return unwind_word(state, slot, ra);
	}
	at = unwind_window(state, slot, 16);
	if (at < 0)
		return -1;
	state->slot = slot + 8;
	state->fp = unwind_window_word(state, at, 0);
	state->flags &= ~UNWIND_FP_LOST;
	*ra = unwind_window_word(state, at, 1);
	return 0;
}

/* Is the instruction before `address` a bl, blr, or blr with authentication? */
static __always_inline int unwind_after_call(fperf_u64 address)
{
	fperf_u32 code = 0;

	if (address & 3 || unwind_read(&code, 4, address - 4))
		return 0;
	return (code & 0xfc000000) == 0x94000000 || (code & 0xfffffc1f) == 0xd63f0000 ||
	       (code & 0xfefff800) == 0xd63f0800;
}

/* The registers that the kernel saved at sp: struct rt_sigframe of arch/arm64/kernel/signal.c, a siginfo of
 * 128 bytes and a ucontext whose mcontext is at 176; its registers begin 8 further on. x29 is at 544, x30 at
 * 552, sp at 560, pc at 568. */
static __always_inline int unwind_context(struct unwind_state *state)
{
	if (unwind_read(state->words, 32, state->sp + 544))
		return -1;
	state->fp = state->words[0];
	state->lr = state->words[1] & unwind_address_mask;
	state->sp = state->words[2];
	state->pc = state->words[3];
	return 0;
}

/* Is the code in state->words[0..1] the rest of an entry of the PLT: "adrp x16; ldr x17, [x16]; add x16, x16;
 * br x17"? */
static __always_inline int unwind_is_plt(const struct unwind_state *state)
{
	fperf_u32 code[4] = {(fperf_u32)state->words[0], (fperf_u32)(state->words[0] >> 32),
			     (fperf_u32)state->words[1], (fperf_u32)(state->words[1] >> 32)};
	fperf_u32 at = 0;

	if ((code[0] & 0x9f00001f) == 0x90000010)
		at = 1;
	if ((code[at & 3] & 0xffc003ff) == 0xf9400211)
		at++;
	else if (at)
		return 0;
	if ((code[at & 3] & 0xffc003ff) == 0x91000210)
		at++;
	else if (at)
		return 0;
	return code[at & 3] == 0xd61f0220;
}

/* "mov x8, 139; svc 0" is a signal trampoline, with unwind information or without. An entry of the PLT leaves
 * everything alone. In other text the code says nothing: frame records are set up by one instruction, and
 * before it lr has the return address, which we can't know. */
static __always_inline int unwind_code_step(struct unwind_state *state)
{
	if (unwind_read(state->words, 16, state->pc))
		return 0;
	if (state->words[0] == 0xd4000001d2801168ull)
		return unwind_signal(state) ? 1 : -1;
	if (!(state->flags & UNWIND_PC) || !(state->flags & UNWIND_LR) || !unwind_is_plt(state) ||
	    !unwind_after_call(state->lr))
		return 0;
	state->slot = 0;
	return unwind_advance(state, state->lr, state->sp) ? 1 : -1;
}

#endif

#endif
