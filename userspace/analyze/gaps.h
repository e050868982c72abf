/* Times of which events are not kept (struct fperf_rec_gap). Internal to analyze/. */
#ifndef FPERF_ANALYZE_GAPS_H
#define FPERF_ANALYZE_GAPS_H

#include "analyze/model.h"

/* How much of [from_ns, to_ns) lies in gaps; 0 in a session without. */
uint64_t fperf_gaps__between(const struct fperf_session *session, uint64_t from_ns, uint64_t to_ns);

/* Lets each thread be away for the whole of each gap, so that no time of it counts as anything that the
 * thread did: model->offcpu is then a copy that model->own_offcpu holds. 0 or -ENOMEM. */
int fperf_gaps__fill(struct fperf_model *model);

#endif
