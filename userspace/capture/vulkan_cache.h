/* What drivers answered, kept on disk by their build ID, so that each build is asked only once. */
#ifndef FPERF_CAPTURE_VULKAN_CACHE_H
#define FPERF_CAPTURE_VULKAN_CACHE_H

#include "frameperf/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPERF_VULKAN_CACHE "/var/cache/frameperf/vulkan"

struct fperf_vulkan_answer {
	bool found;	      /* false: the driver was asked and can't present here */
	uint64_t file_offset; /* of vkQueuePresentKHR */
	/* Build ID of the file that holds it: the driver's own, or that of another library. */
	uint8_t build_id[FPERF_BUILD_ID_MAX];
	size_t build_id_size;
	char path[4096]; /* of that file, as the target saw it */
};

/* Only what root wrote where only root may write is believed. */
bool fperf_vulkan_cache__get(const char *directory, const uint8_t *build_id, size_t size,
			     struct fperf_vulkan_answer *answer);

/* Best effort: without a place to keep it, the driver is asked again next time. */
void fperf_vulkan_cache__put(const char *directory, const uint8_t *build_id, size_t size,
			     const struct fperf_vulkan_answer *answer);

#endif
