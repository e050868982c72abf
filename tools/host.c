#include "host.h"

#include "base/clock.h"
#include "frameperf/meta.h"
#include "help.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Spaces at the ends and doubled ones out, in place. */
static void tidy(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		bool space = *from == ' ' || *from == '\t' || *from == '\n';

		if (!space)
			*to++ = *from;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	}
	while (to > text && to[-1] == ' ')
		to--;
	*to = '\0';
}

/* The device's model where firmware describes it by a device tree, else the processor's name. */
static void read_model(char *model, size_t size)
{
	FILE *file = fopen("/proc/device-tree/model", "re");
	char line[512];

	model[0] = '\0';
	if (file) {
		if (!fgets(model, (int)size, file))
			model[0] = '\0';
		fclose(file);
	}
	file = model[0] ? NULL : fopen("/proc/cpuinfo", "re");
	while (file && fgets(line, sizeof(line), file)) {
		const char *colon = strchr(line, ':');

		if (!strncmp(line, "model name", strlen("model name")) && colon) {
			snprintf(model, size, "%s", colon + 1);
			break;
		}
	}
	if (file)
		fclose(file);
	tidy(model);
}

static int write_labels(struct fperf_writer *writer, const struct fperf_record_config *config,
			struct fperf_error *err)
{
	int ret = 0;

	for (size_t i = 0; i < config->label_count && !ret; i++) {
		char *key = NULL;

		if (asprintf(&key, "%s%s", FPERF_META_LABEL_PREFIX, config->labels[i].key) < 0)
			return fperf_error__no_memory(err, "a label");
		ret = fperf_writer__meta(writer, key, config->labels[i].value, err);
		free(key);
	}
	return ret;
}

int fperf_host__write(struct fperf_writer *writer, const struct fperf_record_config *config,
		      struct fperf_error *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname uts = {0};
	char model[256];
	int ret;

	uname(&uts);
	read_model(model, sizeof(model));
	ret = fperf_writer__meta_u64(writer, FPERF_META_LEVEL, config->level, err);
	ret = ret ? ret : fperf_writer__meta(writer, FPERF_META_RECORDER, FPERF_VERSION, err);
	ret = ret ? ret : fperf_writer__meta(writer, FPERF_META_HOST_KERNEL, uts.release, err);
	ret = ret ? ret : fperf_writer__meta(writer, FPERF_META_HOST_ARCH, uts.machine, err);
	if (!ret && cpus > 0)
		ret = fperf_writer__meta_u64(writer, FPERF_META_HOST_CPUS, (uint64_t)cpus, err);
	if (!ret && model[0])
		ret = fperf_writer__meta(writer, FPERF_META_HOST_MODEL, model, err);
	ret = ret ? ret
		  : fperf_writer__meta_u64(writer, FPERF_META_CONFIG_FREQUENCY, config->frequency_hz, err);
	ret = ret ? ret : fperf_writer__meta(writer, FPERF_META_CONFIG_UNWIND, config->unwind_text, err);
	ret = ret ? ret : fperf_writer__meta(writer, FPERF_META_CONFIG_FRAME, config->frame_text, err);
	return ret ? ret : write_labels(writer, config, err);
}

int fperf_host__write_target(struct fperf_writer *writer, pid_t pid, struct fperf_error *err)
{
	char name[64], link[64], exe[PATH_MAX];
	ssize_t size;
	int ret = 0;

	fperf_process_name(pid, name, sizeof(name));
	if (name[0])
		ret = fperf_writer__meta(writer, FPERF_META_TARGET_NAME, name, err);
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	size = readlink(link, exe, sizeof(exe) - 1);
	if (ret || size <= 0)
		return ret;
	exe[size] = '\0';
	return fperf_writer__meta(writer, FPERF_META_TARGET_EXE, exe, err);
}

int fperf_host__write_overhead(struct fperf_writer *writer, struct fperf_error *err)
{
	struct rusage usage = {0};
	int ret;

	getrusage(RUSAGE_SELF, &usage);
	ret = fperf_writer__meta_u64(writer, FPERF_META_RECORDER_CPU_NS, fperf_clock__process_cpu_ns(), err);
	return ret ? ret
		   : fperf_writer__meta_u64(writer, FPERF_META_RECORDER_MAX_RSS,
					    (uint64_t)usage.ru_maxrss * 1024, err);
}

uint64_t fperf_host__memory_peak(pid_t pid)
{
	char path[64], line[256];
	unsigned long long kib = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmHWM: %llu kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return (uint64_t)kib * 1024;
}
