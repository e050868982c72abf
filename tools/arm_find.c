#include "arm_find.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct process {
	pid_t pid;
	char comm[64];
	char exe[PATH_MAX]; /* "" of kernel threads */
	char called[256];   /* first argument: the name of an app on Android */
};

const char *fperf_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void file_read(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, text, size - 1);
		close(fd);
	}
	text[got > 0 ? got : 0] = '\0';
}

/* False for what can be no game: a kernel thread, or one that is gone. */
static bool process_read(pid_t pid, struct process *process)
{
	static const char deleted[] = " (deleted)";
	char path[64];
	ssize_t size;

	process->pid = pid;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	size = readlink(path, process->exe, sizeof(process->exe) - 1);
	if (size <= 0)
		return false;
	process->exe[size] = '\0';
	if ((size_t)size > strlen(deleted) && !strcmp(process->exe + size - strlen(deleted), deleted))
		process->exe[size - (ssize_t)strlen(deleted)] = '\0';
	file_read(pid, "comm", process->comm, sizeof(process->comm));
	process->comm[strcspn(process->comm, "\n")] = '\0';
	file_read(pid, "cmdline", process->called, sizeof(process->called));
	return true;
}

static bool is_meant(const struct fperf_arm_target *target, const struct process *process)
{
	const char *name = target->name;

	if (target->exe && strcmp(target->exe, process->exe))
		return false;
	return !name || !strcmp(name, process->comm) || !strcmp(name, fperf_path_name(process->exe)) ||
	       !strcmp(name, process->called);
}

int fperf_arm_find(const struct fperf_arm_config *config,
		   void (*found)(void *context, const struct fperf_arm_target *target, pid_t pid),
		   void *context, struct fperf_error *err)
{
	DIR *directory = opendir("/proc");
	char own[PATH_MAX] = "";
	struct process process;
	struct dirent *entry;

	if (!directory)
		return fperf_error__set_errno(err, -errno, "cannot read /proc");
	if (readlink("/proc/self/exe", own, sizeof(own) - 1) < 0)
		own[0] = '\0';
	while ((entry = readdir(directory))) {
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !process_read((pid_t)atoi(entry->d_name), &process) || !strcmp(process.exe, own))
			continue;
		for (size_t i = 0; i < config->target_count; i++)
			if (is_meant(&config->targets[i], &process))
				found(context, &config->targets[i], process.pid);
	}
	closedir(directory);
	return 0;
}
