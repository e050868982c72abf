/* What each frame has of everything that may explain slow ones. Internal to analyze/. */
#ifndef FPERF_ANALYZE_FEATURES_H
#define FPERF_ANALYZE_FEATURES_H

#include "analyze/explain.h"

/* Runs of more frames are thinned out: ordinary ones, evenly. */
#define FPERF_FEATURES_FRAMES 20000

/* Of more features than these, those with the least time in slow frames are left out. */
#define FPERF_FEATURES_MAX 512

struct fperf_feature {
	struct fperf_finding about; /* kind, cause, name, module, cpu */
	uint64_t key;
	float *values; /* of each frame; a clock that is not known is that of ordinary frames */
};

struct fperf_features {
	struct fperf_feature *items;
	size_t count, capacity;
	uint32_t *frames; /* indexes of the frames that are compared, in order */
	bool *slow;
	double *time_ns;
	size_t frame_count, slow_count;
};

int fperf_features__collect(const struct fperf_analysis *analysis, struct fperf_features *features,
			    struct fperf_error *err);
void fperf_features__free(struct fperf_features *features);

/* Periodic slow frames. Returns true and fills the finding when they come in step. */
bool fperf_period__find(const struct fperf_analysis *analysis, struct fperf_finding *finding);

#endif
