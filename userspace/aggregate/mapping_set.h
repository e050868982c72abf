/* The executable mappings of one process as they are now, sorted by address, never overlapping. */
#ifndef FPERF_AGGREGATE_MAPPING_SET_H
#define FPERF_AGGREGATE_MAPPING_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPERF_MAPPING_SET_MAX 65536 /* about the kernel's own default limit, vm.max_map_count */

struct fperf_mapping {
	uint64_t start, end;
	uint64_t bias; /* the module's offset of an address is address - bias, modulo 2^64 */
	uint64_t from_ns;
	uint32_t module;
	bool written; /* the session has a record of it */
};

struct fperf_mapping_set {
	struct fperf_mapping *mappings;
	size_t count, capacity;
	size_t last; /* where the last lookup ended: stacks stay in few modules */
};

/* A zeroed struct is an empty set. */
void fperf_mapping_set__free(struct fperf_mapping_set *set);
int fperf_mapping_set__copy(struct fperf_mapping_set *to, const struct fperf_mapping_set *from); /* -ENOMEM */

/* NULL when no mapping covers the address. Valid until the set changes. */
struct fperf_mapping *fperf_mapping_set__find(struct fperf_mapping_set *set, uint64_t address);

/* Puts a mapping in place of whatever overlaps it: `closed` is called for each mapping that ends by this,
 * before anything changes; parts of them that stick out stay, as mappings of their own that begin at
 * mapping->from_ns. A mapping that is there already, or a part of one, changes nothing. Returns the mapping
 * in the set, or NULL when out of memory or at FPERF_MAPPING_SET_MAX. */
struct fperf_mapping *fperf_mapping_set__put(struct fperf_mapping_set *set,
					     const struct fperf_mapping *mapping,
					     void (*closed)(void *context, const struct fperf_mapping *old),
					     void *context);

/* Moves the mappings that began at or after `from_ns` to another, empty set. */
int fperf_mapping_set__split(struct fperf_mapping_set *from, struct fperf_mapping_set *to, uint64_t from_ns);

#endif
