/* The one clock: CLOCK_MONOTONIC in 64-bit nanoseconds. */
#ifndef FPERF_BASE_CLOCK_H
#define FPERF_BASE_CLOCK_H

#include <stdint.h>

#define FPERF_NS_PER_US 1000ull
#define FPERF_NS_PER_MS 1000000ull
#define FPERF_NS_PER_S	1000000000ull

uint64_t fperf_clock__now_ns(void);

/* What must be added to a CLOCK_MONOTONIC time to get CLOCK_BOOTTIME and CLOCK_REALTIME (ns since 1970), read
 * at one moment; the error is the time between two clock reads, well under 10 us. */
struct fperf_clock_offsets {
	int64_t boottime_ns;
	int64_t realtime_ns;
};

struct fperf_clock_offsets fperf_clock__offsets(void);
uint64_t fperf_clock__thread_cpu_ns(void);  /* CPU time of the calling thread */
uint64_t fperf_clock__process_cpu_ns(void); /* CPU time of this process */

#endif
