/* `report --json`: one object, schema "frameperf.report/1". Times are integers in ns on CLOCK_MONOTONIC; what
 * was not measured is null. */
#include "analyze/broken.h"
#include "frameperf/meta.h"
#include "output/explain_words.h"
#include "output/json_build.h"
#include "output/names.h"
#include "output/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BROKEN_ROWS 20

static bool source_active(const struct fperf_session *session, enum fperf_source source)
{
	const struct fperf_rec_source *record = fperf_report__source(session, source);

	return record && record->state == FPERF_SOURCE_STATE_ACTIVE;
}

static json_t *meta_text(struct json_build *build, const struct fperf_session *session, const char *key)
{
	return json_build__text(build, fperf_session__meta(session, key));
}

static json_t *meta_number(struct json_build *build, const struct fperf_session *session, const char *key)
{
	uint64_t value = fperf_session__meta_u64(session, key, UINT64_MAX);

	return value == UINT64_MAX ? json_build__null(build) : json_build__u64(build, value);
}

/* Wall time of the start; the offset is negative on a machine whose clock says a time before its boot. */
static json_t *started_unix(struct json_build *build, const struct fperf_report *report)
{
	const char *offset = fperf_session__meta(report->session, FPERF_META_REALTIME_OFFSET);
	int64_t wall;

	if (!offset || !report->analysis->start_ns)
		return json_build__null(build);
	wall = (int64_t)report->analysis->start_ns;
	if (__builtin_add_overflow(wall, strtoll(offset, NULL, 10), &wall))
		return json_build__null(build);
	return json_build__i64(build, wall);
}

static json_t *labels_object(struct json_build *build, const struct fperf_session *session)
{
	json_t *labels = json_build__object(build);
	const struct fperf_rec_meta *metas;
	size_t count = 0, prefix = strlen(FPERF_META_LABEL_PREFIX);

	metas = fperf_session__records(session, FPERF_RECORD_META, &count);
	for (size_t i = 0; i < count; i++) {
		const char *key = fperf_session__string(session, metas[i].key, NULL);

		if (!strncmp(key, FPERF_META_LABEL_PREFIX, prefix))
			json_build__set_any_key(
				build, labels, key + prefix,
				json_build__text(build,
						 fperf_session__string(session, metas[i].value, NULL)));
	}
	return labels;
}

static json_t *damage_object(struct json_build *build, const struct fperf_session_damage *damage)
{
	json_t *object = json_build__object(build);

	json_build__set(build, object, "chunks_bad", json_build__u64(build, damage->chunks_bad));
	json_build__set(build, object, "chunks_unknown", json_build__u64(build, damage->chunks_unknown));
	json_build__set(build, object, "bytes_skipped", json_build__u64(build, damage->bytes_skipped));
	json_build__set(build, object, "records_dropped", json_build__u64(build, damage->records_dropped));
	json_build__set(build, object, "tail_cut", json_build__bool(build, damage->tail_cut));
	json_build__set(build, object, "not_closed", json_build__bool(build, damage->no_end));
	json_build__set(build, object, "first",
			json_build__text(build, damage->first[0] ? damage->first : NULL));
	return object;
}

static json_t *session_object(struct json_build *build, const struct fperf_report *report)
{
	const struct fperf_session *session = report->session;
	const struct fperf_analysis *analysis = report->analysis;
	json_t *object = json_build__object(build), *host = json_build__object(build);
	json_t *target = json_build__object(build);

	json_build__set(build, host, "kernel", meta_text(build, session, FPERF_META_HOST_KERNEL));
	json_build__set(build, host, "arch", meta_text(build, session, FPERF_META_HOST_ARCH));
	json_build__set(build, host, "cpus", meta_number(build, session, FPERF_META_HOST_CPUS));
	json_build__set(build, host, "model", meta_text(build, session, FPERF_META_HOST_MODEL));
	json_build__set(build, target, "pid", meta_number(build, session, FPERF_META_TARGET_PID));
	json_build__set(build, target, "name", meta_text(build, session, FPERF_META_TARGET_NAME));
	json_build__set(build, target, "exe", meta_text(build, session, FPERF_META_TARGET_EXE));

	json_build__set(build, object, "id", meta_text(build, session, FPERF_META_SESSION_ID));
	json_build__set(build, object, "format", json_build__u64(build, FPERF_SESSION_FORMAT));
	json_build__set(build, object, "started_unix_ns", started_unix(build, report));
	json_build__set(build, object, "start_ns", json_build__positive(build, analysis->start_ns));
	json_build__set(build, object, "duration_ns",
			json_build__positive(build, fperf_report__duration_ns(analysis)));
	json_build__set(build, object, "end_reason", meta_text(build, session, FPERF_META_END_REASON));
	json_build__set(build, object, "complete",
			json_build__bool(build, !fperf_report__damaged(report->damage)));
	json_build__set(build, object, "level", meta_number(build, session, FPERF_META_LEVEL));
	json_build__set(build, object, "host", host);
	json_build__set(build, object, "target", target);
	json_build__set(build, object, "labels", labels_object(build, session));
	json_build__set(build, object, "damage", damage_object(build, report->damage));
	return object;
}

