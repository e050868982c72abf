/* The watcher behind `frameperf arm`. */
#ifndef FPERF_TOOLS_ARM_WATCH_H
#define FPERF_TOOLS_ARM_WATCH_H

#include "base/error.h"
#include "console.h"

/* Lies in wait until a signal ends it; then recordings that run are ended first. Returns 0, or an error when
 * it could not begin. */
int fperf_arm_watch(const char *config_path, struct fperf_console *console, struct fperf_error *err);

#endif
