#include "analyze/results.h"

#include "analyze/model.h"
#include "analyze/series.h"
#include "analyze/verdict.h"
#include "analyze/worst.h"
#include "base/vec.h"
#include "frameperf/meta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const void *records(const struct fperf_session *session, enum fperf_record_type type, size_t *count)
{
	return fperf_session__records(session, type, count);
}

uint32_t fperf_results__level(const struct fperf_session *session)
{
	uint64_t level = fperf_session__meta_u64(session, FPERF_META_LEVEL, UINT64_MAX);
	size_t marks, samples, intervals, frames, facts;

	if (level <= FPERF_LEVEL_EVENTS)
		return (uint32_t)level;
	records(session, FPERF_RECORD_MARK, &marks);
	records(session, FPERF_RECORD_SAMPLE, &samples);
	records(session, FPERF_RECORD_OFFCPU, &intervals);
	records(session, FPERF_RECORD_FRAME, &frames);
	records(session, FPERF_RECORD_SUMMARY, &facts);
	if (marks || samples || intervals || (!frames && !facts))
		return FPERF_LEVEL_EVENTS;
	return frames ? 1 : 0;
}

bool fperf_results__fact(const struct fperf_session *session, enum fperf_fact fact, uint32_t index,
			 uint64_t *value)
{
	const struct fperf_rec_summary *facts;
	size_t count;

	facts = records(session, FPERF_RECORD_SUMMARY, &count);
	for (size_t i = 0; i < count; i++) {
		if (facts[i].fact == fact && facts[i].index == index) {
			*value = facts[i].value;
			return true;
		}
	}
	*value = 0;
	return false;
}

void fperf_results__lost(const struct fperf_session *session,
			 uint64_t lost[FPERF_SOURCES][FPERF_LOSS_REASONS])
{
	const struct fperf_rec_summary *facts;
	const struct fperf_rec_loss *losses;
	size_t count;

	losses = records(session, FPERF_RECORD_LOSS, &count);
	for (size_t i = 0; i < count; i++)
		if (losses[i].source < FPERF_SOURCES && losses[i].reason < FPERF_LOSS_REASONS)
			lost[losses[i].source][losses[i].reason] += losses[i].count;
	facts = records(session, FPERF_RECORD_SUMMARY, &count);
	for (size_t i = 0; i < count; i++)
		if (facts[i].fact == FPERF_FACT_LOST && facts[i].index / 256 < FPERF_SOURCES &&
		    facts[i].index % 256 < FPERF_LOSS_REASONS)
			lost[facts[i].index / 256][facts[i].index % 256] += facts[i].value;
}

static uint64_t fact(const struct fperf_analysis *analysis, enum fperf_fact which, uint32_t index)
{
	uint64_t value;

	fperf_results__fact(analysis->session, which, index, &value);
	return value;
}

static bool wanted_time(const struct fperf_analysis_options *options, uint64_t from_ns, uint64_t to_ns)
{
	return from_ns >= options->from_ns && (!options->to_ns || to_ns <= options->to_ns);
}

/* ---- names of functions ---- */

static const struct fperf_rec_function *function_find(const struct fperf_analysis *analysis, uint32_t id)
{
	return fperf_session__function(analysis->session, id);
}

/* The recorded name, unless this machine knows one where the recording one did not. */
static struct fperf_place place_of(const struct fperf_analysis *analysis, uint32_t id)
{
	const struct fperf_rec_function *function = function_find(analysis, id);
	const struct fperf_symbol *const *symbols;
	struct fperf_stack_frame frame = {0};
	size_t count;

	if (!function)
		return (struct fperf_place){0};
	if (!function->known && function->module) {
		frame = (struct fperf_stack_frame){.module = function->module,
						   .kind = function->kind,
						   .kernel = function->kernel,
						   .offset = function->offset};
		count = fperf_symbolizer__resolve(analysis->model->symbolizer, &frame, 0, &symbols);
		if (count && symbols[count - 1]->known)
			return (struct fperf_place){symbols[count - 1]->function, symbols[count - 1]->module};
	}
	return (struct fperf_place){fperf_session__string(analysis->session, function->name, NULL),
				    fperf_session__string(analysis->session, function->module_name, NULL)};
}

/* ---- frames ---- */

static int frames_read(struct fperf_analysis *analysis, const struct fperf_analysis_options *options,
		       struct fperf_error *err)
{
	const struct fperf_rec_frame *from;
	size_t count;

