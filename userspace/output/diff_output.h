/* Comparisons, written in a format: text for people, JSON, JUnit for build servers, Markdown for a pull
 * request. */
#ifndef FPERF_OUTPUT_DIFF_OUTPUT_H
#define FPERF_OUTPUT_DIFF_OUTPUT_H

#include "analyze/gate.h"
#include "base/error.h"

#include <stdio.h>

/* Everything a comparison is written from; all borrowed. */
struct fperf_diff_report {
	const struct fperf_diff *const *diffs; /* one for each scene */
	size_t diff_count;
	const struct fperf_gate *gates;
	const struct fperf_gate_result *results; /* gate by gate, of each all diffs */
	size_t gate_count;
	uint64_t budget_ns; /* that all runs share */
	uint64_t trim_ns;   /* asked for at each end */
	double min_effect;
	bool forced;	    /* compared although a warning is serious */
	unsigned int width; /* columns, for formats that are text */
	bool colour;
};

struct fperf_diff_output_ops {
	const char *name;
	/* Writes everything. Fails when out of memory or when the stream does. */
	int (*write)(const struct fperf_diff_report *report, FILE *stream, struct fperf_error *err);
};

extern const struct fperf_diff_output_ops fperf_diff_text, fperf_diff_json, fperf_diff_junit,
	fperf_diff_markdown;

/* Whether every gate holds in every scene. */
bool fperf_diff_report__gates_hold(const struct fperf_diff_report *report);

const struct fperf_gate_result *fperf_diff_report__result(const struct fperf_diff_report *report, size_t gate,
							  size_t diff);

/* ---- words that the formats share ---- */

struct fperf_diff_words {
	char text[192];
};

/* "6.64 ms", "142 fps", "3.2 /min"; with a sign: "+0.41 ms". "–" when not a number. */
struct fperf_diff_words fperf_diff_words__value(enum fperf_unit unit, double value);
struct fperf_diff_words fperf_diff_words__difference(enum fperf_unit unit, double value);
struct fperf_diff_words fperf_diff_words__percent(double difference, double base); /* "+3.1 %" or "" */
struct fperf_diff_words fperf_diff_words__interval(enum fperf_unit unit, const struct fperf_change *change);

/* "worse", "better", "no difference", "cannot tell: 14 runs a side would do". */
struct fperf_diff_words fperf_diff_words__result(const struct fperf_change *change);

/* The answer in one sentence. */
struct fperf_diff_words fperf_diff_words__answer(const struct fperf_diff *diff);

/* What a part of the frame time is: "0.4 ms more in update_particles() on Logic". */
struct fperf_diff_words fperf_diff_words__part(const struct fperf_part_change *part);

/* Why a gate holds or not: "p99<=+3%: 25.1 ms, surely not more than 25.9 ms; the limit is 26.2 ms". */
struct fperf_diff_words fperf_diff_words__gate(const struct fperf_gate *gate,
					       const struct fperf_gate_result *result);

/* How many parts of an attribution are worth naming, the others being a rest. */
size_t fperf_diff_words__named_parts(const struct fperf_attribution *attribution, size_t limit);

#endif