/* Every source that the session mentions, and the basic ones also when it does not. */
static json_t *sources_array(struct json_build *build, const struct fperf_session *session)
{
	json_t *array = json_build__array(build);

	for (unsigned int i = 0; i < FPERF_SOURCES; i++) {
		const struct fperf_rec_source *source = fperf_report__source(session, i);
		const char *reason;
		json_t *object;

		if (!source && i > FPERF_SOURCE_PROCESS)
			continue;
		object = json_build__object(build);
		reason = source ? fperf_session__string(session, source->reason, NULL)
				: "the session does not mention it";
		json_build__set(build, object, "name", json_build__text(build, fperf_source__key(i)));
		json_build__set(
			build, object, "state",
			json_build__text(build, source ? fperf_source_state__key(source->state) : "absent"));
		json_build__set(build, object, "reason", json_build__text(build, reason[0] ? reason : NULL));
		json_build__add(build, array, object);
	}
	return array;
}

static json_t *lost_object(struct json_build *build, const struct fperf_analysis *analysis)
{
	json_t *lost = json_build__object(build);

	for (unsigned int reason = 0; reason < FPERF_LOSS_REASONS; reason++) {
		uint64_t sum = 0;

		for (unsigned int source = 0; source < FPERF_SOURCES; source++)
			sum += analysis->lost[source][reason];
		if (sum)
			json_build__set(build, lost, fperf_loss__key(reason), json_build__u64(build, sum));
	}
	return lost;
}

static json_t *lost_by_source(struct json_build *build, const struct fperf_analysis *analysis)
{
	json_t *object = json_build__object(build);

	for (unsigned int source = 0; source < FPERF_SOURCES; source++) {
		json_t *lost = json_build__object(build);

		for (unsigned int reason = 0; reason < FPERF_LOSS_REASONS; reason++) {
			if (analysis->lost[source][reason])
				json_build__set(build, lost, fperf_loss__key(reason),
						json_build__u64(build, analysis->lost[source][reason]));
		}
		if (json_object_size(lost))
			json_build__set(build, object, fperf_source__key(source), lost);
		else
			json_decref(lost);
	}
	return object;
}

static json_t *share_of_ppm(struct json_build *build, uint32_t ppm)
{
	return ppm == FPERF_EFFORT_UNKNOWN ? json_build__null(build) : json_build__real(build, ppm / 1e6);
}

/* Each step that recording took to cost less, or took back. */
static json_t *effort_steps(struct json_build *build, const struct fperf_report *report)
{
	size_t count = 0;
	const struct fperf_rec_effort *steps =
		fperf_session__records(report->session, FPERF_RECORD_EFFORT, &count);
	json_t *array = json_build__array(build);

	for (size_t i = 0; i < count; i++) {
		json_t *object;

		if (steps[i].reason == FPERF_EFFORT_START)
			continue;
		object = json_build__object(build);
		json_build__set(build, object, "time_ns", json_build__u64(build, steps[i].time_ns));
		json_build__set(build, object, "from", json_build__u64(build, steps[i].from));
		json_build__set(build, object, "to", json_build__u64(build, steps[i].step));
		json_build__set(build, object, "reason",
				json_build__text(build, fperf_effort_reason__key(steps[i].reason)));
		json_build__set(build, object, "allows",
				json_build__text(
					build, fperf_session__string(report->session, steps[i].words, NULL)));
		json_build__set(build, object, "hits_per_sample",
				json_build__u64(build, steps[i].hits_per_sample));
		json_build__set(build, object, "bpf_share", share_of_ppm(build, steps[i].bpf_ppm));
		json_build__set(build, object, "recorder_share", share_of_ppm(build, steps[i].recorder_ppm));
		json_build__set(build, object, "fps",
				steps[i].fps_milli == FPERF_EFFORT_UNKNOWN
					? json_build__null(build)
					: json_build__real(build, steps[i].fps_milli / 1e3));
		json_build__add(build, array, object);
	}
	return array;
}

