/* The maps that all programs share. Each object file declares those it uses; the loader creates the first of
 * a name and lets the others reuse it.
 */
#ifndef FPERF_BPF_MAPS_H
#define FPERF_BPF_MAPS_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "frameperf/reasons.h"
#include "frameperf/wire.h"

/* One byte per thread group id, 1 for those that are recorded: the cheapest test there is for "none of ours".
 * (Bits would need atomic operations that BPF has only since 5.12.) */
struct fperf_target_bits {
	__u8 is_target[FPERF_PID_LIMIT];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE); /* the recorder writes it too */
	__type(key, __u32);
	__type(value, struct fperf_target_bits);
} fperf_targets SEC(".maps");

/* Events lost, by source and reason. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FPERF_SOURCES *FPERF_LOSS_REASONS);
	__type(key, __u32);
	__type(value, __u64);
} fperf_losses SEC(".maps");

static __always_inline void loss_add(enum fperf_source source, enum fperf_loss_reason reason, __u64 more)
{
	__u32 key = source * FPERF_LOSS_REASONS + reason;
	__u64 *count = bpf_map_lookup_elem(&fperf_losses, &key);

	if (count)
		*count += more;
}

static __always_inline void loss_count(enum fperf_source source, enum fperf_loss_reason reason)
{
	loss_add(source, reason, 1);
}

#endif
