/* Stops a process at many instructions and compares our stack with libdw's, address by address. */
#ifndef TESTS_STOP_COMPARE_H
#define TESTS_STOP_COMPARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stop_totals {
	uint64_t stops, frames;
	uint64_t equal;	      /* the whole stack is the same, and we know that it is whole */
	uint64_t shorter;     /* equal as far as ours goes */
	uint64_t both_short;  /* the same, and neither gets to the thread's start */
	uint64_t libdw_short; /* equal as far as libdw's goes, where ours goes on */
	uint64_t wrong;
	char first_wrong[4096];
	char first_short[512];
};

/* `pid` is a stopped child that we trace (PTRACE_TRACEME or attached). Single-steps it `steps` times and
 * compares at every `stride`-th; then lets it run and stops it `pauses` times at random moments. */
void stop_compare(pid_t pid, unsigned int steps, unsigned int stride, unsigned int pauses,
		  struct stop_totals *totals);

#endif
