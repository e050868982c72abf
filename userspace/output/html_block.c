#include "output/html_block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define BLOCK_LIMIT (1u << 30)

void fperf_html_block__init(struct fperf_html_block *block, struct json_build *build)
{
	*block = (struct fperf_html_block){.build = build};
	fperf_buf__init(&block->bytes, BLOCK_LIMIT);
	block->head = json_build__object(build);
	json_build__set(build, block->head, "columns", json_build__object(build));
}

void fperf_html_block__free(struct fperf_html_block *block)
{
	json_decref(block->head);
	fperf_buf__free(&block->bytes);
}

static void column_end(struct fperf_html_block *block)
{
	static const char *const codings[] = {
		[FPERF_HTML_PLAIN] = "u",
		[FPERF_HTML_DELTA] = "d",
		[FPERF_HTML_BYTES] = "b",
	};
	json_t *entry;

	if (!block->column)
		return;
	entry = json_build__array(block->build);
	json_build__add(block->build, entry, json_build__text(block->build, codings[block->coding]));
	json_build__add(block->build, entry, json_build__u64(block->build, block->column_start));
	json_build__add(block->build, entry, json_build__u64(block->build, block->count));
	json_build__set(block->build, json_object_get(block->head, "columns"), block->column, entry);
	block->column = NULL;
}

void fperf_html_block__column(struct fperf_html_block *block, const char *name, enum fperf_html_coding coding)
{
	column_end(block);
	block->column = name;
	block->coding = coding;
	block->column_start = block->bytes.size;
	block->count = 0;
	block->last = 0;
}

void fperf_html_block__put(struct fperf_html_block *block, int64_t value)
{
	switch (block->coding) {
	case FPERF_HTML_PLAIN:
		fperf_buf__varint(&block->bytes, value > 0 ? (uint64_t)value : 0);
		break;
	case FPERF_HTML_DELTA:
		fperf_buf__zigzag(&block->bytes, (int64_t)((uint64_t)value - block->last));
		block->last = (uint64_t)value;
		break;
	case FPERF_HTML_BYTES:
		fperf_buf__u8(&block->bytes, (uint8_t)value);
		break;
	}
	block->count++;
}

/* ---- writing ---- */

static int deflate_all(const struct fperf_buf *in, struct fperf_buf *out)
{
	z_stream stream = {.next_in = in->data, .avail_in = (uInt)in->size};
	uLong bound;
	int ret;

	if (deflateInit2(&stream, 7, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	bound = deflateBound(&stream, (uLong)in->size);
	stream.next_out = fperf_buf__reserve(out, bound);
	stream.avail_out = (uInt)bound;
	ret = stream.next_out ? deflate(&stream, Z_FINISH) : Z_MEM_ERROR;
	out->size = stream.total_out;
	deflateEnd(&stream);
	return ret == Z_STREAM_END ? 0 : -ENOMEM;
}

/* 0, or -1 and errno. */
static int base64_write(const uint8_t *data, size_t size, FILE *stream)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char out[4096];
	size_t used = 0;

	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t bits = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
				(left > 2 ? data[i + 2] : 0);

		out[used++] = digits[bits >> 18];
		out[used++] = digits[bits >> 12 & 63];
		out[used++] = left > 1 ? digits[bits >> 6 & 63] : '=';
		out[used++] = left > 2 ? digits[bits & 63] : '=';
		if (used == sizeof(out)) {
			if (fwrite(out, 1, used, stream) != used)
				return -1;
			used = 0;
		}
	}
	return fwrite(out, 1, used, stream) == used ? 0 : -1;
}

/* The head's length, the head, the columns. */
static void pack(struct fperf_html_block *block, struct fperf_buf *whole)
{
	char *text =
		block->build->failed ? NULL : json_dumps(block->head, JSON_COMPACT | JSON_REAL_PRECISION(9));

	if (text) {
		fperf_buf__u32(whole, (uint32_t)strlen(text));
		fperf_buf__append(whole, text, strlen(text));
		fperf_buf__append(whole, block->bytes.data, block->bytes.size);
	}
	if (!text || block->bytes.failed || whole->failed)
		block->build->failed = true;
	free(text);
}

int fperf_html_block__write(struct fperf_html_block *block, const char *name, FILE *stream,
			    struct fperf_error *err)
{
	struct fperf_buf whole, packed;
	int ret = -ENOMEM;

	column_end(block);
	fperf_buf__init(&whole, BLOCK_LIMIT);
	fperf_buf__init(&packed, BLOCK_LIMIT);
	pack(block, &whole);
	if (!block->build->failed)
		ret = deflate_all(&whole, &packed);
	if (ret) {
		fperf_error__no_memory(err, "the data of the page");
	} else {
		fprintf(stream, "<script type=\"text/plain\" id=\"data-%s\">", name);
		ret = base64_write(packed.data, packed.size, stream);
		fputs("</script>\n", stream);
		if (ret || ferror(stream))
			ret = fperf_error__set_errno(err, errno ? -errno : -EIO, "cannot write the page");
	}
	fperf_buf__free(&whole);
	fperf_buf__free(&packed);
	return ret;
}
