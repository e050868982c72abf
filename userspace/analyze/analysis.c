#include "analyze/analysis.h"

#include "analyze/baseline.h"
#include "analyze/chain.h"
#include "analyze/series.h"
#include "analyze/freq.h"
#include "analyze/hot.h"
#include "analyze/ledger.h"
#include "analyze/model.h"
#include "analyze/per_frame.h"
#include "analyze/results.h"
#include "analyze/threads.h"
#include "analyze/verdict.h"
#include "analyze/worst.h"
#include "base/vec.h"
#include "frameperf/meta.h"

#include <stdlib.h>

static const char *const cause_names[FPERF_CAUSES] = {
	[FPERF_CAUSE_CPU] = "cpu",
	[FPERF_CAUSE_LOCK] = "lock",
	[FPERF_CAUSE_IO] = "io",
	[FPERF_CAUSE_FAULT] = "fault",
	[FPERF_CAUSE_GPU] = "gpu",
	[FPERF_CAUSE_SLEEP] = "sleep",
	[FPERF_CAUSE_EVENT] = "event",
	[FPERF_CAUSE_RUN_QUEUE] = "run_queue",
	[FPERF_CAUSE_PREEMPTED] = "preempted",
	[FPERF_CAUSE_FREQUENCY] = "frequency",
	[FPERF_CAUSE_UNKNOWN] = "unknown",
};

static const char *const state_names[FPERF_STATES] = {
	[FPERF_STATE_USER] = "user",	     [FPERF_STATE_KERNEL] = "kernel",
	[FPERF_STATE_RUNNABLE] = "runnable", [FPERF_STATE_PREEMPTED] = "preempted",
	[FPERF_STATE_LOCK] = "lock",	     [FPERF_STATE_IO] = "io",
	[FPERF_STATE_FAULT] = "fault",	     [FPERF_STATE_GPU] = "gpu",
	[FPERF_STATE_SLEEP] = "sleep",	     [FPERF_STATE_EVENT] = "event",
	[FPERF_STATE_OTHER] = "other",
};

const char *fperf_cause__name(enum fperf_cause cause)
{
	return (unsigned int)cause < FPERF_CAUSES ? cause_names[cause] : "unknown";
}

const char *fperf_state__name(enum fperf_state state)
{
	return (unsigned int)state < FPERF_STATES ? state_names[state] : "other";
}

/* What the parts of a run share. */
struct run {
	struct fperf_analysis *analysis;
	const struct fperf_analysis_options *options;
	struct fperf_model *model;
	struct fperf_freq *freq;
	struct fperf_baseline *baseline;
	struct fperf_pieces chain; /* of the frame at hand */
};

/* The thread that presents most frames. */
static uint32_t presenting_thread(const struct fperf_analysis *analysis)
{
	uint32_t candidate = 0;
	size_t lead = 0;

	for (size_t i = 0; i < analysis->frame_count; i++) { /* majority vote of Boyer and Moore */
		if (!lead)
			candidate = analysis->frames[i].thread;
		lead += analysis->frames[i].thread == candidate ? 1 : (size_t)-1;
	}
	return candidate;
}

/* ---- slow frames ---- */

static bool wanted(const struct run *run, size_t frame)
{
	return run->analysis->frames[frame].slow || run->options->frame == (int64_t)frame;
}

static int verdict_make(struct run *run, struct fperf_slow_frame *slow, struct fperf_error *err)
{
	const struct fperf_frame *frame = &run->analysis->frames[slow->frame];
	struct fperf_case of = {
		.model = run->model,
		.baseline = run->baseline,
		.freq = run->freq,
		.frame = frame,
		.chain = &run->chain,
	};

	if (fperf_chain__build(run->model, frame, &run->chain))
		return fperf_error__no_memory(err, "the chain of a frame");
	of.neighbours = fperf_baseline__around(run->baseline, slow->frame);
	slow->has_verdict = true;
	return fperf_verdict__find(&of, &slow->verdict, err);
}

