#include "output/protobuf.h"

#include "output/utf8.h"

#include <string.h>

#define LENGTH_BYTES 4
#define LENGTH_MAX   ((1u << (7 * LENGTH_BYTES)) - 1)

enum wire_type { VARINT = 0, FIXED64 = 1, LENGTH = 2 };

static void tag(struct fperf_buf *buf, uint32_t field, enum wire_type type)
{
	fperf_buf__varint(buf, (uint64_t)field << 3 | type);
}

void fperf_protobuf__uint(struct fperf_buf *buf, uint32_t field, uint64_t value)
{
	tag(buf, field, VARINT);
	fperf_buf__varint(buf, value);
}

void fperf_protobuf__int(struct fperf_buf *buf, uint32_t field, int64_t value)
{
	fperf_protobuf__uint(buf, field, (uint64_t)value);
}

void fperf_protobuf__fixed64(struct fperf_buf *buf, uint32_t field, uint64_t value)
{
	tag(buf, field, FIXED64);
	fperf_buf__u64(buf, value);
}

void fperf_protobuf__bytes(struct fperf_buf *buf, uint32_t field, const void *bytes, size_t size)
{
	tag(buf, field, LENGTH);
	fperf_buf__varint(buf, size);
	fperf_buf__append(buf, bytes, size);
}

void fperf_protobuf__text(struct fperf_buf *buf, uint32_t field, const char *text)
{
	size_t begin = fperf_protobuf__begin(buf, field);

	fperf_utf8__repair(buf, text, strlen(text));
	fperf_protobuf__end(buf, begin);
}

/* The length is not known yet: it gets a number of four bytes, which readers take although it could often be
 * shorter. */
size_t fperf_protobuf__begin(struct fperf_buf *buf, uint32_t field)
{
	tag(buf, field, LENGTH);
	fperf_buf__append(buf, "\0\0\0\0", LENGTH_BYTES);
	return buf->size;
}

void fperf_protobuf__end(struct fperf_buf *buf, size_t begin)
{
	size_t size = buf->size - begin;

	if (buf->failed)
		return;
	if (size > LENGTH_MAX) {
		buf->failed = true;
		return;
	}
	for (int i = 0; i < LENGTH_BYTES; i++)
		buf->data[begin - LENGTH_BYTES + (size_t)i] =
			(uint8_t)((size >> (7 * i) & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
}
