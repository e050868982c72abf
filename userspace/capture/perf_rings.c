#include "capture/perf_rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct cpu_ring {
	int fd; /* -1: the CPU is offline */
	void *memory;
	uint64_t enabled_ns; /* for how long the event had counted at the last check */
};

struct fperf_perf_rings {
	struct cpu_ring *rings; /* by CPU */
	size_t cpu_count;
	size_t page_size, pages;
	struct perf_event_attr attr;
	int program;
	uint8_t *record; /* one record, made contiguous */
};

static int ring_open(struct fperf_perf_rings *rings, int cpu)
{
	struct cpu_ring *ring = &rings->rings[cpu];
	int code;

	ring->fd = (int)syscall(SYS_perf_event_open, &rings->attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return -errno;
	ring->enabled_ns = 0;
	ring->memory = mmap(NULL, (rings->pages + 1) * rings->page_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			    ring->fd, 0);
	if (ring->memory != MAP_FAILED &&
	    (rings->program < 0 || !ioctl(ring->fd, PERF_EVENT_IOC_SET_BPF, rings->program)))
		return 0;
	code = -errno;
	if (ring->memory != MAP_FAILED)
		munmap(ring->memory, (rings->pages + 1) * rings->page_size);
	close(ring->fd);
	ring->fd = -1;
	ring->memory = NULL;
	return code;
}

static void ring_close(struct fperf_perf_rings *rings, struct cpu_ring *ring)
{
	if (ring->fd < 0)
		return;
	munmap(ring->memory, (rings->pages + 1) * rings->page_size);
	close(ring->fd);
	ring->fd = -1;
	ring->memory = NULL;
}

int fperf_perf_rings__open(struct fperf_perf_rings **rings, const struct perf_event_attr *attr, size_t pages,
			   int program)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct fperf_perf_rings *opened = calloc(1, sizeof(*opened));
	int rc = -ENODEV;

	if (!opened)
		return -ENOMEM;
	opened->page_size = (size_t)sysconf(_SC_PAGESIZE);
	opened->pages = pages;
	opened->attr = *attr;
	opened->attr.read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED;
	opened->program = program;
	opened->rings = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*opened->rings));
	opened->record = malloc(65536); /* the size of a record has 16 bits */
	if (!opened->rings || !opened->record) {
		fperf_perf_rings__close(opened);
		return -ENOMEM;
	}
	opened->cpu_count = cpus > 0 ? (size_t)cpus : 1;
	for (size_t cpu = 0; cpu < opened->cpu_count; cpu++)
		opened->rings[cpu].fd = -1;
	for (size_t cpu = 0; cpu < opened->cpu_count; cpu++) {
		int opened_rc = ring_open(opened, (int)cpu);

		if (opened_rc && opened_rc != -ENODEV)
			rc = opened_rc;
	}
	if (!fperf_perf_rings__count(opened)) {
		fperf_perf_rings__close(opened);
		return rc;
	}
	*rings = opened;
	return 0;
}

void fperf_perf_rings__close(struct fperf_perf_rings *rings)
{
	if (!rings)
		return;
	for (size_t cpu = 0; cpu < rings->cpu_count; cpu++)
		ring_close(rings, &rings->rings[cpu]);
	free(rings->rings);
	free(rings->record);
	free(rings);
}

size_t fperf_perf_rings__count(const struct fperf_perf_rings *rings)
{
	size_t count = 0;

	for (size_t cpu = 0; cpu < rings->cpu_count; cpu++)
		count += rings->rings[cpu].fd >= 0;
	return count;
}

void fperf_perf_rings__enable(struct fperf_perf_rings *rings)
{
	rings->attr.disabled = 0;
	for (size_t cpu = 0; cpu < rings->cpu_count; cpu++)
		if (rings->rings[cpu].fd >= 0)
			ioctl(rings->rings[cpu].fd, PERF_EVENT_IOC_ENABLE, 0);
}

void fperf_perf_rings__disable(struct fperf_perf_rings *rings)
{
	for (size_t cpu = 0; cpu < rings->cpu_count; cpu++)
		if (rings->rings[cpu].fd >= 0)
			ioctl(rings->rings[cpu].fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* Copies `size` bytes at `position` out of the ring, around its end if need be. */
static void ring_copy(const uint8_t *data, size_t ring_size, uint64_t position, uint8_t *to, size_t size)
{
	size_t at = position & (ring_size - 1), first = size < ring_size - at ? size : ring_size - at;

	memcpy(to, data + at, first);
	memcpy(to + first, data, size - first);
}

/* A PERF_RECORD_LOST has an id, then the number of records. */
static uint64_t lost_count(const uint8_t *record, size_t size)
{
	uint64_t count = 0;

	if (size >= sizeof(struct perf_event_header) + 16)
		memcpy(&count, record + sizeof(struct perf_event_header) + 8, sizeof(count));
	return count;
}

static uint64_t ring_drain(struct fperf_perf_rings *rings, size_t cpu,
			   void (*visit)(void *context, size_t cpu, const struct perf_event_header *header),
			   void *context)
{
	struct perf_event_mmap_page *page = rings->rings[cpu].memory;
	const uint8_t *data = (const uint8_t *)page + rings->page_size;
	size_t ring_size = rings->pages * rings->page_size;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail, lost = 0;

	while (tail < head) {
		struct perf_event_header header;

		ring_copy(data, ring_size, tail, (uint8_t *)&header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break; /* cannot happen; do not loop on it */
		ring_copy(data, ring_size, tail, rings->record, header.size);
		tail += header.size;
		if (header.type == PERF_RECORD_LOST)
			lost += lost_count(rings->record, header.size);
		else
			visit(context, cpu, (const struct perf_event_header *)rings->record);
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

bool fperf_perf_rings__check(struct fperf_perf_rings *rings)
{
	bool opened = false;

	for (size_t cpu = 0; cpu < rings->cpu_count; cpu++) {
		struct cpu_ring *ring = &rings->rings[cpu];

		if (ring->fd >= 0 && !ring_is_dead(ring))
			continue;
		ring_close(rings, ring);
		if (!ring_open(rings, (int)cpu))
			opened = true;
	}
	return opened;
}

uint64_t fperf_perf_rings__drain(struct fperf_perf_rings *rings,
				 void (*visit)(void *context, size_t cpu,
					       const struct perf_event_header *header),
				 void *context)
{
	uint64_t lost = 0;

	for (size_t cpu = 0; cpu < rings->cpu_count; cpu++)
		if (rings->rings[cpu].fd >= 0)
			lost += ring_drain(rings, cpu, visit, context);
	return lost;
}
