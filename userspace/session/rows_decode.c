#include "session/rows.h"

#include "session/predict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One column as its header describes it. */
struct column {
	uint8_t id, kind, predictor;
	uint8_t columns[3]; /* value, key, match */
	bool sparse;
	struct fperf_reader bytes;
};

static int recents_take(struct fperf_rows *rows, struct column *column,
			const struct fperf_schema_field *field, struct fperf_predict *predict)
{
	const uint8_t *ranks = fperf_reader__bytes(&column->bytes, rows->count);
	uint64_t highest = 0, value = 0;
	struct fperf_ints ints;
	size_t fresh = 0;
	int ret = 0;

	for (uint32_t i = 0; ranks && i < rows->count; i++)
		fresh += !ranks[i];
	if (!ranks || !fperf_ints__take(&column->bytes, fresh, &ints))
		return -EBADMSG;
	fresh = 0;
	for (uint32_t i = 0; !ret && i < rows->count; i++) {
		char *record = rows->records + (size_t)i * rows->schema->size;
		uint8_t rank;

		if (ranks[i]) {
			ret = fperf_predict__ranked(predict, i, ranks[i], &value);
			fperf_schema__store(record, field->offset, field->width, value);
			continue;
		}
		fperf_schema__store(record, field->offset, field->width,
				    highest + fperf_ints__get_signed(&ints, fresh++));
		value = fperf_schema__load(record, field->offset, field->width);
		highest = value > highest ? value : highest;
		ret = fperf_predict__rank(predict, i, value, &rank);
	}
	return ret;
}

static int residuals_take(struct fperf_rows *rows, struct column *column,
			  const struct fperf_schema_field *field, struct fperf_predict *predict)
{
	const uint8_t *bitmap = NULL;
	size_t stored = rows->count, taken = 0;
	struct fperf_ints ints;
	int ret = 0;

	if (column->sparse) {
		bitmap = fperf_reader__bytes(&column->bytes, ((size_t)rows->count + 7) / 8);
		if (!bitmap)
			return -EBADMSG;
		stored = 0;
		for (uint32_t i = 0; i < rows->count; i++)
			stored += bitmap[i / 8] >> (i % 8) & 1;
	}
	if (!fperf_ints__take(&column->bytes, stored, &ints))
		return -EBADMSG;
	for (uint32_t i = 0; !ret && i < rows->count; i++) {
		char *record = rows->records + (size_t)i * rows->schema->size;
		bool present = !bitmap || (bitmap[i / 8] >> (i % 8) & 1);
		uint64_t value = 0;

		if (present && column->predictor == FPERF_PREDICT_NONE)
			value = fperf_ints__get(&ints, taken++);
		else if (present)
			value = fperf_predict__expect(predict, i) + fperf_ints__get_signed(&ints, taken++);
		if (present)
			fperf_schema__store(record, field->offset, field->width, value);
		ret = fperf_predict__learn(predict, i, present);
	}
	return ret;
}

static int integers_take(struct fperf_rows *rows, struct column *column,
			 const struct fperf_schema_field *field)
{
	struct fperf_predict predict;
	int ret = fperf_predict__init(&predict, field, column->predictor, column->columns, rows->records);

	if (!ret && column->predictor == FPERF_PREDICT_RECENT)
		ret = column->sparse ? -ENOTSUP : recents_take(rows, column, field, &predict);
	else if (!ret)
		ret = residuals_take(rows, column, field, &predict);
	fperf_predict__free(&predict);
	return ret;
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
		const struct fperf_schema_field *field = fperf_schema__column(type, column.id);
		uint8_t predictor = fperf_reader__u8(reader);

		column.predictor = predictor & (uint8_t)~FPERF_COLUMN_SPARSE;
		column.sparse = predictor & FPERF_COLUMN_SPARSE;
		for (size_t i = 0; i < 3; i++)
			column.columns[i] = fperf_reader__u8(reader);
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
