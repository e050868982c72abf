/* What this kernel and device allow: each capability is tried, not inferred from a version. */
#ifndef FPERF_CAPTURE_PROBE_H
#define FPERF_CAPTURE_PROBE_H

#include <stdbool.h>
#include <stddef.h>

enum fperf_probe_state {
	FPERF_PROBE_WORKS,
	FPERF_PROBE_LIMITED, /* something less than could be; the detail says what */
	FPERF_PROBE_MISSING,
};

struct fperf_probe_result {
	const char *name;
	enum fperf_probe_state state;
	bool required;	    /* nothing can be recorded without it */
	char detail[256];   /* what was found, or the error */
	const char *lost;   /* what is lost without it */
	const char *advice; /* what to do about it */
};

size_t fperf_probe__count(void);

/* Tries capability `index`; leaves nothing loaded, opened or changed behind. */
void fperf_probe__run(size_t index, struct fperf_probe_result *result);

const char *fperf_probe__state_name(enum fperf_probe_state state); /* "works", "limited", "missing" */

#endif
