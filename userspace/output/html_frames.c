/* Frames of the report page: all of them in columns, and the details of slow ones. */
#include "output/html.h"

#include <errno.h>

static void frames_column(struct html_page *page, int column)
{
	const struct fperf_analysis *analysis = page->analysis;
	int64_t end_before = 0;

	for (size_t i = 0; i < analysis->frame_count; i++) {
		const struct fperf_frame *frame = &analysis->frames[i];
		int64_t start = html_page__us(page, frame->start_ns),
			end = html_page__us(page, frame->end_ns);
		uint64_t time = frame->end_ns - frame->start_ns;

		if (column == 0)
			fperf_html_block__put(&page->core, start - end_before);
		else if (column == 1)
			fperf_html_block__put(&page->core, end - start);
		else if (column == 2)
			fperf_html_block__put(
				&page->core,
				frame->active_ns < time ? (int64_t)((time - frame->active_ns) / 1000) : 0);
		else if (column == 3)
			fperf_html_block__put(&page->core, frame->slow);
		else
			fperf_html_block__put(&page->core, html_page__thread_by_id(page, frame->thread));
		end_before = end;
	}
}

static void all_frames(struct html_page *page)
{
	static const char *const shares[HTML_STATES] = {
		"frame_s0", "frame_s1", "frame_s2", "frame_s3",	 "frame_s4",  "frame_s5", "frame_s6",
		"frame_s7", "frame_s8", "frame_s9", "frame_s10", "frame_s11", "frame_s12"};
	static const struct {
		const char *name;
		enum fperf_html_coding coding;
	} columns[] = {{"frame_gap_us", FPERF_HTML_DELTA},
		       {"frame_us", FPERF_HTML_PLAIN},
		       {"frame_rest_us", FPERF_HTML_PLAIN},
		       {"frame_slow", FPERF_HTML_BYTES},
		       {"frame_thread", FPERF_HTML_DELTA}};
	size_t count = page->analysis->frame_count;

	for (int column = 0; column < 5; column++) {
		fperf_html_block__column(&page->core, columns[column].name, columns[column].coding);
		frames_column(page, column);
	}
	for (size_t state = 0; state < HTML_STATES; state++) {
		bool any = false;

		for (size_t i = 0; i < count && !any; i++)
			any = page->frame_shares[i][state] != 0;
		if (!any)
			continue;
		fperf_html_block__column(&page->core, shares[state], FPERF_HTML_BYTES);
		for (size_t i = 0; i < count; i++)
			fperf_html_block__put(&page->core, page->frame_shares[i][state]);
	}
}

/* Times of which the recording keeps nothing. */
static void gaps(struct html_page *page)
{
	const struct fperf_rec_gap *records;
	size_t count;

	records = fperf_session__records(page->report->session, FPERF_RECORD_GAP, &count);
	fperf_html_block__column(&page->core, "gap_from", FPERF_HTML_DELTA);
	for (size_t i = 0; i < count; i++)
		fperf_html_block__put(&page->core, html_page__us(page, records[i].from_ns));
	fperf_html_block__column(&page->core, "gap_to", FPERF_HTML_DELTA);
	for (size_t i = 0; i < count; i++)
		fperf_html_block__put(&page->core, html_page__us(page, records[i].to_ns));
}

/* ---- details ---- */

static void chain_column(struct html_page *page, const struct fperf_slow_frame *slow, int column)
{
	for (size_t i = 0; i < slow->chain_count; i++) {
		const struct fperf_chain_link *link = &slow->chain[i];
		int64_t values[] = {
			(int64_t)(link->to_ns - link->from_ns),
			link->state,
			column == 2 ? html_page__thread(page, &link->thread) : 0,
			column == 3 ? html_page__place(page, &link->place) : 0,
			column == 4 && link->by.thread ? (int64_t)html_page__thread(page, &link->by) + 1 : 0,
		};

		fperf_html_block__put(&page->frames, values[column]);
	}
}

