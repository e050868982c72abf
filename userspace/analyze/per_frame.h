/* Ledgers and CPU time by function of every single frame: what comparisons need. Internal to analyze/. */
#ifndef FPERF_ANALYZE_PER_FRAME_H
#define FPERF_ANALYZE_PER_FRAME_H

#include "analyze/model.h"

/* Fills ledgers and frame_hot of the analysis from the events of the session. */
int fperf_per_frame__build(struct fperf_model *model, struct fperf_analysis *analysis,
			   struct fperf_error *err);

#endif
