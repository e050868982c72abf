/* A source of events inside capture: one file and one row in the table of capture.c each. Sources fail alone.
 */
#ifndef FPERF_CAPTURE_SOURCE_H
#define FPERF_CAPTURE_SOURCE_H

#include "aggregate/aggregate.h"
#include "base/error.h"
#include "base/log.h"
#include "capture/capture.h"
#include "capture/effort.h"

#include <stddef.h>
#include <stdint.h>

struct bpf_object;

/* What every source sees of the recording; all borrowed, valid until stop. */
struct fperf_capture_context {
	const struct fperf_capture_options *options;
	struct fperf_aggregate *aggregate;
	struct fperf_writer *writer;
	const struct fperf_log *log;
	uint64_t start_ns;
	void *frames;	  /* the frame source, NULL while it is not active; see fperf_frame__is_boundary() */
	void *marks;	  /* the mark source, likewise; see fperf_mark__scope() */
	void *unwind;	  /* the unwind source, NULL while it is not active; see fperf_unwind__consume() */
	void *shared;	  /* shared BPF maps, see program.h */
	uint32_t markers; /* how many marker ids have been given out, by all sources */
	bool bpf_stats;	  /* the kernel can tell the run time of BPF programs */
	/* What sources count themselves, beside the BPF programs, so far. */
	uint64_t lost[FPERF_SOURCES][FPERF_LOSS_REASONS];
	uint64_t intervals; /* off-CPU intervals received so far */
	uint64_t frame_ends,
		frame_ends_ns;	/* ends of frames of the busiest process so far, and when they were counted */
	uint64_t helper_cpu_ns; /* CPU time of helper programs that have ended */
};

/* A mapping of executable memory that appeared in a target process. */
struct fperf_capture_mapping {
	uint32_t pid;
	uint32_t module; /* session-wide id */
	uint64_t time_ns, start, end, file_offset;
	const char *path; /* as the target sees it; "" for anonymous memory */
};

struct fperf_capture_source_ops {
	enum fperf_source source;
	const char *name; /* as in the session and in `report --json`: "sample" */

	/* Attaches. Returns 0 when active and puts what is used into `reason` ("cpu-clock, 1000 Hz, 2
	 * CPUs"); a negative errno and `err` when it failed; -ENODEV with `reason` when this machine does
	 * not have it, -ECANCELED with `reason` when the user did not want it. */
	int (*start)(struct fperf_capture_context *context, void **state, char *reason, size_t reason_size,
		     struct fperf_error *err);

	/* Each may be NULL. */
	void (*begin)(void *state); /* all targets that exist are known: recording starts */
	void (*on_process)(void *state,
			   uint32_t pid); /* any target process, also each new image after an exec */
	void (*on_fork)(void *state, uint32_t parent,
			uint32_t child); /* a new process, which begins with its parent's mappings */
	void (*on_exit)(void *state, uint32_t pid); /* last thread of it ended */
	void (*on_mapping)(void *state, const struct fperf_capture_mapping *mapping);
	void (*effort)(void *state, const struct fperf_effort *effort); /* what it may cost has changed */
	void (*poll)(void *state, uint64_t now_ns); /* once per drain round, before the rings are read */

	/* For recordings of which only the last part is kept: an epoch begins; writes what only changes are
	 * written of. */
	void (*on_epoch)(void *state, uint64_t now_ns);

	/* Writes what the source has to say about the recording as a whole, as if it ended now: called in a
	 * copy of the recorder (a child process) in which no other thread runs, after `prepare` before the
	 * copy was made. Must not touch what the copy shares with the recorder. */
	void (*prepare)(void *state);
	void (*describe)(void *state, uint64_t end_ns);

	/* The recording is about to end: no new events, but what the source has stays readable. */
	void (*pause)(void *state);

	/* Detaches and frees; writes what it still has to say into the session. Always called after a start
	 * that returned 0. */
	void (*stop)(void *state, uint64_t end_ns);
};

#endif
