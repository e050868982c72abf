#include "symbolize/range_table.h"

#include "base/vec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void fperf_range_table__free(struct fperf_range_table *table)
{
	free(table->ranges);
	*table = (struct fperf_range_table){0};
}

int fperf_range_table__add(struct fperf_range_table *table, const struct fperf_range *range)
{
	struct fperf_range *added;

	if (range->end <= range->start)
		return 0;
	added = fperf_vec__push(&table->ranges, &table->count, &table->capacity);
	if (!added)
		return -ENOMEM;
	*added = *range;
	return 0;
}

/* The sweep over all starts and ends. `open` is a heap of the ranges that began and may not have ended yet;
 * its top is the one added last. Ranges that ended are removed when they come to the top. */
struct sweep {
	const struct fperf_range *ranges;
	size_t *open;
	size_t open_count;
	struct fperf_range_table out;
	bool failed;
};

static void heap_push(struct sweep *sweep, size_t index)
{
	size_t at = sweep->open_count++;

	while (at && sweep->open[(at - 1) / 2] < index) {
		sweep->open[at] = sweep->open[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	sweep->open[at] = index;
}

static void heap_pop(struct sweep *sweep)
{
	size_t last = sweep->open[--sweep->open_count], at = 0, count = sweep->open_count;

	for (size_t child = 1; child < count; child = 2 * at + 1) {
		if (child + 1 < count && sweep->open[child + 1] > sweep->open[child])
			child++;
		if (sweep->open[child] < last)
			break;
		sweep->open[at] = sweep->open[child];
		at = child;
	}
	if (count)
		sweep->open[at] = last;
}

static void sweep_emit(struct sweep *sweep, const struct fperf_range *owner, uint64_t start, uint64_t end)
{
	struct fperf_range_table *out = &sweep->out;
	struct fperf_range *before = out->count ? &out->ranges[out->count - 1] : NULL;
	struct fperf_range part = *owner;

	if (before && before->end == start && before->name == part.name && before->group == part.group) {
		before->end = end;
		return;
	}
	part.start = start;
	part.end = end;
	if (fperf_range_table__add(out, &part))
		sweep->failed = true;
}

/* Writes who owns the addresses from `from` up to `to`. */
static void sweep_advance(struct sweep *sweep, uint64_t from, uint64_t to)
{
	while (sweep->open_count && from < to) {
		const struct fperf_range *owner = &sweep->ranges[sweep->open[0]];
		uint64_t end = owner->end < to ? owner->end : to;

		if (owner->end > from) {
			sweep_emit(sweep, owner, from, end);
			from = end;
		}
		if (owner->end <= from)
			heap_pop(sweep);
	}
}

struct start {
	uint64_t address;
	size_t index;
};

static int start_compare(const void *a, const void *b)
{
	const struct start *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

int fperf_range_table__seal(struct fperf_range_table *table)
{
	struct sweep sweep = {.ranges = table->ranges};
	struct start *starts;
	uint64_t at = 0;

	if (!table->count)
		return 0;
	starts = malloc(table->count * sizeof(*starts));
	sweep.open = malloc(table->count * sizeof(*sweep.open));
	sweep.failed = !starts || !sweep.open;
	for (size_t i = 0; !sweep.failed && i < table->count; i++)
		starts[i] = (struct start){table->ranges[i].start, i};
	if (!sweep.failed)
		qsort(starts, table->count, sizeof(*starts), start_compare);
	for (size_t i = 0; !sweep.failed && i < table->count; i++) {
		sweep_advance(&sweep, at, starts[i].address);
		at = starts[i].address;
		heap_push(&sweep, starts[i].index);
	}
	if (!sweep.failed)
		sweep_advance(&sweep, at, UINT64_MAX);
	free(starts);
	free(sweep.open);
	fperf_range_table__free(table);
	if (sweep.failed) {
		fperf_range_table__free(&sweep.out);
		return -ENOMEM;
	}
	*table = sweep.out;
	return 0;
}

const struct fperf_range *fperf_range_table__find(const struct fperf_range_table *table, uint64_t address)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < table->count && table->ranges[low].start <= address)
		return &table->ranges[low];
	return NULL;
}
