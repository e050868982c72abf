/* JSON written piece by piece, in constant memory. Commas come by themselves; names and texts may hold any
 * bytes: what is no UTF-8 becomes U+FFFD. Failures show in the stream. */
#ifndef FPERF_OUTPUT_JSON_STREAM_H
#define FPERF_OUTPUT_JSON_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct fperf_json {
	FILE *stream;
	bool after_value; /* a comma is due before the next value */
};

void fperf_json__begin(struct fperf_json *json, char bracket); /* '{' or '[' */
void fperf_json__end(struct fperf_json *json, char bracket);   /* '}' or ']' */
void fperf_json__key(struct fperf_json *json, const char *key);
void fperf_json__text(struct fperf_json *json, const char *text);
void fperf_json__int(struct fperf_json *json, int64_t value);
void fperf_json__bool(struct fperf_json *json, bool value);
void fperf_json__null(struct fperf_json *json);

/* Nanoseconds as milliseconds with all decimals: exact as text. */
void fperf_json__ms(struct fperf_json *json, uint64_t ns);

/* "key": value */
void fperf_json__key_text(struct fperf_json *json, const char *key, const char *text);
void fperf_json__key_int(struct fperf_json *json, const char *key, int64_t value);
void fperf_json__key_bool(struct fperf_json *json, const char *key, bool value);
void fperf_json__key_null(struct fperf_json *json, const char *key);
void fperf_json__key_begin(struct fperf_json *json, const char *key, char bracket);

#endif
