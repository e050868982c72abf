#include "analyze/stats.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void fperf_stats__sort(uint64_t *values, size_t count)
{
	if (count)
		qsort(values, count, sizeof(*values), compare);
}

uint64_t fperf_stats__percentile(const uint64_t *sorted, size_t count, uint32_t permille)
{
	size_t rank = (size_t)(((unsigned __int128)count * permille + 999) / 1000);

	if (!count)
		return 0;
	if (rank < 1)
		rank = 1;
	return sorted[(rank > count ? count : rank) - 1];
}

uint64_t fperf_stats__mean(const uint64_t *values, size_t count)
{
	unsigned __int128 sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return count ? (uint64_t)(sum / count) : 0;
}

uint64_t fperf_stats__time_median(const uint64_t *sorted, size_t count, uint64_t limit)
{
	unsigned __int128 sum = 0, half;

	for (size_t i = 0; i < count; i++)
		sum += sorted[i] < limit ? sorted[i] : limit;
	half = (sum + 1) / 2;
	sum = 0;
	for (size_t i = 0; i < count; i++) {
		sum += sorted[i] < limit ? sorted[i] : limit;
		if (sum >= half)
			return sorted[i];
	}
	return 0;
}
