/* Statistics of each thread of the target. Internal to analyze/. */
#ifndef FPERF_ANALYZE_THREADS_H
#define FPERF_ANALYZE_THREADS_H

#include "analyze/model.h"

/* Fills analysis->threads. */
int fperf_threads__build(struct fperf_model *model, struct fperf_analysis *analysis, struct fperf_error *err);

#endif
