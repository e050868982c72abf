/* Where a Vulkan driver keeps its vkQueuePresentKHR. Programs get its address from vkGetDeviceProcAddr and
 * call it past every exported function; drivers do not export it. So the driver is loaded, and asked.
 *
 * Runs in a process of its own: drivers may crash, hang or start threads.
 */
#ifndef FPERF_CAPTURE_VULKAN_DRIVER_H
#define FPERF_CAPTURE_VULKAN_DRIVER_H

#include "base/error.h"

#include <stdint.h>
#include <sys/types.h>

struct fperf_vulkan_place {
	char path[4096];      /* of the file that holds the function: the driver, or a library it uses */
	uint64_t file_offset; /* of the function in it */
};

/* Loads the driver through its loader interface, without loader and layers, and makes a device of the first
 * GPU that can present. -ENODEV: the driver has no such device here. */
int fperf_vulkan_driver__find_present(const char *driver, struct fperf_vulkan_place *place,
				      struct fperf_error *err);

/* Moves this process into the mount namespace and root directory of `pid` and gives up all privileges for
 * that process' user, for good. */
int fperf_vulkan_driver__become(pid_t pid, struct fperf_error *err);

#endif
