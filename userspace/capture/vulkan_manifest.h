/* Which Vulkan drivers are installed: the manifests that the Vulkan loader reads. */
#ifndef FPERF_CAPTURE_VULKAN_MANIFEST_H
#define FPERF_CAPTURE_VULKAN_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Calls back with the path of each driver that process `pid` would find. Not found is no error. */
void fperf_vulkan_manifest__drivers(pid_t pid, void (*found)(void *context, pid_t pid, const char *path),
				    void *context);

/* The "library_path" of a manifest (JSON); false when there is none. `text` may be hostile. */
bool fperf_vulkan_manifest__library(const char *text, size_t size, char *path, size_t path_size);

#endif
