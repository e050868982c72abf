/* Sections of the text report. Each prints nothing when it has nothing to say. */
#ifndef FPERF_OUTPUT_TEXT_H
#define FPERF_OUTPUT_TEXT_H

#include "output/output.h"
#include "output/paint.h"

void fperf_text__overview(const struct fperf_report *report, const struct fperf_paint *paint);
/* Fails when out of memory. */
int fperf_text__incident(const struct fperf_report *report, const struct fperf_paint *paint,
			 struct fperf_error *err);
void fperf_text__worst(const struct fperf_report *report, const struct fperf_paint *paint);
void fperf_text__causes(const struct fperf_report *report, const struct fperf_paint *paint);
void fperf_text__hot(const struct fperf_report *report, const struct fperf_paint *paint);
void fperf_text__threads(const struct fperf_report *report, const struct fperf_paint *paint);
void fperf_text__freq(const struct fperf_report *report, const struct fperf_paint *paint);
void fperf_text__missing(const struct fperf_report *report, const struct fperf_paint *paint);

/* One frame: verdict, critical chain, ledger. */
void fperf_text__frame(const struct fperf_report *report, const struct fperf_paint *paint,
		       const struct fperf_slow_frame *slow);

/* The verdict's text, wrapped, from column `used` on. */
void fperf_text__verdict(const struct fperf_paint *paint, const struct fperf_verdict *verdict,
			 unsigned int used, unsigned int indent);

/* "Worker3", or "tid 4243" when it has no name. */
struct fperf_words fperf_text__thread(const struct fperf_thread_ref *thread);

#endif
