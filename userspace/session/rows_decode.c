#include "session/rows.h"

#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One column as its header describes it. */
struct column {
	uint8_t id, kind, predictor, reference;
	bool sparse;
	struct fperf_reader bytes;
};

static const struct fperf_schema_field *field_by_column(uint32_t type, uint8_t column)
{
	size_t count;
	const struct fperf_schema_field *fields = fperf_schema__fields(type, &count);

	for (size_t i = 0; i < count; i++)
		if (fields[i].column == column)
			return &fields[i];
	return NULL;
}

static int predict(const struct column *column, const struct fperf_schema_field *other, const char *record,
		   struct fperf_map *last, uint64_t before, uint64_t *predicted)
{
	*predicted = 0;
	switch (column->predictor) {
	case FPERF_PREDICT_PREVIOUS:
		*predicted = before;
		break;
	case FPERF_PREDICT_COLUMN:
		*predicted = fperf_schema__load(record, other->offset, other->width);
		break;
	case FPERF_PREDICT_KEYED:
		*predicted = before;
		fperf_map__get(last, fperf_schema__load(record, other->offset, other->width), predicted);
		break;
	}
	return 0;
}

static int integers_store(struct fperf_rows *rows, const struct column *column,
			  const struct fperf_schema_field *field, const struct fperf_schema_field *other,
			  const uint8_t *present, const struct fperf_ints *ints)
{
	struct fperf_map last = {0};
	uint64_t before = 0, predicted, value;
	size_t taken = 0;
	int ret = 0;

	for (uint32_t i = 0; !ret && i < rows->count; i++) {
		char *record = rows->records + (size_t)i * rows->schema->size;

		if (present && !(present[i / 8] & 1u << (i % 8)))
			continue;
		value = fperf_ints__get(ints, taken++);
		if (column->predictor != FPERF_PREDICT_NONE) {
			predict(column, other, record, &last, before, &predicted);
			value = predicted + fperf_zigzag__unfold(value);
		}
		fperf_schema__store(record, field->offset, field->width, value);
		before = fperf_schema__load(record, field->offset, field->width);
		if (column->predictor == FPERF_PREDICT_KEYED &&
		    fperf_map__set(&last, fperf_schema__load(record, other->offset, other->width), before))
			ret = -ENOMEM;
	}
	fperf_map__free(&last);
	return ret;
}

static int integers_take(struct fperf_rows *rows, struct column *column,
			 const struct fperf_schema_field *field)
{
	const struct fperf_schema_field *other = NULL;
	const uint8_t *present = NULL;
	size_t stored = rows->count;
	struct fperf_ints ints;

	if (column->predictor > FPERF_PREDICT_KEYED)
		return -ENOTSUP;
	if (column->predictor == FPERF_PREDICT_COLUMN || column->predictor == FPERF_PREDICT_KEYED) {
		other = field_by_column(field->type, column->reference);
		if (!other)
			return -ENOTSUP;
		if (other->kind != FPERF_FIELD_INTEGER || other == field)
			return -EBADMSG;
	}
	if (column->sparse) {
		present = fperf_reader__bytes(&column->bytes, ((size_t)rows->count + 7) / 8);
		if (!present)
			return -EBADMSG;
		stored = 0;
		for (uint32_t i = 0; i < rows->count; i++)
			stored += present[i / 8] >> (i % 8) & 1;
	}
	if (!fperf_ints__take(&column->bytes, stored, &ints))
		return -EBADMSG;
	return integers_store(rows, column, field, other, present, &ints);
}

static int bytes_take(struct fperf_rows *rows, struct column *column, const struct fperf_schema_field *field)
{
	struct fperf_ints lengths;

	if (!fperf_ints__take(&column->bytes, rows->count, &lengths))
		return -EBADMSG;
	for (uint32_t i = 0; i < rows->count; i++) {
		char *record = rows->records + (size_t)i * rows->schema->size;
		uint64_t length = fperf_ints__get(&lengths, i);
		const uint8_t *bytes;

		if (length > fperf_reader__left(&column->bytes))
			return -EBADMSG;
		bytes = fperf_reader__bytes(&column->bytes, length);
		if (field->kind == FPERF_FIELD_STRING) {
			struct fperf_rec_string *string = (void *)record;

			string->bytes = (const char *)bytes;
			string->size = (uint32_t)length;
			continue;
		}
		if (length > field->width)
			return -EBADMSG;
		record[field->offset - 1] = (char)length;
		memcpy(record + field->offset, bytes, length);
	}
	return 0;
}

