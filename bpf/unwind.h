/* Unwinding of user stacks in BPF: the maps that the recorder fills (userspace/capture/unwind_*.c) and the
 * walk over them. The step itself is in unwind_step.h.
 *
 * A step is a global function: the verifier looks at it once, however often it is called, so the walk can be
 * long without tail calls or bpf_loop(), on 5.10 as well.
 */
#ifndef FPERF_BPF_UNWIND_H
#define FPERF_BPF_UNWIND_H

#include "maps.h"
#include "regs.h"
#include "unwind_process.h"

#include "frameperf/unwind_row.h"

/* Set by the loader. */
const volatile __u32 unwind_mode = 0;		  /* UNWIND_MODE_* */
const volatile __u64 unwind_address_mask = ~0ull; /* arm64: without the bits of pointer authentication */

struct unwind_shard {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FPERF_UNWIND_SHARD_CELLS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, FPERF_UNWIND_SHARDS);
	__type(key, __u32);
	__array(values, struct unwind_shard);
} fperf_unwind_shards SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FPERF_UNWIND_MODULES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct fperf_unwind_module);
} fperf_unwind_modules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FPERF_UNWIND_MAPPINGS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct fperf_unwind_mapping);
} fperf_unwind_mappings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FPERF_UNWIND_CACHE_SLOTS);
	__type(key, __u32);
	__type(value, struct fperf_unwind_cache_slot);
} fperf_unwind_cache SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fperf_unwind_stats);
} fperf_unwind_stats SEC(".maps");

struct unwind_state;

static __always_inline int unwind_read(void *to, __u32 size, __u64 address)
{
	return (int)bpf_probe_read_user(to, size, (const void *)address);
}

static __always_inline int unwind_cell(__u32 index, __u64 *value)
{
	__u32 number = index >> FPERF_UNWIND_SHARD_BITS, in_shard = index & (FPERF_UNWIND_SHARD_CELLS - 1);
	void *shard = bpf_map_lookup_elem(&fperf_unwind_shards, &number);
	__u64 *cell = shard ? bpf_map_lookup_elem(shard, &in_shard) : 0;

	if (!cell)
		return -1;
	*value = *cell;
	return 0;
}

static __always_inline const struct fperf_unwind_mapping *unwind_mapping(__u32 index)
{
	return bpf_map_lookup_elem(&fperf_unwind_mappings, &index);
}

static __always_inline struct fperf_unwind_module *unwind_module(__u32 slot)
{
	return bpf_map_lookup_elem(&fperf_unwind_modules, &slot);
}

static __always_inline struct fperf_unwind_cache_slot *unwind_cache(__u32 index)
{
	return bpf_map_lookup_elem(&fperf_unwind_cache, &index);
}

static __always_inline __u64 unwind_now(void)
{
	return bpf_ktime_get_ns();
}

static __always_inline int unwind_register(const struct unwind_state *state, __u32 number, __u64 *value);
static __always_inline void unwind_lookup(struct unwind_state *state);

#if defined(__TARGET_ARCH_x86)
#define FPERF_UNWIND_X86
#else
#define FPERF_UNWIND_ARM64
#endif

#include "unwind_step.h"
#include "unwind_root.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_state);
} fperf_unwind_scratch SEC(".maps");

static __always_inline int unwind_register(const struct unwind_state *state, __u32 number, __u64 *value)
{
#if defined(__TARGET_ARCH_x86)
	/* Place in struct pt_regs by DWARF number, a hexadecimal digit each; sp is never asked for. */
	__u64 place = 0x0123678904ed5bcaull >> ((number & 15) * 4) & 15;
#else
	__u64 place = number & 31;
#endif
	if (number > 30)
		return -1;
	return (int)bpf_probe_read_kernel(value, sizeof(*value),
					  (const char *)current_user_regs((void *)bpf_get_current_task()) +
						  place * 8);
}

/* Global functions, see above: `key` is that of the state in the scratch map. */
__attribute__((noinline)) int fperf_unwind_lookup_one(__u32 key)
{
	struct unwind_state *state = bpf_map_lookup_elem(&fperf_unwind_scratch, &key);

	if (!state)
		return -1;
	unwind_lookup_rule(state);
	return 0;
}

static __always_inline void unwind_lookup(struct unwind_state *state)
{
	state->rule = FPERF_RULE_MISSING;
	fperf_unwind_lookup_one(0);
}

