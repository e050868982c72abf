/* The file of a recording at level 0 or 1. At level 1 it grows by chunks; at level 0 it is so small that it
 * is written anew each time, under another name first, so that it is always whole. */
#ifndef FPERF_TOOLS_LIVE_OUTPUT_H
#define FPERF_TOOLS_LIVE_OUTPUT_H

#include "analyze/reduce.h"
#include "live.h"

#include <stdatomic.h>

struct fperf_live_output {
	struct fperf_live_options options;
	char *path;		     /* of the session */
	char *next;		     /* level 0: the name under which the next one is written */
	char id[33];		     /* of the session */
	struct fperf_writer *writer; /* level 1 */
	struct fperf_reducer *reducer;
	_Atomic uint64_t bytes;
};

/* Creates the file. On failure nothing is left of it. */
int fperf_live_output__open(struct fperf_live_output *output, const struct fperf_live_options *options,
			    struct fperf_error *err);

uint64_t fperf_live_output__budget(const struct fperf_live_output *output); /* 0: choose from the window */
int fperf_live_output__window(struct fperf_live_output *output, const struct fperf_analysis *analysis,
			      uint64_t from_ns, uint64_t to_ns, struct fperf_error *err);
int fperf_live_output__sums(struct fperf_live_output *output, const struct fperf_session *session,
			    uint64_t now_ns, struct fperf_error *err);
int fperf_live_output__flush(struct fperf_live_output *output, bool sync, struct fperf_error *err);
int fperf_live_output__close(struct fperf_live_output *output, struct fperf_error *err);

/* May be asked from any thread. */
uint64_t fperf_live_output__bytes(const struct fperf_live_output *output);

#endif
