#include "capture/unwind_processes.h"

#include "base/map.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct process {
	uint32_t pid;			       /* 0: unused entry */
	struct fperf_unwind_mapping *mappings; /* sorted, without overlaps */
	size_t count, capacity;
	uint32_t run_first, run_count; /* in the BPF map; run_count 0: none */
	uint32_t generation;
	uint64_t version;
	bool changed;
};

struct fperf_unwind_processes {
	struct fperf_unwind_maps *maps;
	struct fperf_unwind_modules *modules;
	struct fperf_unwind_space runs;
	struct process *processes;
	size_t count, capacity;
	struct fperf_map by_pid;
	uint32_t last_generation;
	uint64_t last_version;
	uint32_t *changed; /* indexes of processes to be written */
	size_t changed_count, changed_capacity;
	uint64_t no_room;
};

int fperf_unwind_processes__new(struct fperf_unwind_maps *maps, struct fperf_unwind_modules *modules,
				struct fperf_unwind_processes **out, struct fperf_error *err)
{
	struct fperf_unwind_processes *processes = calloc(1, sizeof(*processes));

	if (!processes || fperf_unwind_space__init(&processes->runs, FPERF_UNWIND_MAPPINGS)) {
		free(processes);
		return fperf_error__no_memory(err, "the list of processes to unwind");
	}
	processes->maps = maps;
	processes->modules = modules;
	*out = processes;
	return 0;
}

static void mappings_drop(struct fperf_unwind_processes *processes, struct process *process)
{
	for (size_t i = 0; i < process->count; i++)
		fperf_unwind_modules__put(processes->modules, process->mappings[i].module);
	process->count = 0;
}

void fperf_unwind_processes__free(struct fperf_unwind_processes *processes)
{
	if (!processes)
		return;
	for (size_t i = 0; i < processes->count; i++) {
		if (processes->processes[i].pid)
			fperf_unwind_maps__remove_process(processes->maps, processes->processes[i].pid);
		mappings_drop(processes, &processes->processes[i]);
		free(processes->processes[i].mappings);
	}
	fperf_unwind_space__destroy(&processes->runs);
	fperf_map__free(&processes->by_pid);
	free(processes->changed);
	free(processes->processes);
	free(processes);
}

static struct process *process_find(const struct fperf_unwind_processes *processes, uint32_t pid)
{
	uint64_t index;

	return fperf_map__get(&processes->by_pid, pid, &index) ? &processes->processes[index] : NULL;
}

/* Never 0, which means "not known". */
static void generation_new(struct fperf_unwind_processes *processes, struct process *process)
{
	if (!++processes->last_generation)
		processes->last_generation = 1;
	process->generation = processes->last_generation;
}

static struct process *process_get(struct fperf_unwind_processes *processes, uint32_t pid)
{
	struct process *process = process_find(processes, pid);
	size_t index = 0;

	if (process)
		return process;
	while (index < processes->count && processes->processes[index].pid)
		index++;
	if (index == processes->count &&
	    !fperf_vec__push(&processes->processes, &processes->count, &processes->capacity))
		return NULL;
	if (fperf_map__set(&processes->by_pid, pid, index))
		return NULL;
	process = &processes->processes[index];
	process->pid = pid;
	generation_new(processes, process);
	return process;
}

static void process_changed(struct fperf_unwind_processes *processes, struct process *process)
{
	uint32_t *index;

	process->version = ++processes->last_version;
	if (process->changed)
		return;
	index = fperf_vec__push(&processes->changed, &processes->changed_count, &processes->changed_capacity);
	if (!index)
		return; /* the next change tries again */
	*index = (uint32_t)(process - processes->processes);
	process->changed = true;
}

static bool mapping_insert(struct process *process, size_t at, const struct fperf_unwind_mapping *mapping)
{
	if (!fperf_vec__push(&process->mappings, &process->count, &process->capacity))
		return false;
	memmove(&process->mappings[at + 1], &process->mappings[at],
		(process->count - 1 - at) * sizeof(*process->mappings));
	process->mappings[at] = *mapping;
	return true;
}

static void mapping_remove(struct process *process, size_t at)
{
	process->count--;
	memmove(&process->mappings[at], &process->mappings[at + 1],
		(process->count - at) * sizeof(*process->mappings));
}

/* Takes [start, end) out of the list, cutting what it overlaps. Returns whether something with another
 * meaning than `same` went, so that what is cached for it must not be found any more. */
static bool range_clear(struct fperf_unwind_processes *processes, struct process *process,
			const struct fperf_unwind_mapping *same)
{
	bool differs = false;
	size_t i = 0;

	while (i < process->count) {
		struct fperf_unwind_mapping *old = &process->mappings[i], right = *old;

		if (old->end <= same->start || old->start >= same->end) {
			i++;
			continue;
		}
		differs |= old->module != same->module ||
			   (old->module != FPERF_UNWIND_NO_MODULE && old->delta != same->delta);
		right.start = same->end;
		if (old->start < same->start) {
			old->end = same->start;
			i++;
			if (right.end > right.start && mapping_insert(process, i, &right))
				fperf_unwind_modules__retain(processes->modules, right.module);
		} else if (right.end > right.start) {
			old->start = right.start;
		} else {
			fperf_unwind_modules__put(processes->modules, old->module);
			mapping_remove(process, i);
		}
	}
	return differs;
}

