#ifndef FPERF_TOOLS_VULKAN_PRESENT_H
#define FPERF_TOOLS_VULKAN_PRESENT_H

/* Arguments after the subcommand's name. */
int fperf_vulkan_present__main(int argc, char **argv);

#endif
