/* frameperf vulkan-present PID DRIVER: not for people. `record` runs it as a process of its own, to learn
 * where a Vulkan driver presents (see userspace/capture/vulkan_ask.h). */
#include "vulkan_present.h"

#include "capture/vulkan_ask.h"
#include "capture/vulkan_driver.h"
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

int fperf_vulkan_present__main(int argc, char **argv)
{
	static struct fperf_vulkan_place place;
	struct fperf_error err = {0};
	uint32_t pid;
	int result;

	if (argc != 2)
		return FPERF_EXIT_USAGE;
	result = fperf_value__u32(argv[0], 1, INT32_MAX, &pid, &err);
	if (!result)
		result = fperf_vulkan_driver__become((pid_t)pid, &err);
	if (!result)
		result = fperf_vulkan_driver__find_present(argv[1], &place, &err);
	if (result)
		printf("%s%s\n", result == -ENODEV ? FPERF_VULKAN_ABSENT : "", err.text);
	else
		printf("0x%" PRIx64 " %s\n", place.file_offset, place.path);
	fflush(stdout);
	_exit(result ? FPERF_EXIT_FAILED : FPERF_EXIT_OK); /* what the driver wants to do at exit may hang */
}
