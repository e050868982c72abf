/* A comparison for people. */
#include "output/diff_output.h"
#include "output/paint.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define FUNCTIONS_SHOWN 10
#define PARTS_SHOWN	6
#define PATHS_SHOWN	4

static enum fperf_style style_of(enum fperf_change_result result)
{
	return result == FPERF_CHANGE_WORSE    ? FPERF_STYLE_BAD
	       : result == FPERF_CHANGE_BETTER ? FPERF_STYLE_ACCENT
	       : result == FPERF_CHANGE_SAME   ? FPERF_STYLE_PLAIN
					       : FPERF_STYLE_DIM;
}

static void side_line(const struct fperf_paint *paint, const char *name, const struct fperf_side *side)
{
	char line[1024];
	size_t used;
	double seconds = 0;

	for (size_t i = 0; i < side->count; i++)
		seconds += side->runs[i]->seconds;
	used = (size_t)snprintf(line, sizeof(line), "%s %zu run%s of %s in all:", name, side->count,
				side->count == 1 ? "" : "s",
				fperf_words__duration((uint64_t)(seconds * 1e9)).text);
	for (size_t i = 0; i < side->count && i < PATHS_SHOWN && used < sizeof(line); i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, " %s", side->runs[i]->path);
	if (side->count > PATHS_SHOWN && used < sizeof(line))
		snprintf(line + used, sizeof(line) - used, " and %zu more", side->count - PATHS_SHOWN);
	fperf_paint__paragraph(paint, FPERF_STYLE_PLAIN, 0, 6, line);
}

static void warnings(const struct fperf_diff *diff, const struct fperf_paint *paint)
{
	for (size_t i = 0; i < diff->warning_count; i++) {
		fperf_paint__put(paint, FPERF_STYLE_WARN, "  ! ");
		fperf_paint__paragraph(paint, FPERF_STYLE_WARN, 4, 4, diff->warnings[i].text);
	}
}

static void trimming(const struct fperf_diff_report *report, const struct fperf_diff *diff,
		     const struct fperf_paint *paint)
{
	uint64_t trimmed = diff->base.runs[0]->trimmed_ns;
	char line[160];

	if (trimmed)
		snprintf(line, sizeof(line), "%s at both ends of each run are left out",
			 fperf_words__duration(trimmed).text);
	else if (report->trim_ns)
		snprintf(
			line, sizeof(line),
			"the runs are too short to leave out %s at both ends: warm-up is part of the figures",
			fperf_words__duration(report->trim_ns).text);
	else
		return;
	fputs("  ", paint->stream);
	fperf_paint__paragraph(paint, FPERF_STYLE_DIM, 2, 2, line);
}

static void metric_rows(const struct fperf_diff *diff, struct fperf_table *table, bool causes)
{
	for (size_t i = 0; i < diff->metric_count; i++) {
		const struct fperf_metric_info *info = fperf_metric__info(diff->metrics[i].metric);
		const struct fperf_change *change = &diff->metrics[i].change;

		if ((info->family == FPERF_FAMILY_CAUSES) != causes ||
		    (causes && change->base == 0 && change->new_value == 0))
			continue;
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", info->title);
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s",
				  fperf_diff_words__value(info->unit, change->base).text);
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s",
				  fperf_diff_words__value(info->unit, change->new_value).text);
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s",
				  fperf_diff_words__percent(change->difference, change->base).text);
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s%s",
				  fperf_diff_words__interval(info->unit, change).text,
				  change->within_run ? " *" : "");
		fperf_table__cell(table, style_of(change->result), "%s",
				  fperf_diff_words__result(change).text);
	}
}