static json_t *overhead_object(struct json_build *build, const struct fperf_report *report)
{
	static const char *const keys[][2] = {
		{"bpf_ns", FPERF_META_BPF_NS},
		{"recorder_cpu_ns", FPERF_META_RECORDER_CPU_NS},
		{"recorder_max_rss_bytes", FPERF_META_RECORDER_MAX_RSS},
		{"sample_ns", FPERF_META_OVERHEAD_SAMPLE},
		{"switch_ns", FPERF_META_OVERHEAD_SWITCH},
		{"budget_cpus", FPERF_META_OVERHEAD_CPUS},
	};
	const char *budget = fperf_session__meta(report->session, FPERF_META_OVERHEAD_BUDGET);
	json_t *overhead = json_build__object(build);

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_build__set(build, overhead, keys[i][0], meta_number(build, report->session, keys[i][1]));
	json_build__set(build, overhead, "budget_percent",
			budget ? json_build__real(build, atof(budget)) : json_build__null(build));
	json_build__set(build, overhead, "bpf_by", meta_text(build, report->session, FPERF_META_OVERHEAD_BY));
	json_build__set(build, overhead, "steps", effort_steps(build, report));
	return overhead;
}

static json_t *broken_array(struct json_build *build, const struct fperf_session *session)
{
	struct fperf_broken rows[BROKEN_ROWS];
	size_t count = fperf_broken__list(session, rows, BROKEN_ROWS);
	json_t *array = json_build__array(build);

	for (size_t i = 0; i < count; i++) {
		json_t *row = json_build__object(build);
		const struct fperf_rec_module *module = fperf_session__module(session, rows[i].module);

		json_build__set(
			build, row, "module",
			module ? json_build__text(build, fperf_session__string(session, module->path, NULL))
			       : json_build__null(build));
		json_build__set(build, row, "reason",
				json_build__text(build, fperf_outcome__key(rows[i].outcome)));
		json_build__set(build, row, "count", json_build__u64(build, rows[i].count));
		json_build__add(build, array, row);
	}
	return array;
}

static json_t *quality_object(struct json_build *build, const struct fperf_report *report)
{
	const struct fperf_analysis *analysis = report->analysis;
	const struct fperf_session *session = report->session;
	json_t *quality = json_build__object(build), *stacks = json_build__object(build);
	json_t *reasons = json_build__object(build);

	for (unsigned int i = 0; i < FPERF_STACK_OUTCOMES; i++) {
		if (i != FPERF_STACK_COMPLETE && analysis->stacks.by_outcome[i])
			json_build__set(build, reasons, fperf_outcome__key(i),
					json_build__u64(build, analysis->stacks.by_outcome[i]));
	}
	json_build__set(build, stacks, "count", json_build__u64(build, analysis->stacks.stacks));
	json_build__set(build, stacks, "complete_share",
			analysis->stacks.stacks
				? json_build__real(build, (double)analysis->stacks.complete /
								  (double)analysis->stacks.stacks)
				: json_build__null(build));
	json_build__set(build, stacks, "by_reason", reasons);
	json_build__set(build, stacks, "broken", broken_array(build, session));
	json_build__set(
		build, quality, "samples",
		analysis->samples || (analysis->holds.events && source_active(session, FPERF_SOURCE_SAMPLE))
			? json_build__u64(build, analysis->samples)
			: json_build__null(build));
	json_build__set(build, quality, "sample_period_ns",
			meta_number(build, session, FPERF_META_SAMPLE_PERIOD_NS));
	json_build__set(build, quality, "sample_event", meta_text(build, session, FPERF_META_SAMPLE_EVENT));
	json_build__set(build, quality, "stacks", stacks);
	json_build__set(build, quality, "lost", lost_object(build, analysis));
	json_build__set(build, quality, "lost_by_source", lost_by_source(build, analysis));
	json_build__set(build, quality, "overhead", overhead_object(build, report));
	return quality;
}

static json_t *time_stats_object(struct json_build *build, const struct fperf_time_stats *time)
{
	json_t *object = json_build__object(build);

	json_build__set(build, object, "mean", json_build__u64(build, time->mean));
	json_build__set(build, object, "p50", json_build__u64(build, time->p50));
	json_build__set(build, object, "p90", json_build__u64(build, time->p90));
	json_build__set(build, object, "p95", json_build__u64(build, time->p95));
	json_build__set(build, object, "p99", json_build__u64(build, time->p99));
	json_build__set(build, object, "max", json_build__u64(build, time->max));
	return object;
}

