#include "analyze/contrast.h"

#include "analyze/random.h"
#include "analyze/student.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define RESAMPLES 1999 /* (RESAMPLES + 1) * 0.025 is a whole number */
#define SEED	  0x66706572662d6431ull

double fperf_values__mean(const struct fperf_values *values)
{
	double sum = 0;

	for (size_t i = 0; i < values->count; i++)
		sum += values->items[i];
	return values->count ? sum / (double)values->count : 0;
}

double fperf_values__variance(const struct fperf_values *values)
{
	double mean = fperf_values__mean(values), sum = 0;

	if (values->count < 2)
		return 0;
	for (size_t i = 0; i < values->count; i++)
		sum += (values->items[i] - mean) * (values->items[i] - mean);
	return sum / (double)(values->count - 1);
}

/* Mean of a side and the variance of that mean. */
struct moments {
	double mean, variance;
};

static struct moments moments_of(const struct fperf_values *values)
{
	return (struct moments){
		.mean = fperf_values__mean(values),
		.variance = values->count > 1 ? fperf_values__variance(values) / (double)values->count : 0,
	};
}

/* Welch and Satterthwaite, rounded down. */
static uint32_t degrees(double base_variance, size_t base_count, double new_variance, size_t new_count)
{
	double sum = base_variance + new_variance, below = 0, df;

	if (base_count > 1)
		below += base_variance * base_variance / (double)(base_count - 1);
	if (new_count > 1)
		below += new_variance * new_variance / (double)(new_count - 1);
	if (!(below > 0))
		return (uint32_t)(base_count > 1 ? base_count + new_count - 2 : new_count - 1);
	df = sum * sum / below;
	if (df > FPERF_STUDENT_MANY)
		return FPERF_STUDENT_MANY;
	return df < 1 ? 1 : (uint32_t)df;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct moments resampled(const struct fperf_values *values, struct fperf_random *random,
				double *buffer)
{
	struct fperf_values drawn = {.items = buffer, .count = values->count};

	for (size_t i = 0; i < values->count; i++)
		buffer[i] = values->items[fperf_random__below(random, (uint32_t)values->count)];
	return moments_of(&drawn);
}

/* The bootstrap-t: how far resampled estimates lie from the estimate, in units of their own errors. */
static int bootstrap(const struct fperf_values *base, const struct fperf_values *new_runs, double factor,
		     struct fperf_contrast *contrast)
{
	struct fperf_random random = {.state = SEED};
	size_t most = base->count > new_runs->count ? base->count : new_runs->count;
	double *buffer = malloc((most + 1) * sizeof(*buffer));
	double least = contrast->error / 1000; /* resamples of one run, again and again, know no error */

	contrast->t = malloc(RESAMPLES * sizeof(*contrast->t));
	if (!buffer || !contrast->t) {
		free(buffer);
		fperf_contrast__free(contrast);
		return -ENOMEM;
	}
	for (size_t i = 0; i < RESAMPLES; i++) {
		struct moments of_base = {0}, of_new = resampled(new_runs, &random, buffer);
		double error;

		if (factor != 0)
			of_base = resampled(base, &random, buffer);
		error = sqrt(of_new.variance + factor * factor * of_base.variance);
		contrast->t[i] = (of_new.mean - factor * of_base.mean - contrast->estimate) /
				 (error > least ? error : least);
	}
	free(buffer);
	qsort(contrast->t, RESAMPLES, sizeof(*contrast->t), compare_doubles);
	contrast->t_count = RESAMPLES;
	return 0;
}

int fperf_contrast__make(const struct fperf_values *base, const struct fperf_values *new_runs, double factor,
			 double least_variance, bool resample, struct fperf_contrast *contrast)
{
	struct moments of_base = moments_of(base), of_new = moments_of(new_runs);
	double base_variance = factor * factor * of_base.variance;
	double variance = base_variance + of_new.variance;
	size_t fewest = factor != 0 && base->count < new_runs->count ? base->count : new_runs->count;

	*contrast = (struct fperf_contrast){.estimate = of_new.mean - factor * of_base.mean};
	if (fewest < 2)
		return 0;
	contrast->known = true;
	contrast->df =
		degrees(base_variance, factor != 0 ? base->count : 0, of_new.variance, new_runs->count);
	contrast->error = sqrt(variance > least_variance ? variance : least_variance);
	if (resample && fewest >= FPERF_CONTRAST_BOOTSTRAP_RUNS && variance > least_variance)
		return bootstrap(base, new_runs, factor, contrast);
	return 0;
}

void fperf_contrast__free(struct fperf_contrast *contrast)
{
	free(contrast->t);
	contrast->t = NULL;
	contrast->t_count = 0;
}

/* The statistic's value that is not exceeded with probability p: of Student's t and the resamples whichever
 * is further out. Either alone is too sure of itself somewhere: Student where the runs are skewed and the two
 * sides are not alike, the resamples where they are few. */
static double statistic_quantile(const struct fperf_contrast *contrast, double p)
{
	double student = fperf_student__quantile(p, contrast->df), resampled = student;

	if (contrast->t_count) {
		double place = p * (double)(contrast->t_count + 1);
		size_t rank = place < 1 ? 1 : (size_t)place;

		resampled = contrast->t[(rank < contrast->t_count ? rank : contrast->t_count) - 1];
	}
	return (p < 0.5) == (resampled < student) ? resampled : student;
}

double fperf_contrast__bound(const struct fperf_contrast *contrast, double level)
{
	if (!contrast->known)
		return NAN;
	return contrast->estimate - contrast->error * statistic_quantile(contrast, 1 - level);
}

/* Share of the resamples that lie as far out as the statistic, on both sides. */
static double resampled_p(const struct fperf_contrast *contrast, double statistic)
{
	size_t low = 0, high = contrast->t_count, least;
	double p;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (contrast->t[middle] < statistic)
			low = middle + 1;
		else
			high = middle;
	}
	least = low < contrast->t_count - low ? low : contrast->t_count - low;
	p = 2 * (double)(least + 1) / (double)(contrast->t_count + 1);
	return p < 1 ? p : 1;
}

