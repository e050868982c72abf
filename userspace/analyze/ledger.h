/* Where the wall time of a frame went, thread by thread. Internal to analyze/. */
#ifndef FPERF_ANALYZE_LEDGER_H
#define FPERF_ANALYZE_LEDGER_H

#include "analyze/timeline.h"

/* Ledgers of all threads of the target that ran or changed state in the frame, or are on its chain. By
 * running time, greatest first. The caller frees *ledger. 0 or -ENOMEM. */
int fperf_ledger__build(struct fperf_model *model, const struct fperf_frame *frame,
			const struct fperf_chain_link *chain, size_t chain_count,
			struct fperf_ledger **ledger, size_t *count);

#endif
