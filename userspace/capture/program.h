/* Loading BPF objects: one per concern, with the maps that they share. */
#ifndef FPERF_CAPTURE_PROGRAM_H
#define FPERF_CAPTURE_PROGRAM_H

#include "base/error.h"
#include "frameperf/reasons.h"

#include <bpf/libbpf.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPERF_SHARED_MAPS 32

/* Maps by name: the first object that has one creates it, later objects reuse it. */
struct fperf_shared_maps {
	struct {
		char name[32];
		int fd;
	} maps[FPERF_SHARED_MAPS];
	size_t count;
	uint32_t *programs; /* ids of the loaded programs */
	size_t program_count, program_capacity;
	/* A page of the map of targets, which has a byte for each thread group id: to map all of it costs
	 * memory for every page. NULL before the first load. */
	uint8_t *target_page;
	uint32_t target_first;	/* thread group id of its first byte */
	char kernel_log[16384]; /* of the last load that failed */
};

void fperf_shared_maps__init(struct fperf_shared_maps *shared);
void fperf_shared_maps__close(struct fperf_shared_maps *shared);

/* Descriptor of a shared map, -1 when no loaded object has it. */
int fperf_shared_maps__fd(const struct fperf_shared_maps *shared, const char *name);

/* Options for opening a skeleton so that a failed load can say why. Valid as long as `shared`. */
void fperf_program__open_options(struct fperf_shared_maps *shared, struct bpf_object_open_opts *options);

/* Loads an opened object, sharing the maps whose names are known; every map whose name starts with "fperf_"
 * and is not marked private by a name ending in "_scratch" is shared. On failure `err` says what the verifier
 * or kernel said. */
int fperf_program__load(struct fperf_shared_maps *shared, struct bpf_object *object, const char *name,
			struct fperf_error *err);

/* Attaches one program to what its section says. The link is the caller's. */
int fperf_program__attach(struct bpf_object *object, const char *program, struct bpf_link **link,
			  struct fperf_error *err);

/* Gives a loaded program its variables anew: `map` is that of its section .data, which only we write.
 * Negative errno. */
int fperf_program__set_data(const struct bpf_map *map, const void *data);

/* What the programs are told of the size of kernel stacks (bpf/regs.h): a lower bound. */
uint32_t fperf_program__kernel_stack_size(void);

/* Run time of the programs loaded with fperf_program__load(), as far as the kernel has counted it. */
uint64_t fperf_program__run_ns(const struct fperf_shared_maps *shared);

/* Runs and run time of the programs of a name; NULL: of all. */
struct fperf_program_cost {
	uint64_t runs, run_ns;
};

void fperf_program__cost(const struct fperf_shared_maps *shared, const char *name,
			 struct fperf_program_cost *cost);

/* What the sample program measured of itself, where the kernel does not. False when it did not. */
struct fperf_self_time;
bool fperf_program__self_time(const struct fperf_shared_maps *shared, struct fperf_self_time *time);

/* The target set. */
void fperf_targets__add(struct fperf_shared_maps *shared, uint32_t pid);
void fperf_targets__remove(struct fperf_shared_maps *shared, uint32_t pid);
bool fperf_targets__has(struct fperf_shared_maps *shared, uint32_t pid);

/* Reads the loss counters, summed over CPUs. False when no object is loaded. */
bool fperf_losses__read(const struct fperf_shared_maps *shared,
			uint64_t lost[FPERF_SOURCES][FPERF_LOSS_REASONS]);

#endif
