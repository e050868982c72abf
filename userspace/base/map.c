#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

enum { SLOT_EMPTY, SLOT_LIVE, SLOT_DELETED };

/* Finaliser of MurmurHash3: spreads keys that differ in few bits, such as thread ids and addresses. */
static uint64_t mix(uint64_t key)
{
	key ^= key >> 33;
	key *= 0xff51afd7ed558ccdull;
	key ^= key >> 33;
	key *= 0xc4ceb9fe1a85ec53ull;
	return key ^ (key >> 33);
}

void fperf_map__free(struct fperf_map *map)
{
	free(map->slots);
	*map = (struct fperf_map){0};
}

static struct fperf_map_slot *slot_find(const struct fperf_map *map, uint64_t key)
{
	size_t mask = map->capacity - 1;

	if (!map->capacity)
		return NULL;
	for (size_t i = mix(key) & mask;; i = (i + 1) & mask) {
		struct fperf_map_slot *slot = &map->slots[i];

		if (slot->state == SLOT_EMPTY)
			return NULL;
		if (slot->state == SLOT_LIVE && slot->key == key)
			return slot;
	}
}

static void slot_insert(struct fperf_map *map, uint64_t key, uint64_t value)
{
	size_t mask = map->capacity - 1, i = mix(key) & mask;

	while (map->slots[i].state != SLOT_EMPTY)
		i = (i + 1) & mask;
	map->slots[i] = (struct fperf_map_slot){.key = key, .value = value, .state = SLOT_LIVE};
	map->used++;
	map->filled++;
}

static int map_resize(struct fperf_map *map)
{
	struct fperf_map grown = {.capacity = 16};

	while (grown.capacity * 7 / 20 <= map->used)
		grown.capacity *= 2;
	grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].state == SLOT_LIVE)
			slot_insert(&grown, map->slots[i].key, map->slots[i].value);
	free(map->slots);
	*map = grown;
	return 0;
}

int fperf_map__set(struct fperf_map *map, uint64_t key, uint64_t value)
{
	struct fperf_map_slot *slot = slot_find(map, key);

	if (slot) {
		slot->value = value;
		return 0;
	}
	if ((map->filled + 1) * 10 > map->capacity * 7 && map_resize(map))
		return -ENOMEM;
	slot_insert(map, key, value);
	return 0;
}

bool fperf_map__get(const struct fperf_map *map, uint64_t key, uint64_t *value)
{
	const struct fperf_map_slot *slot = slot_find(map, key);

	if (slot && value)
		*value = slot->value;
	return slot != NULL;
}

bool fperf_map__remove(struct fperf_map *map, uint64_t key)
{
	struct fperf_map_slot *slot = slot_find(map, key);

	if (!slot)
		return false;
	slot->state = SLOT_DELETED;
	map->used--;
	return true;
}

bool fperf_map__next(const struct fperf_map *map, size_t *cursor, uint64_t *key, uint64_t *value)
{
	while (*cursor < map->capacity) {
		const struct fperf_map_slot *slot = &map->slots[(*cursor)++];

		if (slot->state != SLOT_LIVE)
			continue;
		*key = slot->key;
		*value = slot->value;
		return true;
	}
	return false;
}
