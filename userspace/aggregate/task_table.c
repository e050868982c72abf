#include "aggregate/task_table.h"

#include "aggregate/stack_table.h"
#include "base/clock.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* /proc/PID/stat counts start times in ticks of 10 ms; the offset between the clocks adds a little. */
#define START_TOLERANCE_NS (20 * FPERF_NS_PER_MS)
/* A thread still runs for a moment after its exit was reported. Records beyond that are of somebody else. */
#define EXIT_GRACE_NS (10 * FPERF_NS_PER_S)
/* Records come in order of time, and late by less than this. */
#define MAPS_GRACE_NS (250 * FPERF_NS_PER_MS)
/* From the rename inside an exec to its report: the new program and its loader are read in between. */
#define EXEC_LONGEST_NS (1 * FPERF_NS_PER_S)
/* Taken for the length of an exec when its rename was not seen. */
#define EXEC_USUAL_NS (100 * FPERF_NS_PER_MS)

void fperf_task_table__init(struct fperf_task_table *table, struct fperf_writer *writer)
{
	*table = (struct fperf_task_table){.writer = writer};
}

void fperf_neighbour__free(struct fperf_neighbour *neighbour)
{
	free(neighbour->path);
	free(neighbour->image_path);
	*neighbour = (struct fperf_neighbour){0};
}

static void process_free_maps(struct fperf_process *process)
{
	fperf_mapping_set__free(&process->maps);
	fperf_neighbour__free(&process->neighbour);
}

void fperf_process__free(struct fperf_process *process)
{
	process_free_maps(process);
	free(process->exe);
	free(process);
}

void fperf_thread__forget_start(struct fperf_thread *thread)
{
	if (thread->at_start)
		free(thread->at_start->stack.frames);
	free(thread->at_start);
	thread->at_start = NULL;
}

void fperf_thread__free(struct fperf_thread *thread)
{
	fperf_thread__forget_start(thread);
	free(thread->out_stack.frames);
	free(thread);
}

void fperf_task_table__free(struct fperf_task_table *table)
{
	for (size_t i = 0; i < table->process_count; i++)
		fperf_process__free(table->processes[i]);
	for (size_t i = 0; i < table->thread_count; i++)
		fperf_thread__free(table->threads[i]);
	free(table->processes);
	free(table->threads);
	free(table->new_images);
	free(table->ended);
	fperf_map__free(&table->by_pid);
	fperf_map__free(&table->by_tid);
	fperf_map__free(&table->other_by_pid);
	fperf_map__free(&table->other_by_task);
}

static void name_set(char name[FPERF_COMM_SIZE + 1], const char *text)
{
	size_t size = strnlen(text, FPERF_COMM_SIZE);

	memset(name, 0, FPERF_COMM_SIZE + 1);
	memcpy(name, text, size);
}

struct fperf_process *fperf_task_table__process(const struct fperf_task_table *table, uint32_t pid)
{
	uint64_t at;

	return fperf_map__get(&table->by_pid, pid, &at) ? (struct fperf_process *)(uintptr_t)at : NULL;
}

struct fperf_thread *fperf_task_table__thread(const struct fperf_task_table *table, uint32_t tid)
{
	uint64_t at;

	return fperf_map__get(&table->by_tid, tid, &at) ? (struct fperf_thread *)(uintptr_t)at : NULL;
}

int fperf_task_table__write_process(struct fperf_task_table *table, const struct fperf_process *process,
				    struct fperf_error *err)
{
	struct fperf_rec_process record = {
		.id = process->id,
		.pid = process->pid,
		.ns_pid = process->ns_pid,
		.parent = process->parent,
		.generation = process->generation,
		.name = fperf_writer__text(table->writer, process->name),
		.exe = fperf_writer__text(table->writer, process->exe),
		.target = process->target,
		.start_ns = process->start_ns,
	};

	return fperf_writer__add(table->writer, FPERF_RECORD_PROCESS, &record, err);
}

