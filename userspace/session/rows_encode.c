#include "session/rows.h"

#include "session/predict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t truncate_to(uint64_t value, uint8_t width)
{
	return width == 8 ? value : value & ((1ull << (8 * width)) - 1);
}

/* Difference modulo 2^(8 * width), as the signed number nearest to zero, in two's complement. */
static uint64_t residual(uint64_t value, uint64_t predicted, uint8_t width)
{
	unsigned int shift = 64 - 8u * width;

	return (uint64_t)((int64_t)((value - predicted) << shift) >> shift);
}

static bool all_missing(const struct fperf_schema_field *field, const char *records, size_t size,
			uint32_t count)
{
	uint64_t missing = truncate_to(field->missing, field->width);

	for (uint32_t i = 0; i < count; i++)
		if (fperf_schema__load(records + i * size, field->offset, field->width) != missing)
			return false;
	return true;
}

/* Fills values[] with what is to be stored of the column, leaving out what a sparse column leaves out. */
static int residuals(const struct fperf_schema_field *field, struct fperf_predict *predict, uint32_t count,
		     uint64_t *values, size_t *stored)
{
	uint64_t missing = truncate_to(field->missing, field->width);
	int ret = 0;

	*stored = 0;
	for (uint32_t i = 0; !ret && i < count; i++) {
		uint64_t value = fperf_schema__load(predict->records + (size_t)i * predict->size,
						    field->offset, field->width);
		bool present = !field->sparse || value != missing;

		if (present && predict->predictor == FPERF_PREDICT_NONE)
			values[(*stored)++] = value;
		else if (present)
			values[(*stored)++] =
				residual(value, fperf_predict__expect(predict, i), field->width);
		ret = fperf_predict__learn(predict, i, present);
	}
	return ret;
}

/* Ranks among recent values, then the values that were not among them, relative to the highest so far. */
static int recents_put(struct fperf_payload *payload, const struct fperf_schema_field *field,
		       struct fperf_predict *predict, uint32_t count, uint64_t *values)
{
	uint8_t *ranks = fperf_buf__reserve(&payload->bytes, count);
	uint64_t highest = 0;
	size_t fresh = 0;
	int ret = ranks ? 0 : -ENOMEM;

	for (uint32_t i = 0; !ret && i < count; i++) {
		uint64_t value = fperf_schema__load(predict->records + (size_t)i * predict->size,
						    field->offset, field->width);

		ret = fperf_predict__rank(predict, i, value, &ranks[i]);
		if (ranks[i])
			continue;
		values[fresh++] = residual(value, highest, field->width);
		highest = value > highest ? value : highest;
	}
	if (ret)
		return ret;
	payload->bytes.size += count;
	fperf_payload__cut(payload);
	fperf_ints__put_signed(payload, values, fresh);
	return 0;
}

static void bitmap_put(struct fperf_payload *payload, const struct fperf_schema_field *field,
		       const char *records, size_t size, uint32_t count)
{
	uint64_t missing = truncate_to(field->missing, field->width);
	size_t bytes = ((size_t)count + 7) / 8;
	uint8_t *bits = fperf_buf__reserve(&payload->bytes, bytes);

	if (!bits)
		return;
	memset(bits, 0, bytes);
	for (uint32_t i = 0; i < count; i++)
		if (fperf_schema__load(records + i * size, field->offset, field->width) != missing)
			bits[i / 8] |= (uint8_t)(1u << (i % 8));
	payload->bytes.size += bytes;
	fperf_payload__cut(payload);
}

