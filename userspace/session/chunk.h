/* File header and chunks: what is on the disk, byte by byte. See docs/session-format.md. */
#ifndef FPERF_SESSION_CHUNK_H
#define FPERF_SESSION_CHUNK_H

#include "session/ints.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPERF_FORMAT_MAJOR 1
#define FPERF_FORMAT_MINOR 1

#define FPERF_FILE_MAGIC                                                                                     \
	"\x89"                                                                                               \
	"FPF\r\n\x1a\n" /* 8 bytes: text and 7-bit transfers break it */
#define FPERF_FILE_MAGIC_SIZE  8
#define FPERF_FILE_HEADER_SIZE 64

#define FPERF_CHUNK_MAGIC	0x31434685u /* 0x85 'F' 'C' '1' */
#define FPERF_CHUNK_HEADER_SIZE 56
#define FPERF_CHUNK_MAX_BYTES	((size_t)16 << 20) /* of a payload, stored or raw */
#define FPERF_CHUNK_MAX_RECORDS ((uint32_t)1 << 20)

enum fperf_codec {
	FPERF_CODEC_RAW = 0,
	FPERF_CODEC_ZSTD = 1,
};

struct fperf_file_header {
	uint16_t major, minor;
	uint32_t size; /* of the header; chunks begin after it */
	uint8_t uuid[16];
};

struct fperf_chunk_header {
	uint32_t tag; /* first 4 bytes of the session's UUID: chunks of other files are not ours */
	uint16_t type;
	uint8_t codec; /* enum fperf_codec */
	uint32_t sequence;
	uint32_t stored_size;
	uint32_t raw_size;
	uint32_t count;
	uint32_t payload_checksum; /* of the stored bytes */
	uint64_t first_ns;	   /* of its events; 0, 0: not events */
	uint64_t last_ns;
};

/* CRC-32 as in zlib, PNG and IEEE 802.3. */
uint32_t fperf_crc32(const void *data, size_t size);

void fperf_file_header__pack(const struct fperf_file_header *header, uint8_t bytes[FPERF_FILE_HEADER_SIZE]);
bool fperf_file_header__unpack(struct fperf_file_header *header, const uint8_t bytes[FPERF_FILE_HEADER_SIZE]);
uint32_t fperf_file_header__tag(const struct fperf_file_header *header);

void fperf_chunk_header__pack(const struct fperf_chunk_header *header,
			      uint8_t bytes[FPERF_CHUNK_HEADER_SIZE]);

/* False unless magic and checksum are right and sizes are within what the format allows. */
bool fperf_chunk_header__unpack(struct fperf_chunk_header *header,
				const uint8_t bytes[FPERF_CHUNK_HEADER_SIZE]);

/* Compresses; the result may be the raw bytes if that is no larger. */
struct fperf_compressor;
struct fperf_compressor *fperf_compressor__new(int level); /* 0: default; NULL when out of memory */
void fperf_compressor__free(struct fperf_compressor *compressor);

/* Appends the stored form of the payload to `out` and says which codec it used; 0 or negative errno. */
int fperf_compressor__run(struct fperf_compressor *compressor, const struct fperf_payload *payload,
			  struct fperf_buf *out, enum fperf_codec *codec);

/* Decompresses exactly `raw_size` bytes; false when they are anything else. */
bool fperf_decompress(const void *stored, size_t stored_size, void *raw, size_t raw_size);

#endif
