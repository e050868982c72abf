/* process: fork, exec, exit and rename of target tasks. Also keeps the target set: a child of a target is one
 * from its first moment, a process stops being one with its last thread. */
#include "target.h"
#include "unwind_process.h"

char LICENSE[] SEC("license") = "GPL";

/* Set by the loader: whether sched.bpf.c takes ended processes out of the target set. */
const volatile bool sched_clears_targets = false;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} fperf_ring_event SEC(".maps");

static __always_inline void header_fill(struct fperf_wire_header *header, __u16 type, __u32 size,
					struct task_struct *task)
{
	header->type = type;
	header->size = size;
	header->cpu = bpf_get_smp_processor_id();
	header->time_ns = bpf_ktime_get_ns();
	header->pid = task->tgid;
	header->tid = task->pid;
}

#define EVENT_RESERVE(record)                                                                                \
	({                                                                                                   \
		(record) = bpf_ringbuf_reserve(&fperf_ring_event, sizeof(*(record)), 0);                     \
		if (!(record))                                                                               \
			loss_count(FPERF_SOURCE_PROCESS, FPERF_LOSS_RING_FULL);                              \
		(record);                                                                                    \
	})

SEC("tp_btf/sched_process_fork")
int BPF_PROG(fperf_fork, struct task_struct *parent, struct task_struct *child)
{
	struct fperf_target_bits *bits = target_bits();
	struct fperf_wire_fork *record;
	bool is_process = child->tgid != parent->tgid;

	if (!bits || !target_has(bits, parent->tgid))
		return 0;
	if (is_process)
		target_set(bits, child->tgid);
	if (!EVENT_RESERVE(record))
		return 0;
	header_fill(&record->header, FPERF_WIRE_FORK, sizeof(*record), child);
	record->parent_pid = parent->tgid;
	record->parent_tid = parent->pid;
	record->start_ns = child->start_time;
	bpf_probe_read_kernel(record->name, sizeof(record->name), child->comm);
	bpf_ringbuf_submit(record, is_process ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	if (is_process)
		unwind_process_fork(parent->tgid, child->tgid);
	return 0;
}

/* Wakes the recorder: an image that lives 20 ms must be looked at while it lives. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(fperf_exec, struct task_struct *task, int old_pid, struct linux_binprm *binprm)
{
	struct fperf_target_bits *bits = target_bits();
	struct fperf_wire_exec *record;

	if (!bits || !target_has(bits, task->tgid))
		return 0;
	unwind_process_forget(task->tgid);
	if (!EVENT_RESERVE(record))
		return 0;
	header_fill(&record->header, FPERF_WIRE_EXEC, sizeof(*record), task);
	record->old_tid = old_pid;
	record->unused = 0;
	bpf_probe_read_kernel(record->name, sizeof(record->name), task->comm);
	bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(fperf_exit, struct task_struct *task)
{
	struct fperf_target_bits *bits = target_bits();
	struct fperf_wire_exit *record;
	bool last;

	if (!bits || !target_has(bits, task->tgid))
		return 0;
	last = task->signal->live.counter == 0;
	if (EVENT_RESERVE(record)) {
		header_fill(&record->header, FPERF_WIRE_EXIT, sizeof(*record), task);
		record->exit_code = task->exit_code;
		record->last = last;
		record->cpu_ns = task->se.sum_exec_runtime;
		bpf_probe_read_kernel(record->name, sizeof(record->name), task->comm);
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	}
	if (last)
		unwind_process_forget(task->tgid);
	/* With sched active its last switch-out is still to come, and clears the bit. */
	if (last && !sched_clears_targets)
		target_clear(bits, task->tgid);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(fperf_rename, struct task_struct *task, const char *name)
{
	struct fperf_target_bits *bits = target_bits();
	struct fperf_wire_rename *record;

	if (!bits || !target_has(bits, task->tgid) || !EVENT_RESERVE(record))
		return 0;
	header_fill(&record->header, FPERF_WIRE_RENAME, sizeof(*record), task);
	bpf_probe_read_kernel_str(record->name, sizeof(record->name), name);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}
