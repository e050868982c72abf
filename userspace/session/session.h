/* A session in memory: every record of a session file, in arrays by type. Filled by the reader, or by hand in
 * tests. */
#ifndef FPERF_SESSION_SESSION_H
#define FPERF_SESSION_SESSION_H

#include "base/error.h"
#include "frameperf/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_session;

#define FPERF_SESSION_FORMAT 1 /* major version of the file format that is written and read */

/* What was found wrong while reading; all zero for a whole file. */
struct fperf_session_damage {
	uint32_t chunks_bad;	  /* checksum or structure wrong: passed over */
	uint32_t chunks_unknown;  /* types of a newer version: passed over, not damage */
	uint64_t bytes_skipped;	  /* searched through for the next intact chunk */
	uint64_t records_dropped; /* in chunks passed over, as far as their headers or the end chunk tell */
	uint64_t lost[FPERF_RECORD_TYPES]; /* the same by type */
	bool tail_cut;			   /* the file ends inside a chunk */
	bool no_end;			   /* the recording was not closed (end record missing) */
	char first[160]; /* what the first damage was and at which file offset; "" if none */
};

struct fperf_session *fperf_session__new(void); /* empty; NULL when out of memory */
void fperf_session__free(struct fperf_session *session);

/* Appends a copy of one record (struct fperf_rec_TYPE); strings and stack frames are copied too. */
int fperf_session__add(struct fperf_session *session, enum fperf_record_type type, const void *record,
		       struct fperf_error *err);

/* After the last add: sorts events by time, builds the indexes that the getters below use. Of records that
 * say the same thing twice the last is kept: equal ids, meta keys, sources, (module, outcome) of unwind
 * failures, (process, start, from_ns) of mappings. The reader calls it. */
int fperf_session__seal(struct fperf_session *session, struct fperf_error *err);

/* For a session that is a window over a recording: drops samples, off-CPU intervals, marks and counters that
 * ended before `before_ns`, and of clocks what is not the last of its kind on its CPU. Everything else stays.
 * Must be sealed, and is sealed again after more is added. */
void fperf_session__forget(struct fperf_session *session, uint64_t before_ns);

/* Bytes of memory that its records take. */
size_t fperf_session__bytes(const struct fperf_session *session);

/* Memory from which on fperf_session__add() fails with -EFBIG. */
void fperf_session__set_limit(struct fperf_session *session, size_t bytes);

/* Reads a whole file. Damage is not an error: what is readable is read, and *damage tells. Errors: cannot be
 * opened, is no session file, major version too new, out of memory. Memory is bounded by `limit` bytes (0: 2
 * GiB), beyond which -EFBIG. The caller frees *session. */
int fperf_session__load(const char *path, size_t limit, struct fperf_session **session,
			struct fperf_session_damage *damage, struct fperf_error *err);

/* Writes a sealed session to a new file, which is whole: what was read from a damaged one, for instance. It
 * keeps its id. Fails like the writer does; then there is no file. */
int fperf_session__save(const struct fperf_session *session, const char *path, struct fperf_error *err);

/* Bytes that the intact chunks of a type take in the file that was read; 0 for a session that came otherwise.
 */
uint64_t fperf_session__stored_bytes(const struct fperf_session *session, enum fperf_record_type type);

/* Name of a record type for people, such as "sample"; NULL for a number that is no type. */
const char *fperf_session__type_name(uint32_t type);

/* Array of all records of a type; `fperf_session__records(s, FPERF_RECORD_SAMPLE, &n)` is a
 * `const struct fperf_rec_sample *`. Events are sorted by time (off-CPU by out_ns). NULL when
 * there are none.
 */
const void *fperf_session__records(const struct fperf_session *session, enum fperf_record_type type,
				   size_t *count);

/* By id; NULL when id is 0 or was lost. Ids in records come from a file that nobody may trust: check for
 * NULL, and check enum values before using them as an index. */
const struct fperf_rec_module *fperf_session__module(const struct fperf_session *session, uint32_t id);
const struct fperf_rec_process *fperf_session__process(const struct fperf_session *session, uint32_t id);
const struct fperf_rec_thread *fperf_session__thread(const struct fperf_session *session, uint32_t id);
const struct fperf_rec_stack *fperf_session__stack(const struct fperf_session *session, uint32_t id);
const struct fperf_rec_marker *fperf_session__marker(const struct fperf_session *session, uint32_t id);
const struct fperf_rec_function *fperf_session__function(const struct fperf_session *session, uint32_t id);

/* NUL-terminated; "" when the id is 0 or lost. `size` may be NULL. */
const char *fperf_session__string(const struct fperf_session *session, uint32_t id, size_t *size);

/* Value of a meta key, NULL when absent; and as a number, `fallback` when absent or not a decimal number. */
const char *fperf_session__meta(const struct fperf_session *session, const char *key);
uint64_t fperf_session__meta_u64(const struct fperf_session *session, const char *key, uint64_t fallback);

#endif
