/* Growable array: the caller keeps pointer, count and capacity; this grows them. */
#ifndef FPERF_BASE_VEC_H
#define FPERF_BASE_VEC_H

#include <stddef.h>

/* Makes room for `need` elements of `size` bytes; new memory is zeroed. Returns 0 or -ENOMEM with *data
 * unchanged.
 * `*data` is reallocated: pointers into it become invalid. */
int fperf_vec__grow(void **data, size_t *capacity, size_t need, size_t size);

/* fperf_vec__push(&array, &count, &capacity): pointer to a new zeroed element, or NULL when out of memory. */
#define fperf_vec__push(array, count, capacity)                                                              \
	(fperf_vec__grow((void **)(array), (capacity), *(count) + 1, sizeof(**(array)))                      \
		 ? NULL                                                                                      \
		 : &(*(array))[(*(count))++])

#endif
