/* Interns stacks: equal stacks get equal ids.
 *
 * Two levels. The first is a direct-mapped cache of 4096 slots, indexed by the low bits of the hash: a game's
 * stacks repeat, so most lookups end there. Behind it lies open addressing with linear probing, 8192 slots at
 * the start and at most 70 % full. It doubles by steps: the old array stays readable while each later lookup
 * moves a few of its slots, so that no single operation pays for the whole growth. Equal hashes are confirmed
 * by comparing the stacks.
 *
 * Stacks are held delta and varint coded, some 5 bytes a stack frame, and hashed in that form by 64-bit
 * FNV-1a.
 */
#ifndef FPERF_AGGREGATE_STACK_TABLE_H
#define FPERF_AGGREGATE_STACK_TABLE_H

#include "frameperf/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPERF_STACK_TABLE_FIRST_LEVEL  4096
#define FPERF_STACK_TABLE_SECOND_LEVEL 8192 /* at the start */
#define FPERF_STACK_TABLE_MOVES	       8    /* slots moved to the grown array per lookup, at most */

struct fperf_stack_table;

struct fperf_stack_table_options {
	uint32_t limit; /* stacks kept before new ones are counted as lost; 0: 1 << 20 */
	uint64_t (*hash)(const void *bytes, size_t size); /* NULL: fperf_fnv1a; tests force collisions */
};

struct fperf_stack_table_stats {
	uint64_t stacks; /* different ones since the last restart, all before it */
	uint64_t lookups;
	uint64_t first_level_hits;
	uint64_t second_level_hits;
	uint64_t second_level_probes; /* slots looked at */
	uint64_t hash_collisions;     /* equal hash, different stack */
	uint64_t second_level_slots;  /* capacity; the grown one while growing */
	uint64_t second_level_used;
	uint64_t growths;    /* begun */
	uint64_t most_moves; /* slots moved in one lookup, at most */
	uint64_t lost;	     /* lookups without an id: limit reached or out of memory */
	uint64_t bytes;	     /* memory of coded stacks and slots */
	bool growing;
};

uint64_t fperf_fnv1a(const void *bytes, size_t size);

struct fperf_stack_table *fperf_stack_table__new(const struct fperf_stack_table_options *options);
void fperf_stack_table__free(struct fperf_stack_table *table);

/* The id (from 1, dense) of a stack; *is_new tells that it was not there before. 0 when it is not there and
 * cannot be added: counted as lost, and stacks that are in the table go on being found. `count` is at most
 * FPERF_STACK_TABLE_DEPTH. */
#define FPERF_STACK_TABLE_DEPTH 512
uint32_t fperf_stack_table__intern(struct fperf_stack_table *table, uint8_t outcome,
				   const struct fperf_stack_frame *frames, uint32_t count, bool *is_new);

/* Forgets all stacks; ids go on from where they were. -ENOMEM leaves the table as it was. */
int fperf_stack_table__restart(struct fperf_stack_table *table);

void fperf_stack_table__stats(const struct fperf_stack_table *table, struct fperf_stack_table_stats *stats);

#endif
