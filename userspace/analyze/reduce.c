#include "analyze/reduce.h"

#include "analyze/model.h"
#include "analyze/reduce_internal.h"
#include "analyze/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ledgers are kept of the thread that presents, of those on which the verdict falls, and of those that ran
 * for this part of the frame; not of more than LEDGER_ROWS. */
#define LEDGER_RAN_PARTS (FPERF_LEDGER_PARTS / 64)
#define LEDGER_ROWS	 8

/* Times are rounded to multiples of this, which keeps their zero bits out of the file. */
#define GRAIN_NS 1024

int fperf_reducer__add(struct fperf_reducer *reducer, enum fperf_record_type type, const void *record,
		       struct fperf_error *err)
{
	return reducer->sink.add(reducer->sink.self, type, record, err);
}

uint32_t fperf_reducer__text(struct fperf_reducer *reducer, const char *text)
{
	return text ? reducer->sink.text(reducer->sink.self, text, strlen(text)) : 0;
}

int fperf_reducer__new(uint32_t level, const struct fperf_reduced_sink *sink, struct fperf_reducer **result,
		       struct fperf_error *err)
{
	struct fperf_reducer *reducer = calloc(1, sizeof(*reducer));

	if (reducer) {
		reducer->functions = fperf_strtab__new();
		reducer->described = fperf_strtab__new();
	}
	if (!reducer || !reducer->functions || !reducer->described) {
		fperf_reducer__free(reducer);
		return fperf_error__no_memory(err, "what is kept of the recording");
	}
	reducer->level = level;
	reducer->sink = *sink;
	*result = reducer;
	return 0;
}

void fperf_reducer__free(struct fperf_reducer *reducer)
{
	if (!reducer)
		return;
	for (size_t i = 0; i < reducer->thread_count; i++)
		fperf_histogram__free(&reducer->threads[i].run_queue);
	fperf_strtab__free(reducer->functions);
	fperf_strtab__free(reducer->described);
	fperf_map__free(&reducer->threads_said);
	fperf_map__free(&reducer->processes_said);
	fperf_map__free(&reducer->modules_said);
	fperf_map__free(&reducer->thread_index);
	fperf_histogram__free(&reducer->times);
	free(reducer->threads);
	free(reducer->cpus);
	free(reducer->hot);
	free(reducer);
}

int fperf_reducer__restart(struct fperf_reducer *reducer, const struct fperf_reduced_sink *sink,
			   struct fperf_error *err)
{
	reducer->effort_said_ns = 0;
	fperf_strtab__free(reducer->described);
	reducer->described = fperf_strtab__new();
	memset(reducer->losses_said, 0, sizeof(reducer->losses_said));
	reducer->sink = *sink;
	return reducer->described ? 0 : fperf_error__no_memory(err, "what is kept of the recording");
}

uint64_t fperf_reducer__frames(const struct fperf_reducer *reducer)
{
	return reducer->times.values;
}

uint64_t fperf_reducer__budget(const struct fperf_reducer *reducer)
{
	return fperf_series__budget(fperf_histogram__time_median(&reducer->times, FPERF_BUDGET_WEIGHT_NS),
				    fperf_histogram__percentile(&reducer->times, 750));
}

/* ---- ledgers ---- */

static uint16_t part_of(uint64_t ns, uint64_t whole_ns)
{
	return (uint16_t)((unsigned __int128)ns * FPERF_LEDGER_PARTS / whole_ns);
}

/* Parts are rounded down; the largest takes what is left over, so that they add up. */
static struct fperf_rec_ledger ledger_parts(const struct fperf_ledger *ledger, uint64_t whole_ns)
{
	uint64_t unknown = ledger->residual_ns > 0 ? (uint64_t)ledger->residual_ns : 0, lived = unknown;
	uint16_t parts[FPERF_STATES], residual, left;
	size_t largest = 0;

	for (size_t state = 0; state < FPERF_STATES; state++)
		lived += ledger->state_ns[state];
	lived = lived > whole_ns ? whole_ns : lived;
	left = (uint16_t)(((unsigned __int128)lived * FPERF_LEDGER_PARTS + whole_ns / 2) / whole_ns);
	residual = part_of(unknown, whole_ns);
	residual = residual > left ? left : residual;
	lived = left;
	left = (uint16_t)(left - residual);
	for (size_t state = 0; state < FPERF_STATES; state++) {
		uint16_t part = part_of(ledger->state_ns[state], whole_ns);

		parts[state] = part > left ? left : part;
		left = (uint16_t)(left - parts[state]);
		if (ledger->state_ns[state] > ledger->state_ns[largest])
			largest = state;
	}
	parts[largest] = (uint16_t)(parts[largest] + left);
	return (struct fperf_rec_ledger){
		.thread = ledger->thread.thread,
		.lived = (uint16_t)lived,
		.user = parts[FPERF_STATE_USER],
		.kernel = parts[FPERF_STATE_KERNEL],
		.runnable = parts[FPERF_STATE_RUNNABLE],
		.preempted = parts[FPERF_STATE_PREEMPTED],
		.lock = parts[FPERF_STATE_LOCK],
		.io = parts[FPERF_STATE_IO],
		.fault = parts[FPERF_STATE_FAULT],
		.gpu = parts[FPERF_STATE_GPU],
		.sleep = parts[FPERF_STATE_SLEEP],
		.event = parts[FPERF_STATE_EVENT],
		.other = parts[FPERF_STATE_OTHER],
		.residual = residual,
	};
}

