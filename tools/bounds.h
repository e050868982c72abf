/* Bounds of what recording takes on the disk: of each file, and of a directory in which sessions take turns.
 */
#ifndef FPERF_TOOLS_BOUNDS_H
#define FPERF_TOOLS_BOUNDS_H

#include "base/error.h"
#include "child.h"

#include <stdbool.h>
#include <stdint.h>

struct fperf_bounds {
	uint64_t max_bytes;    /* of a file; 0: no bound */
	uint64_t max_ns;       /* of a recording; 0: no bound */
	const char *directory; /* NULL: one file, elsewhere */
	uint32_t keep;	       /* sessions in the directory; 0: all */
	uint64_t keep_bytes;   /* that they take together; 0: no bound */
};

/* Options' arguments: "16M", "1G"; "10" or "10,200M". */
int fperf_bounds__parse_size(const char *text, uint64_t *bytes, struct fperf_error *err);
int fperf_bounds__parse_keep(struct fperf_bounds *bounds, const char *text, struct fperf_error *err);

/* Makes the directory if there is none, for its owner. */
int fperf_bounds__prepare(const struct fperf_bounds *bounds, struct fperf_invoker owner,
			  struct fperf_error *err);

/* Removes sessions of the directory, the oldest first, until they are no more than `keep` and take no more
 * than `keep_bytes`; `expected` more are about to come. Only what is without doubt a session that record
 * wrote there under a name of its own is ever removed: a regular file with one name, of ours or of `owner`,
 * that begins with a session's header. Returns how many were removed, or a negative error. */
int fperf_bounds__rotate(const struct fperf_bounds *bounds, uint32_t expected, struct fperf_invoker owner,
			 struct fperf_error *err);

#endif
