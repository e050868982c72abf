/* User registers of a task, wherever it is in the kernel. */
#ifndef FPERF_BPF_REGS_H
#define FPERF_BPF_REGS_H

#include "maps.h"

struct user_regs {
	__u64 pc, sp, fp;
	__u64 lr;      /* arm64; 0 on x86-64 */
	__u64 bx;      /* x86-64; 0 on arm64 */
	__u64 args[3]; /* of the system call, when in one */
	__s32 syscall; /* -1: not in a system call */
	__s32 valid;
};

#define PF_KTHREAD 0x00200000

/* Set by the loader: bytes from task->stack to the end of the kernel stack, for kernels without
 * bpf_task_pt_regs(). */
const volatile __u32 kernel_stack_size = 16384;

static __always_inline void *task_user_regs(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (void *)bpf_task_pt_regs(task);
	return (char *)BPF_CORE_READ(task, stack) + kernel_stack_size - bpf_core_type_size(struct pt_regs);
}

/* The same for the current task, given as a plain pointer. */
static __always_inline void *current_user_regs(struct task_struct *current)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return (char *)BPF_CORE_READ(current, stack) + kernel_stack_size - bpf_core_type_size(struct pt_regs);
}

#if defined(__TARGET_ARCH_x86)
static __always_inline void user_regs_copy(const struct pt_regs *regs, struct user_regs *out)
{
	out->pc = regs->ip;
	out->sp = regs->sp;
	out->fp = regs->bp;
	out->lr = 0;
	out->bx = regs->bx;
	/* The entry code leaves -1 here for interrupts and exceptions. */
	out->syscall = (__s64)regs->orig_ax >= 0 && regs->orig_ax < 4096 ? (__s32)regs->orig_ax : -1;
	out->args[0] = regs->di;
	out->args[1] = regs->si;
	out->args[2] = regs->dx;
}
#endif

/* In a kernel thread, or on failure, valid is 0. */
static __always_inline void user_regs_read(struct task_struct *task, struct user_regs *out)
{
	const void *from = task_user_regs(task);
#if defined(__TARGET_ARCH_x86)
	struct pt_regs regs;
#else
	__u64 last[4]; /* x29, x30, sp, pc: all of struct pt_regs would not fit into a program's stack */
#endif

	out->valid = 0;
	out->syscall = -1;
	if (!from)
		return;
#if defined(__TARGET_ARCH_x86)
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)) {
		user_regs_copy(from, out); /* a pointer that may be read through */
		out->valid = 1;
		return;
	}
	/* What lies between the first and the last that are wanted. Its layout is part of the ABI. */
	if (bpf_probe_read_kernel(&regs.bp, offsetof(struct pt_regs, ss) - offsetof(struct pt_regs, bp),
				  (const char *)from + offsetof(struct pt_regs, bp)))
		return;
	user_regs_copy(&regs, out);
#elif defined(__TARGET_ARCH_arm64)
	struct pt_regs *kernel_regs = (struct pt_regs *)from;
	const char *words = from; /* x0 to x30, sp and pc lie in this order, which is part of the ABI */

	if (bpf_probe_read_kernel(last, sizeof(last), words + 29 * sizeof(__u64)))
		return;
	out->fp = last[0];
	out->lr = last[1];
	out->sp = last[2];
	out->pc = last[3];
	out->bx = 0;
	out->syscall = BPF_CORE_READ(kernel_regs, syscallno);
	if (out->syscall < 0 || out->syscall >= 4096)
		out->syscall = -1;
	out->args[0] = BPF_CORE_READ(kernel_regs, orig_x0);
	bpf_probe_read_kernel(&out->args[1], 2 * sizeof(__u64), words + sizeof(__u64));
#endif
	out->valid = 1;
}

#endif
