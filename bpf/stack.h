/* Stack capture. The kernel part comes from the kernel's own unwinder. The user part goes through
 * stack_user(), which is where another way of unwinding than frame pointers plugs in.
 *
 * Each program that captures has a scratch record of its own per CPU: a sample may interrupt a switch.
 */
#ifndef FPERF_BPF_STACK_H
#define FPERF_BPF_STACK_H

#include "regs.h"

/* User stack of the current task by frame pointers, leaf first, from its user registers. `ctx` is the
 * program's own context. Returns the number of addresses and sets the outcome. */
static __always_inline __u32 stack_user_fp(void *ctx, __u64 *out, __u32 max, struct fperf_wire_stack *stack)
{
	long size = bpf_get_stack(ctx, out, max * sizeof(*out), BPF_F_USER_STACK);

	if (size <= 0) {
		stack->outcome = FPERF_STACK_BAD_REGISTERS;
		return 0;
	}
	stack->outcome = FPERF_STACK_UNKNOWN_END;
	out[0] |= FPERF_WIRE_PC_BIT;
	return (__u32)size / sizeof(*out);
}

#endif
