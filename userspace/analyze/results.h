/* Results of an analysis as records of a session, and back: what levels 1 and 0 keep instead of events. */
#ifndef FPERF_ANALYZE_RESULTS_H
#define FPERF_ANALYZE_RESULTS_H

#include "analyze/analysis.h"

/* Level of detail that a session has: by its own word, else by the records that it holds. */
uint32_t fperf_results__level(const struct fperf_session *session);

/* False when the session does not hold the fact: it was not measured. */
bool fperf_results__fact(const struct fperf_session *session, enum fperf_fact fact, uint32_t index,
			 uint64_t *value);

/* Adds up what was lost, by source and reason. */
void fperf_results__lost(const struct fperf_session *session,
			 uint64_t lost[FPERF_SOURCES][FPERF_LOSS_REASONS]);

/* Fills an analysis whose model is built from the records of a session of level 0 or 1. */
int fperf_results__read(struct fperf_analysis *analysis, const struct fperf_analysis_options *options,
			struct fperf_error *err);

#endif
