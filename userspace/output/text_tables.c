#include "output/names.h"
#include "output/text.h"

#include <stdlib.h>
#include <string.h>

#define HOT_ROWS    10
#define THREAD_ROWS 12

static const char *cause_words(enum fperf_cause cause)
{
	static const char *const words[FPERF_CAUSES] = {
		[FPERF_CAUSE_CPU] = "more work on the core",
		[FPERF_CAUSE_LOCK] = "waiting for a lock",
		[FPERF_CAUSE_IO] = "waiting for files and disks",
		[FPERF_CAUSE_FAULT] = "page faults",
		[FPERF_CAUSE_GPU] = "waiting for the GPU",
		[FPERF_CAUSE_SLEEP] = "sleeping",
		[FPERF_CAUSE_EVENT] = "waiting for another thread or process",
		[FPERF_CAUSE_RUN_QUEUE] = "ready, but not run",
		[FPERF_CAUSE_PREEMPTED] = "put aside for another task",
		[FPERF_CAUSE_FREQUENCY] = "slower clock",
		[FPERF_CAUSE_UNKNOWN] = "unknown",
	};

	return (unsigned int)cause < FPERF_CAUSES ? words[cause] : "unknown";
}

void fperf_text__causes(const struct fperf_report *report, const struct fperf_paint *paint)
{
	const struct fperf_analysis *analysis = report->analysis;
	uint64_t top = analysis->cause_count ? analysis->causes[0].excess_ns : 0;

	if (!analysis->cause_count)
		return;
	fperf_paint__heading(paint, "Lost time by cause", "more than ordinary frames have of it");
	for (size_t i = 0; i < analysis->cause_count; i++) {
		const struct fperf_cause_total *cause = &analysis->causes[i];

		fprintf(paint->stream, "  %-9s  ", fperf_cause__name(cause->cause));
		fperf_paint__bar(paint, FPERF_STYLE_BAD, top ? (double)cause->excess_ns / (double)top : 0,
				 20);
		fprintf(paint->stream, "  %10s in %llu %s", fperf_words__duration(cause->excess_ns).text,
			(unsigned long long)cause->frames, cause->frames == 1 ? "frame " : "frames");
		fperf_paint__put(paint, FPERF_STYLE_DIM, "  %s\n", cause_words(cause->cause));
	}
}

static void hot_table(const struct fperf_paint *paint, const struct fperf_hot_function *hot, size_t count)
{
	static const struct fperf_table_column columns[] = {
		{.title = "self", .right = true},
		{.title = "total", .right = true},
		{.title = "function", .elastic = true},
		{.title = "module", .elastic = true},
	};
	struct fperf_table *table = fperf_table__new(columns, sizeof(columns) / sizeof(columns[0]));

	for (size_t i = 0; i < count && i < HOT_ROWS; i++) {
		if (hot[i].self_share < 0.001)
			break;
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", fperf_words__share(hot[i].self_share).text);
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s",
				  fperf_words__share(hot[i].total_share).text);
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", hot[i].function ? hot[i].function : "–");
		fperf_table__cell(table, FPERF_STYLE_DIM, "%s", hot[i].module ? hot[i].module : "");
	}
	fperf_table__render(table, paint, 2);
	fperf_table__free(table);
}

static void no_samples(const struct fperf_report *report, const struct fperf_paint *paint)
{
	const struct fperf_rec_source *source = fperf_report__source(report->session, FPERF_SOURCE_SAMPLE);
	const char *reason = source ? fperf_session__string(report->session, source->reason, NULL) : "";

	fperf_paint__heading(paint, "Hot functions", "");
	fprintf(paint->stream, "  no samples: ");
	if (source && source->state == FPERF_SOURCE_STATE_ACTIVE)
		reason = "the target used next to no CPU time while it was recorded";
	fperf_paint__paragraph(paint, FPERF_STYLE_PLAIN, 14, 14,
			       reason[0] ? reason : "sampling was not active");
}

void fperf_text__hot(const struct fperf_report *report, const struct fperf_paint *paint)
{
	const struct fperf_analysis *analysis = report->analysis;
	char aside[96];

	if (!analysis->hot_count) {
		if (analysis->holds.events)
			no_samples(report, paint);
		return;
	}
	snprintf(aside, sizeof(aside), "%llu samples, %s of CPU time", (unsigned long long)analysis->samples,
		 fperf_words__duration(analysis->sampled_ns).text);
	fperf_paint__heading(paint, "Hot functions", aside);
	hot_table(paint, analysis->hot, analysis->hot_count);
	if (!analysis->hot_slow_count)
		return;
	snprintf(aside, sizeof(aside), "%s of CPU time",
		 fperf_words__duration(analysis->slow_sampled_ns).text);
	fperf_paint__heading(paint, "Hot functions in slow frames", aside);
	hot_table(paint, analysis->hot_slow, analysis->hot_slow_count);
}

