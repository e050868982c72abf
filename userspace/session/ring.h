/* Chunks in memory, bounded: the last seconds of a recording, which can be written to a file at any time.
 *
 * What is handed over between two flushes is a segment; the oldest segments go first, as a whole. A segment's
 * events refer to dictionaries (strings, threads, stacks) that may have been written long before. So that
 * what is left makes sense, and so that dictionaries do not pile up, the writer's side begins a new epoch
 * every now and then: from there on nothing refers to what was written before, and what is still alive has
 * been said again. Dictionaries stay until the last segment of their epoch is gone.
 *
 * What describes the recording as a whole (meta, source, marker and kernel symbol records) is not kept: it is
 * added when a file is written.
 */
#ifndef FPERF_SESSION_RING_H
#define FPERF_SESSION_RING_H

#include "base/error.h"
#include "session/sink.h"
#include "session/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPERF_RING_MIN_BYTES ((size_t)256 << 10)

struct fperf_ring;

struct fperf_ring_options {
	size_t bytes;	  /* of chunks, pinned ones not counted; at least FPERF_RING_MIN_BYTES */
	uint64_t span_ns; /* what ended longer ago than this, seen from the youngest event, goes; 0: bytes
			     alone decide */
};

int fperf_ring__new(const struct fperf_ring_options *options, struct fperf_ring **ring,
		    struct fperf_error *err);
void fperf_ring__free(struct fperf_ring *ring); /* NULL is fine */

/* For a writer; the ring stays the caller's and must outlive it. */
struct fperf_sink fperf_ring__sink(struct fperf_ring *ring);

/* True when the epoch has become long or large enough for a new one. */
bool fperf_ring__wants_epoch(const struct fperf_ring *ring);

/* Begins the next epoch. The writer must have been flushed. 0 or -ENOMEM. */
int fperf_ring__begin_epoch(struct fperf_ring *ring, struct fperf_error *err);

/* Epochs are counted from 0; dictionaries of those before the first are gone. */
uint64_t fperf_ring__first_epoch(const struct fperf_ring *ring);
uint64_t fperf_ring__epoch(const struct fperf_ring *ring);

/* Segments that hold something of [from_ns, to_ns] stay until they are let go as often as they were pinned.
 * The last one, which is still open, cannot be pinned: flush the writer first. Returns how many there are. */
size_t fperf_ring__pin(struct fperf_ring *ring, uint64_t from_ns, uint64_t to_ns);
void fperf_ring__unpin(struct fperf_ring *ring, uint64_t from_ns, uint64_t to_ns);

/* Calls back with each uninterrupted stretch of time that `write` below writes, in order. */
void fperf_ring__stretches(const struct fperf_ring *ring, uint64_t from_ns, bool pinned_only,
			   void (*visit)(void *context, uint64_t from_ns, uint64_t to_ns), void *context);

/* Copies what ends at or after `from_ns` (0: everything; `pinned_only`: of that, what is pinned) with the
 * dictionaries that it needs into another writer, whose strings must begin after those of the ring's. */
int fperf_ring__write(const struct fperf_ring *ring, struct fperf_writer *to, uint64_t from_ns,
		      bool pinned_only, struct fperf_error *err);

struct fperf_ring_stats {
	size_t bytes;	     /* of chunks */
	size_t pinned_bytes; /* of those, pinned or needed by what is pinned */
	size_t most_bytes;   /* of the others, at any time */
	size_t segments, epochs;
	uint64_t dropped; /* events that made room for younger ones */
};

void fperf_ring__stats(const struct fperf_ring *ring, struct fperf_ring_stats *stats);

#endif
