/* What may be a frame boundary: the candidates of --frame auto. */
#ifndef FPERF_CAPTURE_FRAME_TABLE_H
#define FPERF_CAPTURE_FRAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPERF_NO_SURFACE 255

struct fperf_frame_candidate {
	const char *library; /* as fperf_library__matches() takes it */
	const char *symbol;  /* NULL: has no symbol, found by asking the driver (Vulkan) */
	uint8_t rank;	     /* 0 is nearest to the driver */
	uint8_t surface_arg; /* which argument names the surface */
};

const struct fperf_frame_candidate *fperf_frame_table(size_t *count);

/* True for a library that may be a Vulkan driver. */
bool fperf_frame_table__is_vulkan_driver(const char *path);

#endif
