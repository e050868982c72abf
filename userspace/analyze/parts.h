/* Where frame time goes: the critical chains of many frames, added up by cause, thread and place. Internal to
 * analyze/. */
#ifndef FPERF_ANALYZE_PARTS_H
#define FPERF_ANALYZE_PARTS_H

#include "analyze/digest.h"
#include "analyze/model.h"

/* Interns what a name matches as; 0 also when out of memory. */
uint32_t fperf_parts__thread_name(struct fperf_strtab *names, const char *thread);
void fperf_parts__place_name(struct fperf_strtab *names, const char *function, const char *module,
			     const char *exe, uint32_t *function_id, uint32_t *module_id);

/* Path of the program that presents the frames: the recorded command may have been a wrapper that became it.
 * "" when not known. */
const char *fperf_parts__program(const struct fperf_analysis *analysis);

/* Fills parts and profile_ns of the digest, whose times are there. */
int fperf_parts__build(struct fperf_model *model, const struct fperf_analysis *analysis,
		       struct fperf_strtab *names, struct fperf_digest *digest, struct fperf_error *err);

#endif
