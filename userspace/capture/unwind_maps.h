/* The unwinder's BPF maps (bpf/unwind.h), as the recorder writes them: by plain stores into mapped memory,
 * except for the process entries, which are a hash. Shards are mapped only while they are written, since the
 * recorder is charged for every page that it has mapped.
 */
#ifndef FPERF_CAPTURE_UNWIND_MAPS_H
#define FPERF_CAPTURE_UNWIND_MAPS_H

#include "base/error.h"
#include "capture/program.h"
#include "capture/unwind_space.h"
#include "frameperf/unwind_row.h"

#include <stdbool.h>
#include <stdint.h>

struct fperf_unwind_shard {
	bool exists;
	int fd;
	uint32_t used;
};

struct fperf_unwind_maps {
	int shards_fd, processes_fd, stats_fd;
	struct fperf_unwind_module *modules;   /* FPERF_UNWIND_MODULES */
	struct fperf_unwind_mapping *mappings; /* FPERF_UNWIND_MAPPINGS */
	size_t modules_size, mappings_size;
	struct fperf_unwind_space cells;
	struct fperf_unwind_shard shards[FPERF_UNWIND_SHARDS];
	uint32_t shard_count;
};

/* `cell_limit` bounds the memory of all tables. -ENODEV when no loaded program unwinds. */
int fperf_unwind_maps__open(const struct fperf_shared_maps *shared, uint32_t cell_limit,
			    struct fperf_unwind_maps *maps, struct fperf_error *err);
void fperf_unwind_maps__close(struct fperf_unwind_maps *maps);

/* Room for `count` cells, with the shards that hold them. -ENOSPC: none; -errno and `err` when a shard cannot
 * be made.
 */
int fperf_unwind_maps__take_cells(struct fperf_unwind_maps *maps, uint32_t count, uint32_t *first,
				  struct fperf_error *err);
int fperf_unwind_maps__write_cells(struct fperf_unwind_maps *maps, uint32_t first, const uint64_t *cells,
				   uint32_t count, struct fperf_error *err);
void fperf_unwind_maps__give_cells(struct fperf_unwind_maps *maps, uint32_t first, uint32_t count,
				   uint64_t now_ns);

/* Lets go of what has rested, and of shards that are empty. */
void fperf_unwind_maps__settle(struct fperf_unwind_maps *maps, uint64_t now_ns);

/* Makes the module visible to the unwinder, its state last. */
void fperf_unwind_maps__set_module(struct fperf_unwind_maps *maps, uint32_t slot,
				   const struct fperf_unwind_module *module);

int fperf_unwind_maps__set_process(struct fperf_unwind_maps *maps, uint32_t pid,
				   const struct fperf_unwind_process *process);
void fperf_unwind_maps__remove_process(struct fperf_unwind_maps *maps, uint32_t pid);

/* Summed over CPUs. */
void fperf_unwind_maps__stats(const struct fperf_unwind_maps *maps, struct fperf_unwind_stats *stats);

#endif
