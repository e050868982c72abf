#include "analyze/digest.h"

#include "analyze/model.h"
#include "analyze/parts.h"
#include "analyze/results.h"
#include "analyze/series.h"
#include "analyze/stats.h"
#include "analyze/timeline.h"
#include "base/clock.h"
#include "base/vec.h"
#include "frameperf/meta.h"
#include "frameperf/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_S 60.0

/* What the parts of making one share. */
struct maker {
	struct fperf_digest *digest;
	const struct fperf_digest_options *options;
	struct fperf_strtab *names;
	uint64_t from_ns, to_ns;
};

static const char *meta_text(const struct fperf_session *session, const char *key)
{
	const char *value = fperf_session__meta(session, key);

	return value ? value : "";
}

static uint64_t start_of(const struct fperf_session *session)
{
	return fperf_session__meta_u64(session, FPERF_META_START_NS, 0);
}

void fperf_digest__window(const struct fperf_session *session, const struct fperf_digest_options *options,
			  uint64_t *from_ns, uint64_t *to_ns, uint64_t *trimmed_ns)
{
	uint64_t start = start_of(session), end = fperf_session__meta_u64(session, FPERF_META_END_NS, 0);
	uint64_t trim = options->trim_ns, rest = options->trim_always ? 1 : FPERF_TRIM_REST_NS;

	*from_ns = *to_ns = *trimmed_ns = 0;
	if (!trim || end <= start || (end - start) / 2 < trim || end - start - 2 * trim < rest)
		return;
	*from_ns = start + trim;
	*to_ns = end - trim;
	*trimmed_ns = trim;
}

/* ---- who, where, how ---- */

static void text_set(char *text, size_t size, const struct fperf_session *session, const char *key)
{
	snprintf(text, size, "%s", meta_text(session, key));
}

static void about_fill(struct fperf_digest *digest, const struct fperf_session *session)
{
	const char *offset = fperf_session__meta(session, FPERF_META_REALTIME_OFFSET);
	uint64_t start = start_of(session), end = fperf_session__meta_u64(session, FPERF_META_END_NS, 0);
	int64_t wall = (int64_t)start;

	text_set(digest->session, sizeof(digest->session), session, FPERF_META_SESSION_ID);
	text_set(digest->model, sizeof(digest->model), session, FPERF_META_HOST_MODEL);
	text_set(digest->kernel, sizeof(digest->kernel), session, FPERF_META_HOST_KERNEL);
	text_set(digest->arch, sizeof(digest->arch), session, FPERF_META_HOST_ARCH);
	text_set(digest->scene, sizeof(digest->scene), session, FPERF_META_LABEL_PREFIX "scene");
	text_set(digest->build, sizeof(digest->build), session, FPERF_META_LABEL_PREFIX "build");
	text_set(digest->target, sizeof(digest->target), session, FPERF_META_TARGET_NAME);
	digest->cpus = (uint32_t)fperf_session__meta_u64(session, FPERF_META_HOST_CPUS, 0);
	digest->level = (uint32_t)fperf_session__meta_u64(session, FPERF_META_LEVEL, 2);
	digest->frequency_hz = (uint32_t)fperf_session__meta_u64(session, FPERF_META_CONFIG_FREQUENCY, 0);
	digest->sample_period_ns = (double)fperf_session__meta_u64(session, FPERF_META_SAMPLE_PERIOD_NS, 0);
	if (!(digest->sample_period_ns > 0 && digest->sample_period_ns < 1e9))
		digest->sample_period_ns = 1e6;
	digest->duration_ns = end > start ? end - start : 0;
	if (offset && start && !__builtin_add_overflow(wall, strtoll(offset, NULL, 10), &wall))
		digest->started_unix_ns = wall;
}

static void heat_fill(struct fperf_digest *digest, const struct fperf_session *session)
{
	const struct fperf_rec_counter *counters;
	const struct fperf_rec_freq *freqs;
	uint32_t hardware = 0;
	size_t count;

	digest->temperature = -1;
	counters = fperf_session__records(session, FPERF_RECORD_COUNTER, &count);
	for (size_t i = 0; i < count; i++)
		if (counters[i].counter == FPERF_COUNTER_TEMPERATURE &&
		    (double)counters[i].value / 1000 > digest->temperature)
			digest->temperature = (double)counters[i].value / 1000;
	freqs = fperf_session__records(session, FPERF_RECORD_FREQ, &count);
	for (size_t i = 0; i < count; i++)
		if (freqs[i].kind == FPERF_FREQ_HARDWARE && freqs[i].max_khz > hardware)
			hardware = freqs[i].max_khz;
	for (size_t i = 0; i < count; i++)
		if (freqs[i].kind == FPERF_FREQ_LIMITS && freqs[i].max_khz && freqs[i].max_khz < hardware / 2)
			digest->throttled = true;
}