double fperf_contrast__p(const struct fperf_contrast *contrast)
{
	double statistic, student, resampled;

	if (!contrast->known || !(contrast->error > 0))
		return contrast->known && contrast->estimate != 0 ? 0 : 1;
	statistic = contrast->estimate / contrast->error;
	student = fperf_student__two_sided(fabs(statistic), contrast->df);
	if (!contrast->t_count)
		return student;
	resampled = resampled_p(contrast, statistic);
	return student > resampled ? student : resampled;
}

uint32_t fperf_runs_needed(double deviation, double effect)
{
	double ratio = effect > 0 ? deviation / effect : INFINITY;
	double normal = 2 * ratio * ratio * (1.959964 + 0.841621) * (1.959964 + 0.841621);
	uint32_t runs;

	if (!(normal < 1e6))
		return 0;
	runs = normal < 2 ? 2 : (uint32_t)normal;
	while (runs < 200) { /* the normal distribution does from there on */
		double reach = fperf_student__quantile(0.975, 2 * runs - 2) +
			       fperf_student__quantile(0.8, 2 * runs - 2);

		if (runs >= 2 * ratio * ratio * reach * reach)
			break;
		runs++;
	}
	return runs;
}

struct ranked {
	double p, weight; /* p: divided by the weight */
	size_t index;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->p < y->p || x->p > y->p)
		return x->p < y->p ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

int fperf_holm(const double *p, const double *weights, size_t count, double *adjusted)
{
	struct ranked *order = calloc(count + 1, sizeof(*order));
	double greatest = 0, left = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		double weight = weights ? weights[i] : 1;

		order[i] = (struct ranked){.p = p[i] / weight, .weight = weight, .index = i};
	}
	qsort(order, count, sizeof(*order), compare_ranked);
	for (size_t i = count; i-- > 0;)
		order[i].weight = left += order[i].weight; /* of this one and those after it */
	for (size_t i = 0; i < count; i++) {
		double corrected = order[i].p * order[i].weight;

		greatest = corrected > greatest ? corrected : greatest;
		adjusted[order[i].index] = greatest < 1 ? greatest : 1;
	}
	free(order);
	return 0;
}
