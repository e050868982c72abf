/* COUNT threads in all, 50 at a time, each spins 2 ms in tiny_work. Prints the CPU time used in ns. */
#include "spin.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

NOINLINE uint64_t tiny_work(void)
{
	return spin_ns(2000000ull);
}

static void *thread_main(void *unused)
{
	tiny_work();
	return unused;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 5000;

	for (int done = 0; done < count; done += 50) {
		pthread_t threads[50];
		int started = 0;

		while (started < 50 && !pthread_create(&threads[started], NULL, thread_main, NULL))
			started++;
		for (int i = 0; i < started; i++)
			pthread_join(threads[i], NULL);
	}
	printf("%llu\n", (unsigned long long)clock_now_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