static void metrics(const struct fperf_diff_report *report, const struct fperf_diff *diff,
		    const struct fperf_paint *paint)
{
	static const struct fperf_table_column columns[] = {
		{"", false, false},	 {"base", true, false},	     {"new", true, false},
		{"change", true, false}, {"95 % sure", true, false}, {"", false, true}};
	struct fperf_table *table = fperf_table__new(columns, 6);
	char aside[96];
	bool within = false;

	for (size_t i = 0; i < diff->metric_count; i++)
		within |= diff->metrics[i].change.within_run;
	snprintf(aside, sizeof(aside), "means over the runs; a hitch takes longer than %s",
		 fperf_words__duration(report->budget_ns).text);
	fperf_paint__heading(paint, "Figures", aside);
	metric_rows(diff, table, false);
	metric_rows(diff, table, true);
	fperf_table__render(table, paint, 2);
	fperf_table__free(table);
	if (within)
		fperf_paint__put(paint, FPERF_STYLE_DIM,
				 "  * of these two runs, not of the builds: from blocks of their frames\n");
}

static bool worth_showing(const struct fperf_diff *diff, const struct fperf_function_change *function)
{
	return function->presence != FPERF_PRESENCE_BOTH || function->self.result <= FPERF_CHANGE_BETTER ||
	       function->total.result <= FPERF_CHANGE_BETTER || diff->base.count < 2 ||
	       diff->new_side.count < 2;
}

static const char *presence_word(enum fperf_presence presence)
{
	return presence == FPERF_PRESENCE_NEW ? "new" : presence == FPERF_PRESENCE_VANISHED ? "vanished" : "";
}

static void function_row(struct fperf_table *table, const struct fperf_function_change *function)
{
	bool by_total =
		function->self.result > FPERF_CHANGE_BETTER && function->total.result <= FPERF_CHANGE_BETTER;
	const struct fperf_change *change = by_total ? &function->total : &function->self;

	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", function->function);
	fperf_table__cell(table, FPERF_STYLE_DIM, "%s", function->module);
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s",
			  fperf_diff_words__value(FPERF_UNIT_NS, change->base).text);
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s",
			  fperf_diff_words__difference(FPERF_UNIT_NS, change->difference).text);
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s",
			  fperf_diff_words__percent(change->difference, change->base).text);
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s",
			  fperf_diff_words__interval(FPERF_UNIT_NS, change).text);
	fperf_table__cell(table, style_of(change->result), "%s%s",
			  function->presence != FPERF_PRESENCE_BOTH ? presence_word(function->presence)
			  : change->result <= FPERF_CHANGE_BETTER   ? fperf_diff_words__result(change).text
								    : "",
			  by_total ? ", with what it calls" : "");
}

static void functions(const struct fperf_diff *diff, const struct fperf_paint *paint)
{
	static const struct fperf_table_column columns[] = {
		{"function", false, true}, {"module", false, true}, {"base", true, false},
		{"change", true, false},   {"", true, false},	    {"95 % sure", true, false},
		{"", false, true}};
	struct fperf_table *table;
	size_t shown = 0;

	if (!diff->function_count)
		return;
	fperf_paint__heading(paint, "Functions", "CPU time of their own a frame");
	table = fperf_table__new(columns, 7);
	for (size_t i = 0; i < diff->function_count && shown < FUNCTIONS_SHOWN; i++) {
		if (!worth_showing(diff, &diff->functions[i]))
			continue;
		function_row(table, &diff->functions[i]);
		shown++;
	}
	if (shown)
		fperf_table__render(table, paint, 2);
	else
		fperf_paint__put(paint, FPERF_STYLE_DIM, "  none of %zu differs with confidence\n",
				 diff->function_count);
	fperf_table__free(table);
}

