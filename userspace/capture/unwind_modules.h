/* Modules of the target and their unwind tables: built by a thread of low priority, put into the BPF maps,
 * dropped when nobody maps them or when there is no room.
 */
#ifndef FPERF_CAPTURE_UNWIND_MODULES_H
#define FPERF_CAPTURE_UNWIND_MODULES_H

#include "base/error.h"
#include "base/log.h"
#include "capture/source.h"
#include "capture/unwind_maps.h"

#include <stdint.h>

struct fperf_unwind_modules;

/* `cache_path` as for fperf_unwind_cache__open(). Without `tables` none are built: modules are only known.
 * The maps are borrowed, and written by the thread until free. */
int fperf_unwind_modules__new(struct fperf_unwind_maps *maps, const char *cache_path, bool tables,
			      const struct fperf_log *log, struct fperf_unwind_modules **modules,
			      struct fperf_error *err);
void fperf_unwind_modules__free(struct fperf_unwind_modules *modules);

/* Slot of the mapping's module, with one more user; the table follows when it is built. Opens the mapped file
 * while the process lives. FPERF_UNWIND_NO_MODULE for memory that no file backs. */
uint32_t fperf_unwind_modules__get(struct fperf_unwind_modules *modules,
				   const struct fperf_capture_mapping *mapping);
void fperf_unwind_modules__retain(struct fperf_unwind_modules *modules, uint32_t slot);
void fperf_unwind_modules__put(struct fperf_unwind_modules *modules, uint32_t slot);

/* Drops what has been idle, asks again for what was dropped and is wanted. Cheap; once a second is enough. */
void fperf_unwind_modules__poll(struct fperf_unwind_modules *modules, uint64_t now_ns);

/* A new descriptor of the module's file, the caller's to close, and its name; -1 when there is none. */
int fperf_unwind_modules__file(struct fperf_unwind_modules *modules, uint32_t slot, char *name, size_t size);

struct fperf_unwind_modules_stats {
	uint64_t built, from_cache, without_rows, failed, evicted;
	uint64_t build_ns;    /* CPU time of the thread */
	uint64_t rows, cells; /* now in the maps */
};

void fperf_unwind_modules__stats(struct fperf_unwind_modules *modules,
				 struct fperf_unwind_modules_stats *stats);

#endif
