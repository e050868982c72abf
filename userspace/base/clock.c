#include "base/clock.h"

#include <time.h>

static uint64_t clock_ns(clockid_t id)
{
	struct timespec now = {0};

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * FPERF_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t fperf_clock__now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

struct fperf_clock_offsets fperf_clock__offsets(void)
{
	uint64_t before = clock_ns(CLOCK_MONOTONIC);
	uint64_t boottime = clock_ns(CLOCK_BOOTTIME);
	uint64_t realtime = clock_ns(CLOCK_REALTIME);
	uint64_t middle = before + (clock_ns(CLOCK_MONOTONIC) - before) / 2;

	return (struct fperf_clock_offsets){
		.boottime_ns = (int64_t)(boottime - middle),
		.realtime_ns = (int64_t)(realtime - middle),
	};
}

uint64_t fperf_clock__thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t fperf_clock__process_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}