int fperf_task_table__write_thread(struct fperf_task_table *table, const struct fperf_thread *thread,
				   struct fperf_error *err)
{
	struct fperf_rec_thread record = {
		.id = thread->id,
		.process = thread->process->id,
		.tid = thread->tid,
		.name = fperf_writer__text(table->writer, thread->name),
		.start_ns = thread->start_ns,
	};

	return fperf_writer__add(table->writer, FPERF_RECORD_THREAD, &record, err);
}

/* A new process that is not in a map of ids yet, nor written. */
static struct fperf_process *process_new(struct fperf_task_table *table, uint32_t pid, const char *name,
					 struct fperf_error *err)
{
	struct fperf_process *process = calloc(1, sizeof(*process));
	struct fperf_process **place =
		process ? fperf_vec__push(&table->processes, &table->process_count, &table->process_capacity)
			: NULL;

	if (!place) {
		free(process);
		fperf_error__no_memory(err, "a process");
		return NULL;
	}
	*place = process;
	process->id = ++table->last_process;
	process->pid = pid;
	name_set(process->name, name);
	return process;
}

static struct fperf_thread *thread_new(struct fperf_task_table *table, struct fperf_process *process,
				       uint32_t tid, uint64_t start_ns, const char *name,
				       struct fperf_error *err)
{
	struct fperf_thread *thread = calloc(1, sizeof(*thread));
	struct fperf_thread **place =
		thread ? fperf_vec__push(&table->threads, &table->thread_count, &table->thread_capacity)
		       : NULL;

	if (!place) {
		free(thread);
		fperf_error__no_memory(err, "a thread");
		return NULL;
	}
	*place = thread;
	thread->id = ++table->last_thread;
	thread->process = process;
	thread->tid = tid;
	thread->start_ns = start_ns;
	name_set(thread->name, name);
	return fperf_task_table__write_thread(table, thread, err) ? NULL : thread;
}

static bool start_fits(uint64_t known_ns, uint64_t start_ns)
{
	uint64_t apart = known_ns > start_ns ? known_ns - start_ns : start_ns - known_ns;

	return !known_ns || !start_ns || apart <= START_TOLERANCE_NS;
}

/* The main thread of a program lives from the exec on, but the kernel still tells the time of the fork. */
static bool same_thread(const struct fperf_thread *known, uint64_t start_ns)
{
	return start_fits(known->start_ns, start_ns) ||
	       (known->tid == known->process->pid && known->process->generation &&
		start_fits(known->process->birth_ns, start_ns));
}

/* Enters a process of the target as the latest bearer of its pid. */
static int process_enter(struct fperf_task_table *table, struct fperf_process *process,
			 struct fperf_error *err)
{
	process->target = true;
	process->older = fperf_task_table__process(table, process->pid);
	if (fperf_map__set(&table->by_pid, process->pid, (uintptr_t)process))
		return fperf_error__no_memory(err, "the table of processes");
	return fperf_task_table__write_process(table, process, err);
}

/* Fills in what was not known before. */
static int process_complete(struct fperf_task_table *table, struct fperf_process *process, uint32_t ns_pid,
			    uint64_t start_ns, const char *name, const char *exe, struct fperf_error *err)
{
	bool changed = false;

	if (!process->name[0] && *name) {
		name_set(process->name, name);
		changed = true;
	}
	if (!process->ns_pid && ns_pid) {
		process->ns_pid = ns_pid;
		changed = true;
	}
	if (!process->birth_ns && start_ns) {
		process->birth_ns = process->start_ns = start_ns;
		changed = true;
	}
	if (*exe && (!process->exe || strcmp(process->exe, exe) != 0))
		return fperf_task_table__set_exe(table, process, exe, err);
	return changed ? fperf_task_table__write_process(table, process, err) : 0;
}

int fperf_task_table__set_exe(struct fperf_task_table *table, struct fperf_process *process, const char *exe,
			      struct fperf_error *err)
{
	char *copy = strdup(exe);

	if (!copy)
		return fperf_error__no_memory(err, "the path of a program");
	free(process->exe);
	process->exe = copy;
	return fperf_task_table__write_process(table, process, err);
}

