/* mark: one entry probe. Kernels before 5.15 can't tell a program which of its probes was hit, so each probe
 * has an instance of its own with its number built in. Nothing here needs BTF of the kernel. */
#include "target.h"

char LICENSE[] SEC("license") = "GPL";

/* Set by the loader. */
const volatile __u32 marker = 0;
const volatile bool is_candidate = false; /* one of several frame boundaries, to be chosen from by its hits */
const volatile __u32 source = FPERF_SOURCE_MARK;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} fperf_ring_event SEC(".maps");

/* Shared by all instances, of frame candidates only. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FPERF_MARK_HITS_MAX);
	__type(key, struct fperf_mark_hits_key);
	__type(value, struct fperf_mark_hits);
} fperf_mark_hits SEC(".maps");

/* Registers at the entry of a function, in the layout of the ABI (asm/ptrace.h); no relocation applies. */
#if defined(__TARGET_ARCH_x86)
struct entry_registers {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
};
#define ARGUMENT_0(registers) ((registers)->di)
#define ARGUMENT_1(registers) ((registers)->si)
#define ARGUMENT_2(registers) ((registers)->dx)
#elif defined(__TARGET_ARCH_arm64)
struct entry_registers {
	__u64 regs[31];
};
#define ARGUMENT_0(registers) ((registers)->regs[0])
#define ARGUMENT_1(registers) ((registers)->regs[1])
#define ARGUMENT_2(registers) ((registers)->regs[2])
#endif

/* Counts a hit of a candidate; false when the recorder has dropped it for this process. Which thread has most
 * of the hits is found by majority vote (Boyer and Moore): two numbers instead of a table. */
static __always_inline bool candidate_hit(__u32 tgid, __u32 tid, __u64 now)
{
	struct fperf_mark_hits_key key = {.tgid = tgid, .marker = marker};
	struct fperf_mark_hits *hits = bpf_map_lookup_elem(&fperf_mark_hits, &key);

	if (!hits) {
		struct fperf_mark_hits first = {
			.count = 1, .first_ns = now, .last_ns = now, .tid = tid, .votes = 1};

		if (bpf_map_update_elem(&fperf_mark_hits, &key, &first, BPF_NOEXIST))
			loss_count(source, FPERF_LOSS_MAP_FULL);
		return true;
	}
	__sync_fetch_and_add(&hits->count, 1);
	hits->last_ns = now;
	if (hits->tid == tid) {
		hits->votes++;
	} else if (hits->votes) {
		hits->votes--;
	} else {
		hits->tid = tid;
		hits->votes = 1;
	}
	return !hits->dropped;
}

SEC("uprobe")
int fperf_mark(struct entry_registers *registers)
{
	__u64 id = bpf_get_current_pid_tgid(), now;
	struct fperf_target_bits *bits = target_bits();
	struct fperf_wire_mark *record;

	if (!bits || !target_has(bits, id >> 32))
		return 0;
	now = bpf_ktime_get_ns();
	if (is_candidate && !candidate_hit(id >> 32, (__u32)id, now))
		return 0;
	record = bpf_ringbuf_reserve(&fperf_ring_event, sizeof(*record), 0);
	if (!record) {
		loss_count(source, FPERF_LOSS_RING_FULL);
		return 0;
	}
	record->header.type = FPERF_WIRE_MARK;
	record->header.cpu = bpf_get_smp_processor_id();
	record->header.size = sizeof(*record);
	record->header.time_ns = now;
	record->header.pid = id >> 32;
	record->header.tid = (__u32)id;
	record->marker = marker;
	record->reserved = 0;
	record->args[0] = ARGUMENT_0(registers);
	record->args[1] = ARGUMENT_1(registers);
	record->args[2] = ARGUMENT_2(registers);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}