static void thread_row(struct fperf_table *table, const struct fperf_thread_stats *thread, uint64_t duration,
		       bool sched)
{
	double core = duration ? (double)thread->cpu_ns / (double)duration : -1;

	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", fperf_text__thread(&thread->thread).text);
	fperf_table__cell(table, FPERF_STYLE_DIM, "%u", thread->thread.tid);
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", fperf_words__duration(thread->cpu_ns).text);
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", fperf_words__share(core).text);
	if (sched && duration) {
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%.0f",
				  (double)thread->switches * 1e9 / (double)duration);
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s",
				  fperf_words__duration(thread->run_queue_p99_ns).text);
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s",
				  fperf_words__duration(thread->run_queue_max_ns).text);
	} else {
		for (int i = 0; i < 3; i++)
			fperf_table__cell(table, FPERF_STYLE_DIM, "–");
	}
	fperf_table__cell(table,
			  thread->stacks_complete_share >= 0 && thread->stacks_complete_share < 0.9
				  ? FPERF_STYLE_WARN
				  : FPERF_STYLE_PLAIN,
			  "%s", fperf_words__share(thread->stacks_complete_share).text);
}

void fperf_text__threads(const struct fperf_report *report, const struct fperf_paint *paint)
{
	static const struct fperf_table_column columns[] = {
		{.title = "thread", .elastic = true},	{.title = "tid", .right = true},
		{.title = "CPU time", .right = true},	{.title = "of a core", .right = true},
		{.title = "switches/s", .right = true}, {.title = "queued p99", .right = true},
		{.title = "max", .right = true},	{.title = "whole", .right = true},
	};
	const struct fperf_analysis *analysis = report->analysis;
	const struct fperf_rec_source *source = fperf_report__source(report->session, FPERF_SOURCE_SCHED);
	uint64_t duration = fperf_report__duration_ns(analysis);
	bool sched = source && source->state == FPERF_SOURCE_STATE_ACTIVE;
	struct fperf_table *table;
	size_t shown = analysis->thread_count;
	char aside[64] = "";

	/* Threads are in order of CPU time: those that never ran come last, and tell nothing. */
	while (shown > 1 && !analysis->threads[shown - 1].cpu_ns && !analysis->threads[shown - 1].switches)
		shown--;
	if (!shown)
		return;
	if (analysis->thread_count > THREAD_ROWS)
		snprintf(aside, sizeof(aside), "the busiest %d of %zu", THREAD_ROWS, analysis->thread_count);
	fperf_paint__heading(paint, "Threads", aside);
	table = fperf_table__new(columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < shown && i < THREAD_ROWS; i++)
		thread_row(table, &analysis->threads[i], duration, sched);
	fperf_table__render(table, paint, 2);
	fperf_table__free(table);
}

static bool freq_equal(const struct fperf_freq_stats *a, const struct fperf_freq_stats *b)
{
	double apart = a->time_below_max_share - b->time_below_max_share;

	return a->min_khz == b->min_khz && a->max_khz == b->max_khz &&
	       a->mean_khz / 10000 == b->mean_khz / 10000 && a->transitions == b->transitions &&
	       apart < 0.005 && apart > -0.005;
}

void fperf_text__freq(const struct fperf_report *report, const struct fperf_paint *paint)
{
	static const struct fperf_table_column columns[] = {
		{.title = "CPU"},
		{.title = "hardware", .right = true},
		{.title = "mean", .right = true},
		{.title = "below its maximum", .right = true},
		{.title = "changes", .right = true},
	};
	const struct fperf_analysis *analysis = report->analysis;
	struct fperf_table *table;

	if (!analysis->freq_count)
		return;
	fperf_paint__heading(paint, "CPU clocks", "");
	table = fperf_table__new(columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t first = 0, last; first < analysis->freq_count; first = last + 1) {
		const struct fperf_freq_stats *freq = &analysis->freq[first];

		for (last = first;
		     last + 1 < analysis->freq_count && freq_equal(freq, &analysis->freq[last + 1]);)
			last++;
		if (last > first)
			fperf_table__cell(table, FPERF_STYLE_PLAIN, "%u–%u", freq->cpu,
					  analysis->freq[last].cpu);
		else
			fperf_table__cell(table, FPERF_STYLE_PLAIN, "%u", freq->cpu);
		if (freq->max_khz)
			fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s – %s",
					  fperf_words__khz(freq->min_khz).text,
					  fperf_words__khz(freq->max_khz).text);
		else
			fperf_table__cell(table, FPERF_STYLE_DIM, "–");
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s",
				  freq->mean_khz ? fperf_words__khz(freq->mean_khz).text : "–");
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s",
				  fperf_words__share(freq->time_below_max_share).text);
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%llu", (unsigned long long)freq->transitions);
	}
	fperf_table__render(table, paint, 2);
	fperf_table__free(table);
}
