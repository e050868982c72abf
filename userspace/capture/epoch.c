/* Recordings of which only the last part is kept: what is said again, and what makes a session of that part.
 */
#include "capture/recording.h"

#include "base/clock.h"
#include "capture/lock_owner.h"
#include "capture/proc_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool thread_lives(void *context, uint32_t pid, uint32_t tid)
{
	(void)context;
	return !syscall(SYS_tgkill, pid, tid, 0) || errno != ESRCH;
}

int fperf_capture__begin_epoch(struct fperf_capture *capture, uint64_t wanted_epochs, struct fperf_error *err)
{
	uint64_t now_ns = fperf_clock__now_ns();
	int rc = fperf_aggregate__begin_epoch(capture->context.aggregate, now_ns, wanted_epochs, thread_lives,
					      NULL, err);

	if (rc)
		return rc;
	fperf_capture__epoch_began(capture, now_ns);
	return fperf_follow__scan(capture, err); /* the accounts of CPU time */
}

/* Of a thread's records in a scan only one counts: the open interval if there is one, which comes second. */
struct snapshot {
	struct fperf_capture *capture;
	uint64_t time_ns;
	const void *task; /* not written yet; NULL: none */
	size_t task_size;
};

static uint32_t owner_find(const struct fperf_wire_header *header, int32_t number, const uint64_t args[3])
{
	struct fperf_lock_wait wait = {.pid = header->pid,
				       .tid = header->tid,
				       .syscall = number,
				       .args = {args[0], args[1], args[2]}};

	return number >= 0 ? fperf_lock_owner__find(&wait) : 0;
}

static int task_write(struct snapshot *snapshot, struct fperf_error *err)
{
	const struct fperf_wire_task_state *task = snapshot->task;

	snapshot->task = NULL;
	if (!task)
		return 0;
	return fperf_aggregate__snapshot(
		snapshot->capture->context.aggregate, task, snapshot->task_size, snapshot->time_ns,
		task->on_cpu ? 0 : owner_find(&task->header, task->syscall, task->args), err);
}

static int snapshot_visit(void *context, void *record, size_t size, struct fperf_error *err)
{
	const struct fperf_wire_header *header = record;
	struct snapshot *snapshot = context;
	const struct fperf_wire_offcpu *offcpu = record;
	uint32_t owner = 0;
	int rc;

	if (header->type == FPERF_WIRE_TASK) {
		rc = task_write(snapshot, err);
		snapshot->task = size >= sizeof(struct fperf_wire_task_state) ? record : NULL;
		snapshot->task_size = size;
		return rc;
	}
	if (header->type != FPERF_WIRE_OFFCPU || size < sizeof(*offcpu))
		return 0;
	snapshot->task = NULL;
	if (!offcpu->wake_ns && !(offcpu->flags & FPERF_OFFCPU_PREEMPTED))
		owner = owner_find(header, offcpu->syscall, offcpu->args);
	return fperf_aggregate__snapshot(snapshot->capture->context.aggregate, record, size,
					 snapshot->time_ns, owner, err);
}

/* What /proc says of a thread, where the iterator in BPF cannot be had: no stack of one that waits, but what
 * it waits in, and so who holds the lock. */
static int proc_task_write(struct fperf_capture *capture, uint32_t pid, uint32_t tid, uint64_t time_ns,
			   struct fperf_error *err)
{
	struct fperf_wire_task_state record = {.header = {.type = FPERF_WIRE_TASK,
							  .size = sizeof(record),
							  .time_ns = time_ns,
							  .pid = pid,
							  .tid = tid},
					       .syscall = -1};
	struct fperf_proc_task task;
	struct fperf_error gone;

	if (fperf_proc__task(pid, tid, &task, &gone))
		return 0;
	record.start_ns = task.start_ns;
	record.on_cpu = task.state == 'R';
	record.state = task.state == 'R' ? 0 : task.state == 'D' ? 2 : 1;
	fperf_proc__syscall(pid, tid, &record.syscall, record.args);
	return fperf_aggregate__snapshot(capture->context.aggregate, &record, sizeof(record), time_ns,
					 owner_find(&record.header, record.syscall, record.args), err);
}