static void quality_fill(struct fperf_digest *digest, const struct fperf_analysis *analysis)
{
	uint64_t lost = 0;
	double khz = 0, below = 0;

	for (int reason = 0; reason < FPERF_LOSS_REASONS; reason++)
		lost += analysis->lost[FPERF_SOURCE_SAMPLE][reason];
	digest->lost_share = analysis->samples ? (double)lost / (double)(lost + analysis->samples) : -1;
	digest->complete_share = analysis->stacks.stacks
					 ? (double)analysis->stacks.complete / (double)analysis->stacks.stacks
					 : -1;
	for (size_t i = 0; i < analysis->freq_count; i++) {
		khz += analysis->freq[i].mean_khz;
		below += analysis->freq[i].time_below_max_share;
	}
	digest->mean_khz = analysis->freq_count ? khz / (double)analysis->freq_count : -1;
	digest->below_max_share = analysis->freq_count ? below / (double)analysis->freq_count : -1;
}

/* ---- figures ---- */

static double low_fps(const uint64_t *sorted, size_t count, size_t part)
{
	size_t slowest = count / part ? count / part : 1;
	double sum = 0;

	for (size_t i = count - slowest; i < count; i++)
		sum += (double)sorted[i];
	return sum > 0 ? (double)slowest * 1e9 / sum : 0;
}

static size_t hitches_count(const uint64_t *times, size_t count, uint64_t budget_ns)
{
	size_t hitches = 0;

	for (size_t i = 0; i < count; i++)
		hitches += times[i] > budget_ns;
	return hitches;
}

static size_t jank_count(const uint64_t *times, size_t count)
{
	size_t jank = 0;

	for (size_t i = 3; i < count; i++) {
		unsigned __int128 last_three = (unsigned __int128)times[i - 1] + times[i - 2] + times[i - 3];

		jank += times[i] > 84 * FPERF_NS_PER_MS && (unsigned __int128)3 * times[i] > 2 * last_three;
	}
	return jank;
}

double fperf_digest__frame_metric(enum fperf_metric metric, const uint64_t *times, const uint64_t *sorted,
				  size_t count, double seconds, uint64_t budget_ns)
{
	static const uint32_t permilles[] = {[FPERF_METRIC_P50] = 500,
					     [FPERF_METRIC_P90] = 900,
					     [FPERF_METRIC_P95] = 950,
					     [FPERF_METRIC_P99] = 990,
					     [FPERF_METRIC_MAX] = 1000};

	switch (metric) {
	case FPERF_METRIC_MEAN:
		return seconds * 1e9 / (double)count;
	case FPERF_METRIC_P50:
	case FPERF_METRIC_P90:
	case FPERF_METRIC_P95:
	case FPERF_METRIC_P99:
	case FPERF_METRIC_MAX:
		return (double)fperf_stats__percentile(sorted, count, permilles[metric]);
	case FPERF_METRIC_LOW_1PCT:
		return low_fps(sorted, count, 100);
	case FPERF_METRIC_LOW_01PCT:
		return low_fps(sorted, count, 1000);
	case FPERF_METRIC_FPS:
		return (double)count / seconds;
	case FPERF_METRIC_HITCHES:
		return (double)hitches_count(times, count, budget_ns) * MINUTE_S / seconds;
	case FPERF_METRIC_JANK:
		return (double)jank_count(times, count) * MINUTE_S / seconds;
	default:
		return 0;
	}
}

static void value_set(struct fperf_digest *digest, enum fperf_metric metric, double value)
{
	digest->value[metric] = value;
	digest->known[metric] = true;
}

/* A session of level 0 keeps figures of its frames, and none of the frames. Its hitches count only if they
 * were counted by the budget that all runs share. */
