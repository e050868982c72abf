/* The state of a recording, shared by the files of capture: lifecycle (capture.c), drain (drain.c), following
 * the target (follow.c). */
#ifndef FPERF_CAPTURE_RECORDING_H
#define FPERF_CAPTURE_RECORDING_H

#include "aggregate/aggregate.h"
#include "base/map.h"
#include "capture/batch.h"
#include "capture/capture.h"
#include "capture/overhead.h"
#include "capture/program.h"
#include "capture/scan.h"
#include "capture/sideband.h"
#include "capture/source.h"

#include <bpf/libbpf.h>

#define FPERF_RINGS 3

enum {
	FPERF_LIVE_SEEN = 1,
	FPERF_LIVE_DOUBTED = 2 /* no longer a target for BPF; its exit was not seen yet */
};

struct fperf_capture {
	struct fperf_capture_options options;
	struct fperf_capture_context context;
	struct fperf_shared_maps shared;
	struct fperf_capture_status status;
	void **source_state; /* by row of the source table; NULL: not active */
	struct fperf_sideband *sideband;
	struct ring_buffer *rings[FPERF_RINGS];
	struct fperf_batch batch;
	struct fperf_scan *scan;	/* NULL: without sched, or not possible */
	struct fperf_map live;		/* target processes that have not ended: pid → FPERF_LIVE_* */
	struct fperf_map start_threads; /* tid → 1: existed at the start, no interval of it has been seen */
	uint64_t reported_lost[FPERF_SOURCES][FPERF_LOSS_REASONS]; /* already in the session */
	uint64_t live_ns;					   /* start of the recording */
	uint64_t end_ns;					   /* its end; 0: not yet */
	uint64_t round_ns, checked_ns, losses_ns, flushed_ns;	   /* when they were last done */
	uint64_t neighbours_ns; /* second in which `neighbours` were looked up */
	uint32_t neighbours;
	struct fperf_overhead *overhead;
	struct fperf_map boundaries; /* pid → marker that ends its frames, for the triggers */
	struct fperf_buf looked;     /* records of the scan of fperf_capture__look() */
	uint64_t looked_ns;	     /* when that was */
	bool mappings_lost;	     /* the side band has lost records: mappings are to be read again */
	uint64_t mapped_ns;	     /* last mapping of the side band */
	size_t round_bytes;	     /* that the last round found */
	bool urgent;		     /* something that must be looked at soon waits in the batch */
	bool other_priority;	     /* than it was started with */
};

/* capture.c: hands an event to every source that wants it. */
void fperf_capture__on_process(struct fperf_capture *capture, uint32_t pid);
void fperf_capture__on_fork(struct fperf_capture *capture, uint32_t parent, uint32_t child);
void fperf_capture__on_exit(struct fperf_capture *capture, uint32_t pid);
void fperf_capture__on_mapping(struct fperf_capture *capture, const struct fperf_capture_mapping *mapping);
void fperf_capture__lost(struct fperf_capture *capture, enum fperf_source source,
			 enum fperf_loss_reason reason, uint64_t count);

/* Each source that wants it, as the operations of the same names. */
void fperf_capture__epoch_began(struct fperf_capture *capture, uint64_t now_ns);
void fperf_capture__sources_prepare(struct fperf_capture *capture);
void fperf_capture__sources_describe(struct fperf_capture *capture);

/* Writes what is said once about a session: at its start (start_ns: live_ns), and at its end. */
int fperf_capture__write_start(struct fperf_capture *capture, struct fperf_error *err);
int fperf_capture__write_end(struct fperf_capture *capture, const char *end_reason, struct fperf_error *err);

/* Ends the measuring of BPF run time: status.bpf_ns is that from live_ns to now. */
void fperf_capture__finish_stats(struct fperf_capture *capture, uint64_t now_ns);

/* watch.c: tells the triggers of a record, and up to when all have been told. */
void fperf_watch__record(struct fperf_capture *capture, const struct fperf_wire_header *header);

/* drain.c */
int fperf_drain__open(struct fperf_capture *capture, struct fperf_error *err);
void fperf_drain__close(struct fperf_capture *capture);

/* How long to wait until the next round. */
int fperf_drain__interval_ms(const struct fperf_capture *capture);

/* Waits up to `timeout_ms` for something urgent (an exec). */
void fperf_drain__wait(struct fperf_capture *capture, int timeout_ms);

/* Takes what is there, in order of time, to the aggregator and to the sources. What is very young waits for
 * the next round unless this is the last. */
int fperf_drain__round(struct fperf_capture *capture, bool last, struct fperf_error *err);

/* One record; may write to it. */
int fperf_drain__record(struct fperf_capture *capture, void *record, size_t size, struct fperf_error *err);

/* follow.c */

/* Marks the processes of the options and their descendants as targets, and tells aggregator and sources of
 * their threads and mappings. -ESRCH when none of them exists. */
int fperf_follow__start(struct fperf_capture *capture, struct fperf_error *err);

/* Reads the mappings of a process that has none yet, or whose image is new. */
void fperf_follow__read_mappings(struct fperf_capture *capture, uint32_t pid);

/* A mapping from /proc or the side band. */
int fperf_follow__mapping(struct fperf_capture *capture, const struct fperf_sideband_mapping *mapping,
			  struct fperf_error *err);

/* Takes processes off the live list whose end was not seen. */
void fperf_follow__check_live(struct fperf_capture *capture);

/* Cuts an interval to the time of the recording. False when it should be dropped. */
bool fperf_follow__clip(struct fperf_capture *capture, struct fperf_wire_offcpu *interval);

/* Every thread of the target as it is now, once at the start and once at the end. */
int fperf_follow__scan(struct fperf_capture *capture, struct fperf_error *err);

#endif
