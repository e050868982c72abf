/* hog SECONDS: another program that takes all cores for 25 ms about three times a second. Run it at a higher
 * priority than its victim. */
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* All of them draw the same times. */
static void hog(int cpu, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t next_ns = start_ns;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	srand((unsigned int)start_ns);
	while (next_ns < end_ns) {
		struct timespec until;

		next_ns += 150000000u + (uint64_t)rand() % 300000000u;
		until = (struct timespec){.tv_sec = (time_t)(next_ns / 1000000000u),
					  .tv_nsec = (long)(next_ns % 1000000000u)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		while (now_ns() < next_ns + 25000000u)
			;
	}
}

int main(int argc, char **argv)
{
	uint64_t start_ns = now_ns(),
		 end_ns = start_ns + (uint64_t)(argc > 1 ? atoi(argv[1]) : 10) * 1000000000u;
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);

	for (int cpu = 1; cpu < cpus; cpu++)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			hog(cpu, start_ns, end_ns);
			return 0;
		}
	hog(0, start_ns, end_ns);
	while (wait(NULL) > 0)
		;
	return 0;
}
