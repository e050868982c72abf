/* Which slow frames get their details. Internal to analyze/. */
#ifndef FPERF_ANALYZE_WORST_H
#define FPERF_ANALYZE_WORST_H

#include "analyze/analysis.h"

/* One flag for each entry of analysis->slow: it is among the options' `worst` that took longest, or it was
 * asked for. The caller frees; NULL when out of memory. */
bool *fperf_worst__choose(const struct fperf_analysis *analysis,
			  const struct fperf_analysis_options *options);

#endif
