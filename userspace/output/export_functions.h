/* The table of functions, one row each. */
#ifndef FPERF_OUTPUT_EXPORT_FUNCTIONS_H
#define FPERF_OUTPUT_EXPORT_FUNCTIONS_H

#include "output/export.h"

/* Comma-separated values: function, module, self_ns, total_ns, self_share, total_share (of all sampled CPU
 * time of the export), calls, call_mean_ns, call_max_ns, frame_mean_ns, frame_max_ns. Self and total are
 * those of `report`: time of inlined code is self time of the function that it is in. Calls are known for
 * functions with a mark or a scope on them, their times for scopes; what is not known is empty. Mean and
 * maximum per frame are over the frames that are exported. */
int fperf_export_functions__write(const struct fperf_export *export, FILE *stream, struct fperf_error *err);

#endif
