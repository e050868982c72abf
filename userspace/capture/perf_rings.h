/* One perf event on each CPU, with the ring into which the kernel writes its records. CPUs may go offline,
 * which ends their event for good, and come back. */
#ifndef FPERF_CAPTURE_PERF_RINGS_H
#define FPERF_CAPTURE_PERF_RINGS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_perf_rings;

/* Opens `attr` (copied; the time for which it was enabled is asked for in addition) on every CPU that is
 * online, with rings of `pages` pages, a power of two, and the BPF program `program` (a descriptor that
 * outlives the rings; -1: none) at each. 0 and `rings`, to be closed by the caller; a negative errno when no
 * CPU has it or memory is short. */
int fperf_perf_rings__open(struct fperf_perf_rings **rings, const struct perf_event_attr *attr, size_t pages,
			   int program);
void fperf_perf_rings__close(struct fperf_perf_rings *rings);

/* How many CPUs have the event now. */
size_t fperf_perf_rings__count(const struct fperf_perf_rings *rings);

/* For attributes that say `disabled`: events count from now on, also those of CPUs that come later. */
void fperf_perf_rings__enable(struct fperf_perf_rings *rings);

/* No event counts any more; what is in the rings stays readable. */
void fperf_perf_rings__disable(struct fperf_perf_rings *rings);

/* Takes in CPUs that came online since the last call. True when there was one. Not while events are disabled.
 */
bool fperf_perf_rings__check(struct fperf_perf_rings *rings);

/* Hands over every record that has arrived (perf_event_open(2): a struct perf_event_header and what follows,
 * `header->size` bytes in all, valid during the call) and its CPU. Returns how many the kernel says it lost
 * since the last call. */
uint64_t fperf_perf_rings__drain(struct fperf_perf_rings *rings,
				 void (*visit)(void *context, size_t cpu,
					       const struct perf_event_header *header),
				 void *context);

#endif
