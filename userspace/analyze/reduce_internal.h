/* The reducer, as its own files see it. */
#ifndef FPERF_ANALYZE_REDUCE_INTERNAL_H
#define FPERF_ANALYZE_REDUCE_INTERNAL_H

#include "analyze/histogram.h"
#include "analyze/reduce.h"
#include "base/map.h"
#include "base/strtab.h"

struct fperf_reduced_thread {
	uint32_t thread; /* session-wide id */
	struct fperf_rec_thread_stats stats;
	struct fperf_histogram run_queue;
};

struct fperf_reduced_cpu {
	bool known;
	uint32_t min_khz, max_khz, highest_khz, last_khz;
	double known_ns, below_ns, khz_ns; /* khz_ns: clock times time */
	uint64_t transitions;
};

struct fperf_reduced_hot {
	uint64_t self_ns, total_ns, slow_self_ns, slow_total_ns;
};

struct fperf_reducer {
	uint32_t level;
	struct fperf_reduced_sink sink;

	/* what was written already */
	struct fperf_strtab *functions;				     /* "function\0module" to id */
	struct fperf_map threads_said, processes_said, modules_said; /* id to a hash of what was said */
	struct fperf_strtab *described; /* meta, source and marker records, as text */
	uint64_t losses_said[FPERF_SOURCES][FPERF_LOSS_REASONS];
	uint64_t effort_said_ns; /* of the last effort record that was written */

	/* frames */
	uint32_t next_frame;
	uint64_t first_ns, last_ns; /* boundaries */
	uint64_t last_times[3];	    /* of the frames before, the last one first */
	struct fperf_histogram times;
	uint64_t slow, jank, big_jank, anomalies, budget_ns;
	bool budget_chosen;
	char marker[256], surface[32];
	uint64_t cause_frames[FPERF_CAUSES], cause_ns[FPERF_CAUSES];

	/* sums */
	struct fperf_reduced_thread *threads;
	size_t thread_count, thread_capacity;
	struct fperf_map thread_index; /* id to index */
	struct fperf_reduced_cpu *cpus;
	size_t cpu_count, cpu_capacity;
	uint64_t samples, stacks[FPERF_STACK_OUTCOMES];
	bool sampled;
	struct fperf_reduced_hot *hot; /* by function id, since the last sums; [0]: the rest */
	size_t hot_count, hot_capacity;
};

int fperf_reducer__add(struct fperf_reducer *reducer, enum fperf_record_type type, const void *record,
		       struct fperf_error *err);
uint32_t fperf_reducer__text(struct fperf_reducer *reducer, const char *text);

/* Writes the thread by its last name, and its process, where that was not done. 0 or a negative error. */
int fperf_reducer__thread(struct fperf_reducer *reducer, const struct fperf_analysis *analysis,
			  uint32_t thread, struct fperf_error *err);

/* Names that a window refers to, until they have ids. */
struct fperf_reduced_names {
	struct fperf_reducer *reducer;
	const struct fperf_analysis *analysis;
	struct fperf_map frames; /* pointers of (function, module), hashed, to an index of `found` */
	struct fperf_stack_frame *found;
	size_t found_count, found_capacity;
	bool searched;
};

/* Id of a function, which is written when it is new; 0: the place is not known. 0 or a negative error. */
int fperf_reduced_names__id(struct fperf_reduced_names *names, const struct fperf_place *place, uint32_t *id,
			    struct fperf_error *err);
void fperf_reduced_names__free(struct fperf_reduced_names *names);

/* The parts of a window. */
int fperf_reducer__threads_sum(struct fperf_reducer *reducer, const struct fperf_analysis *analysis,
			       uint64_t from_ns, uint64_t to_ns, struct fperf_error *err);
int fperf_reducer__clocks_sum(struct fperf_reducer *reducer, const struct fperf_analysis *analysis,
			      uint64_t from_ns, uint64_t to_ns, struct fperf_error *err);
int fperf_reducer__hot_sum(struct fperf_reducer *reducer, struct fperf_reduced_names *names,
			   struct fperf_error *err);

#endif
