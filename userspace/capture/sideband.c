#include "capture/sideband.h"

#include "base/reader.h"
#include "base/vec.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING_PAGES 16 /* data pages, a power of two */

#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif

struct cpu_ring {
	int fd; /* -1: the CPU is offline */
	void *memory;
	uint64_t enabled_ns; /* for how long the event had counted at the last check */
};

struct fperf_sideband {
	struct cpu_ring *rings; /* by CPU */
	size_t cpu_count;
	size_t page_size;
	bool build_ids;
	uint8_t *record; /* one record, made contiguous */
};

static int event_open(int cpu, bool build_ids)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.mmap = 1,
		.mmap2 = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = RING_PAGES * 4096 / 2,
	};

#ifdef PERF_RECORD_MISC_MMAP_BUILD_ID
	attr.build_id = build_ids;
#endif
	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int ring_open(struct fperf_sideband *sideband, int cpu)
{
	struct cpu_ring *ring = &sideband->rings[cpu];
	int code;

	ring->fd = event_open(cpu, sideband->build_ids);
	if (ring->fd < 0 && errno == EINVAL && sideband->build_ids) {
		sideband->build_ids = false;
		ring->fd = event_open(cpu, false);
	}
	if (ring->fd < 0)
		return -errno;
	ring->memory = mmap(NULL, (RING_PAGES + 1) * sideband->page_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			    ring->fd, 0);
	if (ring->memory != MAP_FAILED)
		return 0;
	code = -errno;
	close(ring->fd);
	ring->fd = -1;
	ring->memory = NULL;
	return code;
}

static void ring_close(struct fperf_sideband *sideband, struct cpu_ring *ring)
{
	if (ring->fd < 0)
		return;
	munmap(ring->memory, (RING_PAGES + 1) * sideband->page_size);
	close(ring->fd);
	ring->fd = -1;
	ring->memory = NULL;
	ring->enabled_ns = 0;
}

int fperf_sideband__open(struct fperf_sideband **sideband, char *reason, size_t reason_size,
			 struct fperf_error *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct fperf_sideband *opened = calloc(1, sizeof(*opened));
	int rc = -ENODEV;
	size_t online = 0;

	if (!opened)
		return fperf_error__no_memory(err, "the mapping source");
	opened->page_size = (size_t)sysconf(_SC_PAGESIZE);
	opened->build_ids = true;
	opened->rings = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*opened->rings));
	opened->record = malloc(65536);
	if (!opened->rings || !opened->record) {
		fperf_sideband__close(opened);
		return fperf_error__no_memory(err, "the mapping source");
	}
	opened->cpu_count = cpus > 0 ? (size_t)cpus : 1;
	for (size_t cpu = 0; cpu < opened->cpu_count; cpu++)
		opened->rings[cpu].fd = -1;
	for (size_t cpu = 0; cpu < opened->cpu_count; cpu++) {
		int opened_rc = ring_open(opened, (int)cpu);

		if (!opened_rc)
			online++;
		else if (opened_rc != -ENODEV || !online)
			rc = opened_rc;
	}
	if (!online) {
		fperf_sideband__close(opened);
		return fperf_error__set_errno(err, rc, "perf_event_open for mappings");
	}
	snprintf(reason, reason_size, "PERF_RECORD_MMAP2%s, %zu CPUs",
		 opened->build_ids ? " with build IDs" : "", online);
	*sideband = opened;
	return 0;
}

void fperf_sideband__close(struct fperf_sideband *sideband)
{
	if (!sideband)
		return;
	for (size_t cpu = 0; cpu < sideband->cpu_count; cpu++)
		ring_close(sideband, &sideband->rings[cpu]);
	free(sideband->rings);
	free(sideband->record);
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

/* Copies `size` bytes at `position` out of the ring, around its end if need be. */
static void ring_copy(const uint8_t *data, size_t ring_size, uint64_t position, uint8_t *to, size_t size)
{
	size_t at = position & (ring_size - 1), first = size < ring_size - at ? size : ring_size - at;

	memcpy(to, data + at, first);
	memcpy(to + first, data, size - first);
}

static uint64_t ring_drain(struct fperf_sideband *sideband, struct cpu_ring *ring, struct fperf_batch *batch,
			   bool (*wanted)(void *context, uint32_t pid), void *context)
{
	struct perf_event_mmap_page *page = ring->memory;
	const uint8_t *data = (const uint8_t *)ring->memory + sideband->page_size;
	size_t ring_size = RING_PAGES * sideband->page_size;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail, lost = 0;
	struct fperf_sideband_mapping mapping;

	while (tail < head) {
		struct perf_event_header header;

		ring_copy(data, ring_size, tail, (uint8_t *)&header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break; /* cannot happen; do not loop on it */
		ring_copy(data, ring_size, tail, sideband->record, header.size);
		tail += header.size;
		if (header.type == PERF_RECORD_LOST && header.size >= sizeof(header) + 16) {
			uint64_t count;

			memcpy(&count, sideband->record + sizeof(header) + 8, sizeof(count));
			lost += count;
		} else if (header.type == PERF_RECORD_MMAP2) {
			uint32_t pid;

			memcpy(&pid, sideband->record + sizeof(header), sizeof(pid));
			if (wanted(context, pid) &&
			    fperf_sideband__parse(sideband->record, header.size, &mapping))
				fperf_batch__add(batch, FPERF_BATCH_MAPPING, mapping.time_ns, &mapping,
						 offsetof(struct fperf_sideband_mapping, path) +
							 strlen(mapping.path) + 1);
		}
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	return lost;
}

/* The time of an event that lives goes on. */
static bool ring_is_dead(struct cpu_ring *ring)
{
	uint64_t values[2], before = ring->enabled_ns;

	if (read(ring->fd, values, sizeof(values)) != (ssize_t)sizeof(values))
		return false;
	ring->enabled_ns = values[1];
	return values[1] == before;
}

bool fperf_sideband__check(struct fperf_sideband *sideband)
{
	bool opened = false;

	for (size_t cpu = 0; cpu < sideband->cpu_count; cpu++) {
		struct cpu_ring *ring = &sideband->rings[cpu];

		if (ring->fd >= 0 && !ring_is_dead(ring))
			continue;
		ring_close(sideband, ring);
		if (!ring_open(sideband, (int)cpu))
			opened = true;
	}
	return opened;
}

uint64_t fperf_sideband__drain(struct fperf_sideband *sideband, struct fperf_batch *batch,
			       bool (*wanted)(void *context, uint32_t pid), void *context)
{
	uint64_t lost = 0;

	for (size_t cpu = 0; cpu < sideband->cpu_count; cpu++)
		if (sideband->rings[cpu].fd >= 0)
			lost += ring_drain(sideband, &sideband->rings[cpu], batch, wanted, context);
	return lost;
}
