/* Where the chunks of a writer go: to a file, or into memory. */
#ifndef FPERF_SESSION_SINK_H
#define FPERF_SESSION_SINK_H

#include "base/error.h"
#include "session/chunk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_sink_ops {
	/* Takes a whole chunk, header and stored payload (`size` bytes, borrowed), or fails and is as before.
	 * `last`: one of those with which a recording ends, for which there may be room in reserve. */
	int (*chunk)(void *self, const struct fperf_chunk_header *header, const uint8_t *bytes, size_t size,
		     bool last, struct fperf_error *err);

	/* Each may be NULL. */
	/* Takes every record as it comes (struct fperf_rec_TYPE, borrowed), and no chunks are made of them.
	 */
	int (*record)(void *self, uint32_t type, const void *record, struct fperf_error *err);
	int (*flushed)(void *self, struct fperf_error *err); /* everything that waited has been handed over */
	int (*sync)(void *self, struct fperf_error *err);
	int (*close)(void *self, struct fperf_error *err); /* also frees; called once */
	uint64_t (*bytes)(const void *self);		   /* that it holds */
};

struct fperf_sink {
	const struct fperf_sink_ops *ops;
	void *self;
	const char *name; /* for messages: the path of a file. Borrowed. */
};

#endif
