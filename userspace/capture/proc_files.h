/* What /proc says of processes, threads and mappings. All text from there is parsed within bounds. */
#ifndef FPERF_CAPTURE_PROC_FILES_H
#define FPERF_CAPTURE_PROC_FILES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_proc_task {
	uint32_t pid, tid, parent_pid;
	char name[16];	   /* NUL-terminated comm */
	char state;	   /* R, S, D, T, Z, ... */
	uint64_t start_ns; /* CLOCK_MONOTONIC; 10 ms resolution */
};

/* Reads /proc/PID/task/TID/stat. -ESRCH when it is gone. */
int fperf_proc__task(uint32_t pid, uint32_t tid, struct fperf_proc_task *task, struct fperf_error *err);

/* The parser of one stat line, for tests. `boottime_offset_ns` is CLOCK_BOOTTIME minus CLOCK_MONOTONIC. */
bool fperf_proc__parse_stat(const char *line, size_t size, long ticks_per_s, int64_t boottime_offset_ns,
			    struct fperf_proc_task *task);

/* Thread ids of a process, malloc()ed, the caller frees. -ESRCH when it is gone. */
int fperf_proc__threads(uint32_t pid, uint32_t **tids, size_t *count, struct fperf_error *err);

/* All process ids on the machine, malloc()ed. */
int fperf_proc__processes(uint32_t **pids, size_t *count, struct fperf_error *err);

/* Last number of NSpid in /proc/PID/status: the process's pid in its own namespace; 0 when not known. */
uint32_t fperf_proc__namespace_pid(uint32_t pid);

/* The same of a thread, in its process's namespace. */
uint32_t fperf_proc__namespace_tid(uint32_t pid, uint32_t tid);

/* Path of the program, as the target sees it, without " (deleted)"; "" when not known. */
void fperf_proc__exe(uint32_t pid, char *path, size_t size);

/* CPU time of a thread in ns, from schedstat. False when not known. */
bool fperf_proc__cpu_ns(uint32_t pid, uint32_t tid, uint64_t *cpu_ns);

/* The system call that a thread is in, and its arguments, from /proc/PID/task/TID/syscall. False when it is
 * in none, or runs. */
bool fperf_proc__syscall(uint32_t pid, uint32_t tid, int32_t *number, uint64_t args[3]);

struct fperf_proc_mapping {
	uint64_t start, end, file_offset;
	uint64_t device_major, device_minor, inode;
	bool executable;
	char path[4096]; /* octal escapes undone; "" for anonymous memory */
};

/* Parses one line of /proc/PID/maps, without its newline. */
bool fperf_proc__parse_mapping(const char *line, size_t size, struct fperf_proc_mapping *mapping);

/* Calls `visit` for each mapping of a process that is executable or a file's, by address. -ESRCH when it is
 * gone. */
int fperf_proc__mappings(uint32_t pid, void (*visit)(void *context, const struct fperf_proc_mapping *mapping),
			 void *context, struct fperf_error *err);

/* A path that opens the very file that is mapped at [start, end), even if another has its name by now. If
 * only its name is left to go by, the file must have `inode` (0: not known). False when there is none. */
bool fperf_proc__image(uint32_t pid, uint64_t start, uint64_t end, const char *path, uint64_t inode,
		       char *image, size_t size);

#endif