static int integers_put(struct fperf_payload *payload, const struct fperf_schema_field *field,
			const char *records, size_t size, uint32_t count)
{
	const uint8_t columns[3] = {field->value, field->key, field->match};
	uint64_t *values = fperf_payload__values(payload, count);
	struct fperf_predict predict = {0};
	size_t stored;
	int ret = values ? fperf_predict__init(&predict, field, field->predictor, columns, records) : -ENOMEM;

	if (!ret && field->predictor == FPERF_PREDICT_RECENT) {
		ret = recents_put(payload, field, &predict, count, values);
	} else if (!ret) {
		if (field->sparse)
			bitmap_put(payload, field, records, size, count);
		ret = residuals(field, &predict, count, values, &stored);
		if (!ret && field->predictor == FPERF_PREDICT_NONE)
			fperf_ints__put(payload, values, stored);
		else if (!ret)
			fperf_ints__put_signed(payload, values, stored);
	}
	fperf_predict__free(&predict);
	return ret;
}

static const void *bytes_of(const struct fperf_schema_field *field, const char *record, uint32_t *size)
{
	const struct fperf_rec_string *string = (const void *)record;

	if (field->kind == FPERF_FIELD_STRING) {
		*size = string->size;
		return string->bytes;
	}
	*size = (uint8_t)record[field->offset - 1];
	*size = *size > field->width ? field->width : *size;
	return record + field->offset;
}

static int bytes_put(struct fperf_payload *payload, const struct fperf_schema_field *field,
		     const char *records, size_t size, uint32_t count)
{
	uint64_t *values = fperf_payload__values(payload, count);
	uint32_t length;

	if (!values)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		bytes_of(field, records + i * size, &length);
		values[i] = length;
	}
	fperf_ints__put(payload, values, count);
	for (uint32_t i = 0; i < count; i++) {
		const void *bytes = bytes_of(field, records + i * size, &length);

		fperf_buf__append(&payload->bytes, bytes, length);
	}
	fperf_payload__cut(payload);
	return 0;
}

static int column_put(struct fperf_payload *payload, const struct fperf_schema_field *field,
		      const char *records, size_t size, uint32_t count)
{
	static const uint8_t kinds[] = {[FPERF_FIELD_INTEGER] = FPERF_COLUMN_INTEGERS,
					[FPERF_FIELD_BYTES] = FPERF_COLUMN_BYTES,
					[FPERF_FIELD_STRING] = FPERF_COLUMN_BYTES,
					[FPERF_FIELD_FRAMES] = FPERF_COLUMN_FRAMES};
	size_t start, length;
	int ret;

	fperf_buf__u8(&payload->bytes, field->column);
	fperf_buf__u8(&payload->bytes, kinds[field->kind]);
	fperf_buf__u8(&payload->bytes, field->predictor | (field->sparse ? FPERF_COLUMN_SPARSE : 0));
	fperf_buf__u8(&payload->bytes, field->value);
	fperf_buf__u8(&payload->bytes, field->key);
	fperf_buf__u8(&payload->bytes, field->match);
	fperf_buf__u32(&payload->bytes, 0);
	start = payload->bytes.size;
	if (kinds[field->kind] == FPERF_COLUMN_INTEGERS)
		ret = integers_put(payload, field, records, size, count);
	else if (kinds[field->kind] == FPERF_COLUMN_BYTES)
		ret = bytes_put(payload, field, records, size, count);
	else
		ret = fperf_frames__put(payload, (const struct fperf_rec_stack *)records, count);
	if (ret || payload->bytes.failed)
		return ret ? ret : -EFBIG;
	length = payload->bytes.size - start;
	for (unsigned int i = 0; i < 4; i++)
		payload->bytes.data[start - 4 + i] = (uint8_t)(length >> (8 * i));
	return 0;
}

int fperf_rows__encode(struct fperf_payload *payload, uint32_t type, const void *records, uint32_t count)
{
	const struct fperf_schema_type *schema = fperf_schema__type(type);
	size_t field_count;
	const struct fperf_schema_field *fields = fperf_schema__fields(type, &field_count);
	int ret = 0;

	for (size_t i = 0; !ret && i < field_count; i++) {
		if (i && fields[i].kind == FPERF_FIELD_INTEGER &&
		    all_missing(&fields[i], records, schema->size, count))
			continue;
		ret = column_put(payload, &fields[i], records, schema->size, count);
	}
	return ret;
}
