#include "aggregate/stack_table.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#define DEPTH 20

static void stack_make(struct fperf_stack_frame frames[DEPTH], uint32_t number)
{
	memset(frames, 0, DEPTH * sizeof(*frames));
	for (uint32_t i = 0; i < DEPTH; i++) {
		frames[i].module = 1 + i % 3;
		frames[i].kind = i ? FPERF_FRAME_RETURN : FPERF_FRAME_PC;
		frames[i].offset = 0x1000 + i * 0x40 + (i < 4 ? (number >> (8 * i) & 0xff) * 16 : 0);
	}
}

static uint32_t intern(struct fperf_stack_table *table, uint32_t number, bool *is_new)
{
	struct fperf_stack_frame frames[DEPTH];

	stack_make(frames, number);
	return fperf_stack_table__intern(table, FPERF_STACK_COMPLETE, frames, DEPTH, is_new);
}

static struct fperf_stack_table *table_new(uint32_t limit, uint64_t (*hash)(const void *, size_t))
{
	struct fperf_stack_table_options options = {.limit = limit, .hash = hash};
	struct fperf_stack_table *table = fperf_stack_table__new(&options);

	cr_assert_not_null(table);
	return table;
}

static uint64_t hash_constant(const void *bytes, size_t size)
{
	(void)bytes;
	(void)size;
	return 42;
}

static uint64_t hash_few(const void *bytes, size_t size)
{
	return fperf_fnv1a(bytes, size) & 63;
}

/* Published test vectors of FNV-1a, 64 bits. */
Test(aggregate, fnv1a_matches_published_vectors)
{
	cr_assert_eq(fperf_fnv1a("", 0), 0xcbf29ce484222325ull);
	cr_assert_eq(fperf_fnv1a("a", 1), 0xaf63dc4c8601ec8cull);
	cr_assert_eq(fperf_fnv1a("foobar", 6), 0x85944171f73967e8ull);
}

Test(aggregate, equal_stacks_have_equal_ids)
{
	struct fperf_stack_table *table = table_new(0, NULL);
	struct fperf_stack_table_stats stats;
	bool is_new;

	cr_assert_eq(intern(table, 7, &is_new), 1);
	cr_assert(is_new);
	cr_assert_eq(intern(table, 8, &is_new), 2);
	cr_assert(is_new);
	cr_assert_eq(intern(table, 7, &is_new), 1);
	cr_assert_not(is_new);
	fperf_stack_table__stats(table, &stats);
	cr_assert_eq(stats.lookups, 3);
	cr_assert_eq(stats.stacks, 2);
	cr_assert_eq(stats.first_level_hits, 1);
	cr_assert_eq(stats.second_level_slots, FPERF_STACK_TABLE_SECOND_LEVEL);
	fperf_stack_table__free(table);
}

/* Every field that tells stacks apart makes a stack of its own. */
Test(aggregate, stacks_differ_in_any_field)
{
	struct fperf_stack_frame base = {.module = 1, .offset = 0x100}, variants[7];
	struct fperf_stack_table *table = table_new(0, NULL);
	bool is_new;

	for (size_t i = 0; i < 7; i++)
		variants[i] = base;
	variants[1].module = 2;
	variants[2].offset = 0x101;
	variants[3].kind = FPERF_FRAME_PC;
	variants[4].kernel = 1;
	variants[5].offset = UINT64_MAX;
	variants[6].module = UINT32_MAX;
	for (uint32_t i = 0; i < 7; i++)
		cr_assert_eq(fperf_stack_table__intern(table, 1, &variants[i], 1, &is_new), i + 1);
	cr_assert_eq(fperf_stack_table__intern(table, 2, &base, 1, &is_new), 8, "outcome");
	cr_assert_eq(fperf_stack_table__intern(table, 1, variants, 2, &is_new), 9, "count");
	cr_assert_eq(fperf_stack_table__intern(table, 1, NULL, 0, &is_new), 10, "empty");
	for (uint32_t i = 0; i < 7; i++) {
		cr_assert_eq(fperf_stack_table__intern(table, 1, &variants[i], 1, &is_new), i + 1);
		cr_assert_not(is_new);
	}
	fperf_stack_table__free(table);
}

