/* Unwind tables kept on disk by build ID, so that a game's second recording finds them ready: see
 * base/cache_dir.h. Nothing in a file is believed before it has been checked. */
#ifndef FPERF_UNWIND_CACHE_H
#define FPERF_UNWIND_CACHE_H

#include "unwind/table.h"

#include <stdbool.h>

struct fperf_unwind_cache_dir;

/* `path` NULL: see base/cache_dir.h; kind "unwind". `limit` in bytes; 0: 256 MiB. */
int fperf_unwind_cache__open(const char *path, uint64_t limit, struct fperf_unwind_cache_dir **cache,
			     struct fperf_error *err);
void fperf_unwind_cache__close(struct fperf_unwind_cache_dir *cache);

/* True when the cache has this file's table. Files without a build ID are never cached. `cache` may be NULL.
 */
bool fperf_unwind_cache__load(const struct fperf_unwind_cache_dir *cache, const struct fperf_elf *elf,
			      struct fperf_unwind_table *table);
void fperf_unwind_cache__store(const struct fperf_unwind_cache_dir *cache, const struct fperf_elf *elf,
			       const struct fperf_unwind_table *table);

#endif
