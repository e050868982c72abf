/* sched: every off-CPU interval of a target thread becomes one record, written at its switch-in: out, woken,
 * in, why, who took the core, who woke it, where it blocked.
 *
 * The user stack can only be read at switch-out, before it is known how long the thread will be away, so it
 * is taken there within a budget of time that adapts to what a stack costs on this machine. The kernel stack
 * of a thread that sleeps does not change, so it is taken at switch-in, and only for intervals that are long
 * enough to matter.
 */
#include "target.h"
#include "stack.h"
#include "threads.h"

char LICENSE[] SEC("license") = "GPL";

#define WAKE_RACE_NS                                                                                         \
	50000 /* a wake-up so shortly before a switch-out may belong to the sleep that follows               \
	       */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 21);
} fperf_ring_sched SEC(".maps");

/* Set by the loader. */
const volatile bool has_prev_state = false; /* sched_switch has a fourth argument (5.18) */

/* Set by the loader, and again while recording, when it costs too much (userspace/capture/effort.c). */
volatile __u64 kernel_stack_min_ns = 200000; /* shorter intervals get no kernel stack */
volatile __u64 stack_budget_ns = 5000000;    /* time for user stacks at switch-out, per second and CPU */
volatile __u32 thread_stacks_per_s = 1000;   /* the same in stacks, per thread */

struct cpu_budget {
	__u64 refilled_ns;
	__s64 left_ns;
};

struct sched_scratch {
	struct fperf_wire_offcpu interval;
	__u64 kernel[FPERF_KERNEL_DEPTH];
	struct fperf_wire_out_stack out;
	__u64 user[FPERF_USER_DEPTH];
	struct cpu_budget budget;
	__u64 local; /* see in_interrupt() */
	struct fperf_wire_thread_state fresh;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sched_scratch);
} fperf_sched_scratch SEC(".maps");

/* What in_interrupt() wants to know of the current task. */
struct waker_facts {
	__u64 stack;   /* lowest address of its kernel stack */
	__s64 syscall; /* x86-64: negative: not in one */
	__u32 flags;   /* PF_* */
};

/* Whether `current` did this, or was merely interrupted by what did it. The preemption count would tell, but
 * x86-64 keeps it in a per-CPU variable that many kernels do not let us find. So:
 * - Interrupts run on a stack of their own, and a BPF program that needs little stack runs on the one of its
 * context: where a local variable lies tells. (Since 6.13 programs with 64 bytes of locals and more get a
 * private stack: keep the callers of this small.)
 * - x86-64 does not change stacks when it interrupts user mode; but then the task is not in a system call. A
 * page fault looks the same, and seldom wakes anyone.
 */
static __always_inline bool in_interrupt(struct sched_scratch *scratch, const struct waker_facts *current)
{
	__u32 local = 0;

	/* by way of memory: the verifier does not let pointers into the stack be compared with numbers */
	*(__u32 *volatile *)&scratch->local = &local;
	if (*(volatile __u64 *)&scratch->local - current->stack >= kernel_stack_size)
		return true;
#if defined(__TARGET_ARCH_x86)
	return !(current->flags & PF_KTHREAD) && current->syscall < 0;
#else
	return false;
#endif
}

/* Of a task that may be read through. Two loads cost a tenth of the helper that copies. */
static __always_inline void task_fill(struct fperf_wire_task *out, struct task_struct *task)
{
	const volatile __u64 *name = (const volatile __u64 *)task->comm;
	__u64 *to = (__u64 *)out->name;

	_Static_assert(FPERF_COMM_SIZE == 16, "two words");
	out->pid = task->tgid;
	out->tid = task->pid;
	to[0] = name[0];
	to[1] = name[1];
}

/* The current task, wherever the kernel has a pointer to it that may be read through; slower elsewhere. */
static __always_inline void waker_fill(struct fperf_wire_task *out, struct waker_facts *facts)
{
	__s64 syscall = -1;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)) {
		struct task_struct *task = bpf_get_current_task_btf();

		task_fill(out, task);
		facts->stack = (__u64)task->stack;
		facts->flags = task->flags;
#if defined(__TARGET_ARCH_x86)
		syscall = (__s64)((struct pt_regs *)bpf_task_pt_regs(task))->orig_ax;
#endif
	} else {
		struct task_struct *task = (struct task_struct *)bpf_get_current_task();
		__u64 id = bpf_get_current_pid_tgid();

		out->pid = id >> 32;
		out->tid = (__u32)id;
		bpf_get_current_comm(out->name, sizeof(out->name));
		facts->stack = (__u64)BPF_CORE_READ(task, stack);
		facts->flags = BPF_CORE_READ(task, flags);
#if defined(__TARGET_ARCH_x86)
		bpf_probe_read_kernel(&syscall, sizeof(syscall),
				      &((struct pt_regs *)current_user_regs(task))->orig_ax);
#endif
	}
	facts->syscall = syscall;
}

