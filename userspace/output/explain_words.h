/* What `report --explain` found, as text and as JSON. */
#ifndef FPERF_OUTPUT_EXPLAIN_WORDS_H
#define FPERF_OUTPUT_EXPLAIN_WORDS_H

#include "output/json_build.h"
#include "output/text.h"

/* "12.4 ms more running in update()": one line of at most `size` bytes. */
void fperf_finding__words(const struct fperf_finding *finding, char *text, size_t size);

void fperf_text__explain(const struct fperf_report *report, const struct fperf_paint *paint);
json_t *fperf_json__explain(struct json_build *build, const struct fperf_explanation *explanation);

#endif
