#include "analyze/change.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define SIGNIFICANT 0.05

/* Runs on each side that are asked for when nothing is known of how much runs differ. */
#define RUNS_AT_LEAST 3

int fperf_change__make(const struct fperf_figure *figure, const struct fperf_diff_options *options,
		       struct fperf_change *change)
{
	struct fperf_contrast contrast;

	*change = (struct fperf_change){
		.base_runs = figure->base.count,
		.new_runs = figure->new_values.count,
		.base = fperf_values__mean(&figure->base),
		.new_value = fperf_values__mean(&figure->new_values),
		.less_is_worse = figure->less_is_worse,
		.p_holm = NAN,
		.result = FPERF_CHANGE_CANNOT_TELL,
	};
	if (fperf_contrast__make(&figure->base, &figure->new_values, 1, figure->least_variance,
				 figure->resample, &contrast))
		return -ENOMEM;
	change->difference = contrast.estimate;
	change->low = fperf_contrast__bound(&contrast, 0.025);
	change->high = fperf_contrast__bound(&contrast, 0.975);
	change->p = contrast.known ? fperf_contrast__p(&contrast) : NAN;
	fperf_contrast__free(&contrast);
	change->base_deviation = figure->base.count > 1 ? sqrt(fperf_values__variance(&figure->base)) : NAN;
	change->new_deviation =
		figure->new_values.count > 1 ? sqrt(fperf_values__variance(&figure->new_values)) : NAN;
	change->matters = options->min_effect * fabs(change->base);
	change->tolerance = FPERF_TOLERANCE * fabs(change->base);
	if (change->matters > change->tolerance)
		change->tolerance = change->matters;
	if (figure->tolerance > change->tolerance)
		change->tolerance = figure->tolerance;
	change->runs_needed = RUNS_AT_LEAST;
	return 0;
}

/* Whether the interval says that no difference is as great as the tolerance. */
static bool is_excluded(const struct fperf_change *change)
{
	return change->low >= -change->tolerance && change->high <= change->tolerance;
}

static void judge(struct fperf_change *change)
{
	change->result = FPERF_CHANGE_CANNOT_TELL;
	if (isnan(change->p))
		return;
	change->runs_needed = 0;
	if (change->p_holm < SIGNIFICANT && fabs(change->difference) >= change->matters)
		change->result = (change->difference > 0) == change->less_is_worse ? FPERF_CHANGE_BETTER
										   : FPERF_CHANGE_WORSE;
	else if (change->p_holm < SIGNIFICANT || is_excluded(change))
		change->result = FPERF_CHANGE_SAME;
	else
		change->runs_needed =
			fperf_runs_needed(sqrt((change->base_deviation * change->base_deviation +
						change->new_deviation * change->new_deviation) /
					       2),
					  change->tolerance);
}

int fperf_changes__judge(struct fperf_change *const *changes, size_t count, bool weighted)
{
	double *p = calloc((count + 1) * 3, sizeof(*p)), *adjusted = p + count + 1;
	double *weights = adjusted + count + 1;
	size_t known = 0;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		double size = fabs(changes[i]->base) + fabs(changes[i]->new_value);

		if (isnan(changes[i]->p))
			continue;
		weights[known] = weighted && size > 0 ? size : 1;
		p[known++] = changes[i]->p;
	}
	if (fperf_holm(p, weights, known, adjusted)) {
		free(p);
		return -ENOMEM;
	}
	known = 0;
	for (size_t i = 0; i < count; i++) {
		if (!isnan(changes[i]->p))
			changes[i]->p_holm = adjusted[known++];
		judge(changes[i]);
	}
	free(p);
	return 0;
}