void fperf_unwind_processes__map(struct fperf_unwind_processes *processes,
				 const struct fperf_capture_mapping *mapping)
{
	struct process *process = process_get(processes, mapping->pid);
	struct fperf_unwind_mapping added = {
		.start = mapping->start, .end = mapping->end, .delta = mapping->start - mapping->file_offset};
	size_t at = 0;

	if (!process || mapping->end <= mapping->start || !strcmp(mapping->path, "[uprobes]"))
		return; /* code there stands for code elsewhere, see bpf/unwind.h */
	added.module = fperf_unwind_modules__get(processes->modules, mapping);
	if (range_clear(processes, process, &added))
		generation_new(processes, process);
	while (at < process->count && process->mappings[at].start < added.start)
		at++;
	if (!mapping_insert(process, at, &added))
		fperf_unwind_modules__put(processes->modules, added.module);
	process_changed(processes, process);
}

void fperf_unwind_processes__fork(struct fperf_unwind_processes *processes, uint32_t parent, uint32_t child)
{
	struct process *to = process_get(processes, child), *from = process_find(processes, parent);

	if (!to || !from || to == from || to->count)
		return;
	if (fperf_vec__grow((void **)&to->mappings, &to->capacity, from->count, sizeof(*to->mappings)))
		return;
	memcpy(to->mappings, from->mappings, from->count * sizeof(*to->mappings));
	to->count = from->count;
	for (size_t i = 0; i < to->count; i++)
		fperf_unwind_modules__retain(processes->modules, to->mappings[i].module);
	process_changed(processes, to);
}

void fperf_unwind_processes__renew(struct fperf_unwind_processes *processes, uint32_t pid)
{
	struct process *process = process_find(processes, pid);

	if (process && process->count)
		process_changed(processes, process);
}

void fperf_unwind_processes__keep(struct fperf_unwind_processes *processes, uint32_t pid,
				  bool (*holds)(void *context, uint64_t start, uint64_t end), void *context)
{
	struct process *process = process_find(processes, pid);
	size_t before = process ? process->count : 0;

	for (size_t i = 0; process && i < process->count;) {
		if (holds(context, process->mappings[i].start, process->mappings[i].end)) {
			i++;
			continue;
		}
		fperf_unwind_modules__put(processes->modules, process->mappings[i].module);
		mapping_remove(process, i);
	}
	if (!process || process->count == before)
		return;
	generation_new(processes, process);
	process_changed(processes, process);
}

static void run_give(struct fperf_unwind_processes *processes, struct process *process, uint64_t now_ns)
{
	if (process->run_count)
		fperf_unwind_space__give(&processes->runs, process->run_first, process->run_count, now_ns);
	process->run_count = 0;
}

void fperf_unwind_processes__exit(struct fperf_unwind_processes *processes, uint32_t pid)
{
	struct process *process = process_find(processes, pid);

	if (!process)
		return;
	mappings_drop(processes, process);
	fperf_map__remove(&processes->by_pid, pid);
	process->pid = 0;
	process_changed(processes, process);
	fperf_unwind_maps__remove_process(processes->maps, pid);
}

static void process_write(struct fperf_unwind_processes *processes, struct process *process, uint64_t now_ns)
{
	struct fperf_unwind_process entry = {.generation = process->generation};
	uint32_t old_first = process->run_first, old_count = process->run_count;

	process->changed = false;
	if (!process->pid) {
		run_give(processes, process, now_ns);
		return;
	}
	entry.count = (uint32_t)process->count;
	if (entry.count && !fperf_unwind_space__take(&processes->runs, entry.count, &entry.first)) {
		processes->no_room++; /* the run before stays */
		return;
	}
	memcpy(&processes->maps->mappings[entry.first], process->mappings,
	       process->count * sizeof(*process->mappings));
	if (fperf_unwind_maps__set_process(processes->maps, process->pid, &entry))
		processes->no_room++;
	process->run_first = entry.first;
	process->run_count = entry.count;
	if (old_count)
		fperf_unwind_space__give(&processes->runs, old_first, old_count, now_ns);
}

void fperf_unwind_processes__flush(struct fperf_unwind_processes *processes, uint64_t now_ns)
{
	fperf_unwind_space__settle(&processes->runs, now_ns, NULL, NULL);
	for (size_t i = 0; i < processes->changed_count; i++)
		process_write(processes, &processes->processes[processes->changed[i]], now_ns);
	processes->changed_count = 0;
}

uint64_t fperf_unwind_processes__mappings(const struct fperf_unwind_processes *processes, uint32_t pid,
					  const struct fperf_unwind_mapping **mappings, size_t *count)
{
	const struct process *process = process_find(processes, pid);

	*mappings = process ? process->mappings : NULL;
	*count = process ? process->count : 0;
	return process ? process->version : 0;
}

uint64_t fperf_unwind_processes__version(const struct fperf_unwind_processes *processes, uint32_t pid)
{
	const struct process *process = process_find(processes, pid);

	return process ? process->version : 0;
}

void fperf_unwind_processes__stats(const struct fperf_unwind_processes *processes,
				   struct fperf_unwind_processes_stats *stats)
{
	*stats = (struct fperf_unwind_processes_stats){.no_room = processes->no_room};
	for (size_t i = 0; i < processes->count; i++) {
		stats->processes += processes->processes[i].pid != 0;
		stats->mappings += processes->processes[i].count;
	}
}
