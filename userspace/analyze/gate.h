/* Rules that a comparison has to keep: "p99<=+3%", "hitches<=6/min", "func:update<=+0.2ms". A gate holds only
 * if it holds with confidence: the 95 % bound keeps the rule, not just the mean. */
#ifndef FPERF_ANALYZE_GATE_H
#define FPERF_ANALYZE_GATE_H

#include "analyze/diff.h"

#define FPERF_GATE_TEXT 256

enum fperf_gate_kind {
	FPERF_GATE_METRIC,
	FPERF_GATE_FUNCTION, /* self time a frame */
	FPERF_GATE_FUNCTION_TOTAL,
	FPERF_GATE_DEFAULT, /* no primary figure is worse */
};

struct fperf_gate {
	char text[FPERF_GATE_TEXT]; /* as given */
	enum fperf_gate_kind kind;
	enum fperf_metric metric;
	char function[FPERF_GATE_TEXT];
	bool at_least; /* ">=": not less than */
	bool relative; /* to the base */
	double factor; /* relative: of the base's mean; 1.03 is "+3%" */
	double limit;  /* in the metric's unit: added to that; absolute: all of it */
};

enum fperf_gate_outcome {
	FPERF_GATE_HOLDS,
	FPERF_GATE_FAILS,	/* with confidence */
	FPERF_GATE_CANNOT_TELL, /* and so does not hold */
};

struct fperf_gate_result {
	enum fperf_gate_outcome outcome;
	double value; /* what was compared with the limit; NAN: not there */
	double bound; /* the 95 % bound on the side of the limit; NAN: not known */
	double limit; /* for this comparison, in the unit */
	enum fperf_unit unit;
	char text[FPERF_GATE_TEXT]; /* one line for people: why */
};

/* Fails with a text that says what was expected. */
int fperf_gate__parse(const char *text, struct fperf_gate *gate, struct fperf_error *err);

/* "default": what is looked at when no gate is given. */
void fperf_gate__default(struct fperf_gate *gate);

/* 0 or -ENOMEM. */
int fperf_gate__judge(const struct fperf_gate *gate, const struct fperf_diff *diff,
		      const struct fperf_strtab *names, struct fperf_gate_result *result);

const char *fperf_gate_outcome__name(enum fperf_gate_outcome outcome); /* "holds", "fails", "cannot_tell" */

#endif
