#include "aggregate/mapping_set.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void fperf_mapping_set__free(struct fperf_mapping_set *set)
{
	free(set->mappings);
	*set = (struct fperf_mapping_set){0};
}

static int set_reserve(struct fperf_mapping_set *set, size_t need)
{
	return fperf_vec__grow((void **)&set->mappings, &set->capacity, need, sizeof(*set->mappings));
}

int fperf_mapping_set__copy(struct fperf_mapping_set *to, const struct fperf_mapping_set *from)
{
	to->count = 0;
	if (!from->count)
		return 0;
	if (set_reserve(to, from->count))
		return -ENOMEM;
	memcpy(to->mappings, from->mappings, from->count * sizeof(*from->mappings));
	to->count = from->count;
	return 0;
}

/* Index of the first mapping that ends after the address. */
static size_t set_lower(const struct fperf_mapping_set *set, uint64_t address)
{
	size_t low = 0, high = set->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->mappings[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct fperf_mapping *fperf_mapping_set__find(struct fperf_mapping_set *set, uint64_t address)
{
	struct fperf_mapping *mapping;

	if (set->last < set->count) {
		mapping = &set->mappings[set->last];
		if (address >= mapping->start && address < mapping->end)
			return mapping;
	}
	set->last = set_lower(set, address);
	if (set->last >= set->count || address < set->mappings[set->last].start)
		return NULL;
	return &set->mappings[set->last];
}

static bool mapping_covers(const struct fperf_mapping *old, const struct fperf_mapping *mapping)
{
	return old->start <= mapping->start && old->end >= mapping->end && old->module == mapping->module &&
	       old->bias == mapping->bias;
}

struct fperf_mapping *fperf_mapping_set__put(struct fperf_mapping_set *set,
					     const struct fperf_mapping *mapping,
					     void (*closed)(void *context, const struct fperf_mapping *old),
					     void *context)
{
	size_t first = set_lower(set, mapping->start), end = first, count = 0;
	struct fperf_mapping pieces[3], *place;

	if (first < set->count && mapping_covers(&set->mappings[first], mapping))
		return &set->mappings[first];
	while (end < set->count && set->mappings[end].start < mapping->end)
		end++;
	if (set->count + 2 > FPERF_MAPPING_SET_MAX || set_reserve(set, set->count + 2))
		return NULL;
	for (size_t i = first; i < end; i++)
		closed(context, &set->mappings[i]);
	if (end > first && set->mappings[first].start < mapping->start) {
		pieces[count] = set->mappings[first];
		pieces[count].end = mapping->start;
		pieces[count].from_ns = mapping->from_ns;
		pieces[count++].written = false;
	}
	place = &set->mappings[first + count];
	pieces[count++] = *mapping;
	if (end > first && set->mappings[end - 1].end > mapping->end) {
		pieces[count] = set->mappings[end - 1];
		pieces[count].start = mapping->end;
		pieces[count].from_ns = mapping->from_ns;
		pieces[count++].written = false;
	}
	memmove(set->mappings + first + count, set->mappings + end,
		(set->count - end) * sizeof(*set->mappings));
	memcpy(set->mappings + first, pieces, count * sizeof(*pieces));
	set->count = set->count - (end - first) + count;
	return place;
}

int fperf_mapping_set__split(struct fperf_mapping_set *from, struct fperf_mapping_set *to, uint64_t from_ns)
{
	size_t kept = 0;

	if (set_reserve(to, from->count))
		return -ENOMEM;
	for (size_t i = 0; i < from->count; i++) {
		if (from->mappings[i].from_ns >= from_ns)
			to->mappings[to->count++] = from->mappings[i];
		else
			from->mappings[kept++] = from->mappings[i];
	}
	from->count = kept;
	return 0;
}
