#include "aggregate/aggregate_internal.h"

#include "base/clock.h"
#include "base/vec.h"
#include "frameperf/meta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int fperf_aggregate__new(const struct fperf_aggregate_options *options, struct fperf_aggregate **agg,
			 struct fperf_error *err)
{
	struct fperf_stack_table_options stack_options = {.limit = options->stack_limit};
	struct fperf_aggregate *new = calloc(1, sizeof(*new));

	if (!new)
		return fperf_error__no_memory(err, "the aggregator");
	new->options = *options;
	fperf_task_table__init(&new->tasks, options->writer);
	new->modules = fperf_module_table__new(options->writer);
	new->stacks = fperf_stack_table__new(&stack_options);
	if (!new->modules || !new->stacks ||
	    !fperf_vec__push(&new->epochs, &new->epoch_count, &new->epoch_capacity)) {
		fperf_aggregate__free(new);
		return fperf_error__no_memory(err, "the tables of the aggregator");
	}
	*agg = new;
	return 0;
}

static void epoch_free(struct fperf_aggregate_epoch *epoch)
{
	fperf_map__free(&epoch->kernel_addresses);
	fperf_map__free(&epoch->unwind_failures);
}

void fperf_aggregate__free(struct fperf_aggregate *agg)
{
	if (!agg)
		return;
	fperf_task_table__free(&agg->tasks);
	fperf_module_table__free(agg->modules);
	fperf_stack_table__free(agg->stacks);
	for (size_t i = 0; i < agg->epoch_count; i++)
		epoch_free(&agg->epochs[i]);
	free(agg->epochs);
	free(agg);
}

void fperf_aggregate__count_lost(struct fperf_aggregate *agg, enum fperf_source source,
				 enum fperf_loss_reason reason, uint64_t count)
{
	agg->lost[source][reason] += count;
	agg->lost_pending = true;
}

int fperf_aggregate__add_process(struct fperf_aggregate *agg, const struct fperf_aggregate_process *process,
				 struct fperf_error *err)
{
	return fperf_task_table__add_process(&agg->tasks, process->pid, process->parent_pid, process->ns_pid,
					     process->start_ns, process->name ? process->name : "",
					     process->exe ? process->exe : "", err)
		       ? 0
		       : err->code;
}

void fperf_aggregate__set_start(struct fperf_aggregate *agg, uint64_t start_ns)
{
	agg->options.start_ns = start_ns;
}

struct fperf_process *fperf_aggregate__process(struct fperf_aggregate *agg, uint32_t pid, uint64_t time_ns,
					       struct fperf_error *err)
{
	struct fperf_process *process = fperf_task_table__process(&agg->tasks, pid);

	if (process && !process->end_ns)
		return process;
	process = fperf_task_table__add_process(&agg->tasks, pid, 0, 0, time_ns, "", "", err);
	if (process)
		fperf_task_table__queue_image(&agg->tasks, process);
	return process;
}

int fperf_aggregate__add_thread(struct fperf_aggregate *agg, uint32_t pid, uint32_t tid, uint64_t start_ns,
				const char *name, struct fperf_error *err)
{
	struct fperf_process *process = fperf_aggregate__process(agg, pid, start_ns, err);

	if (!process)
		return err->code;
	return fperf_task_table__add_thread(&agg->tasks, process, tid, start_ns, name ? name : "", err)
		       ? 0
		       : err->code;
}

int fperf_aggregate__write_mapping(struct fperf_aggregate *agg, const struct fperf_process *process,
				   struct fperf_mapping *mapping, uint64_t to_ns, struct fperf_error *err)
{
	const struct fperf_module *module = fperf_module_table__get(agg->modules, mapping->module);
	struct fperf_rec_mapping record = {
		.process = process->id,
		.module = mapping->module,
		.start = mapping->start,
		.end = mapping->end,
		.file_offset =
			module && module->kind == FPERF_MODULE_ELF ? mapping->start - mapping->bias : 0,
		.from_ns = mapping->from_ns,
		.to_ns = to_ns,
	};

	if (fperf_module_table__mention(agg->modules, mapping->module, err))
		return err->code;
	mapping->written = true;
	agg->stats.mappings += to_ns == 0;
	return fperf_writer__add(agg->options.writer, FPERF_RECORD_MAPPING, &record, err);
}

/* A mapping ends because another takes its place. */
struct closing {
	struct fperf_aggregate *agg;
	const struct fperf_process *process;
	uint64_t time_ns;
	struct fperf_error *err;
	int result;
};

static void mapping_closed(void *context, const struct fperf_mapping *old)
{
	struct closing *closing = context;
	struct fperf_mapping copy = *old;

	if (old->written && !closing->result)
		closing->result = fperf_aggregate__write_mapping(closing->agg, closing->process, &copy,
								 closing->time_ns, closing->err);
}

