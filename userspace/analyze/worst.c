#include "analyze/worst.h"

#include <stdlib.h>

struct rank {
	uint64_t time_ns;
	size_t slow;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns > y->time_ns ? -1 : 1;
	return (x->slow > y->slow) - (x->slow < y->slow);
}

bool *fperf_worst__choose(const struct fperf_analysis *analysis, const struct fperf_analysis_options *options)
{
	size_t limit = options->worst ? options->worst : analysis->slow_count;
	struct rank *ranks = calloc(analysis->slow_count + 1, sizeof(*ranks));
	bool *chosen = calloc(analysis->slow_count + 1, sizeof(*chosen));

	if (!ranks || !chosen) {
		free(ranks);
		free(chosen);
		return NULL;
	}
	for (size_t i = 0; i < analysis->slow_count; i++) {
		const struct fperf_frame *frame = &analysis->frames[analysis->slow[i].frame];

		ranks[i] = (struct rank){.time_ns = frame->end_ns - frame->start_ns, .slow = i};
	}
	qsort(ranks, analysis->slow_count, sizeof(*ranks), compare_ranks);
	for (size_t i = 0; i < analysis->slow_count; i++)
		chosen[ranks[i].slow] =
			i < limit || options->frame == (int64_t)analysis->slow[ranks[i].slow].frame;
	free(ranks);
	return chosen;
}