	from = records(analysis->session, FPERF_RECORD_FRAME, &count);
	analysis->frames = calloc(count + 1, sizeof(*analysis->frames));
	if (!analysis->frames)
		return fperf_error__no_memory(err, "the frames of the session");
	for (size_t i = 0; i < count; i++) {
		struct fperf_frame *frame = &analysis->frames[analysis->frame_count];
		uint64_t time;

		if (from[i].end_ns <= from[i].start_ns ||
		    !wanted_time(options, from[i].start_ns, from[i].end_ns))
			continue;
		time = from[i].end_ns - from[i].start_ns;
		*frame = (struct fperf_frame){
			.index = from[i].index,
			.start_ns = from[i].start_ns,
			.end_ns = from[i].end_ns,
			.active_ns = from[i].limited_ns < time ? time - from[i].limited_ns : 0,
			.thread = from[i].thread,
			.slow = from[i].slow != 0,
		};
		analysis->frame_count++;
	}
	return 0;
}

static const char *fact_text(const struct fperf_analysis *analysis, enum fperf_fact which)
{
	return fperf_session__string(analysis->session, (uint32_t)fact(analysis, which, 0), NULL);
}

/* A given budget decides anew which frames are slow; else they are those of the recording. */
static int frames_judge(struct fperf_analysis *analysis, const struct fperf_analysis_options *options,
			struct fperf_error *err)
{
	uint64_t budget = fact(analysis, FPERF_FACT_BUDGET_NS, 0);
	bool *slow;
	int ret;

	if (options->budget_ns)
		return fperf_series__judge(analysis, options->budget_ns, err);
	slow = calloc(analysis->frame_count + 1, sizeof(*slow));
	if (!slow)
		return fperf_error__no_memory(err, "the frames of the session");
	for (size_t i = 0; i < analysis->frame_count; i++)
		slow[i] = analysis->frames[i].slow;
	ret = fperf_series__judge(analysis, budget, err);
	for (size_t i = 0; i < analysis->frame_count; i++)
		analysis->frames[i].slow = slow[i];
	if (budget)
		analysis->summary.budget_chosen = fact(analysis, FPERF_FACT_BUDGET_CHOSEN, 0);
	free(slow);
	return ret;
}

/* ---- verdicts ---- */

static enum fperf_cause cause_of(uint8_t number)
{
	return number < FPERF_CAUSES ? (enum fperf_cause)number : FPERF_CAUSE_UNKNOWN;
}

static int verdict_read(const struct fperf_analysis *analysis, const struct fperf_rec_frame *from,
			struct fperf_verdict *verdict, struct fperf_error *err)
{
	const struct fperf_model *model = analysis->model;

	*verdict = (struct fperf_verdict){
		.cause = cause_of(from->cause),
		.thread = fperf_model__thread_ref(model, from->cause_thread, from->end_ns),
		.place = place_of(analysis, from->place),
		.leaf = place_of(analysis, from->leaf),
		.by = fperf_model__thread_ref(model, from->by, from->end_ns),
		.by_function = place_of(analysis, from->by_function).function,
		.excess_ns = from->excess_ns,
		.share = from->frame_excess_ns ? (double)from->excess_ns / (double)from->frame_excess_ns : 0,
		.suspect = cause_of(from->suspect),
		.cause_ns = from->cause_ns,
		.frame_excess_ns = from->frame_excess_ns,
		.slow_khz = from->slow_khz,
		.usual_khz = from->usual_khz,
	};
	if (verdict->share > 1)
		verdict->share = 1;
	verdict->has_by = verdict->by.thread != 0;
	verdict->text = fperf_verdict__text(verdict);
	return verdict->text ? 0 : fperf_error__no_memory(err, "the verdict of a frame");
}

/* The frame records that became frames are in the same order. */
static int slow_read(struct fperf_analysis *analysis, const struct fperf_analysis_options *options,
		     struct fperf_error *err)
{
	const struct fperf_rec_frame *from;
	size_t count, capacity = 0, at = 0;

