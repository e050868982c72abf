/* One drain round: records of all sources, brought into order of time before anyone sees them. */
#ifndef FPERF_CAPTURE_BATCH_H
#define FPERF_CAPTURE_BATCH_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

enum fperf_batch_kind {
	FPERF_BATCH_WIRE,    /* struct fperf_wire_…: a ring map's record */
	FPERF_BATCH_MAPPING, /* struct fperf_sideband_mapping */
};

struct fperf_batch_item {
	uint64_t time_ns;
	uint32_t kind;
	uint32_t size;
	size_t offset; /* in data */
	size_t order;  /* keeps equal times as they came */
};

struct fperf_batch {
	struct fperf_buf data, kept; /* kept: swapped with data by fperf_batch__drop_first() */
	struct fperf_batch_item *items;
	size_t count, capacity;
	uint64_t dropped; /* records that found no room */
};

void fperf_batch__init(struct fperf_batch *batch, size_t limit_bytes);
void fperf_batch__free(struct fperf_batch *batch);

/* Forgets the first `count` items; the rest stays, in its order, for the next round. */
void fperf_batch__drop_first(struct fperf_batch *batch, size_t count);

/* Copies a record in; without room it is counted in `dropped`. */
void fperf_batch__add(struct fperf_batch *batch, enum fperf_batch_kind kind, uint64_t time_ns,
		      const void *data, size_t size);
void fperf_batch__sort(struct fperf_batch *batch);

static inline void *fperf_batch__data(const struct fperf_batch *batch, const struct fperf_batch_item *item)
{
	return batch->data.data + item->offset;
}

#endif
