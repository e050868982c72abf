/* Names of code that was compiled at run time, from perf maps: text files "perf-PID.map" of lines
 * "START SIZE NAME" in hexadecimal (Linux, tools/perf/Documentation/jit-interface.txt). They are copied into
 * the session while the process lives, since a container's /tmp dies with it.
 */
#ifndef FPERF_CAPTURE_JIT_H
#define FPERF_CAPTURE_JIT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_jit_line {
	uint64_t address, size;
	const char *name; /* NOT NUL-terminated; may hold spaces and any other bytes */
	size_t name_size; /* cut at FPERF_JIT_NAME_MAX */
};

#define FPERF_JIT_NAME_MAX 4096

/* One line without its newline: numbers with or without 0x, separated by blanks. False when it is none. */
bool fperf_jit__parse_line(const char *line, size_t size, struct fperf_jit_line *parsed);

/* How far a map has been read. A zeroed struct is a map that nobody has read yet. */
struct fperf_jit_map {
	uint64_t device, inode;
	uint64_t offset;     /* everything before was read; always the start of a line */
	uint64_t lines, bad; /* bad: lines that were none */
	bool given_up;	     /* larger than what is read of one map */
};

/* Reads the lines that were added since the last time: a half last line is left for later, or read when
 * `final`. A file that was replaced or cut is read anew. Returns how many names were handed out, or a
 * negative errno. */
int64_t fperf_jit__read(struct fperf_jit_map *map, int fd, bool final,
			void (*take)(void *context, const struct fperf_jit_line *line), void *context,
			struct fperf_error *err);

#endif
