/* Files on disk that only save time: a directory of ours alone, with a bound on its size.
 *
 * The directory must belong to us and be writable by nobody else, and so must each file. Files appear whole
 * or not at all (written beside their place, then moved there), so any number of processes may use a
 * directory at the same time; of two that write the same file the last one's stays. What is read is bounded,
 * and still has to be checked by the caller. A cache that cannot be used only costs time: reading and
 * writing do not report failures.
 */
#ifndef FPERF_BASE_CACHE_DIR_H
#define FPERF_BASE_CACHE_DIR_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPERF_CACHE_NAME_MAX 96

struct fperf_cache_dir;

struct fperf_cache_options {
	const char *path;   /* NULL: see below */
	const char *kind;   /* what is kept, also the directory's name: "unwind" */
	const char *suffix; /* of its files' names, with the dot: others are left alone */
	uint64_t limit;	    /* bytes: the files that were written longest ago are removed when it is opened */
};

/* Without a path: $XDG_CACHE_HOME/frameperf/KIND if that variable is set and the directory is ours, else
 * /var/cache/frameperf/KIND as root and ~/.cache/frameperf/KIND otherwise. Makes the directory if need be. */
int fperf_cache_dir__open(const struct fperf_cache_options *options, struct fperf_cache_dir **cache,
			  struct fperf_error *err);
void fperf_cache_dir__close(struct fperf_cache_dir *cache);

/* The name of a build ID's file: its digits and the suffix. `cache` must be open. */
void fperf_cache_dir__name(const struct fperf_cache_dir *cache, const uint8_t *build_id, size_t size,
			   char name[FPERF_CACHE_NAME_MAX]);

/* The whole file, at most `limit` bytes: malloc()ed, NULL when there is none, it is not ours, or larger. */
void *fperf_cache_dir__read(const struct fperf_cache_dir *cache, const char *name, size_t limit,
			    size_t *size);

/* One of the parts may have size 0. */
void fperf_cache_dir__write(const struct fperf_cache_dir *cache, const char *name, const void *head,
			    size_t head_size, const void *body, size_t body_size);

#endif
