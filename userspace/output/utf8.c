#include "output/utf8.h"

#include <string.h>

static size_t continuation_bytes(const unsigned char *bytes, size_t size, size_t want)
{
	size_t i;

	for (i = 1; i <= want && i < size; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			break;
	}
	return i - 1;
}

size_t fperf_utf8__decode(const char *text, size_t size, uint32_t *point)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	const unsigned char *bytes = (const unsigned char *)text;
	uint32_t value;
	size_t more;

	*point = FPERF_UTF8_INVALID;
	if (bytes[0] < 0x80) {
		*point = bytes[0];
		return 1;
	}
	if (bytes[0] < 0xc2 || bytes[0] > 0xf4)
		return 1;
	more = bytes[0] < 0xe0 ? 1 : bytes[0] < 0xf0 ? 2 : 3;
	if (continuation_bytes(bytes, size, more) != more)
		return 1;
	value = bytes[0] & (0x3f >> more);
	for (size_t i = 1; i <= more; i++)
		value = value << 6 | (bytes[i] & 0x3f);
	if (value < least[more] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 1;
	*point = value;
	return more + 1;
}

void fperf_utf8__repair(struct fperf_buf *out, const char *bytes, size_t size)
{
	for (size_t at = 0, used; at < size; at += used) {
		uint32_t point;

		used = fperf_utf8__decode(bytes + at, size - at, &point);
		if (point == FPERF_UTF8_INVALID)
			fperf_buf__append(out, "\xef\xbf\xbd", 3);
		else
			fperf_buf__append(out, bytes + at, used);
	}
}

struct range {
	uint32_t first, last;
};

static bool in_ranges(uint32_t point, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (point >= ranges[i].first && point <= ranges[i].last)
			return true;
	}
	return false;
}

/* C0, DEL, C1, line separators, and the characters that reorder or hide text (direction marks, zero width,
 * byte order mark). */
static bool must_be_written_out(uint32_t point)
{
	static const struct range ranges[] = {
		{0, 0x1f},	  {0x7f, 0x9f},	    {0xad, 0xad},     {0x200b, 0x200f},
		{0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xe0000, 0xe007f},
	};

	return in_ranges(point, ranges, sizeof(ranges) / sizeof(ranges[0]));
}

void fperf_utf8__visible(struct fperf_buf *out, const char *bytes, size_t size)
{
	for (size_t at = 0, used; at < size; at += used) {
		uint32_t point;

		used = fperf_utf8__decode(bytes + at, size - at, &point);
		if (point == FPERF_UTF8_INVALID)
			fperf_buf__printf(out, "\\x%02x", (unsigned char)bytes[at]);
		else if (point == '\n' || point == '\t' || point == '\r')
			fperf_buf__printf(out, "\\%c", point == '\n' ? 'n' : point == '\t' ? 't' : 'r');
		else if (must_be_written_out(point))
			fperf_buf__printf(out, point < 0x80 ? "\\x%02x" : "\\u%04x", point);
		else
			fperf_buf__append(out, bytes + at, used);
	}
}

static unsigned int point_columns(uint32_t point)
{
	/* Unicode 15, East Asian Width W and F, and the emoji blocks, joined where what lies between is rare.
	 */
	static const struct range wide[] = {
		{0x1100, 0x115f},   {0x2e80, 0x303e},	{0x3041, 0xa4cf},   {0xa960, 0xa97c},
		{0xac00, 0xd7a3},   {0xf900, 0xfaff},	{0xfe30, 0xfe6f},   {0xff00, 0xff60},
		{0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
		{0x20000, 0x3fffd},
	};
	static const struct range combining[] = {
		{0x300, 0x36f},	  {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},	{0x64b, 0x65f},
		{0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
	};

	if (in_ranges(point, combining, sizeof(combining) / sizeof(combining[0])))
		return 0;
	return in_ranges(point, wide, sizeof(wide) / sizeof(wide[0])) ? 2 : 1;
}

unsigned int fperf_utf8__columns(const char *text, size_t size)
{
	unsigned int columns = 0;

	for (size_t at = 0, used; at < size; at += used) {
		uint32_t point;

		used = fperf_utf8__decode(text + at, size - at, &point);
		columns += point_columns(point);
	}
	return columns;
}

/* Length of the longest head of the text that takes at most `columns`. */
static size_t head_bytes(const char *text, size_t size, unsigned int columns)
{
	size_t at = 0;

	while (at < size) {
		uint32_t point;
		size_t used = fperf_utf8__decode(text + at, size - at, &point);
		unsigned int takes = point_columns(point);

		if (takes > columns)
			break;
		columns -= takes;
		at += used;
	}
	return at;
}

unsigned int fperf_utf8__fit(struct fperf_buf *out, const char *text, size_t size, unsigned int columns)
{
	unsigned int all = fperf_utf8__columns(text, size), tail;
	size_t head, rest;

	if (all <= columns) {
		fperf_buf__append(out, text, size);
		return all;
	}
	tail = (columns - 1) / 2;
	head = head_bytes(text, size, columns - 1 - tail);
	/* The tail starts where the columns before it are used up: the first cut that leaves at most `tail`.
	 */
	rest = head_bytes(text, size, all - tail);
	while (rest < size && fperf_utf8__columns(text + rest, size - rest) > tail) {
		uint32_t point;

		rest += fperf_utf8__decode(text + rest, size - rest, &point);
	}
	fperf_buf__append(out, text, head);
	fperf_buf__append(out, "…", strlen("…"));
	fperf_buf__append(out, text + rest, size - rest);
	return fperf_utf8__columns(text, head) + 1 + fperf_utf8__columns(text + rest, size - rest);
}
