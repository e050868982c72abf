/* What one run alone can show: how far its figures would move if its frames had come out otherwise. Internal
 * to analyze/. */
#ifndef FPERF_ANALYZE_BLOCKS_H
#define FPERF_ANALYZE_BLOCKS_H

#include "analyze/digest.h"

#define FPERF_BLOCKS_RESAMPLES 499
#define FPERF_BLOCKS_METRICS   (FPERF_METRIC_JANK + 1) /* the figures that come from frame times */

/* Circular block bootstrap (Politis and Romano, 1992): frames depend on their neighbours, so blocks of
 * neighbours are drawn, each about the square root of the number of frames long. `values[m][i]`: figure m of
 * resample i. 0 or -ENOMEM. */
int fperf_blocks__resample(const struct fperf_digest *digest, uint64_t seed,
			   double (*values)[FPERF_BLOCKS_RESAMPLES]);

/* The same for the difference of two runs, sorted: the value that a share `level` of the resamples does not
 * exceed. `base` may be NULL: the new run alone. */
int fperf_blocks__bounds(const struct fperf_digest *base, const struct fperf_digest *new_run,
			 const double *levels, size_t level_count, double factor,
			 double (*bounds)[FPERF_BLOCKS_METRICS]);

#endif
