/* From the values of runs to one judged change. Internal to analyze/. */
#ifndef FPERF_ANALYZE_CHANGE_H
#define FPERF_ANALYZE_CHANGE_H

#include "analyze/contrast.h"
#include "analyze/diff.h"

struct fperf_figure {
	struct fperf_values base, new_values;
	double least_variance; /* of the difference, see fperf_contrast__make() */
	double tolerance;      /* in the unit: never less */
	bool less_is_worse;
	bool resample; /* see fperf_contrast__make() */
};

/* Fills everything but p_holm and result. 0 or -ENOMEM. */
int fperf_change__make(const struct fperf_figure *figure, const struct fperf_diff_options *options,
		       struct fperf_change *change);

/* The changes of one family: corrects their p-values and judges them. `weighted`: by their size, so that a
 * function that takes a tenth of the time is not corrected for a hundred that take next to none. 0 or
 * -ENOMEM.
 */
int fperf_changes__judge(struct fperf_change *const *changes, size_t count, bool weighted);

/* Values of one figure, gathered from the runs that have it. */
struct fperf_gathered {
	double *base, *new_values; /* room for every run */
};

/* Parts of a comparison. Each returns 0 or -ENOMEM. */
int fperf_diff__metrics(struct fperf_diff *diff, const struct fperf_diff_options *options);
int fperf_diff__functions(struct fperf_diff *diff, const struct fperf_diff_options *options,
			  struct fperf_strtab *names);
int fperf_diff__threads(struct fperf_diff *diff, const struct fperf_diff_options *options,
			struct fperf_strtab *names);
int fperf_diff__attributions(struct fperf_diff *diff, struct fperf_strtab *names);
int fperf_diff__comparable(struct fperf_diff *diff);

/* Variance of the difference of two rates of rare events: that of counts is their mean. `metric` is
 * FPERF_METRIC_HITCHES or FPERF_METRIC_JANK, `factor` as in fperf_contrast__make(). */
double fperf_diff__count_variance(const struct fperf_side *base, const struct fperf_side *new_side,
				  enum fperf_metric metric, double factor);

#endif
