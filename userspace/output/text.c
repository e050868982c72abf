/* The report as text for a terminal: what was recorded, how the frames did, and then from the most to the
 * least wanted: verdicts, causes, functions, threads, clocks, and what is missing. */
#include "output/explain_words.h"
#include "output/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_WORST 10

struct fperf_words fperf_text__thread(const struct fperf_thread_ref *thread)
{
	struct fperf_words words;

	if (thread->name && thread->name[0])
		snprintf(words.text, sizeof(words.text), "%s", thread->name);
	else if (thread->tid)
		snprintf(words.text, sizeof(words.text), "thread %u", thread->tid);
	else
		snprintf(words.text, sizeof(words.text), "–");
	return words;
}

void fperf_text__verdict(const struct fperf_paint *paint, const struct fperf_verdict *verdict,
			 unsigned int used, unsigned int indent)
{
	fperf_paint__paragraph(paint, FPERF_STYLE_PLAIN, used, indent, verdict->text ? verdict->text : "");
}

/* What of a slow frame lies over the budget. */
static uint64_t lost_time(const struct fperf_analysis *analysis, const struct fperf_slow_frame *slow)
{
	const struct fperf_frame *frame = &analysis->frames[slow->frame];
	uint64_t time = frame->end_ns - frame->start_ns;

	return time > analysis->summary.budget_ns ? time - analysis->summary.budget_ns : 0;
}

struct ranked {
	const struct fperf_slow_frame *slow;
	uint64_t lost_ns;
};

static int by_lost_time(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->lost_ns != b->lost_ns)
		return a->lost_ns < b->lost_ns ? 1 : -1;
	return a->slow < b->slow ? -1 : a->slow > b->slow;
}

static size_t rank_slow_frames(const struct fperf_analysis *analysis, struct ranked **ranked)
{
	size_t count = 0;

	*ranked = analysis->slow_count ? calloc(analysis->slow_count, sizeof(**ranked)) : NULL;
	if (!*ranked)
		return 0;
	for (size_t i = 0; i < analysis->slow_count; i++) {
		if (!analysis->frames[analysis->slow[i].frame].slow)
			continue; /* asked for, not slow */
		(*ranked)[count++] = (struct ranked){
			.slow = &analysis->slow[i],
			.lost_ns = lost_time(analysis, &analysis->slow[i]),
		};
	}
	qsort(*ranked, count, sizeof(**ranked), by_lost_time);
	return count;
}

static void worst_row(const struct fperf_report *report, const struct fperf_paint *paint,
		      const struct fperf_slow_frame *slow)
{
	const struct fperf_analysis *analysis = report->analysis;
	const struct fperf_frame *frame = &analysis->frames[slow->frame];
	uint64_t at = frame->start_ns > analysis->start_ns ? frame->start_ns - analysis->start_ns : 0;

	fperf_paint__put(paint, FPERF_STYLE_PLAIN, "  %7u  ", frame->index);
	fperf_paint__put(paint, FPERF_STYLE_DIM, "%7.2f s  ", (double)at / 1e9);
	fperf_paint__put(paint, FPERF_STYLE_BAD, "%7s ms",
			 fperf_words__ms(frame->end_ns - frame->start_ns).text);
	fperf_paint__put(paint, FPERF_STYLE_PLAIN, "  ");
	fperf_text__verdict(paint, &slow->verdict, 34, 34);
}

void fperf_text__worst(const struct fperf_report *report, const struct fperf_paint *paint)
{
	uint32_t limit = report->worst ? report->worst : DEFAULT_WORST;
	struct ranked *ranked;
	char aside[80];
	size_t count;

	count = rank_slow_frames(report->analysis, &ranked);
	if (count) {
		if (count > limit)
			snprintf(aside, sizeof(aside), "%u of %zu slow frames (--worst N shows more)", limit,
				 count);
		else
			snprintf(aside, sizeof(aside), "%s",
				 count == 1 ? "the only slow one" : "all slow ones");
		fperf_paint__heading(paint, "Worst frames", aside);
		fperf_paint__put(paint, FPERF_STYLE_DIM, "  %7s  %9s  %10s  %s\n", "frame", "at", "took",
				 "why");
		for (size_t i = 0; i < count && i < limit; i++)
			worst_row(report, paint, ranked[i].slow);
	}
	free(ranked);
}

static int write_frame(const struct fperf_report *report, const struct fperf_paint *paint,
		       struct fperf_error *err)
{
	const struct fperf_analysis *analysis = report->analysis;

	for (size_t i = 0; i < analysis->slow_count; i++) {
		if (analysis->slow[i].frame == (uint64_t)report->frame) {
			fperf_text__frame(report, paint, &analysis->slow[i]);
			return 0;
		}
	}
	if (!analysis->holds.timeline)
		return fperf_error__set(
			err, -ENOENT, "there is no frame %lld: a session of level %u keeps no single frames",
			(long long)report->frame, analysis->level);
	if (!analysis->frame_count)
		return fperf_error__set(err, -ENOENT, "there is no frame %lld: the session has no frames",
					(long long)report->frame);
	return fperf_error__set(err, -ENOENT, "there is no frame %lld: the frames are 0 to %zu",
				(long long)report->frame, analysis->frame_count - 1);
}

static int text_write(const struct fperf_report *report, FILE *stream, struct fperf_error *err)
{
	struct fperf_paint paint = {
		.stream = stream,
		.width = report->width < 60 ? 60 : report->width,
		.colour = report->colour,
	};
	int ret = 0;

	if (report->frame >= 0) {
		ret = write_frame(report, &paint, err);
	} else {
		fperf_text__overview(report, &paint);
		ret = fperf_text__incident(report, &paint, err);
		fperf_text__explain(report, &paint);
		fperf_text__worst(report, &paint);
		fperf_text__causes(report, &paint);
		fperf_text__hot(report, &paint);
		fperf_text__threads(report, &paint);
		fperf_text__freq(report, &paint);
		fperf_text__missing(report, &paint);
	}
	if (!ret && (fflush(stream) || ferror(stream)))
		ret = fperf_error__set_errno(err, errno ? -errno : -EIO, "cannot write the report");
	return ret;
}

const struct fperf_output_ops fperf_output_text = {.name = "text", .write = text_write};
