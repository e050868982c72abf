/* What is written once a second or at the end: losses, intervals that are still open, totals. */
#include "aggregate/aggregate_internal.h"

#include "frameperf/meta.h"

#include <errno.h>

int fperf_aggregate__write_losses(struct fperf_aggregate *agg, uint64_t time_ns, struct fperf_error *err)
{
	struct fperf_rec_loss record = {.time_ns = time_ns};

	agg->lost_written_ns = time_ns;
	agg->lost_pending = false;
	for (size_t source = 0; source < FPERF_SOURCES; source++)
		for (size_t reason = 0; reason < FPERF_LOSS_REASONS; reason++) {
			record.source = (uint8_t)source;
			record.reason = (uint8_t)reason;
			record.count = agg->lost[source][reason];
			agg->lost[source][reason] = 0;
			if (record.count &&
			    fperf_writer__add(agg->options.writer, FPERF_RECORD_LOSS, &record, err))
				return err->code;
		}
	return 0;
}

int fperf_aggregate__write_idle(struct fperf_aggregate *agg, const struct fperf_thread *thread,
				uint64_t end_ns, struct fperf_error *err)
{
	const struct fperf_thread_at_start *at_start = thread->at_start;
	struct fperf_rec_offcpu record = {
		.out_ns = agg->options.start_ns,
		.in_ns = end_ns,
		.thread = thread->id,
		.flags = FPERF_OFFCPU_OPEN_START | FPERF_OFFCPU_OPEN_END |
			 (at_start->iowait ? FPERF_OFFCPU_IOWAIT : 0),
		.state = at_start->state,
		.syscall = at_start->syscall,
		.args = {at_start->args[0], at_start->args[1], at_start->args[2]},
	};

	if (fperf_aggregate__intern(agg, at_start->stack.outcome, at_start->stack.frames,
				    (uint32_t)at_start->stack.count, FPERF_SOURCE_SCHED, &record.stack, err))
		return err->code;
	if (thread->start_ns > record.out_ns && thread->start_ns < end_ns)
		record.out_ns = thread->start_ns;
	return fperf_writer__add(agg->options.writer, FPERF_RECORD_OFFCPU, &record, err);
}

static int threads_finish(struct fperf_aggregate *agg, uint64_t end_ns, struct fperf_error *err)
{
	for (size_t i = 0; i < agg->tasks.thread_count; i++) {
		struct fperf_thread *thread = agg->tasks.threads[i];

		if (fperf_task_table__settle(&agg->tasks, thread, UINT64_MAX, err))
			return err->code;
		if (thread->at_start && !thread->end_ns &&
		    fperf_aggregate__write_idle(agg, thread, end_ns, err))
			return err->code;
	}
	return 0;
}

static int failures_sum(const struct fperf_aggregate *agg, struct fperf_map *sums)
{
	for (size_t i = 0; i < agg->epoch_count; i++) {
		uint64_t key, count, before;
		size_t cursor = 0;

		while (fperf_map__next(&agg->epochs[i].unwind_failures, &cursor, &key, &count)) {
			before = 0;
			fperf_map__get(sums, key, &before);
			if (fperf_map__set(sums, key, before + count))
				return -ENOMEM;
		}
	}
	return 0;
}

static int failures_write(struct fperf_aggregate *agg, struct fperf_error *err)
{
	struct fperf_rec_unwind_failure record;
	struct fperf_map sums = {0};
	size_t cursor = 0;
	uint64_t key;
	int result =
		failures_sum(agg, &sums) ? fperf_error__no_memory(err, "the counts of failed unwinds") : 0;

	while (!result && fperf_map__next(&sums, &cursor, &key, &record.count)) {
		record.module = (uint32_t)(key >> 8);
		result = fperf_module_table__mention(agg->modules, record.module, err);
		record.outcome = (uint8_t)key;
		result = result ? result
				: fperf_writer__add(agg->options.writer, FPERF_RECORD_UNWIND_FAILURE, &record,
						    err);
	}
	fperf_map__free(&sums);
	return result;
}

static int totals_write(struct fperf_aggregate *agg, struct fperf_error *err)
{
	struct fperf_aggregate_stats stats;

	fperf_aggregate__stats(agg, &stats);
	const struct {
		const char *key;
		uint64_t value;
	} totals[] = {
		{FPERF_META_STACKS, stats.stacks},
		{FPERF_META_STACK_LOOKUPS, stats.stack_lookups},
		{FPERF_META_FIRST_LEVEL_HITS, stats.first_level_hits},
		{FPERF_META_SECOND_LEVEL_HITS, stats.second_level_hits},
		{FPERF_META_SECOND_LEVEL_PROBES, stats.second_level_probes},
		{FPERF_META_SECOND_LEVEL_SLOTS, stats.second_level_slots},
		{FPERF_META_HASH_COLLISIONS, stats.hash_collisions},
		{FPERF_META_STACKS_LOST, stats.stacks_lost},
	};

	for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++)
		if (fperf_writer__meta_u64(agg->options.writer, totals[i].key, totals[i].value, err))
			return err->code;
	return 0;
}

int fperf_aggregate__finish(struct fperf_aggregate *agg, uint64_t end_ns, struct fperf_error *err)
{
	if (threads_finish(agg, end_ns, err) || failures_write(agg, err) ||
	    fperf_aggregate__write_losses(agg, end_ns, err))
		return err->code;
	return totals_write(agg, err);
}
