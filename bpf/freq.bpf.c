/* freq: transitions of CPU clocks and of their limits. Raw tracepoints, because those can be tested with
 * made-up events on machines without cpufreq. */
#include "maps.h"

char LICENSE[] SEC("license") = "GPL";

/* Set by the loader: CPUs 0 .. cpu_count - 1 are looked at when the limits of a policy change. */
const volatile __u32 cpu_count = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} fperf_ring_event SEC(".maps");

/* For each CPU the one that its policy is named after, from sysfs: CPUs of one policy share clock and limits.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FPERF_MAX_CPUS);
	__type(key, __u32);
	__type(value, __u32);
} freq_policies SEC(".maps");

/* How often the tracepoints fired: some drivers never call them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} freq_events SEC(".maps");

static __always_inline void event_count(void)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&freq_events, &zero);

	if (count)
		__sync_fetch_and_add(count, 1);
}

static __always_inline void freq_emit(__u32 cpu, enum fperf_freq_kind kind, __u32 khz, __u32 min_khz,
				      __u32 max_khz)
{
	struct fperf_wire_freq *record = bpf_ringbuf_reserve(&fperf_ring_event, sizeof(*record), 0);

	if (!record) {
		loss_count(FPERF_SOURCE_FREQ, FPERF_LOSS_RING_FULL);
		return;
	}
	record->header.type = FPERF_WIRE_FREQ;
	record->header.cpu = cpu;
	record->header.size = sizeof(*record);
	record->header.time_ns = bpf_ktime_get_ns();
	record->header.pid = 0;
	record->header.tid = 0;
	record->kind = kind;
	record->khz = khz;
	record->min_khz = min_khz;
	record->max_khz = max_khz;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* cpu_frequency(unsigned int frequency, unsigned int cpu_id), once for each CPU of a policy. */
SEC("raw_tp/cpu_frequency")
int fperf_cpu_frequency(struct bpf_raw_tracepoint_args *ctx)
{
	event_count();
	freq_emit(ctx->args[1], FPERF_FREQ_CURRENT, ctx->args[0], 0, 0);
	return 0;
}

/* cpu_frequency_limits(struct cpufreq_policy *policy), once for the whole policy. */
SEC("raw_tp/cpu_frequency_limits")
int fperf_cpu_frequency_limits(struct bpf_raw_tracepoint_args *ctx)
{
	struct cpufreq_policy *policy = (void *)ctx->args[0];
	__u32 leader, min_khz, max_khz;

	if (!bpf_core_type_exists(struct cpufreq_policy))
		return 0;
	if (bpf_core_read(&leader, sizeof(leader), &policy->cpu) ||
	    bpf_core_read(&min_khz, sizeof(min_khz), &policy->min) ||
	    bpf_core_read(&max_khz, sizeof(max_khz), &policy->max))
		return 0;
	event_count();
	for (__u32 cpu = 0; cpu < FPERF_MAX_CPUS; cpu++) {
		__u32 key = cpu, *of;

		if (cpu >= cpu_count)
			break;
		of = bpf_map_lookup_elem(&freq_policies, &key);
		if (of && *of == leader)
			freq_emit(cpu, FPERF_FREQ_LIMITS, 0, min_khz, max_khz);
	}
	return 0;
}
