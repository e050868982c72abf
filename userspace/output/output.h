/* Reports: what an analysis found, written in a format. A format is one row in output.c and one file. */
#ifndef FPERF_OUTPUT_OUTPUT_H
#define FPERF_OUTPUT_OUTPUT_H

#include "analyze/analysis.h"
#include "analyze/explain.h"
#include "base/error.h"
#include "session/session.h"
#include "symbolize/symbolize.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Everything a report is made from; all borrowed. */
struct fperf_report {
	const char *path; /* of the session file, for messages that name the next command */
	const struct fperf_session *session;
	const struct fperf_session_damage *damage;
	const struct fperf_analysis *analysis;
	const struct fperf_explanation *explanation; /* NULL: not asked for */
	const struct fperf_symbolizer *symbolizer;   /* may be NULL: no advice about names */
	int64_t frame;				     /* the one frame to show in detail; -1: the overview */
	uint32_t worst;	    /* slow frames that the overview shows; 0: the format's default */
	unsigned int width; /* columns, for formats that are text */
	bool colour;
};

struct fperf_output_ops {
	const char *name;
	/* Writes the whole report. Fails when out of memory or when the stream does. */
	int (*write)(const struct fperf_report *report, FILE *stream, struct fperf_error *err);
};

/* NULL when there is no format of that name. */
const struct fperf_output_ops *fperf_output__find(const char *name);

/* Whether something of the session is missing: what exit status 4 stands for. Chunks of a newer version are
 * no damage. */
bool fperf_report__damaged(const struct fperf_session_damage *damage);

/* Length of the recording in ns; 0 when what a damaged file says about it cannot be. */
uint64_t fperf_report__duration_ns(const struct fperf_analysis *analysis);

/* The last word of a source in the session; NULL when it was never mentioned. */
const struct fperf_rec_source *fperf_report__source(const struct fperf_session *session,
						    enum fperf_source source);

extern const struct fperf_output_ops fperf_output_text;
extern const struct fperf_output_ops fperf_output_json;
extern const struct fperf_output_ops fperf_output_html;

#endif
