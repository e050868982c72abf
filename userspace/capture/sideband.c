#include "capture/sideband.h"

#include "base/reader.h"
#include "capture/perf_rings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RING_PAGES 16 /* data pages, a power of two */

struct fperf_sideband {
	struct fperf_perf_rings *rings;
};

int fperf_sideband__open(struct fperf_sideband **sideband, char *reason, size_t reason_size,
			 struct fperf_error *err)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.build_id = 1,
		.watermark = 1,
		.wakeup_watermark = RING_PAGES * 4096 / 2,
	};
	struct fperf_sideband *opened = calloc(1, sizeof(*opened));
	int rc;

	if (!opened)
		return fperf_error__no_memory(err, "the mapping source");
	rc = fperf_perf_rings__open(&opened->rings, &attr, RING_PAGES, -1);
	if (rc == -EINVAL) {
		attr.build_id = 0; /* before Linux 5.12 */
		rc = fperf_perf_rings__open(&opened->rings, &attr, RING_PAGES, -1);
	}
	if (rc) {
		free(opened);
		return fperf_error__set_errno(err, rc, "perf_event_open for mappings");
	}
	snprintf(reason, reason_size, "PERF_RECORD_MMAP2%s, %zu CPUs", attr.build_id ? " with build IDs" : "",
		 fperf_perf_rings__count(opened->rings));
	*sideband = opened;
	return 0;
}

void fperf_sideband__close(struct fperf_sideband *sideband)
{
	if (!sideband)
		return;
	fperf_perf_rings__close(sideband->rings);
	free(sideband);
}

/* Layout: perf_event_open(2), PERF_RECORD_MMAP2, with the sample_id trailer of PERF_SAMPLE_TIME. */
bool fperf_sideband__parse(const void *record, size_t size, struct fperf_sideband_mapping *mapping)
{
	struct fperf_reader reader, build_id;
	const uint8_t *name, *end;
	uint16_t misc;
	size_t left;

	memset(mapping, 0, offsetof(struct fperf_sideband_mapping, path));
	mapping->path[0] = '\0';
	fperf_reader__init(&reader, record, size);
	if (fperf_reader__u32(&reader) != PERF_RECORD_MMAP2)
		return false;
	misc = fperf_reader__u16(&reader);
	fperf_reader__skip(&reader, 2);
	mapping->pid = fperf_reader__u32(&reader);
	mapping->tid = fperf_reader__u32(&reader);
	mapping->start = fperf_reader__u64(&reader);
	mapping->size = fperf_reader__u64(&reader);
	mapping->file_offset = fperf_reader__u64(&reader);
	build_id = fperf_reader__sub(&reader, 24);
	fperf_reader__skip(&reader, 8); /* prot, flags */
	left = fperf_reader__left(&reader);
	if (reader.failed || left < 8)
		return false;
	name = fperf_reader__bytes(&reader, left - 8);
	mapping->time_ns = fperf_reader__u64(&reader);
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		uint8_t id_size = fperf_reader__u8(&build_id);
		const uint8_t *id;

		fperf_reader__skip(&build_id, 3);
		id = fperf_reader__bytes(&build_id, 20);
		mapping->build_id_size = id_size <= 20 ? id_size : 0;
		memcpy(mapping->build_id, id, 20);
	} else {
		mapping->device_major = fperf_reader__u32(&build_id);
		mapping->device_minor = fperf_reader__u32(&build_id);
		mapping->inode = fperf_reader__u64(&build_id);
		mapping->inode_generation = fperf_reader__u64(&build_id);
	}
	end = memchr(name, '\0', left - 8);
	if (!end || (size_t)(end - name) >= sizeof(mapping->path))
		return false;
	if (strcmp((const char *)name, "//anon"))
		memcpy(mapping->path, name, (size_t)(end - name) + 1);
	return mapping->size && mapping->start + mapping->size > mapping->start;
}

struct drain {
	struct fperf_batch *batch;
	bool (*wanted)(void *context, uint32_t pid);
	void *context;
};

static void record_add(void *context, size_t cpu, const struct perf_event_header *header)
{
	struct drain *drain = context;
	struct fperf_sideband_mapping mapping;
	uint32_t pid;

	(void)cpu;
	if (header->type != PERF_RECORD_MMAP2 || header->size < sizeof(*header) + sizeof(pid))
		return;
	memcpy(&pid, header + 1, sizeof(pid));
	if (drain->wanted(drain->context, pid) && fperf_sideband__parse(header, header->size, &mapping))
		fperf_batch__add(drain->batch, FPERF_BATCH_MAPPING, mapping.time_ns, &mapping,
				 offsetof(struct fperf_sideband_mapping, path) + strlen(mapping.path) + 1);
}

bool fperf_sideband__check(struct fperf_sideband *sideband)
{
	return fperf_perf_rings__check(sideband->rings);
}

uint64_t fperf_sideband__drain(struct fperf_sideband *sideband, struct fperf_batch *batch,
			       bool (*wanted)(void *context, uint32_t pid), void *context)
{
	struct drain drain = {batch, wanted, context};

	return fperf_perf_rings__drain(sideband->rings, record_add, &drain);
}
