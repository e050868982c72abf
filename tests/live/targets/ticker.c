/* Calls ticker_frame FRAMES times (its frame boundary), MS milliseconds apart, optionally again in a forked
 * child, and prints how often it did. usage: ticker FRAMES MS [fork] */
#include "spin.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void ticker_frame(void *surface);

NOINLINE void ticker_frame(void *surface)
{
	__asm__ volatile("" : : "r"(surface) : "memory");
}

NOINLINE uint64_t ticker_work(void)
{
	return spin_ns(300000);
}

static int run(int frames, int ms)
{
	static int surface;

	for (int i = 0; i < frames; i++) {
		ticker_work();
		usleep((unsigned int)ms * 1000);
		ticker_frame(&surface);
	}
	return frames;
}

int main(int argc, char **argv)
{
	int frames = argc > 1 ? atoi(argv[1]) : 100, ms = argc > 2 ? atoi(argv[2]) : 5;

	if (argc > 3) {
		pid_t child = fork();

		if (child == 0) {
			run(frames, ms);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	printf("%d\n", run(frames, ms));
	return 0;
}
