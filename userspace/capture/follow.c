/* Following the target: which processes it is made of, what they look like when recording starts and when it
 * ends. */
#include "capture/recording.h"

#include "base/clock.h"
#include "base/vec.h"
#include "capture/proc_files.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEIGHBOURS_PER_S 50

static int thread_add(struct fperf_capture *capture, uint32_t pid, uint32_t tid, struct fperf_error *err)
{
	struct fperf_proc_task task;
	struct fperf_error gone;
	int rc;

	if (fperf_proc__task(pid, tid, &task, &gone))
		return 0; /* ended meanwhile */
	rc = fperf_aggregate__add_thread(capture->context.aggregate, pid, tid, task.start_ns, task.name, err);
	if (!rc && fperf_map__set(&capture->start_threads, tid, 1))
		rc = fperf_error__no_memory(err, "the list of threads");
	return rc;
}

static int process_add(struct fperf_capture *capture, uint32_t pid, struct fperf_error *err)
{
	struct fperf_aggregate_process process = {.pid = pid};
	struct fperf_proc_task task;
	char exe[4096];
	uint32_t *tids;
	size_t count;
	int rc = fperf_proc__task(pid, pid, &task, err);

	if (rc)
		return rc;
	rc = fperf_proc__threads(pid, &tids, &count, err);
	if (rc)
		return rc;
	fperf_proc__exe(pid, exe, sizeof(exe));
	process.parent_pid = task.parent_pid;
	process.ns_pid = fperf_proc__namespace_pid(pid);
	process.start_ns = task.start_ns;
	process.name = task.name;
	process.exe = exe;
	rc = fperf_aggregate__add_process(capture->context.aggregate, &process, err);
	for (size_t i = 0; i < count && !rc; i++)
		rc = thread_add(capture, pid, tids[i], err);
	free(tids);
	if (rc)
		return rc;
	fperf_follow__read_mappings(capture, pid);
	fperf_capture__on_process(capture, pid);
	return 0;
}

/* Takes in every process whose parent is a target, until none is left to add. */
static int descendants_add(struct fperf_capture *capture, struct fperf_error *err)
{
	bool again = true;
	int rc = 0;

	while (again && !rc) {
		uint32_t *pids;
		size_t count;

		again = false;
		rc = fperf_proc__processes(&pids, &count, err);
		for (size_t i = 0; !rc && i < count; i++) {
			struct fperf_proc_task task;
			struct fperf_error gone;

			if (fperf_map__get(&capture->live, pids[i], NULL) ||
			    fperf_proc__task(pids[i], pids[i], &task, &gone) ||
			    !fperf_map__get(&capture->live, task.parent_pid, NULL))
				continue;
			fperf_targets__add(&capture->shared, pids[i]);
			fperf_map__set(&capture->live, pids[i], FPERF_LIVE_SEEN);
			if (!process_add(capture, pids[i], &gone))
				again = true;
			else
				fperf_map__remove(&capture->live, pids[i]);
		}
		if (!rc)
			free(pids);
	}
	return rc;
}

int fperf_follow__start(struct fperf_capture *capture, struct fperf_error *err)
{
	size_t found = 0;
	int rc = 0;

	for (size_t i = 0; i < capture->options.pid_count; i++)
		fperf_targets__add(&capture->shared, (uint32_t)capture->options.pids[i]);
	for (size_t i = 0; i < capture->options.pid_count; i++) {
		uint32_t pid = (uint32_t)capture->options.pids[i];

		fperf_map__set(&capture->live, pid, FPERF_LIVE_SEEN);
		rc = process_add(capture, pid, err);
		if (!rc) {
			found++;
			continue;
		}
		fperf_map__remove(&capture->live, pid);
		fperf_targets__remove(&capture->shared, pid);
		if (rc != -ESRCH && rc != -ENOENT)
			return rc;
	}
	if (!found)
		return fperf_error__set(err, -ESRCH,
					"the target process %ld is gone (or never was): nothing to record",
					(long)capture->options.pids[0]);
	return descendants_add(capture, err);
}

