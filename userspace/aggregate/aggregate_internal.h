/* What the files of aggregate/ share. */
#ifndef FPERF_AGGREGATE_INTERNAL_H
#define FPERF_AGGREGATE_INTERNAL_H

#include "aggregate/aggregate.h"
#include "aggregate/module_table.h"
#include "aggregate/stack_table.h"
#include "aggregate/task_table.h"
#include "base/map.h"

#define FPERF_AGGREGATE_FRAMES (FPERF_KERNEL_DEPTH + FPERF_USER_DEPTH + 1) /* and a gap */

/* What was met in one epoch; there is only one in a recording that is kept as a whole. */
struct fperf_aggregate_epoch {
	struct fperf_map kernel_addresses; /* absolute; a set */
	struct fperf_map unwind_failures;  /* module << 8 | outcome -> count */
};

struct fperf_aggregate {
	struct fperf_aggregate_options options;
	struct fperf_task_table tasks;
	struct fperf_module_table *modules;
	struct fperf_stack_table *stacks;
	uint32_t kernel;		      /* module; 0 until the first kernel stack frame */
	struct fperf_aggregate_epoch *epochs; /* that are still wanted; the last is the current one */
	size_t epoch_count, epoch_capacity;
	uint64_t lost[FPERF_SOURCES][FPERF_LOSS_REASONS]; /* not written yet */
	uint64_t lost_written_ns;
	bool lost_pending;
	struct fperf_aggregate_stats stats;
	struct fperf_stack_frame frames[FPERF_AGGREGATE_FRAMES]; /* scratch */
};

/* The addresses of a record's stack, or those that replace them. */
struct fperf_stack_input {
	struct fperf_wire_stack head;
	const uint8_t *kernel, *user; /* arrays of 64-bit addresses, not aligned */
};

/* Makes a stack module-relative, interns it and writes it if it is new. *id is 0 when there is none or the
 * table has no room (counted as lost of `source`). `leaf_is_pc`: the first kernel address is where the thread
 * was interrupted. `user`, if not NULL, is the user part in place of that of `input`. */
int fperf_aggregate__stack(struct fperf_aggregate *agg, struct fperf_process *process,
			   const struct fperf_stack_input *input, const struct fperf_out_stack *user,
			   bool leaf_is_pc, enum fperf_source source, uint32_t *id, struct fperf_error *err);

/* Interns a stack that is module-relative already, and writes it if it is new. *id is 0 as above. */
int fperf_aggregate__intern(struct fperf_aggregate *agg, uint8_t outcome,
			    const struct fperf_stack_frame *frames, uint32_t count, enum fperf_source source,
			    uint32_t *id, struct fperf_error *err);

static inline struct fperf_aggregate_epoch *fperf_aggregate__current(struct fperf_aggregate *agg)
{
	return &agg->epochs[agg->epoch_count - 1];
}

/* Makes the user part of a switch-out (`kernel`: all of a stack) module-relative and keeps it in `out`. */
int fperf_aggregate__keep_stack(struct fperf_aggregate *agg, struct fperf_process *process,
				const struct fperf_stack_input *input, bool kernel, uint64_t out_ns,
				struct fperf_out_stack *out, struct fperf_error *err);

/* The process of a pid; one that is not known is added, and its maps are asked for. */
struct fperf_process *fperf_aggregate__process(struct fperf_aggregate *agg, uint32_t pid, uint64_t time_ns,
					       struct fperf_error *err);

int fperf_aggregate__write_mapping(struct fperf_aggregate *agg, const struct fperf_process *process,
				   struct fperf_mapping *mapping, uint64_t to_ns, struct fperf_error *err);

void fperf_aggregate__count_lost(struct fperf_aggregate *agg, enum fperf_source source,
				 enum fperf_loss_reason reason, uint64_t count);

/* A thread that did not run since recording began: one interval up to `end_ns`. */
int fperf_aggregate__write_idle(struct fperf_aggregate *agg, const struct fperf_thread *thread,
				uint64_t end_ns, struct fperf_error *err);

/* Writes what was counted as lost since the last time. */
int fperf_aggregate__write_losses(struct fperf_aggregate *agg, uint64_t time_ns, struct fperf_error *err);

#endif