__attribute__((noinline)) int fperf_unwind_step_one(__u32 key)
{
	struct unwind_state *state = bpf_map_lookup_elem(&fperf_unwind_scratch, &key);

	return state ? unwind_step(state) : 0;
}

/* FPERF_USER_DEPTH steps; 0 when the walk has ended. */
__attribute__((noinline)) int fperf_unwind_walk(__u32 key)
{
	for (int i = 0; i < FPERF_USER_DEPTH; i++) {
		if (fperf_unwind_step_one(key) <= 0)
			return 0;
	}
	return 1;
}

static __always_inline void unwind_begin(struct unwind_state *state, const struct user_regs *regs, __u32 tgid)
{
	struct fperf_unwind_process *process = bpf_map_lookup_elem(&fperf_unwind_processes, &tgid);

	state->pc = regs->pc & unwind_address_mask;
	state->sp = regs->sp;
	state->fp = regs->fp;
	state->bx = regs->bx;
	state->lr = regs->lr & unwind_address_mask;
	state->window_size = 0;
	state->flags = UNWIND_PC | UNWIND_LEAF | UNWIND_LR;
	state->slot = 0;
	state->total = 0;
	state->signals = 0;
	state->hits = 0;
	state->misses = 0;
	state->failed_at = 0;
	state->outcome = FPERF_STACK_TRUNCATED;
	state->first = process ? process->first : 0;
	state->count = process ? process->count : 0;
	state->generation = process ? process->generation : 0;
}

static __always_inline void unwind_count(const struct unwind_state *state)
{
	__u32 zero = 0;
	struct fperf_unwind_stats *stats = bpf_map_lookup_elem(&fperf_unwind_stats, &zero);

	if (!stats)
		return;
	stats->stacks++;
	stats->frames += state->total;
	stats->misses += state->misses;
}

/* Leaf to root into `out`, which has room for FPERF_USER_DEPTH. Of a deeper stack the two ends; stack->gap
 * says where the second begins. Returns how many. */
static __always_inline __u32 unwind_copy(const struct unwind_state *state, __u64 *out,
					 struct fperf_wire_stack *stack)
{
	__u32 total = state->total;

	if (total <= FPERF_USER_DEPTH) {
		bpf_probe_read_kernel(out, total * sizeof(*out), state->frames);
		return total;
	}
	bpf_probe_read_kernel(out, UNWIND_HEAD * sizeof(*out), state->frames);
	if (stack->outcome == FPERF_STACK_TRUNCATED) /* not even the long walk came to the root */
		return UNWIND_HEAD;
	bpf_probe_read_kernel(out + UNWIND_HEAD, UNWIND_TAIL * sizeof(*out),
			      &state->frames[UNWIND_HEAD + (total & (UNWIND_TAIL - 1))]);
	stack->gap = UNWIND_HEAD;
	if (stack->outcome == FPERF_STACK_COMPLETE)
		stack->outcome = FPERF_STACK_TRUNCATED;
	return FPERF_USER_DEPTH;
}

/* A task that has hit a breakpoint (an entry probe) and is still on its way through the kernel has the
 * address behind it in its registers, although the instruction there has not run. But when the kernel has
 * carried that instruction out in the task's place and it is one byte long (push rbp), the address is the
 * same: then the top of the stack is what was pushed, and not the return address that a function begins with.
 */
static __always_inline __u64 unwind_before_trap(const struct user_regs *regs)
{
#if defined(FPERF_UNWIND_X86)
	__u64 top = 0;
	__u8 before = 0;

	if (!bpf_probe_read_user(&before, 1, (const void *)(regs->pc - 1)) && before == 0xcc &&
	    !bpf_probe_read_user(&top, sizeof(top), (const void *)regs->sp) && unwind_after_call(top))
		return regs->pc - 1;
#endif
	return regs->pc;
}

#define UNWIND_SLOT_BYTES 128 /* UPROBE_XOL_SLOT_BYTES */

/* An instruction with an entry probe on it may be carried out in a copy, in a slot of the process's [uprobes]
 * page, where a walk ends at once. True: so it was, and the state is now as it would be without the probe. */