static int frames_take(struct fperf_rows *rows, struct column *column)
{
	int ret = fperf_frames__take(&rows->frames, &column->bytes, rows->count);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < rows->count; i++) {
		struct fperf_rec_stack *stack = (void *)(rows->records + i * sizeof(*stack));

		stack->count = rows->frames.depths[rows->frames.leaves[i]];
	}
	return 0;
}

static int column_take(struct fperf_rows *rows, struct column *column, const struct fperf_schema_field *field)
{
	if (field->kind == FPERF_FIELD_INTEGER && column->kind == FPERF_COLUMN_INTEGERS)
		return integers_take(rows, column, field);
	if ((field->kind == FPERF_FIELD_STRING || field->kind == FPERF_FIELD_BYTES) &&
	    column->kind == FPERF_COLUMN_BYTES)
		return bytes_take(rows, column, field);
	if (field->kind == FPERF_FIELD_FRAMES && column->kind == FPERF_COLUMN_FRAMES)
		return frames_take(rows, column);
	return -ENOTSUP;
}

static int columns_take(struct fperf_rows *rows, uint32_t type, struct fperf_reader *reader)
{
	bool seen[256] = {false};
	int ret = 0;

	while (!ret && fperf_reader__left(reader)) {
		struct column column = {.id = fperf_reader__u8(reader), .kind = fperf_reader__u8(reader)};
		const struct fperf_schema_field *field = field_by_column(type, column.id);
		uint8_t predictor = fperf_reader__u8(reader);

		column.predictor = predictor & (uint8_t)~FPERF_COLUMN_SPARSE;
		column.sparse = predictor & FPERF_COLUMN_SPARSE;
		column.reference = fperf_reader__u8(reader);
		column.bytes = fperf_reader__sub(reader, fperf_reader__u32(reader));
		if (reader->failed || seen[column.id])
			return -EBADMSG;
		seen[column.id] = true;
		if (field)
			ret = column_take(rows, &column, field);
	}
	return ret;
}

static void defaults_store(struct fperf_rows *rows, uint32_t type)
{
	size_t count;
	const struct fperf_schema_field *fields = fperf_schema__fields(type, &count);

	for (size_t i = 0; i < count; i++)
		for (uint32_t row = 0; fields[i].missing && row < rows->count; row++)
			fperf_schema__store(rows->records + (size_t)row * rows->schema->size,
					    fields[i].offset, fields[i].width, fields[i].missing);
}

int fperf_rows__decode(struct fperf_rows *rows, uint32_t type, const void *payload, size_t size,
		       uint32_t count)
{
	struct fperf_reader reader;
	int ret;

	*rows = (struct fperf_rows){.schema = fperf_schema__type(type), .count = count};
	if (!rows->schema)
		return -ENOTSUP;
	rows->records = calloc((size_t)count + 1, rows->schema->size);
	if (rows->schema->tail == FPERF_TAIL_FRAMES)
		rows->scratch = calloc(FPERF_STACK_MAX_FRAMES, sizeof(*rows->scratch));
	if (!rows->records || (rows->schema->tail == FPERF_TAIL_FRAMES && !rows->scratch)) {
		fperf_rows__free(rows);
		return -ENOMEM;
	}
	defaults_store(rows, type);
	fperf_reader__init(&reader, payload, size);
	ret = columns_take(rows, type, &reader);
	if (ret)
		fperf_rows__free(rows);
	return ret;
}

void fperf_rows__free(struct fperf_rows *rows)
{
	free(rows->records);
	free(rows->scratch);
	fperf_frames__free(&rows->frames);
	*rows = (struct fperf_rows){0};
}

const void *fperf_rows__get(struct fperf_rows *rows, uint32_t index)
{
	void *record = rows->records + (size_t)index * rows->schema->size;
	struct fperf_rec_stack *stack = record;

	if (rows->schema->tail == FPERF_TAIL_FRAMES && stack->count) {
		fperf_frames__get(&rows->frames, index, rows->scratch);
		stack->frames = rows->scratch;
	}
	return record;
}
