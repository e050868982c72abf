#include "target.h"

#include "base/vec.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMM_MAX 15 /* longest name that the kernel keeps of a process */
#define PID_MAX	 (1l << 22)

void fperf_pids__free(struct fperf_pids *pids)
{
	free(pids->pids);
	*pids = (struct fperf_pids){0};
}

static int append(struct fperf_pids *pids, pid_t pid, struct fperf_error *err)
{
	pid_t *slot;

	for (size_t i = 0; i < pids->count; i++) {
		if (pids->pids[i] == pid)
			return 0;
	}
	slot = fperf_vec__push(&pids->pids, &pids->count, &pids->capacity);
	if (!slot)
		return fperf_error__no_memory(err, "the list of processes");
	*slot = pid;
	return 0;
}

int fperf_pids__parse(struct fperf_pids *pids, const char *text, struct fperf_error *err)
{
	const char *at = text;

	for (;;) {
		char *end;
		long pid;
		int ret;

		errno = 0;
		pid = strtol(at, &end, 10);
		if (!isdigit((unsigned char)at[0]) || errno || pid < 1 || pid > PID_MAX ||
		    (*end && *end != ','))
			return fperf_error__set(err, -EINVAL,
						"'%s' is no list of process ids such as 1234 or 1234,1240",
						text);
		ret = append(pids, (pid_t)pid, err);
		if (ret < 0 || !*end)
			return ret;
		at = end + 1;
	}
}

/* The process that a thread belongs to, 0 when there is none. */
static pid_t process_of(pid_t tid)
{
	char path[64], line[256];
	long tgid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Tgid: %ld", &tgid) == 1)
			break;
	}
	fclose(file);
	return (pid_t)tgid;
}

int fperf_pids__check(struct fperf_pids *pids, struct fperf_error *err)
{
	for (size_t i = 0; i < pids->count; i++) {
		pid_t process = process_of(pids->pids[i]);

		if (!process)
			return fperf_error__set(err, -ESRCH, "there is no process %d (it may have ended)",
						(int)pids->pids[i]);
		pids->pids[i] = process;
	}
	return 0;
}

void fperf_process_name(pid_t pid, char *name, size_t size)
{
	char path[64];
	FILE *file;

	name[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (!fgets(name, (int)size, file))
		name[0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	fclose(file);
}

static bool program_is_called(pid_t pid, const char *name)
{
	char link[64], path[PATH_MAX];
	const char *base;
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	size = readlink(link, path, sizeof(path) - 1);
	if (size <= 0)
		return false;
	path[size] = '\0';
	base = strrchr(path, '/');
	return base && !strcmp(base + 1, name);
}

static bool is_called(pid_t pid, const char *name)
{
	char comm[64];

	fperf_process_name(pid, comm, sizeof(comm));
	if (!strcmp(comm, name) ||
	    (strlen(name) > COMM_MAX && !strncmp(comm, name, COMM_MAX) && strlen(comm) == COMM_MAX))
		return true;
	return program_is_called(pid, name);
}

int fperf_pids__find(struct fperf_pids *pids, const char *name, struct fperf_error *err)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int found = 0, ret;

	if (!proc)
		return fperf_error__set_errno(err, -errno, "cannot read /proc");
	while ((entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid <= 0 || pid == getpid() || !is_called(pid, name))
			continue;
		ret = append(pids, pid, err);
		if (ret < 0) {
			found = ret;
			break;
		}
		found++;
	}
	closedir(proc);
	return found;
}
