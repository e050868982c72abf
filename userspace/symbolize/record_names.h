/* Names that the session itself holds: kernel symbols and JIT-compiled functions. */
#ifndef FPERF_SYMBOLIZE_RECORD_NAMES_H
#define FPERF_SYMBOLIZE_RECORD_NAMES_H

#include "session/session.h"
#include "symbolize/range_table.h"

#include <stdint.h>

/* Ranges of absolute kernel addresses; `group` is the kernel module's name, NULL in the core kernel. `base`
 * is the kernel module record's. Returns 0 or -ENOMEM. */
int fperf_record_names__kernel(const struct fperf_session *session, uint64_t base,
			       struct fperf_range_table *table);

/* Ranges of one process; a child that was forked without exec has its parent's. Of functions that overlap,
 * the one that was compiled last counts. Returns 0 or -ENOMEM. */
int fperf_record_names__jit(const struct fperf_session *session, uint32_t process,
			    struct fperf_range_table *table);

#endif
