/* Many durations in little memory: counts on a logarithmic scale. A value is off by at most 1/512. */
#ifndef FPERF_ANALYZE_HISTOGRAM_H
#define FPERF_ANALYZE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define FPERF_HISTOGRAM_STEPS 256 /* per doubling */

/* Zeroed: empty. Grows with the doublings that its values span. */
struct fperf_histogram {
	uint64_t *counts;
	size_t count, capacity;
	uint64_t values, max;
	double sum;
};

int fperf_histogram__add(struct fperf_histogram *histogram, uint64_t value); /* 0 or -ENOMEM */
void fperf_histogram__free(struct fperf_histogram *histogram);

/* Nearest rank, like fperf_stats__percentile(); 0 for no values. */
uint64_t fperf_histogram__percentile(const struct fperf_histogram *histogram, uint32_t permille);

/* Mean of the `count` greatest values, which must be at least 1; 0 for no values. */
double fperf_histogram__mean_of_greatest(const struct fperf_histogram *histogram, uint64_t count);

/* Middle by time, like fperf_stats__time_median(). */
uint64_t fperf_histogram__time_median(const struct fperf_histogram *histogram, uint64_t limit);

#endif