static int mapping_add(struct fperf_capture *capture, const struct fperf_sideband_mapping *mapping,
		       bool not_executable, uint32_t *module, struct fperf_error *err)
{
	struct fperf_aggregate_mapping added = {
		.pid = mapping->pid,
		.time_ns = mapping->time_ns,
		.start = mapping->start,
		.end = mapping->start + mapping->size,
		.file_offset = mapping->file_offset,
		.path = mapping->path,
		.build_id_size = mapping->build_id_size,
		.device = mapping->device_major << 32 | mapping->device_minor,
		.inode = mapping->inode,
		.inode_generation = mapping->inode_generation,
		.not_executable = not_executable,
	};
	char image[4200];

	memcpy(added.build_id, mapping->build_id, sizeof(mapping->build_id));
	if (mapping->path[0] == '/' && fperf_proc__image(mapping->pid, added.start, added.end, mapping->path,
							 mapping->inode, image, sizeof(image)))
		added.image_path = image;
	return fperf_aggregate__add_mapping(capture->context.aggregate, &added, module, err);
}

static void mapping_fill(struct fperf_sideband_mapping *mapping, const struct fperf_proc_mapping *found,
			 uint32_t pid, uint64_t time_ns)
{
	memset(mapping, 0, offsetof(struct fperf_sideband_mapping, path));
	mapping->time_ns = time_ns;
	mapping->pid = pid;
	mapping->start = found->start;
	mapping->size = found->end - found->start;
	mapping->file_offset = found->file_offset;
	mapping->device_major = found->device_major;
	mapping->device_minor = found->device_minor;
	mapping->inode = found->inode;
	snprintf(mapping->path, sizeof(mapping->path), "%s", found->path);
}

struct mappings_visit {
	struct fperf_capture *capture;
	struct fperf_sideband_mapping *mapping;
	uint32_t pid;
	uint64_t now_ns;
	uint64_t before; /* only the file's mapping that ends there; 0: all */
};

static int mapping_follow(struct fperf_capture *capture, const struct fperf_sideband_mapping *mapping,
			  struct fperf_error *err)
{
	struct fperf_capture_mapping seen = {
		.pid = mapping->pid,
		.time_ns = mapping->time_ns,
		.start = mapping->start,
		.end = mapping->start + mapping->size,
		.file_offset = mapping->file_offset,
		.path = mapping->path,
	};
	int rc = mapping_add(capture, mapping, false, &seen.module, err);

	if (rc)
		return rc;
	/* text that was moved to anonymous memory */
	if (seen.module && seen.path[0] != '/' && seen.path[0] != '[')
		fperf_aggregate__file_at(capture->context.aggregate, seen.pid, seen.start, &seen.path,
					 &seen.file_offset);
	fperf_capture__on_mapping(capture, &seen);
	return 0;
}

static void mapping_visit(void *context, const struct fperf_proc_mapping *found)
{
	struct mappings_visit *visit = context;
	struct fperf_error ignored;
	int rc;

	if (visit->before && (found->executable || found->end != visit->before))
		return;
	mapping_fill(visit->mapping, found, visit->pid, visit->now_ns);
	rc = found->executable ? mapping_follow(visit->capture, visit->mapping, &ignored)
			       : mapping_add(visit->capture, visit->mapping, true, NULL, &ignored);
	if (rc)
		fperf_capture__lost(visit->capture, FPERF_SOURCE_MAPPING, FPERF_LOSS_MEMORY, 1);
}

static void mappings_read(struct fperf_capture *capture, uint32_t pid, uint64_t before)
{
	struct mappings_visit visit = {
		.capture = capture, .pid = pid, .now_ns = fperf_clock__now_ns(), .before = before};
	struct fperf_error gone;

	visit.mapping = malloc(sizeof(*visit.mapping));
	if (!visit.mapping)
		return;
	fperf_proc__mappings(pid, mapping_visit, &visit, &gone);
	free(visit.mapping);
}

void fperf_follow__read_mappings(struct fperf_capture *capture, uint32_t pid)
{
	mappings_read(capture, pid, 0);
}

/* Anonymous code may be a file's, whose headers are mapped right below it (a loader other than the system's).
 * Looked up for few a second, since compilers at run time map a lot of it. */
static void neighbour_look(struct fperf_capture *capture, const struct fperf_sideband_mapping *mapping)
{
	if (mapping->time_ns - capture->neighbours_ns >= FPERF_NS_PER_S) {
		capture->neighbours_ns = mapping->time_ns;
		capture->neighbours = 0;
	}
	if (capture->neighbours++ < NEIGHBOURS_PER_S)
		mappings_read(capture, mapping->pid, mapping->start);
}

int fperf_follow__mapping(struct fperf_capture *capture, const struct fperf_sideband_mapping *mapping,
			  struct fperf_error *err)
{
	if (!mapping->path[0])
		neighbour_look(capture, mapping);
	return mapping_follow(capture, mapping, err);
}

