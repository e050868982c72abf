/* The last section of the text report: what was lost or absent, why, and what to do about it. */
#include "analyze/broken.h"
#include "frameperf/meta.h"
#include "output/names.h"
#include "output/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL	     10	  /* columns of the word that a line begins with */
#define NAMES_SHARE  0.05 /* modules are mentioned from this share of all stack frames on */
#define NAMES_ROWS   4
#define EFFORT_ROWS  4
#define BROKEN_ROWS  3
#define BROKEN_SHARE 0.1 /* modules are mentioned from this share of the broken stacks on */

struct section {
	const struct fperf_paint *paint;
	bool begun;
};

static void say(struct section *section, enum fperf_style style, const char *label, const char *text)
{
	if (!section->begun)
		fperf_paint__heading(section->paint, "Lost or absent", "");
	section->begun = true;
	fputs("  ", section->paint->stream);
	fperf_paint__put(section->paint, style, "%-*s", LABEL, label);
	fperf_paint__paragraph(section->paint, FPERF_STYLE_PLAIN, LABEL + 2, LABEL + 2, text);
}

static __attribute__((format(printf, 4, 5))) void sayf(struct section *section, enum fperf_style style,
						       const char *label, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int size;

	va_start(args, format);
	size = vasprintf(&text, format, args);
	va_end(args);
	if (size < 0)
		return;
	say(section, style, label, text);
	free(text);
}

static void damage_lines(struct section *section, const struct fperf_report *report)
{
	const struct fperf_session_damage *damage = report->damage;

	if (damage->chunks_bad || damage->bytes_skipped || damage->records_dropped || damage->tail_cut)
		sayf(section, FPERF_STYLE_BAD, "damage",
		     "the file is damaged%s%s; `frameperf check %s` says more", damage->first[0] ? ": " : "",
		     damage->first, report->path);
	else if (damage->no_end)
		say(section, FPERF_STYLE_WARN, "damage",
		    "the recording was cut short (the recorder was killed, or the disk was full): all that "
		    "was written until "
		    "then is here");
	if (damage->chunks_unknown)
		sayf(section, FPERF_STYLE_WARN, "newer",
		     "%u chunks are of kinds that only a newer version knows", damage->chunks_unknown);
}

static void level_line(struct section *section, const struct fperf_report *report)
{
	if (report->analysis->level == FPERF_LEVEL_SUMMARY)
		say(section, FPERF_STYLE_DIM, "level 0",
		    "only sums over the whole recording are kept: no single frames, verdicts, functions, "
		    "threads; `frameperf record --level 1` or 2 keeps them");
	else if (report->analysis->level == FPERF_LEVEL_TIMELINE)
		say(section, FPERF_STYLE_DIM, "level 1",
		    "frames, verdicts and ledgers are kept, but no critical chains, no stacks, and functions "
		    "over the whole recording only; `frameperf record --level 2` keeps everything");
}

static void source_lines(struct section *section, const struct fperf_report *report)
{
	for (unsigned int i = 0; i < FPERF_SOURCES; i++) {
		const struct fperf_rec_source *source = fperf_report__source(report->session, i);
		const char *reason;

		if (!source || source->state == FPERF_SOURCE_STATE_ACTIVE ||
		    (source->state == FPERF_SOURCE_STATE_OFF &&
		     i == FPERF_SOURCE_MARK)) /* few ask for marks */
			continue;
		reason = fperf_session__string(report->session, source->reason, NULL);
		if (source->state == FPERF_SOURCE_STATE_FAILED)
			sayf(section, FPERF_STYLE_BAD, fperf_source__key(i), "failed: %s",
			     reason[0] ? reason : "no reason given");
		else
			sayf(section, FPERF_STYLE_DIM, fperf_source__key(i), "%s%s%s",
			     source->state == FPERF_SOURCE_STATE_OFF ? "off" : "absent",
			     reason[0] ? ": " : "", reason);
	}
}

static void loss_lines(struct section *section, const struct fperf_report *report)
{
	const struct fperf_analysis *analysis = report->analysis;

	for (unsigned int source = 0; source < FPERF_SOURCES; source++) {
		for (unsigned int reason = 0; reason < FPERF_LOSS_REASONS; reason++) {
			uint64_t count = analysis->lost[source][reason];

			if (count)
				sayf(section,
				     reason == FPERF_LOSS_STACK_SKIPPED || reason == FPERF_LOSS_TIME_ORDER
					     ? FPERF_STYLE_DIM
					     : FPERF_STYLE_WARN,
				     "lost", "%s: %llu events: %s", fperf_source__key(source),
				     (unsigned long long)count, fperf_loss__words(reason));
		}
	}
}

/* Where unwinding stopped, the worst first, and what to do about it. */
static void broken_lines(struct section *section, const struct fperf_report *report)
{
	struct fperf_broken rows[BROKEN_ROWS];
	size_t count = fperf_broken__list(report->session, rows, BROKEN_ROWS);

	for (size_t i = 0; i < count && rows[i].share >= BROKEN_SHARE; i++) {
		const struct fperf_rec_module *module =
			fperf_session__module(report->session, rows[i].module);
		const char *advice = fperf_outcome__advice(rows[i].outcome);

		sayf(section, FPERF_STYLE_DIM, i ? "" : "broken",
		     "%s of the broken stacks of samples and waits, in %s: %s%s%s",
		     fperf_words__share(rows[i].share).text,
		     module ? fperf_session__string(report->session, module->path, NULL) : "no module",
		     fperf_outcome__words(rows[i].outcome), advice ? "; " : "", advice ? advice : "");
	}
}

