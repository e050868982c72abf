/* Asks Vulkan drivers where they present, in helper processes that run beside the recording. */
#ifndef FPERF_CAPTURE_VULKAN_ASK_H
#define FPERF_CAPTURE_VULKAN_ASK_H

#include "base/error.h"
#include "base/log.h"
#include "capture/mark_view.h"
#include "capture/vulkan_cache.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The hidden subcommand that a helper runs: `PROGRAM vulkan-present PID DRIVER`. It prints "0xOFFSET PATH";
 * or a reason, after "absent: " when the driver works but finds nothing here that could present. */
#define FPERF_VULKAN_COMMAND "vulkan-present"
#define FPERF_VULKAN_ABSENT  "absent: "

struct fperf_vulkan_ask;

/* `program` runs the helpers; NULL: only the cache answers. `cache` is a directory. Both are borrowed. */
int fperf_vulkan_ask__new(const char *program, const char *cache, const struct fperf_log *log,
			  struct fperf_vulkan_ask **ask, struct fperf_error *err);
void fperf_vulkan_ask__free(struct fperf_vulkan_ask *ask); /* ends helpers that still run */

/* Asks the driver at `path`, as process `pid` sees it, once per file. `in_use`: the process has loaded it, so
 * that the user should know of a failure. */
void fperf_vulkan_ask__driver(struct fperf_vulkan_ask *ask, pid_t pid, const char *path, bool in_use);

/* Takes the next answer that is there: where to put the probe. Never waits. */
bool fperf_vulkan_ask__next(struct fperf_vulkan_ask *ask, pid_t *pid, struct fperf_vulkan_answer *answer);

/* CPU time of the helpers that have ended. */
uint64_t fperf_vulkan_ask__cpu_ns(const struct fperf_vulkan_ask *ask);

/* Waits up to `timeout_ms` for helpers to end. */
void fperf_vulkan_ask__wait(struct fperf_vulkan_ask *ask, int timeout_ms);

#endif
