/* Why frames were slow: frames, ledgers, critical chains, verdicts, hot functions, threads. A pure function
 * of a session (and of the names that the symbolizer finds): no I/O, no printing.
 */
#ifndef FPERF_ANALYZE_ANALYSIS_H
#define FPERF_ANALYZE_ANALYSIS_H

#include "base/error.h"
#include "session/session.h"
#include "symbolize/symbolize.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Levels of detail of a session. */
#define FPERF_LEVEL_SUMMARY  0 /* sums over the whole recording */
#define FPERF_LEVEL_TIMELINE 1 /* one record for each frame, its verdict, ledgers, functions over all */
#define FPERF_LEVEL_EVENTS   2 /* everything that was recorded */

enum fperf_cause {
	FPERF_CAUSE_CPU, /* more work on the core */
	FPERF_CAUSE_LOCK,
	FPERF_CAUSE_IO,
	FPERF_CAUSE_FAULT, /* page fault that had to wait, or time spent handling faults */
	FPERF_CAUSE_GPU,
	FPERF_CAUSE_SLEEP,
	FPERF_CAUSE_EVENT,     /* waits for another thread or process: condition variable, pipe, socket, poll,
				  binder */
	FPERF_CAUSE_RUN_QUEUE, /* woken but not run */
	FPERF_CAUSE_PREEMPTED,
	FPERF_CAUSE_FREQUENCY, /* same work, slower clock */
	FPERF_CAUSE_UNKNOWN,
	FPERF_CAUSES
};

/* States of a thread over time; the ledger's columns. */
enum fperf_state {
	FPERF_STATE_USER,      /* running in user mode */
	FPERF_STATE_KERNEL,    /* running in kernel mode */
	FPERF_STATE_RUNNABLE,  /* woken, waits for a core */
	FPERF_STATE_PREEMPTED, /* put aside while runnable */
	FPERF_STATE_LOCK,
	FPERF_STATE_IO,
	FPERF_STATE_FAULT,
	FPERF_STATE_GPU,
	FPERF_STATE_SLEEP,
	FPERF_STATE_EVENT,
	FPERF_STATE_OTHER, /* blocked, kind unknown */
	FPERF_STATES
};

const char *fperf_cause__name(enum fperf_cause cause); /* as in the JSON: "run_queue" */
const char *fperf_state__name(enum fperf_state state);

struct fperf_place {
	const char *function; /* NULL: not known */
	const char *module;
};

struct fperf_thread_ref {
	uint32_t thread; /* session-wide id, 0: none */
	uint32_t pid, tid;
	const char *name; /* at that time; "" if not known */
};

struct fperf_ledger {
	struct fperf_thread_ref thread;
	uint64_t state_ns[FPERF_STATES];
	int64_t residual_ns; /* the part of the frame in which the thread existed, minus the sum of the
				states: time of which nothing is known */
};

/* One piece of the critical chain, in order of time; the pieces of a frame are disjoint and fill it. */
struct fperf_chain_link {
	struct fperf_thread_ref thread;
	uint64_t from_ns, to_ns;
	enum fperf_state state;
	struct fperf_place place;   /* innermost own function */
	struct fperf_thread_ref by; /* who kept it waiting, thread 0: not known */
};

struct fperf_verdict {
	enum fperf_cause cause;
	struct fperf_thread_ref thread;
	struct fperf_place place;
	struct fperf_place leaf;
	bool has_by;
	struct fperf_thread_ref by;
	const char *by_module;
	const char *by_function;      /* where `by` spent most of that wait; NULL: not known */
	uint64_t excess_ns;	      /* of this cause over ordinary frames */
	double share;		      /* of the frame's whole excess that this explains, 0..1 */
	enum fperf_cause suspect;     /* of an unknown cause: the one that explains most; else the cause */
	uint64_t cause_ns;	      /* how much more of the cause there was than in ordinary frames */
	uint64_t frame_excess_ns;     /* how much longer the frame took than ordinary ones */
	uint32_t slow_khz, usual_khz; /* cause frequency: the clock in this frame and in ordinary ones */
	char *text; /* one line, e.g. "GameThread waited 23.9 ms for a lock in spawn_enemies(), held by …";
		     * may be NULL when out of memory */
};

struct fperf_frame {
	uint32_t index; /* from 0, in the chosen marker's and surface's series */
	uint64_t start_ns, end_ns;
	uint64_t active_ns; /* without waiting for the limiter or vsync */
	uint32_t thread;    /* session-wide id of the thread that presented it (its end) */
	bool slow;
};

struct fperf_slow_frame {
	uint32_t frame;	  /* index into frames[] */
	bool has_verdict; /* false: the frame was asked for and is not slow */
	struct fperf_verdict verdict;
	struct fperf_chain_link *chain; /* NULL for slow frames beyond `worst` */
	size_t chain_count;
	struct fperf_ledger *ledger; /* threads of the target that did or waited for anything in the frame */
	size_t ledger_count;
};

struct fperf_time_stats {
	uint64_t mean, p50, p90, p95, p99, max; /* ns */
};

struct fperf_frames_summary {
	const char *surface; /* e.g. "0x5581…", "" when there is one only and it has no name */
	const char *marker;  /* e.g. "libGLX.so.0:glXSwapBuffers" */
	uint64_t count;	     /* frames presented: boundaries of the surface; 0 when there are less than two */
	uint64_t timed;	     /* frames whose time is known: all but the first */
	uint64_t duration_ns; /* first boundary to last */
	double fps_mean;      /* timed / duration */
	struct fperf_time_stats time;
	double low_1pct_fps, low_01pct_fps;
	uint64_t budget_ns;
	bool budget_chosen; /* the budget was chosen from the frames, not given */
	uint64_t slow;
	double hitches_per_min;
	uint64_t jank, big_jank;
	uint64_t time_anomalies; /* boundaries out of order */
};

