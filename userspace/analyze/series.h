/* Frames of the main surface, their statistics and the budget. Internal to analyze/. */
#ifndef FPERF_ANALYZE_SERIES_H
#define FPERF_ANALYZE_SERIES_H

#include "analyze/analysis.h"

/* Finds the boundaries and fills analysis->frames and the names in analysis->summary. Fewer than two
 * boundaries make no frames. */
int fperf_series__find(struct fperf_analysis *analysis, const struct fperf_analysis_options *options,
		       struct fperf_error *err);

/* Chooses the budget when `budget_ns` is 0, marks slow frames by their frame time. */
int fperf_series__judge(struct fperf_analysis *analysis, uint64_t budget_ns, struct fperf_error *err);

/* Also marks the frames that a limiter hid: the work alone took longer than the game's usual frame. Only with
 * a chosen budget, and after active_ns was set. */
int fperf_series__judge_active(struct fperf_analysis *analysis, struct fperf_error *err);

/* Statistics over all frames, once slow frames are marked. */
int fperf_series__summarise(struct fperf_analysis *analysis, struct fperf_error *err);

#endif