/* Threads of the target that were woken and do not run yet, and since when there have been any. */
struct waiting {
	__u64 count, since_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct waiting);
} fperf_waiting SEC(".maps");

/* Who had this CPU for long last, of whatever process. A hog is often followed by housekeeping of the kernel
 * for an instant before the thread that waited comes to run. */
struct keeper {
	struct fperf_wire_task task;
	__u64 ran_ns, until_ns;
	__u64 switch_ns; /* last switch that was looked at */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct keeper);
} fperf_keepers SEC(".maps");

#define KEEPER_MIN_NS 500000ull

/* At every switch of the CPU, whoever switches: next to nothing unless a thread of the target waits for a
 * core. A short turn after a long one does not push that out. */
static __always_inline struct keeper *keeper_note(struct task_struct *prev)
{
	__u32 zero = 0;
	struct waiting *waiting = bpf_map_lookup_elem(&fperf_waiting, &zero);
	struct keeper *keeper;
	__u64 now, from, ran;

	if (!waiting || !waiting->count)
		return 0;
	keeper = bpf_map_lookup_elem(&fperf_keepers, &zero);
	if (!keeper)
		return 0;
	now = bpf_ktime_get_ns();
	from = keeper->switch_ns > waiting->since_ns ? keeper->switch_ns : waiting->since_ns;
	ran = now > from ? now - from : 0;
	keeper->switch_ns = now;
	if (ran < KEEPER_MIN_NS || !prev->pid)
		return keeper;
	if (ran < keeper->ran_ns / 4 && now - keeper->until_ns < keeper->ran_ns)
		return keeper;
	keeper->ran_ns = ran;
	keeper->until_ns = now;
	task_fill(&keeper->task, prev);
	return keeper;
}

static __always_inline void wait_begin(struct fperf_wire_thread_state *state, __u64 now)
{
	__u32 zero = 0;
	struct waiting *waiting = bpf_map_lookup_elem(&fperf_waiting, &zero);

	if (!waiting || state->waits)
		return;
	state->waits = 1;
	if (!waiting->count)
		waiting->since_ns = now;
	__sync_fetch_and_add(&waiting->count, 1);
}

static __always_inline void wait_end(struct fperf_wire_thread_state *state)
{
	__u32 zero = 0;
	struct waiting *waiting = bpf_map_lookup_elem(&fperf_waiting, &zero);

	if (!waiting || !state->waits)
		return;
	state->waits = 0;
	__sync_fetch_and_add(&waiting->count, -1);
}

/* Who kept a thread from the core between wake-up and switch-in. */
static __always_inline void prev_fill(struct fperf_wire_task *out,
				      const struct fperf_wire_thread_state *state, struct task_struct *prev,
				      const struct keeper *keeper)
{
	task_fill(out, prev);
	__asm__ volatile("" ::: "memory"); /* one load from either would be refused by the verifier */
	if (keeper && state->wake_ns && keeper->until_ns > state->wake_ns)
		*out = keeper->task;
}

static __always_inline struct fperf_wire_thread_state *thread_state_get(struct task_struct *task,
									struct sched_scratch *scratch)
{
	__u32 tid = task->pid;
	struct fperf_wire_thread_state *state = bpf_map_lookup_elem(&fperf_threads, &tid);

	if (state)
		return state;
	__builtin_memset(&scratch->fresh, 0, sizeof(scratch->fresh));
	scratch->fresh.birth = (__u32)task->start_time;
	scratch->fresh.tokens = thread_stacks_per_s / 8;
	scratch->fresh.syscall = -1;
	if (bpf_map_update_elem(&fperf_threads, &tid, &scratch->fresh, BPF_NOEXIST))
		loss_count(FPERF_SOURCE_SCHED, FPERF_LOSS_MAP_FULL);
	return bpf_map_lookup_elem(&fperf_threads, &tid);
}

/* Whether this switch-out may have a user stack: a share per thread, so that one that switches all the time
 * does not use up the CPU's budget of time. Long sleepers always have tokens. */
