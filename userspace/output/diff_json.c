/* `diff --json`: one object, schema "frameperf.diff/1", see docs/diff.md. Figures are in the unit that stands
 * beside them; what is not known is null. */
#include "output/diff_output.h"
#include "output/json_build.h"

#include <errno.h>
#include <math.h>

static json_t *run_object(struct json_build *build, const struct fperf_digest *digest)
{
	json_t *object = json_build__object(build), *values = json_build__object(build);

	json_build__set(build, object, "path", json_build__text(build, digest->path));
	json_build__set(build, object, "session", json_build__nonempty(build, digest->session));
	json_build__set(build, object, "level", json_build__u64(build, digest->level));
	json_build__set(build, object, "build", json_build__nonempty(build, digest->build));
	json_build__set(build, object, "marker", json_build__nonempty(build, digest->marker));
	json_build__set(build, object, "started_unix_ns",
			digest->started_unix_ns ? json_build__i64(build, digest->started_unix_ns)
						: json_build__null(build));
	json_build__set(build, object, "duration_ns", json_build__positive(build, digest->duration_ns));
	json_build__set(build, object, "trimmed_ns", json_build__u64(build, digest->trimmed_ns));
	json_build__set(build, object, "frames", json_build__u64(build, digest->frame_count));
	json_build__set(build, object, "stacks_complete_share",
			json_build__share(build, digest->complete_share));
	for (int metric = 0; metric < FPERF_METRICS; metric++)
		if (digest->known[metric])
			json_build__set(build, values, fperf_metric__info((enum fperf_metric)metric)->name,
					json_build__real(build, digest->value[metric]));
	json_build__set(build, object, "figures", values);
	return object;
}

static json_t *side_array(struct json_build *build, const struct fperf_side *side)
{
	json_t *array = json_build__array(build);

	for (size_t i = 0; i < side->count; i++)
		json_build__add(build, array, run_object(build, side->runs[i]));
	return array;
}

static void change_set(struct json_build *build, json_t *object, const struct fperf_change *change)
{
	bool sized = fabs(change->base) > 0;

	json_build__set(build, object, "base", json_build__real(build, change->base));
	json_build__set(build, object, "new", json_build__real(build, change->new_value));
	json_build__set(build, object, "base_runs", json_build__u64(build, change->base_runs));
	json_build__set(build, object, "new_runs", json_build__u64(build, change->new_runs));
	json_build__set(build, object, "base_deviation", json_build__real(build, change->base_deviation));
	json_build__set(build, object, "new_deviation", json_build__real(build, change->new_deviation));
	json_build__set(build, object, "difference", json_build__real(build, change->difference));
	json_build__set(build, object, "relative",
			sized ? json_build__real(build, change->difference / fabs(change->base))
			      : json_build__null(build));
	json_build__set(build, object, "low", json_build__real(build, change->low));
	json_build__set(build, object, "high", json_build__real(build, change->high));
	json_build__set(build, object, "interval_of",
			isfinite(change->low)
				? json_build__text(build, change->within_run ? "frames" : "runs")
				: json_build__null(build));
	json_build__set(build, object, "p", json_build__real(build, change->p));
	json_build__set(build, object, "p_holm", json_build__real(build, change->p_holm));
	json_build__set(build, object, "tolerance", json_build__real(build, change->tolerance));
	json_build__set(build, object, "runs_needed", json_build__positive(build, change->runs_needed));
	json_build__set(build, object, "result",
			json_build__text(build, fperf_change_result__name(change->result)));
}

static json_t *metrics_array(struct json_build *build, const struct fperf_diff *diff)
{
	json_t *array = json_build__array(build);

	for (size_t i = 0; i < diff->metric_count; i++) {
		const struct fperf_metric_info *info = fperf_metric__info(diff->metrics[i].metric);
		json_t *object = json_build__object(build);

		json_build__set(build, object, "name", json_build__text(build, info->name));
		json_build__set(build, object, "unit", json_build__text(build, fperf_unit__name(info->unit)));
		json_build__set(build, object, "family",
				json_build__text(build, fperf_family__name(info->family)));
		json_build__set(build, object, "worse_is",
				json_build__text(build, info->less_is_worse ? "less" : "more"));
		change_set(build, object, &diff->metrics[i].change);
		json_build__add(build, array, object);
	}
	return array;
}