#define CHECK_COUNT 64 /* processes per check */

/* BPF takes a process out of the target set at its end. If its exit record has not come by the next check, it
 * was lost. */
void fperf_follow__check_live(struct fperf_capture *capture)
{
	uint32_t ended[CHECK_COUNT], doubted[CHECK_COUNT];
	size_t cursor = 0, ended_count = 0, doubted_count = 0;
	uint64_t pid, known;

	while (ended_count < CHECK_COUNT && doubted_count < CHECK_COUNT &&
	       fperf_map__next(&capture->live, &cursor, &pid, &known)) {
		bool target = fperf_targets__has(&capture->shared, (uint32_t)pid);

		if ((!target && known == FPERF_LIVE_DOUBTED) || (kill((pid_t)pid, 0) && errno == ESRCH))
			ended[ended_count++] = (uint32_t)pid;
		else if (!target)
			doubted[doubted_count++] = (uint32_t)pid;
	}
	for (size_t i = 0; i < doubted_count; i++)
		fperf_map__set(&capture->live, doubted[i], FPERF_LIVE_DOUBTED);
	for (size_t i = 0; i < ended_count; i++) {
		fperf_map__remove(&capture->live, ended[i]);
		fperf_targets__remove(&capture->shared, ended[i]);
		fperf_capture__on_exit(capture, ended[i]);
	}
}

/* An interval that began before the recording belongs to a thread that existed then, and is its first; else
 * its beginning was lost (the table of threads was full, which is counted). */
static bool begin_is_known(struct fperf_capture *capture, struct fperf_wire_offcpu *interval)
{
	bool first = fperf_map__remove(&capture->start_threads, interval->header.tid);

	if (!(interval->flags & FPERF_OFFCPU_OPEN_START) && interval->out_ns)
		return true;
	interval->flags |= FPERF_OFFCPU_OPEN_START;
	interval->out_ns = capture->live_ns;
	return first;
}

bool fperf_follow__clip(struct fperf_capture *capture, struct fperf_wire_offcpu *interval)
{
	uint64_t *in_ns = &interval->header.time_ns;

	if (!begin_is_known(capture, interval))
		return false;
	if (capture->end_ns && *in_ns > capture->end_ns) {
		if (interval->out_ns >= capture->end_ns)
			return false;
		interval->flags |= FPERF_OFFCPU_OPEN_END;
		*in_ns = capture->end_ns;
		if (interval->wake_ns > capture->end_ns) {
			interval->wake_ns = 0;
			interval->waker = (struct fperf_wire_task){0};
		}
	}
	if (*in_ns <= capture->live_ns)
		return false;
	if (interval->out_ns < capture->live_ns) {
		interval->flags |= FPERF_OFFCPU_OPEN_START;
		interval->out_ns = capture->live_ns;
	}
	return true;
}

static int scan_visit(void *context, void *record, size_t size, struct fperf_error *err)
{
	return fperf_drain__record(context, record, size, err);
}

static void account_write(struct fperf_capture *capture, uint64_t time_ns, uint32_t tid, uint64_t cpu_ns)
{
	struct fperf_rec_account account = {
		.time_ns = time_ns,
		.thread = fperf_aggregate__thread_id(capture->context.aggregate, tid),
		.cpu_ns = cpu_ns,
	};
	struct fperf_error ignored; /* a write error is sticky in the writer and comes back at close */

	if (account.thread)
		fperf_writer__add(capture->context.writer, FPERF_RECORD_ACCOUNT, &account, &ignored);
}

/* What /proc says of every thread's CPU time, where the scan in BPF cannot be had. */
static void accounts_read(struct fperf_capture *capture)
{
	size_t cursor = 0;
	uint64_t pid, unused;

	while (fperf_map__next(&capture->live, &cursor, &pid, &unused)) {
		struct fperf_error gone;
		uint32_t *tids;
		size_t count;

		if (fperf_proc__threads((uint32_t)pid, &tids, &count, &gone))
			continue;
		for (size_t i = 0; i < count; i++) {
			uint64_t cpu_ns;

			if (fperf_proc__cpu_ns((uint32_t)pid, tids[i], &cpu_ns))
				account_write(capture, fperf_clock__now_ns(), tids[i], cpu_ns);
		}
		free(tids);
	}
}

int fperf_follow__scan(struct fperf_capture *capture, struct fperf_error *err)
{
	if (capture->scan)
		return fperf_scan__run(capture->scan, capture->end_ns, scan_visit, capture, err);
	accounts_read(capture);
	return 0;
}