/* null when frames could not be seen; with a count of 0 and nothing else when they could and there were none.
 */
static json_t *frames_object(struct json_build *build, const struct fperf_report *report)
{
	const struct fperf_frames_summary *frames = &report->analysis->summary;
	json_t *object;

	if (!frames->count && !source_active(report->session, FPERF_SOURCE_FRAME))
		return json_build__null(build);
	object = json_build__object(build);
	json_build__set(build, object, "surface", json_build__nonempty(build, frames->surface));
	json_build__set(build, object, "marker", json_build__nonempty(build, frames->marker));
	json_build__set(build, object, "count", json_build__u64(build, frames->count));
	if (!frames->count)
		return object;
	json_build__set(build, object, "timed", json_build__u64(build, frames->timed));
	json_build__set(build, object, "duration_ns", json_build__u64(build, frames->duration_ns));
	json_build__set(build, object, "fps_mean", json_build__real(build, frames->fps_mean));
	json_build__set(build, object, "time_ns", time_stats_object(build, &frames->time));
	json_build__set(build, object, "low_1pct_fps", json_build__real(build, frames->low_1pct_fps));
	json_build__set(build, object, "low_01pct_fps", json_build__real(build, frames->low_01pct_fps));
	json_build__set(build, object, "budget_ns", json_build__positive(build, frames->budget_ns));
	json_build__set(build, object, "slow", json_build__u64(build, frames->slow));
	json_build__set(build, object, "hitches_per_min", json_build__real(build, frames->hitches_per_min));
	json_build__set(build, object, "jank", json_build__u64(build, frames->jank));
	json_build__set(build, object, "big_jank", json_build__u64(build, frames->big_jank));
	json_build__set(build, object, "time_anomalies", json_build__u64(build, frames->time_anomalies));
	return object;
}

static json_t *causes_array(struct json_build *build, const struct fperf_analysis *analysis)
{
	json_t *array = json_build__array(build);

	for (size_t i = 0; i < analysis->cause_count; i++) {
		const struct fperf_cause_total *cause = &analysis->causes[i];
		json_t *object = json_build__object(build);

		json_build__set(build, object, "cause",
				json_build__text(build, fperf_cause__name(cause->cause)));
		json_build__set(build, object, "frames", json_build__u64(build, cause->frames));
		json_build__set(build, object, "excess_ns", json_build__u64(build, cause->excess_ns));
		json_build__add(build, array, object);
	}
	return array;
}

static json_t *hot_array(struct json_build *build, const struct fperf_hot_function *hot, size_t count)
{
	json_t *array = json_build__array(build);

	for (size_t i = 0; i < count; i++) {
		json_t *object = json_build__object(build);

		json_build__set(build, object, "function", json_build__text(build, hot[i].function));
		json_build__set(build, object, "module", json_build__text(build, hot[i].module));
		json_build__set(build, object, "self_ns", json_build__u64(build, hot[i].self_ns));
		json_build__set(build, object, "total_ns", json_build__u64(build, hot[i].total_ns));
		json_build__set(build, object, "self_share", json_build__real(build, hot[i].self_share));
		json_build__set(build, object, "total_share", json_build__real(build, hot[i].total_share));
		json_build__add(build, array, object);
	}
	return array;
}

static json_t *run_queue_object(struct json_build *build, const struct fperf_thread_stats *thread)
{
	json_t *object = json_build__object(build);

	json_build__set(build, object, "p50", json_build__u64(build, thread->run_queue_p50_ns));
	json_build__set(build, object, "p99", json_build__u64(build, thread->run_queue_p99_ns));
	json_build__set(build, object, "max", json_build__u64(build, thread->run_queue_max_ns));
	return object;
}

static json_t *threads_array(struct json_build *build, const struct fperf_report *report)
{
	const struct fperf_analysis *analysis = report->analysis;
	bool sched = source_active(report->session, FPERF_SOURCE_SCHED);
	bool samples = source_active(report->session, FPERF_SOURCE_SAMPLE);
	json_t *array = json_build__array(build);

	for (size_t i = 0; i < analysis->thread_count; i++) {
		const struct fperf_thread_stats *thread = &analysis->threads[i];
		json_t *object = json_build__thread(build, &thread->thread);
		bool intervals = sched || thread->switches;

		json_build__set(build, object, "cpu_ns",
				intervals || samples || thread->cpu_ns
					? json_build__u64(build, thread->cpu_ns)
					: json_build__null(build));
		json_build__set(build, object, "samples",
				samples || thread->samples ? json_build__u64(build, thread->samples)
							   : json_build__null(build));
		json_build__set(build, object, "switches",
				intervals ? json_build__u64(build, thread->switches)
					  : json_build__null(build));
		json_build__set(build, object, "run_queue_ns",
				intervals ? run_queue_object(build, thread) : json_build__null(build));
		json_build__set(build, object, "stacks_complete_share",
				json_build__share(build, thread->stacks_complete_share));
		json_build__add(build, array, object);
	}
	return array;
}

