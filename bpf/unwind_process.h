/* What the unwinder knows of each process, and what must happen to it at once when a process begins, becomes
 * another program, or ends: the recorder comes later. */
#ifndef FPERF_BPF_UNWIND_PROCESS_H
#define FPERF_BPF_UNWIND_PROCESS_H

#include "maps.h"

#include "frameperf/unwind_row.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries,
	       FPERF_UNWIND_PROCESSES); /* preallocated: perf_event programs want it so before 6.1 */
	__type(key, __u32);
	__type(value, struct fperf_unwind_process);
} fperf_unwind_processes SEC(".maps");

/* A child begins with its parent's mappings, until the recorder, which must have been told of it, writes its
 * own: long before the parent's may be used for something else. */
static __always_inline void unwind_process_fork(__u32 parent, __u32 child)
{
	struct fperf_unwind_process *from = bpf_map_lookup_elem(&fperf_unwind_processes, &parent), entry;

	if (!from)
		return;
	entry = *from;
	bpf_map_update_elem(&fperf_unwind_processes, &child, &entry, BPF_NOEXIST);
}

/* The program before may have had other code at the same addresses. */
static __always_inline void unwind_process_forget(__u32 pid)
{
	bpf_map_delete_elem(&fperf_unwind_processes, &pid);
}

#endif
