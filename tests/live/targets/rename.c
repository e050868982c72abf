/* A thread renames itself in mid-run: half a second as Before, half as After. */
#include "spin.h"

#include <pthread.h>

NOINLINE uint64_t renamed_work(void)
{
	return spin_ns(500000000ull);
}

static void *thread_main(void *unused)
{
	pthread_setname_np(pthread_self(), "Before");
	renamed_work();
	pthread_setname_np(pthread_self(), "After");
	renamed_work();
	return unused;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, thread_main, NULL);
	pthread_join(thread, NULL);
	return 0;
}
