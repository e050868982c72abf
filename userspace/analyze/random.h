/* Random numbers for resampling: the same on every machine, for the same seed. Internal to analyze/. */
#ifndef FPERF_ANALYZE_RANDOM_H
#define FPERF_ANALYZE_RANDOM_H

#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). */
struct fperf_random {
	uint64_t state; /* the seed, at first */
};

uint64_t fperf_random__next(struct fperf_random *random);

/* Uniform in 0 .. below - 1, without bias; `below` must not be 0. */
uint32_t fperf_random__below(struct fperf_random *random, uint32_t below);

#endif
