/* What recording costs, measured while it runs, and held within the budget (effort.h). */
#ifndef FPERF_CAPTURE_OVERHEAD_H
#define FPERF_CAPTURE_OVERHEAD_H

#include "capture/effort.h"
#include "capture/program.h"
#include "capture/source.h"

#include <stdbool.h>
#include <stdint.h>

struct fperf_overhead;

/* Finds out whether the kernel will tell the run time of BPF programs (BPF_ENABLE_STATS, or the sysctl
 * kernel.bpf_stats_enabled); to be asked before they are loaded. */
bool fperf_overhead__can_measure_bpf(void);

/* Begins to measure. Borrows context, which tells what the sources count. */
int fperf_overhead__new(struct fperf_capture_context *context, const struct fperf_shared_maps *shared,
			struct fperf_overhead **overhead, struct fperf_error *err);

/* NULL is fine. */
void fperf_overhead__free(struct fperf_overhead *overhead);

/* Called with each round. True when recording is to cost less or may cost more from now on: `effort` says
 * what is allowed; the step is in the session already. */
bool fperf_overhead__poll(struct fperf_overhead *overhead, uint64_t now_ns, struct fperf_effort *effort);

/* Before the programs are detached: writes into the session what was calibrated, and returns the run time of
 * the BPF programs since `from_ns`, extrapolated from the windows in which it was measured; 0: not known. */
uint64_t fperf_overhead__finish(struct fperf_overhead *overhead, uint64_t from_ns, uint64_t now_ns);

#endif