struct fperf_process *fperf_task_table__add_process(struct fperf_task_table *table, uint32_t pid,
						    uint32_t parent_pid, uint32_t ns_pid, uint64_t start_ns,
						    const char *name, const char *exe,
						    struct fperf_error *err)
{
	struct fperf_process *process = fperf_task_table__process(table, pid), *parent;

	if (process && !process->end_ns && start_fits(process->birth_ns, start_ns))
		return process_complete(table, process, ns_pid, start_ns, name, exe, err) ? NULL : process;
	if (process && !process->end_ns)
		fperf_task_table__end_process(table, process, start_ns);
	process = process_new(table, pid, name, err);
	if (!process)
		return NULL;
	parent = fperf_task_table__process(table, parent_pid);
	process->parent = parent ? parent->id : 0;
	process->ns_pid = ns_pid;
	process->birth_ns = process->start_ns = start_ns;
	process->exe = *exe ? strdup(exe) : NULL;
	return process_enter(table, process, err) ? NULL : process;
}

struct fperf_thread *fperf_task_table__add_thread(struct fperf_task_table *table,
						  struct fperf_process *process, uint32_t tid,
						  uint64_t start_ns, const char *name,
						  struct fperf_error *err)
{
	struct fperf_thread *known = fperf_task_table__thread(table, tid), *thread;

	if (known && !known->end_ns && known->process == process && same_thread(known, start_ns)) {
		if (known->name[0] || !*name)
			return known;
		name_set(known->name, name);
		return fperf_task_table__write_thread(table, known, err) ? NULL : known;
	}
	if (known && !known->end_ns)
		known->end_ns = start_ns ? start_ns : process->start_ns;
	thread = thread_new(table, process, tid, start_ns, name, err);
	if (!thread)
		return NULL;
	thread->older = known;
	if (fperf_map__set(&table->by_tid, tid, (uintptr_t)thread)) {
		fperf_error__no_memory(err, "the table of threads");
		return NULL;
	}
	return thread;
}

/* The bearer of (pid, tid) at a time, among those known; NULL when there is none. One that begins later is
 * taken if none began earlier: it was seen only after its first event. */
static struct fperf_thread *thread_at(const struct fperf_task_table *table, uint32_t pid, uint32_t tid,
				      uint64_t time_ns)
{
	struct fperf_thread *fitting = NULL;

	for (struct fperf_thread *thread = fperf_task_table__thread(table, tid); thread;
	     thread = thread->older) {
		if (thread->process->pid != pid)
			continue;
		if (thread->start_ns <= time_ns)
			return thread;
		fitting = thread;
	}
	return fitting;
}

struct fperf_thread *fperf_task_table__at(struct fperf_task_table *table, uint32_t pid, uint32_t tid,
					  uint64_t time_ns, struct fperf_error *err)
{
	struct fperf_thread *thread = thread_at(table, pid, tid, time_ns);
	struct fperf_process *process;

	if (thread && (!thread->end_ns || time_ns <= thread->end_ns + EXIT_GRACE_NS))
		return thread;
	process = fperf_task_table__process(table, pid);
	if (!process || process->end_ns) {
		process = fperf_task_table__add_process(table, pid, 0, 0, time_ns, "", "", err);
		if (!process)
			return NULL;
		fperf_task_table__queue_image(table, process);
	}
	return fperf_task_table__add_thread(table, process, tid, time_ns, "", err);
}

/* The process of a task outside of the target. Its name is known only if the task is its leader. */
static struct fperf_process *other_process(struct fperf_task_table *table, uint32_t pid, uint32_t tid,
					   const char *name, struct fperf_error *err)
{
	const char *leader = pid == tid ? name : "";
	struct fperf_process *process = NULL;
	uint64_t at;

	if (fperf_map__get(&table->other_by_pid, pid, &at))
		process = (struct fperf_process *)(uintptr_t)at;
	if (process && (!*leader || strcmp(process->name, leader) == 0))
		return process;
	if (process && !process->name[0]) {
		name_set(process->name, leader);
		return fperf_task_table__write_process(table, process, err) ? NULL : process;
	}
	process = process_new(table, pid, leader, err);
	if (!process)
		return NULL;
	if (fperf_map__set(&table->other_by_pid, pid, (uintptr_t)process)) {
		fperf_error__no_memory(err, "the table of other processes");
		return NULL;
	}
	return fperf_task_table__write_process(table, process, err) ? NULL : process;
}

