/* Which processes are those that a watcher waits for. */
#ifndef FPERF_TOOLS_ARM_FIND_H
#define FPERF_TOOLS_ARM_FIND_H

#include "arm_config.h"

#include <stdint.h>
#include <sys/types.h>

/* Looks at every process once, and calls for each that a target means: by its name (comm), by that of its
 * program file, by the name it was called by, or by the whole path of its program file; where name and exe
 * are given both must be right. The watcher itself and what it has started are passed over. */
int fperf_arm_find(const struct fperf_arm_config *config,
		   void (*found)(void *context, const struct fperf_arm_target *target, pid_t pid),
		   void *context, struct fperf_error *err);

/* The last part of a path. */
const char *fperf_path_name(const char *path);

#endif
