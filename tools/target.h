/* Which processes to record. */
#ifndef FPERF_TOOLS_TARGET_H
#define FPERF_TOOLS_TARGET_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct fperf_pids {
	pid_t *pids;
	size_t count, capacity;
};

void fperf_pids__free(struct fperf_pids *pids);

/* "PID[,PID…]"; appends. */
int fperf_pids__parse(struct fperf_pids *pids, const char *text, struct fperf_error *err);

/* Each must be a process that lives; the id of a thread is replaced by that of its process. */
int fperf_pids__check(struct fperf_pids *pids, struct fperf_error *err);

/* Appends the processes whose name (comm) or program file is called `name`, except this one. Returns how
 * many. */
int fperf_pids__find(struct fperf_pids *pids, const char *name, struct fperf_error *err);

/* The process's name (comm), "" when it is gone. */
void fperf_process_name(pid_t pid, char *name, size_t size);

#endif
