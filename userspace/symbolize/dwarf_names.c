/* From DWARF entries to chains of symbols. */
#include "symbolize/dwarf_worker.h"
#include "symbolize/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct asked {
	struct fperf_symbolizer *symbolizer;
	struct fperf_module *module;
	const uint64_t *offsets;   /* file offsets, in the order of the job's addresses */
	const uint64_t *addresses; /* in the DWARF file */
	uint64_t bias;
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

static void entries_take(void *context, size_t index, const struct fperf_dwarf_entry *entries, size_t count)
{
	struct asked *asked = context;
	struct fperf_symbol symbols[FPERF_DWARF_DEPTH];
	uint64_t chain;

	for (size_t i = 0; i < count; i++) {
		const char *name = entries[i].function;

		if (i + 1 == count)
			name = outer_name(asked, index, name);
		if (i + 1 == count && !*name)
			return;
		fperf_symbolizer__name(asked->symbolizer, asked->module, *name ? name : NULL, "??",
				       &symbols[i]);
		symbols[i].file =
			fperf_symbolizer__text(asked->symbolizer, entries[i].file, strlen(entries[i].file));
		symbols[i].line = entries[i].line;
		symbols[i].inlined = i + 1 < count;
	}
	chain = fperf_symbolizer__keep(asked->symbolizer, symbols, count);
	if (chain)
		fperf_map__set(&asked->module->chains, asked->offsets[index], chain);
}

void fperf_symbolizer__ask_dwarf(struct fperf_symbolizer *symbolizer, struct fperf_module *module,
				 const uint64_t *offsets, size_t count)
{
	uint64_t *known = malloc((count + 1) * sizeof(*known)),
		 *addresses = malloc((count + 1) * sizeof(*known));
	struct asked asked = {
		.symbolizer = symbolizer, .module = module, .offsets = known, .addresses = addresses};
	struct fperf_dwarf_job job = {.addresses = addresses, .context = &asked, .found = entries_take};
	struct fperf_error err = {0};

	job.elf = fperf_module_files__dwarf(&module->files, &asked.bias);
	module->dwarf_usable = job.elf != NULL;
	for (size_t i = 0; job.elf && known && addresses && i < count; i++) {
		uint64_t address;

		if (!fperf_module_files__address(&module->files, offsets[i], &address))
			continue;
		known[job.count] = offsets[i];
		addresses[job.count++] = address - asked.bias;
	}
	if (job.count && fperf_dwarf_worker__run(&job, &err)) {
		module->dwarf_usable = false;
		snprintf(module->files.problem, sizeof(module->files.problem),
			 "%.300s: functions without lines and inlined functions", err.text);
		fperf_log__write(symbolizer->options.log, FPERF_LOG_WARNING, "%s: %s",
				 fperf_module_files__source(&module->files), module->files.problem);
	}
	free(known);
	free(addresses);
}
