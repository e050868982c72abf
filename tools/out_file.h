/* A file that is there whole or not at all: it is written beside its place and moved there at the end. */
#ifndef FPERF_TOOLS_OUT_FILE_H
#define FPERF_TOOLS_OUT_FILE_H

#include "base/error.h"

#include <stdio.h>

struct fperf_out_file {
	FILE *stream;	  /* to write to */
	const char *path; /* borrowed */
	char *unfinished; /* path of what is being written; NULL: written in place */
};

/* "-" is standard output. What exists and is no regular file (a device, a pipe) is written in place. After a
 * success call one of the other two. */
int fperf_out_file__open(struct fperf_out_file *file, const char *path, struct fperf_error *err);

/* Closes the file and puts it in its place; on failure there is none, and what was there stays. */
int fperf_out_file__keep(struct fperf_out_file *file, struct fperf_error *err);
void fperf_out_file__discard(struct fperf_out_file *file);

#endif
