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
};

/* Probes the file for whoever maps it, now or later; hits of processes that are no target are dropped in the
 * kernel. An entry probe only: nothing of the target's stack is touched. */
int fperf_mark_probe__attach(const struct fperf_mark_probe_options *options, struct fperf_mark_probe **probe,
			     struct fperf_error *err);
void fperf_mark_probe__detach(struct fperf_mark_probe *probe); /* NULL is fine */

/* Type of the kernel's uprobe PMU; a negative errno with the reason when there is none. */
int fperf_mark_probe__pmu(struct fperf_error *err);

#endif