static void evicted_line(struct section *section, const struct fperf_report *report)
{
	unsigned long long evicted = fperf_session__meta_u64(report->session, FPERF_META_UNWIND_EVICTED, 0);

	if (evicted)
		sayf(section, FPERF_STYLE_WARN, "stacks",
		     "unwind tables were at their bound of memory and were dropped %llu times: stacks end "
		     "there until the table is back; `frameperf record --unwind-memory` raises the bound",
		     evicted);
}

static void stack_lines(struct section *section, const struct fperf_report *report)
{
	const struct fperf_stack_quality *stacks = &report->analysis->stacks;
	if (!stacks->stacks || stacks->complete * 10 >= stacks->stacks * 9)
		return;
	for (unsigned int i = 0; i < FPERF_STACK_OUTCOMES; i++) {
		double share = (double)stacks->by_outcome[i] / (double)stacks->stacks;

		if (i != FPERF_STACK_COMPLETE && i != FPERF_STACK_NONE && share >= 0.01)
			sayf(section, FPERF_STYLE_WARN, "stacks", "%s of the stacks %s",
			     fperf_words__share(share).text, fperf_outcome__words(i));
	}
	broken_lines(section, report);
}

/* Modules whose stack frames have no names, the most frequent first. */
static void name_lines(struct section *section, const struct fperf_report *report)
{
	const struct fperf_module_names *modules;
	uint64_t all = 0, below = UINT64_MAX;
	size_t count;

	if (!report->symbolizer)
		return;
	count = fperf_symbolizer__modules(report->symbolizer, &modules);
	for (size_t i = 0; i < count; i++)
		all += modules[i].known + modules[i].unknown;
	for (int row = 0; row < NAMES_ROWS; row++) {
		const struct fperf_module_names *worst = NULL;
		const struct fperf_rec_module *module;
		const char *path;

		for (size_t i = 0; i < count; i++) {
			if (modules[i].unknown < below && (!worst || modules[i].unknown > worst->unknown))
				worst = &modules[i];
		}
		if (!worst || (double)worst->unknown < NAMES_SHARE * (double)all || !worst->unknown)
			return;
		below = worst->unknown;
		module = fperf_session__module(report->session, worst->module);
		path = module ? fperf_session__string(report->session, module->path, NULL)
			      : "memory outside of modules";
		sayf(section, FPERF_STYLE_DIM, "names",
		     "%s of all stack frames lie in %s and have no names: %s",
		     fperf_words__share((double)worst->unknown / (double)all).text, path,
		     worst->problem[0] ? worst->problem
				       : "nothing is known there (generated code keeps no names)");
	}
}

static void effort_line(struct section *section, const struct fperf_report *report,
			const struct fperf_rec_effort *step)
{
	uint64_t start_ns = fperf_session__meta_u64(report->session, FPERF_META_START_NS, 0);
	double at = step->time_ns > start_ns ? (double)(step->time_ns - start_ns) / 1e9 : 0;
	uint32_t ppm = step->reason == FPERF_EFFORT_OVER_RECORDER ? step->recorder_ppm : step->bpf_ppm;
	char measured[48] = "";

	if (step->reason == FPERF_EFFORT_LOW_FPS && step->fps_milli != FPERF_EFFORT_UNKNOWN)
		snprintf(measured, sizeof(measured), " (%.1f)", step->fps_milli / 1e3);
	else if (ppm != FPERF_EFFORT_UNKNOWN)
		snprintf(measured, sizeof(measured), " (%.2f %%)", ppm / 1e4);
	sayf(section, FPERF_STYLE_DIM, "effort", "from %.1f s on %s: %s%s", at,
	     fperf_session__string(report->session, step->words, NULL),
	     fperf_effort_reason__words(step->reason), measured);
}

/* Where recording had to cost less. */
static void effort_lines(struct section *section, const struct fperf_report *report)
{
	size_t count = 0, told = 0, steps = 0;
	const struct fperf_rec_effort *effort =
		fperf_session__records(report->session, FPERF_RECORD_EFFORT, &count);

	for (size_t i = 0; i < count; i++)
		steps += effort[i].reason != FPERF_EFFORT_START;
	for (size_t i = 0; i < count && told < EFFORT_ROWS; i++) {
		if (effort[i].reason == FPERF_EFFORT_START)
			continue;
		effort_line(section, report, &effort[i]);
		told++;
	}
	if (steps > told)
		sayf(section, FPERF_STYLE_DIM, "", "and %zu more such steps: `frameperf info` shows them",
		     steps - told);
}

void fperf_text__missing(const struct fperf_report *report, const struct fperf_paint *paint)
{
	struct section section = {.paint = paint};
	const struct fperf_frames_summary *frames = &report->analysis->summary;

	damage_lines(&section, report);
	level_line(&section, report);
	source_lines(&section, report);
	loss_lines(&section, report);
	effort_lines(&section, report);
	stack_lines(&section, report);
	evicted_line(&section, report);
	name_lines(&section, report);
	if (frames->time_anomalies)
		sayf(&section, FPERF_STYLE_DIM, "frames",
		     "%llu frame boundaries came out of order and were sorted",
		     (unsigned long long)frames->time_anomalies);
}
