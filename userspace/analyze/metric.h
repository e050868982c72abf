/* The figures that runs are compared by: what they are called, which way is worse, what counts as a
 * difference. */
#ifndef FPERF_ANALYZE_METRIC_H
#define FPERF_ANALYZE_METRIC_H

#include "analyze/digest.h"

enum fperf_unit {
	FPERF_UNIT_NS, /* shown as ms */
	FPERF_UNIT_FPS,
	FPERF_UNIT_PER_MIN,
	FPERF_UNIT_NS_PER_MIN, /* shown as ms a minute */
	FPERF_UNIT_KHZ,
	FPERF_UNITS
};

/* Figures that answer one question together are one family: their p-values are corrected together. */
enum fperf_family {
	FPERF_FAMILY_PRIMARY, /* is it slower? what the default gate looks at */
	FPERF_FAMILY_SECONDARY,
	FPERF_FAMILY_CAUSES,
	FPERF_FAMILY_FUNCTIONS,
	FPERF_FAMILY_THREADS,
	FPERF_FAMILIES
};

struct fperf_metric_info {
	const char *name;  /* in JSON and gates */
	const char *title; /* for people */
	enum fperf_unit unit;
	enum fperf_family family;
	bool less_is_worse;
	double tolerance; /* a difference of this much, in the unit, is nothing, however small the value */
};

const struct fperf_metric_info *fperf_metric__info(enum fperf_metric metric);

/* By name or by one of its other names ("worst" is "max"); false: no metric of that name. */
bool fperf_metric__find(const char *name, size_t size, enum fperf_metric *metric);

const char *fperf_unit__name(enum fperf_unit unit);	  /* "ns", "fps", "per_min", "ns_per_min", "khz" */
const char *fperf_family__name(enum fperf_family family); /* "primary", "secondary", … */

#endif