static __always_inline bool stack_affordable(struct fperf_wire_thread_state *state, struct cpu_budget *budget,
					     __u64 now)
{
	__u64 passed = now - state->refilled_ns, fill;

	fill = passed >= 1000000000ull ? thread_stacks_per_s : passed * thread_stacks_per_s / 1000000000ull;
	if (fill) {
		state->tokens += fill;
		if (state->tokens > thread_stacks_per_s / 8)
			state->tokens = thread_stacks_per_s / 8;
		state->refilled_ns = now;
	}
	passed = now - budget->refilled_ns;
	budget->refilled_ns = now;
	budget->left_ns +=
		passed >= 1000000000ull ? stack_budget_ns : passed * stack_budget_ns / 1000000000ull;
	if (budget->left_ns > (__s64)(stack_budget_ns / 4))
		budget->left_ns = (__s64)(stack_budget_ns / 4);
	if (!state->tokens || budget->left_ns <= 0)
		return false;
	state->tokens--;
	return true;
}

static __always_inline void out_stack_emit(void *ctx, struct fperf_wire_thread_state *state,
					   struct sched_scratch *scratch, struct task_struct *task,
					   const struct user_regs *regs, __u64 now)
{
	struct fperf_wire_out_stack *out = &scratch->out;
	__u32 count, size;

	out->header.type = FPERF_WIRE_OUT_STACK;
	out->header.cpu = bpf_get_smp_processor_id();
	out->header.time_ns = now;
	out->header.pid = task->tgid;
	out->header.tid = task->pid;
	out->stack.kernel_count = 0;
	count = stack_user(&fperf_ring_sched, task, regs, true, &out->header, scratch->user, &out->stack);
	out->stack.user_count = count;
	size = sizeof(*out) + count * sizeof(__u64);
	if (size > sizeof(*out) + sizeof(scratch->user))
		return;
	out->header.size = size;
	if (bpf_ringbuf_output(&fperf_ring_sched, out, size, BPF_RB_NO_WAKEUP))
		loss_count(FPERF_SOURCE_SCHED, FPERF_LOSS_RING_FULL);
	else
		state->flags |= FPERF_OFFCPU_USER_STACK;
	scratch->budget.left_ns -= (__s64)(bpf_ktime_get_ns() - now);
}

static __always_inline void interval_begin(struct fperf_wire_offcpu *interval, struct task_struct *task,
					   __u64 now)
{
	interval->header.type = FPERF_WIRE_OFFCPU;
	interval->header.cpu = bpf_get_smp_processor_id();
	interval->header.time_ns = now;
	interval->header.pid = task->tgid;
	interval->header.tid = task->pid;
	interval->cpu_ns = 0;
}

/* Its kernel addresses, if any, lie right behind it. */
static __always_inline void interval_emit(struct fperf_wire_offcpu *interval, __u32 kernel_count)
{
	__u32 size = sizeof(*interval) + kernel_count * sizeof(__u64);

	interval->stack.kernel_count = kernel_count;
	interval->stack.user_count = 0;
	interval->stack.gap = 0;
	interval->stack.outcome = FPERF_STACK_NONE;
	interval->stack.failed_at = 0;
	interval->header.size = size;
	if (size <= sizeof(*interval) + FPERF_KERNEL_DEPTH * sizeof(__u64) &&
	    bpf_ringbuf_output(&fperf_ring_sched, interval, size, BPF_RB_NO_WAKEUP))
		loss_count(FPERF_SOURCE_SCHED, FPERF_LOSS_RING_FULL);
}

/* The interval that began at the last switch-out, up to `in_ns`. Afterwards the thread is on a CPU. */
static __always_inline void interval_end(struct fperf_wire_thread_state *state, struct task_struct *task,
					 struct task_struct *prev, const struct keeper *keeper,
					 struct sched_scratch *scratch, __u64 in_ns)
{
	struct fperf_wire_offcpu *interval = &scratch->interval;
	__u32 kernel_count = 0;

