/* Stack capture. The kernel part comes from the kernel's own unwinder. The user part goes through
 * stack_user(), which is where another way of unwinding than frame pointers plugs in.
 *
 * Each program that captures has a scratch record of its own per CPU: a sample may interrupt a switch.
 */
#ifndef FPERF_BPF_STACK_H
#define FPERF_BPF_STACK_H

#include "dump.h"
#include "unwind.h"

/* The current task, as a pointer that may be read through where the kernel has one. */
static __always_inline struct task_struct *stack_current(void)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return bpf_get_current_task_btf();
	return (struct task_struct *)bpf_get_current_task();
}

/* User stack of `task`, which is current or leaves the CPU just now and has these registers, leaf first, into
 * `out`, which has room for FPERF_USER_DEPTH addresses. Returns their number; fills in what `stack` says
 * about the user part. What only user space can unwind is copied to `ring`, ahead of the record that has
 * `header`, which names the thread. */
static __always_inline __u32 stack_user(void *ring, struct task_struct *task, const struct user_regs *regs,
					bool in_kernel, const struct fperf_wire_header *header, __u64 *out,
					struct fperf_wire_stack *stack)
{
	__u32 count = unwind_user(regs, in_kernel, header->pid, header->tid, out, stack);

	if (!count || !(unwind_mode == UNWIND_MODE_DUMP || unwind_mode == UNWIND_MODE_CHECK ||
			(unwind_mode == UNWIND_MODE_AUTO && stack->outcome == FPERF_STACK_UNSUPPORTED)))
		return count;
	dump_emit(ring, task, header, out[0] & ~FPERF_WIRE_PC_BIT);
	return count;
}

#endif
