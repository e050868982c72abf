/* What is stored of each record type, and how: one row per type and one per field. Writer, reader and the
 * session in memory are all driven by these rows. */
#ifndef FPERF_SESSION_SCHEMA_H
#define FPERF_SESSION_SCHEMA_H

#include "frameperf/records.h"

#include <stddef.h>
#include <stdint.h>

/* The chunk that closes a file holds rows of these: how many records of each type were written. Never handed
 * out. */
#define FPERF_RECORD_END 0

struct fperf_rec_end {
	uint32_t type; /* enum fperf_record_type; FPERF_RECORD_END: number of chunks before the end chunk */
	uint64_t count;
};

/* Bytes of a record that are not in its struct. */
enum fperf_schema_tail {
	FPERF_TAIL_NONE,
	FPERF_TAIL_BYTES,  /* struct fperf_rec_string */
	FPERF_TAIL_FRAMES, /* struct fperf_rec_stack */
};

#define FPERF_SCHEMA_NO_OFFSET UINT16_MAX
#define FPERF_SCHEMA_KEYS      3

struct fperf_schema_type {
	const char *name; /* NULL: no such type */
	uint16_t size;	  /* of the struct */
	uint16_t time;	  /* offset of the 64-bit time by which the type is sorted, or NO_OFFSET */
	uint16_t until;	  /* offset of the 64-bit time at which a record of the type ends, or NO_OFFSET */
	uint16_t id;	  /* offset of the 32-bit id, or NO_OFFSET */
	uint8_t tail;	  /* enum fperf_schema_tail */
	uint8_t source;	  /* enum fperf_source that records of this type come from */
	uint8_t closing; /* 1: still kept after the disk is full, to be written into the reserve at the end */
	uint8_t keys;	 /* number of fields that make a record replace an earlier one; 0: never */
	uint16_t key[FPERF_SCHEMA_KEYS];      /* their offsets */
	uint8_t key_width[FPERF_SCHEMA_KEYS]; /* and widths in bytes */
};

/* Indexed by type; types outside of 0 .. FPERF_RECORD_TYPES - 1 have no row. */
extern const struct fperf_schema_type fperf_schema_types[FPERF_RECORD_TYPES];

/* NULL when this version does not know the type. */
const struct fperf_schema_type *fperf_schema__type(uint32_t type);

/* What a value is expected to be; the difference is stored. `value`, `key` and `match` are the three columns
 * that a column may refer to. Numbers are stored in files: append only. */
enum fperf_predictor {
	FPERF_PREDICT_NONE = 0,	    /* nothing: stored as it is, unsigned */
	FPERF_PREDICT_ZERO = 1,	    /* nothing: stored zigzag, for signed fields */
	FPERF_PREDICT_PREVIOUS = 2, /* the value of the record before in the same chunk */
	FPERF_PREDICT_COLUMN = 3,   /* `value` of the same record */
	FPERF_PREDICT_KEYED = 4,    /* `value` of the last record before with the same `key` */
	FPERF_PREDICT_MENTION = 5,  /* ... whose `key` or whose `match` is this record's `key` */
	FPERF_PREDICT_HANDOVER = 6, /* the same, but 0 if it is not its `match` */
	FPERF_PREDICT_RECENT =
		7, /* not a difference: the place among recent values with this `key` and `match` */
};

enum fperf_field_kind {
	FPERF_FIELD_INTEGER = 0,
	FPERF_FIELD_BYTES = 1,	/* inline byte array with a length byte before it in the struct */
	FPERF_FIELD_STRING = 2, /* struct fperf_rec_string's bytes and size */
	FPERF_FIELD_FRAMES = 3, /* struct fperf_rec_stack's frames and count */
};

struct fperf_schema_field {
	const char *name;
	uint8_t type;	   /* enum fperf_record_type */
	uint8_t column;	   /* id in the file: append only within a type, never reused */
	uint8_t kind;	   /* enum fperf_field_kind */
	uint8_t width;	   /* bytes of an integer; capacity of an inline byte array */
	uint16_t offset;   /* in the struct */
	uint8_t predictor; /* enum fperf_predictor */
	uint8_t value;	   /* column ids that the predictor needs */
	uint8_t key;
	uint8_t match;
	uint8_t moment;	  /* 1: a time on which the time grain of the writer acts */
	uint8_t sparse;	  /* 1: only values that differ from the default are stored, behind a bitmap */
	uint64_t missing; /* value when the column is not there; it need not be stored if all have it */
};

/* Rows of one type, in column order. */
const struct fperf_schema_field *fperf_schema__fields(uint32_t type, size_t *count);

/* NULL when this version does not know the column. */
const struct fperf_schema_field *fperf_schema__column(uint32_t type, uint8_t column);

uint64_t fperf_schema__load(const void *record, uint16_t offset, uint8_t width); /* zero-extended */
void fperf_schema__store(void *record, uint16_t offset, uint8_t width, uint64_t value);

#endif
