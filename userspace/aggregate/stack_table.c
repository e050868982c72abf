#include "aggregate/stack_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT (1u << 20)
#define BLOCK_BYTES   (64u << 10)
/* Outcome; per stack frame a module delta (33 bits after zigzag, 3 bits of kind) and an offset delta. */
#define CODED_MAX (1 + FPERF_STACK_TABLE_DEPTH * (6 + 10))

_Static_assert(CODED_MAX <= BLOCK_BYTES, "one coded stack fits a block");

/* A stack in either level; id 0 marks an empty slot. */
struct slot {
	uint64_t hash;
	const uint8_t *coded;
	uint32_t size;
	uint32_t id;
};

struct level {
	struct slot *slots;
	size_t capacity; /* power of two */
};

/* Coded stacks are appended to blocks that never move. */
struct block {
	struct block *next;
	size_t used;
	uint8_t bytes[BLOCK_BYTES];
};

struct fperf_stack_table {
	struct slot first[FPERF_STACK_TABLE_FIRST_LEVEL];
	struct level second;
	struct level old; /* while growing: slots below `moved` are also in `second` */
	size_t moved;
	size_t used; /* stacks in the table; ids are base + 1 .. base + used */
	uint32_t base;
	uint64_t forgotten; /* stacks before the last restart */
	struct block *blocks;
	uint32_t limit;
	uint64_t (*hash)(const void *bytes, size_t size);
	struct fperf_stack_table_stats stats;
	uint8_t coded[CODED_MAX]; /* of the stack that is being looked up */
};

/* Fowler, Noll and Vo's hash, variant 1a, 64 bits: draft-eastlake-fnv, parameters of section 5. */
uint64_t fperf_fnv1a(const void *bytes, size_t size)
{
	const uint8_t *byte = bytes;
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < size; i++) {
		hash ^= byte[i];
		hash *= 0x100000001b3ull;
	}
	return hash;
}

struct fperf_stack_table *fperf_stack_table__new(const struct fperf_stack_table_options *options)
{
	struct fperf_stack_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->limit = options->limit ? options->limit : DEFAULT_LIMIT;
	table->hash = options->hash ? options->hash : fperf_fnv1a;
	table->second.capacity = FPERF_STACK_TABLE_SECOND_LEVEL;
	table->second.slots = calloc(table->second.capacity, sizeof(*table->second.slots));
	if (!table->second.slots) {
		free(table);
		return NULL;
	}
	table->stats.bytes = sizeof(*table) + table->second.capacity * sizeof(struct slot);
	return table;
}

static void blocks_free(struct fperf_stack_table *table)
{
	for (struct block *block = table->blocks, *next; block; block = next) {
		next = block->next;
		free(block);
	}
	table->blocks = NULL;
}

int fperf_stack_table__restart(struct fperf_stack_table *table)
{
	struct level fresh = {.capacity = FPERF_STACK_TABLE_SECOND_LEVEL};

	fresh.slots = calloc(fresh.capacity, sizeof(*fresh.slots));
	if (!fresh.slots)
		return -ENOMEM;
	blocks_free(table);
	free(table->second.slots);
	free(table->old.slots);
	memset(table->first, 0, sizeof(table->first));
	table->second = fresh;
	table->old = (struct level){0};
	table->moved = 0;
	table->base += (uint32_t)table->used;
	if (table->base > UINT32_MAX / 2) /* long after all that had low ids are gone */
		table->base = 0;
	table->forgotten += table->used;
	table->used = 0;
	table->stats.bytes = sizeof(*table) + fresh.capacity * sizeof(struct slot);
	return 0;
}

void fperf_stack_table__free(struct fperf_stack_table *table)
{
	if (!table)
		return;
	blocks_free(table);
	free(table->second.slots);
	free(table->old.slots);
	free(table);
}

static uint8_t *varint_put(uint8_t *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*out++ = (uint8_t)(value | 0x80);
	*out++ = (uint8_t)value;
	return out;
}

static uint64_t zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

/* One to one: different stacks have different coded forms. */
static size_t stack_code(uint8_t *coded, uint8_t outcome, const struct fperf_stack_frame *frames,
			 uint32_t count)
{
	uint8_t *out = coded;
	uint64_t offset = 0;
	uint32_t module = 0;

	*out++ = outcome;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t delta = zigzag((int64_t)frames[i].module - module);

		out = varint_put(out, delta << 3 | (frames[i].kernel & 1u) << 2 | (frames[i].kind & 3u));
		out = varint_put(out, zigzag((int64_t)(frames[i].offset - offset)));
		module = frames[i].module;
		offset = frames[i].offset;
	}
	return (size_t)(out - coded);
}

static bool slot_matches(struct fperf_stack_table *table, const struct slot *slot, uint64_t hash, size_t size)
{
	if (slot->hash != hash)
		return false;
	if (slot->size == size && memcmp(slot->coded, table->coded, size) == 0)
		return true;
	table->stats.hash_collisions++;
	return false;
}

