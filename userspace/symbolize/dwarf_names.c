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

static void entries_take(void *context, size_t index, const struct fperf_dwarf_entry *entries, size_t count)
{
	struct asked *asked = context;
	struct fperf_symbol symbols[FPERF_DWARF_DEPTH];
	uint64_t chain;

	for (size_t i = 0; i < count; i++) {
		const char *name = entries[i].function;
		const struct fperf_range *range;

		if (!*name && i + 1 == count) { /* assembly has lines, but often no function */
			range = fperf_range_table__find(&asked->module->files.ranges,
							asked->addresses[index] + asked->bias);
			if (!range)
				return;
			name = range->name;
		}
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
