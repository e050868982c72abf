/* libFuzzer: the columns of a chunk. First byte: record type, and in its highest bit the direction. Bytes are
 * either decoded as a payload, or taken as records that must survive encoding and decoding. What decodes is
 * encoded and decoded once more: the two results must agree. */
#include "session/rows.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void compare(const struct fperf_schema_field *field, const char *a, const char *b)
{
	const struct fperf_rec_string *string_a = (const void *)a, *string_b = (const void *)b;
	const struct fperf_rec_stack *stack_a = (const void *)a, *stack_b = (const void *)b;

	if (field->kind == FPERF_FIELD_INTEGER) {
		require(!memcmp(a + field->offset, b + field->offset, field->width));
	} else if (field->kind == FPERF_FIELD_BYTES) {
		require(a[field->offset - 1] == b[field->offset - 1]);
		require(!memcmp(a + field->offset, b + field->offset, (uint8_t)a[field->offset - 1]));
	} else if (field->kind == FPERF_FIELD_STRING) {
		require(string_a->size == string_b->size);
		require(!string_a->size || !memcmp(string_a->bytes, string_b->bytes, string_a->size));
	} else {
		require(stack_a->count == stack_b->count);
		require(!stack_a->count ||
			!memcmp(stack_a->frames, stack_b->frames, stack_a->count * sizeof(*stack_a->frames)));
	}
}

/* Encodes and decodes `count` records; they must come back as they were. */
static void round_trip(uint32_t type, const char *records, uint32_t count)
{
	size_t width = fperf_schema__type(type)->size, field_count;
	const struct fperf_schema_field *fields = fperf_schema__fields(type, &field_count);
	struct fperf_payload payload;
	struct fperf_rows rows;

	fperf_payload__init(&payload);
	require(!fperf_rows__encode(&payload, type, records, count));
	require(!fperf_rows__decode(&rows, type, payload.bytes.data, payload.bytes.size, count));
	for (uint32_t i = 0; i < count; i++) {
		const char *got = fperf_rows__get(&rows, i);

		for (size_t at = 0; at < field_count; at++)
			compare(&fields[at], records + i * width, got);
	}
	fperf_rows__free(&rows);
	fperf_payload__free(&payload);
}

/* The records of `rows`, with stack frames of their own. */
static void decoded_again(uint32_t type, struct fperf_rows *rows)
{
	size_t width = rows->schema->size;
	char *records = malloc(width * rows->count + 1);
	size_t total = 0;

	require(records != NULL);
	for (uint32_t i = 0; i < rows->count; i++) {
		struct fperf_rec_stack *stack = (void *)(records + i * width);

		memcpy(records + i * width, fperf_rows__get(rows, i), width);
		if (rows->schema->tail != FPERF_TAIL_FRAMES || !stack->count)
			continue;
		total += stack->count;
		if (total < 100000) {
			void *copy = malloc(stack->count * sizeof(*stack->frames));

			require(copy != NULL);
			stack->frames = memcpy(copy, stack->frames, stack->count * sizeof(*stack->frames));
		} else {
			stack->count = 0;
			stack->frames = NULL;
		}
	}
	round_trip(type, records, rows->count);
	for (uint32_t i = 0; rows->schema->tail == FPERF_TAIL_FRAMES && i < rows->count; i++)
		free((void *)((struct fperf_rec_stack *)(records + i * width))->frames);
	free(records);
}

static void try_payload(uint32_t type, const uint8_t *data, size_t size)
{
	struct fperf_rows rows;
	uint32_t count;

	if (size < 2)
		return;
	count = data[0] | (uint32_t)data[1] << 8;
	if (fperf_rows__decode(&rows, type, data + 2, size - 2, count))
		return;
	decoded_again(type, &rows);
	fperf_rows__free(&rows);
}

static void try_records(uint32_t type, const uint8_t *data, size_t size)
{
	size_t width = fperf_schema__type(type)->size, field_count;
	const struct fperf_schema_field *fields = fperf_schema__fields(type, &field_count);
	uint32_t count = (uint32_t)(size / width);
	char *records = malloc(size + 1);

	require(records != NULL);
	memcpy(records, data, size);
	for (uint32_t i = 0; i < count; i++) {
		for (size_t at = 0; at < field_count; at++) {
			uint8_t *length = (uint8_t *)records + i * width + fields[at].offset - 1;

			if (fields[at].kind == FPERF_FIELD_BYTES && *length > fields[at].width)
				*length = fields[at].width;
		}
	}
	round_trip(type, records, count);
	free(records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t type;

	if (!size)
		return 0;
	type = data[0] & 0x7f;
	if (!fperf_schema__type(type))
		return 0;
	if (data[0] & 0x80 && fperf_schema__type(type)->tail == FPERF_TAIL_NONE)
		try_records(type, data + 1, size - 1);
	else
		try_payload(type, data + 1, size - 1);
	return 0;
}
