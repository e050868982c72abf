/* What `frameperf arm` remembers: what it does now, for --status, and what must survive a restart: how much
 * of the daily quotas is used, and which processes have had their recording. One JSON file in a directory of
 * root's own. */
#ifndef FPERF_TOOLS_ARM_STATE_H
#define FPERF_TOOLS_ARM_STATE_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fperf_arm_state {
	char *directory;
	int lock;     /* held as long as the watcher lives */
	json_t *root; /* see docs/arming.md */
};

/* Makes the directory where it is missing, takes the lock (-EBUSY: another watcher has it) and reads what is
 * remembered. A file that cannot be read is begun anew. */
int fperf_arm_state__open(const char *directory, struct fperf_arm_state *state, struct fperf_error *err);
void fperf_arm_state__close(struct fperf_arm_state *state);

/* Replaces the file as a whole. */
int fperf_arm_state__write(struct fperf_arm_state *state, struct fperf_error *err);

/* For --status: what a watcher wrote last; NULL when there is nothing. `running`: it lives. */
json_t *fperf_arm_state__peek(const char *directory, bool *running);

/* A new day begins with unused quotas. True when there is one. */
bool fperf_arm_state__day(struct fperf_arm_state *state);

/* The entry of a target, which is made when it is missing; NULL when out of memory. Borrowed. */
json_t *fperf_arm_state__target(struct fperf_arm_state *state, const char *section);

/* Processes that have had their recording: by target, process id and start time (ticks since boot). Those
 * that have ended are forgotten. */
bool fperf_arm_state__is_done(const struct fperf_arm_state *state, const char *section, pid_t pid,
			      uint64_t start);
void fperf_arm_state__done(struct fperf_arm_state *state, const char *section, pid_t pid, uint64_t start);

/* Start time of a process in ticks since boot, 0 when it does not live. */
uint64_t fperf_process_start(pid_t pid);

/* Makes a directory and those above it, where they are missing. */
int fperf_directory_make(const char *path, mode_t mode, struct fperf_error *err);

#endif