static void attribution(const struct fperf_attribution *parts, const char *title,
			const struct fperf_paint *paint)
{
	size_t named = fperf_diff_words__named_parts(parts, PARTS_SHOWN);
	double rest = parts->new_ns - parts->base_ns;

	fperf_paint__put(paint, FPERF_STYLE_PLAIN, "  %s %s is\n", title,
			 fperf_diff_words__difference(FPERF_UNIT_NS, rest).text);
	for (size_t i = 0; i < named; i++) {
		double part = parts->parts[i].new_ns - parts->parts[i].base_ns;

		rest -= part;
		fperf_paint__put(paint, FPERF_STYLE_PLAIN, "    %*s  ", 9,
				 fperf_diff_words__difference(FPERF_UNIT_NS, part).text);
		fperf_paint__paragraph(paint, FPERF_STYLE_PLAIN, 15, 17,
				       fperf_diff_words__part(&parts->parts[i]).text);
	}
	fperf_paint__put(paint, FPERF_STYLE_DIM, "    %*s  in %zu smaller parts\n", 9,
			 fperf_diff_words__difference(FPERF_UNIT_NS, rest).text, parts->count - named);
}

static void attributions(const struct fperf_diff *diff, const struct fperf_paint *paint)
{
	static const enum fperf_metric metrics_of[FPERF_PROFILES] = {FPERF_METRIC_MEAN, FPERF_METRIC_P50,
								     FPERF_METRIC_P95, FPERF_METRIC_P99};
	bool any = false;

	for (size_t i = 0; i < diff->attribution_count; i++) {
		enum fperf_metric metric = metrics_of[diff->attributions[i].profile];
		const struct fperf_change *change = fperf_diff__metric(diff, metric);

		if (!change || (change->result > FPERF_CHANGE_BETTER && diff->base.count > 1 &&
				diff->new_side.count > 1))
			continue;
		if (!any)
			fperf_paint__heading(paint, "Where it comes from",
					     "along the critical chain; the parts add up");
		any = true;
		attribution(&diff->attributions[i], fperf_metric__info(metric)->title, paint);
	}
}

static void gates(const struct fperf_diff_report *report, const struct fperf_paint *paint)
{
	if (!report->gate_count)
		return;
	fperf_paint__heading(paint, "Gates", "");
	for (size_t i = 0; i < report->gate_count; i++)
		for (size_t k = 0; k < report->diff_count; k++) {
			const struct fperf_gate_result *result = fperf_diff_report__result(report, i, k);
			bool holds = result->outcome == FPERF_GATE_HOLDS;
			char line[640];

			fperf_paint__put(paint, holds ? FPERF_STYLE_PLAIN : FPERF_STYLE_BAD, "  %s ",
					 holds ? "ok  " : "FAIL");
			snprintf(line, sizeof(line), "%s%s%s %s", report->gates[i].text,
				 *report->diffs[k]->scene ? " in " : "", report->diffs[k]->scene,
				 fperf_diff_words__gate(&report->gates[i], result).text);
			fperf_paint__paragraph(paint, FPERF_STYLE_PLAIN, 7, 9, line);
		}
}

static int text_write(const struct fperf_diff_report *report, FILE *stream, struct fperf_error *err)
{
	struct fperf_paint paint = {
		.stream = stream, .width = report->width < 40 ? 40 : report->width, .colour = report->colour};

	for (size_t i = 0; i < report->diff_count; i++) {
		const struct fperf_diff *diff = report->diffs[i];

		if (i)
			fputc('\n', stream);
		if (*diff->scene)
			fperf_paint__put(&paint, FPERF_STYLE_TITLE, "Scene %s\n", diff->scene);
		side_line(&paint, "base:", &diff->base);
		side_line(&paint, "new:", &diff->new_side);
		trimming(report, diff, &paint);
		warnings(diff, &paint);
		fputc('\n', stream);
		fperf_paint__paragraph(&paint, style_of(diff->result), 0, 0,
				       fperf_diff_words__answer(diff).text);
		metrics(report, diff, &paint);
		attributions(diff, &paint);
		functions(diff, &paint);
	}
	gates(report, &paint);
	if (fflush(stream) || ferror(stream))
		return fperf_error__set_errno(err, errno ? -errno : -EIO, "cannot write the comparison");
	return 0;
}

const struct fperf_diff_output_ops fperf_diff_text = {.name = "text", .write = text_write};
