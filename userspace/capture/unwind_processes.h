/* What the unwinder knows of each target process: its executable mappings, sorted, as one run in a BPF map.
 */
#ifndef FPERF_CAPTURE_UNWIND_PROCESSES_H
#define FPERF_CAPTURE_UNWIND_PROCESSES_H

#include "base/error.h"
#include "capture/source.h"
#include "capture/unwind_maps.h"
#include "capture/unwind_modules.h"

#include <stdint.h>

struct fperf_unwind_processes;

int fperf_unwind_processes__new(struct fperf_unwind_maps *maps, struct fperf_unwind_modules *modules,
				struct fperf_unwind_processes **processes, struct fperf_error *err);
void fperf_unwind_processes__free(struct fperf_unwind_processes *processes);

/* Replaces what it overlaps. Out of memory, the mapping is not known. */
void fperf_unwind_processes__map(struct fperf_unwind_processes *processes,
				 const struct fperf_capture_mapping *mapping);

/* A new process begins with its parent's mappings. */
void fperf_unwind_processes__fork(struct fperf_unwind_processes *processes, uint32_t parent, uint32_t child);

/* Writes the process's entry again: BPF drops it at an exec, maybe after the new image's mappings have come.
 */
void fperf_unwind_processes__renew(struct fperf_unwind_processes *processes, uint32_t pid);

/* Keeps only the mappings that `holds` confirms: after an exec, those of the image before are gone. */
void fperf_unwind_processes__keep(struct fperf_unwind_processes *processes, uint32_t pid,
				  bool (*holds)(void *context, uint64_t start, uint64_t end), void *context);
void fperf_unwind_processes__exit(struct fperf_unwind_processes *processes, uint32_t pid);

/* Writes what has changed since the last time into the BPF maps. */
void fperf_unwind_processes__flush(struct fperf_unwind_processes *processes, uint64_t now_ns);

/* The sorted mappings of a process, valid until the next change; returns their version, which every change
 * raises. */
uint64_t fperf_unwind_processes__mappings(const struct fperf_unwind_processes *processes, uint32_t pid,
					  const struct fperf_unwind_mapping **mappings, size_t *count);
uint64_t fperf_unwind_processes__version(const struct fperf_unwind_processes *processes, uint32_t pid);

struct fperf_unwind_processes_stats {
	uint64_t processes, mappings; /* now */
	uint64_t no_room;	      /* times that a process did not fit into the maps */
};

void fperf_unwind_processes__stats(const struct fperf_unwind_processes *processes,
				   struct fperf_unwind_processes_stats *stats);

#endif