static void summary_fill(struct fperf_digest *digest, const struct fperf_frames_summary *summary)
{
	if (!summary->timed || !summary->duration_ns)
		return;
	digest->frames = (double)summary->timed;
	digest->seconds = (double)summary->duration_ns / 1e9;
	value_set(digest, FPERF_METRIC_MEAN, (double)summary->time.mean);
	value_set(digest, FPERF_METRIC_P50, (double)summary->time.p50);
	value_set(digest, FPERF_METRIC_P90, (double)summary->time.p90);
	value_set(digest, FPERF_METRIC_P95, (double)summary->time.p95);
	value_set(digest, FPERF_METRIC_P99, (double)summary->time.p99);
	value_set(digest, FPERF_METRIC_MAX, (double)summary->time.max);
	value_set(digest, FPERF_METRIC_LOW_1PCT, summary->low_1pct_fps);
	value_set(digest, FPERF_METRIC_LOW_01PCT, summary->low_01pct_fps);
	value_set(digest, FPERF_METRIC_FPS, summary->fps_mean);
	value_set(digest, FPERF_METRIC_JANK, (double)summary->jank * MINUTE_S / digest->seconds);
	if (digest->wanted_budget_ns == summary->budget_ns)
		value_set(digest, FPERF_METRIC_HITCHES, summary->hitches_per_min);
}

static int frames_fill(struct fperf_digest *digest, const struct fperf_analysis *analysis,
		       struct fperf_error *err)
{
	size_t count = analysis->frame_count;
	uint64_t *sorted = malloc((count + 1) * sizeof(*sorted)), sum = 0, active = 0;

	digest->times = malloc((count + 1) * sizeof(*digest->times));
	if (!sorted || !digest->times) {
		free(sorted);
		return fperf_error__no_memory(err, "the frame times");
	}
	for (size_t i = 0; i < count; i++) {
		sorted[i] = digest->times[i] = analysis->frames[i].end_ns - analysis->frames[i].start_ns;
		sum += sorted[i];
		active += analysis->frames[i].active_ns;
	}
	fperf_stats__sort(sorted, count);
	digest->frame_count = count;
	digest->frames = (double)count;
	digest->seconds = (double)sum / 1e9;
	digest->budget_ns = analysis->summary.budget_ns;
	for (int metric = 0; metric <= FPERF_METRIC_JANK && count; metric++)
		value_set(digest, (enum fperf_metric)metric,
			  fperf_digest__frame_metric((enum fperf_metric)metric, digest->times, sorted, count,
						     digest->seconds, digest->budget_ns));
	if (count)
		value_set(digest, FPERF_METRIC_ACTIVE, (double)active / (double)count);
	free(sorted);
	if (!analysis->holds.timeline)
		summary_fill(digest, &analysis->summary);
	return 0;
}

static void lost_fill(struct fperf_digest *digest, const struct fperf_analysis *analysis)
{
	double minutes = digest->seconds / MINUTE_S;

	if (!digest->frame_count || !analysis->holds.timeline)
		return;
	for (int cause = 0; cause < FPERF_CAUSES; cause++)
		value_set(digest, FPERF_METRIC_LOST + cause, 0);
	for (size_t i = 0; i < analysis->cause_count; i++)
		digest->value[FPERF_METRIC_LOST + analysis->causes[i].cause] =
			(double)analysis->causes[i].excess_ns / minutes;
}

/* ---- functions ---- */

static int functions_fill(struct maker *maker, const struct fperf_analysis *analysis, struct fperf_error *err)
{
	struct fperf_digest *digest = maker->digest;
	const char *exe = fperf_parts__program(analysis);
	double frames = digest->frames;
	struct fperf_map known = {0};
	uint64_t whole_ns = 0;
	size_t capacity = 0;
	int failed = 0;

	for (size_t i = 0; i < analysis->hot_count; i++)
		whole_ns += analysis->hot[i].self_ns;
	for (size_t i = 0; i < analysis->hot_count && frames > 0 && !failed; i++) {
		const struct fperf_hot_function *hot = &analysis->hot[i];
		struct fperf_digest_function *function;
		uint32_t name, module;
		uint64_t index;

		fperf_parts__place_name(maker->names, hot->function, hot->module, exe, &name, &module);
		if (!fperf_map__get(&known, (uint64_t)name << 32 | module, &index)) {
			index = digest->function_count;
			failed = !fperf_vec__push(&digest->functions, &digest->function_count, &capacity) ||
				 fperf_map__set(&known, (uint64_t)name << 32 | module, index);
		}
		if (failed)
			break;
		function = &digest->functions[index];
		function->function = name;
		function->module = module;
		function->self_ns += (double)hot->self_ns / frames;
		function->total_ns += (double)hot->total_ns / frames;
		/* clones that call one another are one function, which no time is in twice */
		if (function->total_ns > (double)whole_ns / frames)
			function->total_ns = (double)whole_ns / frames;
	}
	fperf_map__free(&known);
	return failed ? fperf_error__no_memory(err, "the functions") : 0;
}

/* ---- threads ---- */

