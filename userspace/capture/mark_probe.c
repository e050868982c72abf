#include "capture/mark_probe.h"

#include "capture/program.h"
#include "mark.skel.h"

#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PMU_TYPE_PATH "/sys/bus/event_source/devices/uprobe/type"

struct fperf_mark_probe {
	struct mark_bpf *object;
	struct bpf_link *link;
};

int fperf_mark_probe__pmu(struct fperf_error *err)
{
	FILE *file = fopen(PMU_TYPE_PATH, "re");
	int type = -1;

	if (!file)
		return fperf_error__set_errno(
			err, -errno, "%s: open (kernel built without CONFIG_UPROBE_EVENTS, or no /sys)",
			PMU_TYPE_PATH);
	if (fscanf(file, "%d", &type) != 1 || type < 0)
		type = fperf_error__set(err, -EIO, "%s: holds no number", PMU_TYPE_PATH);
	fclose(file);
	return type;
}

/* The event needs some CPU to be opened on; the probe itself works on all of them. */
static int first_online_cpu(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	int cpu = 0;

	if (file) {
		if (fscanf(file, "%d", &cpu) != 1)
			cpu = 0;
		fclose(file);
	}
	return cpu;
}

/* The file is named through our own descriptor: that is the very file that was looked at, whatever its path
 * is by now and in whichever mount namespace. */
static int uprobe_open(int file_fd, uint64_t offset, struct fperf_error *err)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	int type = fperf_mark_probe__pmu(err);
	char path[64];
	int fd;

	if (type < 0)
		return type;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	attr.type = (uint32_t)type;
	attr.config1 = (uint64_t)(uintptr_t)path;
	attr.config2 = offset;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, first_online_cpu(), -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return fperf_error__set_errno(err, -errno,
					      "entry probe at file offset 0x%llx: perf_event_open",
					      (unsigned long long)offset);
	return fd;
}

static int object_load(const struct fperf_mark_probe_options *options, struct mark_bpf **out,
		       struct fperf_error *err)
{
	struct bpf_object_open_opts open_options;
	struct mark_bpf *object;
	int result;

	fperf_program__open_options(options->shared, &open_options);
	object = mark_bpf__open_opts(&open_options);
	if (!object)
		return fperf_error__set_errno(err, -errno, "cannot open BPF program 'mark'");
	object->rodata->marker = options->marker;
	object->rodata->is_candidate = options->is_candidate;
	object->rodata->source = options->source;
	result = fperf_program__load(options->shared, object->obj, "mark", err);
	if (result)
		mark_bpf__destroy(object);
	else
		*out = object;
	return result;
}

int fperf_mark_probe__attach(const struct fperf_mark_probe_options *options, struct fperf_mark_probe **out,
			     struct fperf_error *err)
{
	struct fperf_mark_probe *probe = calloc(1, sizeof(*probe));
	int result, fd;

	if (!probe)
		return fperf_error__no_memory(err, "a probe");
	result = object_load(options, &probe->object, err);
	if (result)
		goto fail;
	fd = uprobe_open(options->file_fd, options->offset, err);
	if (fd < 0) {
		result = fd;
		goto fail;
	}
	probe->link = bpf_program__attach_perf_event(probe->object->progs.fperf_mark, fd);
	if (!probe->link) {
		result = fperf_error__set_errno(err, -errno, "entry probe at file offset 0x%llx: attach",
						(unsigned long long)options->offset);
		close(fd);
		goto fail;
	}
	*out = probe;
	return 0;
fail:
	fperf_mark_probe__detach(probe);
	return result;
}

void fperf_mark_probe__detach(struct fperf_mark_probe *probe)
{
	if (!probe)
		return;
	bpf_link__destroy(probe->link);
	mark_bpf__destroy(probe->object);
	free(probe);
}
