#include "analyze/explain.h"

#include "analyze/features.h"
#include "analyze/random.h"
#include "base/vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHUFFLES 999
#define SEED	 0x6578706c61696e31ull

/* Less than this is not worth saying, however sure it is. */
#define LEAST_EFFECT	 0.2
#define LEAST_SLOW	 4    /* slow frames, and as many that have it */
#define LEAST_PRESENCE	 0.25 /* share of the slow frames that have it */
#define CLOCK_DIFFERENCE 0.03
#define SIGNIFICANT	 0.05
#define CAUSE_COVERED	 0.5 /* of a cause, by its places or tasks: then the cause alone is not said */

const char *fperf_finding_kind__name(enum fperf_finding_kind kind)
{
	static const char *const names[FPERF_FINDING_KINDS] = {
		"function", "blocked", "task", "cause", "cpu", "cluster", "frequency", "mark", "period"};

	return names[kind];
}

/* Means and standard deviation of one feature; `sign` turns "less" into "more" for clocks. */
struct summary {
	double slow, ordinary, deviation, sign;
};

static bool is_amount(enum fperf_finding_kind kind)
{
	return kind <= FPERF_FINDING_CAUSE;
}

static void summarise(const struct fperf_features *features, const struct fperf_feature *feature,
		      struct summary *summary)
{
	size_t count = features->frame_count, slow = features->slow_count;
	double sums[2] = {0, 0}, mean, square = 0;

	for (size_t i = 0; i < count; i++)
		sums[features->slow[i]] += (double)feature->values[i];
	mean = (sums[0] + sums[1]) / (double)count;
	for (size_t i = 0; i < count; i++)
		square += ((double)feature->values[i] - mean) * ((double)feature->values[i] - mean);
	summary->slow = sums[1] / (double)slow;
	summary->ordinary = sums[0] / (double)(count - slow);
	summary->deviation = sqrt(square / (double)count);
	summary->sign = feature->about.kind == FPERF_FINDING_FREQUENCY ? -1 : 1;
}

/* ---- how sure ---- */

/* How much more the frames have that are `shift` after the slow ones, in standard deviations. */
static double statistic(const struct fperf_feature *feature, const struct summary *summary,
			const uint32_t *slow, size_t slow_count, size_t frame_count, size_t shift,
			double mean)
{
	double sum = 0;

	for (size_t i = 0; i < slow_count; i++) {
		size_t at = slow[i] + shift;

		sum += (double)feature->values[at < frame_count ? at : at - frame_count];
	}
	return summary->sign * (sum / (double)slow_count - mean) / summary->deviation;
}

struct shuffle {
	uint32_t *slow;	  /* places of the slow frames */
	double *mean;	  /* of each feature over all frames */
	double *real;	  /* statistic of each feature */
	uint32_t *beaten; /* shuffles whose greatest statistic is at least that */
};

static void shuffle_free(struct shuffle *shuffle)
{
	free(shuffle->slow);
	free(shuffle->mean);
	free(shuffle->real);
	free(shuffle->beaten);
}

static int shuffle_init(struct shuffle *shuffle, const struct fperf_features *features,
			const struct summary *summaries)
{
	size_t slow = 0, count = features->frame_count;

	*shuffle = (struct shuffle){
		.slow = calloc(features->slow_count + 1, sizeof(*shuffle->slow)),
		.mean = calloc(features->count + 1, sizeof(*shuffle->mean)),
		.real = calloc(features->count + 1, sizeof(*shuffle->real)),
		.beaten = calloc(features->count + 1, sizeof(*shuffle->beaten)),
	};
	if (!shuffle->slow || !shuffle->mean || !shuffle->real || !shuffle->beaten)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (features->slow[i])
			shuffle->slow[slow++] = (uint32_t)i;
	for (size_t i = 0; i < features->count; i++) {
		double share = (double)features->slow_count / (double)count;

		shuffle->mean[i] = summaries[i].slow * share + summaries[i].ordinary * (1 - share);
		if (summaries[i].deviation > 0)
			shuffle->real[i] = statistic(&features->items[i], &summaries[i], shuffle->slow,
						     features->slow_count, count, 0, shuffle->mean[i]);
	}
	return 0;
}

