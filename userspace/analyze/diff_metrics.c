/* The figures of both sides, and what single runs can show. */
#include "analyze/blocks.h"
#include "analyze/change.h"
#include "base/vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static size_t gather(const struct fperf_side *side, enum fperf_metric metric, double *values)
{
	size_t count = 0;

	for (size_t i = 0; i < side->count; i++)
		if (side->runs[i]->known[metric])
			values[count++] = side->runs[i]->value[metric];
	return count;
}

/* Of a rate per minute: (events + 1/2) / minutes^2, so that no events at all do not pass for certainty. */
static double rate_variance(const struct fperf_side *side, enum fperf_metric metric)
{
	double minutes = 0, events = 0.5;

	for (size_t i = 0; i < side->count; i++) {
		if (!side->runs[i]->known[metric])
			continue;
		minutes += side->runs[i]->seconds / 60;
		events += side->runs[i]->value[metric] * side->runs[i]->seconds / 60;
	}
	return minutes > 0 ? events / (minutes * minutes) : 0;
}

double fperf_diff__count_variance(const struct fperf_side *base, const struct fperf_side *new_side,
				  enum fperf_metric metric, double factor)
{
	if (metric != FPERF_METRIC_HITCHES && metric != FPERF_METRIC_JANK)
		return 0;
	return rate_variance(new_side, metric) +
	       (factor != 0 ? factor * factor * rate_variance(base, metric) : 0);
}

static int metric_add(struct fperf_diff *diff, const struct fperf_diff_options *options,
		      enum fperf_metric metric, double *base, double *new_values, size_t *capacity)
{
	const struct fperf_metric_info *info = fperf_metric__info(metric);
	struct fperf_figure figure = {
		.base = {base, gather(&diff->base, metric, base)},
		.new_values = {new_values, gather(&diff->new_side, metric, new_values)},
		.tolerance = info->tolerance,
		.less_is_worse = info->less_is_worse,
		.resample = true,
		.least_variance = fperf_diff__count_variance(&diff->base, &diff->new_side, metric, 1),
	};
	struct fperf_metric_change *change;

	if (!figure.base.count || !figure.new_values.count)
		return 0;
	change = fperf_vec__push(&diff->metrics, &diff->metric_count, capacity);
	if (!change)
		return -ENOMEM;
	change->metric = metric;
	return fperf_change__make(&figure, options, &change->change);
}

/* With one run on a side there is no telling how much runs differ; how much these frames leave open can be
 * said. */
static int within_runs(struct fperf_diff *diff)
{
	static const double levels[] = {0.025, 0.975};
	double bounds[2][FPERF_BLOCKS_METRICS];

	if ((diff->base.count > 1 && diff->new_side.count > 1) || !diff->base.runs[0]->frame_count ||
	    !diff->new_side.runs[0]->frame_count)
		return 0;
	if (diff->base.count > 1 || diff->new_side.count > 1)
		return 0;
	if (fperf_blocks__bounds(diff->base.runs[0], diff->new_side.runs[0], levels, 2, 1, bounds))
		return -ENOMEM;
	for (size_t i = 0; i < diff->metric_count; i++) {
		struct fperf_change *change = &diff->metrics[i].change;

		if (diff->metrics[i].metric >= (int)FPERF_BLOCKS_METRICS || !isnan(change->low))
			continue;
		change->low = bounds[0][diff->metrics[i].metric];
		change->high = bounds[1][diff->metrics[i].metric];
		change->within_run = true;
	}
	return 0;
}

static int family_judge(struct fperf_diff *diff, enum fperf_family family)
{
	struct fperf_change *changes[FPERF_METRICS];
	size_t count = 0;

	for (size_t i = 0; i < diff->metric_count; i++)
		if (fperf_metric__info(diff->metrics[i].metric)->family == family)
			changes[count++] = &diff->metrics[i].change;
	return fperf_changes__judge(changes, count, false);
}

int fperf_diff__metrics(struct fperf_diff *diff, const struct fperf_diff_options *options)
{
	double *values = calloc(diff->base.count + diff->new_side.count + 1, sizeof(*values));
	size_t capacity = 0;
	int failed = values ? 0 : -ENOMEM;

	for (int metric = 0; metric < FPERF_METRICS && !failed; metric++)
		failed = metric_add(diff, options, (enum fperf_metric)metric, values,
				    values + diff->base.count, &capacity);
	free(values);
	if (!failed)
		failed = within_runs(diff);
	for (int family = 0; family <= FPERF_FAMILY_CAUSES && !failed; family++)
		failed = family_judge(diff, (enum fperf_family)family);
	return failed;
}
