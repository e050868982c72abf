#include "capture/unwind_space.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int fperf_unwind_space__init(struct fperf_unwind_space *space, uint32_t size)
{
	struct fperf_unwind_extent *extent;

	*space = (struct fperf_unwind_space){0};
	extent = fperf_vec__push(&space->free, &space->free_count, &space->free_capacity);
	if (!extent)
		return -ENOMEM;
	extent->count = size;
	return 0;
}

void fperf_unwind_space__destroy(struct fperf_unwind_space *space)
{
	free(space->free);
	free(space->resting);
	*space = (struct fperf_unwind_space){0};
}

bool fperf_unwind_space__take(struct fperf_unwind_space *space, uint32_t count, uint32_t *first)
{
	for (size_t i = 0; i < space->free_count; i++) {
		struct fperf_unwind_extent *extent = &space->free[i];

		if (extent->count < count)
			continue;
		*first = extent->first;
		extent->first += count;
		extent->count -= count;
		if (!extent->count) {
			space->free_count--;
			memmove(extent, extent + 1, (space->free_count - i) * sizeof(*extent));
		}
		space->used += count;
		return true;
	}
	return false;
}

void fperf_unwind_space__give(struct fperf_unwind_space *space, uint32_t first, uint32_t count,
			      uint64_t now_ns)
{
	struct fperf_unwind_extent *extent =
		fperf_vec__push(&space->resting, &space->resting_count, &space->resting_capacity);

	if (extent)
		*extent = (struct fperf_unwind_extent){first, count, now_ns};
}

static void extent_free(struct fperf_unwind_space *space, uint32_t first, uint32_t count)
{
	struct fperf_unwind_extent *left, *right;
	size_t at = 0;

	while (at < space->free_count && space->free[at].first < first)
		at++;
	left = at ? &space->free[at - 1] : NULL;
	right = at < space->free_count ? &space->free[at] : NULL;
	space->used -= count;
	if (left && left->first + left->count == first) {
		left->count += count;
		if (right && left->first + left->count == right->first) {
			left->count += right->count;
			space->free_count--;
			memmove(right, right + 1, (space->free_count - at) * sizeof(*right));
		}
		return;
	}
	if (right && first + count == right->first) {
		right->first = first;
		right->count += count;
		return;
	}
	if (!fperf_vec__push(&space->free, &space->free_count, &space->free_capacity))
		return;
	memmove(&space->free[at + 1], &space->free[at], (space->free_count - 1 - at) * sizeof(*space->free));
	space->free[at] = (struct fperf_unwind_extent){first, count, 0};
}

void fperf_unwind_space__settle(struct fperf_unwind_space *space, uint64_t now_ns,
				void (*visit)(void *context, uint32_t first, uint32_t count), void *context)
{
	size_t done = 0;

	while (done < space->resting_count &&
	       now_ns - space->resting[done].freed_ns >= FPERF_UNWIND_REST_NS) {
		const struct fperf_unwind_extent *extent = &space->resting[done++];

		extent_free(space, extent->first, extent->count);
		if (visit)
			visit(context, extent->first, extent->count);
	}
	if (!done)
		return;
	space->resting_count -= done;
	memmove(space->resting, space->resting + done, space->resting_count * sizeof(*space->resting));
}