	interval_begin(interval, task, in_ns);
	interval->out_ns = state->out_ns;
	interval->wake_ns = state->wake_ns;
	interval->flags = state->flags;
	interval->state = state->state;
	interval->syscall = state->syscall;
	interval->cpu_out = state->cpu_out;
	interval->wake_cpu = state->wake_cpu;
	interval->args[0] = state->args[0];
	interval->args[1] = state->args[1];
	interval->args[2] = state->args[2];
	interval->cpu_ns = state->exec_ns;
	interval->next = state->next;
	interval->waker = state->waker;
	if (!state->out_ns) { /* was off the CPU before recording began */
		interval->flags = FPERF_OFFCPU_OPEN_START | (state->flags & FPERF_OFFCPU_WAKER_IRQ);
		interval->syscall = -1;
	} else if (!state->wake_ns && state->early_waker) {
		interval->wake_ns = state->out_ns;
	}
	if (!interval->wake_ns)
		__builtin_memset(&interval->waker, 0, sizeof(interval->waker));
	if (prev) {
		prev_fill(&interval->prev, state, prev, keeper);
		if (!state->out_ns || (state->state && in_ns - state->out_ns >= kernel_stack_min_ns))
			kernel_count = kernel_stack(task, scratch->kernel);
	} else {
		__builtin_memset(&interval->prev, 0, sizeof(interval->prev));
	}
	interval_emit(interval, kernel_count);
	wait_end(state);
	state->out_ns = 0;
	state->wake_ns = 0;
	state->flags = 0;
	state->early_waker = 0;
}

/* A switch-out of a thread whose switch-in was not seen. (The kernel may skip a program, and some hide the
 * switches of some tasks.) The CPU time that it has used since its last switch-out tells when that was. */
static __always_inline void missed_in(struct fperf_wire_thread_state *state, struct task_struct *task,
				      struct sched_scratch *scratch, __u64 now)
{
	__u64 in_ns = now - (task->se.sum_exec_runtime - state->exec_ns);

	if (in_ns > now || in_ns < state->out_ns)
		in_ns = state->out_ns;
	interval_end(state, task, 0, 0, scratch, in_ns);
}

/* The end of a thread: an interval of no length, with the CPU time that it has used, which is exact here and
 * up to a tick old at its exit. */
static __always_inline void thread_end(struct task_struct *task, struct task_struct *next,
				       struct sched_scratch *scratch, __u64 now)
{
	struct fperf_wire_offcpu *interval = &scratch->interval;
	__u32 tid = task->pid;
	struct fperf_wire_thread_state *state = bpf_map_lookup_elem(&fperf_threads, &tid);

	if (state && state->out_ns)
		missed_in(state, task, scratch, now);
	interval_begin(interval, task, now);
	interval->out_ns = now;
	interval->wake_ns = 0;
	interval->flags = FPERF_OFFCPU_EXITED;
	interval->state = TASK_DEAD;
	interval->syscall = -1;
	interval->args[0] = 0;
	interval->args[1] = 0;
	interval->args[2] = 0;
	interval->cpu_out = interval->header.cpu;
	interval->wake_cpu = 0;
	task_fill(&interval->next, next);
	__builtin_memset(&interval->prev, 0, sizeof(interval->prev));
	__builtin_memset(&interval->waker, 0, sizeof(interval->waker));
	interval->cpu_ns = task->se.sum_exec_runtime;
	interval_emit(interval, 0);
	bpf_map_delete_elem(&fperf_threads, &tid);
}

/* Whether nothing of the process will be seen again: all its threads have begun to exit and all but this one,
 * or this one and the leader, are through. */
static __always_inline bool process_ended(struct task_struct *task)
{
	return !task->signal->live.counter && task->signal->nr_threads <= 1;
}

static __always_inline void syscall_fill(struct fperf_wire_thread_state *state, const struct user_regs *regs)
{
	state->syscall = regs->syscall;
	state->args[0] = regs->syscall < 0 ? 0 : regs->args[0];
	state->args[1] = regs->syscall < 0 ? 0 : regs->args[1];
	state->args[2] = regs->syscall < 0 ? 0 : regs->args[2];
}

static __always_inline void switch_out(void *ctx, bool preempt, struct task_struct *prev,
				       struct task_struct *next, __u32 task_state_bits,
				       struct sched_scratch *scratch, __u64 now)
{
	struct fperf_wire_thread_state *state = thread_state_get(prev, scratch);
	struct user_regs regs = {};

	if (!state)
		return;
	if (state->out_ns)
		missed_in(state, prev, scratch, now);
	if (preempt)
		task_state_bits = 0;
	state->early_waker = task_state_bits && state->wake_ns && now - state->wake_ns < WAKE_RACE_NS;
	state->wake_ns = 0;
	state->pid = prev->tgid;
	state->state = task_state_bits & TASK_STATE_MASK;
	state->flags = state->state ? 0 : FPERF_OFFCPU_PREEMPTED;
	if (BPF_CORE_READ_BITFIELD(prev, in_iowait))
		state->flags |= FPERF_OFFCPU_IOWAIT;
	state->cpu_out = bpf_get_smp_processor_id();
	state->exec_ns = prev->se.sum_exec_runtime;
	task_fill(&state->next, next);
	state->syscall = -1;
	if (!(prev->flags & PF_KTHREAD)) {
		user_regs_read(prev, &regs);
		syscall_fill(state, &regs);
		if (stack_affordable(state, &scratch->budget, now)) {
			out_stack_emit(ctx, state, scratch, prev, &regs, now);
		} else {
			state->flags |= FPERF_OFFCPU_SKIPPED;
			loss_count(FPERF_SOURCE_SCHED, FPERF_LOSS_STACK_SKIPPED);
		}
	}
	state->out_ns = now; /* last: from here on a wake-up belongs to this interval */
}