static int proc_snapshot(struct fperf_capture *capture, uint64_t time_ns, struct fperf_error *err)
{
	uint64_t pid, unused;
	size_t cursor = 0;
	int rc = 0;

	while (!rc && fperf_map__next(&capture->live, &cursor, &pid, &unused)) {
		struct fperf_error gone;
		uint32_t *tids;
		size_t count;

		if (fperf_proc__threads((uint32_t)pid, &tids, &count, &gone))
			continue;
		for (size_t i = 0; !rc && i < count; i++)
			rc = proc_task_write(capture, (uint32_t)pid, tids[i], time_ns, err);
		free(tids);
	}
	return rc;
}

int fperf_capture__snapshot(struct fperf_capture *capture, struct fperf_error *err)
{
	struct snapshot snapshot = {.capture = capture, .time_ns = fperf_clock__now_ns()};
	struct fperf_buf *records = &capture->looked;
	int rc;

	if (!capture->scan)
		return proc_snapshot(capture, snapshot.time_ns, err);
	fperf_buf__clear(records);
	rc = fperf_scan__read(capture->scan, snapshot.time_ns, records, err);
	rc = rc ? rc : fperf_scan__each(records, snapshot_visit, &snapshot, err);
	return rc ? rc : task_write(&snapshot, err);
}

struct hold {
	struct fperf_aggregate *aggregate;
	uint64_t time_ns;
};

static int hold_visit(void *context, void *record, size_t size, struct fperf_error *err)
{
	const struct hold *hold = context;

	return fperf_aggregate__still_off(hold->aggregate, record, size, hold->time_ns, err);
}

int fperf_capture__hold(struct fperf_capture *capture, struct fperf_error *err)
{
	struct hold hold = {.aggregate = capture->context.aggregate, .time_ns = fperf_clock__now_ns()};
	int rc;

	if (!capture->scan)
		return 0;
	fperf_buf__clear(&capture->looked);
	rc = fperf_scan__read(capture->scan, hold.time_ns, &capture->looked, err);
	return rc ? rc : fperf_scan__each(&capture->looked, hold_visit, &hold, err);
}

int fperf_capture__look(struct fperf_capture *capture, uint64_t *end_ns, struct fperf_error *err)
{
	*end_ns = capture->looked_ns = fperf_clock__now_ns();
	fperf_buf__clear(&capture->looked);
	fperf_capture__sources_prepare(capture);
	return capture->scan ? fperf_scan__read(capture->scan, *end_ns, &capture->looked, err) : 0;
}

static int looked_visit(void *context, void *record, size_t size, struct fperf_error *err)
{
	return fperf_drain__record(context, record, size, err);
}

int fperf_capture__describe(struct fperf_capture *capture, struct fperf_writer *to, uint64_t start_ns,
			    const char *end_reason, struct fperf_error *err)
{
	int rc;

	capture->context.writer = to;
	capture->options.triggers = NULL;
	fperf_aggregate__set_writer(capture->context.aggregate, to);
	capture->live_ns = start_ns;
	capture->end_ns = capture->looked_ns;
	fperf_aggregate__set_start(capture->context.aggregate, start_ns);
	rc = fperf_capture__write_start(capture, err);
	rc = rc ? rc : fperf_scan__each(&capture->looked, looked_visit, capture, err);
	if (rc)
		return rc;
	fperf_capture__sources_describe(capture);
	fperf_capture__finish_stats(capture, capture->end_ns);
	rc = fperf_aggregate__finish(capture->context.aggregate, capture->end_ns, err);
	return rc ? rc : fperf_capture__write_end(capture, end_reason, err);
}

uint32_t fperf_capture__thread_id(const struct fperf_capture *capture, uint32_t tid)
{
	return fperf_aggregate__thread_id(capture->context.aggregate, tid);
}
