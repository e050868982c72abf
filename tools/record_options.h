/* What `frameperf record` was asked for. */
#ifndef FPERF_TOOLS_RECORD_OPTIONS_H
#define FPERF_TOOLS_RECORD_OPTIONS_H

#include "bounds.h"
#include "capture/capture.h"
#include "flight_options.h"
#include "options.h"
#include "target.h"

struct fperf_label {
	char *key;
	const char *value;
};

struct fperf_record_config {
	struct fperf_pids pids;
	const char *name;   /* -n; NULL */
	const char *output; /* -o; NULL: a name is made */
	struct fperf_bounds bounds;
	uint64_t duration_ns; /* 0: until the target ends */
	uint32_t frequency_hz;
	uint32_t level;
	const char *frame_text;		 /* as given: "auto", "off" or PATH:SYMBOL */
	struct fperf_capture_mark frame; /* path NULL: auto or off */
	bool frame_auto;
	enum fperf_unwind_mode unwind;
	const char *unwind_text;
	uint32_t unwind_memory_mib; /* 0: as capture has it */
	struct fperf_flight_config flight;
	double overhead_percent; /* 0: without limit */
	bool safe;		 /* --safe; the others are set accordingly */
	bool as_root;
	struct fperf_capture_mark *marks;
	size_t mark_count, mark_capacity;
	struct fperf_capture_scope *scopes;
	size_t scope_count, scope_capacity;
	struct fperf_label *labels;
	size_t label_count, label_capacity;
	char **texts; /* pieces of option arguments that the above point into */
	size_t text_count, text_capacity;
};

#define FPERF_RECORD_OPTIONS 26

extern const struct fperf_option fperf_record_options[FPERF_RECORD_OPTIONS];
extern const struct fperf_record_config fperf_record_defaults;

/* Options about files that contradict each other. */
int fperf_record_config__check_bounds(const struct fperf_record_config *config, struct fperf_error *err);

/* --safe together with options that ask for more. */
int fperf_record_config__check_safe(const struct fperf_record_config *config, struct fperf_error *err);

void fperf_record_config__free(void *config);

#endif
