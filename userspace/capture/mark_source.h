/* The sources that are made of entry probes. */
#ifndef FPERF_CAPTURE_MARK_SOURCE_H
#define FPERF_CAPTURE_MARK_SOURCE_H

#include "capture/source.h"

extern const struct fperf_capture_source_ops fperf_mark_source;	 /* --mark and --scope */
extern const struct fperf_capture_source_ops fperf_frame_source; /* --frame */

#endif