/* The slot that holds the stack, or the empty one that ends its probe sequence. */
static struct slot *level_find(struct fperf_stack_table *table, const struct level *level, uint64_t hash,
			       size_t size)
{
	size_t mask = level->capacity - 1;

	/* The low bits choose the first level's slot: take others here, so that stacks which fight for one
	 * slot there do not also lie in one row here. */
	for (size_t i = (hash ^ hash >> 32) & mask;; i = (i + 1) & mask) {
		struct slot *slot = &level->slots[i];

		table->stats.second_level_probes++;
		if (!slot->id || slot_matches(table, slot, hash, size))
			return slot;
	}
}

static void level_insert(struct level *level, const struct slot *slot)
{
	size_t mask = level->capacity - 1, i = (slot->hash ^ slot->hash >> 32) & mask;

	while (level->slots[i].id)
		i = (i + 1) & mask;
	level->slots[i] = *slot;
}

/* Moves a few slots. The old array is left as it is until all are moved, since its probe sequences must stay
 * whole. Moving at least 2 per insertion suffices to be done before the grown array is 70 % full. */
static void growth_step(struct fperf_stack_table *table)
{
	uint64_t moves = 0;

	while (moves < FPERF_STACK_TABLE_MOVES && table->moved < table->old.capacity) {
		const struct slot *slot = &table->old.slots[table->moved++];

		moves++;
		if (slot->id)
			level_insert(&table->second, slot);
	}
	if (moves > table->stats.most_moves)
		table->stats.most_moves = moves;
	if (table->moved < table->old.capacity)
		return;
	table->stats.bytes -= table->old.capacity * sizeof(struct slot);
	free(table->old.slots);
	table->old = (struct level){0};
}

/* calloc() of a large array maps untouched pages, so that clearing it is spread over the insertions, too. */
static void growth_begin(struct fperf_stack_table *table)
{
	struct level grown = {.capacity = table->second.capacity * 2};

	grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return;
	table->old = table->second;
	table->second = grown;
	table->moved = 0;
	table->stats.growths++;
	table->stats.bytes += grown.capacity * sizeof(struct slot);
}

static const uint8_t *coded_keep(struct fperf_stack_table *table, size_t size)
{
	struct block *block = table->blocks;
	uint8_t *bytes;

	if (!block || block->used + size > BLOCK_BYTES) {
		block = malloc(sizeof(*block));
		if (!block)
			return NULL;
		block->next = table->blocks;
		block->used = 0;
		table->blocks = block;
		table->stats.bytes += sizeof(*block);
	}
	bytes = block->bytes + block->used;
	block->used += size;
	return memcpy(bytes, table->coded, size);
}

/* False when there is no room: at the limit, or out of memory. */
static bool stack_add(struct fperf_stack_table *table, uint64_t hash, size_t size, struct slot *added)
{
	if (table->used >= table->limit)
		return false;
	if (!table->old.slots && (table->used + 1) * 10 > table->second.capacity * 7)
		growth_begin(table);
	if ((table->used + 1) * 10 > table->second.capacity * 7)
		return false;
	*added = (struct slot){.hash = hash, .size = (uint32_t)size, .coded = coded_keep(table, size)};
	if (!added->coded)
		return false;
	added->id = table->base + (uint32_t)++table->used;
	level_insert(&table->second, added);
	return true;
}

uint32_t fperf_stack_table__intern(struct fperf_stack_table *table, uint8_t outcome,
				   const struct fperf_stack_frame *frames, uint32_t count, bool *is_new)
{
	struct slot *first, *found, added;
	uint64_t hash;
	size_t size;

	*is_new = false;
	table->stats.lookups++;
	if (count > FPERF_STACK_TABLE_DEPTH) {
		table->stats.lost++;
		return 0;
	}
	size = stack_code(table->coded, outcome, frames, count);
	hash = table->hash(table->coded, size);
	first = &table->first[hash & (FPERF_STACK_TABLE_FIRST_LEVEL - 1)];
	if (table->old.slots)
		growth_step(table);
	if (first->id && slot_matches(table, first, hash, size)) {
		table->stats.first_level_hits++;
		return first->id;
	}
	found = level_find(table, &table->second, hash, size);
	if (!found->id && table->old.slots)
		found = level_find(table, &table->old, hash, size);
	if (found->id) {
		table->stats.second_level_hits++;
		*first = *found;
		return first->id;
	}
	if (!stack_add(table, hash, size, &added)) {
		table->stats.lost++;
		return 0;
	}
	*first = added;
	*is_new = true;
	return added.id;
}

void fperf_stack_table__stats(const struct fperf_stack_table *table, struct fperf_stack_table_stats *stats)
{
	*stats = table->stats;
	stats->stacks = table->forgotten + table->used;
	stats->second_level_slots = table->second.capacity;
	stats->second_level_used = table->used;
	stats->growing = table->old.slots != NULL;
}
