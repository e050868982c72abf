/* Growable byte buffer with a mandatory limit and a sticky failure: append freely, check once at the end. */
#ifndef FPERF_BASE_BUF_H
#define FPERF_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_buf {
	uint8_t *data;
	size_t size;	 /* bytes used */
	size_t capacity; /* bytes allocated */
	size_t limit;	 /* never grows beyond this many bytes */
	bool failed;	 /* out of memory or limit reached; later appends do nothing */
};

void fperf_buf__init(struct fperf_buf *buf, size_t limit);
void fperf_buf__free(struct fperf_buf *buf);  /* also resets to an empty buffer with the same limit */
void fperf_buf__clear(struct fperf_buf *buf); /* forgets contents and failure, keeps the memory */

/* Room for `size` more bytes, not yet counted in buf->size; NULL on failure. */
uint8_t *fperf_buf__reserve(struct fperf_buf *buf, size_t size);

void fperf_buf__append(struct fperf_buf *buf, const void *data, size_t size);
void fperf_buf__u8(struct fperf_buf *buf, uint8_t value);
void fperf_buf__u16(struct fperf_buf *buf, uint16_t value); /* little endian, like all that follow */
void fperf_buf__u32(struct fperf_buf *buf, uint32_t value);
void fperf_buf__u64(struct fperf_buf *buf, uint64_t value);
void fperf_buf__varint(struct fperf_buf *buf, uint64_t value); /* unsigned LEB128 */
void fperf_buf__zigzag(struct fperf_buf *buf, int64_t value);  /* zigzag, then LEB128 */
void fperf_buf__printf(struct fperf_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