struct fperf_cause_total {
	enum fperf_cause cause;
	uint64_t frames, excess_ns;
};

struct fperf_hot_function {
	uint32_t function_id;
	const char *function, *module;
	uint64_t self_ns, total_ns;
	double self_share, total_share; /* of all sampled CPU time */
};

struct fperf_thread_stats {
	struct fperf_thread_ref thread;
	uint64_t cpu_ns; /* from the off-CPU intervals: exact; from samples when sched is not active */
	uint64_t samples, switches;
	uint64_t run_queue_p50_ns, run_queue_p99_ns, run_queue_max_ns;
	double stacks_complete_share; /* negative: no stacks */
};

struct fperf_freq_stats {
	uint32_t cpu;
	uint32_t min_khz, max_khz; /* of the hardware, 0: not known */
	uint32_t mean_khz;	   /* time weighted */
	uint64_t transitions;
	double time_below_max_share;
};

/* The ledger of one thread in one frame, slow or not. */
struct fperf_frame_ledger {
	uint32_t frame; /* index into frames[] */
	struct fperf_ledger ledger;
};

/* CPU time of its own that one function had in one frame. */
struct fperf_frame_hot {
	uint32_t frame; /* index into frames[] */
	uint32_t function_id;
	uint64_t self_ns;
};

/* What an analysis holds. Where a session has no events (levels 0 and 1), what only they tell is not there:
 * not measured, which is not the same as none. */
struct fperf_holds {
	bool timeline;	/* frames[] and slow[]: single frames, verdicts */
	bool ledgers;	/* of threads in frames */
	bool chains;	/* of slow frames */
	bool functions; /* hot[], hot_slow[] */
	bool threads;	/* threads[] */
	bool events;	/* samples, stacks, off-CPU intervals, marks */
};

struct fperf_stack_quality {
	uint64_t stacks, complete;
	uint64_t by_outcome[FPERF_STACK_OUTCOMES];
};

struct fperf_analysis_options {
	uint64_t budget_ns;	 /* 0: chosen from the frames, see docs/analysis.md */
	uint32_t worst;		 /* slow frames that get chain and ledger, by lost time; 0: all */
	int64_t frame;		 /* one frame that gets chain and ledger whether slow or not; -1: none */
	uint64_t from_ns, to_ns; /* analyse only this part; 0, 0: everything */
	/* Samples outside of this do not count for hot functions and the quality of stacks; 0, 0: all do.
	 * For windows of a recording that goes on, of which frames next to them must be known too. */
	uint64_t sums_from_ns, sums_to_ns;
	/* Not 0: the recording goes on, and what is before this time was forgotten. Threads that wait at the
	 * end may have no interval for that yet. */
	uint64_t window_ns;
	bool per_frame; /* also fill ledgers[] and frame_hot[]: what comparisons need */
};

struct fperf_model;    /* analyze/model.h */
struct fperf_freq;     /* analyze/freq.h */
struct fperf_baseline; /* analyze/baseline.h */

struct fperf_analysis {
	const struct fperf_session *session; /* borrowed */
	/* For outputs that show threads over time: what the rest was made from, owned by the analysis. The
	 * session and the symbolizer must outlive it. Not const: facts are worked out when first asked for.
	 */
	struct fperf_model *model;
	struct fperf_freq *clocks;
	struct fperf_baseline *baseline;
	struct fperf_frames_summary summary;
	struct fperf_frame *frames;
	size_t frame_count;
	struct fperf_slow_frame
		*slow; /* in order of time; the asked-for frame is among them even if it is not slow */
	size_t slow_count;
	struct fperf_cause_total *causes; /* by excess, greatest first; only causes that occur */
	size_t cause_count;
	struct fperf_hot_function *hot; /* by self time, greatest first */
	size_t hot_count;
	struct fperf_hot_function *hot_slow;
	size_t hot_slow_count;
	struct fperf_thread_stats *threads; /* of the target, by CPU time, greatest first */
	size_t thread_count;
	struct fperf_freq_stats *freq;
	size_t freq_count;
	struct fperf_stack_quality stacks;
	uint64_t samples;
	uint64_t sampled_ns, slow_sampled_ns; /* CPU time that they stand for: in all, and in slow frames */
	uint64_t lost[FPERF_SOURCES][FPERF_LOSS_REASONS];
	uint32_t level; /* of detail of the session: 0, 1 or 2 */
	struct fperf_holds holds;
	struct fperf_frame_ledger *ledgers; /* by frame, then thread id; with options.per_frame */
	size_t ledger_count;
	struct fperf_frame_hot *frame_hot; /* by frame, greatest first; with options.per_frame, level 2 */
	size_t frame_hot_count;
	uint64_t cpu_ns;			 /* of all threads of the target; 0: not known */
	uint64_t memory_peak_bytes;		 /* largest resident memory of the target; 0: not known */
	uint64_t start_ns, end_ns;		 /* of the recording */
	char marker_text[256], surface_text[32]; /* what the summary points to */
};

int fperf_analysis__run(const struct fperf_session *session, struct fperf_symbolizer *symbolizer,
			const struct fperf_analysis_options *options, struct fperf_analysis **analysis,
			struct fperf_error *err);
void fperf_analysis__free(struct fperf_analysis *analysis);

#endif
