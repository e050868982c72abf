/* Small statistics. Internal to analyze/. */
#ifndef FPERF_ANALYZE_STATS_H
#define FPERF_ANALYZE_STATS_H

#include <stddef.h>
#include <stdint.h>

void fperf_stats__sort(uint64_t *values, size_t count);

/* Nearest rank: the smallest value that at least `permille` of 1000 of all values do not exceed. `sorted`
 * ascending; 0 for no values. */
uint64_t fperf_stats__percentile(const uint64_t *sorted, size_t count, uint32_t permille);

/* Rounded down; 0 for no values. */
uint64_t fperf_stats__mean(const uint64_t *values, size_t count);

/* Middle by time: half of the summed-up values lies in values up to this one, each counting for itself but
 * for no more than `limit`. `sorted` ascending; 0 for no values. */
uint64_t fperf_stats__time_median(const uint64_t *sorted, size_t count, uint64_t limit);

#endif
