/* Makes of what was recorded, window by window, the records that levels 1 and 0 keep. */
#ifndef FPERF_ANALYZE_REDUCE_H
#define FPERF_ANALYZE_REDUCE_H

#include "analyze/analysis.h"

#include <stdint.h>

/* Where the records go: a session writer, usually. */
struct fperf_reduced_sink {
	void *self;
	/* Interns a string; 0 for "" and when there is no memory. */
	uint32_t (*text)(void *self, const char *bytes, size_t size);
	int (*add)(void *self, enum fperf_record_type type, const void *record, struct fperf_error *err);
};

struct fperf_reducer;

/* `level`: FPERF_LEVEL_SUMMARY or FPERF_LEVEL_TIMELINE. The sink is copied. */
int fperf_reducer__new(uint32_t level, const struct fperf_reduced_sink *sink, struct fperf_reducer **reducer,
		       struct fperf_error *err);
void fperf_reducer__free(struct fperf_reducer *reducer); /* NULL is fine */

/* Takes the frames that end in (from, to] and everything else in [from, to) out of an analysis of level 2
 * that was made with options.per_frame and with these times as sums_from_ns and sums_to_ns. Windows come in
 * order and join. Frame and verdict records are written at once, everything else is summed up. */
int fperf_reducer__window(struct fperf_reducer *reducer, const struct fperf_analysis *analysis,
			  uint64_t from_ns, uint64_t to_ns, struct fperf_error *err);

/* Writes the sums as they are now: to be called every now and then, and at the end. */
int fperf_reducer__sums(struct fperf_reducer *reducer, uint64_t now_ns, struct fperf_error *err);

/* Writes what describes the recording (meta, source, marker, loss records) out of its session, as far as the
 * level keeps it and it is new. */
int fperf_reducer__describe(struct fperf_reducer *reducer, const struct fperf_session *session,
			    uint64_t now_ns, struct fperf_error *err);

/* From now on records go elsewhere: what describes the recording is said again. Only at level 0, whose
 * records refer to nothing that was written before. */
int fperf_reducer__restart(struct fperf_reducer *reducer, const struct fperf_reduced_sink *sink,
			   struct fperf_error *err);

uint64_t fperf_reducer__frames(const struct fperf_reducer *reducer); /* taken until now */

/* The budget that fits all frames until now; 0: too few. */
uint64_t fperf_reducer__budget(const struct fperf_reducer *reducer);

#endif
