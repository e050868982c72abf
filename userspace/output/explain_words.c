/* What `report --explain` found, as text and as JSON. */
#include "output/explain_words.h"

#include <stdio.h>

static struct fperf_words more(const struct fperf_finding *finding)
{
	double ns = finding->slow - finding->ordinary;

	return fperf_words__duration(ns > 0 ? (uint64_t)ns : 0);
}

static const char *call(const char *function)
{
	size_t size = 0;

	while (function[size])
		size++;
	return size && function[size - 1] == ')' ? "" : "()";
}

static const char *waiting_words(enum fperf_cause cause)
{
	static const char *const words[FPERF_CAUSES] = {
		[FPERF_CAUSE_CPU] = "running",
		[FPERF_CAUSE_LOCK] = "waiting for a lock",
		[FPERF_CAUSE_IO] = "waiting for files",
		[FPERF_CAUSE_FAULT] = "in page faults",
		[FPERF_CAUSE_GPU] = "waiting for the GPU",
		[FPERF_CAUSE_SLEEP] = "sleeping",
		[FPERF_CAUSE_EVENT] = "waiting for an event",
		[FPERF_CAUSE_RUN_QUEUE] = "ready but without a core",
		[FPERF_CAUSE_PREEMPTED] = "preempted",
		[FPERF_CAUSE_FREQUENCY] = "at a slower clock",
		[FPERF_CAUSE_UNKNOWN] = "in an unknown state",
	};

	return words[cause];
}

void fperf_finding__words(const struct fperf_finding *finding, char *text, size_t size)
{
	switch (finding->kind) {
	case FPERF_FINDING_FUNCTION:
		snprintf(text, size, "%s more running in %s%s", more(finding).text, finding->name,
			 call(finding->name));
		break;
	case FPERF_FINDING_BLOCKED:
		snprintf(text, size, "%s more %s in %s%s", more(finding).text, waiting_words(finding->cause),
			 finding->name, call(finding->name));
		break;
	case FPERF_FINDING_TASK:
		snprintf(text, size, "%s more %s while the core ran %s", more(finding).text,
			 waiting_words(finding->cause), finding->name);
		break;
	case FPERF_FINDING_CAUSE:
		snprintf(text, size, "%s more %s, %s", more(finding).text, waiting_words(finding->cause),
			 finding->cause == FPERF_CAUSE_RUN_QUEUE || finding->cause == FPERF_CAUSE_PREEMPTED
				 ? "because of no one task"
				 : "in no one place");
		break;
	case FPERF_FINDING_CPU:
		snprintf(text, size, "on CPU %u: %.0f %% of the running time, otherwise %.0f %%",
			 finding->cpu, finding->slow * 100, finding->ordinary * 100);
		break;
	case FPERF_FINDING_CLUSTER:
		snprintf(text, size,
			 "on the CPUs of at most %s: %.0f %% of the running time, otherwise %.0f %%",
			 fperf_words__khz(finding->cpu).text, finding->slow * 100, finding->ordinary * 100);
		break;
	case FPERF_FINDING_FREQUENCY:
		snprintf(text, size, "at %s instead of %s", fperf_words__khz((uint64_t)finding->slow).text,
			 fperf_words__khz((uint64_t)finding->ordinary).text);
		break;
	case FPERF_FINDING_MARK:
		snprintf(text, size, "at the mark %s: %.2f a frame, otherwise %.2f", finding->name,
			 finding->slow, finding->ordinary);
		break;
	default:
		snprintf(text, size, "every %.2f s, the first %.2f s after the start",
			 (double)finding->period_ns / 1e9, (double)finding->phase_ns / 1e9);
	}
}

static void row(struct fperf_table *table, const struct fperf_finding *finding)
{
	char words[256];

	fperf_finding__words(finding, words, sizeof(words));
	/* A limiter's sleep takes in a part of what a frame has more of: that can exceed what it took longer.
	 */
	fperf_table__cell(table, FPERF_STYLE_BAD, "%.0f %%",
			  finding->effect < 1 ? finding->effect * 100 : 100);
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%.0f %%", finding->slow_with * 100);
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%.0f %%", finding->ordinary_with * 100);
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", words);
}