static json_t *freq_array(struct json_build *build, const struct fperf_analysis *analysis)
{
	json_t *array = json_build__array(build);

	for (size_t i = 0; i < analysis->freq_count; i++) {
		const struct fperf_freq_stats *freq = &analysis->freq[i];
		json_t *object = json_build__object(build);

		json_build__set(build, object, "cpu", json_build__u64(build, freq->cpu));
		json_build__set(build, object, "min_khz", json_build__positive(build, freq->min_khz));
		json_build__set(build, object, "max_khz", json_build__positive(build, freq->max_khz));
		json_build__set(build, object, "mean_khz", json_build__positive(build, freq->mean_khz));
		json_build__set(build, object, "transitions", json_build__u64(build, freq->transitions));
		json_build__set(build, object, "time_below_max_share",
				json_build__share(build, freq->time_below_max_share));
		json_build__add(build, array, object);
	}
	return array;
}

/* What the target took over the whole recording. */
static json_t *usage_object(struct json_build *build, const struct fperf_analysis *analysis)
{
	json_t *object = json_build__object(build);

	json_build__set(build, object, "cpu_ns", json_build__positive(build, analysis->cpu_ns));
	json_build__set(build, object, "memory_peak_bytes",
			json_build__positive(build, analysis->memory_peak_bytes));
	return object;
}

/* What the level of the session does not hold is null, not empty. */
static void held(struct json_build *build, json_t *root, const char *key, bool is_held, json_t *value)
{
	if (!is_held) {
		json_decref(value);
		value = json_build__null(build);
	}
	json_build__set(build, root, key, value);
}

json_t *fperf_json__report(struct json_build *build, const struct fperf_report *report)
{
	const struct fperf_analysis *analysis = report->analysis;
	json_t *root = json_build__object(build), *slow = json_build__array(build);

	json_build__set(build, root, "schema", json_build__text(build, "frameperf.report/1"));
	json_build__set(build, root, "session", session_object(build, report));
	json_build__set(build, root, "sources", sources_array(build, report->session));
	json_build__set(build, root, "quality", quality_object(build, report));
	fperf_json__incident(build, root, report);
	json_build__set(build, root, "frames", frames_object(build, report));
	for (size_t i = 0; i < analysis->slow_count; i++) {
		const struct fperf_slow_frame *frame = &analysis->slow[i];

		if (analysis->frames[frame->frame].slow)
			json_build__add(build, slow,
					json_build__frame(build, analysis, frame, report->worst > 0));
		if (report->frame >= 0 && frame->frame == (uint64_t)report->frame)
			json_build__set(build, root, "frame",
					json_build__frame(build, analysis, frame, report->worst > 0));
	}
	held(build, root, "slow_frames", analysis->holds.timeline, slow);
	json_build__set(build, root, "causes", causes_array(build, analysis));
	if (report->explanation)
		json_build__set(build, root, "explain", fperf_json__explain(build, report->explanation));
	held(build, root, "hot", analysis->holds.functions,
	     hot_array(build, analysis->hot, analysis->hot_count));
	held(build, root, "hot_slow", analysis->holds.functions,
	     hot_array(build, analysis->hot_slow, analysis->hot_slow_count));
	held(build, root, "threads", analysis->holds.threads, threads_array(build, report));
	held(build, root, "freq", analysis->level || analysis->freq_count, freq_array(build, analysis));
	json_build__set(build, root, "usage", usage_object(build, analysis));
	return root;
}

static int json_write(const struct fperf_report *report, FILE *stream, struct fperf_error *err)
{
	struct json_build build = {0};
	json_t *root = fperf_json__report(&build, report);
	int ret = 0;

	if (build.failed)
		ret = fperf_error__no_memory(err, "the JSON report");
	else if (json_dumpf(root, stream, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) ||
		 fputc('\n', stream) == EOF || fflush(stream))
		ret = fperf_error__set_errno(err, errno ? -errno : -EIO, "cannot write the JSON report");
	json_decref(root);
	return ret;
}

const struct fperf_output_ops fperf_output_json = {.name = "json", .write = json_write};
