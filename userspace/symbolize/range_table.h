/* Which name owns an address: ranges that may overlap as they are added, disjoint once sealed. */
#ifndef FPERF_SYMBOLIZE_RANGE_TABLE_H
#define FPERF_SYMBOLIZE_RANGE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct fperf_range {
	uint64_t start, end; /* end is the first address behind the range */
	const char *name;    /* borrowed, NUL-terminated */
	const char *group;   /* borrowed; what the name belongs to (kernel module), or NULL */
};

/* A zeroed struct is an empty table. */
struct fperf_range_table {
	struct fperf_range *ranges;
	size_t count, capacity;
};

void fperf_range_table__free(struct fperf_range_table *table);

/* Empty ranges (end <= start) are ignored. Returns 0 or -ENOMEM. */
int fperf_range_table__add(struct fperf_range_table *table, const struct fperf_range *range);

/* Makes the ranges disjoint and sorted: where ranges overlap, the one that was added last owns the addresses.
 * O(n log n). Returns 0, or -ENOMEM, which leaves an empty table. */
int fperf_range_table__seal(struct fperf_range_table *table);

/* The range of a sealed table that holds `address`, or NULL. */
const struct fperf_range *fperf_range_table__find(const struct fperf_range_table *table, uint64_t address);

#endif
