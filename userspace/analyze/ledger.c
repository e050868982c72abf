#include "analyze/ledger.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

static bool on_chain(const struct fperf_chain_link *chain, size_t count, uint32_t thread)
{
	for (size_t i = 0; i < count; i++)
		if (chain[i].thread.thread == thread)
			return true;
	return false;
}

/* Sums up one thread; returns the number of pieces. */
static size_t ledger_fill(struct fperf_model *model, const struct fperf_timeline *timeline,
			  const struct fperf_frame *frame, struct fperf_ledger *ledger)
{
	struct fperf_piece piece;
	struct fperf_walk walk;
	uint64_t wall, known = 0;
	size_t pieces = 0;

	fperf_walk__start(&walk, model, timeline, frame->start_ns, frame->end_ns);
	wall = walk.end_ns > walk.pos_ns ? walk.end_ns - walk.pos_ns : 0;
	while (fperf_walk__next(&walk, &piece)) {
		pieces++;
		if (piece.state == FPERF_STATE_UNKNOWN)
			continue;
		ledger->state_ns[piece.state] += piece.to_ns - piece.from_ns;
		known += piece.to_ns - piece.from_ns;
	}
	ledger->residual_ns = (int64_t)(wall - known);
	ledger->thread = fperf_model__thread_ref(model, timeline->thread->id, frame->end_ns);
	return pieces;
}

static uint64_t ran_ns(const struct fperf_ledger *ledger)
{
	return ledger->state_ns[FPERF_STATE_USER] + ledger->state_ns[FPERF_STATE_KERNEL];
}

static int compare_running(const void *a, const void *b)
{
	const struct fperf_ledger *x = a, *y = b;

	if (ran_ns(x) != ran_ns(y))
		return ran_ns(x) > ran_ns(y) ? -1 : 1;
	return (x->thread.thread > y->thread.thread) - (x->thread.thread < y->thread.thread);
}

int fperf_ledger__build(struct fperf_model *model, const struct fperf_frame *frame,
			const struct fperf_chain_link *chain, size_t chain_count,
			struct fperf_ledger **ledger, size_t *count)
{
	size_t capacity = 0;

	*ledger = NULL;
	*count = 0;
	for (size_t i = 0; i < model->timeline_count; i++) {
		const struct fperf_timeline *timeline = &model->timelines[i];
		struct fperf_ledger one = {0}, *slot;
		size_t pieces;

		if (!timeline->target || timeline->to_ns <= frame->start_ns ||
		    timeline->from_ns >= frame->end_ns)
			continue;
		pieces = ledger_fill(model, timeline, frame, &one);
		if (!ran_ns(&one) && pieces <= 1 && !on_chain(chain, chain_count, timeline->thread->id))
			continue;
		slot = fperf_vec__push(ledger, count, &capacity);
		if (!slot) {
			free(*ledger);
			*ledger = NULL;
			*count = 0;
			return -ENOMEM;
		}
		*slot = one;
	}
	if (*count)
		qsort(*ledger, *count, sizeof(**ledger), compare_running);
	return 0;
}
