#include "symbolize/fde_index.h"

#include "base/reader.h"

#include <string.h>

enum {
	ENCODING_UDATA4 = 0x03,
	ENCODING_DATA_RELATIVE_SDATA4 = 0x3b,
	ENCODING_INDIRECT = 0x80,
	ROW_SIZE = 8,
};

/* Bytes of a pointer in this encoding, 0: variable or not known. */
static size_t encoding_size(uint8_t encoding)
{
	switch (encoding & 0x07) {
	case 0x00:
	case 0x04:
		return 8;
	case 0x02:
		return 2;
	case 0x03:
		return 4;
	default:
		return 0;
	}
}

struct fperf_fde_index fperf_fde_index__open(const struct fperf_elf *elf)
{
	struct fperf_elf_section header = {0};
	struct fperf_fde_index index = {0};
	uint8_t pointer_encoding, count_encoding, table_encoding;
	struct fperf_reader reader;
	uint32_t count;

	if (!fperf_elf__eh_frame(elf, &index.frame, &header) || !header.data)
		return index;
	fperf_reader__init(&reader, header.data, header.size);
	if (fperf_reader__u8(&reader) != 1)
		return index;
	pointer_encoding = fperf_reader__u8(&reader);
	count_encoding = fperf_reader__u8(&reader);
	table_encoding = fperf_reader__u8(&reader);
	if (count_encoding != ENCODING_UDATA4 || table_encoding != ENCODING_DATA_RELATIVE_SDATA4 ||
	    !encoding_size(pointer_encoding))
		return index;
	fperf_reader__skip(&reader, encoding_size(pointer_encoding));
	count = fperf_reader__u32(&reader);
	index.rows = reader.pos;
	index.base = header.address;
	if (!reader.failed && count <= fperf_reader__left(&reader) / ROW_SIZE)
		index.count = count;
	return index;
}

static uint64_t row_value(const struct fperf_fde_index *index, size_t row, size_t column)
{
	int32_t value;

	memcpy(&value, index->rows + row * ROW_SIZE + column * sizeof(value), sizeof(value));
	return index->base + (uint64_t)(int64_t)value;
}

/* Number of rows that begin at or before `address`. */
static size_t rows_before(const struct fperf_fde_index *index, uint64_t address)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (row_value(index, middle, 0) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Pointer encoding of the entries that belong to the CIE at this place of .eh_frame; 0xff: not understood. */
static uint8_t cie_encoding(const struct fperf_fde_index *index, size_t at)
{
	struct fperf_reader reader;
	const char *augmentation;
	uint8_t version;

	if (at >= index->frame.size)
		return 0xff;
	fperf_reader__init(&reader, index->frame.data + at, index->frame.size - at);
	fperf_reader__skip(&reader, 8); /* length and id */
	version = fperf_reader__u8(&reader);
	augmentation = (const char *)reader.pos;
	while (fperf_reader__u8(&reader) && !reader.failed)
		;
	if (reader.failed)
		return 0xff;
	if (!*augmentation)
		return 0;
	if (*augmentation++ != 'z')
		return 0xff;
	fperf_reader__varint(&reader); /* code alignment */
	fperf_reader__varint(&reader); /* data alignment: signed, but only its length matters */
	if (version == 1)
		fperf_reader__u8(&reader); /* return address register */
	else
		fperf_reader__varint(&reader);
	fperf_reader__varint(&reader); /* size of what follows */
	for (; *augmentation && !reader.failed; augmentation++) {
		if (*augmentation == 'R')
			return fperf_reader__u8(&reader);
		if (*augmentation == 'P')
			fperf_reader__skip(&reader, encoding_size(fperf_reader__u8(&reader)));
		else if (*augmentation == 'L')
			fperf_reader__u8(&reader);
		else if (*augmentation != 'S' && *augmentation != 'B')
			return 0xff;
	}
	return reader.failed ? 0xff : 0;
}

/* Length in bytes of the code that an entry covers, 0: cannot be read. */
static uint64_t entry_length(const struct fperf_fde_index *index, uint64_t entry)
{
	size_t at = entry - index->frame.address, size;
	struct fperf_reader reader;
	uint32_t length, back;
	uint8_t encoding;

	if (entry < index->frame.address || at >= index->frame.size)
		return 0;
	fperf_reader__init(&reader, index->frame.data + at, index->frame.size - at);
	length = fperf_reader__u32(&reader);
	back = fperf_reader__u32(&reader);
	if (reader.failed || length == UINT32_MAX || !back || back > at + 4)
		return 0;
	encoding = cie_encoding(index, at + 4 - back);
	size = encoding_size(encoding);
	if (encoding & ENCODING_INDIRECT || !size)
		return 0;
	fperf_reader__skip(&reader, size);
	if (size == 2)
		return fperf_reader__u16(&reader);
	return size == 4 ? fperf_reader__u32(&reader) : fperf_reader__u64(&reader);
}

bool fperf_fde_index__find(const struct fperf_fde_index *index, uint64_t address, uint64_t *start,
			   uint64_t *end)
{
	size_t rows = rows_before(index, address);
	uint64_t first, length;

	if (!rows)
		return false;
	first = row_value(index, rows - 1, 0);
	length = entry_length(index, row_value(index, rows - 1, 1));
	if (address - first >= length || first + length < first)
		return false;
	*start = first;
	*end = first + length;
	return true;
}

uint64_t fperf_fde_index__next(const struct fperf_fde_index *index, uint64_t address)
{
	size_t rows = rows_before(index, address);

	return rows < index->count ? row_value(index, rows, 0) : UINT64_MAX;
}
