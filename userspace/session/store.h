/* The session in memory, as its own files see it. */
#ifndef FPERF_SESSION_STORE_H
#define FPERF_SESSION_STORE_H

#include "base/map.h"
#include "session/schema.h"
#include "session/session.h"

struct fperf_session_block;

/* From ids to positions: a plain array while ids are dense, a hash table when they are not. */
struct fperf_session_index {
	uint32_t *dense; /* position + 1, 0: none */
	size_t dense_count;
	struct fperf_map sparse; /* to position + 1 */
};

struct fperf_session_table {
	void *data;
	size_t count;
	size_t capacity;
	struct fperf_session_index index;
};

struct fperf_session {
	struct fperf_session_table tables[FPERF_RECORD_TYPES];
	struct fperf_session_block *blocks; /* bytes of strings, frames of stacks */
	size_t used;			    /* bytes of tables and blocks */
	size_t limit;
	uint64_t stored[FPERF_RECORD_TYPES]; /* bytes in the file it came from, chunk headers included */
};

/* -EFBIG when `size` more bytes would pass the session's limit; else counts them. */
int fperf_session__account(struct fperf_session *session, size_t size, struct fperf_error *err);

void fperf_session_index__free(struct fperf_session_index *index);

#endif
