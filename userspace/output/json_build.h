/* Pieces of the JSON report. The functions take and return references as jansson does; when one fails the
 * whole report has failed, which is noted once. */
#ifndef FPERF_OUTPUT_JSON_BUILD_H
#define FPERF_OUTPUT_JSON_BUILD_H

#include "analyze/incident.h"
#include "output/output.h"

#include <jansson.h>

struct json_build {
	bool failed; /* out of memory */
};

json_t *json_build__object(struct json_build *build);
json_t *json_build__array(struct json_build *build);
json_t *json_build__null(struct json_build *build);
json_t *json_build__bool(struct json_build *build, bool value);
json_t *json_build__i64(struct json_build *build, int64_t value);
json_t *json_build__u64(struct json_build *build, uint64_t value); /* more than 2^63 - 1 becomes 2^63 - 1 */
json_t *json_build__positive(struct json_build *build, uint64_t value);	  /* 0 stands for not known: null */
json_t *json_build__real(struct json_build *build, double value);	  /* null when not finite */
json_t *json_build__share(struct json_build *build, double value);	  /* null when negative */
json_t *json_build__text(struct json_build *build, const char *text);	  /* any bytes; NULL gives null */
json_t *json_build__nonempty(struct json_build *build, const char *text); /* "" gives null too */

/* Both take over `value`. */
void json_build__set(struct json_build *build, json_t *object, const char *key, json_t *value);
void json_build__set_any_key(struct json_build *build, json_t *object, const char *key, json_t *value);
void json_build__add(struct json_build *build, json_t *array, json_t *value);

json_t *json_build__thread(struct json_build *build, const struct fperf_thread_ref *thread);

json_t *json_build__place(struct json_build *build, const struct fperf_place *place);

/* Sets `trigger`, `stall` and `whole`. */
void fperf_json__incident(struct json_build *build, json_t *root, const struct fperf_report *report);

/* One element of slow_frames: verdict, chain, ledger. `chosen`: only some frames were asked to have a chain
 * and a ledger, so that a frame without has no such key. */
json_t *json_build__frame(struct json_build *build, const struct fperf_analysis *analysis,
			  const struct fperf_slow_frame *slow, bool chosen);

/* The whole report, schema frameperf.report/1. */
json_t *fperf_json__report(struct json_build *build, const struct fperf_report *report);

#endif