static uint64_t ran_ns(const struct fperf_ledger *ledger)
{
	return ledger->state_ns[FPERF_STATE_USER] + ledger->state_ns[FPERF_STATE_KERNEL];
}

/* How much of the greatest running times must be passed over so that no more than LEDGER_ROWS are kept. */
static uint64_t ran_limit(const struct fperf_frame_ledger *ledgers, size_t count, uint64_t frame_ns)
{
	uint64_t greatest[LEDGER_ROWS] = {0}, limit = frame_ns / FPERF_LEDGER_PARTS * LEDGER_RAN_PARTS;

	for (size_t i = 0; i < count; i++) {
		uint64_t ran = ran_ns(&ledgers[i].ledger);

		for (size_t k = 0; k < LEDGER_ROWS; k++) {
			uint64_t swap = greatest[k];

			if (ran > swap) {
				greatest[k] = ran;
				ran = swap;
			}
		}
	}
	return greatest[LEDGER_ROWS - 1] > limit ? greatest[LEDGER_ROWS - 1] : limit;
}

static int ledgers_write(struct fperf_reducer *reducer, const struct fperf_analysis *analysis, size_t first,
			 size_t count, const struct fperf_rec_frame *frame, struct fperf_error *err)
{
	const struct fperf_frame_ledger *ledgers = analysis->ledgers + first;
	uint64_t whole = frame->end_ns - frame->start_ns, limit = ran_limit(ledgers, count, whole);

	for (size_t i = 0; i < count; i++) {
		const struct fperf_ledger *ledger = &ledgers[i].ledger;
		uint32_t thread = ledger->thread.thread;
		struct fperf_rec_ledger record;

		if (thread != frame->thread && thread != frame->cause_thread && thread != frame->by &&
		    ran_ns(ledger) < limit)
			continue;
		record = ledger_parts(ledger, analysis->frames[ledgers[i].frame].end_ns -
						      analysis->frames[ledgers[i].frame].start_ns);
		record.frame = frame->index;
		if (fperf_reducer__thread(reducer, analysis, thread, err) ||
		    fperf_reducer__add(reducer, FPERF_RECORD_LEDGER, &record, err))
			return err->code;
	}
	return 0;
}

/* ---- frames ---- */

static int verdict_put(struct fperf_reduced_names *names, const struct fperf_verdict *verdict,
		       struct fperf_rec_frame *frame, struct fperf_error *err)
{
	const struct fperf_place by_place = {verdict->by_function,
					     verdict->by_function ? verdict->by_module : NULL};

	frame->cause = (uint8_t)verdict->cause;
	frame->suspect = (uint8_t)verdict->suspect;
	frame->cause_thread = verdict->thread.thread;
	frame->by = verdict->has_by ? verdict->by.thread : 0;
	frame->excess_ns = verdict->excess_ns;
	frame->cause_ns = verdict->cause_ns;
	frame->frame_excess_ns = verdict->frame_excess_ns;
	frame->slow_khz = verdict->cause == FPERF_CAUSE_FREQUENCY ? verdict->slow_khz : 0;
	frame->usual_khz = verdict->cause == FPERF_CAUSE_FREQUENCY ? verdict->usual_khz : 0;
	if (fperf_reduced_names__id(names, &verdict->place, &frame->place, err) ||
	    fperf_reduced_names__id(names, &verdict->leaf, &frame->leaf, err) ||
	    fperf_reduced_names__id(names, &by_place, &frame->by_function, err) ||
	    fperf_reducer__thread(names->reducer, names->analysis, frame->cause_thread, err) ||
	    fperf_reducer__thread(names->reducer, names->analysis, frame->by, err))
		return err->code;
	return 0;
}

