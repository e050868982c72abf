#include "base/strtab.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

struct entry {
	char *bytes;
	size_t size;
	uint64_t hash;
	uint32_t next; /* next id in the same bucket, 0 ends the list */
};

struct fperf_strtab {
	struct entry *entries;
	size_t count, capacity;
	uint32_t *buckets;
	size_t bucket_count; /* power of two */
};

static uint64_t hash_bytes(const uint8_t *bytes, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return hash;
}

struct fperf_strtab *fperf_strtab__new(void)
{
	struct fperf_strtab *tab = calloc(1, sizeof(*tab));

	if (!tab)
		return NULL;
	tab->bucket_count = 64;
	tab->buckets = calloc(tab->bucket_count, sizeof(*tab->buckets));
	if (!tab->buckets || !fperf_vec__push(&tab->entries, &tab->count, &tab->capacity)) {
		fperf_strtab__free(tab);
		return NULL;
	}
	return tab;
}

void fperf_strtab__free(struct fperf_strtab *tab)
{
	if (!tab)
		return;
	for (size_t i = 0; i < tab->count; i++)
		free(tab->entries[i].bytes);
	free(tab->entries);
	free(tab->buckets);
	free(tab);
}

static void buckets_grow(struct fperf_strtab *tab)
{
	size_t bucket_count = tab->bucket_count * 2;
	uint32_t *buckets = calloc(bucket_count, sizeof(*buckets));

	if (!buckets)
		return; /* longer lists are slower, not wrong */
	for (uint32_t id = 1; id < tab->count; id++) {
		uint32_t *head = &buckets[tab->entries[id].hash & (bucket_count - 1)];

		tab->entries[id].next = *head;
		*head = id;
	}
	free(tab->buckets);
	tab->buckets = buckets;
	tab->bucket_count = bucket_count;
}

uint32_t fperf_strtab__intern(struct fperf_strtab *tab, const void *bytes, size_t size)
{
	uint64_t hash;
	struct entry *entry;
	char *copy;
	uint32_t id;

	if (!size)
		return 0;
	hash = hash_bytes(bytes, size);
	for (id = tab->buckets[hash & (tab->bucket_count - 1)]; id; id = tab->entries[id].next) {
		entry = &tab->entries[id];
		if (entry->hash == hash && entry->size == size && !memcmp(entry->bytes, bytes, size))
			return id;
	}
	if (tab->count >= UINT32_MAX)
		return 0;
	copy = malloc(size + 1);
	if (!copy)
		return 0;
	entry = fperf_vec__push(&tab->entries, &tab->count, &tab->capacity);
	if (!entry) {
		free(copy);
		return 0;
	}
	memcpy(copy, bytes, size);
	copy[size] = '\0';
	id = (uint32_t)(tab->count - 1);
	*entry = (struct entry){.bytes = copy, .size = size, .hash = hash};
	entry->next = tab->buckets[hash & (tab->bucket_count - 1)];
	tab->buckets[hash & (tab->bucket_count - 1)] = id;
	if (tab->count > tab->bucket_count)
		buckets_grow(tab);
	return id;
}

const char *fperf_strtab__get(const struct fperf_strtab *tab, uint32_t id, size_t *size)
{
	const struct entry *entry = id < tab->count ? &tab->entries[id] : &tab->entries[0];

	if (size)
		*size = entry->size;
	return entry->bytes ? entry->bytes : "";
}

uint32_t fperf_strtab__count(const struct fperf_strtab *tab)
{
	return (uint32_t)tab->count;
}