/* Corrected p-values: the label "slow" is moved along the run, all frames by the same random distance, which
 * keeps runs of slow frames together as they came; a feature has to beat the greatest of all features after
 * moving (Westfall and Young 1993). */
static int p_values(const struct fperf_features *features, const struct summary *summaries, double *p)
{
	struct fperf_random random = {.state = SEED};
	struct shuffle shuffle;
	int failed = shuffle_init(&shuffle, features, summaries);

	for (int i = 0; i < SHUFFLES && !failed; i++) {
		size_t shift = 1 + fperf_random__below(&random, (uint32_t)features->frame_count - 1);
		double greatest = 0;

		for (size_t k = 0; k < features->count; k++) {
			double moved;

			if (!(summaries[k].deviation > 0))
				continue;
			moved = statistic(&features->items[k], &summaries[k], shuffle.slow,
					  features->slow_count, features->frame_count, shift,
					  shuffle.mean[k]);
			greatest = moved > greatest ? moved : greatest;
		}
		for (size_t k = 0; k < features->count; k++)
			shuffle.beaten[k] += greatest >= shuffle.real[k];
	}
	for (size_t k = 0; k < features->count && !failed; k++)
		p[k] = (double)(shuffle.beaten[k] + 1) / (SHUFFLES + 1);
	shuffle_free(&shuffle);
	return failed;
}

/* ---- how much, how often ---- */

/* From which value on a frame "has it". */
static double limit_of(const struct fperf_finding *about, const struct summary *summary, double excess_ns)
{
	switch (about->kind) {
	case FPERF_FINDING_CPU:
	case FPERF_FINDING_CLUSTER:
	case FPERF_FINDING_MARK:
		return 0.5;
	case FPERF_FINDING_FREQUENCY:
		return summary->ordinary * (1 - CLOCK_DIFFERENCE);
	default: /* as much more than usual as a fifth of what slow frames took longer */
		return summary->ordinary + LEAST_EFFECT * excess_ns;
	}
}

/* Of the CPUs: of what ordinary frames leave to the others, the share that slow ones do not. */
static double effect_of(const struct fperf_finding *finding, const struct summary *summary, double excess_ns)
{
	if (is_amount(finding->kind))
		return (summary->slow - summary->ordinary) / excess_ns;
	if (finding->kind == FPERF_FINDING_CPU || finding->kind == FPERF_FINDING_CLUSTER)
		return summary->ordinary < 1 ? (summary->slow - summary->ordinary) / (1 - summary->ordinary)
					     : 0;
	return finding->slow_with - finding->ordinary_with;
}

static void finding_fill(const struct fperf_features *features, const struct fperf_feature *feature,
			 const struct summary *summary, double excess_ns, struct fperf_finding *finding)
{
	double limit = limit_of(&feature->about, summary, excess_ns);
	size_t with[2] = {0, 0};

	*finding = feature->about;
	finding->slow = summary->slow;
	finding->ordinary = summary->ordinary;
	for (size_t i = 0; i < features->frame_count; i++) {
		double value = (double)feature->values[i];

		with[features->slow[i]] += summary->sign < 0 ? value < limit : value >= limit;
	}
	finding->slow_with = (double)with[1] / (double)features->slow_count;
	finding->ordinary_with = (double)with[0] / (double)(features->frame_count - features->slow_count);
	finding->effect = effect_of(finding, summary, excess_ns);
}

static bool is_worth_saying(const struct fperf_features *features, const struct fperf_finding *finding)
{
	return finding->p <= SIGNIFICANT && finding->effect >= LEAST_EFFECT &&
	       finding->slow_with >= LEAST_PRESENCE &&
	       finding->slow_with * (double)features->slow_count >= LEAST_SLOW - 0.5;
}

/* A cause whose places or tasks were found says nothing more. */
static bool is_covered(const struct fperf_explanation *explanation, const struct fperf_finding *cause)
{
	double covered = 0;

	for (size_t i = 0; i < explanation->count; i++)
		if (explanation->items[i].kind < FPERF_FINDING_CAUSE &&
		    explanation->items[i].cause == cause->cause)
			covered += explanation->items[i].effect;
	return covered >= CAUSE_COVERED * cause->effect;
}

