/* Recording: loads the BPF programs, opens perf events and probes, follows the target, drains the rings into
 * the aggregator. The only user of libbpf.
 */
#ifndef FPERF_CAPTURE_CAPTURE_H
#define FPERF_CAPTURE_CAPTURE_H

#include "base/error.h"
#include "base/log.h"
#include "frameperf/reasons.h"
#include "session/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fperf_capture;
struct fperf_triggers;

enum fperf_unwind_mode {
	FPERF_UNWIND_AUTO,
	FPERF_UNWIND_FP,
	FPERF_UNWIND_TABLE,
	FPERF_UNWIND_DUMP,
	FPERF_UNWIND_CHECK, /* as auto, and each stack is compared with what libdw makes of a copy of it */
	FPERF_UNWIND_LEAF,  /* innermost addresses only */
};

struct fperf_capture_mark {
	const char *path;   /* as the target sees it, or a file name that mapped modules are matched with */
	const char *symbol; /* "name", "name@VER", or "+0xOFFSET" (file offset) */
	const char *name;
};

struct fperf_capture_scope {
	struct fperf_capture_mark begin, end;
};

struct fperf_capture_options {
	const pid_t *pids; /* processes to record, already running (or a child stopped before exec) */
	size_t pid_count;
	uint32_t frequency_hz;
	double overhead_percent; /* what recording may cost, see overhead.h; 0: without limit */
	enum fperf_unwind_mode unwind;
	uint32_t unwind_memory_mib; /* bound of all unwind tables together; 0: 192 */
	bool frame_auto;
	const struct fperf_capture_mark *frame; /* NULL: auto or off */
	const struct fperf_capture_mark *marks;
	size_t mark_count;
	const struct fperf_capture_scope *scopes;
	size_t scope_count;
	const char *helper_program;  /* frameperf itself, run for what may crash or hang (asking a Vulkan
					driver where  it presents); NULL: done without */
	uint32_t drain_interval_ms;  /* 0: by how much there is to drain */
	uint32_t flush_interval_ms;  /* 0: 3000 */
	struct fperf_writer *writer; /* borrowed */
	const struct fperf_log *log;
	struct fperf_triggers *triggers; /* borrowed, NULL: none; is fed with what happens */
};

/* Everything that can be attached is; a source that cannot is marked failed or absent in the session with its
 * reason, and the others go on. Fails only when nothing could be recorded at all, or the target is gone. */
int fperf_capture__start(const struct fperf_capture_options *options, struct fperf_capture **capture,
			 struct fperf_error *err);

/* Drains once. Returns 1 while the target lives, 0 when all its processes have ended, negative on failure of
 * the session file (recording should stop). Waits up to `timeout_ms` first; a signal ends the wait early. */
int fperf_capture__poll(struct fperf_capture *capture, int timeout_ms, struct fperf_error *err);

/* Detaches everything, drains what is left, closes open intervals, writes totals. */
int fperf_capture__stop(struct fperf_capture *capture, const char *end_reason, struct fperf_error *err);
void fperf_capture__free(struct fperf_capture *capture);

/* For recordings of which only the last part is kept, in a ring that the writer's chunks go to. */

/* Begins an epoch with everything that is said again, see fperf_ring; the writer's strings must be forgotten
 * and the ring must have begun it. `wanted_epochs`: how many may still be written out. */
int fperf_capture__begin_epoch(struct fperf_capture *capture, uint64_t wanted_epochs,
			       struct fperf_error *err);

/* Writes every thread of the target as it is now (struct fperf_rec_snapshot), with its stack, and who holds
 * the lock that it waits for. */
int fperf_capture__snapshot(struct fperf_capture *capture, struct fperf_error *err);

/* Writes the intervals that are open now, as if they ended: so that what is recorded up to here makes sense
 * without what comes after it. */
int fperf_capture__hold(struct fperf_capture *capture, struct fperf_error *err);

/* Takes in what a session needs that ends now, although the recording goes on: to be called before the
 * process forks. *end_ns is that end. */
int fperf_capture__look(struct fperf_capture *capture, uint64_t *end_ns, struct fperf_error *err);

/* In a child process that was forked then, and of which nothing else is wanted any more: writes to another
 * writer, whose strings begin after those of the recording's, what describes the recording and what is open
 * at its end. Its events come from elsewhere. The session begins at `start_ns`. The child leaves by _exit().
 */
int fperf_capture__describe(struct fperf_capture *capture, struct fperf_writer *to, uint64_t start_ns,
			    const char *end_reason, struct fperf_error *err);

/* Session-wide id of a target thread, 0: not known. */
uint32_t fperf_capture__thread_id(const struct fperf_capture *capture, uint32_t tid);

struct fperf_capture_status {
	uint64_t records;
	uint64_t lost[FPERF_SOURCES][FPERF_LOSS_REASONS];
	uint8_t source_state[FPERF_SOURCES]; /* enum fperf_source_state */
	char source_reason[FPERF_SOURCES][160];
	uint64_t bpf_ns; /* run time of our programs; 0: kernel does not tell */
};

void fperf_capture__status(const struct fperf_capture *capture, struct fperf_capture_status *status);

#endif