static struct fperf_thread *other_thread(struct fperf_task_table *table, uint32_t pid, uint32_t tid,
					 const char *name, struct fperf_error *err)
{
	struct {
		uint32_t pid, tid;
		char name[FPERF_COMM_SIZE];
	} task = {.pid = pid, .tid = tid};
	struct fperf_process *process;
	struct fperf_thread *thread;
	uint64_t key, at;

	memcpy(task.name, name, strnlen(name, sizeof(task.name)));
	/* Two tasks with one hash lie behind each other. */
	for (key = fperf_fnv1a(&task, sizeof(task)); fperf_map__get(&table->other_by_task, key, &at); key++) {
		thread = (struct fperf_thread *)(uintptr_t)at;
		if (thread->tid == tid && thread->process->pid == pid &&
		    strncmp(thread->name, name, FPERF_COMM_SIZE) == 0)
			return thread;
	}
	process = other_process(table, pid, tid, name, err);
	thread = process ? thread_new(table, process, tid, 0, name, err) : NULL;
	if (thread && fperf_map__set(&table->other_by_task, key, (uintptr_t)thread)) {
		fperf_error__no_memory(err, "the table of other threads");
		return NULL;
	}
	return thread;
}

int fperf_task_table__mentioned(struct fperf_task_table *table, const struct fperf_wire_task *task,
				uint64_t time_ns, uint32_t *id, struct fperf_error *err)
{
	char name[FPERF_COMM_SIZE + 1] = "";
	struct fperf_thread *thread;
	struct fperf_process *process;

	*id = 0;
	if (!task->tid)
		return 0;
	memcpy(name, task->name, strnlen(task->name, FPERF_COMM_SIZE));
	thread = thread_at(table, task->pid, task->tid, time_ns);
	process = fperf_task_table__process(table, task->pid);
	if (thread && thread->end_ns && time_ns > thread->end_ns && strcmp(thread->name, name) != 0)
		thread = NULL;
	if (!thread && process && !process->end_ns)
		thread = fperf_task_table__add_thread(table, process, task->tid, time_ns, name, err);
	else if (!thread)
		thread = other_thread(table, task->pid, task->tid, name, err);
	if (!thread)
		return err->code;
	*id = thread->id;
	return 0;
}

static void thread_end(struct fperf_task_table *table, uint32_t tid, uint64_t time_ns)
{
	struct fperf_thread *thread = fperf_task_table__thread(table, tid);

	if (thread && !thread->end_ns)
		thread->end_ns = time_ns;
}

/* When the exec began to map the new program. */
static uint64_t exec_begin(const struct fperf_thread *leader, const struct fperf_wire_exec *exec,
			   const char *name)
{
	uint64_t time_ns = exec->header.time_ns;

	if (leader && leader->renamed_ns && leader->renamed_ns <= time_ns &&
	    strcmp(leader->name, name) == 0 && time_ns - leader->renamed_ns <= EXEC_LONGEST_NS)
		return leader->renamed_ns;
	return time_ns > EXEC_USUAL_NS ? time_ns - EXEC_USUAL_NS : 0;
}

struct fperf_process *fperf_task_table__exec(struct fperf_task_table *table,
					     const struct fperf_wire_exec *exec, const char *name,
					     struct fperf_error *err)
{
	const struct fperf_wire_header *header = &exec->header;
	struct fperf_process *old = fperf_task_table__process(table, header->pid), *process;
	struct fperf_thread *leader = fperf_task_table__thread(table, header->pid);

