/* Bounded reader over bytes that nobody may trust: session files, ELF, DWARF, maps, symbol files.
 *
 * Every read that would pass the end returns 0 (or NULL) and sets `failed`, which stays set. Nothing else is
 * needed to be safe: read a whole record, then check `failed` once.
 */
#ifndef FPERF_BASE_READER_H
#define FPERF_BASE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_reader {
	const uint8_t *pos;
	const uint8_t *end;
	bool failed;
};

void fperf_reader__init(struct fperf_reader *reader, const void *data, size_t size);
size_t fperf_reader__left(const struct fperf_reader *reader); /* bytes not yet read; 0 once failed */
uint8_t fperf_reader__u8(struct fperf_reader *reader);
uint16_t fperf_reader__u16(struct fperf_reader *reader); /* little endian, like all that follow */
uint32_t fperf_reader__u32(struct fperf_reader *reader);
uint64_t fperf_reader__u64(struct fperf_reader *reader);
uint64_t fperf_reader__varint(struct fperf_reader *reader); /* LEB128; longer than 64 bits fails */
int64_t fperf_reader__zigzag(struct fperf_reader *reader);
const uint8_t *fperf_reader__bytes(struct fperf_reader *reader, size_t size); /* points into the input */
void fperf_reader__skip(struct fperf_reader *reader, size_t size);

/* A reader of the next `size` bytes, which this one skips. Failed from the start if they are not there. */
struct fperf_reader fperf_reader__sub(struct fperf_reader *reader, size_t size);

#endif
