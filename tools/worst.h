/* `record --keep-worst`: of a recording of hours, the worst frames in full and figures for all. */
#ifndef FPERF_TOOLS_WORST_H
#define FPERF_TOOLS_WORST_H

#include "base/clock.h"
#include "base/error.h"
#include "capture/capture.h"
#include "flight.h"

#define FPERF_WORST_SPAN_NS (20 * FPERF_NS_PER_S) /* what is kept at all times, for the pre-roll */

struct fperf_worst;

/* The options are those of a flight recorder; `path` is that of the session. */
int fperf_worst__open(const struct fperf_flight_options *options, struct fperf_worst **worst,
		      struct fperf_error *err);
struct fperf_writer *fperf_worst__writer(struct fperf_worst *worst); /* as for a flight recorder */
struct fperf_triggers *fperf_worst__triggers(struct fperf_worst *worst);
void fperf_worst__begin(struct fperf_worst *worst, struct fperf_capture *capture);

/* After each fperf_capture__poll(). The session is written every minute in which it has changed, so that a
 * crash takes little away. */
int fperf_worst__step(struct fperf_worst *worst, struct fperf_error *err);

/* Before fperf_capture__stop(): writes the session. The exit status. */
int fperf_worst__end(struct fperf_worst *worst, const char *end_reason);
void fperf_worst__close(struct fperf_worst *worst);

#endif
