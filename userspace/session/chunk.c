#include "session/chunk.h"

#include <string.h>

/* Four bits at a time: sessions are small, a table of 16 is enough. */
uint32_t fperf_crc32(const void *data, size_t size)
{
	static const uint32_t table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	const uint8_t *bytes = data;
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < size; i++) {
		crc ^= bytes[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

/* Fixed places in headers, little endian. */
static void put(uint8_t *at, uint64_t value, unsigned int size)
{
	for (unsigned int i = 0; i < size; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *at, unsigned int size)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < size; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

void fperf_file_header__pack(const struct fperf_file_header *header, uint8_t bytes[FPERF_FILE_HEADER_SIZE])
{
	memset(bytes, 0, FPERF_FILE_HEADER_SIZE);
	memcpy(bytes, FPERF_FILE_MAGIC, FPERF_FILE_MAGIC_SIZE);
	put(bytes + 8, header->major, 2);
	put(bytes + 10, header->minor, 2);
	put(bytes + 12, header->size, 4);
	memcpy(bytes + 16, header->uuid, sizeof(header->uuid));
	put(bytes + 60, fperf_crc32(bytes, 60), 4);
}

bool fperf_file_header__unpack(struct fperf_file_header *header, const uint8_t bytes[FPERF_FILE_HEADER_SIZE])
{
	if (memcmp(bytes, FPERF_FILE_MAGIC, FPERF_FILE_MAGIC_SIZE) ||
	    get(bytes + 60, 4) != fperf_crc32(bytes, 60))
		return false;
	header->major = (uint16_t)get(bytes + 8, 2);
	header->minor = (uint16_t)get(bytes + 10, 2);
	header->size = (uint32_t)get(bytes + 12, 4);
	memcpy(header->uuid, bytes + 16, sizeof(header->uuid));
	return header->size >= FPERF_FILE_HEADER_SIZE;
}

uint32_t fperf_file_header__tag(const struct fperf_file_header *header)
{
	return (uint32_t)get(header->uuid, 4);
}

void fperf_chunk_header__pack(const struct fperf_chunk_header *header, uint8_t bytes[FPERF_CHUNK_HEADER_SIZE])
{
	memset(bytes, 0, FPERF_CHUNK_HEADER_SIZE);
	put(bytes, FPERF_CHUNK_MAGIC, 4);
	put(bytes + 4, header->tag, 4);
	put(bytes + 8, header->type, 2);
	put(bytes + 10, header->codec, 1);
	put(bytes + 12, header->sequence, 4);
	put(bytes + 16, header->stored_size, 4);
	put(bytes + 20, header->raw_size, 4);
	put(bytes + 24, header->count, 4);
	put(bytes + 28, header->payload_checksum, 4);
	put(bytes + 32, header->first_ns, 8);
	put(bytes + 40, header->last_ns, 8);
	put(bytes + 52, fperf_crc32(bytes, 52), 4);
}

bool fperf_chunk_header__unpack(struct fperf_chunk_header *header,
				const uint8_t bytes[FPERF_CHUNK_HEADER_SIZE])
{
	if (get(bytes, 4) != FPERF_CHUNK_MAGIC || get(bytes + 52, 4) != fperf_crc32(bytes, 52))
		return false;
	*header = (struct fperf_chunk_header){
		.tag = (uint32_t)get(bytes + 4, 4),
		.type = (uint16_t)get(bytes + 8, 2),
		.codec = bytes[10],
		.sequence = (uint32_t)get(bytes + 12, 4),
		.stored_size = (uint32_t)get(bytes + 16, 4),
		.raw_size = (uint32_t)get(bytes + 20, 4),
		.count = (uint32_t)get(bytes + 24, 4),
		.payload_checksum = (uint32_t)get(bytes + 28, 4),
		.first_ns = get(bytes + 32, 8),
		.last_ns = get(bytes + 40, 8),
	};
	return header->stored_size <= FPERF_CHUNK_MAX_BYTES && header->raw_size <= FPERF_CHUNK_MAX_BYTES &&
	       header->count <= FPERF_CHUNK_MAX_RECORDS && header->count <= header->raw_size;
}
