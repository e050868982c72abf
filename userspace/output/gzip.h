/* A stream of gzip, written piece by piece. */
#ifndef FPERF_OUTPUT_GZIP_H
#define FPERF_OUTPUT_GZIP_H

#include <stddef.h>
#include <stdio.h>

struct fperf_gzip;

struct fperf_gzip *fperf_gzip__new(FILE *stream); /* NULL when out of memory */

/* 0, or negative when the stream fails. */
int fperf_gzip__write(struct fperf_gzip *gzip, const void *data, size_t size);

/* Writes what is left, and frees. Failures show in the stream. */
void fperf_gzip__end(struct fperf_gzip *gzip);

#endif
