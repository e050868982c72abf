/* What sampling costs those who are not sampled, and those who are: one perf event per CPU with a filter in
 * BPF against one inherited event per thread. Prints a Markdown table for docs/decisions/sampling.md.
 *
 *   sampling_modes [HZ] [ROUNDS]
 *
 * In each round every mode gets its turn, in random order. "other": rounds of work that a process that is not
 * recorded gets done in 300 ms; "target": the same for the recorded one; "threads": threads that the recorded
 * one starts and joins in 300 ms; "switches": hand-overs through a pipe between two recorded threads in 300
 * ms. All relative to no events.
 */
#include "frameperf/wire.h"
#include "sample.skel.h"

#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TURN_NS 300000000ull

enum mode { MODE_OFF, MODE_PER_CPU, MODE_PER_THREAD, MODES };
enum work { WORK_OTHER, WORK_TARGET, WORK_THREADS, WORK_SWITCHES, WORKS };

static const char *const mode_names[MODES] = {"no events", "per CPU, filter in BPF", "per thread, inherited"};
static const char *const work_names[WORKS] = {"other", "target", "threads", "switches"};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static void *nothing(void *unused)
{
	return unused;
}

static uint64_t do_spin(void)
{
	uint64_t end = now_ns() + TURN_NS, rounds = 0;
	volatile uint64_t sink = 1;

	while (now_ns() < end) {
		for (int i = 0; i < 1000; i++)
			sink = sink * 6364136223846793005ull + 1;
		rounds++;
	}
	return rounds;
}

static uint64_t do_threads(void)
{
	uint64_t end = now_ns() + TURN_NS, count = 0;

	while (now_ns() < end) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, nothing, NULL))
			return 0;
		pthread_join(thread, NULL);
		count++;
	}
	return count;
}

static int there[2], back[2];

static void *echo(void *unused)
{
	char byte;

	while (read(there[0], &byte, 1) == 1 && byte)
		if (write(back[1], &byte, 1) != 1)
			break;
	return unused;
}

static uint64_t do_switches(void)
{
	uint64_t end = now_ns() + TURN_NS, count = 0;
	pthread_t thread;
	char byte = 1;

	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, echo, NULL))
		return 0;
	while (now_ns() < end && write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1)
		count++;
	byte = 0;
	if (write(there[1], &byte, 1) != 1)
		return 0;
	pthread_join(thread, NULL);
	return count;
}

static int event_open(int tid, int cpu, unsigned int hz, bool inherit, int program)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = hz,
		.inherit = inherit,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, program)) {
		perror("PERF_EVENT_IOC_SET_BPF");
		exit(1);
	}
	return fd;
}

static void target_set(struct sample_bpf *skeleton, uint32_t pid, bool on)
{
	static uint8_t is_target[FPERF_PID_LIMIT];
	uint32_t zero = 0;

	is_target[pid] = on;
	bpf_map_update_elem(bpf_map__fd(skeleton->maps.fperf_targets), &zero, is_target, 0);
}

/* Runs one kind of work in a process of its own, which is recorded or (WORK_OTHER) not. */
static double turn(struct sample_bpf *skeletons[2], enum mode mode, enum work work, unsigned int hz)
{
	int fds[1024], count = 0, go[2], result[2];
	uint64_t done = 0;
	pid_t child;

	if (pipe(go) || pipe(result))
		return 0;
	child = fork();
	if (child == 0) {
		char byte;

		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		done = work == WORK_THREADS    ? do_threads()
		       : work == WORK_SWITCHES ? do_switches()
					       : do_spin();
		_exit(write(result[1], &done, sizeof(done)) != sizeof(done));
	}
	if (mode != MODE_OFF)
		target_set(skeletons[mode == MODE_PER_THREAD],
			   (uint32_t)(work == WORK_OTHER ? getpid() : child), true);
	if (mode == MODE_PER_CPU) {
		for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN) && cpu < 1024; cpu++)
			fds[count++] = event_open(-1, cpu, hz, false,
						  bpf_program__fd(skeletons[0]->progs.fperf_sample));
	} else if (mode == MODE_PER_THREAD) {
		fds[count++] = event_open(work == WORK_OTHER ? getpid() : child, -1, hz, true,
					  bpf_program__fd(skeletons[1]->progs.fperf_sample));
	}
	if (write(go[1], "x", 1) != 1 || read(result[0], &done, sizeof(done)) != sizeof(done))
		done = 0;
	waitpid(child, NULL, 0);
	for (int i = 0; i < count; i++)
		close(fds[i]);
	if (mode != MODE_OFF)
		target_set(skeletons[mode == MODE_PER_THREAD],
			   (uint32_t)(work == WORK_OTHER ? getpid() : child), false);
	close(go[0]);
	close(go[1]);
	close(result[0]);
	close(result[1]);
	return (double)done;
}

static int double_compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

int main(int argc, char **argv)
{
	unsigned int hz = argc > 1 ? (unsigned int)atoi(argv[1]) : 1000;
	int rounds = argc > 2 ? atoi(argv[2]) : 20;
	struct sample_bpf *skeletons[2];
	double *ratios[WORKS][MODES];

	for (int i = 0; i < 2; i++) {
		skeletons[i] = sample_bpf__open();
		if (!skeletons[i])
			return 1;
		if (sample_bpf__load(skeletons[i]))
			return 1;
	}
	for (int work = 0; work < WORKS; work++)
		for (int mode = 0; mode < MODES; mode++)
			ratios[work][mode] = calloc((size_t)rounds, sizeof(double));
	srand(1);
	for (int round = 0; round < rounds; round++) {
		for (int work = 0; work < WORKS; work++) {
			int first = rand() % MODES;
			double got[MODES];

			for (int i = 0; i < MODES; i++)
				got[(first + i) % MODES] = turn(skeletons, (enum mode)((first + i) % MODES),
								(enum work)work, hz);
			for (int mode = 0; mode < MODES; mode++)
				ratios[work][mode][round] = got[MODE_OFF] > 0 ? got[mode] / got[MODE_OFF] : 0;
		}
	}
	printf("| %u Hz, %d rounds |", hz, rounds);
	for (int work = 0; work < WORKS; work++)
		printf(" %s |", work_names[work]);
	printf("\n|---|---|---|---|---|\n");
	for (int mode = 1; mode < MODES; mode++) {
		printf("| %s |", mode_names[mode]);
		for (int work = 0; work < WORKS; work++) {
			qsort(ratios[work][mode], (size_t)rounds, sizeof(double), double_compare);
			printf(" %+.2f %% |", 100 * (ratios[work][mode][rounds / 2] - 1));
		}
		printf("\n");
	}
	return 0;
}