	from = records(analysis->session, FPERF_RECORD_FRAME, &count);
	for (size_t i = 0; i < analysis->frame_count; i++) {
		const struct fperf_frame *frame = &analysis->frames[i];
		struct fperf_slow_frame *slow;

		while (at < count && from[at].start_ns != frame->start_ns)
			at++;
		if (!frame->slow && options->frame != (int64_t)i)
			continue;
		slow = fperf_vec__push(&analysis->slow, &analysis->slow_count, &capacity);
		if (!slow)
			return fperf_error__no_memory(err, "the slow frames");
		slow->frame = (uint32_t)i;
		slow->verdict.cause = FPERF_CAUSE_UNKNOWN;
		slow->has_verdict = at < count && frame->slow && from[at].cause != FPERF_NO_CAUSE;
		if (slow->has_verdict && verdict_read(analysis, &from[at], &slow->verdict, err))
			return err->code;
	}
	return 0;
}

/* ---- ledgers ---- */

static void ledger_read(const struct fperf_analysis *analysis, const struct fperf_rec_ledger *from,
			const struct fperf_frame *frame, struct fperf_ledger *ledger)
{
	const uint16_t parts[FPERF_STATES] = {
		[FPERF_STATE_USER] = from->user,	 [FPERF_STATE_KERNEL] = from->kernel,
		[FPERF_STATE_RUNNABLE] = from->runnable, [FPERF_STATE_PREEMPTED] = from->preempted,
		[FPERF_STATE_LOCK] = from->lock,	 [FPERF_STATE_IO] = from->io,
		[FPERF_STATE_FAULT] = from->fault,	 [FPERF_STATE_GPU] = from->gpu,
		[FPERF_STATE_SLEEP] = from->sleep,	 [FPERF_STATE_EVENT] = from->event,
		[FPERF_STATE_OTHER] = from->other,
	};
	uint64_t time = frame->end_ns - frame->start_ns, largest = 0;
	double part_ns = (double)time / FPERF_LEDGER_PARTS;
	int64_t left =
		from->lived < FPERF_LEDGER_PARTS ? (int64_t)(from->lived * part_ns + 0.5) : (int64_t)time;

	*ledger = (struct fperf_ledger){
		.thread = fperf_model__thread_ref(analysis->model, from->thread, frame->end_ns),
	};
	ledger->thread.thread = from->thread;
	for (size_t state = 0; state < FPERF_STATES; state++) {
		ledger->state_ns[state] = (uint64_t)(parts[state] * part_ns + 0.5);
		left -= (int64_t)ledger->state_ns[state];
		if (parts[state] > parts[largest])
			largest = state;
	}
	/* What the parts leave over is rounding, unless some of the time was not known. */
	if (from->residual || left < -(int64_t)ledger->state_ns[largest])
		ledger->residual_ns = left;
	else
		ledger->state_ns[largest] = (uint64_t)((int64_t)ledger->state_ns[largest] + left);
}

/* Ledger records are in order of frames: those of one frame, from *at on. */
static size_t ledgers_of(const struct fperf_rec_ledger *from, size_t count, uint32_t index, size_t *at)
{
	size_t found = 0;

	while (*at < count && from[*at].frame < index)
		(*at)++;
	while (*at + found < count && from[*at + found].frame == index)
		found++;
	return found;
}

static int frame_ledgers_read(struct fperf_analysis *analysis, struct fperf_error *err)
{
	const struct fperf_rec_ledger *from;
	size_t count, at = 0;

	from = records(analysis->session, FPERF_RECORD_LEDGER, &count);
	analysis->ledgers = calloc(count + 1, sizeof(*analysis->ledgers));
	if (!analysis->ledgers)
		return fperf_error__no_memory(err, "the ledgers of the frames");
	for (size_t i = 0; i < analysis->frame_count; i++) {
		const struct fperf_frame *frame = &analysis->frames[i];
		size_t found = ledgers_of(from, count, frame->index, &at);

		for (size_t k = 0; k < found && analysis->ledger_count < count; k++) {
			struct fperf_frame_ledger *ledger = &analysis->ledgers[analysis->ledger_count++];

			ledger->frame = (uint32_t)i;
			ledger_read(analysis, &from[at + k], frame, &ledger->ledger);
		}
	}
	return 0;
}

static int slow_ledgers_read(struct fperf_analysis *analysis, const struct fperf_analysis_options *options,
			     struct fperf_error *err)
{
	bool *chosen = fperf_worst__choose(analysis, options);
	const struct fperf_rec_ledger *from;
	size_t count, at = 0;
	int ret = chosen ? 0 : fperf_error__no_memory(err, "the slow frames");

