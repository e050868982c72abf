/* Functions by CPU time. Internal to analyze/. */
#ifndef FPERF_ANALYZE_HOT_H
#define FPERF_ANALYZE_HOT_H

#include "analyze/model.h"

/* Fills hot, hot_slow, samples and stacks of the analysis; slow frames must be marked. Only samples of the
 * target in [from, to) count. */
int fperf_hot__build(struct fperf_model *model, struct fperf_analysis *analysis, uint64_t from_ns,
		     uint64_t to_ns, struct fperf_error *err);

#endif
