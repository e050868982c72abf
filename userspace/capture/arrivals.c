#include "capture/arrivals.h"

#include "capture/program.h"
#include "frameperf/wire.h"

#include "arrivals.skel.h"

#include <bpf/bpf.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct fperf_arrivals {
	struct arrivals_bpf *skeleton;
	struct ring_buffer *ring;
};

static int arrival_ignore(void *context, void *data, size_t size)
{
	(void)context;
	(void)data;
	(void)size;
	return 0;
}

static int name_add(const struct fperf_arrivals *arrivals, const char *name)
{
	char key[FPERF_COMM_SIZE] = {0};
	uint8_t one = 1;

	strncpy(key, name, sizeof(key) - 1);
	return bpf_map_update_elem(bpf_map__fd(arrivals->skeleton->maps.arrival_names), key, &one, BPF_ANY)
		       ? -errno
		       : 0;
}

static int names_add(const struct fperf_arrivals *arrivals, const char *const *names, size_t count,
		     struct fperf_error *err)
{
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(names[i]);
		int rc = name_add(arrivals, names[i]);

		if (!rc && size > FPERF_COMM_SIZE - 1)
			rc = name_add(arrivals, names[i] + size - (FPERF_COMM_SIZE - 1));
		if (rc)
			return fperf_error__set_errno(err, rc, "cannot wait for '%s'", names[i]);
	}
	return 0;
}

int fperf_arrivals__open(const char *const *names, size_t count, struct fperf_arrivals **out,
			 struct fperf_error *err)
{
	struct fperf_arrivals *arrivals = calloc(1, sizeof(*arrivals));
	struct bpf_object_open_opts options;
	struct fperf_shared_maps shared;
	int rc;

	if (!arrivals)
		return fperf_error__no_memory(err, "the wait for processes");
	fperf_shared_maps__init(&shared);
	fperf_program__open_options(&shared, &options);
	arrivals->skeleton = arrivals_bpf__open_opts(&options);
	rc = arrivals->skeleton ? fperf_program__load(&shared, arrivals->skeleton->obj, "arrivals", err)
				: fperf_error__set_errno(err, -errno, "cannot open BPF object 'arrivals'");
	fperf_shared_maps__close(&shared);
	rc = rc ? rc : names_add(arrivals, names, count, err);
	if (!rc && arrivals_bpf__attach(arrivals->skeleton))
		rc = fperf_error__set_errno(
			err, -errno, "cannot attach to the tracepoints sched_process_exec and task_rename");
	if (!rc) {
		arrivals->ring = ring_buffer__new(bpf_map__fd(arrivals->skeleton->maps.arrival_ring),
						  arrival_ignore, NULL, NULL);
		if (!arrivals->ring)
			rc = fperf_error__set_errno(err, -errno, "cannot map the ring of arrivals");
	}
	if (rc) {
		fperf_arrivals__close(arrivals);
		return rc;
	}
	*out = arrivals;
	return 0;
}

int fperf_arrivals__fd(const struct fperf_arrivals *arrivals)
{
	return ring_buffer__epoll_fd(arrivals->ring);
}

void fperf_arrivals__take(struct fperf_arrivals *arrivals)
{
	ring_buffer__consume(arrivals->ring);
}

void fperf_arrivals__close(struct fperf_arrivals *arrivals)
{
	if (!arrivals)
		return;
	ring_buffer__free(arrivals->ring);
	arrivals_bpf__destroy(arrivals->skeleton);
	free(arrivals);
}
