/* Where unwinding stopped before the end of a stack. */
#ifndef FPERF_ANALYZE_BROKEN_H
#define FPERF_ANALYZE_BROKEN_H

#include "session/session.h"

#include <stddef.h>
#include <stdint.h>

struct fperf_broken {
	uint32_t module; /* in which it stopped; 0: in memory of none */
	uint8_t outcome; /* enum fperf_stack_outcome */
	uint64_t count;	 /* of stacks, of samples and of waits */
	double share;	 /* of all broken stacks, 0 to 1 */
};

/* The modules and reasons that broke most stacks, most first; at most `limit` of them. Returns how many there
 * are in `rows`: none when the session does not hold them (levels 0 and 1, or a recording that was killed).
 */
size_t fperf_broken__list(const struct fperf_session *session, struct fperf_broken *rows, size_t limit);

#endif