	process = process_new(table, header->pid, name, err);
	if (!process)
		return NULL;
	process->start_ns = process->birth_ns = header->time_ns;
	if (old && !old->end_ns) {
		process->generation = old->generation + 1;
		process->birth_ns = old->birth_ns;
		process->ns_pid = old->ns_pid;
		process->parent = old->parent;
		if (fperf_mapping_set__split(&old->maps, &process->maps, exec_begin(leader, exec, name))) {
			fperf_error__no_memory(err, "the mappings of a process");
			return NULL;
		}
		fperf_task_table__end_process(table, old, header->time_ns);
	}
	if (leader && leader->rename_pending_ns && strcmp(leader->name, name) == 0)
		leader->rename_pending_ns = 0;
	if (leader && fperf_task_table__settle(table, leader, UINT64_MAX, err))
		return NULL;
	thread_end(table, header->pid, header->time_ns);
	if (exec->old_tid && exec->old_tid != header->pid)
		thread_end(table, exec->old_tid, header->time_ns);
	if (process_enter(table, process, err) ||
	    !fperf_task_table__add_thread(table, process, header->pid, header->time_ns, name, err))
		return NULL;
	return process;
}

int fperf_task_table__settle(struct fperf_task_table *table, struct fperf_thread *thread, uint64_t now_ns,
			     struct fperf_error *err)
{
	struct fperf_rec_task_event event = {
		.time_ns = thread->rename_pending_ns, .thread = thread->id, .event = FPERF_TASK_RENAME};

	if (!event.time_ns || (now_ns != UINT64_MAX && now_ns < event.time_ns + EXEC_LONGEST_NS))
		return 0;
	thread->rename_pending_ns = 0;
	event.name = fperf_writer__text(table->writer, thread->name);
	return fperf_writer__add(table->writer, FPERF_RECORD_TASK_EVENT, &event, err);
}

int fperf_task_table__rename(struct fperf_task_table *table, struct fperf_thread *thread, uint64_t time_ns,
			     const char *name, struct fperf_error *err)
{
	int result = fperf_task_table__settle(table, thread, UINT64_MAX, err);

	if (result)
		return result;
	thread->renamed_ns = time_ns;
	if (strcmp(thread->name, name) == 0)
		return 0;
	name_set(thread->name, name);
	thread->rename_pending_ns = time_ns;
	if (thread->tid == thread->process->pid)
		return 0;
	return fperf_task_table__settle(table, thread, UINT64_MAX, err);
}

void fperf_task_table__end_process(struct fperf_task_table *table, struct fperf_process *process,
				   uint64_t time_ns)
{
	struct fperf_process **ended;

	process->end_ns = time_ns ? time_ns : 1;
	ended = fperf_vec__push(&table->ended, &table->ended_count, &table->ended_capacity);
	if (ended)
		*ended = process;
	else
		process_free_maps(process);
}

void fperf_task_table__free_old_maps(struct fperf_task_table *table, uint64_t now_ns)
{
	while (table->ended_next < table->ended_count) {
		struct fperf_process *process = table->ended[table->ended_next];

		if (now_ns < process->end_ns + MAPS_GRACE_NS)
			break;
		process_free_maps(process);
		table->ended_next++;
	}
	if (table->ended_next == table->ended_count)
		table->ended_next = table->ended_count = 0;
}

void fperf_task_table__queue_image(struct fperf_task_table *table, struct fperf_process *process)
{
	struct fperf_process **place;

	if (process->image_queued)
		return;
	place = fperf_vec__push(&table->new_images, &table->new_image_count, &table->new_image_capacity);
	if (!place)
		return;
	*place = process;
	process->image_queued = true;
}

bool fperf_task_table__next_new_image(struct fperf_task_table *table, uint32_t *pid)
{
	while (table->new_image_next < table->new_image_count) {
		struct fperf_process *process = table->new_images[table->new_image_next++];

		process->image_queued = false;
		if (process->end_ns)
			continue;
		*pid = process->pid;
		return true;
	}
	table->new_image_next = table->new_image_count = 0;
	return false;
}
