/* Hashes for telling damage and change, not for hostile input. */
#ifndef FPERF_BASE_HASH_H
#define FPERF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a over 8-byte words, in four lanes; the tail byte by byte. Fast on megabytes; not the same on machines
 * of another byte order. */
uint64_t fperf_hash__words(const void *bytes, size_t size, uint64_t seed);

#endif
