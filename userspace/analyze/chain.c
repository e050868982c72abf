#include "analyze/chain.h"

#include "base/vec.h"
#include "frameperf/wire.h"

#include <errno.h>
#include <stdlib.h>

/* Wait for a wait for a wait …: deeper chains stay with the thread they have reached. */
#define DEPTH_LIMIT 24

/* Links of one chain that are handed out; beyond it, short ones join their neighbours. */
#define LINK_LIMIT 4000

static int pieces_push(struct fperf_pieces *pieces, const struct fperf_piece *piece)
{
	struct fperf_piece *slot;

	if (piece->to_ns <= piece->from_ns)
		return 0;
	slot = fperf_vec__push(&pieces->items, &pieces->count, &pieces->capacity);
	if (!slot)
		return -ENOMEM;
	*slot = *piece;
	return 0;
}

int fperf_pieces__of_thread(struct fperf_model *model, const struct fperf_timeline *timeline,
			    uint64_t from_ns, uint64_t to_ns, struct fperf_pieces *pieces)
{
	struct fperf_piece piece;
	struct fperf_walk walk;

	fperf_walk__start(&walk, model, timeline, from_ns, to_ns);
	while (fperf_walk__next(&walk, &piece))
		if (pieces_push(pieces, &piece))
			return -ENOMEM;
	return 0;
}

/* ---- building ---- */

/* Whom to follow from a wait: another thread of the presenting process that did the waking, of which
 * something is known. NULL: the wait stays where it is. */
static const struct fperf_timeline *waker_to_follow(struct fperf_model *model,
						    const struct fperf_piece *piece, uint32_t pid)
{
	const struct fperf_timeline *waker;

	if (piece->state != FPERF_STATE_EVENT)
		return NULL;
	waker = fperf_model__timeline(model, fperf_piece__by(model, piece));
	if (!waker || waker == piece->timeline || !waker->target || waker->pid != pid)
		return NULL;
	return waker->interval_count || waker->sample_count ? waker : NULL;
}

/* A part of a wait in which nothing is known of the thread that was waited for. */
static int wait_push(struct fperf_pieces *chain, const struct fperf_piece *wait, uint64_t from_ns,
		     uint64_t to_ns)
{
	struct fperf_piece part = *wait;

	part.from_ns = from_ns;
	part.to_ns = to_ns;
	return pieces_push(chain, &part);
}

/* Appends the chain of [wait->from, wait->to) as seen by `timeline`; where that thread did not exist or
 * nothing is known, `wait` itself stands. Its pieces lie inside the wait, so recursion only ever narrows. */
static int chain_follow(struct fperf_model *model, const struct fperf_timeline *timeline,
			const struct fperf_piece *wait, uint32_t pid, unsigned int depth,
			struct fperf_pieces *chain)
{
	uint64_t filled_to = wait->from_ns;
	struct fperf_piece piece;
	struct fperf_walk walk;
	int failed = 0;

	fperf_walk__start(&walk, model, timeline, wait->from_ns, wait->to_ns);
	while (!failed && fperf_walk__next(&walk, &piece)) {
		const struct fperf_timeline *waker = waker_to_follow(model, &piece, pid);

		failed = wait_push(chain, wait, filled_to, piece.from_ns);
		filled_to = piece.to_ns;
		if (failed)
			break;
		if (piece.state == FPERF_STATE_UNKNOWN)
			failed = wait_push(chain, wait, piece.from_ns, piece.to_ns);
		else if (waker && depth < DEPTH_LIMIT)
			failed = chain_follow(model, waker, &piece, pid, depth + 1, chain);
		else
			failed = pieces_push(chain, &piece);
	}
	return failed ? failed : wait_push(chain, wait, filled_to, wait->to_ns);
}

int fperf_chain__build(struct fperf_model *model, const struct fperf_frame *frame, struct fperf_pieces *chain)
{
	const struct fperf_timeline *timeline = fperf_model__timeline(model, frame->thread);
	struct fperf_piece whole = {
		.from_ns = frame->start_ns,
		.to_ns = frame->end_ns,
		.timeline = timeline,
		.interval = FPERF_NO_RECORD,
		.state = FPERF_STATE_UNKNOWN,
	};

	chain->count = 0;
	if (!timeline)
		return 0;
	return chain_follow(model, timeline, &whole, timeline->pid, 0, chain);
}

/* ---- links ---- */

static struct fperf_place place_of(const struct fperf_symbol *symbol)
{
	return symbol ? (struct fperf_place){symbol->function, symbol->module} : (struct fperf_place){0};
}

static enum fperf_state link_state(const struct fperf_piece *piece)
{
	return piece->state < FPERF_STATES ? (enum fperf_state)piece->state : FPERF_STATE_OTHER;
}

static bool link_continues(const struct fperf_chain_link *link, const struct fperf_piece *piece,
			   const struct fperf_model *model, bool coarse)
{
	struct fperf_place place = place_of(model->stacks[piece->stack].place);

	if (link->thread.thread != piece->timeline->thread->id)
		return false;
	if (coarse)
		return true;
	return link->state == link_state(piece) && link->place.function == place.function &&
	       link->by.thread == fperf_piece__by(model, piece);
}

