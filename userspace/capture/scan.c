#include "capture/scan.h"

#include "base/buf.h"
#include "frameperf/wire.h"
#include "scan.skel.h"

#include <bpf/bpf.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_SIZE  65536
#define SIZE_LIMIT (64u << 20) /* some 100,000 threads with their stacks */

struct fperf_scan {
	struct scan_bpf *skeleton;
	struct bpf_link *link;
};

int fperf_scan__open(struct fperf_shared_maps *shared, struct fperf_scan **scan, struct fperf_error *err)
{
	struct fperf_scan *opened = calloc(1, sizeof(*opened));
	struct bpf_object_open_opts options;
	int rc;

	if (!opened)
		return fperf_error__no_memory(err, "the scan of threads");
	fperf_program__open_options(shared, &options);
	opened->skeleton = scan_bpf__open_opts(&options);
	if (!opened->skeleton) {
		rc = fperf_error__set_errno(err, -errno, "cannot open BPF object 'scan'");
		goto fail;
	}
	opened->skeleton->rodata->kernel_stack_size = fperf_program__kernel_stack_size();
	rc = fperf_program__load(shared, opened->skeleton->obj, "scan", err);
	if (rc)
		goto fail;
	opened->link = bpf_program__attach_iter(opened->skeleton->progs.fperf_scan, NULL);
	if (!opened->link) {
		rc = fperf_error__set_errno(err, -errno, "cannot attach the BPF iterator over tasks");
		goto fail;
	}
	*scan = opened;
	return 0;
fail:
	fperf_scan__close(opened);
	return rc;
}

void fperf_scan__close(struct fperf_scan *scan)
{
	if (!scan)
		return;
	bpf_link__destroy(scan->link);
	scan_bpf__destroy(scan->skeleton);
	free(scan);
}

static int iterator_read(struct fperf_scan *scan, struct fperf_buf *records, struct fperf_error *err)
{
	int fd = bpf_iter_create(bpf_link__fd(scan->link));
	ssize_t got = 0;

	if (fd < 0)
		return fperf_error__set_errno(err, -errno, "cannot read the BPF iterator over tasks");
	for (;;) {
		uint8_t *room = fperf_buf__reserve(records, READ_SIZE);

		if (!room) {
			close(fd);
			return fperf_error__no_memory(err, "the state of the target's threads");
		}
		got = read(fd, room, READ_SIZE);
		if (got > 0)
			records->size += (size_t)got;
		else if (!got || (errno != EINTR && errno != EAGAIN))
			break;
	}
	if (got < 0)
		got = fperf_error__set_errno(err, -errno, "cannot read the BPF iterator over tasks");
	close(fd);
	return (int)got;
}

int fperf_scan__read(struct fperf_scan *scan, uint64_t end_ns, struct fperf_buf *records,
		     struct fperf_error *err)
{
	uint32_t zero = 0;

	if (bpf_map_update_elem(bpf_map__fd(scan->skeleton->maps.fperf_scan_config), &zero, &end_ns, BPF_ANY))
		return fperf_error__set_errno(err, -errno, "cannot configure the BPF iterator over tasks");
	return iterator_read(scan, records, err);
}

int fperf_scan__each(struct fperf_buf *records,
		     int (*visit)(void *context, void *record, size_t size, struct fperf_error *err),
		     void *context, struct fperf_error *err)
{
	size_t at = 0;
	int rc = 0;

	while (!rc && records->size - at >= sizeof(struct fperf_wire_header)) {
		struct fperf_wire_header header;

		memcpy(&header, records->data + at, sizeof(header));
		if (header.size < sizeof(header) || header.size > records->size - at)
			break; /* cannot happen; do not loop on it */
		rc = visit(context, records->data + at, header.size, err);
		at += header.size;
	}
	return rc;
}

int fperf_scan__run(struct fperf_scan *scan, uint64_t end_ns,
		    int (*visit)(void *context, void *record, size_t size, struct fperf_error *err),
		    void *context, struct fperf_error *err)
{
	struct fperf_buf records;
	int rc;

	fperf_buf__init(&records, SIZE_LIMIT);
	rc = fperf_scan__read(scan, end_ns, &records, err);
	rc = rc ? rc : fperf_scan__each(&records, visit, context, err);
	fperf_buf__free(&records);
	return rc;
}
