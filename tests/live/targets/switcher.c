/* Two threads hand a token to and fro through pipes for SECONDS: as many context switches as the machine can
 * do. Prints the number of hand-overs. */
#include "spin.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int there[2], back[2];

NOINLINE void *echo_main(void *unused)
{
	char byte;

	while (read(there[0], &byte, 1) == 1)
		if (write(back[1], &byte, 1) != 1)
			break;
	return unused;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	uint64_t end = clock_now_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9), count = 0;
	uint64_t work = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, until;
	pthread_t echo;
	char byte = 1;

	if (pipe(there) || pipe(back) || pthread_create(&echo, NULL, echo_main, NULL))
		return 1;
	while (clock_now_ns(CLOCK_MONOTONIC) < end) {
		for (until = clock_now_ns(CLOCK_MONOTONIC) + work;
		     work && clock_now_ns(CLOCK_MONOTONIC) < until;)
			;
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			return 1;
		count++;
	}
	printf("%llu\n", (unsigned long long)count);
	return 0;
}
