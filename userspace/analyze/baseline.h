/* What ordinary frames around a slow one look like. For analyze/, and for outputs that compare. */
#ifndef FPERF_ANALYZE_BASELINE_H
#define FPERF_ANALYZE_BASELINE_H

#include "analyze/chain.h"

/* Chains of this many ordinary frames are kept; more than any two neighbouring slow frames need together. */
#define FPERF_BASELINE_SLOTS 64

struct fperf_baseline {
	struct fperf_model *model;
	const struct fperf_analysis *analysis;
	uint32_t *ordinary; /* indexes of the frames that are not slow, ascending */
	size_t count;
	struct {
		size_t number; /* place in ordinary[] plus 1; 0: empty */
		struct fperf_tally chain;
	} slots[FPERF_BASELINE_SLOTS];
	struct fperf_pieces scratch;
};

/* Part of ordinary[]: the neighbours of one frame. */
struct fperf_neighbours {
	size_t first, count;
	double mean_time_ns;
};

int fperf_baseline__init(struct fperf_baseline *baseline, struct fperf_model *model,
			 const struct fperf_analysis *analysis, struct fperf_error *err);
void fperf_baseline__free(struct fperf_baseline *baseline);

/* The nearest ordinary frames before and after, about as many of each; the frame itself is not among them. */
struct fperf_neighbours fperf_baseline__around(const struct fperf_baseline *baseline, uint32_t frame);
const struct fperf_frame *fperf_baseline__frame(const struct fperf_baseline *baseline, size_t number);

/* Mean over the neighbours of what their chains add up to. `mean` must be empty. 0 or -ENOMEM. */
int fperf_baseline__chains(struct fperf_baseline *baseline, const struct fperf_neighbours *neighbours,
			   struct fperf_tally *mean);

/* Finds the waits that pace the game (sleeps, and waits for a timer, the display or another program, that
 * most ordinary frames show) and sets active_ns of all frames: frame time minus those. */
int fperf_baseline__active_times(struct fperf_model *model, struct fperf_analysis *analysis,
				 struct fperf_error *err);

#endif
