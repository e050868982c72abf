#include "capture/freq_sysfs.h"
#include "capture/kallsyms.h"
#include "capture/probe_internal.h"

#include <linux/capability.h>
#include <linux/magic.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Inode number of the initial PID namespace, fixed in the kernel (PROC_PID_INIT_INO). */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu

enum fperf_probe_state probe_privileges(char *detail)
{
	static const struct {
		int number;
		const char *name;
	} needed[] = {{21, "CAP_SYS_ADMIN"}, {38, "CAP_PERFMON"}, {39, "CAP_BPF"}, {19, "CAP_SYS_PTRACE"}};
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	size_t used = 0;

	if (syscall(SYS_capget, &header, data)) {
		probe_say(detail, "capget: %s", strerror(errno));
		return FPERF_PROBE_MISSING;
	}
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!(data[needed[i].number / 32].effective >> needed[i].number % 32 & 1))
			used += (size_t)snprintf(detail + used, FPERF_PROBE_DETAIL - used, "%s%s",
						 used ? ", " : "user without ", needed[i].name);
	if (!used)
		probe_say(detail, "root's");
	return used ? FPERF_PROBE_MISSING : FPERF_PROBE_WORKS;
}

enum fperf_probe_state probe_pid_namespace(char *detail)
{
	struct stat status;

	if (stat("/proc/self/ns/pid", &status)) {
		probe_say(detail, "the kernel has none");
		return FPERF_PROBE_WORKS;
	}
	if (status.st_ino == INITIAL_PID_NAMESPACE) {
		probe_say(detail, "this is it");
		return FPERF_PROBE_WORKS;
	}
	probe_say(detail, "this is another: process ids differ from those that the kernel reports");
	return FPERF_PROBE_MISSING;
}

enum fperf_probe_state probe_lockdown(char *detail)
{
	char line[128];

	if (!probe_read_line("/sys/kernel/security/lockdown", line, sizeof(line))) {
		probe_say(detail, "none");
		return FPERF_PROBE_WORKS;
	}
	probe_say(detail, "%s", line);
	return strstr(line, "[confidentiality]") ? FPERF_PROBE_MISSING : FPERF_PROBE_WORKS;
}

enum fperf_probe_state probe_kallsyms(char *detail)
{
	struct fperf_error err;
	uint64_t base;

	if (fperf_kallsyms__base(FPERF_KALLSYMS_PATH, &base, &err)) {
		probe_say(detail, "%.255s", err.text);
		return FPERF_PROBE_MISSING;
	}
	probe_say(detail, "%s can be read", FPERF_KALLSYMS_PATH);
	return FPERF_PROBE_WORKS;
}

enum fperf_probe_state probe_cpufreq(char *detail)
{
	struct fperf_freq_cpu *cpus = calloc(1024, sizeof(*cpus));
	char driver[64];
	size_t count = cpus ? fperf_freq_sysfs__read(FPERF_FREQ_ROOT, fperf_freq_sysfs__cpus(1024), cpus,
						     driver, sizeof(driver))
			    : 0;

	free(cpus);
	if (!count) {
		probe_say(detail, "there is no cpufreq driver");
		return FPERF_PROBE_MISSING;
	}
	probe_say(detail, "driver %s, %zu CPUs", driver, count);
	return FPERF_PROBE_WORKS;
}

enum fperf_probe_state probe_tracefs(char *detail)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	struct statfs status;

	for (size_t i = 0; i < 2; i++)
		if (!statfs(places[i], &status) && status.f_type == TRACEFS_MAGIC) {
			probe_say(detail, "mounted at %s", places[i]);
			return FPERF_PROBE_WORKS;
		}
	probe_say(detail, "not mounted");
	return FPERF_PROBE_LIMITED;
}

enum fperf_probe_state probe_descriptors(char *detail)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit)) {
		probe_say(detail, "getrlimit: %s", strerror(errno));
		return FPERF_PROBE_LIMITED;
	}
	probe_say(detail, "at most %llu", (unsigned long long)limit.rlim_max);
	return limit.rlim_max < 4096 ? FPERF_PROBE_LIMITED : FPERF_PROBE_WORKS;
}

enum fperf_probe_state probe_schedstat(char *detail)
{
	char line[128];

	if (!probe_read_line("/proc/self/schedstat", line, sizeof(line)) || atoll(line) <= 0) {
		probe_say(detail, "/proc/PID/schedstat is empty");
		return FPERF_PROBE_MISSING;
	}
	probe_say(detail, "/proc/PID/schedstat can be read");
	return FPERF_PROBE_WORKS;
}

/* Opens the file behind a mapping of this program. */
enum fperf_probe_state probe_map_files(char *detail)
{
	DIR *directory = opendir("/proc/self/map_files");
	struct dirent *entry;
	char path[320];
	int fd = -1, code = ENOENT;

	if (!directory) {
		probe_say(detail, "/proc/PID/map_files: %s", strerror(errno));
		return FPERF_PROBE_MISSING;
	}
	while (fd < 0 && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/map_files/%s", entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		code = errno;
	}
	closedir(directory);
	if (fd < 0) {
		probe_say(detail, "/proc/PID/map_files: %s", strerror(code));
		return FPERF_PROBE_MISSING;
	}
	close(fd);
	probe_say(detail, "/proc/PID/map_files can be opened");
	return FPERF_PROBE_WORKS;
}
