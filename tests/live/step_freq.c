/* step_freq CLOCK-FILE SECONDS: clocks that step down now and then, on a machine without cpufreq. The
 * frequency program of a running recording is given the events of the steps (BPF_PROG_TEST_RUN), and the
 * workload, which reads CLOCK-FILE, takes so much longer meanwhile. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define FAST_KHZ 1800000u
#define SLOW_KHZ 300000u

static int programs[64];
static size_t program_count;

/* Both programs of the source have the same first 15 characters; the one for limits takes no notice of what
 * is no policy. */
static void programs_find(void)
{
	uint32_t id = 0;

	while (program_count < 64 && !bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &size) && !strncmp(info.name, "fperf_cpu_frequ", 15))
			programs[program_count++] = fd;
		else
			close(fd);
	}
}

static int step(uint32_t khz)
{
	int failed = 0;

	for (uint64_t cpu = 0; cpu < (uint64_t)sysconf(_SC_NPROCESSORS_ONLN); cpu++)
		for (size_t i = 0; i < program_count; i++) {
			uint64_t arguments[2] = {khz, cpu};
			LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = arguments,
				    .ctx_size_in = sizeof(arguments));

			failed |= bpf_prog_test_run_opts(programs[i], &options);
		}
	return failed;
}

static void sleep_ms(unsigned int ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
	volatile uint32_t *clock;
	int fd, failed = 0;
	time_t end;

	if (argc != 3)
		return 2;
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	clock = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*clock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (clock == MAP_FAILED) {
		perror(argv[1]);
		return 1;
	}
	for (int i = 0; i < 100 && !program_count; i++) {
		programs_find();
		sleep_ms(50);
	}
	if (!program_count) {
		fprintf(stderr, "step_freq: nobody records frequencies\n");
		return 1;
	}
	srand((unsigned int)getpid());
	end = time(NULL) + atoi(argv[2]);
	failed |= step(FAST_KHZ);
	while (time(NULL) < end) {
		sleep_ms(500 + (unsigned int)rand() % 1000);
		failed |= step(SLOW_KHZ);
		*clock = 100 * (FAST_KHZ / SLOW_KHZ);
		sleep_ms(80);
		*clock = 100;
		failed |= step(FAST_KHZ);
	}
	return failed != 0;
}
