/* sample: a perf event's overflow in a target thread becomes one record with kernel and user stack. The
 * events are the CPUs', so most of what arrives can be none of ours. */
#include "target.h"
#include "stack.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} fperf_ring_sample SEC(".maps");

/* Set by the loader, and again while recording, when it costs too much: of so many hits of the event one, at
 * random, becomes a sample, which stands for all of them. At random, since every Nth would keep step with
 * threads that take turns. */
volatile __u32 hits_per_sample = 1;

const volatile bool measure_self = false; /* the kernel does not account for run time */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fperf_self_time);
} fperf_self_time SEC(".maps");

static __always_inline void self_time_add(__u64 from)
{
	__u32 zero = 0;
	struct fperf_self_time *time = bpf_map_lookup_elem(&fperf_self_time, &zero);

	if (!time)
		return;
	time->ns += bpf_ktime_get_ns() - from;
	time->count++;
}

struct sample_scratch {
	struct fperf_wire_sample record;
	__u64 addresses[FPERF_KERNEL_DEPTH + FPERF_USER_DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_scratch);
} fperf_sample_scratch SEC(".maps");

/* By the ABI's place in struct pt_regs, not by CO-RE: the context may be read in whole words only, and newer
 * kernels declare cs as half a word. */
#define CTX_WORD_CS	17
#define CTX_WORD_PSTATE 33

static __always_inline bool in_kernel(const struct bpf_perf_event_data *ctx)
{
	const volatile __u64 *words = (const volatile __u64 *)ctx;

#if defined(__TARGET_ARCH_x86)
	return !(words[CTX_WORD_CS] & 3);
#else
	return (words[CTX_WORD_PSTATE] & 0xf) != 0; /* exception level 0 is user mode */
#endif
}

/* In user mode the registers come with the event; in kernel mode they lie where it was entered. */
static __always_inline void sample_regs(const struct bpf_perf_event_data *ctx, bool kernel,
					struct user_regs *out)
{
	const volatile __u64 *words = (const volatile __u64 *)ctx;

	if (kernel) {
		user_regs_read(stack_current(), out);
		return;
	}
	out->syscall = -1;
	out->valid = 1;
#if defined(__TARGET_ARCH_x86)
	out->fp = words[4];
	out->bx = words[5];
	out->pc = words[16];
	out->sp = words[19];
	out->lr = 0;
#else
	out->fp = words[29];
	out->bx = 0;
	out->lr = words[30];
	out->sp = words[31];
	out->pc = words[32];
#endif
}

SEC("perf_event")
int fperf_sample(struct bpf_perf_event_data *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct fperf_target_bits *bits;
	struct sample_scratch *scratch;
	struct fperf_wire_sample *record;
	struct user_regs regs = {}; /* a path that fails leaves it, and the compiler may still copy it */
	__u32 zero = 0, kernel_count = 0, user_count, size, hits = hits_per_sample;

	if (!id)
		return 0;
	bits = target_bits();
	if (!bits || !target_has(bits, id >> 32))
		return 0;
	if (hits > 1 && bpf_get_prandom_u32() % hits)
		return 0;
	scratch = bpf_map_lookup_elem(&fperf_sample_scratch, &zero);
	if (!scratch)
		return 0;
	record = &scratch->record;
	record->header.type = FPERF_WIRE_SAMPLE;
	record->header.cpu = bpf_get_smp_processor_id();
	record->header.time_ns = bpf_ktime_get_ns();
	record->header.pid = id >> 32;
	record->header.tid = (__u32)id;
	record->period = ctx->sample_period * hits;
	record->flags = 0;
	if (in_kernel(ctx)) {
		__u32 depth = unwind_mode == UNWIND_MODE_LEAF ? 1 : FPERF_KERNEL_DEPTH;
		long got = bpf_get_stack(ctx, scratch->addresses, depth * sizeof(__u64), 0);

		record->flags = FPERF_SAMPLE_KERNEL;
		if (got > 0)
			kernel_count = (__u32)got / sizeof(__u64);
	}
	if (kernel_count > FPERF_KERNEL_DEPTH)
		kernel_count = FPERF_KERNEL_DEPTH;
	sample_regs(ctx, record->flags & FPERF_SAMPLE_KERNEL, &regs);
	user_count =
		stack_user(&fperf_ring_sample, stack_current(), &regs, record->flags & FPERF_SAMPLE_KERNEL,
			   &record->header, &scratch->addresses[kernel_count], &record->stack);
	record->stack.kernel_count = kernel_count;
	record->stack.user_count = user_count;
	size = sizeof(*record) + (kernel_count + user_count) * sizeof(__u64);
	if (size > sizeof(*scratch))
		return 0;
	record->header.size = size;
	if (bpf_ringbuf_output(&fperf_ring_sample, scratch, size, BPF_RB_NO_WAKEUP))
		loss_count(FPERF_SOURCE_SAMPLE, FPERF_LOSS_RING_FULL);
	if (measure_self)
		self_time_add(record->header.time_ns);
	return 0;
}
