/* Which thread groups are recorded. Tested with one load; children are added here, in the kernel, at fork, so
 * that nothing is missed between fork and the recorder noticing. */
#ifndef FPERF_BPF_TARGET_H
#define FPERF_BPF_TARGET_H

#include "maps.h"

static __always_inline struct fperf_target_bits *target_bits(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&fperf_targets, &zero);
}

static __always_inline bool target_has(const struct fperf_target_bits *bits, __u32 tgid)
{
	return bits->is_target[tgid & (FPERF_PID_LIMIT - 1)];
}

static __always_inline void target_set(struct fperf_target_bits *bits, __u32 tgid)
{
	bits->is_target[tgid & (FPERF_PID_LIMIT - 1)] = 1;
}

static __always_inline void target_clear(struct fperf_target_bits *bits, __u32 tgid)
{
	bits->is_target[tgid & (FPERF_PID_LIMIT - 1)] = 0;
}

#endif
