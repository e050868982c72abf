#include "capture/batch.h"

#include "base/vec.h"

#include <stdlib.h>

void fperf_batch__init(struct fperf_batch *batch, size_t limit_bytes)
{
	*batch = (struct fperf_batch){0};
	fperf_buf__init(&batch->data, limit_bytes);
	fperf_buf__init(&batch->kept, limit_bytes);
}

void fperf_batch__free(struct fperf_batch *batch)
{
	fperf_buf__free(&batch->data);
	fperf_buf__free(&batch->kept);
	free(batch->items);
	*batch = (struct fperf_batch){0};
}

void fperf_batch__drop_first(struct fperf_batch *batch, size_t count)
{
	struct fperf_buf swap = batch->data;
	size_t rest = 0;

	fperf_buf__clear(&batch->kept);
	for (size_t i = count; i < batch->count; i++) {
		struct fperf_batch_item *item = &batch->items[i];
		size_t padded = (item->size + 7) & ~(size_t)7;

		/* the data behind an item is padded too, see fperf_batch__add() */
		item->order = rest;
		fperf_buf__append(&batch->kept, batch->data.data + item->offset, padded);
		if (batch->kept.failed) { /* out of memory: the buffer was empty */
			batch->dropped += batch->count - i;
			break;
		}
		item->offset = batch->kept.size - padded;
		batch->items[rest++] = *item;
	}
	batch->count = rest;
	batch->data = batch->kept;
	batch->data.failed = false;
	batch->kept = swap;
	batch->kept.failed = false;
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