void fperf_text__explain(const struct fperf_report *report, const struct fperf_paint *paint)
{
	static const struct fperf_table_column columns[] = {
		{.title = "explains", .right = true},
		{.title = "in slow", .right = true},
		{.title = "in others", .right = true},
		{.title = "slow frames have", .elastic = true},
	};
	const struct fperf_explanation *explanation = report->explanation;
	struct fperf_table *table;
	char aside[128];

	if (!explanation)
		return;
	snprintf(aside, sizeof(aside), "%zu slow frames against %zu others, by %zu things", explanation->slow,
		 explanation->ordinary, explanation->looked_at);
	fperf_paint__heading(paint, "What slow frames have in common", aside);
	if (!explanation->count) {
		fperf_paint__put(paint, FPERF_STYLE_DIM, "  nothing that chance does not explain\n");
		return;
	}
	table = fperf_table__new(columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < explanation->count; i++)
		row(table, &explanation->items[i]);
	fperf_table__render(table, paint, 2);
	fperf_table__free(table);
}

static json_t *finding_object(struct json_build *build, const struct fperf_finding *finding)
{
	static const char *const units[FPERF_FINDING_KINDS] = {"ns",	"ns",  "ns",	"ns", "share",
							       "share", "khz", "count", NULL};
	bool placed = finding->kind <= FPERF_FINDING_CAUSE, moment = finding->kind == FPERF_FINDING_PERIOD;
	json_t *object = json_build__object(build);
	char words[256];

	fperf_finding__words(finding, words, sizeof(words));
	json_build__set(build, object, "kind",
			json_build__text(build, fperf_finding_kind__name(finding->kind)));
	json_build__set(build, object, "cause",
			placed ? json_build__text(build, fperf_cause__name(finding->cause))
			       : json_build__null(build));
	json_build__set(build, object, "name", json_build__nonempty(build, finding->name));
	json_build__set(build, object, "module", json_build__nonempty(build, finding->module));
	json_build__set(build, object, "cpu",
			finding->kind == FPERF_FINDING_CPU ? json_build__u64(build, finding->cpu)
							   : json_build__null(build));
	json_build__set(build, object, "cluster_khz",
			finding->kind == FPERF_FINDING_CLUSTER ? json_build__u64(build, finding->cpu)
							       : json_build__null(build));
	json_build__set(build, object, "effect", json_build__real(build, finding->effect));
	json_build__set(build, object, "slow_with", json_build__real(build, finding->slow_with));
	json_build__set(build, object, "slow_without", json_build__real(build, 1 - finding->slow_with));
	json_build__set(build, object, "ordinary_with", json_build__real(build, finding->ordinary_with));
	json_build__set(build, object, "unit", json_build__text(build, units[finding->kind]));
	json_build__set(build, object, "slow",
			moment ? json_build__null(build) : json_build__real(build, finding->slow));
	json_build__set(build, object, "ordinary",
			moment ? json_build__null(build) : json_build__real(build, finding->ordinary));
	json_build__set(build, object, "p", json_build__real(build, finding->p));
	json_build__set(build, object, "period_ns", json_build__positive(build, finding->period_ns));
	json_build__set(build, object, "phase_ns",
			moment ? json_build__u64(build, finding->phase_ns) : json_build__null(build));
	json_build__set(build, object, "text", json_build__text(build, words));
	return object;
}

json_t *fperf_json__explain(struct json_build *build, const struct fperf_explanation *explanation)
{
	json_t *object = json_build__object(build), *findings = json_build__array(build);

	json_build__set(build, object, "slow", json_build__u64(build, explanation->slow));
	json_build__set(build, object, "ordinary", json_build__u64(build, explanation->ordinary));
	json_build__set(build, object, "looked_at", json_build__u64(build, explanation->looked_at));
	json_build__set(
		build, object, "excess_ns",
		json_build__u64(build, explanation->excess_ns > 0 ? (uint64_t)explanation->excess_ns : 0));
	for (size_t i = 0; i < explanation->count; i++)
		json_build__add(build, findings, finding_object(build, &explanation->items[i]));
	json_build__set(build, object, "findings", findings);
	return object;
}
