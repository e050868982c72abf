/* Rings → batch, in order of time → aggregator and sources. */
#include "capture/recording.h"

#include "base/clock.h"
#include "capture/sources.h"
#include "capture/trigger.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

/* The event ring last of the rings and the side band after them: whatever a sample needs to be understood was
 * written before the sample, and is then in this batch or an earlier one. */
static const char *const ring_names[FPERF_RINGS] = {"fperf_ring_sample", "fperf_ring_sched",
						    "fperf_ring_event"};

#define EVENT_RING 2

/* A program takes the time at its start and writes its record at its end, a few microseconds later; on a
 * virtual machine that is put aside meanwhile, much later. Records younger than this wait for the next round,
 * so that none comes after a younger one. */
#define SETTLE_NS FPERF_NS_PER_MS

/* How soon the next round comes when something urgent had to wait. */
#define URGENT_MS 2

/* Waking up costs more than most rounds do. But unwind tables should be there soon after a mapping is, and
 * the rings must not fill up: they hold some 10 times BUSY_BYTES. */
#define BUSY_MS	    10
#define QUIET_MS    40
#define BUSY_BYTES  (256u << 10)
#define BUSY_FOR_NS (2 * FPERF_NS_PER_S) /* after a mapping */

static int ring_record(void *context, void *data, size_t size)
{
	struct fperf_capture *capture = context;
	const struct fperf_wire_header *header = data;

	if (size >= sizeof(*header))
		fperf_batch__add(&capture->batch, FPERF_BATCH_WIRE, header->time_ns, data, size);
	return 0;
}

int fperf_drain__open(struct fperf_capture *capture, struct fperf_error *err)
{
	fperf_batch__init(&capture->batch, 32u << 20);
	for (size_t i = 0; i < FPERF_RINGS; i++) {
		int fd = fperf_shared_maps__fd(&capture->shared, ring_names[i]);

		if (fd < 0)
			continue;
		capture->rings[i] = ring_buffer__new(fd, ring_record, capture, NULL);
		if (!capture->rings[i])
			return fperf_error__set_errno(err, -errno, "cannot map the ring %s", ring_names[i]);
	}
	return 0;
}

void fperf_drain__close(struct fperf_capture *capture)
{
	for (size_t i = 0; i < FPERF_RINGS; i++) {
		ring_buffer__free(capture->rings[i]);
		capture->rings[i] = NULL;
	}
	fperf_batch__free(&capture->batch);
}

int fperf_drain__interval_ms(const struct fperf_capture *capture)
{
	if (capture->options.drain_interval_ms)
		return (int)capture->options.drain_interval_ms;
	if (capture->round_bytes > BUSY_BYTES || capture->round_ns - capture->mapped_ns < BUSY_FOR_NS)
		return BUSY_MS;
	return QUIET_MS;
}

void fperf_drain__wait(struct fperf_capture *capture, int timeout_ms)
{
	struct ring_buffer *ring = capture->rings[EVENT_RING];
	struct pollfd pollfd = {.fd = ring ? ring_buffer__epoll_fd(ring) : -1, .events = POLLIN};

	poll(&pollfd, 1, capture->urgent && timeout_ms > URGENT_MS ? URGENT_MS : timeout_ms);
}

static bool pid_wanted(void *context, uint32_t pid)
{
	struct fperf_capture *capture = context;

	return fperf_targets__has(&capture->shared, pid) || fperf_map__get(&capture->live, pid, NULL);
}

static void on_fork(struct fperf_capture *capture, const struct fperf_wire_fork *fork)
{
	if (fork->header.pid == fork->parent_pid)
		return;
	fperf_map__set(&capture->live, fork->header.pid, 1);
	fperf_capture__on_fork(capture, fork->parent_pid, fork->header.pid);
	fperf_capture__on_process(capture, fork->header.pid);
}

static void on_exit_record(struct fperf_capture *capture, const struct fperf_wire_exit *exit_record)
{
	if (!exit_record->last)
		return;
	fperf_capture__on_exit(capture, exit_record->header.pid);
	fperf_map__remove(&capture->live, exit_record->header.pid);
}

