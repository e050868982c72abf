#include "analyze/baseline.h"

#include <errno.h>
#include <stdlib.h>

/* Ordinary frames that a slow one is compared with. */
#define NEIGHBOURS 24

/* Frames looked at to find out what paces the game. */
#define LIMITER_FRAMES 1000

int fperf_baseline__init(struct fperf_baseline *baseline, struct fperf_model *model,
			 const struct fperf_analysis *analysis, struct fperf_error *err)
{
	*baseline = (struct fperf_baseline){.model = model, .analysis = analysis};
	baseline->ordinary = malloc((analysis->frame_count + 1) * sizeof(*baseline->ordinary));
	if (!baseline->ordinary)
		return fperf_error__no_memory(err, "the ordinary frames");
	for (size_t i = 0; i < analysis->frame_count; i++)
		if (!analysis->frames[i].slow)
			baseline->ordinary[baseline->count++] = (uint32_t)i;
	return 0;
}

void fperf_baseline__free(struct fperf_baseline *baseline)
{
	for (size_t i = 0; i < FPERF_BASELINE_SLOTS; i++)
		fperf_tally__free(&baseline->slots[i].chain);
	free(baseline->scratch.items);
	free(baseline->ordinary);
	*baseline = (struct fperf_baseline){0};
}

const struct fperf_frame *fperf_baseline__frame(const struct fperf_baseline *baseline, size_t number)
{
	return &baseline->analysis->frames[baseline->ordinary[number]];
}

struct fperf_neighbours fperf_baseline__around(const struct fperf_baseline *baseline, uint32_t frame)
{
	struct fperf_neighbours neighbours = {0};
	size_t low = 0, high = baseline->count;
	double sum = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (baseline->ordinary[middle] < frame)
			low = middle + 1;
		else
			high = middle;
	}
	neighbours.first = low > NEIGHBOURS / 2 ? low - NEIGHBOURS / 2 : 0;
	if (neighbours.first + NEIGHBOURS > baseline->count)
		neighbours.first = baseline->count > NEIGHBOURS ? baseline->count - NEIGHBOURS : 0;
	neighbours.count = baseline->count - neighbours.first;
	if (neighbours.count > NEIGHBOURS)
		neighbours.count = NEIGHBOURS;
	for (size_t i = 0; i < neighbours.count; i++) {
		const struct fperf_frame *ordinary = fperf_baseline__frame(baseline, neighbours.first + i);

		sum += (double)(ordinary->end_ns - ordinary->start_ns);
	}
	neighbours.mean_time_ns = neighbours.count ? sum / (double)neighbours.count : 0;
	return neighbours;
}

static int chain_of(struct fperf_baseline *baseline, size_t number, const struct fperf_tally **chain)
{
	size_t slot = number % FPERF_BASELINE_SLOTS;

	*chain = &baseline->slots[slot].chain;
	if (baseline->slots[slot].number == number + 1)
		return 0;
	baseline->slots[slot].number = 0;
	fperf_tally__clear(&baseline->slots[slot].chain);
	if (fperf_chain__build(baseline->model, fperf_baseline__frame(baseline, number),
			       &baseline->scratch) ||
	    fperf_tally__add_pieces(&baseline->slots[slot].chain, baseline->model, &baseline->scratch, 1))
		return -ENOMEM;
	baseline->slots[slot].number = number + 1;
	return 0;
}

int fperf_baseline__chains(struct fperf_baseline *baseline, const struct fperf_neighbours *neighbours,
			   struct fperf_tally *mean)
{
	for (size_t i = 0; i < neighbours->count; i++) {
		const struct fperf_tally *chain;

		if (chain_of(baseline, neighbours->first + i, &chain) ||
		    fperf_tally__add_tally(mean, chain, 1.0 / (double)neighbours->count))
			return -ENOMEM;
	}
	fperf_tally__sum_up(mean);
	return 0;
}

/* ---- what paces the game ---- */

/* A wait that no thread of the target ends: a sleep, the display, a timer, another program's answer. */
static bool may_pace(const struct fperf_model *model, const struct fperf_piece *piece)
{
	const struct fperf_timeline *by;

	if (piece->state == FPERF_STATE_SLEEP || piece->state == FPERF_STATE_GPU)
		return true;
	if (piece->state != FPERF_STATE_EVENT)
		return false;
	by = fperf_model__timeline(model, fperf_piece__by(model, piece));
	return !by || !by->target;
}

static int tally_push(struct fperf_tally *tally, uint64_t key, double amount)
{
	struct fperf_tally_entry entry = {.key = key, .ns = amount};
	struct fperf_tally one = {.items = &entry, .count = 1};

	return fperf_tally__add_tally(tally, &one, 1);
}

/* Keys of the pacing waits of one frame, each once, added to `limiters` with an amount of 1. */
static int limiters_of_frame(struct fperf_model *model, const struct fperf_frame *frame,
			     struct fperf_pieces *chain, struct fperf_tally *limiters)
{
	struct fperf_tally keys = {0};
	int failed = fperf_chain__build(model, frame, chain);

	for (size_t i = 0; i < chain->count && !failed; i++)
		if (may_pace(model, &chain->items[i]))
			failed = tally_push(&keys, fperf_piece__key(model, &chain->items[i]), 0);
	fperf_tally__sum_up(&keys);
	for (size_t i = 0; i < keys.count && !failed; i++)
		failed = tally_push(limiters, keys.items[i].key, 1);
	fperf_tally__free(&keys);
	return failed;
}

/* Keys of the waits that at least half of the frames looked at show. */
static int limiters_find(struct fperf_model *model, const struct fperf_analysis *analysis,
			 struct fperf_pieces *chain, struct fperf_tally *limiters)
{
	size_t step = analysis->frame_count / LIMITER_FRAMES + 1, looked_at = 0, kept = 0;

	for (size_t i = 0; i < analysis->frame_count; i += step) {
		if (analysis->frames[i].slow)
			continue;
		looked_at++;
		if (limiters_of_frame(model, &analysis->frames[i], chain, limiters))
			return -ENOMEM;
	}
	fperf_tally__sum_up(limiters);
	for (size_t i = 0; i < limiters->count; i++)
		if (limiters->items[i].ns * 2 >= (double)looked_at)
			limiters->items[kept++] = limiters->items[i];
	limiters->count = kept;
	return 0;
}

static uint64_t limited_ns(const struct fperf_model *model, const struct fperf_pieces *chain,
			   const struct fperf_tally *limiters)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < chain->count; i++) {
		const struct fperf_piece *piece = &chain->items[i];

		if (may_pace(model, piece) && fperf_tally__get(limiters, fperf_piece__key(model, piece)) > 0)
			sum += piece->to_ns - piece->from_ns;
	}
	return sum;
}

int fperf_baseline__active_times(struct fperf_model *model, struct fperf_analysis *analysis,
				 struct fperf_error *err)
{
	struct fperf_tally limiters = {0};
	struct fperf_pieces chain = {0};
	int failed = limiters_find(model, analysis, &chain, &limiters);

	for (size_t i = 0; i < analysis->frame_count && limiters.count && !failed; i++) {
		struct fperf_frame *frame = &analysis->frames[i];

		failed = fperf_chain__build(model, frame, &chain);
		if (!failed)
			frame->active_ns =
				frame->end_ns - frame->start_ns - limited_ns(model, &chain, &limiters);
	}
	free(chain.items);
	fperf_tally__free(&limiters);
	return failed ? fperf_error__no_memory(err, "the chains of the frames") : 0;
}