static int compare_findings(const void *a, const void *b)
{
	const struct fperf_finding *x = a, *y = b;

	if (x->effect < y->effect || x->effect > y->effect)
		return x->effect > y->effect ? -1 : 1;
	if (x->kind != y->kind)
		return (int)x->kind - (int)y->kind;
	return strcmp(x->name, y->name);
}

static int findings_add(struct fperf_explanation *explanation, const struct fperf_features *features,
			const struct summary *summaries, const double *p, bool causes, size_t *capacity)
{
	for (size_t i = 0; i < features->count; i++) {
		struct fperf_finding finding, *slot;

		if ((features->items[i].about.kind == FPERF_FINDING_CAUSE) != causes)
			continue;
		finding_fill(features, &features->items[i], &summaries[i], explanation->excess_ns, &finding);
		finding.p = p[i];
		if (!is_worth_saying(features, &finding) || (causes && is_covered(explanation, &finding)))
			continue;
		slot = fperf_vec__push(&explanation->items, &explanation->count, capacity);
		if (!slot)
			return -ENOMEM;
		*slot = finding;
	}
	return 0;
}

static double excess_of(const struct fperf_features *features)
{
	double sums[2] = {0, 0};

	for (size_t i = 0; i < features->frame_count; i++)
		sums[features->slow[i]] += features->time_ns[i];
	return sums[1] / (double)features->slow_count -
	       sums[0] / (double)(features->frame_count - features->slow_count);
}

static int compare_all(const struct fperf_features *features, struct fperf_explanation *explanation,
		       size_t *capacity)
{
	struct summary *summaries = calloc(features->count + 1, sizeof(*summaries));
	double *p = calloc(features->count + 1, sizeof(*p));
	int failed = summaries && p ? 0 : -ENOMEM;

	for (size_t i = 0; i < features->count && !failed; i++)
		summarise(features, &features->items[i], &summaries[i]);
	if (!failed)
		failed = p_values(features, summaries, p);
	if (!failed)
		failed = findings_add(explanation, features, summaries, p, false, capacity) ||
			 findings_add(explanation, features, summaries, p, true, capacity);
	free(summaries);
	free(p);
	return failed ? -ENOMEM : 0;
}

static int period_add(const struct fperf_analysis *analysis, struct fperf_explanation *explanation,
		      size_t *capacity)
{
	struct fperf_finding finding = {.kind = FPERF_FINDING_PERIOD, .name = "", .module = ""}, *slot;

	if (!fperf_period__find(analysis, &finding))
		return 0;
	slot = fperf_vec__push(&explanation->items, &explanation->count, capacity);
	if (!slot)
		return -ENOMEM;
	*slot = finding;
	return 0;
}

int fperf_explain(const struct fperf_analysis *analysis, struct fperf_explanation **result,
		  struct fperf_error *err)
{
	struct fperf_explanation *explanation = calloc(1, sizeof(*explanation));
	struct fperf_features features = {0};
	size_t capacity = 0;
	int failed = 0;

	*result = NULL;
	if (!explanation)
		return fperf_error__no_memory(err, "the explanation");
	if (analysis->holds.events && analysis->model)
		failed = fperf_features__collect(analysis, &features, err);
	explanation->slow = features.slow_count;
	explanation->ordinary = features.frame_count - features.slow_count;
	explanation->looked_at = features.count;
	if (!failed && explanation->slow >= LEAST_SLOW && explanation->ordinary > explanation->slow) {
		explanation->excess_ns = excess_of(&features);
		if ((explanation->excess_ns > 0 && compare_all(&features, explanation, &capacity)) ||
		    period_add(analysis, explanation, &capacity))
			failed = fperf_error__no_memory(err, "the explanation");
	}
	fperf_features__free(&features);
	if (failed) {
		fperf_explanation__free(explanation);
		return failed;
	}
	if (explanation->count)
		qsort(explanation->items, explanation->count, sizeof(*explanation->items), compare_findings);
	*result = explanation;
	return 0;
}

void fperf_explanation__free(struct fperf_explanation *explanation)
{
	if (!explanation)
		return;
	free(explanation->items);
	free(explanation);
}
