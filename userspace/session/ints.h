/* Arrays of integers as byte planes: all lowest bytes, then all second bytes, and so on. Values of one column
 * differ most in their low bytes, so the high planes compress to nearly nothing and the low ones are not
 * diluted by them. */
#ifndef FPERF_SESSION_INTS_H
#define FPERF_SESSION_INTS_H

#include "base/buf.h"
#include "base/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPERF_PAYLOAD_CUTS 256

/* The raw payload of a chunk while it is built. `cuts` are offsets at which the statistics of the bytes
 * change: the compressor begins a new block there. */
struct fperf_payload {
	struct fperf_buf bytes;
	size_t cuts[FPERF_PAYLOAD_CUTS];
	size_t cut_count;
	uint64_t *values; /* room for one column */
	size_t value_capacity;
};

void fperf_payload__init(struct fperf_payload *payload);
void fperf_payload__free(struct fperf_payload *payload);
void fperf_payload__clear(struct fperf_payload *payload);
void fperf_payload__cut(struct fperf_payload *payload); /* at the current end */

/* payload->values with room for `count`; NULL and payload->bytes.failed when out of memory. */
uint64_t *fperf_payload__values(struct fperf_payload *payload, size_t count);

/* One byte with the width in bytes (1 to 8), one with the number of low bits that are 0 in all values and not
 * stored (0 to 63), then `width` planes of `count` bytes. The signed form is folded after the shift. */
void fperf_ints__put(struct fperf_payload *payload, const uint64_t *values, size_t count);

/* Of two's complement values, which it overwrites. */
void fperf_ints__put_signed(struct fperf_payload *payload, uint64_t *values, size_t count);

struct fperf_ints {
	const uint8_t *planes;
	size_t count;
	uint8_t width;
	uint8_t shift;
};

/* Takes an array of `count` integers off the reader; false when it is not there in full. */
bool fperf_ints__take(struct fperf_reader *reader, size_t count, struct fperf_ints *ints);

static inline uint64_t fperf_ints__stored(const struct fperf_ints *ints, size_t index)
{
	uint64_t value = 0;

	for (unsigned int plane = 0; plane < ints->width; plane++)
		value |= (uint64_t)ints->planes[plane * ints->count + index] << (8 * plane);
	return value;
}

static inline uint64_t fperf_ints__get(const struct fperf_ints *ints, size_t index)
{
	return fperf_ints__stored(ints, index) << ints->shift;
}

/* Two's complement. */
static inline uint64_t fperf_ints__get_signed(const struct fperf_ints *ints, size_t index)
{
	uint64_t folded = fperf_ints__stored(ints, index);

	return ((folded >> 1) ^ (~(folded & 1) + 1)) << ints->shift;
}

#endif
