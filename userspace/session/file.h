/* The session file on the disk, as the writer sees it: whole pieces are appended or nothing is. */
#ifndef FPERF_SESSION_FILE_H
#define FPERF_SESSION_FILE_H

#include "base/error.h"
#include "session/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fperf_file {
	int fd;
	char *path;
	uint64_t size;	   /* bytes of whole pieces */
	uint64_t max_size; /* never grows beyond this; 0: no bound */
	bool no_reserve;   /* the file system cannot keep space in reserve */
};

/* Creates the file, or replaces a regular file; refuses symbolic links and everything else. Only the owner
 * may read it. (uid_t)-1 and (gid_t)-1: as it is. */
int fperf_file__create(struct fperf_file *file, const char *path, uid_t uid, gid_t gid,
		       struct fperf_error *err);

/* Appends all bytes, or fails and leaves the file as it was. Some space behind the end is always kept in
 * reserve, where the file system can do that; only a `last` append may use it. */
int fperf_file__append(struct fperf_file *file, const void *bytes, size_t size, bool last,
		       struct fperf_error *err);

int fperf_file__sync(struct fperf_file *file, struct fperf_error *err);

/* Gives back the reserve and closes, also on failure. */
int fperf_file__close(struct fperf_file *file, struct fperf_error *err);

/* The file as a sink; it stays the caller's, who must not move it meanwhile. */
struct fperf_sink fperf_file__sink(struct fperf_file *file);

#endif
