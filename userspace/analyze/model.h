/* What the parts of analyze/ share: a session arranged by thread, with disjoint off-CPU intervals, a clock of
 * CPU time for the samples, and cached facts about stacks. For analyze/, and for outputs that show threads
 * over time.
 */
#ifndef FPERF_ANALYZE_MODEL_H
#define FPERF_ANALYZE_MODEL_H

#include "analyze/analysis.h"
#include "analyze/blocked.h"
#include "base/map.h"

#define FPERF_STATE_UNKNOWN	 FPERF_STATES /* nothing is known about this time */
#define FPERF_STATE_UNCLASSIFIED 0xff
#define FPERF_NO_RECORD		 UINT32_MAX

/* Facts about one stack in one process, worked out once. */
struct fperf_stack_info {
	uint32_t stack, process;
	bool user, kernel;   /* has user, kernel stack frames */
	bool kernel_io;	     /* kernel part: file or block I/O being worked on */
	bool fault;	     /* kernel part: a page fault of user code, not inside a system call */
	uint8_t kernel_hint; /* enum fperf_blocked_hint of the kernel part */
	uint8_t user_hint;   /* enum fperf_blocked_hint of the user part */
	const struct fperf_symbol *place; /* innermost own function, NULL: none */
	const struct fperf_symbol *leaf;  /* innermost function of all but the scheduler, NULL: none */
	size_t own_first; /* own functions from the root to the leaf, each once: in model->own_functions */
	uint32_t own_count;
};

/* What the name of a function says; of a kernel function all of it, else the hint only. */
struct fperf_name_facts {
	uint8_t hint; /* enum fperf_blocked_hint */
	bool known, kernel, scheduler, io_work, fault_entry, syscall_entry;
};

/* One off-CPU interval, made consistent: ascending, disjoint, within the life of the thread. */
struct fperf_interval {
	uint64_t out_ns, in_ns;
	uint64_t off_before_ns; /* sum of the lengths of the intervals before this one */
	uint32_t record;	/* index of the off-CPU record */
	uint8_t state;		/* enum fperf_state before the wake-up; UNCLASSIFIED until asked for */
};

struct fperf_timeline {
	const struct fperf_rec_thread *thread;
	uint32_t process; /* session-wide id */
	uint32_t pid;
	bool target;
	uint32_t group;		 /* threads that do the same work (pool workers) share one; dense, from 0 */
	uint64_t from_ns, to_ns; /* its life within the recording */
	struct fperf_interval *intervals;
	size_t interval_count;
	uint64_t off_ns;	 /* sum of all intervals */
	uint32_t *samples;	 /* indexes of its samples, ascending in time */
	uint64_t *sample_cpu_ns; /* CPU time of the thread at each sample; without sched: weights summed up */
	size_t sample_count;
	uint32_t *renames; /* indexes of its rename events, ascending in time */
	size_t rename_count, rename_capacity;
};

struct fperf_group {
	uint32_t *timelines; /* indexes */
	size_t count, capacity;
};

struct fperf_model {
	const struct fperf_session *session; /* borrowed, like the symbolizer */
	struct fperf_symbolizer *symbolizer;
	enum fperf_arch arch;

	const struct fperf_rec_offcpu *offcpu;
	struct fperf_rec_offcpu *own_offcpu; /* NULL: offcpu is the session's */
	const struct fperf_rec_sample *samples;
	const struct fperf_rec_task_event *task_events;
	size_t offcpu_count, sample_count, task_event_count;

	uint64_t start_ns, end_ns; /* of the recording */
	uint64_t sample_period_ns; /* nominal, at the full rate */
	bool period_is_ns;	   /* of samples; else they count cycles */
	const struct fperf_rec_effort *efforts;
	size_t effort_count;
	bool has_sched;		/* off-CPU intervals were recorded */
	bool sched_lossy;	/* some of them were lost */
	uint64_t bad_intervals; /* inconsistent ones, clipped or left out */

	struct fperf_timeline *timelines;
	size_t timeline_count;
	struct fperf_map by_thread; /* thread id to index of the timeline */
	struct fperf_group *groups;
	size_t group_count;

	struct fperf_map stack_index; /* stack << 32 | process to index in stacks[] */
	struct fperf_stack_info *stacks;
	size_t stack_count, stack_capacity;
	const struct fperf_symbol **own_functions;
	size_t own_count, own_capacity;
	struct fperf_name_facts *facts; /* by function id */
	size_t fact_capacity;
	bool no_memory; /* a cache could not grow: the run fails in the end */
};

/* Arranges the session; `earliest_ns`: what is before it was forgotten, 0: nothing was. The caller frees with
 * fperf_model__free() also after a failure. */
int fperf_model__build(struct fperf_model *model, const struct fperf_session *session,
		       struct fperf_symbolizer *symbolizer, uint64_t earliest_ns, struct fperf_error *err);
void fperf_model__free(struct fperf_model *model);

/* Sorts threads into groups by name; the presenting thread and main threads stay alone. */
int fperf_model__group(struct fperf_model *model, uint32_t presenting_thread, struct fperf_error *err);

/* NULL for a thread that the session does not know. */
const struct fperf_timeline *fperf_model__timeline(const struct fperf_model *model, uint32_t thread);
struct fperf_thread_ref fperf_model__thread_ref(const struct fperf_model *model, uint32_t thread,
						uint64_t time_ns);

/* Index into model->stacks; 0 (nothing known) for stack 0, a lost stack, or when out of memory. */
uint32_t fperf_model__stack(struct fperf_model *model, uint32_t stack, uint32_t process);

/* For an off-CPU interval: its own stack, or, if the user part is missing, what the same thread showed nearby
 * in the same system call on the same object. 0 when nothing agrees. */
uint32_t fperf_model__interval_stack(struct fperf_model *model, const struct fperf_timeline *timeline,
				     size_t interval);

/* How many hits of the sampling event a sample of this time stands for: more than 1 while the recorder had to
 * cost less. */
uint64_t fperf_model__hits_per_sample(const struct fperf_model *model, uint64_t time_ns);

#endif