static void frame_sum(struct fperf_reducer *reducer, const struct fperf_frame *frame,
		      const struct fperf_verdict *verdict)
{
	uint64_t time = frame->end_ns - frame->start_ns, *last = reducer->last_times;

	if (reducer->next_frame >= 3)
		fperf_series__jank(time, last[0], last[1], last[2], &reducer->jank, &reducer->big_jank);
	last[2] = last[1];
	last[1] = last[0];
	last[0] = time;
	if (!reducer->next_frame)
		reducer->first_ns = frame->start_ns;
	reducer->last_ns = frame->end_ns;
	reducer->slow += frame->slow;
	if (verdict) {
		reducer->cause_frames[verdict->cause]++;
		reducer->cause_ns[verdict->cause] += verdict->excess_ns;
	}
	reducer->next_frame++;
}

static uint64_t rounded(uint64_t ns)
{
	return ns & ~(uint64_t)(GRAIN_NS - 1);
}

static int frame_write(struct fperf_reducer *reducer, struct fperf_reduced_names *names, size_t index,
		       const struct fperf_verdict *verdict, size_t ledger, size_t ledgers,
		       struct fperf_error *err)
{
	const struct fperf_frame *frame = &names->analysis->frames[index];
	struct fperf_rec_frame record = {
		.index = reducer->next_frame,
		.start_ns = rounded(frame->start_ns),
		.end_ns = rounded(frame->end_ns),
		.thread = frame->thread,
		.slow = frame->slow,
		.cause = FPERF_NO_CAUSE,
		.suspect = FPERF_NO_CAUSE,
		.limited_ns = rounded(frame->end_ns - frame->start_ns - frame->active_ns),
	};

	if (record.end_ns == record.start_ns)
		record.end_ns += GRAIN_NS;
	if (verdict && verdict_put(names, verdict, &record, err))
		return err->code;
	if (fperf_reducer__thread(reducer, names->analysis, frame->thread, err) ||
	    fperf_reducer__add(reducer, FPERF_RECORD_FRAME, &record, err))
		return err->code;
	return ledgers_write(reducer, names->analysis, ledger, ledgers, &record, err);
}

static int frames_take(struct fperf_reducer *reducer, struct fperf_reduced_names *names, uint64_t from_ns,
		       uint64_t to_ns, struct fperf_error *err)
{
	const struct fperf_analysis *analysis = names->analysis;
	size_t slow = 0, ledger = 0, ledgers;

	for (size_t i = 0; i < analysis->frame_count; i++) {
		const struct fperf_frame *frame = &analysis->frames[i];
		const struct fperf_verdict *verdict = NULL;

		while (slow < analysis->slow_count && analysis->slow[slow].frame < i)
			slow++;
		if (slow < analysis->slow_count && analysis->slow[slow].frame == i &&
		    analysis->slow[slow].has_verdict)
			verdict = &analysis->slow[slow].verdict;
		while (ledger < analysis->ledger_count && analysis->ledgers[ledger].frame < i)
			ledger++;
		for (ledgers = 0; ledger + ledgers < analysis->ledger_count &&
				  analysis->ledgers[ledger + ledgers].frame == i;)
			ledgers++;
		if (frame->end_ns <= from_ns || frame->end_ns > to_ns || frame->end_ns <= reducer->last_ns)
			continue;
		if (reducer->level != FPERF_LEVEL_SUMMARY &&
		    frame_write(reducer, names, i, verdict, ledger, ledgers, err))
			return err->code;
		if (fperf_histogram__add(&reducer->times, frame->end_ns - frame->start_ns))
			return fperf_error__no_memory(err, "the frame times");
		frame_sum(reducer, frame, verdict);
	}
	return 0;
}

int fperf_reducer__window(struct fperf_reducer *reducer, const struct fperf_analysis *analysis,
			  uint64_t from_ns, uint64_t to_ns, struct fperf_error *err)
{
	struct fperf_reduced_names names = {.reducer = reducer, .analysis = analysis};
	int failed = frames_take(reducer, &names, from_ns, to_ns, err);

	reducer->budget_ns = analysis->summary.budget_ns;
	reducer->budget_chosen = analysis->summary.budget_chosen;
	if (analysis->summary.marker[0])
		snprintf(reducer->marker, sizeof(reducer->marker), "%s", analysis->summary.marker);
	if (analysis->summary.surface[0])
		snprintf(reducer->surface, sizeof(reducer->surface), "%s", analysis->summary.surface);
	reducer->anomalies += analysis->summary.time_anomalies;
	reducer->samples += analysis->samples;
	for (size_t i = 0; i < FPERF_STACK_OUTCOMES; i++)
		reducer->stacks[i] += analysis->stacks.by_outcome[i];
	if (!failed)
		failed = fperf_reducer__hot_sum(reducer, &names, err);
	if (!failed)
		failed = fperf_reducer__threads_sum(reducer, analysis, from_ns, to_ns, err);
	if (!failed)
		failed = fperf_reducer__clocks_sum(reducer, analysis, from_ns, to_ns, err);
	fperf_reduced_names__free(&names);
	return failed;
}
