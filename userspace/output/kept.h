/* A recording of which only the worst frames are kept in full: what is known of all. */
#ifndef FPERF_OUTPUT_KEPT_H
#define FPERF_OUTPUT_KEPT_H

#include "output/output.h"

struct fperf_kept {
	uint64_t frames, duration_ns; /* of the whole recording, with frames that are not here */
	struct fperf_time_stats time;
	size_t worst;	  /* frames kept in full */
	uint64_t kept_ns; /* of the recording */
};

/* False for a session that is kept as a whole. */
bool fperf_kept__find(const struct fperf_report *report, struct fperf_kept *kept);

#endif