static int details_make(struct run *run, struct fperf_slow_frame *slow, struct fperf_error *err)
{
	const struct fperf_frame *frame = &run->analysis->frames[slow->frame];

	if (fperf_chain__build(run->model, frame, &run->chain) ||
	    fperf_chain__links(run->model, &run->chain, &slow->chain, &slow->chain_count) ||
	    fperf_ledger__build(run->model, frame, slow->chain, slow->chain_count, &slow->ledger,
				&slow->ledger_count))
		return fperf_error__no_memory(err, "the details of a frame");
	return 0;
}

/* Chain and ledger for the frames that took longest, and for the one that was asked for. */
static int worst_detail(struct run *run, struct fperf_error *err)
{
	struct fperf_analysis *analysis = run->analysis;
	bool *chosen = fperf_worst__choose(analysis, run->options);
	int failed = chosen ? 0 : fperf_error__no_memory(err, "the slow frames");

	for (size_t i = 0; i < analysis->slow_count && !failed; i++)
		if (chosen[i])
			failed = details_make(run, &analysis->slow[i], err);
	free(chosen);
	return failed;
}

static int slow_find(struct run *run, struct fperf_error *err)
{
	struct fperf_analysis *analysis = run->analysis;
	size_t capacity = 0;

	for (size_t i = 0; i < analysis->frame_count; i++) {
		struct fperf_slow_frame *slow;

		if (!wanted(run, i))
			continue;
		slow = fperf_vec__push(&analysis->slow, &analysis->slow_count, &capacity);
		if (!slow)
			return fperf_error__no_memory(err, "the slow frames");
		slow->frame = (uint32_t)i;
		slow->verdict.cause = FPERF_CAUSE_UNKNOWN;
		if (analysis->frames[i].slow && verdict_make(run, slow, err))
			return err->code;
	}
	return worst_detail(run, err);
}

static int compare_causes(const void *a, const void *b)
{
	const struct fperf_cause_total *x = a, *y = b;

	if (x->excess_ns != y->excess_ns)
		return x->excess_ns > y->excess_ns ? -1 : 1;
	return (int)x->cause - (int)y->cause;
}

static int causes_sum(struct fperf_analysis *analysis, struct fperf_error *err)
{
	struct fperf_cause_total totals[FPERF_CAUSES] = {0};

	analysis->causes = calloc(FPERF_CAUSES, sizeof(*analysis->causes));
	if (!analysis->causes)
		return fperf_error__no_memory(err, "the causes");
	for (size_t i = 0; i < analysis->slow_count; i++) {
		const struct fperf_verdict *verdict = &analysis->slow[i].verdict;

		if (!analysis->slow[i].has_verdict)
			continue;
		totals[verdict->cause].frames++;
		totals[verdict->cause].excess_ns += verdict->excess_ns;
	}
	for (int cause = 0; cause < FPERF_CAUSES; cause++) {
		totals[cause].cause = (enum fperf_cause)cause;
		if (totals[cause].frames)
			analysis->causes[analysis->cause_count++] = totals[cause];
	}
	qsort(analysis->causes, analysis->cause_count, sizeof(*analysis->causes), compare_causes);
	return 0;
}

/* ---- the whole run ---- */

