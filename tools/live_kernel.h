/* Names of kernel functions while a recording goes on; in a whole session they come at its end. */
#ifndef FPERF_TOOLS_LIVE_KERNEL_H
#define FPERF_TOOLS_LIVE_KERNEL_H

#include "base/map.h"
#include "session/session.h"

struct fperf_live_kernel {
	struct fperf_map named; /* addresses that were looked up */
	size_t stacks;		/* stack records that were looked through */
	uint32_t strings;	/* given out so far */
};

/* Adds a symbol record for each kernel address in a stack that is new. Where the kernel tells no names, that
 * is all. Fails only without memory. */
int fperf_live_kernel__name(struct fperf_live_kernel *kernel, struct fperf_session *session,
			    struct fperf_error *err);
void fperf_live_kernel__free(struct fperf_live_kernel *kernel);

#endif
