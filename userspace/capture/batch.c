#include "capture/batch.h"

#include "base/vec.h"

#include <stdlib.h>

void fperf_batch__init(struct fperf_batch *batch, size_t limit_bytes)
{
	*batch = (struct fperf_batch){0};
	fperf_buf__init(&batch->data, limit_bytes);
}

void fperf_batch__free(struct fperf_batch *batch)
{
	fperf_buf__free(&batch->data);
	free(batch->items);
	*batch = (struct fperf_batch){0};
}

void fperf_batch__clear(struct fperf_batch *batch)
{
	fperf_buf__clear(&batch->data);
	batch->count = 0;
}

void fperf_batch__add(struct fperf_batch *batch, enum fperf_batch_kind kind, uint64_t time_ns,
		      const void *data, size_t size)
{
	size_t padded = (size + 7) & ~(size_t)7, offset = batch->data.size; /* records hold 64-bit fields */
	struct fperf_batch_item *item;
	uint8_t *room = fperf_buf__reserve(&batch->data, padded);

	item = room ? fperf_vec__push(&batch->items, &batch->count, &batch->capacity) : NULL;
	if (!item) {
		batch->data.failed = false;
		batch->dropped++;
		return;
	}
	fperf_buf__append(&batch->data, data, size);
	batch->data.size = offset + padded;
	*item = (struct fperf_batch_item){.time_ns = time_ns,
					  .kind = kind,
					  .size = (uint32_t)size,
					  .offset = offset,
					  .order = batch->count};
}

static int item_compare(const void *left, const void *right)
{
	const struct fperf_batch_item *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

void fperf_batch__sort(struct fperf_batch *batch)
{
	if (batch->count > 1)
		qsort(batch->items, batch->count, sizeof(*batch->items), item_compare);
}