static const char *presence_name(enum fperf_presence presence)
{
	static const char *const names[] = {"both", "new", "vanished"};

	return names[presence];
}

static json_t *change_object(struct json_build *build, const struct fperf_change *change)
{
	json_t *object = json_build__object(build);

	change_set(build, object, change);
	return object;
}

static json_t *functions_array(struct json_build *build, const struct fperf_diff *diff)
{
	json_t *array = json_build__array(build);

	for (size_t i = 0; i < diff->function_count; i++) {
		const struct fperf_function_change *function = &diff->functions[i];
		json_t *object = json_build__object(build);

		json_build__set(build, object, "function", json_build__text(build, function->function));
		json_build__set(build, object, "module", json_build__text(build, function->module));
		json_build__set(build, object, "presence",
				json_build__text(build, presence_name(function->presence)));
		json_build__set(build, object, "self", change_object(build, &function->self));
		json_build__set(build, object, "total", change_object(build, &function->total));
		json_build__add(build, array, object);
	}
	return array;
}

static json_t *threads_array(struct json_build *build, const struct fperf_diff *diff)
{
	json_t *array = json_build__array(build);

	for (size_t i = 0; i < diff->thread_count; i++) {
		json_t *object = json_build__object(build);

		json_build__set(build, object, "name", json_build__text(build, diff->threads[i].name));
		json_build__set(build, object, "presence",
				json_build__text(build, presence_name(diff->threads[i].presence)));
		json_build__set(build, object, "cpu", change_object(build, &diff->threads[i].cpu));
		json_build__add(build, array, object);
	}
	return array;
}

static json_t *part_object(struct json_build *build, const struct fperf_part_change *part)
{
	json_t *object = json_build__object(build);

	json_build__set(build, object, "cause", json_build__text(build, fperf_cause__name(part->cause)));
	json_build__set(build, object, "thread", json_build__nonempty(build, part->thread));
	json_build__set(build, object, "function", json_build__nonempty(build, part->function));
	json_build__set(build, object, "module", json_build__nonempty(build, part->module));
	json_build__set(build, object, "by", json_build__nonempty(build, part->by));
	json_build__set(build, object, "base", json_build__real(build, part->base_ns));
	json_build__set(build, object, "new", json_build__real(build, part->new_ns));
	json_build__set(build, object, "difference", json_build__real(build, part->new_ns - part->base_ns));
	return object;
}

static json_t *attributions_array(struct json_build *build, const struct fperf_diff *diff)
{
	json_t *array = json_build__array(build);

	for (size_t i = 0; i < diff->attribution_count; i++) {
		const struct fperf_attribution *attribution = &diff->attributions[i];
		json_t *object = json_build__object(build), *parts = json_build__array(build);

		json_build__set(build, object, "of",
				json_build__text(build, fperf_profile__name(attribution->profile)));
		json_build__set(build, object, "unit", json_build__text(build, "ns"));
		json_build__set(build, object, "base", json_build__real(build, attribution->base_ns));
		json_build__set(build, object, "new", json_build__real(build, attribution->new_ns));
		json_build__set(build, object, "difference",
				json_build__real(build, attribution->new_ns - attribution->base_ns));
		for (size_t k = 0; k < attribution->count; k++)
			json_build__add(build, parts, part_object(build, &attribution->parts[k]));
		json_build__set(build, object, "parts", parts);
		json_build__add(build, array, object);
	}
	return array;
}

static json_t *warnings_array(struct json_build *build, const struct fperf_diff *diff)
{
	json_t *array = json_build__array(build);

	for (size_t i = 0; i < diff->warning_count; i++) {
		json_t *object = json_build__object(build);

		json_build__set(build, object, "serious", json_build__bool(build, diff->warnings[i].serious));
		json_build__set(build, object, "text", json_build__text(build, diff->warnings[i].text));
		json_build__add(build, array, object);
	}
	return array;
}