int fperf_chain__links(const struct fperf_model *model, const struct fperf_pieces *chain,
		       struct fperf_chain_link **links, size_t *count)
{
	size_t capacity = 0;

	*links = NULL;
	*count = 0;
	for (size_t i = 0; i < chain->count; i++) {
		const struct fperf_piece *piece = &chain->items[i];
		struct fperf_chain_link *link = *count ? &(*links)[*count - 1] : NULL;

		if (link && link_continues(link, piece, model, *count >= LINK_LIMIT)) {
			link->to_ns = piece->to_ns;
			continue;
		}
		link = fperf_vec__push(links, count, &capacity);
		if (!link) {
			free(*links);
			*links = NULL;
			*count = 0;
			return -ENOMEM;
		}
		link->thread = fperf_model__thread_ref(model, piece->timeline->thread->id, piece->to_ns);
		link->from_ns = piece->from_ns;
		link->to_ns = piece->to_ns;
		link->state = link_state(piece);
		link->place = place_of(model->stacks[piece->stack].place);
		link->by = fperf_model__thread_ref(model, fperf_piece__by(model, piece), piece->to_ns);
	}
	return 0;
}

/* ---- tallies ---- */

#define GROUP_BITS 24

uint64_t fperf_tally__key(enum fperf_cause cause, uint32_t group, uint32_t place)
{
	return (uint64_t)cause << 56 | (uint64_t)(group & ((1u << GROUP_BITS) - 1)) << 32 | place;
}

enum fperf_cause fperf_tally__cause(uint64_t key)
{
	return (enum fperf_cause)(key >> 56);
}

uint32_t fperf_tally__group(uint64_t key)
{
	return (uint32_t)(key >> 32) & ((1u << GROUP_BITS) - 1);
}

uint32_t fperf_tally__place(uint64_t key)
{
	return (uint32_t)key;
}

uint64_t fperf_piece__key(const struct fperf_model *model, const struct fperf_piece *piece)
{
	const struct fperf_symbol *place = model->stacks[piece->stack].place;
	enum fperf_cause cause = fperf_piece__cause(model, piece);
	bool placed = place && cause != FPERF_CAUSE_CPU && cause != FPERF_CAUSE_RUN_QUEUE &&
		      cause != FPERF_CAUSE_PREEMPTED && cause != FPERF_CAUSE_UNKNOWN;

	return fperf_tally__key(cause, piece->timeline->group, placed ? place->function_id : 0);
}

static int entry_push(struct fperf_tally *tally, uint64_t key, double ns)
{
	struct fperf_tally_entry *entry = fperf_vec__push(&tally->items, &tally->count, &tally->capacity);

	if (!entry)
		return -ENOMEM;
	*entry = (struct fperf_tally_entry){.key = key, .ns = ns};
	return 0;
}

int fperf_tally__add_pieces(struct fperf_tally *tally, const struct fperf_model *model,
			    const struct fperf_pieces *pieces, double factor)
{
	for (size_t i = 0; i < pieces->count; i++) {
		const struct fperf_piece *piece = &pieces->items[i];
		double ns = (double)(piece->to_ns - piece->from_ns) * factor;

		if (entry_push(tally, fperf_piece__key(model, piece), ns))
			return -ENOMEM;
	}
	fperf_tally__sum_up(tally);
	return 0;
}

int fperf_tally__add_tally(struct fperf_tally *tally, const struct fperf_tally *other, double factor)
{
	for (size_t i = 0; i < other->count; i++)
		if (entry_push(tally, other->items[i].key, other->items[i].ns * factor))
			return -ENOMEM;
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t x = ((const struct fperf_tally_entry *)a)->key,
		 y = ((const struct fperf_tally_entry *)b)->key;

	return (x > y) - (x < y);
}

void fperf_tally__sum_up(struct fperf_tally *tally)
{
	size_t kept = 0;

	if (tally->count)
		qsort(tally->items, tally->count, sizeof(*tally->items), compare_keys);
	for (size_t i = 0; i < tally->count; i++) {
		if (kept && tally->items[kept - 1].key == tally->items[i].key)
			tally->items[kept - 1].ns += tally->items[i].ns;
		else
			tally->items[kept++] = tally->items[i];
	}
	tally->count = kept;
}

double fperf_tally__get(const struct fperf_tally *tally, uint64_t key)
{
	const struct fperf_tally_entry wanted = {.key = key}, *found;

	if (!tally->count)
		return 0;
	found = bsearch(&wanted, tally->items, tally->count, sizeof(*tally->items), compare_keys);
	return found ? found->ns : 0;
}

void fperf_tally__clear(struct fperf_tally *tally)
{
	tally->count = 0;
}

void fperf_tally__free(struct fperf_tally *tally)
{
	free(tally->items);
	*tally = (struct fperf_tally){0};
}
