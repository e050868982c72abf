#include "capture/vulkan_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The few declarations of the Vulkan API (registry of version 1.0) and of its loader-driver interface that
 * are needed; the structures of requests begin with a type and a chain. */
enum {
	TYPE_APPLICATION_INFO = 0,
	TYPE_INSTANCE_CREATE_INFO = 1,
	TYPE_DEVICE_QUEUE_CREATE_INFO = 2,
	TYPE_DEVICE_CREATE_INFO = 3,
};

#define VULKAN_1_0	     (1u << 22)
#define LOADER_INTERFACE_MAX 5u
#define MAX_GPUS	     16u

struct application_info {
	int32_t type;
	const void *next;
	const char *application;
	uint32_t application_version;
	const char *engine;
	uint32_t engine_version, api_version;
};

struct instance_create_info {
	int32_t type;
	const void *next;
	uint32_t flags;
	const struct application_info *application;
	uint32_t layer_count;
	const char *const *layers;
	uint32_t extension_count;
	const char *const *extensions;
};

struct queue_create_info {
	int32_t type;
	const void *next;
	uint32_t flags, family, count;
	const float *priorities;
};

struct device_create_info {
	int32_t type;
	const void *next;
	uint32_t flags, queue_count;
	const struct queue_create_info *queues;
	uint32_t layer_count;
	const char *const *layers;
	uint32_t extension_count;
	const char *const *extensions;
	const void *features;
};

typedef void *handle;
typedef void (*any_function)(void);
typedef any_function (*get_proc_addr)(handle object, const char *name);
typedef int32_t (*negotiate)(uint32_t *version);
typedef int32_t (*create_instance)(const struct instance_create_info *info, const void *allocator,
				   handle *instance);
typedef int32_t (*enumerate_gpus)(handle instance, uint32_t *count, handle *gpus);
typedef int32_t (*create_device)(handle gpu, const struct device_create_info *info, const void *allocator,
				 handle *device);

/* A void pointer of dlsym() as a function pointer, the way POSIX asks for. */
static any_function symbol_of(void *library, const char *name)
{
	any_function function;

	*(void **)&function = dlsym(library, name);
	return function;
}

static int instance_make(get_proc_addr instance_function, handle *instance, struct fperf_error *err)
{
	static const char *const extensions[] = {"VK_KHR_surface"};
	const struct application_info application = {.type = TYPE_APPLICATION_INFO,
						     .api_version = VULKAN_1_0};
	const struct instance_create_info info = {
		.type = TYPE_INSTANCE_CREATE_INFO,
		.application = &application,
		.extension_count = 1,
		.extensions = extensions,
	};
	create_instance create = (create_instance)instance_function(NULL, "vkCreateInstance");
	int32_t result = create ? create(&info, NULL, instance) : -1;

	return result ? fperf_error__set(err, -ENODEV, "vkCreateInstance fails with %d", result) : 0;
}

/* The driver's function, by way of a device of this GPU; NULL: it can't present. */
static any_function present_of(get_proc_addr instance_function, handle instance, handle gpu)
{
	static const char *const extensions[] = {"VK_KHR_swapchain"};
	const float priority = 1;
	const struct queue_create_info queue = {
		.type = TYPE_DEVICE_QUEUE_CREATE_INFO, .count = 1, .priorities = &priority};
	const struct device_create_info info = {
		.type = TYPE_DEVICE_CREATE_INFO,
		.queue_count = 1,
		.queues = &queue,
		.extension_count = 1,
		.extensions = extensions,
	};
	create_device create = (create_device)instance_function(instance, "vkCreateDevice");
	get_proc_addr device_function = (get_proc_addr)instance_function(instance, "vkGetDeviceProcAddr");
	handle device = NULL;

	if (!create || !device_function || create(gpu, &info, NULL, &device) || !device)
		return NULL;
	return device_function(device, "vkQueuePresentKHR");
}

static int present_find(void *library, any_function *present, struct fperf_error *err)
{
	negotiate negotiate_version =
		(negotiate)symbol_of(library, "vk_icdNegotiateLoaderICDInterfaceVersion");
	get_proc_addr instance_function = (get_proc_addr)symbol_of(library, "vk_icdGetInstanceProcAddr");
	uint32_t version = LOADER_INTERFACE_MAX, count = MAX_GPUS;
	enumerate_gpus enumerate;
	handle instance = NULL, gpus[MAX_GPUS];
	int32_t code;
	int result;

	if (!instance_function)
		return fperf_error__set(err, -ENOEXEC, "no Vulkan driver: has no vk_icdGetInstanceProcAddr");
	if (negotiate_version)
		negotiate_version(&version);
	result = instance_make(instance_function, &instance, err);
	if (result)
		return result;
	enumerate = (enumerate_gpus)instance_function(instance, "vkEnumeratePhysicalDevices");
	code = enumerate ? enumerate(instance, &count, gpus) : -1;
	if (code < 0 || !count)
		return fperf_error__set(err, -ENODEV, "the driver finds no GPU here (%d)", code);
	for (uint32_t i = 0; i < count && i < MAX_GPUS; i++) {
		*present = present_of(instance_function, instance, gpus[i]);
		if (*present)
			return 0;
	}
	return fperf_error__set(err, -ENODEV, "no GPU of the driver can present");
}

/* Address to file and offset by this process' own mappings. */
static int address_to_place(uint64_t address, struct fperf_vulkan_place *place, struct fperf_error *err)
{
	int result = fperf_error__set(err, -EFAULT, "vkQueuePresentKHR lies in no file");
	char line[sizeof(place->path) + 128];
	FILE *maps = fopen("/proc/self/maps", "re");

	if (!maps)
		return fperf_error__set_errno(err, -errno, "/proc/self/maps: open");
	while (fgets(line, sizeof(line), maps)) {
		unsigned long long start, end, offset;
		int path = 0;

		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %n", &start, &end, &offset, &path) < 3 || !path)
			continue;
		if (address < start || address >= end || line[path] != '/')
			continue;
		snprintf(place->path, sizeof(place->path), "%.4095s", line + path);
		place->file_offset = address - start + offset;
		result = 0;
		break;
	}
	fclose(maps);
	return result;
}

int fperf_vulkan_driver__find_present(const char *driver, struct fperf_vulkan_place *place,
				      struct fperf_error *err)
{
	void *library = dlopen(driver, RTLD_NOW | RTLD_LOCAL); /* never closed: the process ends soon */
	any_function present;
	int result;

	if (!library)
		return fperf_error__set(err, -ENOEXEC, "%s", dlerror());
	result = present_find(library, &present, err);
	if (!result)
		result = address_to_place((uint64_t)(uintptr_t)present, place, err);
	return result ? fperf_error__wrap(err, "%s", driver) : 0;
}
