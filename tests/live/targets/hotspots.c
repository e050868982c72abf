/* Spends 60, 30 and 10 % of its rounds in three functions for SECONDS of CPU time; prints the shares it
 * measured. */
#include "spin.h"

#include <stdio.h>
#include <stdlib.h>

static volatile uint64_t sink;

NOINLINE void hot_sixty(void)
{
	sink += spin_rounds(60000, sink);
}

NOINLINE void hot_thirty(void)
{
	sink += spin_rounds(30000, sink);
}

NOINLINE void hot_ten(void)
{
	sink += spin_rounds(10000, sink);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	uint64_t end = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) + (uint64_t)(seconds * 1e9);

	while (clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) < end) {
		hot_sixty();
		hot_thirty();
		hot_ten();
	}
	printf("%llu\n", (unsigned long long)sink);
	return 0;
}
