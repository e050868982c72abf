/* Frames of the main surface, their statistics and the budget. Internal to analyze/. */
#ifndef FPERF_ANALYZE_SERIES_H
#define FPERF_ANALYZE_SERIES_H

#include "analyze/analysis.h"

/* Finds the boundaries and fills analysis->frames and the names in analysis->summary. Fewer than two
 * boundaries make no frames. */
int fperf_series__find(struct fperf_analysis *analysis, const struct fperf_analysis_options *options,
		       struct fperf_error *err);

/* When the budget is chosen, a frame counts for its own time, but for no more than this: one loading screen
 * must not outweigh the game. */
#define FPERF_BUDGET_WEIGHT_NS 100000000ull

/* See "Budget" in docs/analysis.md: half more than the middle frame (by time), more than what a quarter of
 * all frames take (so a game that alternates between one and two refreshes is not slow at every second
 * frame), and clear of jitter. 0 when there are no frames. */
uint64_t fperf_series__budget(uint64_t middle_ns, uint64_t quarter_ns);

/* Counts a frame of this time into *jank and *big_jank if it is one, given the three before it. */
void fperf_series__jank(uint64_t time_ns, uint64_t before_ns, uint64_t second_ns, uint64_t third_ns,
			uint64_t *jank, uint64_t *big_jank);

/* Chooses the budget when `budget_ns` is 0, marks slow frames by their frame time. */
int fperf_series__judge(struct fperf_analysis *analysis, uint64_t budget_ns, struct fperf_error *err);

/* Also marks the frames that a limiter hid: the work alone took longer than the game's usual frame. Only with
 * a chosen budget, and after active_ns was set. */
int fperf_series__judge_active(struct fperf_analysis *analysis, struct fperf_error *err);

/* Statistics over all frames, once slow frames are marked. */
int fperf_series__summarise(struct fperf_analysis *analysis, struct fperf_error *err);

#endif
