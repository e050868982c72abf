/* Fields of comma-separated values as RFC 4180 has them. */
#ifndef FPERF_OUTPUT_CSV_H
#define FPERF_OUTPUT_CSV_H

#include <stdint.h>
#include <stdio.h>

/* A field of any bytes: quoted where it must be, invalid UTF-8 replaced, control characters written out, so
 * that a row is one line. Fields of more than 1 MiB are cut. */
void fperf_csv__text(FILE *stream, const char *text);

/* Nanoseconds as milliseconds with all six decimals: exact. */
void fperf_csv__ms(FILE *stream, uint64_t ns);

#endif
