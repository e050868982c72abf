/* How sure a difference between two sets of runs is. The run is the unit: one value of each. Everything is a
 * pure function of the values: resampling has a fixed seed. Internal to analyze/; the method and its sources
 * are in docs/diff.md. */
#ifndef FPERF_ANALYZE_CONTRAST_H
#define FPERF_ANALYZE_CONTRAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_values {
	const double *items; /* one of each run; borrowed */
	size_t count;
};

/* mean(new) - factor * mean(base). With fewer than two values on a side that counts, `known` is false and
 * only the estimate is there. */
struct fperf_contrast {
	bool known;
	double estimate;
	double error; /* standard error of the estimate */
	uint32_t df;  /* degrees of freedom of the error */
	double *t;    /* studentized resamples, ascending; NULL: Student's t is used */
	size_t t_count;
};

/* From this many runs on each side the distribution of the statistic is resampled; with fewer there are too
 * few different resamples, and Student's t is nearer to the truth. */
#define FPERF_CONTRAST_BOOTSTRAP_RUNS 8

/* factor 0 leaves the base out: a bound on the new side alone. `least_variance` is a variance of the estimate
 * that is known from elsewhere (counts of rare events): the error is not believed to be smaller. Without
 * `resample` it is Student's t alone: for hundreds of figures that are means of many things and so nearly
 * normal. 0 or -ENOMEM; the caller frees with fperf_contrast__free() after success. */
int fperf_contrast__make(const struct fperf_values *base, const struct fperf_values *new_runs, double factor,
			 double least_variance, bool resample, struct fperf_contrast *contrast);
void fperf_contrast__free(struct fperf_contrast *contrast);

/* With probability `level` the true value is below this; not a number when not known. */
double fperf_contrast__bound(const struct fperf_contrast *contrast, double level);

/* Two-sided p-value of "the true value is 0"; 1 when not known. */
double fperf_contrast__p(const struct fperf_contrast *contrast);

/* Holm's step-down correction: adjusted[i] is the p-value of hypothesis i in this family. With weights
 * (positive; NULL: all equal) those that matter more are corrected less: each p is divided by its share of
 * the weights that are left (Holm 1979, section 4). 0 or -ENOMEM. */
int fperf_holm(const double *p, const double *weights, size_t count, double *adjusted);

/* Runs on each side with which a difference of `effect` would be found four times in five, at 95 %, when one
 * run differs from another by the standard deviation `deviation`. 0: more than a million. */
uint32_t fperf_runs_needed(double deviation, double effect);

double fperf_values__mean(const struct fperf_values *values);
double fperf_values__variance(const struct fperf_values *values); /* of one run; 0 for fewer than two */

#endif
