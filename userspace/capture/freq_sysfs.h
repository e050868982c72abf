/* CPU clocks as sysfs tells them (Documentation/admin-guide/pm/cpufreq.rst). */
#ifndef FPERF_CAPTURE_FREQ_SYSFS_H
#define FPERF_CAPTURE_FREQ_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPERF_FREQ_ROOT "/sys/devices/system/cpu"

struct fperf_freq_cpu {
	uint32_t cpu;
	uint32_t policy; /* the CPU that its policy is named after */
	/* kHz; 0: not told */
	uint32_t current;
	uint32_t min, max;		     /* limits of now */
	uint32_t hardware_min, hardware_max; /* what the CPU can do */
};

/* CPUs 0 .. limit - 1 that have a clock to tell of, into `cpus` (room for `limit`). Returns how many; 0 where
 * there is no cpufreq driver. `driver` (may be NULL) gets its name. */
size_t fperf_freq_sysfs__read(const char *root, uint32_t limit, struct fperf_freq_cpu *cpus, char *driver,
			      size_t driver_size);

/* How many CPUs this machine can have, at most `limit`. */
uint32_t fperf_freq_sysfs__cpus(uint32_t limit);

/* The parts that change, of one CPU. False when they can't be read (the CPU is offline). */
bool fperf_freq_sysfs__update(const char *root, struct fperf_freq_cpu *cpu);

#endif
