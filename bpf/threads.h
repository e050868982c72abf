/* The threads of the target as sched.bpf.c knows them; scan.bpf.c looks at the same table. */
#ifndef FPERF_BPF_THREADS_H
#define FPERF_BPF_THREADS_H

#include "maps.h"

#define TASK_DEAD	0x80
#define TASK_STATE_MASK 0xff /* without TASK_NOLOAD, TASK_NEW and other flags */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct fperf_wire_thread_state);
} fperf_threads SEC(".maps");

static __always_inline __u32 task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return (__u32)BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
}

/* Kernel stack of a task that is not running, leaf first; `to` has room for FPERF_KERNEL_DEPTH addresses. */
static __always_inline __u32 kernel_stack(struct task_struct *task, __u64 *to)
{
	long got = bpf_get_task_stack(task, to, FPERF_KERNEL_DEPTH * sizeof(__u64), 0);
	__u32 count = got > 0 ? (__u32)got / sizeof(__u64) : 0;

	return count > FPERF_KERNEL_DEPTH ? FPERF_KERNEL_DEPTH : count;
}

#endif
