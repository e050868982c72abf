#include "analyze/diff.h"

#include "analyze/change.h"

#include <stdlib.h>

const char *fperf_change_result__name(enum fperf_change_result result)
{
	static const char *const names[FPERF_CHANGE_RESULTS] = {"worse", "better", "same", "cannot_tell"};

	return names[result];
}

const char *fperf_profile__name(enum fperf_profile profile)
{
	static const char *const names[FPERF_PROFILES] = {"mean", "p50", "p95", "p99"};

	return names[profile];
}

/* Equal recordings differ by nothing, and that is certain. */
static void change_settle(struct fperf_change *change)
{
	change->low = change->high = change->difference = 0;
	change->p = change->p_holm = 1;
	change->within_run = false;
	change->result = FPERF_CHANGE_SAME;
}

static void settle(struct fperf_diff *diff)
{
	for (size_t i = 0; i < diff->metric_count; i++)
		change_settle(&diff->metrics[i].change);
	for (size_t i = 0; i < diff->function_count; i++) {
		change_settle(&diff->functions[i].self);
		change_settle(&diff->functions[i].total);
	}
	for (size_t i = 0; i < diff->thread_count; i++)
		change_settle(&diff->threads[i].cpu);
}

/* The answer is that of the primary figures: worse if any is, the same only if all are. */
static void result_find(struct fperf_diff *diff)
{
	size_t of[FPERF_CHANGE_RESULTS] = {0}, all = 0;

	for (size_t i = 0; i < diff->metric_count; i++)
		if (fperf_metric__info(diff->metrics[i].metric)->family == FPERF_FAMILY_PRIMARY) {
			of[diff->metrics[i].change.result]++;
			all++;
		}
	diff->mixed = of[FPERF_CHANGE_WORSE] && of[FPERF_CHANGE_BETTER];
	diff->result = FPERF_CHANGE_CANNOT_TELL;
	if (of[FPERF_CHANGE_WORSE])
		diff->result = FPERF_CHANGE_WORSE;
	else if (of[FPERF_CHANGE_BETTER])
		diff->result = FPERF_CHANGE_BETTER;
	else if (all && of[FPERF_CHANGE_SAME] == all)
		diff->result = FPERF_CHANGE_SAME;
}

int fperf_diff__make(const struct fperf_side *base, const struct fperf_side *new_side,
		     const struct fperf_diff_options *options, struct fperf_strtab *names,
		     struct fperf_diff **result, struct fperf_error *err)
{
	struct fperf_diff *diff = calloc(1, sizeof(*diff));

	*result = NULL;
	if (!diff)
		return fperf_error__no_memory(err, "the comparison");
	diff->base = *base;
	diff->new_side = *new_side;
	diff->scene = base->runs[0]->scene;
	if (fperf_diff__comparable(diff) || fperf_diff__metrics(diff, options) ||
	    fperf_diff__functions(diff, options, names) || fperf_diff__threads(diff, options, names) ||
	    fperf_diff__attributions(diff, names)) {
		fperf_diff__free(diff);
		return fperf_error__no_memory(err, "the comparison");
	}
	if (diff->same_sessions)
		settle(diff);
	result_find(diff);
	*result = diff;
	return 0;
}

void fperf_diff__free(struct fperf_diff *diff)
{
	if (!diff)
		return;
	for (size_t i = 0; i < diff->attribution_count; i++)
		free(diff->attributions[i].parts);
	free(diff->metrics);
	free(diff->functions);
	free(diff->threads);
	free(diff->warnings);
	free(diff);
}

const struct fperf_change *fperf_diff__metric(const struct fperf_diff *diff, enum fperf_metric metric)
{
	for (size_t i = 0; i < diff->metric_count; i++)
		if (diff->metrics[i].metric == metric)
			return &diff->metrics[i].change;
	return NULL;
}

bool fperf_diff__refused(const struct fperf_diff *diff)
{
	for (size_t i = 0; i < diff->warning_count; i++)
		if (diff->warnings[i].serious)
			return true;
	return false;
}
