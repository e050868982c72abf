#include "session/ints.h"

#include "base/vec.h"
#include "session/chunk.h"

#include <stdlib.h>

void fperf_payload__init(struct fperf_payload *payload)
{
	*payload = (struct fperf_payload){0};
	fperf_buf__init(&payload->bytes, FPERF_CHUNK_MAX_BYTES);
}

void fperf_payload__free(struct fperf_payload *payload)
{
	fperf_buf__free(&payload->bytes);
	free(payload->values);
	fperf_payload__init(payload);
}

void fperf_payload__clear(struct fperf_payload *payload)
{
	fperf_buf__clear(&payload->bytes);
	payload->cut_count = 0;
}

void fperf_payload__cut(struct fperf_payload *payload)
{
	if (payload->cut_count < FPERF_PAYLOAD_CUTS)
		payload->cuts[payload->cut_count++] = payload->bytes.size;
}

uint64_t *fperf_payload__values(struct fperf_payload *payload, size_t count)
{
	if (fperf_vec__grow((void **)&payload->values, &payload->value_capacity, count + 1,
			    sizeof(uint64_t))) {
		payload->bytes.failed = true;
		return NULL;
	}
	return payload->values;
}

/* Low bits that are 0 in all values. */
static unsigned int common_shift(const uint64_t *values, size_t count)
{
	uint64_t all = 0;

	for (size_t i = 0; i < count; i++)
		all |= values[i];
	return all ? (unsigned int)__builtin_ctzll(all) : 0;
}

/* Stores values >> drop, and says that they are to be shifted by `shift`. */
static void planes_put(struct fperf_payload *payload, const uint64_t *values, size_t count, unsigned int drop,
		       unsigned int shift)
{
	unsigned int width = 1;
	uint64_t all = 0;
	uint8_t *planes;

	for (size_t i = 0; i < count; i++)
		all |= values[i] >> drop;
	while (width < 8 && all >> (8 * width))
		width++;
	fperf_buf__u8(&payload->bytes, (uint8_t)width);
	fperf_buf__u8(&payload->bytes, (uint8_t)shift);
	planes = fperf_buf__reserve(&payload->bytes, width * count);
	if (!planes)
		return;
	for (unsigned int plane = 0; plane < width; plane++) {
		for (size_t i = 0; i < count; i++)
			planes[plane * count + i] = (uint8_t)(values[i] >> drop >> (8 * plane));
		payload->bytes.size += count;
		fperf_payload__cut(payload);
	}
}

void fperf_ints__put(struct fperf_payload *payload, const uint64_t *values, size_t count)
{
	unsigned int shift = common_shift(values, count);

	planes_put(payload, values, count, shift, shift);
}

void fperf_ints__put_signed(struct fperf_payload *payload, uint64_t *values, size_t count)
{
	unsigned int shift = common_shift(values, count);

	for (size_t i = 0; i < count; i++) {
		int64_t value = (int64_t)values[i] >> shift;

		values[i] = (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
	}
	planes_put(payload, values, count, 0, shift);
}

bool fperf_ints__take(struct fperf_reader *reader, size_t count, struct fperf_ints *ints)
{
	uint8_t width = fperf_reader__u8(reader), shift = fperf_reader__u8(reader);

	*ints = (struct fperf_ints){0};
	if (reader->failed || width < 1 || width > 8 || shift > 63 ||
	    count > fperf_reader__left(reader) / width) {
		reader->failed = true;
		return false;
	}
	*ints = (struct fperf_ints){.planes = fperf_reader__bytes(reader, width * count),
				    .count = count,
				    .width = width,
				    .shift = shift};
	return true;
}