static __always_inline bool unwind_out_of_slot(struct unwind_state *state)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct uprobe_task *utask;
	__u64 in_slot;

	if (!bpf_core_field_exists(task->utask))
		return false;
	utask = BPF_CORE_READ(task, utask);
	if (!utask || !BPF_CORE_READ(utask, active_uprobe))
		return false;
	in_slot = state->pc - BPF_CORE_READ(utask, xol_vaddr);
	if (in_slot >= UNWIND_SLOT_BYTES)
		return false;
	state->pc = BPF_CORE_READ(utask, vaddr) + in_slot;
	state->total = 0;
	state->outcome = FPERF_STACK_TRUNCATED;
	return true;
}

/* On arm64 a global function too, or the verifier of 5.10 gives up; on x86-64 one call less, or it finds the
 * calls' stacks too large together. */
#if defined(FPERF_UNWIND_ARM64)
#define UNWIND_WHOLE __attribute__((noinline))
#else
#define UNWIND_WHOLE static __always_inline
#endif

/* The walk from the leaf to the thread's start, or as far as it goes. 1: it stopped short of the root that is
 * remembered for `tid`. */
UNWIND_WHOLE int fperf_unwind_whole(__u32 key, __u32 tid)
{
	struct unwind_state *state = bpf_map_lookup_elem(&fperf_unwind_scratch, &key);
	struct unwind_root *root = 0;
	int more;

	if (!state)
		return 0;
	more = fperf_unwind_walk(key);
	if (state->outcome == FPERF_STACK_NO_MODULE && state->total == 1 && unwind_out_of_slot(state))
		more = fperf_unwind_walk(key);
	if (more > 0) {
		root = bpf_map_lookup_elem(&fperf_unwind_roots, &tid);
		if (root && root_holds(root, state))
			return 1;
		more = root_wanted(tid);
		for (int i = 0; more > 0 && i < UNWIND_LONG_WALK; i++)
			more = fperf_unwind_walk(key);
	}
	if (state->total >= ROOT_DEPTH_MIN && state->outcome == FPERF_STACK_COMPLETE)
		root_remember(state, tid);
	return 0;
}

/* User stack of the current thread, which may be about to leave the CPU and has these registers; `in_kernel`:
 * it is not interrupted in user mode. Fills in outcome, gap and failed_at; returns the number of addresses.
 */
static __always_inline __u32 unwind_user(const struct user_regs *regs, bool in_kernel, __u32 tgid, __u32 tid,
					 __u64 *out, struct fperf_wire_stack *stack)
{
	__u32 zero = 0, count;
	struct unwind_state *state = bpf_map_lookup_elem(&fperf_unwind_scratch, &zero);
	struct unwind_root *root;
	int held;

	stack->outcome = FPERF_STACK_BAD_REGISTERS;
	stack->gap = 0;
	stack->failed_at = 0;
	if (!state || !regs->valid)
		return 0;
	unwind_begin(state, regs, tgid);
	if (in_kernel && regs->syscall < 0)
		state->pc = unwind_before_trap(regs);
	else if (in_kernel)
		state->flags |= UNWIND_BEHIND;
	if (unwind_mode == UNWIND_MODE_DUMP || unwind_mode == UNWIND_MODE_LEAF) {
		out[0] = state->pc | FPERF_WIRE_PC_BIT;
		stack->outcome = unwind_mode == UNWIND_MODE_LEAF ? FPERF_STACK_LEAF : FPERF_STACK_SKIPPED;
		stack->failed_at = state->pc;
		return 1;
	}
	if (!state->generation) { /* the recorder has not seen this process yet: the leaf is all there is */
		out[0] = state->pc | FPERF_WIRE_PC_BIT;
		stack->outcome = FPERF_STACK_TABLE_MISSING;
		stack->failed_at = state->pc;
		return 1;
	}
	held = fperf_unwind_whole(0, tid);
	unwind_count(state);
	stack->outcome = state->outcome;
	stack->failed_at = state->failed_at;
	count = unwind_copy(state, out, stack);
	root = held > 0 ? bpf_map_lookup_elem(&fperf_unwind_roots, &tid) : 0;
	if (root) { /* the walk stopped short of it */
		bpf_probe_read_kernel(out + FPERF_USER_DEPTH - ROOT_FRAMES, sizeof(root->frames),
				      root->frames);
		stack->gap = FPERF_USER_DEPTH - ROOT_FRAMES;
	}
	return count;
}

#endif
