/* Hash table from 64-bit keys to 64-bit values: open addressing, grows by doubling at 70 %. For bookkeeping;
 * the stack table of aggregate/ has its own structure. */
#ifndef FPERF_BASE_MAP_H
#define FPERF_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_map_slot {
	uint64_t key;
	uint64_t value;
	uint8_t state;
};

struct fperf_map {
	struct fperf_map_slot *slots;
	size_t capacity; /* 0 or a power of two */
	size_t used;	 /* live entries */
	size_t filled;	 /* live and deleted entries */
};

/* A zeroed struct is an empty map. */
void fperf_map__free(struct fperf_map *map);
int fperf_map__set(struct fperf_map *map, uint64_t key, uint64_t value); /* 0 or -ENOMEM; replaces */
bool fperf_map__get(const struct fperf_map *map, uint64_t key, uint64_t *value);
bool fperf_map__remove(struct fperf_map *map, uint64_t key);

/* Iterates in no particular order: start with *cursor = 0; false at the end. The map must not change
 * meanwhile. */
bool fperf_map__next(const struct fperf_map *map, size_t *cursor, uint64_t *key, uint64_t *value);

#endif
