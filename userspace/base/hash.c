#include "base/hash.h"

#include <string.h>

uint64_t fperf_hash__words(const void *data, size_t size, uint64_t seed)
{
	const uint64_t prime = 0x100000001b3ull;
	uint64_t lanes[4] = {seed ^ 0xcbf29ce484222325ull, seed + 1, seed + 2, seed + 3};
	const uint8_t *bytes = data;
	uint64_t hash, word;
	size_t at = 0;

	for (; at + 32 <= size; at += 32) {
		for (size_t lane = 0; lane < 4; lane++) {
			memcpy(&word, bytes + at + lane * 8, 8);
			lanes[lane] = (lanes[lane] ^ word) * prime;
			lanes[lane] ^= lanes[lane] >> 32;
		}
	}
	hash = lanes[0] ^ size;
	for (size_t lane = 1; lane < 4; lane++)
		hash = (hash ^ lanes[lane]) * prime;
	for (; at < size; at++)
		hash = (hash ^ bytes[at]) * prime;
	return hash;
}