static json_t *scene_object(struct json_build *build, const struct fperf_diff *diff)
{
	json_t *object = json_build__object(build);

	json_build__set(build, object, "scene", json_build__nonempty(build, diff->scene));
	json_build__set(build, object, "result",
			json_build__text(build, fperf_change_result__name(diff->result)));
	json_build__set(build, object, "mixed", json_build__bool(build, diff->mixed));
	json_build__set(build, object, "text", json_build__text(build, fperf_diff_words__answer(diff).text));
	json_build__set(build, object, "warnings", warnings_array(build, diff));
	json_build__set(build, object, "base", side_array(build, &diff->base));
	json_build__set(build, object, "new", side_array(build, &diff->new_side));
	json_build__set(build, object, "figures", metrics_array(build, diff));
	json_build__set(build, object, "attribution", attributions_array(build, diff));
	json_build__set(build, object, "functions", functions_array(build, diff));
	json_build__set(build, object, "threads", threads_array(build, diff));
	return object;
}

static json_t *gates_array(struct json_build *build, const struct fperf_diff_report *report)
{
	json_t *array = json_build__array(build);

	for (size_t i = 0; i < report->gate_count; i++)
		for (size_t k = 0; k < report->diff_count; k++) {
			const struct fperf_gate_result *result = fperf_diff_report__result(report, i, k);
			json_t *object = json_build__object(build);

			json_build__set(build, object, "gate",
					json_build__text(build, report->gates[i].text));
			json_build__set(build, object, "scene",
					json_build__nonempty(build, report->diffs[k]->scene));
			json_build__set(build, object, "holds",
					json_build__bool(build, result->outcome == FPERF_GATE_HOLDS));
			json_build__set(build, object, "outcome",
					json_build__text(build, fperf_gate_outcome__name(result->outcome)));
			json_build__set(build, object, "unit",
					json_build__text(build, fperf_unit__name(result->unit)));
			json_build__set(build, object, "value", json_build__real(build, result->value));
			json_build__set(build, object, "bound", json_build__real(build, result->bound));
			json_build__set(build, object, "limit", json_build__real(build, result->limit));
			json_build__set(
				build, object, "text",
				json_build__text(build,
						 fperf_diff_words__gate(&report->gates[i], result).text));
			json_build__add(build, array, object);
		}
	return array;
}

static json_t *diff_object(struct json_build *build, const struct fperf_diff_report *report)
{
	json_t *object = json_build__object(build), *scenes = json_build__array(build);

	json_build__set(build, object, "schema", json_build__text(build, "frameperf.diff/1"));
	json_build__set(build, object, "budget_ns", json_build__positive(build, report->budget_ns));
	json_build__set(build, object, "trim_ns", json_build__u64(build, report->trim_ns));
	json_build__set(build, object, "min_effect", json_build__real(build, report->min_effect));
	json_build__set(build, object, "forced", json_build__bool(build, report->forced));
	json_build__set(build, object, "gates_hold",
			json_build__bool(build, fperf_diff_report__gates_hold(report)));
	json_build__set(build, object, "gates", gates_array(build, report));
	for (size_t i = 0; i < report->diff_count; i++)
		json_build__add(build, scenes, scene_object(build, report->diffs[i]));
	json_build__set(build, object, "scenes", scenes);
	return object;
}

static int json_write(const struct fperf_diff_report *report, FILE *stream, struct fperf_error *err)
{
	struct json_build build = {0};
	json_t *object = diff_object(&build, report);
	int ret = 0;

	if (build.failed || !object)
		ret = fperf_error__no_memory(err, "the comparison");
	else if (json_dumpf(object, stream, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) ||
		 fputc('\n', stream) == EOF || fflush(stream))
		ret = fperf_error__set_errno(err, errno ? -errno : -EIO, "cannot write the comparison");
	json_decref(object);
	return ret;
}

const struct fperf_diff_output_ops fperf_diff_json = {.name = "json", .write = json_write};