static int thread_add(struct maker *maker, const char *of_name, double cpu_ns, size_t *capacity)
{
	struct fperf_digest *digest = maker->digest;
	struct fperf_digest_thread *thread = NULL;
	uint32_t name = fperf_parts__thread_name(maker->names, of_name);

	for (size_t i = 0; i < digest->thread_count && !thread; i++)
		if (digest->threads[i].name == name)
			thread = &digest->threads[i];
	if (!thread)
		thread = fperf_vec__push(&digest->threads, &digest->thread_count, capacity);
	if (!thread)
		return -1;
	thread->name = name;
	thread->count++;
	thread->cpu_ns += digest->frames > 0 ? cpu_ns / digest->frames : 0;
	return 0;
}

/* CPU time within the window, by samples. */
static double timeline_cpu_ns(const struct maker *maker, const struct fperf_model *model,
			      const struct fperf_timeline *timeline)
{
	double cpu_ns = 0;

	for (size_t i = 0; i < timeline->sample_count; i++) {
		uint64_t time = model->samples[timeline->samples[i]].time_ns;

		if (!maker->to_ns || (time >= maker->from_ns && time < maker->to_ns))
			cpu_ns += (double)fperf_timeline__sample_weight(model, timeline, i);
	}
	return cpu_ns;
}

/* Times from wake-up to running of one thread, appended. */
static int waits_add(const struct maker *maker, const struct fperf_model *model,
		     const struct fperf_timeline *timeline, uint64_t **waits, size_t *count, size_t *capacity)
{
	for (size_t i = 0; i < timeline->interval_count; i++) {
		const struct fperf_interval *interval = &timeline->intervals[i];
		const struct fperf_rec_offcpu *record = &model->offcpu[interval->record];
		uint64_t *slot;

		if (!record->wake_ns || interval->state == FPERF_STATE_PREEMPTED ||
		    record->flags & FPERF_OFFCPU_OPEN_END ||
		    (maker->to_ns && (interval->in_ns < maker->from_ns || interval->in_ns >= maker->to_ns)))
			continue;
		slot = fperf_vec__push(waits, count, capacity);
		if (!slot)
			return -1;
		*slot = interval->in_ns - fperf_timeline__wake_ns(model, interval);
	}
	return 0;
}

static int timelines_add(struct maker *maker, const struct fperf_model *model)
{
	size_t wait_count = 0, wait_capacity = 0, capacity = 0;
	uint64_t *waits = NULL;
	int failed = 0;

	for (size_t i = 0; i < model->timeline_count && !failed; i++) {
		const struct fperf_timeline *timeline = &model->timelines[i];

		if (timeline->target)
			failed =
				thread_add(
					maker,
					fperf_model__thread_ref(model, timeline->thread->id, UINT64_MAX).name,
					timeline_cpu_ns(maker, model, timeline), &capacity) ||
				waits_add(maker, model, timeline, &waits, &wait_count, &wait_capacity);
	}
	if (wait_count && !failed) {
		fperf_stats__sort(waits, wait_count);
		value_set(maker->digest, FPERF_METRIC_RUN_QUEUE,
			  (double)fperf_stats__mean(waits, wait_count));
		value_set(maker->digest, FPERF_METRIC_RUN_QUEUE_P99,
			  (double)fperf_stats__percentile(waits, wait_count, 990));
	}
	free(waits);
	return failed;
}

/* Where there are no events, each thread's total for the whole recording. */
static int totals_add(struct maker *maker, const struct fperf_analysis *analysis)
{
	size_t capacity = 0;
	int failed = 0;

	for (size_t i = 0; i < analysis->thread_count && !failed; i++)
		failed = thread_add(maker, analysis->threads[i].thread.name,
				    (double)analysis->threads[i].cpu_ns, &capacity);
	return failed;
}

static int threads_fill(struct maker *maker, const struct fperf_analysis *analysis, struct fperf_error *err)
{
	struct fperf_digest *digest = maker->digest;
	double cpu_ns = 0;

	if (analysis->holds.events ? timelines_add(maker, analysis->model) : totals_add(maker, analysis))
		return fperf_error__no_memory(err, "the threads");
	for (size_t i = 0; i < digest->thread_count; i++)
		cpu_ns += digest->threads[i].cpu_ns;
	if (!(cpu_ns > 0) && digest->frames > 0)
		cpu_ns = (double)analysis->cpu_ns / digest->frames;
	if (cpu_ns > 0)
		value_set(digest, FPERF_METRIC_CPU, cpu_ns);
	return 0;
}

/* ---- the whole ---- */

