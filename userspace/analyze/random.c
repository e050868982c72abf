#include "analyze/random.h"

uint64_t fperf_random__next(struct fperf_random *random)
{
	uint64_t value = random->state += 0x9e3779b97f4a7c15ull;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ value >> 27) * 0x94d049bb133111ebull;
	return value ^ value >> 31;
}

/* Lemire: Fast Random Integer Generation in an Interval, 2019: the high half of a product, with the few
 * values rejected that would come too often. */
uint32_t fperf_random__below(struct fperf_random *random, uint32_t below)
{
	uint32_t reject = (0u - below) % below;
	uint64_t product;

	do {
		product = (fperf_random__next(random) >> 32) * below;
	} while ((uint32_t)product < reject);
	return (uint32_t)(product >> 32);
}
