/* Growable array: the caller keeps pointer, count and capacity; this grows them. */
#ifndef FPERF_BASE_VEC_H
#define FPERF_BASE_VEC_H

#include <stddef.h>

/* Makes room for `need` elements of `size` bytes; new memory is zeroed. Returns 0 or -ENOMEM with *data
 * unchanged.
 * `*data` is reallocated: pointers into it become invalid. */
int fperf_vec__grow(void **data, size_t *capacity, size_t need, size_t size);

/* A new zeroed element at the end, or NULL when out of memory; *data is reallocated as above. */
void *fperf_vec__append(void **data, size_t *count, size_t *capacity, size_t size);

/* The same for a typed array: `struct x *x = fperf_vec__push(&array, &count, &capacity);` */
#define fperf_vec__push(array, count, capacity)                                                              \
	fperf_vec__append((void **)(array), (count), (capacity), sizeof(**(array)))

#endif
