/* From DWARF entries to chains of symbols. */
#include "symbolize/dwarf_worker.h"

#include "base/vec.h"
#include "symbolize/module.h"
#include "symbolize/name_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct asked {
	struct fperf_symbolizer *symbolizer;
	struct fperf_module *module;
	uint64_t *offsets;   /* file offsets, in the order of the job's addresses */
	uint64_t *addresses; /* in the DWARF file */
	uint64_t bias;
	struct fperf_name_file cached; /* empty and unused without a cache */
	bool keep;		       /* what is found is to be kept */
	uint8_t *found;		       /* by index: DWARF knows it */
	/* Symbols and file names that were made for strings of `cached`, by the strings' addresses. */
	struct fperf_map made_functions, made_files;
	struct fperf_symbol *made;
	size_t made_count, made_capacity;
	bool lasting; /* strings live as long as the job: they may be told apart by their addresses */
};

static bool is_mangled(const char *name)
{
	return !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2);
}

/* The name of the function that is really at the address: DWARF's, except where the symbol table knows it
 * better. Compilers leave out the linkage name of functions in anonymous namespaces, and with it the
 * parameters; assembly has lines, but often no function. */
static const char *outer_name(const struct asked *asked, size_t index, const char *name)
{
	const struct fperf_range *range =
		fperf_range_table__find(&asked->module->files.ranges, asked->addresses[index] + asked->bias);
	const char *last = strrchr(name, ':');

	if (!range || is_mangled(name))
		return name;
	if (!*name || (is_mangled(range->name) && strstr(range->name, last ? last + 1 : name)))
		return range->name;
	return name;
}

/* The symbol of a name, without its place. The same strings come again and again. */
static void symbol_make(struct asked *asked, const char *name, struct fperf_symbol *symbol)
{
	struct fperf_symbol *made;
	uint64_t index;

	if (asked->lasting && fperf_map__get(&asked->made_functions, (uintptr_t)name, &index)) {
		*symbol = asked->made[index];
		return;
	}
	fperf_symbolizer__name(asked->symbolizer, asked->module, *name ? name : NULL, "??", symbol);
	made = asked->lasting ? fperf_vec__push(&asked->made, &asked->made_count, &asked->made_capacity)
			      : NULL;
	if (!made)
		return;
	*made = *symbol;
	/* without memory it is made again */
	fperf_map__set(&asked->made_functions, (uintptr_t)name, asked->made_count - 1);
}

static const char *file_make(struct asked *asked, const char *file)
{
	const char *text;
	uint64_t known;

	if (asked->lasting && fperf_map__get(&asked->made_files, (uintptr_t)file, &known))
		return (const char *)(uintptr_t)known;
	text = fperf_symbolizer__text(asked->symbolizer, file, strlen(file));
	if (asked->lasting)
		fperf_map__set(&asked->made_files, (uintptr_t)file, (uintptr_t)text);
	return text;
}

static void entries_show(struct asked *asked, size_t index, const struct fperf_dwarf_entry *entries,
			 size_t count)
{
	struct fperf_symbol symbols[FPERF_DWARF_DEPTH];
	uint64_t chain;

	for (size_t i = 0; i < count; i++) {
		const char *name = entries[i].function;

		if (i + 1 == count)
			name = outer_name(asked, index, name);
		if (i + 1 == count && !*name)
			return;
		symbol_make(asked, name, &symbols[i]);
		symbols[i].file = file_make(asked, entries[i].file);
		symbols[i].line = entries[i].line;
		symbols[i].inlined = i + 1 < count;
	}
	chain = fperf_symbolizer__keep(asked->symbolizer, symbols, count);
	if (chain)
		fperf_map__set(&asked->module->chains, asked->offsets[index], chain);
}

static void entries_take(void *context, size_t index, const struct fperf_dwarf_entry *entries, size_t count)
{
	struct asked *asked = context;

	entries_show(asked, index, entries, count);
	asked->found[index] = 1;
	if (asked->keep && fperf_name_file__add(&asked->cached, asked->addresses[index], entries, count))
		asked->keep = false;
}

