/* One recording that a watcher has started: a `frameperf record` in a process of its own. */
#ifndef FPERF_TOOLS_ARM_RECORDING_H
#define FPERF_TOOLS_ARM_RECORDING_H

#include "arm_config.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fperf_arm_recording {
	char *section;
	char *path; /* of the session, without ".fperf" */
	pid_t child, game;
	uint64_t since_s; /* Unix time */
};

/* Starts to record process `game`. It ends with the window, with the game, or with this process. `left`: so
 * many sessions a trigger may still write today. */
int fperf_arm_recording__start(const struct fperf_arm_config *config, const struct fperf_arm_target *target,
			       pid_t game, uint32_t left, struct fperf_arm_recording *recording,
			       struct fperf_error *err);

/* Counts the session files that begin with `path`, and their bytes. */
void fperf_arm_recording__count(const char *path, uint32_t *sessions, uint64_t *bytes);

void fperf_arm_recording__free(struct fperf_arm_recording *recording);

#endif