static int mapping_put(struct fperf_aggregate *agg, struct fperf_process *process,
		       const struct fperf_mapping *mapping, struct fperf_error *err)
{
	struct closing closing = {.agg = agg, .process = process, .time_ns = mapping->from_ns, .err = err};
	struct fperf_mapping *put = fperf_mapping_set__put(&process->maps, mapping, mapping_closed, &closing);

	if (closing.result)
		return closing.result;
	if (!put) {
		fperf_aggregate__count_lost(agg, FPERF_SOURCE_MAPPING, FPERF_LOSS_TABLE_FULL, 1);
		return 0;
	}
	return put->written ? 0 : fperf_aggregate__write_mapping(agg, process, put, 0, err);
}

/* Remembers a file's mapping that is not executable, see fperf_aggregate_mapping. */
static int neighbour_set(struct fperf_process *process, const struct fperf_aggregate_mapping *mapping,
			 struct fperf_error *err)
{
	struct fperf_neighbour *neighbour = &process->neighbour;

	fperf_neighbour__free(neighbour);
	if (!*mapping->path || *mapping->path == '[')
		return 0;
	neighbour->mapping = *mapping;
	neighbour->path = strdup(mapping->path);
	neighbour->image_path = mapping->image_path ? strdup(mapping->image_path) : NULL;
	neighbour->mapping.path = neighbour->path;
	neighbour->mapping.image_path = neighbour->image_path;
	if (neighbour->path && (neighbour->image_path || !mapping->image_path))
		return 0;
	fperf_neighbour__free(neighbour);
	return fperf_error__no_memory(err, "a mapping");
}

/* The file whose text an anonymous mapping holds: NULL if it holds none. */
static const struct fperf_module *remapped_text(struct fperf_aggregate *agg, struct fperf_process *process,
						const struct fperf_aggregate_mapping *mapping, uint64_t *bias)
{
	const struct fperf_neighbour *neighbour = &process->neighbour;
	const struct fperf_module *module;
	struct fperf_error ignored = {0}; /* then the mapping is taken as what it looks like */

	for (size_t i = 0; i < process->maps.count; i++) {
		const struct fperf_mapping *known = &process->maps.mappings[i];

		module = fperf_module_table__get(agg->modules, known->module);
		if (module && module->kind == FPERF_MODULE_ELF &&
		    fperf_module__holds(module, known->start, known->start - known->bias, true,
					mapping->start, mapping->end, bias))
			return module;
	}
	if (!neighbour->path || neighbour->mapping.end != mapping->start)
		return NULL;
	module = fperf_module_table__add(agg->modules, &neighbour->mapping, &ignored);
	if (module && fperf_module__holds(module, neighbour->mapping.start, neighbour->mapping.file_offset,
					  false, mapping->start, mapping->end, bias))
		return module;
	return NULL;
}

static uint64_t mapping_bias(const struct fperf_module *module, const struct fperf_aggregate_mapping *mapping)
{
	switch (module->kind) {
	case FPERF_MODULE_ELF:
		return mapping->start - mapping->file_offset;
	case FPERF_MODULE_VDSO:
		return mapping->start;
	default:
		return 0;
	}
}

int fperf_aggregate__add_mapping(struct fperf_aggregate *agg, const struct fperf_aggregate_mapping *mapping,
				 uint32_t *module_id, struct fperf_error *err)
{
	struct fperf_process *process = fperf_aggregate__process(agg, mapping->pid, mapping->time_ns, err);
	struct fperf_mapping placed = {
		.start = mapping->start, .end = mapping->end, .from_ns = mapping->time_ns};
	bool anonymous = !*mapping->path || strcmp(mapping->path, "//anon") == 0;
	const struct fperf_module *module = NULL;
	int result = 0;

	if (module_id)
		*module_id = 0;
	if (!process)
		return err->code;
	if (mapping->start >= mapping->end) {
		agg->stats.bad_records++;
		return 0;
	}
	if (mapping->not_executable)
		return neighbour_set(process, mapping, err);
	if (anonymous)
		module = remapped_text(agg, process, mapping, &placed.bias);
	fperf_neighbour__free(&process->neighbour);
	if (!module) {
		module = fperf_module_table__add(agg->modules, mapping, err);
		if (!module)
			return err->code;
		placed.bias = mapping_bias(module, mapping);
	}
	placed.module = module->id;
	if (module_id)
		*module_id = module->id;
	result = mapping_put(agg, process, &placed, err);
	/* The kernel maps a program before its interpreter and its libraries. */
	if (!result && !process->exe && module->kind == FPERF_MODULE_ELF)
		result = fperf_task_table__set_exe(&agg->tasks, process, module->path, err);
	return result;
}

bool fperf_aggregate__next_new_image(struct fperf_aggregate *agg, uint32_t *pid)
{
	return fperf_task_table__next_new_image(&agg->tasks, pid);
}

