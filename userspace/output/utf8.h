/* Names from games may hold any bytes. This makes them fit for JSON (valid UTF-8) and for a terminal (nothing
 * that moves the cursor, known width). */
#ifndef FPERF_OUTPUT_UTF8_H
#define FPERF_OUTPUT_UTF8_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

#define FPERF_UTF8_INVALID UINT32_MAX

/* Decodes one code point of `size` > 0 bytes; returns the bytes it takes. For bytes that are no valid UTF-8
 * (overlong forms and surrogates too) *point is FPERF_UTF8_INVALID and 1 is returned. */
size_t fperf_utf8__decode(const char *bytes, size_t size, uint32_t *point);

/* Appends the text with every invalid byte replaced by U+FFFD. */
void fperf_utf8__repair(struct fperf_buf *out, const char *bytes, size_t size);

/* Appends the text with control characters and invalid bytes written out (\n, \x1b, \u202e). */
void fperf_utf8__visible(struct fperf_buf *out, const char *bytes, size_t size);

/* Terminal columns that valid, visible UTF-8 takes. */
unsigned int fperf_utf8__columns(const char *text, size_t size);

/* Appends a text made by fperf_utf8__visible(), shortened in the middle by "…" to at most `columns` (> 0).
 * Names tell themselves apart at both ends, so both stay. Returns the columns it takes. */
unsigned int fperf_utf8__fit(struct fperf_buf *out, const char *text, size_t size, unsigned int columns);

#endif
