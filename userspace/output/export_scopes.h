/* Scopes: pairs of marks, from the entry of one function to that of another on the same thread. */
#ifndef FPERF_OUTPUT_EXPORT_SCOPES_H
#define FPERF_OUTPUT_EXPORT_SCOPES_H

#include "output/export.h"

struct fperf_scope {
	uint64_t from_ns, to_ns;
	uint32_t thread; /* session-wide id */
	uint32_t marker; /* of its begin */
};

/* All scopes with a begin and an end, in order of their ends. An end belongs to the begin of the same name
 * nearest before it that has none yet; begins without an end are left out. The caller frees *scopes. */
int fperf_scopes__find(const struct fperf_session *session, struct fperf_scope **scopes, size_t *count,
		       struct fperf_error *err);

#endif