SEC("tp_btf/sched_switch")
int BPF_PROG(fperf_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct fperf_target_bits *bits = target_bits();
	struct fperf_wire_thread_state *thread;
	struct sched_scratch *scratch;
	struct keeper *keeper;
	__u32 zero = 0, state;
	bool out, in;
	__u64 now;

	if (!bits)
		return 0;
	keeper = keeper_note(prev);
	out = target_has(bits, prev->tgid);
	in = target_has(bits, next->tgid);
	if (!out && !in)
		return 0;
	scratch = bpf_map_lookup_elem(&fperf_sched_scratch, &zero);
	if (!scratch)
		return 0;
	now = bpf_ktime_get_ns();
	if (out) {
		state = has_prev_state ? (__u32)ctx[3] : task_state(prev);
		if (state & TASK_DEAD) {
			thread_end(prev, next, scratch, now);
			if (process_ended(prev))
				target_clear(bits, prev->tgid);
		} else {
			switch_out(ctx, preempt, prev, next, state, scratch, now);
		}
	}
	if (in) {
		thread = thread_state_get(next, scratch);
		if (thread)
			interval_end(thread, next, prev, keeper, scratch, now);
	}
	return 0;
}

static __always_inline void woken(struct task_struct *task)
{
	struct fperf_target_bits *bits = target_bits();
	struct sched_scratch *scratch;
	struct fperf_wire_thread_state *state;
	struct waker_facts current;
	__u32 zero = 0;

	if (!bits || !target_has(bits, task->tgid))
		return;
	scratch = bpf_map_lookup_elem(&fperf_sched_scratch, &zero);
	state = scratch ? thread_state_get(task, scratch) : 0;
	if (!state)
		return;
	waker_fill(&state->waker, &current);
	state->wake_cpu = bpf_get_smp_processor_id();
	if (in_interrupt(scratch, &current))
		state->flags |= FPERF_OFFCPU_WAKER_IRQ;
	else
		state->flags &= ~FPERF_OFFCPU_WAKER_IRQ;
	state->wake_ns = bpf_ktime_get_ns();
	if (state->out_ns)
		wait_begin(state, state->wake_ns);
}

/* In the waker's context; sched_wakeup may come later, on another CPU, in an interrupt. */
SEC("tp_btf/sched_waking")
int BPF_PROG(fperf_waking, struct task_struct *task)
{
	woken(task);
	return 0;
}

/* A new thread waits for its first turn from here on. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(fperf_wakeup_new, struct task_struct *task)
{
	struct fperf_target_bits *bits = target_bits();
	struct sched_scratch *scratch;
	struct fperf_wire_thread_state *state;
	__u32 zero = 0;

	if (!bits || !target_has(bits, task->tgid))
		return 0;
	scratch = bpf_map_lookup_elem(&fperf_sched_scratch, &zero);
	state = scratch ? thread_state_get(task, scratch) : 0;
	if (!state)
		return 0;
	state->syscall = -1;
	state->exec_ns = task->se.sum_exec_runtime;
	woken(task);
	state->out_ns =
		task->start_time; /* being made takes up to a millisecond, and is no time that it ran */
	return 0;
}

/* exec by a thread that is not the leader gives it the leader's tid; the leader is gone. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(fperf_sched_exec, struct task_struct *task, int old_pid, struct linux_binprm *binprm)
{
	__u32 old_tid = old_pid, tid = task->pid;

	if (old_tid != tid) {
		bpf_map_delete_elem(&fperf_threads, &old_tid);
		bpf_map_delete_elem(&fperf_threads, &tid);
	}
	return 0;
}

/* For threads whose last switch-out was not seen. Somebody else may have the tid by now. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(fperf_sched_free, struct task_struct *task)
{
	__u32 tid = task->pid;
	struct fperf_wire_thread_state *state = bpf_map_lookup_elem(&fperf_threads, &tid);

	if (state && state->birth == (__u32)task->start_time)
		bpf_map_delete_elem(&fperf_threads, &tid);
	return 0;
}