/* Everything from the events of the session. */
static int events_analyse(struct run *run, struct fperf_error *err)
{
	struct fperf_analysis *analysis = run->analysis;
	const struct fperf_analysis_options *options = run->options;
	uint64_t from_ns = options->sums_from_ns ? options->sums_from_ns : options->from_ns;
	uint64_t to_ns = options->sums_to_ns ? options->sums_to_ns : options->to_ns;

	run->model->sched_lossy |= options->window_ns != 0;
	analysis->holds = (struct fperf_holds){true, true, true, true, true, true};
	if (fperf_freq__build(run->freq, analysis->session, err) ||
	    fperf_series__find(analysis, options, err) ||
	    fperf_model__group(run->model, presenting_thread(analysis), err) ||
	    fperf_series__judge(analysis, options->budget_ns, err) ||
	    fperf_baseline__active_times(run->model, analysis, err) ||
	    fperf_series__judge_active(analysis, err) || fperf_series__summarise(analysis, err))
		return err->code;
	if (fperf_baseline__init(run->baseline, run->model, analysis, err) || slow_find(run, err))
		return err->code;
	if (fperf_hot__build(run->model, analysis, from_ns, to_ns ? to_ns : UINT64_MAX, err) ||
	    fperf_threads__build(run->model, analysis, err) ||
	    fperf_freq__summarise(run->freq, analysis, err))
		return err->code;
	if (options->per_frame && fperf_per_frame__build(run->model, analysis, err))
		return err->code;
	for (size_t i = 0; i < analysis->thread_count; i++)
		analysis->cpu_ns += analysis->threads[i].cpu_ns;
	return run->model->no_memory ? fperf_error__no_memory(err, "the stacks of the session") : 0;
}

static int run_all(struct run *run, struct fperf_symbolizer *symbolizer, struct fperf_error *err)
{
	struct fperf_analysis *analysis = run->analysis;
	int failed;

	if (fperf_model__build(run->model, analysis->session, symbolizer, run->options->window_ns, err))
		return err->code;
	analysis->start_ns = run->model->start_ns;
	analysis->end_ns = run->model->end_ns;
	/* A window has the level that the recording will have, and all its events. */
	analysis->level =
		run->options->window_ns ? FPERF_LEVEL_EVENTS : fperf_results__level(analysis->session);
	analysis->memory_peak_bytes = fperf_session__meta_u64(analysis->session, FPERF_META_MEMORY_PEAK, 0);
	fperf_results__lost(analysis->session, analysis->lost);
	failed = analysis->level < FPERF_LEVEL_EVENTS ? fperf_results__read(analysis, run->options, err)
						      : events_analyse(run, err);
	/* Level 0 keeps the sums only. */
	return failed || !analysis->level ? failed : causes_sum(analysis, err);
}

int fperf_analysis__run(const struct fperf_session *session, struct fperf_symbolizer *symbolizer,
			const struct fperf_analysis_options *options, struct fperf_analysis **analysis,
			struct fperf_error *err)
{
	struct run run = {.options = options};
	int failed;

	*analysis = NULL;
	run.analysis = calloc(1, sizeof(*run.analysis));
	if (!run.analysis)
		return fperf_error__no_memory(err, "the analysis");
	run.analysis->session = session;
	run.model = run.analysis->model = calloc(1, sizeof(*run.model));
	run.freq = run.analysis->clocks = calloc(1, sizeof(*run.freq));
	run.baseline = run.analysis->baseline = calloc(1, sizeof(*run.baseline));
	if (!run.model || !run.freq || !run.baseline)
		failed = fperf_error__no_memory(err, "the analysis");
	else
		failed = run_all(&run, symbolizer, err);
	free(run.chain.items);
	if (failed) {
		fperf_analysis__free(run.analysis);
		return failed;
	}
	*analysis = run.analysis;
	return 0;
}

static void shared_free(struct fperf_analysis *analysis)
{
	if (analysis->baseline)
		fperf_baseline__free(analysis->baseline);
	if (analysis->clocks)
		fperf_freq__free(analysis->clocks);
	if (analysis->model)
		fperf_model__free(analysis->model);
	free(analysis->baseline);
	free(analysis->clocks);
	free(analysis->model);
}

void fperf_analysis__free(struct fperf_analysis *analysis)
{
	if (!analysis)
		return;
	shared_free(analysis);
	for (size_t i = 0; i < analysis->slow_count; i++) {
		free(analysis->slow[i].verdict.text);
		free(analysis->slow[i].chain);
		free(analysis->slow[i].ledger);
	}
	free(analysis->slow);
	free(analysis->frames);
	free(analysis->causes);
	free(analysis->hot);
	free(analysis->hot_slow);
	free(analysis->threads);
	free(analysis->freq);
	free(analysis->ledgers);
	free(analysis->frame_hot);
	free(analysis);
}
