#include "capture/freq_sysfs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

uint32_t fperf_freq_sysfs__cpus(uint32_t limit)
{
	long count = sysconf(_SC_NPROCESSORS_CONF);

	return count > 0 && (unsigned long)count < limit ? (uint32_t)count : limit;
}

static FILE *file_open(const char *root, uint32_t cpu, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/cpu%u/cpufreq/%s", root, cpu, name);
	return fopen(path, "re");
}

static bool number_read(const char *root, uint32_t cpu, const char *name, uint32_t *number)
{
	FILE *file = file_open(root, cpu, name);
	bool read = false;
	unsigned value;

	if (!file)
		return false;
	if (fscanf(file, "%u", &value) == 1) { /* "<unsupported>" is no number */
		*number = value;
		read = true;
	}
	fclose(file);
	return read;
}

static void driver_read(const char *root, uint32_t cpu, char *driver, size_t size)
{
	FILE *file = file_open(root, cpu, "scaling_driver");

	if (!file)
		return;
	if (fgets(driver, (int)size, file))
		driver[strcspn(driver, "\n")] = 0;
	else
		driver[0] = 0;
	fclose(file);
}

bool fperf_freq_sysfs__update(const char *root, struct fperf_freq_cpu *cpu)
{
	bool any;

	cpu->current = cpu->min = cpu->max = 0;
	any = number_read(root, cpu->cpu, "scaling_cur_freq", &cpu->current);
	any = number_read(root, cpu->cpu, "scaling_min_freq", &cpu->min) || any;
	return number_read(root, cpu->cpu, "scaling_max_freq", &cpu->max) || any;
}

size_t fperf_freq_sysfs__read(const char *root, uint32_t limit, struct fperf_freq_cpu *cpus, char *driver,
			      size_t driver_size)
{
	size_t count = 0;

	if (driver && driver_size)
		driver[0] = 0;
	for (uint32_t i = 0; i < limit; i++) {
		struct fperf_freq_cpu *cpu = &cpus[count];

		*cpu = (struct fperf_freq_cpu){.cpu = i, .policy = i};
		if (!fperf_freq_sysfs__update(root, cpu))
			continue;
		number_read(root, i, "cpuinfo_min_freq", &cpu->hardware_min);
		number_read(root, i, "cpuinfo_max_freq", &cpu->hardware_max);
		number_read(root, i, "related_cpus",
			    &cpu->policy); /* a list; the first one names the policy */
		if (!count && driver && driver_size)
			driver_read(root, i, driver, driver_size);
		count++;
	}
	return count;
}
