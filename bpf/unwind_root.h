/* The root of deep stacks. To walk thousands of stack frames for each sample would cost too much, and without
 * the root a stack can't be told from another thread's. But the outermost stack frames of a thread hardly
 * ever change: once a long walk has found them, a look at the places where their return addresses lie tells
 * whether they are still there.
 */
#ifndef FPERF_BPF_UNWIND_ROOT_H
#define FPERF_BPF_UNWIND_ROOT_H

#include "maps.h"
#include "unwind_step.h"

#define ROOT_FRAMES    16
#define ROOT_DEPTH_MIN 64	    /* roots of shallower stacks are not remembered */
#define ROOT_RETRY_NS  100000000ull /* between long walks of a thread whose root is not found */

struct unwind_root {
	__u64 walked_ns; /* last long walk */
	__u32 count;
	__u32 reserved;
	__u64 frames[ROOT_FRAMES]; /* leaf side first, as in a stack */
	__u64 slots[ROOT_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct unwind_root);
} fperf_unwind_roots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_root);
} fperf_root_scratch SEC(".maps");

/* Is this still the root of the stack that the walk is in? */
static __always_inline bool root_holds(const struct unwind_root *root, const struct unwind_state *state)
{
	__u64 at_slot;

	if (!root->count)
		return false;
	for (int i = 0; i < ROOT_FRAMES; i++) {
		if (root->slots[i] <= state->sp ||
		    bpf_probe_read_user(&at_slot, 8, (const void *)root->slots[i]) ||
		    (at_slot & unwind_address_mask) != root->frames[i])
			return false;
	}
	return true;
}

/* After a walk that reached the thread's start. */
static __always_inline void root_remember(const struct unwind_state *state, __u32 tid)
{
	__u64 at = state->total - ROOT_FRAMES; /* 64 bits, or the verifier loses sight of its bound */
	__u32 zero = 0;
	struct unwind_root *root = bpf_map_lookup_elem(&fperf_unwind_roots, &tid);
	struct unwind_root *fresh;

	if (at >= FPERF_USER_DEPTH - ROOT_FRAMES) /* then the ring's second half has them in one piece */
		at = UNWIND_HEAD + UNWIND_TAIL - ROOT_FRAMES + (state->total & (UNWIND_TAIL - 1));
	__asm__ volatile("" : "+r"(at)); /* the verifier is to see this very register bounded */
	if (at > UNWIND_HEAD + 2 * UNWIND_TAIL - ROOT_FRAMES)
		return;
	if (root && root->count && root->slots[0] == state->slots[at] && root->frames[0] == state->frames[at])
		return;
	fresh = bpf_map_lookup_elem(&fperf_root_scratch, &zero);
	if (!fresh)
		return;
	fresh->walked_ns = root ? root->walked_ns : 0;
	fresh->count = ROOT_FRAMES;
	bpf_probe_read_kernel(fresh->frames, sizeof(fresh->frames), &state->frames[at]);
	bpf_probe_read_kernel(fresh->slots, sizeof(fresh->slots), &state->slots[at]);
	bpf_map_update_elem(&fperf_unwind_roots, &tid, fresh, BPF_ANY);
}

/* At the short limit: whether the walk should go on to find the root, and remembers that it did. */
static __always_inline bool root_wanted(__u32 tid)
{
	__u32 zero = 0;
	struct unwind_root *root = bpf_map_lookup_elem(&fperf_unwind_roots, &tid);
	struct unwind_root *fresh;
	__u64 now = bpf_ktime_get_ns();

	if (root) {
		if (now - root->walked_ns < ROOT_RETRY_NS)
			return false;
		root->walked_ns = now;
		return true;
	}
	fresh = bpf_map_lookup_elem(&fperf_root_scratch, &zero);
	if (!fresh)
		return false;
	fresh->walked_ns = now;
	fresh->count = 0;
	bpf_map_update_elem(&fperf_unwind_roots, &tid, fresh, BPF_ANY);
	return true;
}

#endif
