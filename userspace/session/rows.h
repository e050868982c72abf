/* Records of one type to the columns of a chunk's payload, and back. */
#ifndef FPERF_SESSION_ROWS_H
#define FPERF_SESSION_ROWS_H

#include "session/frames.h"
#include "session/ints.h"
#include "session/schema.h"

#include <stdint.h>

/* Kinds of columns are those of enum fperf_field_kind but for inline bytes, which are stored like strings. */
#define FPERF_COLUMN_INTEGERS 0
#define FPERF_COLUMN_BYTES    1
#define FPERF_COLUMN_FRAMES   2

#define FPERF_COLUMN_SPARSE	 0x80 /* in the predictor byte */
#define FPERF_COLUMN_HEADER_SIZE 10

/* Appends the columns of `count` records (array of struct fperf_rec_TYPE) to the payload. 0 or -ENOMEM;
 * -EFBIG when they need more than a chunk may hold. */
int fperf_rows__encode(struct fperf_payload *payload, uint32_t type, const void *records, uint32_t count);

struct fperf_rows {
	const struct fperf_schema_type *schema;
	uint32_t count;
	char *records; /* array of structs; strings point into the payload */
	struct fperf_frames frames;
	struct fperf_stack_frame *scratch; /* of the stack handed out last */
};

/* Decodes a payload that must outlive *rows. Unknown columns are skipped, missing ones have their defaults.
 * 0, -EBADMSG (no such columns), -ENOTSUP (columns of a newer version that this one must not misread),
 * -ENOMEM. */
int fperf_rows__decode(struct fperf_rows *rows, uint32_t type, const void *payload, size_t size,
		       uint32_t count);
void fperf_rows__free(struct fperf_rows *rows);

/* The record, valid until the next call. */
const void *fperf_rows__get(struct fperf_rows *rows, uint32_t index);

#endif
