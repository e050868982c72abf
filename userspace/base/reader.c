#include "base/reader.h"

void fperf_reader__init(struct fperf_reader *reader, const void *data, size_t size)
{
	reader->pos = data;
	reader->end = size ? reader->pos + size : reader->pos;
	reader->failed = false;
}

size_t fperf_reader__left(const struct fperf_reader *reader)
{
	return reader->failed ? 0 : (size_t)(reader->end - reader->pos);
}

const uint8_t *fperf_reader__bytes(struct fperf_reader *reader, size_t size)
{
	const uint8_t *at = reader->pos;

	if (reader->failed || size > (size_t)(reader->end - reader->pos)) {
		reader->failed = true;
		return NULL;
	}
	if (size)
		reader->pos += size;
	return at;
}

void fperf_reader__skip(struct fperf_reader *reader, size_t size)
{
	fperf_reader__bytes(reader, size);
}

static uint64_t read_little_endian(struct fperf_reader *reader, unsigned int size)
{
	const uint8_t *bytes = fperf_reader__bytes(reader, size);
	uint64_t value = 0;

	for (unsigned int i = 0; bytes && i < size; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

uint8_t fperf_reader__u8(struct fperf_reader *reader)
{
	return (uint8_t)read_little_endian(reader, 1);
}

uint16_t fperf_reader__u16(struct fperf_reader *reader)
{
	return (uint16_t)read_little_endian(reader, 2);
}

uint32_t fperf_reader__u32(struct fperf_reader *reader)
{
	return (uint32_t)read_little_endian(reader, 4);
}

uint64_t fperf_reader__u64(struct fperf_reader *reader)
{
	return read_little_endian(reader, 8);
}

uint64_t fperf_reader__varint(struct fperf_reader *reader)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = fperf_reader__u8(reader);

		if (reader->failed)
			return 0;
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	reader->failed = true;
	return 0;
}

int64_t fperf_reader__zigzag(struct fperf_reader *reader)
{
	uint64_t value = fperf_reader__varint(reader);

	return (int64_t)((value >> 1) ^ (~(value & 1) + 1));
}

struct fperf_reader fperf_reader__sub(struct fperf_reader *reader, size_t size)
{
	struct fperf_reader sub = {0};
	const uint8_t *bytes = fperf_reader__bytes(reader, size);

	if (bytes)
		fperf_reader__init(&sub, bytes, size);
	else
		sub.failed = true;
	return sub;
}
