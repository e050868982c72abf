#include "base/clock.h"
#include "base/vec.h"
#include "capture/jit.h"
#include "capture/mark_view.h"
#include "capture/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS (250 * FPERF_NS_PER_MS)

#define CLOCK_MARGIN_S 2 /* between start times and file times */

/* No process needs more: a compiler that renames forever must not fill the session. */
#define MAX_SYMBOLS_PER_PROCESS 2000000u

struct process {
	uint32_t pid;
	pid_t inner_pid;
	uid_t uid;
	int64_t started; /* seconds since 1970; 0: not known */
	int fd; /* its map, kept open because it cannot be reached any more once the process is gone; -1: none
		 */
	bool warned;
	uint64_t symbols;
	struct fperf_jit_map map;
};

struct jit {
	struct fperf_capture_context *context;
	struct process *processes;
	size_t count, capacity;
	uint64_t next_poll_ns;
	struct process *current; /* while its lines are taken */
	uint64_t bad_lines, lost;
};

static int jit_start(struct fperf_capture_context *context, void **state, char *reason, size_t reason_size,
		     struct fperf_error *err)
{
	struct jit *jit = calloc(1, sizeof(*jit));

	if (!jit)
		return fperf_error__no_memory(err, "perf maps");
	jit->context = context;
	*state = jit;
	snprintf(reason, reason_size, "perf-PID.map files of the target");
	return 0;
}

static struct process *process_find(struct jit *jit, uint32_t pid)
{
	for (size_t i = 0; i < jit->count; i++)
		if (jit->processes[i].pid == pid)
			return &jit->processes[i];
	return NULL;
}

/* Who the process runs as: only its own map, or root's, is believed. */
static uid_t process_uid(uint32_t pid)
{
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &status) ? 0 : status.st_uid;
}

/* Start time of the process in seconds since 1970, from field 22 of /proc/PID/stat (clock ticks since boot);
 * 0 when it cannot be known. */
static int64_t process_started(uint32_t pid)
{
	unsigned long long ticks = 0;
	struct timespec now, uptime;
	char line[1024], path[64];
	const char *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	end = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL; /* names may hold anything */
	fclose(file);
	if (!end ||
	    sscanf(end + 1,
		   " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
		   &ticks) != 1)
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &uptime);
	return now.tv_sec - uptime.tv_sec + (int64_t)(ticks / (unsigned long long)sysconf(_SC_CLK_TCK));
}

/* Only processes that map executable memory without a file have code that needs a map. */
static void jit_on_mapping(void *state, const struct fperf_capture_mapping *mapping)
{
	struct jit *jit = state;
	struct process *process;
	const char *path = mapping->path;

	if ((*path && strncmp(path, "/memfd:", 7) && strncmp(path, "[anon:", 6) &&
	     strncmp(path, "//anon", 6) && strncmp(path, "/dev/", 5)) ||
	    process_find(jit, mapping->pid))
		return;
	process = fperf_vec__push(&jit->processes, &jit->count, &jit->capacity);
	if (!process)
		return;
	process->pid = mapping->pid;
	process->inner_pid = fperf_view__inner_pid((pid_t)mapping->pid);
	process->uid = process_uid(mapping->pid);
	process->started = process_started(mapping->pid);
	process->fd = -1;
}

static void symbol_take(void *state, const struct fperf_jit_line *line)
{
	struct jit *jit = state;
	struct fperf_writer *writer = jit->context->writer;
	struct fperf_rec_jit_symbol symbol = {
		.process = fperf_aggregate__process_id(jit->context->aggregate, jit->current->pid),
		.address = line->address,
		.size = line->size,
	};
	struct fperf_error err;

	if (!symbol.process || jit->current->symbols >= MAX_SYMBOLS_PER_PROCESS) {
		jit->lost++;
		return;
	}
	jit->current->symbols++;
	symbol.name = fperf_writer__string(writer, line->name, line->name_size);
	if (fperf_writer__add(writer, FPERF_RECORD_JIT_SYMBOL, &symbol, &err))
		jit->lost++;
}

/* On Android, applications write below their own data directory: its name is the package's, which is the name
 * of the process up to a colon. */