	from = records(analysis->session, FPERF_RECORD_LEDGER, &count);
	for (size_t i = 0; !ret && i < analysis->slow_count; i++) {
		struct fperf_slow_frame *slow = &analysis->slow[i];
		const struct fperf_frame *frame = &analysis->frames[slow->frame];
		size_t found = ledgers_of(from, count, frame->index, &at);

		if (!chosen[i] || !found)
			continue;
		slow->ledger = calloc(found, sizeof(*slow->ledger));
		if (!slow->ledger)
			ret = fperf_error__no_memory(err, "the ledgers of the frames");
		for (size_t k = 0; !ret && k < found; k++)
			ledger_read(analysis, &from[at + k], frame, &slow->ledger[slow->ledger_count++]);
	}
	free(chosen);
	return ret;
}

/* ---- hot functions ---- */

struct hot_sums {
	struct fperf_hot_function *all, *slow;
	size_t count, capacity, slow_capacity;
	struct fperf_map by_function; /* record id to index */
	uint64_t whole_ns, slow_whole_ns;
};

static int hot_sum(struct hot_sums *sums, const struct fperf_rec_hot *from)
{
	uint64_t index = sums->count;

	sums->whole_ns += from->self_ns;
	sums->slow_whole_ns += from->slow_self_ns;
	if (!from->function)
		return 0;
	if (!fperf_map__get(&sums->by_function, from->function, &index)) {
		size_t need = sums->count + 1;

		if (fperf_vec__grow((void **)&sums->all, &sums->capacity, need, sizeof(*sums->all)) ||
		    fperf_vec__grow((void **)&sums->slow, &sums->slow_capacity, need, sizeof(*sums->slow)) ||
		    fperf_map__set(&sums->by_function, from->function, index))
			return -1;
		sums->count = need;
		sums->all[index] = (struct fperf_hot_function){.function_id = from->function};
		sums->slow[index] = sums->all[index];
	}
	sums->all[index].self_ns += from->self_ns;
	sums->all[index].total_ns += from->total_ns;
	sums->slow[index].self_ns += from->slow_self_ns;
	sums->slow[index].total_ns += from->slow_total_ns;
	return 0;
}

static int compare_hot(const void *a, const void *b)
{
	const struct fperf_hot_function *x = a, *y = b;

	if (x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return (x->function_id > y->function_id) - (x->function_id < y->function_id);
}

/* Names and shares; functions without time go. Returns how many stay. */
static size_t hot_finish(const struct fperf_analysis *analysis, struct fperf_hot_function *hot, size_t count,
			 uint64_t whole_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct fperf_place place = place_of(analysis, hot[i].function_id);

		if (!hot[i].total_ns)
			continue;
		hot[i].function = place.function;
		hot[i].module = place.module;
		hot[i].self_share = whole_ns ? (double)hot[i].self_ns / (double)whole_ns : 0;
		hot[i].total_share = whole_ns ? (double)hot[i].total_ns / (double)whole_ns : 0;
		hot[kept++] = hot[i];
	}
	if (kept)
		qsort(hot, kept, sizeof(*hot), compare_hot);
	return kept;
}

static int hot_read(struct fperf_analysis *analysis, struct fperf_error *err)
{
	const struct fperf_rec_hot *from;
	struct hot_sums sums = {0};
	size_t count;
	int failed = 0;

	from = records(analysis->session, FPERF_RECORD_HOT, &count);
	for (size_t i = 0; i < count && !failed; i++)
		failed = hot_sum(&sums, &from[i]);
	fperf_map__free(&sums.by_function);
	analysis->hot = sums.all;
	analysis->hot_slow = sums.slow;
	if (failed)
		return fperf_error__no_memory(err, "the hot functions");
	analysis->sampled_ns = sums.whole_ns;
	analysis->slow_sampled_ns = sums.slow_whole_ns;
	analysis->hot_count = hot_finish(analysis, sums.all, sums.count, sums.whole_ns);
	analysis->hot_slow_count = hot_finish(analysis, sums.slow, sums.count, sums.slow_whole_ns);
	return 0;
}

/* ---- threads, clocks, sums ---- */

static int compare_cpu(const void *a, const void *b)
{
	const struct fperf_thread_stats *x = a, *y = b;

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns > y->cpu_ns ? -1 : 1;
	return (x->thread.thread > y->thread.thread) - (x->thread.thread < y->thread.thread);
}

