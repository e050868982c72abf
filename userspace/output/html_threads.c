/* Threads over time for the report page: lanes of states, in steps over the whole recording and piece by
 * piece where it matters; where threads waited, and for whom. */
#include "output/html.h"

#include "base/vec.h"
#include "frameperf/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LANES_MAX      16     /* threads whose states are shown over the whole recording */
#define STEPS_MAX      8192   /* of one lane */
#define STEP_MIN_NS    250000 /* shorter steps show nothing that pieces do not */
#define SHARE_LEVELS   31 /* a share of a step is stored in these many levels, never 0 for what was there */
#define PIECES_MAX     160000 /* of all lanes: what a page of three megabytes has room for */
#define WINDOW_MARGIN  3      /* ordinary frames before and after a slow one, piece by piece */
#define DETAIL_THREADS 48     /* threads that are shown piece by piece */
#define QUEUE_BINS     112    /* four to an octave of ns */

/* One thread's way through the recording. */
struct lane {
	struct html_page *page;
	const struct fperf_timeline *timeline;
	uint32_t thread; /* of the page */
	size_t frame;	 /* first frame that ends after the piece at hand */
	size_t window;
	uint64_t step_ns;
	uint64_t *steps; /* [step][state]: ns */
	size_t step_count;
	/* the piece of a window that is being put together */
	uint64_t open_from_ns, open_to_ns;
	uint8_t open_state;
	uint32_t open_stack; /* of a wait; else 0 */
	uint64_t pieces;     /* in this window */
};

/* What all lanes write to; their columns are written one after the other in the end. */
struct lane_columns {
	struct fperf_buf steps, counts, durations, states, queue;
	uint64_t counts_n, durations_n;
};

/* ---- which lanes ---- */

struct lane_rank {
	const struct fperf_timeline *timeline;
	double score;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct lane_rank *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return (x->timeline->thread->id > y->timeline->thread->id) -
	       (x->timeline->thread->id < y->timeline->thread->id);
}

/* Who presents first, then those that frames waited for, then those that run. */
static void ranks_score(const struct html_page *page, struct lane_rank *ranks, size_t count)
{
	const struct fperf_analysis *analysis = page->analysis;
	double whole = (double)(page->end_ns - page->start_ns) + 1;

	for (size_t i = 0; i < count; i++) {
		const struct fperf_timeline *timeline = ranks[i].timeline;

		ranks[i].score = (double)fperf_timeline__cpu_ns(page->model, timeline) / whole;
		for (size_t k = 0; k < analysis->slow_count; k++)
			for (size_t c = 0; c < analysis->slow[k].chain_count; c++)
				if (analysis->slow[k].chain[c].thread.thread == timeline->thread->id)
					ranks[i].score += 100.0 *
							  (double)(analysis->slow[k].chain[c].to_ns -
								   analysis->slow[k].chain[c].from_ns) /
							  whole;
		if (analysis->frame_count &&
		    analysis->frames[analysis->frame_count / 2].thread == timeline->thread->id)
			ranks[i].score += 1e9;
	}
}

/* ---- which parts piece by piece ---- */