Test(aggregate, equal_hashes_are_told_apart)
{
	struct fperf_stack_table *table = table_new(0, hash_constant);
	struct fperf_stack_table_stats stats;
	bool is_new;

	for (uint32_t i = 0; i < 200; i++)
		cr_assert_eq(intern(table, i, &is_new), i + 1);
	for (uint32_t i = 0; i < 200; i++) {
		cr_assert_eq(intern(table, i, &is_new), i + 1);
		cr_assert_not(is_new);
	}
	fperf_stack_table__stats(table, &stats);
	cr_assert_eq(stats.stacks, 200);
	cr_assert_gt(stats.hash_collisions, 200u * 199u / 2);
	fperf_stack_table__free(table);
}

/* Collisions while the table grows: nothing is lost or mixed up, whether in the old array or the new. */
Test(aggregate, growth_keeps_colliding_stacks)
{
	struct fperf_stack_table *table = table_new(0, hash_few);
	struct fperf_stack_table_stats stats;
	const uint32_t count = FPERF_STACK_TABLE_SECOND_LEVEL * 7 / 10 + 300;
	bool is_new;

	for (uint32_t i = 0; i < count; i++)
		cr_assert_eq(intern(table, i, &is_new), i + 1);
	fperf_stack_table__stats(table, &stats);
	cr_assert_eq(stats.growths, 1);
	cr_assert(stats.growing);
	for (uint32_t i = 0; i < count; i += 17) {
		cr_assert_eq(intern(table, i, &is_new), i + 1);
		cr_assert_not(is_new);
	}
	fperf_stack_table__free(table);
}

/* No lookup does more than its share of growing, growing is over before the next one begins, and the load
 * never passes 70 %. */
Test(aggregate, growth_is_spread_over_lookups)
{
	struct fperf_stack_table *table = table_new(0, NULL);
	struct fperf_stack_table_stats stats;
	const uint32_t count = 300000;
	uint64_t growths = 0, grown_at = 0;
	bool is_new, was_growing = false;

	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(intern(table, i, &is_new), i + 1);
		fperf_stack_table__stats(table, &stats);
		cr_assert_leq(stats.second_level_used * 10, stats.second_level_slots * 7);
		if (stats.growths != growths) {
			cr_assert_not(was_growing, "growth %lu began while the last one went on",
				      (unsigned long)stats.growths);
			growths = stats.growths;
			grown_at = i;
		}
		if (was_growing && !stats.growing)
			cr_assert_geq(i - grown_at,
				      stats.second_level_slots / 2 / FPERF_STACK_TABLE_MOVES - 1);
		was_growing = stats.growing;
	}
	cr_assert_eq(growths, 6, "8192 slots double six times for 300000 stacks");
	cr_assert_leq(stats.most_moves, FPERF_STACK_TABLE_MOVES);
	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(intern(table, i, &is_new), i + 1);
		cr_assert_not(is_new);
	}
	fperf_stack_table__free(table);
}

/* A hot stack stays found, whatever else overflows the table. */
Test(aggregate, limit_loses_new_stacks_only)
{
	struct fperf_stack_table *table = table_new(100, NULL);
	struct fperf_stack_table_stats stats;
	bool is_new;

	for (uint32_t i = 0; i < 1000; i++) {
		cr_assert_eq(intern(table, 0, &is_new), 1);
		cr_assert_eq(intern(table, i, &is_new), i < 100 ? i + 1 : 0);
	}
	fperf_stack_table__stats(table, &stats);
	cr_assert_eq(stats.stacks, 100);
	cr_assert_eq(stats.lost, 900);
	cr_assert_eq(stats.lookups, 2000);
	fperf_stack_table__free(table);
}

Test(aggregate, deepest_stack_with_widest_numbers_fits)
{
	struct fperf_stack_frame frames[FPERF_STACK_TABLE_DEPTH] = {0};
	struct fperf_stack_table *table = table_new(0, NULL);
	bool is_new;

	for (size_t i = 0; i < FPERF_STACK_TABLE_DEPTH; i++) {
		frames[i].module = i % 2 ? UINT32_MAX : 0;
		frames[i].offset = i % 2 ? 1ull << 63 : 0;
		frames[i].kernel = 1;
		frames[i].kind = FPERF_FRAME_GAP;
	}
	cr_assert_eq(fperf_stack_table__intern(table, 1, frames, FPERF_STACK_TABLE_DEPTH, &is_new), 1);
	cr_assert_eq(fperf_stack_table__intern(table, 1, frames, FPERF_STACK_TABLE_DEPTH, &is_new), 1);
	cr_assert_eq(fperf_stack_table__intern(table, 1, frames, FPERF_STACK_TABLE_DEPTH + 1, &is_new), 0,
		     "deeper is refused");
	fperf_stack_table__free(table);
}
