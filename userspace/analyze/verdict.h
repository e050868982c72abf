/* Why one frame was slow. Internal to analyze/. */
#ifndef FPERF_ANALYZE_VERDICT_H
#define FPERF_ANALYZE_VERDICT_H

#include "analyze/baseline.h"
#include "analyze/freq.h"

/* Everything a verdict is made from. */
struct fperf_case {
	struct fperf_model *model;
	struct fperf_baseline *baseline;
	const struct fperf_freq *freq;
	const struct fperf_frame *frame;
	const struct fperf_pieces *chain; /* of the frame */
	struct fperf_neighbours neighbours;
};

/* One cause on one group of threads, by how much more of it the frame has than its neighbours. */
struct fperf_suspect {
	enum fperf_cause cause;
	uint32_t group;
	double excess_ns;
	uint64_t key; /* the place with the greatest part of it */
	double place_excess_ns;
	double slow_khz, usual_khz; /* frequency only */
};

struct fperf_suspects {
	struct fperf_suspect *items;
	size_t count, capacity;
};

/* Compares chain and threads with the neighbours. Only causes with an excess. 0 or -ENOMEM. */
int fperf_suspects__find(const struct fperf_case *of, struct fperf_suspects *suspects);

/* Where the excess of CPU time of a group of threads lies: the innermost own function that holds most of it,
 * NULL when no stack tells. 0 or -ENOMEM. */
int fperf_suspects__cpu_place(const struct fperf_case *of, uint32_t group, const struct fperf_symbol **place);

/* Fills the verdict of a slow frame; the caller frees verdict->text. */
int fperf_verdict__find(const struct fperf_case *of, struct fperf_verdict *verdict, struct fperf_error *err);

/* One line for people, from everything else in the verdict. malloc()ed, NULL when out of memory. */
char *fperf_verdict__text(const struct fperf_verdict *verdict);

#endif
