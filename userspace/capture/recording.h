/* The state of a recording, shared by the files of capture: lifecycle (capture.c), drain (drain.c), following
 * the target (follow.c). */
#ifndef FPERF_CAPTURE_RECORDING_H
#define FPERF_CAPTURE_RECORDING_H

#include "aggregate/aggregate.h"
#include "base/map.h"
#include "capture/batch.h"
#include "capture/capture.h"
#include "capture/program.h"
#include "capture/sideband.h"
#include "capture/source.h"

#include <bpf/libbpf.h>

#define FPERF_RINGS 3

/* Where a thread was when recording started, for the interval that was open then. */
struct fperf_start_thread {
	uint32_t pid, tid;
	char state; /* of /proc/PID/stat */
	int32_t syscall;
	uint64_t args[3];
	uint64_t cpu_ns;
	bool has_cpu;
	bool switched; /* an interval of it has been seen */
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
	struct fperf_map live;		/* pid → 1: target processes that have not ended */
	struct fperf_map start_threads; /* tid → index in start_thread */
	struct fperf_start_thread *start_thread;
	size_t start_thread_count, start_thread_capacity;
	uint64_t reported_lost[FPERF_SOURCES][FPERF_LOSS_REASONS]; /* already in the session */
	uint64_t sideband_lost, live_ns, checked_ns, losses_ns, flushed_ns;
	uint64_t stats_since_ns, stats_total_ns, stats_run_ns, stats_base_ns; /* windows of BPF accounting */
	int stats_fd;
	bool following;
	int failed; /* errno of a failed session write */
};

/* capture.c: hands an event to every source that wants it. */
void fperf_capture__on_process(struct fperf_capture *capture, uint32_t pid);
void fperf_capture__on_fork(struct fperf_capture *capture, uint32_t parent, uint32_t child);
void fperf_capture__on_exit(struct fperf_capture *capture, uint32_t pid);
void fperf_capture__on_mapping(struct fperf_capture *capture, const struct fperf_capture_mapping *mapping);
void fperf_capture__lost(struct fperf_capture *capture, enum fperf_source source,
			 enum fperf_loss_reason reason, uint64_t count);

/* drain.c */
int fperf_drain__open(struct fperf_capture *capture, struct fperf_error *err);
void fperf_drain__close(struct fperf_capture *capture);

/* Waits up to `timeout_ms` for something urgent (an exec). */
void fperf_drain__wait(struct fperf_capture *capture, int timeout_ms);

/* Takes what is there, in order of time, to the aggregator and to the sources. */
int fperf_drain__round(struct fperf_capture *capture, struct fperf_error *err);
int fperf_drain__record(struct fperf_capture *capture, const void *record, size_t size,
			struct fperf_error *err);

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

/* Fills in an interval that was open at the start with what /proc said then. */
void fperf_follow__complete_start(struct fperf_capture *capture, struct fperf_wire_offcpu *interval);

/* Intervals of threads that slept all the time; the kernel's account of each thread. */
int fperf_follow__finish(struct fperf_capture *capture, uint64_t end_ns, struct fperf_error *err);

#endif