static int digest_fill(struct maker *maker, const struct fperf_session *session,
		       struct fperf_symbolizer *symbolizer, struct fperf_error *err)
{
	struct fperf_digest *digest = maker->digest;
	struct fperf_analysis_options options = {
		.budget_ns = maker->options->budget_ns,
		.worst = 1,
		.frame = -1,
	};
	struct fperf_analysis *analysis;

	about_fill(digest, session);
	heat_fill(digest, session);
	fperf_digest__window(session, maker->options, &maker->from_ns, &maker->to_ns, &digest->trimmed_ns);
	options.from_ns = maker->from_ns;
	options.to_ns = maker->to_ns;
	if (fperf_analysis__run(session, symbolizer, &options, &analysis, err) < 0)
		return err->code;
	snprintf(digest->marker, sizeof(digest->marker), "%s", analysis->marker_text);
	digest->level = analysis->level;
	digest->wanted_budget_ns = maker->options->budget_ns;
	quality_fill(digest, analysis);
	if (digest->mean_khz > 0)
		value_set(digest, FPERF_METRIC_FREQUENCY, digest->mean_khz);
	if (!frames_fill(digest, analysis, err) && !functions_fill(maker, analysis, err) &&
	    !threads_fill(maker, analysis, err) && maker->options->details && analysis->holds.events &&
	    analysis->model->has_sched)
		fperf_parts__build(analysis->model, analysis, maker->names, digest, err);
	lost_fill(digest, analysis);
	fperf_analysis__free(analysis);
	return err->code;
}

int fperf_digest__make(const struct fperf_session *session, struct fperf_symbolizer *symbolizer,
		       const struct fperf_digest_options *options, const char *path,
		       struct fperf_strtab *names, struct fperf_digest **digest, struct fperf_error *err)
{
	struct maker maker = {.options = options, .names = names};

	*digest = NULL;
	maker.digest = calloc(1, sizeof(*maker.digest));
	if (maker.digest)
		maker.digest->path = strdup(path);
	if (!maker.digest || !maker.digest->path) {
		fperf_digest__free(maker.digest);
		return fperf_error__no_memory(err, "the digest of a session");
	}
	if (digest_fill(&maker, session, symbolizer, err) < 0) {
		fperf_digest__free(maker.digest);
		return err->code;
	}
	*digest = maker.digest;
	return 0;
}

void fperf_digest__free(struct fperf_digest *digest)
{
	if (!digest)
		return;
	free(digest->path);
	free(digest->times);
	free(digest->parts);
	free(digest->functions);
	free(digest->threads);
	free(digest);
}

/* Frames that were kept as such, levels 0 and 1 have no marks. */
static int kept_frames(const struct fperf_session *session, const struct fperf_analysis_options *within,
		       struct fperf_analysis *analysis)
{
	const struct fperf_rec_frame *frames;
	size_t count;

	frames = fperf_session__records(session, FPERF_RECORD_FRAME, &count);
	analysis->frames = calloc(count + 1, sizeof(*analysis->frames));
	if (!analysis->frames)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (frames[i].end_ns <= frames[i].start_ns || frames[i].start_ns < within->from_ns ||
		    (within->to_ns && frames[i].end_ns > within->to_ns))
			continue;
		analysis->frames[analysis->frame_count++] =
			(struct fperf_frame){.start_ns = frames[i].start_ns, .end_ns = frames[i].end_ns};
	}
	return 0;
}

int fperf_digest__budget(const struct fperf_session *session, const struct fperf_digest_options *options,
			 uint64_t *budget_ns, struct fperf_error *err)
{
	struct fperf_analysis_options within = {.frame = -1};
	struct fperf_analysis *analysis = calloc(1, sizeof(*analysis));
	bool events = fperf_results__level(session) >= FPERF_LEVEL_EVENTS;
	uint64_t trimmed_ns;

	*budget_ns = 0;
	if (!analysis)
		return fperf_error__no_memory(err, "the frames of a session");
	analysis->session = session;
	fperf_digest__window(session, options, &within.from_ns, &within.to_ns, &trimmed_ns);
	if (events)
		fperf_series__find(analysis, &within, err);
	else if (kept_frames(session, &within, analysis))
		fperf_error__no_memory(err, "the frames of a session");
	if (!err->code && analysis->frame_count && !fperf_series__judge(analysis, 0, err))
		*budget_ns = analysis->summary.budget_ns;
	else if (!err->code && !events)
		fperf_results__fact(session, FPERF_FACT_BUDGET_NS, 0, budget_ns);
	fperf_analysis__free(analysis);
	return err->code;
}
