/* Burns CPU time in the caller's name: inlined, so that samples land in the function that spins. */
#ifndef SPIN_H
#define SPIN_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* About `rounds` dependent multiplications; `seed` keeps the compiler from removing them. */
static inline __attribute__((always_inline)) uint64_t spin_rounds(uint64_t rounds, uint64_t seed)
{
	for (uint64_t i = 0; i < rounds; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		__asm__ volatile("" : "+r"(seed));
	}
	return seed;
}

/* Spins until `ns` of this thread's CPU time have gone by, almost all of it in the caller itself. */
static inline __attribute__((always_inline)) uint64_t spin_ns(uint64_t ns)
{
	uint64_t end = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) + ns, seed = ns;

	while (clock_now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		seed = spin_rounds(20000, seed);
	return seed;
}

#define NOINLINE __attribute__((noinline, noclone, used))

#endif