/* What capture itself makes of a record, before (fork) or after (the rest) the aggregator has taken it. */
static void record_follow(struct fperf_capture *capture, const struct fperf_wire_header *header)
{
	switch (header->type) {
	case FPERF_WIRE_FORK:
		if (header->size >= sizeof(struct fperf_wire_fork))
			on_fork(capture, (const struct fperf_wire_fork *)header);
		break;
	case FPERF_WIRE_EXEC:
		if (!capture->sideband)
			fperf_follow__read_mappings(capture, header->pid);
		fperf_capture__on_process(capture, header->pid);
		break;
	case FPERF_WIRE_EXIT:
		if (header->size >= sizeof(struct fperf_wire_exit))
			on_exit_record(capture, (const struct fperf_wire_exit *)header);
		break;
	default:
		break;
	}
}

int fperf_drain__record(struct fperf_capture *capture, void *record, size_t size, struct fperf_error *err)
{
	const struct fperf_wire_header *header = record;
	int rc;

	if (header->type == FPERF_WIRE_OFFCPU && size >= sizeof(struct fperf_wire_offcpu) &&
	    !fperf_follow__clip(capture, record))
		return 0;
	rc = fperf_unwind__consume(&capture->context, record, size, err);
	capture->status.records++;
	if (!rc && capture->options.triggers)
		fperf_watch__record(capture, header);
	capture->context.intervals += header->type == FPERF_WIRE_OFFCPU;
	if (!rc)
		record_follow(capture, header);
	return rc;
}

static bool item_is_urgent(const struct fperf_batch *batch, const struct fperf_batch_item *item)
{
	const struct fperf_wire_header *header = fperf_batch__data(batch, item);

	return item->kind == FPERF_BATCH_WIRE && header->type == FPERF_WIRE_EXEC;
}

/* Of what is younger than the end of the recording only the intervals that began before are wanted. */
static bool item_is_wanted(const struct fperf_capture *capture, const struct fperf_batch_item *item)
{
	const struct fperf_wire_header *header = fperf_batch__data(&capture->batch, item);

	return !capture->end_ns || item->time_ns <= capture->end_ns ||
	       (item->kind == FPERF_BATCH_WIRE && header->type == FPERF_WIRE_OFFCPU);
}

static int batch_take(struct fperf_capture *capture, uint64_t until_ns, struct fperf_error *err)
{
	struct fperf_batch *batch = &capture->batch;
	size_t taken = 0;
	int rc = 0;

	fperf_batch__sort(batch);
	for (; taken < batch->count && !rc; taken++) {
		const struct fperf_batch_item *item = &batch->items[taken];
		void *data = fperf_batch__data(batch, item);

		if (item->time_ns > until_ns)
			break;
		if (!item_is_wanted(capture, item))
			continue;
		if (item->kind == FPERF_BATCH_MAPPING) {
			capture->mapped_ns = capture->round_ns;
			rc = fperf_follow__mapping(capture, data, err);
		} else {
			rc = fperf_drain__record(capture, data, item->size, err);
		}
	}
	capture->urgent = false;
	for (size_t i = taken; i < batch->count && !capture->urgent; i++)
		capture->urgent = item_is_urgent(batch, &batch->items[i]);
	fperf_batch__drop_first(batch, taken);
	return rc;
}

int fperf_drain__round(struct fperf_capture *capture, bool last, struct fperf_error *err)
{
	uint64_t until_ns = last ? UINT64_MAX : fperf_clock__now_ns() - SETTLE_NS, lost;
	int rc;

	for (size_t i = 0; i < FPERF_RINGS; i++)
		if (capture->rings[i])
			ring_buffer__consume(capture->rings[i]);
	if (capture->sideband) {
		lost = fperf_sideband__drain(capture->sideband, &capture->batch, pid_wanted, capture);
		fperf_capture__lost(capture, FPERF_SOURCE_MAPPING, FPERF_LOSS_SIDEBAND, lost);
		capture->mappings_lost |= lost > 0;
	}
	capture->round_bytes = capture->batch.data.size;
	rc = batch_take(capture, until_ns, err);
	if (capture->options.triggers && !last)
		fperf_triggers__until(capture->options.triggers, until_ns);
	fperf_capture__lost(capture, FPERF_SOURCE_SAMPLE, FPERF_LOSS_MEMORY, capture->batch.dropped);
	capture->batch.dropped = 0;
	return rc;
}
