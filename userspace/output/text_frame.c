/* `report --frame N`: the verdict, the critical chain drawn along the frame, and the ledger. */
#include "output/text.h"

#include <stdlib.h>
#include <string.h>

#define CHAIN_ROWS  40
#define LEDGER_ROWS 24
#define LANE	    24 /* columns of the drawing that stand for the whole frame */

static const char *state_words(enum fperf_state state)
{
	static const char *const words[FPERF_STATES] = {
		[FPERF_STATE_USER] = "runs",	      [FPERF_STATE_KERNEL] = "runs in kernel",
		[FPERF_STATE_RUNNABLE] = "ready",     [FPERF_STATE_PREEMPTED] = "preempted",
		[FPERF_STATE_LOCK] = "waits: lock",   [FPERF_STATE_IO] = "waits: I/O",
		[FPERF_STATE_FAULT] = "waits: fault", [FPERF_STATE_GPU] = "waits: GPU",
		[FPERF_STATE_SLEEP] = "sleeps",	      [FPERF_STATE_EVENT] = "waits: event",
		[FPERF_STATE_OTHER] = "blocked",
	};

	return (unsigned int)state < FPERF_STATES ? words[state] : "unknown";
}

static enum fperf_style state_style(enum fperf_state state)
{
	switch (state) {
	case FPERF_STATE_USER:
	case FPERF_STATE_KERNEL:
		return FPERF_STYLE_ACCENT;
	case FPERF_STATE_RUNNABLE:
	case FPERF_STATE_PREEMPTED:
		return FPERF_STYLE_WARN;
	default:
		return FPERF_STYLE_BAD;
	}
}

static void frame_heading(const struct fperf_report *report, const struct fperf_paint *paint,
			  const struct fperf_slow_frame *slow)
{
	const struct fperf_analysis *analysis = report->analysis;
	const struct fperf_frame *frame = &analysis->frames[slow->frame];
	uint64_t at = frame->start_ns > analysis->start_ns ? frame->start_ns - analysis->start_ns : 0;

	fperf_paint__put(paint, FPERF_STYLE_TITLE, "Frame %u of %zu took %s ms", frame->index,
			 analysis->frame_count, fperf_words__ms(frame->end_ns - frame->start_ns).text);
	if (analysis->summary.budget_ns)
		fprintf(paint->stream, " (budget %s)", fperf_words__ms(analysis->summary.budget_ns).text);
	fprintf(paint->stream, ", %.2f s after the start\n", (double)at / 1e9);
	fprintf(paint->stream, "  active for %s ms\n", fperf_words__ms(frame->active_ns).text);
	if (slow->has_verdict) {
		fputs("  ", paint->stream);
		fperf_text__verdict(paint, &slow->verdict, 2, 2);
	} else {
		fputs("  not slow: no verdict\n", paint->stream);
	}
}

/* Where in the frame the link lies, as a bar on a lane that stands for the whole frame. */
static void lane_cell(struct fperf_table *table, const struct fperf_frame *frame,
		      const struct fperf_chain_link *link)
{
	double length = (double)(frame->end_ns - frame->start_ns);
	double from =
		link->from_ns > frame->start_ns ? (double)(link->from_ns - frame->start_ns) / length : 0;
	double to = link->to_ns > frame->start_ns ? (double)(link->to_ns - frame->start_ns) / length : 0;
	char text[LANE * 3 + 1], *at = text;
	unsigned int first, last;

	first = from >= 1 ? LANE - 1 : (unsigned int)(from * LANE);
	last = to >= 1 ? LANE : (unsigned int)(to * LANE + 0.5);
	if (last <= first)
		last = first + 1;
	for (unsigned int i = 0; i < LANE; i++)
		at = stpcpy(at, i < first || i >= last ? " " : "█");
	fperf_table__cell(table, state_style(link->state), "%s", text);
}

static void chain_row(struct fperf_table *table, const struct fperf_frame *frame,
		      const struct fperf_chain_link *link)
{
	uint64_t at = link->from_ns > frame->start_ns ? link->from_ns - frame->start_ns : 0;
	const struct fperf_place *place = &link->place;

	fperf_table__cell(table, FPERF_STYLE_DIM, "%s", fperf_words__ms(at).text);
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", fperf_words__ms(link->to_ns - link->from_ns).text);
	lane_cell(table, frame, link);
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", fperf_text__thread(&link->thread).text);
	fperf_table__cell(table, state_style(link->state), "%s", state_words(link->state));
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", place->function ? place->function : "");
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s%s", link->by.thread ? "← " : "",
			  link->by.thread ? fperf_text__thread(&link->by).text : "");
}

static int longer_first(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? 1 : a > b ? -1 : 0;
}

/* The length from which on links are shown: a hundredth of the frame, unless that hides much of it; and not
 * so short that there are more rows than fit. */
