#include "analyze/blocks.h"

#include "analyze/random.h"
#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>

struct ranked {
	uint64_t time_ns;
	uint32_t frame;
};

/* A run arranged for resampling. */
struct frames {
	const uint64_t *times;
	size_t count, block;
	uint64_t budget_ns;
	uint64_t *sorted; /* ascending */
	uint32_t *rank;	  /* of each frame */
	uint32_t *drawn;  /* how often each rank was drawn */
	bool *jank;	  /* of each frame */
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

static void frames_free(struct frames *frames)
{
	free(frames->sorted);
	free(frames->rank);
	free(frames->drawn);
	free(frames->jank);
}

static size_t block_length(size_t count)
{
	size_t length = 1;

	while (length * length < count)
		length++;
	return length;
}

static int frames_init(struct frames *frames, const struct fperf_digest *digest)
{
	size_t count = digest->frame_count;
	struct ranked *order = malloc((count + 1) * sizeof(*order));

	*frames = (struct frames){.times = digest->times,
				  .count = count,
				  .block = block_length(count),
				  .budget_ns = digest->budget_ns,
				  .sorted = malloc((count + 1) * sizeof(uint64_t)),
				  .rank = malloc((count + 1) * sizeof(uint32_t)),
				  .drawn = malloc((count + 1) * sizeof(uint32_t)),
				  .jank = calloc(count + 1, sizeof(bool))};
	if (!order || !frames->sorted || !frames->rank || !frames->drawn || !frames->jank) {
		free(order);
		frames_free(frames);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		order[i] = (struct ranked){.time_ns = digest->times[i], .frame = (uint32_t)i};
	qsort(order, count, sizeof(*order), compare_ranked);
	for (size_t i = 0; i < count; i++) {
		frames->sorted[i] = order[i].time_ns;
		frames->rank[order[i].frame] = (uint32_t)i;
	}
	for (size_t i = 3; i < count; i++)
		frames->jank[i] = fperf_digest__frame_metric(FPERF_METRIC_JANK, &digest->times[i - 3],
							     frames->sorted, 4, 1, 0) > 0;
	free(order);
	return 0;
}

/* Draws whole blocks until there are as many frames as there were. Returns the number of janks. */
static size_t draw(struct frames *frames, struct fperf_random *random)
{
	size_t jank = 0;

	for (size_t i = 0; i < frames->count; i++)
		frames->drawn[i] = 0;
	for (size_t taken = 0; taken < frames->count;) {
		size_t at = fperf_random__below(random, (uint32_t)frames->count);

		for (size_t i = 0; i < frames->block && taken < frames->count; i++, taken++) {
			frames->drawn[frames->rank[at]]++;
			jank += frames->jank[at];
			at = at + 1 < frames->count ? at + 1 : 0;
		}
	}
	return jank;
}

/* Mean of the slowest `want` drawn frames, as a rate. */
static double slowest_fps(const struct frames *frames, size_t part)
{
	size_t want = frames->count / part ? frames->count / part : 1, left = want;
	double sum = 0;

	for (size_t rank = frames->count; rank-- > 0 && left;) {
		size_t of_this = frames->drawn[rank] < left ? frames->drawn[rank] : left;

		sum += (double)of_this * (double)frames->sorted[rank];
		left -= of_this;
	}
	return sum > 0 ? (double)want * 1e9 / sum : 0;
}

static void figures(const struct frames *frames, size_t jank, double *value)
{
	static const struct {
		enum fperf_metric metric;
		size_t permille;
	} percentiles[] = {{FPERF_METRIC_P50, 500},
			   {FPERF_METRIC_P90, 900},
			   {FPERF_METRIC_P95, 950},
			   {FPERF_METRIC_P99, 990},
			   {FPERF_METRIC_MAX, 1000}};
	size_t seen = 0, next = 0, slow = 0;
	double sum = 0, minutes;

	for (size_t rank = 0; rank < frames->count; rank++) {
		seen += frames->drawn[rank];
		sum += (double)frames->drawn[rank] * (double)frames->sorted[rank];
		if (frames->sorted[rank] > frames->budget_ns)
			slow += frames->drawn[rank];
		while (next < 5 && seen * 1000 >= frames->count * percentiles[next].permille)
			value[percentiles[next++].metric] = (double)frames->sorted[rank];
	}
	minutes = sum / 60e9;
	value[FPERF_METRIC_MEAN] = sum / (double)frames->count;
	value[FPERF_METRIC_LOW_1PCT] = slowest_fps(frames, 100);
	value[FPERF_METRIC_LOW_01PCT] = slowest_fps(frames, 1000);
	value[FPERF_METRIC_FPS] = (double)frames->count * 1e9 / sum;
	value[FPERF_METRIC_HITCHES] = (double)slow / minutes;
	value[FPERF_METRIC_JANK] = (double)jank / minutes;
}

int fperf_blocks__resample(const struct fperf_digest *digest, uint64_t seed,
			   double (*values)[FPERF_BLOCKS_RESAMPLES])
{
	struct fperf_random random = {.state = seed};
	double value[FPERF_BLOCKS_METRICS];
	struct frames frames;

	if (!digest->frame_count || frames_init(&frames, digest))
		return -ENOMEM;
	for (size_t i = 0; i < FPERF_BLOCKS_RESAMPLES; i++) {
		figures(&frames, draw(&frames, &random), value);
		for (size_t metric = 0; metric < FPERF_BLOCKS_METRICS; metric++)
			values[metric][i] = value[metric];
	}
	frames_free(&frames);
	return 0;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int fperf_blocks__bounds(const struct fperf_digest *base, const struct fperf_digest *new_run,
			 const double *levels, size_t level_count, double factor,
			 double (*bounds)[FPERF_BLOCKS_METRICS])
{
	double(*values)[FPERF_BLOCKS_RESAMPLES] = calloc(FPERF_BLOCKS_METRICS, sizeof(*values));
	double(*of_base)[FPERF_BLOCKS_RESAMPLES] = calloc(FPERF_BLOCKS_METRICS, sizeof(*values));
	int failed = !values || !of_base || fperf_blocks__resample(new_run, 1, values) ||
		     (base && fperf_blocks__resample(base, 2, of_base));

	for (size_t metric = 0; metric < FPERF_BLOCKS_METRICS && !failed; metric++) {
		for (size_t i = 0; i < FPERF_BLOCKS_RESAMPLES; i++)
			values[metric][i] -= factor * of_base[metric][i];
		qsort(values[metric], FPERF_BLOCKS_RESAMPLES, sizeof(double), compare_doubles);
		for (size_t i = 0; i < level_count; i++) {
			double place = levels[i] * (FPERF_BLOCKS_RESAMPLES + 1);
			size_t rank = place < 1 ? 1 : (size_t)place;

			if (rank > FPERF_BLOCKS_RESAMPLES)
				rank = FPERF_BLOCKS_RESAMPLES;
			bounds[i][metric] = values[metric][rank - 1];
		}
	}
	free(values);
	free(of_base);
	return failed ? -ENOMEM : 0;
}
