#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fperf_buf__init(struct fperf_buf *buf, size_t limit)
{
	*buf = (struct fperf_buf){.limit = limit};
}

void fperf_buf__free(struct fperf_buf *buf)
{
	free(buf->data);
	fperf_buf__init(buf, buf->limit);
}

void fperf_buf__clear(struct fperf_buf *buf)
{
	buf->size = 0;
	buf->failed = false;
}

uint8_t *fperf_buf__reserve(struct fperf_buf *buf, size_t size)
{
	size_t need, capacity;
	uint8_t *data;

	if (buf->failed || size > buf->limit - buf->size) {
		buf->failed = true;
		return NULL;
	}
	need = buf->size + size;
	if (need <= buf->capacity && buf->data)
		return buf->data + buf->size;
	capacity = buf->capacity ? buf->capacity : 256;
	while (capacity < need)
		capacity = capacity > buf->limit / 2 ? buf->limit : capacity * 2;
	data = realloc(buf->data, capacity);
	if (!data) {
		buf->failed = true;
		return NULL;
	}
	buf->data = data;
	buf->capacity = capacity;
	return data + buf->size;
}

void fperf_buf__append(struct fperf_buf *buf, const void *data, size_t size)
{
	uint8_t *room = fperf_buf__reserve(buf, size);

	if (!room || !size)
		return;
	memcpy(room, data, size);
	buf->size += size;
}

void fperf_buf__u8(struct fperf_buf *buf, uint8_t value)
{
	fperf_buf__append(buf, &value, 1);
}

static void append_little_endian(struct fperf_buf *buf, uint64_t value, unsigned int size)
{
	uint8_t bytes[8];

	for (unsigned int i = 0; i < size; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	fperf_buf__append(buf, bytes, size);
}

void fperf_buf__u16(struct fperf_buf *buf, uint16_t value)
{
	append_little_endian(buf, value, 2);
}

void fperf_buf__u32(struct fperf_buf *buf, uint32_t value)
{
	append_little_endian(buf, value, 4);
}

void fperf_buf__u64(struct fperf_buf *buf, uint64_t value)
{
	append_little_endian(buf, value, 8);
}

void fperf_buf__varint(struct fperf_buf *buf, uint64_t value)
{
	uint8_t bytes[10];
	unsigned int size = 0;

	do {
		bytes[size] = (uint8_t)(value & 0x7f);
		value >>= 7;
		if (value)
			bytes[size] |= 0x80;
		size++;
	} while (value);
	fperf_buf__append(buf, bytes, size);
}

void fperf_buf__zigzag(struct fperf_buf *buf, int64_t value)
{
	fperf_buf__varint(buf, ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0));
}

void fperf_buf__printf(struct fperf_buf *buf, const char *format, ...)
{
	va_list args, again;
	uint8_t *room;
	int size;

	va_start(args, format);
	va_copy(again, args);
	size = vsnprintf(NULL, 0, format, args);
	va_end(args);
	room = size < 0 ? NULL : fperf_buf__reserve(buf, (size_t)size + 1);
	if (room) {
		vsnprintf((char *)room, (size_t)size + 1, format, again);
		buf->size += (size_t)size;
	} else {
		buf->failed = true;
	}
	va_end(again);
}