static uint64_t shown_from(const struct fperf_slow_frame *slow, uint64_t frame_ns)
{
	uint64_t *lengths, from = frame_ns / 100, shown = 0;

	lengths = calloc(slow->chain_count, sizeof(*lengths));
	if (!lengths)
		return 0;
	for (size_t i = 0; i < slow->chain_count; i++)
		lengths[i] = slow->chain[i].to_ns - slow->chain[i].from_ns;
	qsort(lengths, slow->chain_count, sizeof(*lengths), longer_first);
	for (size_t i = 0; i < slow->chain_count && lengths[i] >= from; i++)
		shown += lengths[i];
	if (shown < frame_ns / 10 * 8)
		from = 0;
	if (slow->chain_count > CHAIN_ROWS && from < lengths[CHAIN_ROWS - 1])
		from = lengths[CHAIN_ROWS - 1];
	free(lengths);
	return from;
}

static void chain_drawing(const struct fperf_report *report, const struct fperf_paint *paint,
			  const struct fperf_slow_frame *slow)
{
	static const struct fperf_table_column columns[] = {
		{.title = "at", .right = true},
		{.title = "for", .right = true},
		{.title = "(ms)"},
		{.title = "thread", .elastic = true},
		{.title = ""},
		{.title = "in", .elastic = true},
		{.title = "kept by", .elastic = true},
	};
	const struct fperf_frame *frame = &report->analysis->frames[slow->frame];
	struct fperf_table *table;
	uint64_t from, hidden_ns = 0;
	size_t hidden = 0;

	fperf_paint__heading(paint, "Critical chain", "what the end of the frame waited for, step by step");
	if (!report->analysis->holds.chains) {
		fprintf(paint->stream, "  not kept at level %u\n", report->analysis->level);
		return;
	}
	if (!slow->chain_count) {
		fputs("  not known: no scheduling events were recorded\n", paint->stream);
		return;
	}
	from = shown_from(slow, frame->end_ns - frame->start_ns);
	table = fperf_table__new(columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < slow->chain_count; i++) {
		const struct fperf_chain_link *link = &slow->chain[i];

		if (link->to_ns - link->from_ns >= from) {
			chain_row(table, frame, link);
		} else {
			hidden++;
			hidden_ns += link->to_ns - link->from_ns;
		}
	}
	fperf_table__render(table, paint, 2);
	fperf_table__free(table);
	if (hidden)
		fperf_paint__put(paint, FPERF_STYLE_DIM, "  and %s ms in %zu shorter steps\n",
				 fperf_words__ms(hidden_ns).text, hidden);
}

static bool state_occurs(const struct fperf_slow_frame *slow, unsigned int state)
{
	for (size_t i = 0; i < slow->ledger_count; i++) {
		if (slow->ledger[i].state_ns[state])
			return true;
	}
	return false;
}

static bool residual_occurs(const struct fperf_slow_frame *slow)
{
	for (size_t i = 0; i < slow->ledger_count; i++) {
		if (slow->ledger[i].residual_ns)
			return true;
	}
	return false;
}

static void ms_cell(struct fperf_table *table, int64_t ns)
{
	if (!ns)
		fperf_table__cell(table, FPERF_STYLE_DIM, "·");
	else
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s%s", ns < 0 ? "-" : "",
				  fperf_words__ms((uint64_t)(ns < 0 ? -ns : ns)).text);
}

static void ledger_row(struct fperf_table *table, const struct fperf_slow_frame *slow,
		       const struct fperf_ledger *row)
{
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", fperf_text__thread(&row->thread).text);
	fperf_table__cell(table, FPERF_STYLE_DIM, "%u", row->thread.tid);
	for (unsigned int state = 0; state < FPERF_STATES; state++) {
		if (state_occurs(slow, state))
			ms_cell(table, (int64_t)row->state_ns[state]);
	}
	if (residual_occurs(slow))
		ms_cell(table, row->residual_ns);
}

static void ledger_table(const struct fperf_paint *paint, const struct fperf_slow_frame *slow)
{
	struct fperf_table_column columns[FPERF_STATES + 3] = {
		{.title = "thread", .elastic = true},
		{.title = "tid", .right = true},
	};
	struct fperf_table *table;
	size_t count = 2;

	if (!slow->ledger_count)
		return;
	for (unsigned int state = 0; state < FPERF_STATES; state++) {
		if (state_occurs(slow, state))
			columns[count++] =
				(struct fperf_table_column){.title = fperf_state__name(state), .right = true};
	}
	if (residual_occurs(slow))
		columns[count++] = (struct fperf_table_column){.title = "residual", .right = true};
	fperf_paint__heading(paint, "Ledger", "where each thread's time in this frame went, in ms");
	table = fperf_table__new(columns, count);
	for (size_t i = 0; i < slow->ledger_count && i < LEDGER_ROWS; i++)
		ledger_row(table, slow, &slow->ledger[i]);
	fperf_table__render(table, paint, 2);
	fperf_table__free(table);
	if (slow->ledger_count > LEDGER_ROWS)
		fperf_paint__put(paint, FPERF_STYLE_DIM, "  and %zu more threads (--json has all)\n",
				 slow->ledger_count - LEDGER_ROWS);
}

void fperf_text__frame(const struct fperf_report *report, const struct fperf_paint *paint,
		       const struct fperf_slow_frame *slow)
{
	frame_heading(report, paint, slow);
	chain_drawing(report, paint, slow);
	ledger_table(paint, slow);
}
