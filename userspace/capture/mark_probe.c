#include "capture/mark_probe.h"

#include "capture/program.h"
#include "mark.skel.h"

#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PMU_TYPE_PATH "/sys/bus/event_source/devices/uprobe/type"

/* Uprobe links (linux/bpf.h of Linux 6.6 and later: BPF_TRACE_UPROBE_MULTI). Several of them are detached
 * together, where each perf event waits for its own grace period with a lock held. */
#define ATTACH_UPROBE_MULTI 48

struct uprobe_link_attr { /* union bpf_attr, link_create with uprobe_multi */
	uint32_t program, target, attach_type, flags;
	uint64_t path, offsets, reference_counters, cookies;
	uint32_t count, probe_flags, pid;
};

struct fperf_mark_probe {
	struct mark_bpf *object;
	struct bpf_link *link; /* by perf event */
	int link_fd;	       /* by uprobe link; -1: none */
	pthread_t closer;
	bool closing; /* in that thread */
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
static void file_path(int file_fd, char path[64])
{
	snprintf(path, 64, "/proc/self/fd/%d", file_fd);
}

static int uprobe_open(int file_fd, uint64_t offset, struct fperf_error *err)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	int type = fperf_mark_probe__pmu(err);
	char path[64];
	int fd;

	if (type < 0)
		return type;
	file_path(file_fd, path);
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

static int object_load(const struct fperf_mark_probe_options *options, bool for_link, struct mark_bpf **out,
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
	if (for_link)
		bpf_program__set_expected_attach_type(object->progs.fperf_mark,
						      (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
	result = fperf_program__load(options->shared, object->obj, "mark", err);
	if (result)
		mark_bpf__destroy(object);
	else
		*out = object;
	return result;
}

/* False when the kernel does not have such links, or does not want this one. */
static bool attach_by_link(const struct fperf_mark_probe_options *options, struct fperf_mark_probe *probe)
{
	struct uprobe_link_attr attr = {.attach_type = ATTACH_UPROBE_MULTI, .count = 1};
	struct fperf_error err;
	char path[64];

	if (object_load(options, true, &probe->object, &err))
		return false;
	file_path(options->file_fd, path);
	attr.program = (uint32_t)bpf_program__fd(probe->object->progs.fperf_mark);
	attr.path = (uint64_t)(uintptr_t)path;
	attr.offsets = (uint64_t)(uintptr_t)&options->offset;
	probe->link_fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	if (probe->link_fd >= 0)
		return true;
	mark_bpf__destroy(probe->object);
	probe->object = NULL;
	return false;
}

static int attach_by_event(const struct fperf_mark_probe_options *options, struct fperf_mark_probe *probe,
			   struct fperf_error *err)
{
	int result = object_load(options, false, &probe->object, err), fd;

	if (result)
		return result;
	fd = uprobe_open(options->file_fd, options->offset, err);
	if (fd < 0)
		return fd;
	probe->link = bpf_program__attach_perf_event(probe->object->progs.fperf_mark, fd);
	if (probe->link)
		return 0;
	result = fperf_error__set_errno(err, -errno, "entry probe at file offset 0x%llx: attach",
					(unsigned long long)options->offset);
	close(fd);
	return result;
}

int fperf_mark_probe__attach(const struct fperf_mark_probe_options *options, struct fperf_mark_probe **out,
			     struct fperf_error *err)
{
	struct fperf_mark_probe *probe = calloc(1, sizeof(*probe));
	int result = 0;

	if (!probe)
		return fperf_error__no_memory(err, "a probe");
	probe->link_fd = -1;
	if (*options->no_links || !attach_by_link(options, probe)) {
		result = attach_by_event(options, probe, err);
		if (!result)
			*options->no_links =
				true; /* where an event works, a link would have, if there were links */
	}
	if (result)
		fperf_mark_probe__detach_finish(probe);
	else
		*out = probe;
	return result;
}

static void *probe_close(void *argument)
{
	struct fperf_mark_probe *probe = argument;

	if (probe->link_fd >= 0)
		close(probe->link_fd);
	bpf_link__destroy(probe->link);
	mark_bpf__destroy(probe->object);
	return NULL;
}

void fperf_mark_probe__detach_begin(struct fperf_mark_probe *probe)
{
	sigset_t all, before;

	if (!probe || probe->closing)
		return;
	sigfillset(&all); /* signals are for the thread that waits for them */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	probe->closing = !pthread_create(&probe->closer, NULL, probe_close, probe);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void fperf_mark_probe__detach_finish(struct fperf_mark_probe *probe)
{
	if (!probe)
		return;
	if (probe->closing)
		pthread_join(probe->closer, NULL);
	else
		probe_close(probe);
	free(probe);
}