static int compare_windows(const void *a, const void *b)
{
	const struct html_window *x = a, *y = b;

	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

static int compare_frame_times(const void *a, const void *b)
{
	const struct fperf_frame *x = *(const struct fperf_frame *const *)a,
				 *y = *(const struct fperf_frame *const *)b;
	uint64_t s = x->end_ns - x->start_ns, t = y->end_ns - y->start_ns;

	if (s != t)
		return s > t ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static void windows_merge(struct html_page *page)
{
	size_t kept = 0;

	if (page->window_count)
		qsort(page->windows, page->window_count, sizeof(*page->windows), compare_windows);
	for (size_t i = 0; i < page->window_count; i++) {
		struct html_window *last = kept ? &page->windows[kept - 1] : NULL;

		if (last && page->windows[i].from_ns <= last->to_ns)
			last->to_ns =
				page->windows[i].to_ns > last->to_ns ? page->windows[i].to_ns : last->to_ns;
		else
			page->windows[kept++] = page->windows[i];
	}
	page->window_count = kept;
}

static int window_add(struct html_page *page, uint64_t from_ns, uint64_t to_ns)
{
	struct html_window *window =
		fperf_vec__push(&page->windows, &page->window_count, &page->window_capacity);

	if (!window)
		return -ENOMEM;
	window->from_ns = from_ns > page->start_ns ? from_ns : page->start_ns;
	window->to_ns = to_ns < page->end_ns ? to_ns : page->end_ns;
	page->window_count -= window->to_ns <= window->from_ns;
	return 0;
}

/* Everything when there is room, else slow frames and what is around them, worst first. An interval makes
 * about two pieces, and running between two intervals one or two. */
static int windows_choose(struct html_page *page, uint64_t intervals)
{
	const struct fperf_analysis *analysis = page->analysis;
	double per_ns = (double)intervals * 3.5 / ((double)(page->end_ns - page->start_ns) + 1), used = 0;
	const struct fperf_frame **worst;
	int failed = 0;

	if (intervals * 7 / 2 <= PIECES_MAX)
		return window_add(page, page->start_ns, page->end_ns);
	worst = calloc(analysis->slow_count + 1, sizeof(*worst));
	if (!worst)
		return -ENOMEM;
	for (size_t i = 0; i < analysis->slow_count; i++)
		worst[i] = &analysis->frames[analysis->slow[i].frame];
	qsort(worst, analysis->slow_count, sizeof(*worst), compare_frame_times);
	for (size_t i = 0; i < analysis->slow_count && !failed; i++) {
		uint64_t margin = WINDOW_MARGIN * analysis->summary.time.p50;

		used += per_ns * (double)(worst[i]->end_ns - worst[i]->start_ns + 2 * margin);
		if (used > PIECES_MAX)
			break;
		failed = window_add(page, worst[i]->start_ns > margin ? worst[i]->start_ns - margin : 0,
				    worst[i]->end_ns + margin);
	}
	free(worst);
	windows_merge(page);
	return failed;
}

/* ---- one piece ---- */

static void steps_add(struct lane *lane, uint64_t from_ns, uint64_t to_ns, uint8_t state)
{
	while (lane->steps && from_ns < to_ns) {
		uint64_t step = (from_ns - lane->page->start_ns) / lane->step_ns;
		uint64_t end = lane->page->start_ns + (step + 1) * lane->step_ns;
		uint64_t part = (end < to_ns ? end : to_ns) - from_ns;

		if (step >= lane->step_count)
			return;
		lane->steps[step * HTML_STATES + state] += part;
		from_ns += part;
	}
}

/* Adds to the frames that the piece overlaps; returns what lies in slow ones. */
static uint64_t frames_add(struct lane *lane, const struct fperf_piece *piece, uint8_t state)
{
	const struct fperf_analysis *analysis = lane->page->analysis;
	uint64_t slow_ns = 0;

	while (lane->frame < analysis->frame_count && analysis->frames[lane->frame].end_ns <= piece->from_ns)
		lane->frame++;
	for (size_t i = lane->frame; i < analysis->frame_count && analysis->frames[i].start_ns < piece->to_ns;
	     i++) {
		const struct fperf_frame *frame = &analysis->frames[i];
		uint64_t from = frame->start_ns > piece->from_ns ? frame->start_ns : piece->from_ns;
		uint64_t to = frame->end_ns < piece->to_ns ? frame->end_ns : piece->to_ns;

		if (to <= from)
			continue;
		lane->page->frame_states[i][state] += (float)(to - from);
		slow_ns += frame->slow ? to - from : 0;
	}
	return slow_ns;
}

static bool is_wait(uint8_t state)
{
	return state >= FPERF_STATE_RUNNABLE && state < FPERF_STATES;
}

static void wait_note(struct lane *lane)
{
	struct html_page *page = lane->page;
	uint32_t *stack;

	if (!is_wait(lane->open_state))
		return;
	stack = fperf_vec__push(&page->wait_stacks, &page->wait_count, &page->wait_capacity);
	if (stack)
		*stack = lane->open_stack;
	else
		page->build.failed = true;
}

static void piece_close(struct lane *lane, struct lane_columns *columns)
{
	uint64_t duration = (uint64_t)(html_page__us(lane->page, lane->open_to_ns) -
				       html_page__us(lane->page, lane->open_from_ns));

	if (lane->open_to_ns > lane->open_from_ns && duration) {
		fperf_buf__varint(&columns->durations, duration);
		fperf_buf__u8(&columns->states, lane->open_state);
		columns->durations_n++;
		lane->pieces++;
		wait_note(lane);
		lane->open_from_ns = lane->open_to_ns;
	}
}

/* A piece within the window at hand; whatever lies between it and the one before is ABSENT. Neighbours that
 * look the same are one. */
static void piece_put(struct lane *lane, struct lane_columns *columns, const struct html_window *part,
		      uint8_t state, uint32_t stack)
{
	if (part->from_ns > lane->open_to_ns) {
		piece_close(lane, columns);
		lane->open_state = HTML_STATE_ABSENT;
		lane->open_to_ns = part->from_ns;
	}
	stack = is_wait(state) ? stack : 0;
	if (state != lane->open_state || stack != lane->open_stack) {
		piece_close(lane, columns);
		lane->open_state = state;
		lane->open_stack = stack;
	}
	lane->open_to_ns = part->to_ns;
}

static void window_begin(struct lane *lane)
{
	lane->pieces = 0;
	lane->open_state = HTML_STATE_ABSENT;
	lane->open_stack = 0;
	if (lane->window < lane->page->window_count)
		lane->open_from_ns = lane->open_to_ns = lane->page->windows[lane->window].from_ns;
}

static void window_end(struct lane *lane, struct lane_columns *columns)
{
	piece_close(lane, columns);
	fperf_buf__varint(&columns->counts, lane->pieces);
	columns->counts_n++;
	lane->window++;
	window_begin(lane);
}

static void windows_add(struct lane *lane, struct lane_columns *columns, const struct fperf_piece *piece,
			uint8_t state)
{
	while (lane->window < lane->page->window_count) {
		const struct html_window *window = &lane->page->windows[lane->window];
		struct html_window part = {
			.from_ns = piece->from_ns > window->from_ns ? piece->from_ns : window->from_ns,
			.to_ns = piece->to_ns < window->to_ns ? piece->to_ns : window->to_ns,
		};

		if (part.to_ns > part.from_ns)
			piece_put(lane, columns, &part, state, piece->stack);
		if (window->to_ns > piece->to_ns)
			return;
		window_end(lane, columns);
	}
}

/* Waiting: where, how long, and whose doing. */
static void waits_add(struct lane *lane, const struct fperf_piece *piece, uint64_t slow_ns)
{
	struct html_stack_time time = {
		.thread = lane->thread,
		.stack = piece->stack,
		.state = piece->state,
		.ns = piece->to_ns - piece->from_ns,
		.slow_ns = slow_ns,
		.count = 1,
	};
	const struct fperf_rec_offcpu *record;
	uint32_t by;

	if (piece->interval == FPERF_NO_RECORD)
		return;
	html_page__add_stack_time(lane->page, &time);
	record = &lane->page->model->offcpu[lane->timeline->intervals[piece->interval].record];
	by = fperf_piece__by(lane->page->model, piece);
	if (piece->state != FPERF_STATE_PREEMPTED && piece->state != FPERF_STATE_RUNNABLE)
		by = record->flags & FPERF_OFFCPU_WAKER_IRQ ? 0 : record->waker;
	html_page__add_pair(lane->page, piece->state, lane->thread,
			    by ? html_page__thread_by_id(lane->page, by) + 1 : 0, time.ns);
}

/* ---- one lane ---- */

static void queue_fill(struct lane *lane, struct lane_columns *columns)
{
	const struct fperf_model *model = lane->page->model;
	uint64_t bins[QUEUE_BINS] = {0};

	for (size_t i = 0; i < lane->timeline->interval_count; i++) {
		const struct fperf_interval *interval = &lane->timeline->intervals[i];
		const struct fperf_rec_offcpu *record = &model->offcpu[interval->record];
		uint64_t ns = interval->in_ns - fperf_timeline__wake_ns(model, interval);
		unsigned int octave, bin;

		if (!record->wake_ns || interval->state == FPERF_STATE_PREEMPTED ||
		    record->flags & FPERF_OFFCPU_OPEN_END)
			continue;
		octave = ns < 4 ? 2 : 63 - (unsigned int)__builtin_clzll(ns);
		bin = ns < 4 ? 0 : octave * 4 + (unsigned int)(ns >> (octave - 2) & 3);
		bins[bin < QUEUE_BINS ? bin : QUEUE_BINS - 1]++;
	}
	for (size_t i = 0; i < QUEUE_BINS; i++)
		fperf_buf__varint(&columns->queue, bins[i]);
}

static void steps_fill(struct lane *lane, struct lane_columns *columns)
{
	for (size_t state = 0; state < HTML_STATES && lane->steps; state++) {
		for (size_t step = 0; step < lane->step_count; step++) {
			uint64_t ns = lane->steps[step * HTML_STATES + state];
			uint64_t level = (ns * SHARE_LEVELS + lane->step_ns / 2) / lane->step_ns;

			fperf_buf__u8(&columns->steps, (uint8_t)(ns && !level ? 1 : level));
		}
	}
}

static void share_set(struct html_page *page, size_t frame, size_t state, double ns)
{
	double whole =
		(double)(page->analysis->frames[frame].end_ns - page->analysis->frames[frame].start_ns);
	double share = whole > 0 ? 255 * ns / whole : 0;

	page->frame_shares[frame][state] = (uint8_t)(share > 0 && share < 1 ? 1
						     : share < 255	    ? share + 0.5
									    : 255);
}

/* What the thread did in each frame: drawn where it presented the frame, and the usual of slow frames. */
static void lane_frames(struct lane *lane)
{
	struct html_page *page = lane->page;
	const struct fperf_analysis *analysis = page->analysis;

	for (size_t i = 0; i < analysis->frame_count; i++)
		for (size_t state = 0;
		     state < HTML_STATES && analysis->frames[i].thread == lane->timeline->thread->id; state++)
			share_set(page, i, state, (double)page->frame_states[i][state]);
	for (size_t i = 0; i < analysis->slow_count; i++) {
		struct fperf_neighbours near =
			fperf_baseline__around(analysis->baseline, analysis->slow[i].frame);
		float *usual = &page->usual[(i * page->target_threads + lane->thread) * HTML_STATES];

		for (size_t k = 0; k < near.count; k++)
			for (size_t state = 0; state < HTML_STATES; state++)
				usual[state] +=
					page->frame_states[analysis->baseline->ordinary[near.first + k]]
							  [state] /
					(float)near.count;
	}
}

static void lane_walk(struct lane *lane, struct lane_columns *columns, bool detail)
{
	struct fperf_piece piece;
	struct fperf_walk walk;

	window_begin(lane);
	fperf_walk__start(&walk, lane->page->model, lane->timeline, lane->page->start_ns, lane->page->end_ns);
	while (fperf_walk__next(&walk, &piece)) {
		uint8_t state = piece.state < FPERF_STATES ? piece.state : HTML_STATE_UNKNOWN;
		uint64_t slow_ns = frames_add(lane, &piece, state);

		steps_add(lane, piece.from_ns, piece.to_ns, state);
		if (detail)
			windows_add(lane, columns, &piece, state);
		waits_add(lane, &piece, slow_ns);
	}
	while (detail && lane->window < lane->page->window_count)
		window_end(lane, columns);
}

static int lane_fill(struct html_page *page, const struct fperf_timeline *timeline, size_t rank,
		     uint64_t step_ns, struct lane_columns *columns)
{
	struct lane lane = {
		.page = page,
		.timeline = timeline,
		.thread = html_page__thread_by_id(page, timeline->thread->id),
		.step_ns = step_ns,
		.step_count = (size_t)((page->end_ns - page->start_ns + step_ns - 1) / step_ns),
	};

	if (lane.thread >= page->target_threads)
		return -ENOMEM;
	if (rank < LANES_MAX) {
		lane.steps = calloc((lane.step_count + 1) * HTML_STATES, sizeof(*lane.steps));
		if (!lane.steps)
			return -ENOMEM;
	}
	memset(page->frame_states, 0, page->analysis->frame_count * sizeof(*page->frame_states));
	lane_walk(&lane, columns, rank < DETAIL_THREADS);
	lane_frames(&lane);
	steps_fill(&lane, columns);
	queue_fill(&lane, columns);
	free(lane.steps);
	return 0;
}

/* ---- without events ---- */

/* First ledger of a frame; they are sorted by frame. */
static size_t ledger_find(const struct fperf_analysis *analysis, uint32_t frame)
{
	size_t low = 0, high = analysis->ledger_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (analysis->ledgers[middle].frame < frame)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void usual_add(struct html_page *page, size_t slow, uint32_t frame, float part)
{
	const struct fperf_analysis *analysis = page->analysis;

	for (size_t i = ledger_find(analysis, frame);
	     i < analysis->ledger_count && analysis->ledgers[i].frame == frame; i++) {
		const struct fperf_ledger *ledger = &analysis->ledgers[i].ledger;
		uint32_t thread = html_page__thread(page, &ledger->thread);
		float *usual = &page->usual[(slow * page->target_threads + thread) * HTML_STATES];

		for (size_t state = 0; state < FPERF_STATES && thread < page->target_threads; state++)
			usual[state] += (float)ledger->state_ns[state] * part;
	}
}

/* Sessions of level 1 keep ledgers of all frames, and nothing shorter. */
static void ledgers_read(struct html_page *page)
{
	const struct fperf_analysis *analysis = page->analysis;

	for (size_t i = 0; i < analysis->ledger_count; i++) {
		const struct fperf_ledger *ledger = &analysis->ledgers[i].ledger;
		uint32_t frame = analysis->ledgers[i].frame;

		for (size_t state = 0;
		     state < FPERF_STATES && analysis->frames[frame].thread == ledger->thread.thread; state++)
			share_set(page, frame, state, (double)ledger->state_ns[state]);
	}
	for (size_t i = 0; i < analysis->slow_count; i++) {
		struct fperf_neighbours near =
			fperf_baseline__around(analysis->baseline, analysis->slow[i].frame);

		for (size_t k = 0; k < near.count; k++)
			usual_add(page, i, analysis->baseline->ordinary[near.first + k],
				  1.0f / (float)near.count);
	}
}

/* ---- all lanes ---- */

static void column_from(struct fperf_html_block *block, const char *name, enum fperf_html_coding coding,
			const struct fperf_buf *bytes, uint64_t count)
{
	fperf_html_block__column(block, name, coding);
	fperf_buf__append(&block->bytes, bytes->data, bytes->size);
	block->count = count;
}

static void lanes_write(struct html_page *page, const struct lane_rank *ranks, size_t count, uint64_t step_ns,
			struct lane_columns *columns)
{
	struct fperf_html_block *block = &page->lanes;

	json_build__set(&page->build, block->head, "step_ns", json_build__u64(&page->build, step_ns));
	json_build__set(&page->build, block->head, "levels", json_build__u64(&page->build, SHARE_LEVELS));
	json_build__set(&page->build, block->head, "lanes_max", json_build__u64(&page->build, LANES_MAX));
	json_build__set(&page->build, block->head, "detail_max",
			json_build__u64(&page->build, DETAIL_THREADS));
	json_build__set(&page->build, block->head, "queue_bins", json_build__u64(&page->build, QUEUE_BINS));
	fperf_html_block__column(block, "thread", FPERF_HTML_PLAIN);
	for (size_t i = 0; i < count; i++)
		fperf_html_block__put(block, html_page__thread_by_id(page, ranks[i].timeline->thread->id));
	fperf_html_block__column(block, "window_from", FPERF_HTML_DELTA);
	for (size_t i = 0; i < page->window_count; i++)
		fperf_html_block__put(block, html_page__us(page, page->windows[i].from_ns));
	fperf_html_block__column(block, "window_to", FPERF_HTML_DELTA);
	for (size_t i = 0; i < page->window_count; i++)
		fperf_html_block__put(block, html_page__us(page, page->windows[i].to_ns));
	column_from(block, "steps", FPERF_HTML_BYTES, &columns->steps, columns->steps.size);
	column_from(block, "piece_count", FPERF_HTML_PLAIN, &columns->counts, columns->counts_n);
	column_from(block, "piece_us", FPERF_HTML_PLAIN, &columns->durations, columns->durations_n);
	column_from(block, "piece_state", FPERF_HTML_BYTES, &columns->states, columns->states.size);
	column_from(block, "queue", FPERF_HTML_PLAIN, &columns->queue, count * QUEUE_BINS);
	page->build.failed |= columns->steps.failed || columns->counts.failed || columns->durations.failed ||
			      columns->states.failed || columns->queue.failed;
}

static void pairs_write(struct html_page *page)
{
	struct fperf_html_block *block = &page->lanes;

	fperf_html_block__column(block, "pair_state", FPERF_HTML_BYTES);
	for (size_t i = 0; i < page->pair_count; i++)
		fperf_html_block__put(block, page->pairs[i].state);
	fperf_html_block__column(block, "pair_thread", FPERF_HTML_PLAIN);
	for (size_t i = 0; i < page->pair_count; i++)
		fperf_html_block__put(block, page->pairs[i].thread);
	fperf_html_block__column(block, "pair_by", FPERF_HTML_PLAIN);
	for (size_t i = 0; i < page->pair_count; i++)
		fperf_html_block__put(block, page->pairs[i].by);
	fperf_html_block__column(block, "pair_count", FPERF_HTML_PLAIN);
	for (size_t i = 0; i < page->pair_count; i++)
		fperf_html_block__put(block, (int64_t)page->pairs[i].count);
	fperf_html_block__column(block, "pair_ns", FPERF_HTML_PLAIN);
	for (size_t i = 0; i < page->pair_count; i++)
		fperf_html_block__put(block, (int64_t)page->pairs[i].ns);
}

static int lanes_rank(struct html_page *page, struct lane_rank **ranks, size_t *count, uint64_t *intervals)
{
	size_t capacity = 0;

	for (size_t i = 0; i < page->model->timeline_count; i++) {
		const struct fperf_timeline *timeline = &page->model->timelines[i];
		struct lane_rank *rank;

		if (!timeline->target)
			continue;
		rank = fperf_vec__push(ranks, count, &capacity);
		if (!rank)
			return -ENOMEM;
		rank->timeline = timeline;
		*intervals += timeline->interval_count;
	}
	ranks_score(page, *ranks, *count);
	if (*count)
		qsort(*ranks, *count, sizeof(**ranks), compare_ranks);
	return 0;
}

int html_threads__fill(struct html_page *page)
{
	uint64_t step_ns = (page->end_ns - page->start_ns) / STEPS_MAX + 1, intervals = 0;
	struct lane_columns columns = {0};
	struct fperf_buf *const buffers[] = {&columns.steps, &columns.counts, &columns.durations,
					     &columns.states, &columns.queue};
	struct lane_rank *ranks = NULL;
	size_t count = 0;
	int failed = 0;

	for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
		fperf_buf__init(buffers[i], 1u << 30);
	if (step_ns < STEP_MIN_NS)
		step_ns = STEP_MIN_NS;
	if (page->analysis->holds.events)
		failed = lanes_rank(page, &ranks, &count, &intervals);
	else
		ledgers_read(page);
	if (!failed)
		failed = windows_choose(page, intervals);
	for (size_t i = 0; i < count && !failed; i++)
		failed = lane_fill(page, ranks[i].timeline, i, step_ns, &columns);
	if (!failed) {
		lanes_write(page, ranks, count, step_ns, &columns);
		pairs_write(page);
	}
	for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
		fperf_buf__free(buffers[i]);
	free(ranks);
	return failed;
}
