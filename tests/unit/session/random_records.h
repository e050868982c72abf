/* Records of every type with random and extreme values, driven by the schema: a new field is tested as soon
 * as it has its row. */
#ifndef FPERF_TESTS_RANDOM_RECORDS_H
#define FPERF_TESTS_RANDOM_RECORDS_H

#include "session/frames.h"
#include "session/schema.h"

#include <stdlib.h>
#include <string.h>

struct random_source {
	uint64_t state;
};

/* A record of any type with room for what it points to. */
struct random_record {
	union {
		struct fperf_rec_string string;
		struct fperf_rec_stack stack;
		struct fperf_rec_offcpu offcpu;
		char bytes[256];
	};
	char text[300];
	struct fperf_stack_frame frames[FPERF_STACK_MAX_FRAMES];
};

static inline uint64_t random_next(struct random_source *source) /* splitmix64 */
{
	uint64_t z = (source->state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Small, large, all ones, all zeros, sign bits: what breaks encodings. */
static inline uint64_t random_value(struct random_source *source)
{
	uint64_t value = random_next(source);

	switch (random_next(source) % 8) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return 1ull << (value % 64);
	case 3:
		return (1ull << (value % 64)) - 1;
	case 4:
		return value % 256;
	case 5:
		return INT64_MAX + value % 3;
	default:
		return value >> (value % 64);
	}
}

static inline void random_frames(struct random_source *source, struct random_record *record)
{
	uint32_t count = (uint32_t)(random_next(source) % 24);

	if (random_next(source) % 64 == 0)
		count = FPERF_STACK_MAX_FRAMES;
	for (uint32_t i = 0; i < count; i++) {
		/* A few different ones, so that stacks share their root side. */
		struct random_source frame = {.state = i + random_next(source) % 2 * 1000};

		record->frames[i] = (struct fperf_stack_frame){.module = (uint32_t)random_value(&frame),
							       .kind = (uint8_t)random_value(&frame),
							       .kernel = (uint8_t)random_value(&frame),
							       .offset = random_value(&frame)};
	}
	record->stack.count = count;
	record->stack.frames = record->frames;
}

static inline void random_fill(struct random_source *source, uint32_t type, struct random_record *record)
{
	size_t count;
	const struct fperf_schema_field *fields = fperf_schema__fields(type, &count);

	memset(record->bytes, 0, sizeof(record->bytes));
	for (size_t i = 0; i < count; i++) {
		if (fields[i].kind == FPERF_FIELD_INTEGER) {
			fperf_schema__store(record->bytes, fields[i].offset, fields[i].width,
					    random_value(source));
		} else if (fields[i].kind == FPERF_FIELD_BYTES) {
			uint8_t size = (uint8_t)(random_next(source) % (fields[i].width + 1u));

			record->bytes[fields[i].offset - 1] = (char)size;
			for (uint8_t at = 0; at < size; at++)
				record->bytes[fields[i].offset + at] = (char)random_next(source);
		} else if (fields[i].kind == FPERF_FIELD_STRING) {
			record->string.size = (uint32_t)(random_next(source) % sizeof(record->text));
			for (uint32_t at = 0; at < record->string.size; at++)
				record->text[at] = (char)random_next(source);
			record->string.bytes = record->text;
		} else {
			random_frames(source, record);
		}
	}
}

#endif
