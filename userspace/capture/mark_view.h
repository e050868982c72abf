/* A process' own view of its files: paths inside its mount namespace and root directory. */
#ifndef FPERF_CAPTURE_MARK_VIEW_H
#define FPERF_CAPTURE_MARK_VIEW_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What makes two opened files the same. The device is that of stat(), never that of /proc/PID/maps: on
 * overlay file systems the two differ. */
struct fperf_file_id {
	uint64_t device, inode;
};

/* Opens a regular file for reading as the process sees it. Symbolic links, absolute ones too, stay within its
 * root directory; nothing else than a regular file is opened, and nothing is waited for. Returns a descriptor
 * (close-on-exec) or a negative errno. `id` may be NULL. */
int fperf_view__open(pid_t pid, const char *path, struct fperf_file_id *id, struct fperf_error *err);

/* The file behind one mapping, even if its path is gone or hidden by now: /proc/PID/map_files. */
int fperf_view__open_mapping(pid_t pid, uint64_t start, uint64_t end, struct fperf_file_id *id,
			     struct fperf_error *err);

/* Process id in its own, innermost PID namespace; `pid` itself when it cannot be known. */
pid_t fperf_view__inner_pid(pid_t pid);

/* True when the process has another mount namespace or root directory than this one. */
bool fperf_view__is_foreign(pid_t pid);

#endif
