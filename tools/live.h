/* Recording at levels 0 and 1: everything is recorded into memory, window by window, and only what the level
 * keeps goes into the file. The windows are analysed in a thread of their own at low priority. */
#ifndef FPERF_TOOLS_LIVE_H
#define FPERF_TOOLS_LIVE_H

#include "base/log.h"
#include "session/sink.h"
#include "session/writer.h"

#include <stdint.h>
#include <sys/types.h>

struct fperf_live_options {
	const char *path; /* of the session file */
	uid_t owner_uid;
	gid_t owner_gid;
	uint32_t level;		     /* FPERF_LEVEL_SUMMARY or FPERF_LEVEL_TIMELINE */
	uint64_t max_bytes;	     /* of the file; 0: no bound */
	size_t memory;		     /* bytes that waiting and looked-at records may take; 0: 128 MiB */
	const struct fperf_log *log; /* borrowed */
};

/* A sink for the writer that capture writes to. It is closed, and the file with it, when the writer is. What
 * the memory does not hold is counted as lost. */
int fperf_live__open(const struct fperf_live_options *options, struct fperf_sink *sink,
		     struct fperf_error *err);

#endif
