/* One entry probe on one place of one file. */
#ifndef FPERF_CAPTURE_MARK_PROBE_H
#define FPERF_CAPTURE_MARK_PROBE_H

#include "base/error.h"
#include "frameperf/reasons.h"

#include <stdbool.h>
#include <stdint.h>

struct fperf_shared_maps;
struct fperf_mark_probe;

struct fperf_mark_probe_options {
	struct fperf_shared_maps *shared;
	enum fperf_source source; /* that losses are counted for */
	uint32_t marker;
	bool is_candidate; /* count hits in the map fperf_mark_hits */
	int file_fd;	   /* the file, opened; not kept */
	uint64_t offset;   /* in the file */
	bool *no_links;	   /* set when this kernel can't do the newer kind of probe, which then is not tried
			      again */
};

/* Probes the file for whoever maps it, now or later; hits of processes that are no target are dropped in the
 * kernel. An entry probe only: nothing of the target's stack is touched. */
int fperf_mark_probe__attach(const struct fperf_mark_probe_options *options, struct fperf_mark_probe **probe,
			     struct fperf_error *err);

/* Detaching waits for the kernel to be sure that nobody is inside the probe, a tenth of a second. So it
 * happens beside the caller, and for many at once; `finish` waits for its end. NULL is fine for both. Between
 * the two, hits may still arrive. */
void fperf_mark_probe__detach_begin(struct fperf_mark_probe *probe);
void fperf_mark_probe__detach_finish(struct fperf_mark_probe *probe);

/* Type of the kernel's uprobe PMU; a negative errno with the reason when there is none. */
int fperf_mark_probe__pmu(struct fperf_error *err);

#endif