static void ledger_columns(struct html_page *page, size_t state)
{
	const struct fperf_analysis *analysis = page->analysis;

	for (size_t i = 0; i < analysis->slow_count; i++) {
		for (size_t k = 0; k < analysis->slow[i].ledger_count; k++)
			fperf_html_block__put(&page->frames,
					      (int64_t)analysis->slow[i].ledger[k].state_ns[state]);
	}
}

static void usual_columns(struct html_page *page, size_t state)
{
	const struct fperf_analysis *analysis = page->analysis;

	for (size_t i = 0; i < analysis->slow_count; i++) {
		for (size_t k = 0; k < analysis->slow[i].ledger_count; k++) {
			uint32_t thread = html_page__thread(page, &analysis->slow[i].ledger[k].thread);
			size_t row = i * page->target_threads + thread;

			fperf_html_block__put(&page->frames,
					      thread < page->target_threads
						      ? (int64_t)page->usual[row * HTML_STATES + state]
						      : 0);
		}
	}
}

static void ledgers(struct html_page *page)
{
	static const char *const spent[FPERF_STATES] = {"l0", "l1", "l2", "l3", "l4", "l5",
							"l6", "l7", "l8", "l9", "l10"};
	static const char *const usual[FPERF_STATES] = {"u0", "u1", "u2", "u3", "u4", "u5",
							"u6", "u7", "u8", "u9", "u10"};
	const struct fperf_analysis *analysis = page->analysis;
	struct fperf_html_block *block = &page->frames;

	fperf_html_block__column(block, "ledger_thread", FPERF_HTML_PLAIN);
	for (size_t i = 0; i < analysis->slow_count; i++)
		for (size_t k = 0; k < analysis->slow[i].ledger_count; k++)
			fperf_html_block__put(block,
					      html_page__thread(page, &analysis->slow[i].ledger[k].thread));
	fperf_html_block__column(block, "ledger_residual", FPERF_HTML_DELTA);
	for (size_t i = 0; i < analysis->slow_count; i++)
		for (size_t k = 0; k < analysis->slow[i].ledger_count; k++)
			fperf_html_block__put(block, analysis->slow[i].ledger[k].residual_ns);
	for (size_t state = 0; state < FPERF_STATES; state++) {
		fperf_html_block__column(block, spent[state], FPERF_HTML_PLAIN);
		ledger_columns(page, state);
	}
	for (size_t state = 0; state < FPERF_STATES; state++) {
		fperf_html_block__column(block, usual[state], FPERF_HTML_PLAIN);
		usual_columns(page, state);
	}
}

int html_frames__fill(struct html_page *page)
{
	static const char *const chain[] = {"chain_ns", "chain_state", "chain_thread", "chain_place",
					    "chain_by"};
	const struct fperf_analysis *analysis = page->analysis;
	struct fperf_html_block *block = &page->frames;

	all_frames(page);
	gaps(page);
	fperf_html_block__column(block, "frame", FPERF_HTML_DELTA);
	for (size_t i = 0; i < analysis->slow_count; i++)
		fperf_html_block__put(block, analysis->slow[i].frame);
	fperf_html_block__column(block, "chain_count", FPERF_HTML_PLAIN);
	for (size_t i = 0; i < analysis->slow_count; i++)
		fperf_html_block__put(block, (int64_t)analysis->slow[i].chain_count);
	fperf_html_block__column(block, "ledger_count", FPERF_HTML_PLAIN);
	for (size_t i = 0; i < analysis->slow_count; i++)
		fperf_html_block__put(block, (int64_t)analysis->slow[i].ledger_count);
	for (int column = 0; column < 5; column++) {
		fperf_html_block__column(block, chain[column], FPERF_HTML_PLAIN);
		for (size_t i = 0; i < analysis->slow_count; i++)
			chain_column(page, &analysis->slow[i], column);
	}
	ledgers(page);
	return page->build.failed ? -ENOMEM : 0;
}