void fperf_aggregate__kernel_addresses(struct fperf_aggregate *agg,
				       void (*visit)(void *context, uint64_t address), void *context)
{
	uint64_t address, value;

	for (size_t i = 0; i < agg->epoch_count; i++) {
		size_t cursor = 0;

		while (fperf_map__next(&agg->epochs[i].kernel_addresses, &cursor, &address, &value))
			visit(context, address);
	}
}

void fperf_aggregate__stats(const struct fperf_aggregate *agg, struct fperf_aggregate_stats *stats)
{
	struct fperf_stack_table_stats stacks;

	fperf_stack_table__stats(agg->stacks, &stacks);
	*stats = agg->stats;
	stats->stacks = stacks.stacks;
	stats->stack_lookups = stacks.lookups;
	stats->first_level_hits = stacks.first_level_hits;
	stats->second_level_hits = stacks.second_level_hits;
	stats->second_level_probes = stacks.second_level_probes;
	stats->hash_collisions = stacks.hash_collisions;
	stats->second_level_slots = stacks.second_level_slots;
	stats->stacks_lost = stacks.lost;
	stats->processes = agg->tasks.process_count;
	stats->threads = agg->tasks.thread_count;
	stats->modules = fperf_module_table__count(agg->modules);
}

uint32_t fperf_aggregate__thread_id(const struct fperf_aggregate *agg, uint32_t tid)
{
	const struct fperf_thread *thread = fperf_task_table__thread(&agg->tasks, tid);

	return thread ? thread->id : 0;
}

bool fperf_aggregate__image(const struct fperf_aggregate *agg, uint32_t pid, const char **name,
			    const char **exe)
{
	const struct fperf_process *process = fperf_task_table__process(&agg->tasks, pid);

	if (!process || !process->generation)
		return false;
	*name = process->name;
	*exe = process->exe ? process->exe : "";
	return true;
}

bool fperf_aggregate__file_at(const struct fperf_aggregate *agg, uint32_t pid, uint64_t address,
			      const char **path, uint64_t *file_offset)
{
	struct fperf_process *process = fperf_task_table__process(&agg->tasks, pid);
	const struct fperf_mapping *mapping =
		process ? fperf_mapping_set__find(&process->maps, address) : NULL;
	const struct fperf_module *module =
		mapping ? fperf_module_table__get(agg->modules, mapping->module) : NULL;

	if (!module || module->kind != FPERF_MODULE_ELF)
		return false;
	*path = module->path;
	*file_offset = address - mapping->bias;
	return true;
}

uint32_t fperf_aggregate__process_id(const struct fperf_aggregate *agg, uint32_t pid)
{
	const struct fperf_process *process = fperf_task_table__process(&agg->tasks, pid);

	return process ? process->id : 0;
}

static int modules_epoch(struct fperf_aggregate *agg, struct fperf_error *err)
{
	struct fperf_module *module;

	for (size_t i = 0; i < agg->tasks.process_count; i++) {
		struct fperf_mapping_set *maps = &agg->tasks.processes[i]->maps;

		for (size_t at = 0; at < maps->count; at++) {
			maps->mappings[at].written = false;
			module = fperf_module_table__get(agg->modules, maps->mappings[at].module);
			if (module)
				module->wanted = true;
		}
	}
	module = fperf_module_table__get(agg->modules, agg->kernel);
	if (module)
		module->wanted = true;
	return fperf_module_table__epoch(agg->modules) ? fperf_error__no_memory(err, "the table of modules")
						       : 0;
}

int fperf_aggregate__begin_epoch(struct fperf_aggregate *agg, uint64_t now_ns, uint64_t wanted_epochs,
				 bool (*lives)(void *context, uint32_t pid, uint32_t tid), void *context,
				 struct fperf_error *err)
{
	size_t gone;

	if (!fperf_vec__push(&agg->epochs, &agg->epoch_count, &agg->epoch_capacity) ||
	    fperf_stack_table__restart(agg->stacks))
		return fperf_error__no_memory(err, "the tables of the aggregator");
	gone = agg->epoch_count > wanted_epochs ? agg->epoch_count - (size_t)wanted_epochs : 0;
	for (size_t i = 0; i < gone; i++)
		epoch_free(&agg->epochs[i]);
	memmove(agg->epochs, agg->epochs + gone, (agg->epoch_count - gone) * sizeof(*agg->epochs));
	agg->epoch_count -= gone;
	if (fperf_task_table__epoch(&agg->tasks, now_ns, lives, context, err))
		return err->code;
	return modules_epoch(agg, err);
}

void fperf_aggregate__set_writer(struct fperf_aggregate *agg, struct fperf_writer *writer)
{
	agg->options.writer = writer;
	agg->tasks.writer = writer;
	fperf_module_table__set_writer(agg->modules, writer);
}
