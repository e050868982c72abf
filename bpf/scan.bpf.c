/* scan: every target thread as it is at one moment, from an iterator over all tasks. At the start of a
 * recording for what goes on since before, at its end for what is not over yet, and both times for the
 * kernel's account of CPU time. The records are written to the reader of the iterator, not into a ring.
 */
#include "target.h"
#include "regs.h"
#include "threads.h"

char LICENSE[] SEC("license") = "GPL";

/* Set by the recorder before it reads: not 0: also write the intervals that are open at this time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} fperf_scan_config SEC(".maps");

struct scan_scratch {
	struct fperf_wire_task_state task;
	__u64 task_kernel[FPERF_KERNEL_DEPTH];
	struct fperf_wire_offcpu interval;
	__u64 interval_kernel[FPERF_KERNEL_DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scan_scratch);
} fperf_scan_scratch SEC(".maps");

static __always_inline void task_fill_in(struct fperf_wire_task_state *out, struct task_struct *task)
{
	struct user_regs regs = {};

	out->header.type = FPERF_WIRE_TASK;
	out->header.cpu = 0;
	out->header.time_ns = bpf_ktime_get_ns();
	out->header.pid = task->tgid;
	out->header.tid = task->pid;
	out->start_ns = task->start_time;
	out->cpu_ns = task->se.sum_exec_runtime;
	out->state = task_state(task) & TASK_STATE_MASK;
	out->in_iowait = BPF_CORE_READ_BITFIELD(task, in_iowait);
	bpf_probe_read_kernel(out->name, sizeof(out->name), task->comm);
	user_regs_read(task, &regs);
	out->syscall = regs.syscall;
	out->args[0] = regs.args[0];
	out->args[1] = regs.args[1];
	out->args[2] = regs.args[2];
	out->stack.kernel_count = 0;
	out->stack.user_count = 0;
	out->stack.outcome = FPERF_STACK_NONE;
	out->stack.gap = 0;
	out->stack.failed_at = 0;
}

/* The interval that `state` says has begun, up to the end of the recording. */
static __always_inline void interval_fill_in(struct fperf_wire_offcpu *out, struct task_struct *task,
					     const struct fperf_wire_thread_state *state, __u64 end_ns)
{
	out->header.type = FPERF_WIRE_OFFCPU;
	out->header.cpu = state->cpu_out;
	out->header.time_ns = end_ns;
	out->header.pid = task->tgid;
	out->header.tid = task->pid;
	out->out_ns = state->out_ns;
	out->wake_ns = state->wake_ns;
	out->flags = state->flags | FPERF_OFFCPU_OPEN_END;
	out->state = state->state;
	out->syscall = state->syscall;
	out->cpu_out = state->cpu_out;
	out->wake_cpu = state->wake_cpu;
	out->args[0] = state->args[0];
	out->args[1] = state->args[1];
	out->args[2] = state->args[2];
	out->next = state->next;
	__builtin_memset(&out->prev, 0, sizeof(out->prev));
	__builtin_memset(&out->waker, 0, sizeof(out->waker));
	if (state->wake_ns)
		out->waker = state->waker;
	out->cpu_ns = 0;
	out->stack.kernel_count = 0;
	out->stack.user_count = 0;
	out->stack.outcome = FPERF_STACK_NONE;
	out->stack.gap = 0;
	out->stack.failed_at = 0;
}

static __always_inline void interval_write(struct seq_file *seq, struct scan_scratch *scratch,
					   struct task_struct *task,
					   const struct fperf_wire_thread_state *state, __u64 end_ns)
{
	struct fperf_wire_offcpu *interval = &scratch->interval;
	__u32 count = 0, size;

	interval_fill_in(interval, task, state, end_ns);
	if (!(interval->flags & FPERF_OFFCPU_PREEMPTED))
		count = kernel_stack(task, scratch->interval_kernel);
	interval->stack.kernel_count = count;
	size = sizeof(*interval) + count * sizeof(__u64);
	interval->header.size = size;
	if (size <= sizeof(*interval) + sizeof(scratch->interval_kernel))
		bpf_seq_write(seq, interval, size);
}

SEC("iter/task")
int fperf_scan(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct fperf_target_bits *bits = target_bits();
	struct fperf_wire_thread_state *state;
	struct scan_scratch *scratch;
	__u32 zero = 0, tid, count = 0, size;
	__u64 *end_ns = bpf_map_lookup_elem(&fperf_scan_config, &zero);

	if (!end_ns || !task || !bits || !target_has(bits, task->tgid) || task_state(task) & TASK_DEAD)
		return 0;
	scratch = bpf_map_lookup_elem(&fperf_scan_scratch, &zero);
	if (!scratch)
		return 0;
	tid = task->pid;
	state = bpf_map_lookup_elem(&fperf_threads, &tid);
	task_fill_in(&scratch->task, task);
	/* One that has been switched out since recording began needs nothing of what was before. */
	scratch->task.on_cpu = (state && state->out_ns) ||
			       (bpf_core_field_exists(task->on_cpu) && BPF_CORE_READ(task, on_cpu));
	if (!scratch->task.on_cpu && !*end_ns)
		count = kernel_stack(task, scratch->task_kernel);
	scratch->task.stack.kernel_count = count;
	size = sizeof(scratch->task) + count * sizeof(__u64);
	scratch->task.header.size = size;
	if (size <= sizeof(scratch->task) + sizeof(scratch->task_kernel))
		bpf_seq_write(ctx->meta->seq, &scratch->task, size);
	if (*end_ns && state && state->out_ns && state->out_ns <= *end_ns)
		interval_write(ctx->meta->seq, scratch, task, state, *end_ns);
	return 0;
}
