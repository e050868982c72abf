#include "aggregate/mapping_set.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

struct closed {
	struct fperf_mapping mappings[16];
	size_t count;
};

static void closed_note(void *context, const struct fperf_mapping *old)
{
	struct closed *closed = context;

	cr_assert_lt(closed->count, 16);
	closed->mappings[closed->count++] = *old;
}

static struct fperf_mapping *put(struct fperf_mapping_set *set, struct closed *closed, uint64_t start,
				 uint64_t end, uint32_t module, uint64_t time)
{
	struct fperf_mapping mapping = {
		.start = start, .end = end, .bias = module * 0x10ull, .module = module, .from_ns = time};

	return fperf_mapping_set__put(set, &mapping, closed_note, closed);
}

static uint32_t module_at(struct fperf_mapping_set *set, uint64_t address)
{
	const struct fperf_mapping *mapping = fperf_mapping_set__find(set, address);

	return mapping ? mapping->module : 0;
}

Test(aggregate, mappings_are_found_by_address)
{
	struct fperf_mapping_set set = {0};
	struct closed closed = {0};

	cr_assert_null(fperf_mapping_set__find(&set, 0x1000));
	put(&set, &closed, 0x3000, 0x4000, 3, 1);
	put(&set, &closed, 0x1000, 0x2000, 1, 1);
	put(&set, &closed, 0x2000, 0x3000, 2, 1);
	cr_assert_eq(module_at(&set, 0xfff), 0);
	cr_assert_eq(module_at(&set, 0x1000), 1);
	cr_assert_eq(module_at(&set, 0x1fff), 1);
	cr_assert_eq(module_at(&set, 0x2000), 2);
	cr_assert_eq(module_at(&set, 0x3fff), 3);
	cr_assert_eq(module_at(&set, 0x4000), 0);
	cr_assert_eq(closed.count, 0);
	fperf_mapping_set__free(&set);
}

Test(aggregate, same_mapping_again_changes_nothing)
{
	struct fperf_mapping_set set = {0};
	struct closed closed = {0};

	put(&set, &closed, 0x1000, 0x5000, 1, 1)->written = true;
	cr_assert(put(&set, &closed, 0x1000, 0x5000, 1, 9)->written);
	cr_assert(put(&set, &closed, 0x2000, 0x3000, 1, 9)->written, "a part of one that is there");
	cr_assert_eq(set.count, 1);
	cr_assert_eq(set.mappings[0].from_ns, 1);
	cr_assert_eq(closed.count, 0);
	fperf_mapping_set__free(&set);
}

Test(aggregate, new_mapping_takes_the_place_of_old_ones)
{
	struct fperf_mapping_set set = {0};
	struct closed closed = {0};

	put(&set, &closed, 0x1000, 0x3000, 1, 1);
	put(&set, &closed, 0x3000, 0x4000, 2, 1);
	put(&set, &closed, 0x4000, 0x6000, 3, 1);
	put(&set, &closed, 0x2000, 0x5000, 4, 7);
	cr_assert_eq(closed.count, 3);
	cr_assert_eq(closed.mappings[0].end, 0x3000, "closed as it was, not trimmed");
	cr_assert_eq(set.count, 3);
	cr_assert_eq(module_at(&set, 0x1fff), 1);
	cr_assert_eq(module_at(&set, 0x2000), 4);
	cr_assert_eq(module_at(&set, 0x4fff), 4);
	cr_assert_eq(module_at(&set, 0x5000), 3);
	cr_assert_eq(set.mappings[0].from_ns, 7, "what is left begins anew");
	cr_assert_eq(set.mappings[2].bias, 0x30, "and keeps its file offsets");
	fperf_mapping_set__free(&set);
}

Test(aggregate, mapping_in_the_middle_splits)
{
	struct fperf_mapping_set set = {0};
	struct closed closed = {0};

	put(&set, &closed, 0x1000, 0x9000, 1, 1);
	put(&set, &closed, 0x3000, 0x4000, 2, 2);
	cr_assert_eq(closed.count, 1);
	cr_assert_eq(set.count, 3);
	cr_assert_eq(module_at(&set, 0x2fff), 1);
	cr_assert_eq(module_at(&set, 0x3000), 2);
	cr_assert_eq(module_at(&set, 0x4000), 1);
	fperf_mapping_set__free(&set);
}

/* Against a model of one entry per page. */
Test(aggregate, random_mappings_match_a_page_table)
{
	struct fperf_mapping_set set = {0};
	uint32_t pages[256] = {0};

	srand(1);
	for (uint32_t i = 1; i < 5000; i++) {
		struct closed closed = {0};
		uint32_t first = (uint32_t)rand() % 250, count = 1 + (uint32_t)rand() % 6, kind = 1 + i % 40;

		cr_assert_not_null(
			put(&set, &closed, first * 0x1000ull, (first + count) * 0x1000ull, kind, i));
		for (uint32_t page = first; page < first + count; page++)
			pages[page] = kind;
		for (uint32_t page = 0; page < 256; page++)
			cr_assert_eq(module_at(&set, page * 0x1000ull + 0x123), pages[page]);
	}
	fperf_mapping_set__free(&set);
}

Test(aggregate, split_moves_what_began_late)
{
	struct fperf_mapping_set set = {0}, late = {0}, copy = {0};
	struct closed closed = {0};

	put(&set, &closed, 0x1000, 0x2000, 1, 10);
	put(&set, &closed, 0x5000, 0x6000, 2, 20);
	put(&set, &closed, 0x3000, 0x4000, 3, 30);
	cr_assert_eq(fperf_mapping_set__copy(&copy, &set), 0);
	cr_assert_eq(copy.count, 3);
	cr_assert_eq(fperf_mapping_set__split(&set, &late, 20), 0);
	cr_assert_eq(set.count, 1);
	cr_assert_eq(late.count, 2);
	cr_assert_eq(module_at(&late, 0x3000), 3);
	cr_assert_eq(module_at(&late, 0x1000), 0);
	fperf_mapping_set__free(&set);
	fperf_mapping_set__free(&late);
	fperf_mapping_set__free(&copy);
}