static bool android_path(const struct process *process, char *path, size_t size)
{
	char name[256];
	FILE *file;
	size_t got;

	if (access("/data/data", F_OK))
		return false;
	snprintf(name, sizeof(name), "/proc/%u/cmdline", process->pid);
	file = fopen(name, "re");
	if (!file)
		return false;
	got = fread(name, 1, sizeof(name) - 1, file);
	fclose(file);
	name[got] = 0;
	name[strcspn(name, ":")] = 0;
	if (!*name || strchr(name, '/'))
		return false;
	return (size_t)snprintf(path, size, "/data/data/%s/perf-%d.map", name, (int)process->inner_pid) <
	       size;
}

/* Written by the process itself or by root, and not left by an earlier process of the same number. */
static bool map_believable(const struct process *process, int fd)
{
	struct stat status;

	return !fstat(fd, &status) && (status.st_uid == process->uid || status.st_uid == 0) &&
	       status.st_mtim.tv_sec + CLOCK_MARGIN_S >= process->started;
}

/* Opens the map as it is now; what was open before stays if it cannot be reached. */
static void map_open(struct process *process)
{
	struct fperf_error err;
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)process->inner_pid);
	fd = fperf_view__open((pid_t)process->pid, path, NULL, &err);
	if (fd < 0 && android_path(process, path, sizeof(path)))
		fd = fperf_view__open((pid_t)process->pid, path, NULL, &err);
	if (fd < 0)
		return;
	if (!map_believable(process, fd)) {
		close(fd);
		return;
	}
	if (process->fd >= 0)
		close(process->fd);
	process->fd = fd;
}

static void process_read(struct jit *jit, struct process *process, bool final)
{
	uint64_t bad = process->map.bad;
	struct fperf_error err;

	map_open(process);
	if (process->fd < 0)
		return;
	jit->current = process;
	if (fperf_jit__read(&process->map, process->fd, final, symbol_take, jit, &err) < 0)
		fperf_log__write(jit->context->log, FPERF_LOG_DETAIL, "process %u: %s", process->pid,
				 err.text);
	jit->bad_lines += process->map.bad - bad;
	if ((process->map.given_up || process->symbols >= MAX_SYMBOLS_PER_PROCESS) && !process->warned) {
		process->warned = true;
		fperf_log__write(jit->context->log, FPERF_LOG_WARNING,
				 "process %u: its perf map is too long: later names are missing",
				 process->pid);
	}
}

static void process_end(struct jit *jit, struct process *process)
{
	process_read(jit, process, true);
	if (process->fd >= 0)
		close(process->fd);
}

static void jit_poll(void *state, uint64_t now_ns)
{
	struct jit *jit = state;

	if (now_ns < jit->next_poll_ns)
		return;
	jit->next_poll_ns = now_ns + POLL_NS;
	for (size_t i = 0; i < jit->count; i++)
		process_read(jit, &jit->processes[i], false);
}

static void jit_on_exit(void *state, uint32_t pid)
{
	struct jit *jit = state;
	struct process *process = process_find(jit, pid);

	if (!process)
		return;
	process_end(jit, process);
	*process = jit->processes[--jit->count];
}

/* All names of processes that live; what others had was written when they ended. */
static void jit_describe(void *state, uint64_t end_ns)
{
	struct jit *jit = state;

	(void)end_ns;
	for (size_t i = 0; i < jit->count; i++) {
		jit->processes[i].map = (struct fperf_jit_map){0};
		jit->processes[i].symbols = 0;
		process_read(jit, &jit->processes[i], false);
	}
}

static void jit_stop(void *state, uint64_t end_ns)
{
	struct jit *jit = state;

	(void)end_ns;
	for (size_t i = 0; i < jit->count; i++)
		process_end(jit, &jit->processes[i]);
	if (jit->bad_lines || jit->lost)
		fperf_log__write(jit->context->log, FPERF_LOG_NOTE,
				 "perf maps: %llu lines make no sense, %llu names were not kept",
				 (unsigned long long)jit->bad_lines, (unsigned long long)jit->lost);
	free(jit->processes);
	free(jit);
}

const struct fperf_capture_source_ops fperf_source_jit = {
	.source = FPERF_SOURCE_JIT,
	.name = "jit",
	.start = jit_start,
	.on_mapping = jit_on_mapping,
	.on_exit = jit_on_exit,
	.poll = jit_poll,
	.describe = jit_describe,
	.stop = jit_stop,
};