static int threads_read(struct fperf_analysis *analysis, struct fperf_error *err)
{
	const struct fperf_rec_thread_stats *from;
	size_t count;

	from = records(analysis->session, FPERF_RECORD_THREAD_STATS, &count);
	analysis->threads = calloc(count + 1, sizeof(*analysis->threads));
	if (!analysis->threads)
		return fperf_error__no_memory(err, "the statistics of threads");
	for (size_t i = 0; i < count; i++) {
		struct fperf_thread_stats *stats = &analysis->threads[i];

		*stats = (struct fperf_thread_stats){
			.thread = fperf_model__thread_ref(analysis->model, from[i].thread, UINT64_MAX),
			.cpu_ns = from[i].cpu_ns,
			.samples = from[i].samples,
			.switches = from[i].switches,
			.run_queue_p50_ns = from[i].run_queue_p50_ns,
			.run_queue_p99_ns = from[i].run_queue_p99_ns,
			.run_queue_max_ns = from[i].run_queue_max_ns,
			.stacks_complete_share =
				from[i].stacks ? (double)from[i].stacks_complete / (double)from[i].stacks
					       : -1,
		};
	}
	analysis->thread_count = count;
	qsort(analysis->threads, count, sizeof(*analysis->threads), compare_cpu);
	return 0;
}

static int clocks_read(struct fperf_analysis *analysis, struct fperf_error *err)
{
	const struct fperf_rec_summary *facts;
	size_t count, capacity = 0;
	uint64_t mean;

	facts = records(analysis->session, FPERF_RECORD_SUMMARY, &count);
	for (size_t i = 0; i < count; i++) {
		uint32_t cpu = facts[i].index;
		struct fperf_freq_stats *stats;

		if (facts[i].fact != FPERF_FACT_FREQ_MAX_KHZ)
			continue;
		stats = fperf_vec__push(&analysis->freq, &analysis->freq_count, &capacity);
		if (!stats)
			return fperf_error__no_memory(err, "the frequencies");
		mean = fact(analysis, FPERF_FACT_FREQ_MEAN_KHZ, cpu);
		*stats = (struct fperf_freq_stats){
			.cpu = cpu,
			.min_khz = (uint32_t)fact(analysis, FPERF_FACT_FREQ_MIN_KHZ, cpu),
			.max_khz = (uint32_t)facts[i].value,
			.mean_khz = (uint32_t)mean,
			.transitions = fact(analysis, FPERF_FACT_FREQ_TRANSITIONS, cpu),
			.time_below_max_share = (double)fact(analysis, FPERF_FACT_FREQ_BELOW_MAX, cpu) / 1e6,
		};
	}
	return 0;
}

static void sums_read(struct fperf_analysis *analysis)
{
	analysis->samples = fact(analysis, FPERF_FACT_SAMPLES, 0);
	analysis->cpu_ns = fact(analysis, FPERF_FACT_CPU_NS, 0);
	for (uint32_t outcome = 0; outcome < FPERF_STACK_OUTCOMES; outcome++) {
		analysis->stacks.by_outcome[outcome] = fact(analysis, FPERF_FACT_STACKS, outcome);
		analysis->stacks.stacks += analysis->stacks.by_outcome[outcome];
	}
	analysis->stacks.complete = analysis->stacks.by_outcome[FPERF_STACK_COMPLETE];
	snprintf(analysis->marker_text, sizeof(analysis->marker_text), "%s",
		 fact_text(analysis, FPERF_FACT_MARKER));
	snprintf(analysis->surface_text, sizeof(analysis->surface_text), "%s",
		 fact_text(analysis, FPERF_FACT_SURFACE));
	analysis->summary.marker = analysis->marker_text;
	analysis->summary.surface = analysis->surface_text;
	analysis->summary.time_anomalies = fact(analysis, FPERF_FACT_TIME_ANOMALIES, 0);
}

