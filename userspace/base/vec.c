#include "base/vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int fperf_vec__grow(void **data, size_t *capacity, size_t need, size_t size)
{
	size_t wanted = *capacity ? *capacity : 16;
	void *grown;

	if (need <= *capacity)
		return 0;
	while (wanted < need) {
		if (wanted > SIZE_MAX / 2)
			return -ENOMEM;
		wanted *= 2;
	}
	if (wanted > SIZE_MAX / size)
		return -ENOMEM;
	grown = realloc(*data, wanted * size);
	if (!grown)
		return -ENOMEM;
	memset((char *)grown + *capacity * size, 0, (wanted - *capacity) * size);
	*data = grown;
	*capacity = wanted;
	return 0;
}

void *fperf_vec__append(void **data, size_t *count, size_t *capacity, size_t size)
{
	void *element;

	if (fperf_vec__grow(data, capacity, *count + 1, size))
		return NULL;
	element = (char *)*data + (*count)++ * size;
	return memset(element, 0, size);
}
