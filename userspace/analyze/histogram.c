#include "analyze/histogram.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

/* Values below STEPS have a bucket of their own; from there on each doubling has STEPS of them. */
static size_t bucket_of(uint64_t value)
{
	unsigned int doublings;

	if (value < FPERF_HISTOGRAM_STEPS)
		return (size_t)value;
	doublings = 63u - (unsigned int)__builtin_clzll(value) - 8u;
	return FPERF_HISTOGRAM_STEPS * (doublings + 1u) +
	       (size_t)((value >> doublings) - FPERF_HISTOGRAM_STEPS);
}

/* The middle of a bucket. */
static uint64_t value_of(size_t bucket)
{
	size_t doublings;

	if (bucket < FPERF_HISTOGRAM_STEPS)
		return bucket;
	doublings = bucket / FPERF_HISTOGRAM_STEPS - 1;
	return ((uint64_t)(bucket % FPERF_HISTOGRAM_STEPS + FPERF_HISTOGRAM_STEPS) << doublings) +
	       (doublings ? (uint64_t)1 << (doublings - 1) : 0);
}

int fperf_histogram__add(struct fperf_histogram *histogram, uint64_t value)
{
	size_t bucket = bucket_of(value);

	if (fperf_vec__grow((void **)&histogram->counts, &histogram->capacity, bucket + 1,
			    sizeof(*histogram->counts)))
		return -ENOMEM;
	if (bucket >= histogram->count)
		histogram->count = bucket + 1;
	histogram->counts[bucket]++;
	histogram->values++;
	histogram->sum += (double)value;
	if (value > histogram->max)
		histogram->max = value;
	return 0;
}

void fperf_histogram__free(struct fperf_histogram *histogram)
{
	free(histogram->counts);
	*histogram = (struct fperf_histogram){0};
}

/* Of the last bucket, its greatest value is known. */
static uint64_t at_most_max(const struct fperf_histogram *histogram, size_t bucket)
{
	uint64_t value = value_of(bucket);

	return value > histogram->max ? histogram->max : value;
}

uint64_t fperf_histogram__percentile(const struct fperf_histogram *histogram, uint32_t permille)
{
	uint64_t rank = (histogram->values * permille + 999) / 1000, seen = 0;

	for (size_t i = 0; i < histogram->count; i++) {
		seen += histogram->counts[i];
		if (histogram->counts[i] && seen >= rank)
			return at_most_max(histogram, i);
	}
	return 0;
}

double fperf_histogram__mean_of_greatest(const struct fperf_histogram *histogram, uint64_t count)
{
	uint64_t left = count < histogram->values ? count : histogram->values, taken = left;
	double sum = 0;

	for (size_t i = histogram->count; i-- > 0 && left;) {
		uint64_t here = histogram->counts[i] < left ? histogram->counts[i] : left;

		sum += (double)here * (double)at_most_max(histogram, i);
		left -= here;
	}
	return taken ? sum / (double)taken : 0;
}

uint64_t fperf_histogram__time_median(const struct fperf_histogram *histogram, uint64_t limit)
{
	double whole = 0, seen = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < histogram->count; i++) {
			uint64_t value = at_most_max(histogram, i);
			double weight =
				(double)histogram->counts[i] * (double)(value < limit ? value : limit);

			if (!pass) {
				whole += weight;
				continue;
			}
			seen += weight;
			if (histogram->counts[i] && 2 * seen >= whole)
				return value;
		}
	}
	return 0;
}