/* Statistics of frames that are not there one by one. */
static void summary_read(struct fperf_analysis *analysis)
{
	struct fperf_frames_summary *summary = &analysis->summary;
	uint64_t timed = fact(analysis, FPERF_FACT_FRAMES_TIMED, 0);
	uint64_t duration = fact(analysis, FPERF_FACT_FRAMES_NS, 0);

	if (!timed || !duration)
		return;
	summary->count = fact(analysis, FPERF_FACT_FRAMES, 0);
	summary->timed = timed;
	summary->duration_ns = duration;
	summary->fps_mean = (double)timed * 1e9 / (double)duration;
	summary->time = (struct fperf_time_stats){
		.mean = fact(analysis, FPERF_FACT_TIME_MEAN_NS, 0),
		.p50 = fact(analysis, FPERF_FACT_TIME_P50_NS, 0),
		.p90 = fact(analysis, FPERF_FACT_TIME_P90_NS, 0),
		.p95 = fact(analysis, FPERF_FACT_TIME_P95_NS, 0),
		.p99 = fact(analysis, FPERF_FACT_TIME_P99_NS, 0),
		.max = fact(analysis, FPERF_FACT_TIME_MAX_NS, 0),
	};
	summary->low_1pct_fps = (double)fact(analysis, FPERF_FACT_LOW_1PCT, 0) / 1e3;
	summary->low_01pct_fps = (double)fact(analysis, FPERF_FACT_LOW_01PCT, 0) / 1e3;
	summary->budget_ns = fact(analysis, FPERF_FACT_BUDGET_NS, 0);
	summary->budget_chosen = fact(analysis, FPERF_FACT_BUDGET_CHOSEN, 0);
	summary->slow = fact(analysis, FPERF_FACT_SLOW, 0);
	summary->hitches_per_min = (double)summary->slow * 60e9 / (double)duration;
	summary->jank = fact(analysis, FPERF_FACT_JANK, 0);
	summary->big_jank = fact(analysis, FPERF_FACT_BIG_JANK, 0);
}

static int compare_causes(const void *a, const void *b)
{
	const struct fperf_cause_total *x = a, *y = b;

	if (x->excess_ns != y->excess_ns)
		return x->excess_ns > y->excess_ns ? -1 : 1;
	return (int)x->cause - (int)y->cause;
}

static int causes_read(struct fperf_analysis *analysis, struct fperf_error *err)
{
	analysis->causes = calloc(FPERF_CAUSES, sizeof(*analysis->causes));
	if (!analysis->causes)
		return fperf_error__no_memory(err, "the causes");
	for (uint32_t cause = 0; cause < FPERF_CAUSES; cause++) {
		struct fperf_cause_total total = {
			.cause = (enum fperf_cause)cause,
			.frames = fact(analysis, FPERF_FACT_CAUSE_FRAMES, cause),
			.excess_ns = fact(analysis, FPERF_FACT_CAUSE_NS, cause),
		};

		if (total.frames)
			analysis->causes[analysis->cause_count++] = total;
	}
	qsort(analysis->causes, analysis->cause_count, sizeof(*analysis->causes), compare_causes);
	return 0;
}

/* As numbers of frames are given elsewhere: positions. They differ where chunks were lost. */
static void frames_number(struct fperf_analysis *analysis)
{
	for (size_t i = 0; i < analysis->frame_count; i++)
		analysis->frames[i].index = (uint32_t)i;
}

static void bounds_read(struct fperf_analysis *analysis)
{
	uint64_t duration = fact(analysis, FPERF_FACT_FRAMES_NS, 0);

	if (analysis->end_ns > analysis->start_ns)
		return;
	if (analysis->frame_count) {
		analysis->start_ns = analysis->frames[0].start_ns;
		analysis->end_ns = analysis->frames[analysis->frame_count - 1].end_ns;
	} else {
		analysis->start_ns = fperf_session__meta_u64(analysis->session, FPERF_META_START_NS, 0);
		analysis->end_ns = analysis->start_ns + duration;
	}
}

int fperf_results__read(struct fperf_analysis *analysis, const struct fperf_analysis_options *options,
			struct fperf_error *err)
{
	size_t count;

	sums_read(analysis);
	if (clocks_read(analysis, err))
		return err->code;
	if (!analysis->level) {
		summary_read(analysis);
		bounds_read(analysis);
		return causes_read(analysis, err);
	}
	if (frames_read(analysis, options, err) || frames_judge(analysis, options, err) ||
	    fperf_series__summarise(analysis, err) || slow_read(analysis, options, err) ||
	    slow_ledgers_read(analysis, options, err) || hot_read(analysis, err) ||
	    threads_read(analysis, err))
		return err->code;
	if (options->per_frame && frame_ledgers_read(analysis, err))
		return err->code;
	frames_number(analysis);
	bounds_read(analysis);
	records(analysis->session, FPERF_RECORD_LEDGER, &count);
	analysis->holds.timeline = true;
	analysis->holds.ledgers = count > 0;
	analysis->holds.functions = analysis->hot_count > 0;
	analysis->holds.threads = analysis->thread_count > 0;
	return 0;
}
