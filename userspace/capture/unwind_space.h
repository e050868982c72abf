/* Who owns which part of a linear space: first fit, and what is freed rests a while before it is used again,
 * because a BPF program on another CPU may still be looking at it.
 */
#ifndef FPERF_CAPTURE_UNWIND_SPACE_H
#define FPERF_CAPTURE_UNWIND_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Programs run for microseconds; this is generous. */
#define FPERF_UNWIND_REST_NS 200000000ull

struct fperf_unwind_extent {
	uint32_t first, count;
	uint64_t freed_ns;
};

struct fperf_unwind_space {
	struct fperf_unwind_extent *free; /* sorted, never adjacent */
	size_t free_count, free_capacity;
	struct fperf_unwind_extent *resting; /* in order of time */
	size_t resting_count, resting_capacity;
	uint32_t used; /* resting included */
};

int fperf_unwind_space__init(struct fperf_unwind_space *space, uint32_t size); /* 0 or -ENOMEM */
void fperf_unwind_space__destroy(struct fperf_unwind_space *space);

/* False when there is no room for `count` (at least 1) in one piece. */
bool fperf_unwind_space__take(struct fperf_unwind_space *space, uint32_t count, uint32_t *first);

/* Gives back what take returned. Out of memory, it is lost until destroy. */
void fperf_unwind_space__give(struct fperf_unwind_space *space, uint32_t first, uint32_t count,
			      uint64_t now_ns);

/* Makes what has rested free again; `visit` (may be NULL) is told of each. */
void fperf_unwind_space__settle(struct fperf_unwind_space *space, uint64_t now_ns,
				void (*visit)(void *context, uint32_t first, uint32_t count), void *context);

#endif
