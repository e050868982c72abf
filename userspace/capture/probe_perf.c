#include "capture/mark_probe.h"
#include "capture/probe_internal.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int event_open(struct perf_event_attr *attr, int pid, int cpu)
{
	int fd;

	attr->size = sizeof(*attr);
	fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static enum fperf_probe_state missing(char *detail, const char *what, int code)
{
	probe_say(detail, "%s: %s", what, strerror(-code));
	return FPERF_PROBE_MISSING;
}

/* An event of this thread with a program on it. */
static enum fperf_probe_state sampling_try(char *detail, uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {.type = type, .config = config, .sample_freq = 1000, .freq = 1};
	int event = event_open(&attr, 0, -1), program, result;

	if (event < 0)
		return missing(detail, "perf_event_open", event);
	program = probe_program_load(BPF_PROG_TYPE_PERF_EVENT, 0, 0);
	result = program < 0 ? program : ioctl(event, PERF_EVENT_IOC_SET_BPF, program) ? -errno : 0;
	if (program >= 0)
		close(program);
	close(event);
	if (result)
		return missing(detail, "a program can't be attached to it", result);
	probe_say(detail, "a program was attached to an event of 1000 Hz");
	return FPERF_PROBE_WORKS;
}

enum fperf_probe_state probe_cycles(char *detail)
{
	return sampling_try(detail, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
}

enum fperf_probe_state probe_cpu_clock(char *detail)
{
	return sampling_try(detail, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
}

enum fperf_probe_state probe_side_band(char *detail)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_DUMMY,
				       .mmap = 1,
				       .mmap2 = 1,
				       .build_id = 1};
	int fd = event_open(&attr, 0, -1), code = fd;

	if (fd < 0) {
		attr.build_id = 0;
		fd = event_open(&attr, 0, -1);
	}
	if (fd < 0)
		return missing(detail, "PERF_RECORD_MMAP2", fd);
	close(fd);
	if (code < 0) {
		probe_say(detail, "PERF_RECORD_MMAP2 without build IDs");
		return FPERF_PROBE_LIMITED;
	}
	probe_say(detail, "PERF_RECORD_MMAP2 with build IDs");
	return FPERF_PROBE_WORKS;
}

/* File offset of code of this program. */
static bool own_code(uint64_t *offset)
{
	uint64_t address = (uint64_t)(uintptr_t)&fperf_probe__run;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4352];
	bool found = false;

	if (!maps)
		return false;
	while (!found && fgets(line, sizeof(line), maps)) {
		uint64_t start, end, file_offset;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &file_offset) == 3 &&
		    address >= start && address < end) {
			*offset = address - start + file_offset;
			found = true;
		}
	}
	fclose(maps);
	return found;
}

/* On a function of our own, for this process only. */
enum fperf_probe_state probe_uprobe(char *detail)
{
	struct perf_event_attr attr = {0};
	struct fperf_error err;
	int type = fperf_mark_probe__pmu(&err), program, event, result;
	uint64_t offset;

	if (type < 0) {
		probe_say(detail, "%s", err.text);
		return FPERF_PROBE_MISSING;
	}
	if (!own_code(&offset))
		return missing(detail, "/proc/self/maps", -ENOENT);
	attr.type = (uint32_t)type;
	attr.config1 = (uint64_t)(uintptr_t) "/proc/self/exe";
	attr.config2 = offset;
	event = event_open(&attr, 0, -1);
	if (event < 0)
		return missing(detail, "perf_event_open", event);
	program = probe_program_load(BPF_PROG_TYPE_KPROBE, 0, 0);
	result = program < 0 ? program : ioctl(event, PERF_EVENT_IOC_SET_BPF, program) ? -errno : 0;
	if (program >= 0)
		close(program);
	close(event);
	if (result)
		return missing(detail, "a program can't be attached to one", result);
	probe_say(detail, "a program was attached to one");
	return FPERF_PROBE_WORKS;
}

enum fperf_probe_state probe_paranoid(char *detail)
{
	char line[32];

	if (!probe_read_line("/proc/sys/kernel/perf_event_paranoid", line, sizeof(line)))
		return missing(detail, "/proc/sys/kernel/perf_event_paranoid", -errno);
	probe_say(detail, "%s%s", line, geteuid() ? "" : ", which does not matter for root");
	return atoi(line) <= 1 || !geteuid() ? FPERF_PROBE_WORKS : FPERF_PROBE_LIMITED;
}