/* The key of what is kept about a module: false if nothing can be. */
static bool cache_key(const struct fperf_symbolizer *symbolizer, const struct fperf_module *module,
		      const struct fperf_elf *elf, struct fperf_name_key *key)
{
	const struct fperf_module_files *files = &module->files;
	const char *path = elf == files->whole.elf ? files->whole.path : files->debug.path;
	struct stat status;

	if (!symbolizer->cache || !module->record->build_id_size || !path || stat(path, &status))
		return false;
	*key = (struct fperf_name_key){
		.build_id = module->record->build_id,
		.build_id_size = module->record->build_id_size,
		.file_size = (uint64_t)status.st_size,
		.file_mtime_ns =
			(uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec,
	};
	return true;
}

/* Shows what is kept, and leaves in the job what is not. */
static void cached_take(struct asked *asked, struct fperf_dwarf_job *job)
{
	struct fperf_dwarf_entry entries[FPERF_DWARF_DEPTH];
	size_t left = 0, count;

	asked->lasting = true;
	for (size_t i = 0; i < job->count; i++) {
		if (fperf_name_file__find(&asked->cached, asked->addresses[i], entries, &count)) {
			if (count)
				entries_show(asked, i, entries, count);
			continue;
		}
		asked->offsets[left] = asked->offsets[i];
		asked->addresses[left++] = asked->addresses[i];
	}
	asked->lasting = false;
	job->count = left;
}

static void worker_ask(struct asked *asked, const struct fperf_dwarf_job *job)
{
	struct fperf_symbolizer *symbolizer = asked->symbolizer;
	struct fperf_module *module = asked->module;
	struct fperf_error err = {0};

	if (fperf_dwarf_worker__run(job, &err)) {
		module->dwarf_usable = false;
		asked->keep = false;
		snprintf(module->files.problem, sizeof(module->files.problem),
			 "%.300s: functions without lines and inlined functions", err.text);
		fperf_log__write(symbolizer->options.log, FPERF_LOG_WARNING, "%s: %s",
				 fperf_module_files__source(&module->files), module->files.problem);
	}
	for (size_t i = 0; asked->keep && i < job->count; i++) {
		if (!asked->found[i] && fperf_name_file__add(&asked->cached, asked->addresses[i], NULL, 0))
			asked->keep = false;
	}
}

/* What of the job is not kept is asked for, then kept. */
static void job_run(struct asked *asked, struct fperf_dwarf_job *job)
{
	struct fperf_name_key key;

	if (cache_key(asked->symbolizer, asked->module, job->elf, &key) &&
	    !fperf_name_file__load(&asked->cached, asked->symbolizer->cache, &key)) {
		asked->keep = true;
		cached_take(asked, job);
	}
	asked->found = calloc(job->count + 1, 1);
	if (asked->found && job->count)
		worker_ask(asked, job);
	if (asked->keep)
		fperf_name_file__store(&asked->cached, asked->symbolizer->cache, &key);
	fperf_name_file__free(&asked->cached);
	fperf_map__free(&asked->made_functions);
	fperf_map__free(&asked->made_files);
	free(asked->made);
	free(asked->found);
}

void fperf_symbolizer__ask_dwarf(struct fperf_symbolizer *symbolizer, struct fperf_module *module,
				 const uint64_t *offsets, size_t count)
{
	uint64_t *known = malloc((count + 1) * sizeof(*known)),
		 *addresses = malloc((count + 1) * sizeof(*known));
	struct asked asked = {
		.symbolizer = symbolizer, .module = module, .offsets = known, .addresses = addresses};
	struct fperf_dwarf_job job = {.addresses = addresses, .context = &asked, .found = entries_take};

	job.elf = fperf_module_files__dwarf(&module->files, &asked.bias);
	module->dwarf_usable = job.elf != NULL;
	for (size_t i = 0; job.elf && known && addresses && i < count; i++) {
		uint64_t address;

		if (!fperf_module_files__address(&module->files, offsets[i], &address))
			continue;
		known[job.count] = offsets[i];
		addresses[job.count++] = address - asked.bias;
	}
	if (job.count)
		job_run(&asked, &job);
	free(known);
	free(addresses);
}
