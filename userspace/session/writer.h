/* Writes a session file: an append-only sequence of self-contained chunks, see docs/session-format.md. */
#ifndef FPERF_SESSION_WRITER_H
#define FPERF_SESSION_WRITER_H

#include "base/error.h"
#include "frameperf/records.h"
#include "session/sink.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fperf_writer;

struct fperf_writer_options {
	const char *path; /* created, readable by its owner only; an existing regular file is replaced, a
			     symbolic link is refused */
	uid_t owner_uid;  /* file is given to this user; (uid_t)-1: as it is */
	gid_t owner_gid;
	uint32_t chunk_bytes; /* raw bytes (about) after which a chunk is written; 0: 256 KiB */
	int zstd_level;	      /* 0: the default of this writer */
	/* Times of samples, off-CPU intervals, marks and task events are rounded down to multiples of this
	 * power of two in ns; 0 or 1: exact. All alike, so intervals still join without gaps and order is
	 * kept; 1024 makes these chunks about 40 % smaller. */
	uint32_t time_grain_ns;
	/* While the disk is full, this many bytes of records wait in memory and are tried again with each
	 * flush; what does not fit is lost and counted. 0: a full disk is an error like any other. */
	size_t wait_bytes;
	uint64_t max_bytes;	/* of the file, which is treated like a full disk there; 0: no bound */
	const char *session_id; /* 32 hexadecimal digits; NULL: a new random UUID */
	uint32_t first_string;	/* ids of interned strings begin after it, for who also adds string records */
	/* Not NULL: chunks go there instead of into a file, and `path`, owner and session_id mean nothing.
	 * Copied; what is behind it is closed with the writer. */
	const struct fperf_sink *sink;
};

/* What was written, for `info`, the end message and tests. */
struct fperf_writer_stats {
	uint64_t file_bytes; /* of the file, or that the sink holds */
	uint64_t raw_bytes;  /* before compression */
	uint32_t chunks;
	uint64_t records[FPERF_RECORD_TYPES];
	bool waiting;	       /* the disk is full, and records wait in memory */
	uint64_t records_lost; /* could not be written (disk full): counted, memory released */
};

/* Also adds the meta record "session.id": the UUID that is in the file header. */
int fperf_writer__open(const struct fperf_writer_options *options, struct fperf_writer **writer,
		       struct fperf_error *err);

/* Takes a copy of one record (struct fperf_rec_TYPE). Writes chunks when enough is pending. A write error is
 * sticky: it is returned once, later adds count into records_lost and return 0, so that recording can end in
 * an orderly way. */
int fperf_writer__add(struct fperf_writer *writer, enum fperf_record_type type, const void *record,
		      struct fperf_error *err);

/* Interns a string: adds a string record when it is new; returns its id (0 for "" or when out of memory). */
uint32_t fperf_writer__string(struct fperf_writer *writer, const void *bytes, size_t size);
uint32_t fperf_writer__text(struct fperf_writer *writer, const char *text); /* NUL-terminated; NULL is "" */

/* Adds a meta record. */
int fperf_writer__meta(struct fperf_writer *writer, const char *key, const char *value,
		       struct fperf_error *err);
int fperf_writer__meta_u64(struct fperf_writer *writer, const char *key, uint64_t value,
			   struct fperf_error *err);

/* Writes everything pending, dictionary first; with `sync` also fdatasync()s. Called every few seconds. */
int fperf_writer__flush(struct fperf_writer *writer, bool sync, struct fperf_error *err);

/* Appends a chunk that another writer has built, with its payload as stored. Its references are the caller's
 * business: ids of strings must be at or below `first_string`. */
int fperf_writer__copy(struct fperf_writer *writer, const struct fperf_chunk_header *header,
		       const void *payload, struct fperf_error *err);

/* The highest id of a string that was given out. */
uint32_t fperf_writer__last_string(const struct fperf_writer *writer);

/* Strings that are interned from here on are new, with ids of their own: what is written from now on refers
 * to no string that was written before. Flushes first. */
int fperf_writer__forget_strings(struct fperf_writer *writer, struct fperf_error *err);

void fperf_writer__stats(const struct fperf_writer *writer, struct fperf_writer_stats *stats);

/* Flushes, writes the end chunk, closes and frees, also on failure. After a write error the reserve behind
 * the end of the file is used for the records that say how the recording went (meta, source, account, loss,
 * unwind failure) and for what was lost. A NULL writer is fine. */
int fperf_writer__close(struct fperf_writer *writer, struct fperf_error *err);

#endif
