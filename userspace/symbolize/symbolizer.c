#include "symbolize/symbolize.h"

#include "base/vec.h"
#include "symbolize/module.h"
#include "symbolize/name_cache.h"
#include "symbolize/names.h"
#include "symbolize/own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *fperf_symbolizer__text(struct fperf_symbolizer *symbolizer, const char *text, size_t size)
{
	char *printable = fperf_names__printable(text, size);
	uint32_t id = printable ? fperf_strtab__intern(symbolizer->strings, printable, strlen(printable)) : 0;

	free(printable);
	return fperf_strtab__get(symbolizer->strings, id, NULL);
}

/* Dense number of a (function, module name) pair; 0 when out of memory. */
static uint32_t function_id(struct fperf_symbolizer *symbolizer, const char *function, const char *module)
{
	uint64_t key = (uint64_t)fperf_strtab__intern(symbolizer->strings, function, strlen(function)) << 32 |
		       fperf_strtab__intern(symbolizer->strings, module, strlen(module));
	uint64_t id;

	if (fperf_map__get(&symbolizer->functions, key, &id))
		return (uint32_t)id;
	id = symbolizer->functions.used + 1;
	return fperf_map__set(&symbolizer->functions, key, id) ? 0 : (uint32_t)id;
}

/* The name to show for a name as files have it; each is made once. */
static const char *shown_name(struct fperf_symbolizer *symbolizer, const char *raw)
{
	size_t size = fperf_names__base_size(raw);
	uint32_t id = fperf_strtab__intern(symbolizer->strings, raw, size);
	char *plain, *demangled = NULL;
	uint64_t shown;
	const char *text;

	if (fperf_map__get(&symbolizer->demangled, id, &shown))
		return fperf_strtab__get(symbolizer->strings, (uint32_t)shown, NULL);
	plain = strndup(raw, size);
	if (plain && symbolizer->options.demangle)
		demangled = fperf_demangle(plain);
	if (demangled)
		text = fperf_symbolizer__text(symbolizer, demangled, strlen(demangled));
	else
		text = fperf_symbolizer__text(symbolizer, raw, size);
	free(plain);
	free(demangled);
	if (id)
		fperf_map__set(&symbolizer->demangled, id,
			       fperf_strtab__intern(symbolizer->strings, text, strlen(text)));
	return text;
}

void fperf_symbolizer__name(struct fperf_symbolizer *symbolizer, const struct fperf_module *module,
			    const char *raw, const char *fallback, struct fperf_symbol *symbol)
{
	*symbol = (struct fperf_symbol){
		.module = module->name,
		.file = "",
		.module_id = module->record->id,
		.known = raw != NULL,
		.own = module->own,
	};
	if (raw) {
		symbol->function = shown_name(symbolizer, raw);
		symbol->own = module->own && !fperf_names__is_language_runtime(raw);
	} else {
		symbol->function = fperf_symbolizer__text(symbolizer, fallback, strlen(fallback));
	}
	symbol->function_id = function_id(symbolizer, symbol->function, symbol->module);
}

void fperf_symbolizer__mark_stub(struct fperf_symbolizer *symbolizer, struct fperf_symbol *symbol)
{
	char name[FPERF_NAME_MAX + 8];
	int size = snprintf(name, sizeof(name), "%s@plt", symbol->function);

	symbol->function = fperf_symbolizer__text(symbolizer, name, (size_t)size);
	symbol->function_id = function_id(symbolizer, symbol->function, symbol->module);
	symbol->own = false;
}

size_t fperf_symbolizer__keep(struct fperf_symbolizer *symbolizer, const struct fperf_symbol *symbols,
			      size_t count)
{
	const struct fperf_symbol **block = malloc(count * (sizeof(*block) + sizeof(**block)));
	struct fperf_chain *chain = block ? fperf_vec__push(&symbolizer->chains, &symbolizer->chain_count,
							    &symbolizer->chain_capacity)
					  : NULL;
	struct fperf_symbol *copy;

	if (!chain) {
		free(block);
		return FPERF_CHAIN_UNKNOWN;
	}
	copy = (struct fperf_symbol *)(block + count);
	memcpy(copy, symbols, count * sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		block[i] = &copy[i];
	*chain = (struct fperf_chain){block, count, symbols[count - 1].known};
	return symbolizer->chain_count - 1;
}

/* The chains of stack frames that are in no module. */
static int chains_fixed(struct fperf_symbolizer *symbolizer)
{
	static const char *const names[FPERF_CHAINS_FIXED] = {
		[FPERF_CHAIN_UNKNOWN] = "[unknown]",
		[FPERF_CHAIN_GAP] = "[truncated]",
	};

	for (size_t i = 0; i < FPERF_CHAINS_FIXED; i++) {
		struct fperf_symbol symbol = {.function = names[i], .module = "[unknown]", .file = ""};

		symbol.function_id = function_id(symbolizer, symbol.function, symbol.module);
		fperf_symbolizer__keep(symbolizer, &symbol, 1);
	}
	return symbolizer->chain_count == FPERF_CHAINS_FIXED ? 0 : -ENOMEM;
}

static int programs_gather(struct fperf_symbolizer *symbolizer)
{
	size_t count;
	const struct fperf_rec_process *processes =
		fperf_session__records(symbolizer->session, FPERF_RECORD_PROCESS, &count);

	for (size_t i = 0; processes && i < count; i++) {
		const char *exe = fperf_session__string(symbolizer->session, processes[i].exe, NULL), **slot;

		if (!processes[i].target || !*exe)
			continue;
		slot = fperf_vec__push(&symbolizer->programs, &symbolizer->program_count,
				       &symbolizer->program_capacity);
		if (!slot)
			return -ENOMEM;
		*slot = exe;
	}
	return 0;
}

static const char *module_name(struct fperf_symbolizer *symbolizer, const struct fperf_module *module)
{
	const char *name;

	switch (module->record->kind) {
	case FPERF_MODULE_KERNEL:
		return "[kernel]";
	case FPERF_MODULE_VDSO:
		return "[vdso]";
	case FPERF_MODULE_ANON:
		return "[jit]";
	default:
		name = file_name(module->path);
		return *name ? fperf_symbolizer__text(symbolizer, name, strlen(name)) : "[unknown]";
	}
}

static int module_add(struct fperf_symbolizer *symbolizer, const struct fperf_rec_module *record)
{
	struct fperf_module *module = fperf_vec__push(&symbolizer->modules, &symbolizer->module_count,
						      &symbolizer->module_capacity);
	struct fperf_module_names *stats =
		fperf_vec__push(&symbolizer->stats, &symbolizer->stat_count, &symbolizer->stat_capacity);

	if (!module || !stats)
		return -ENOMEM;
	module->record = record;
	module->path = fperf_session__string(symbolizer->session, record->path, NULL);
	module->name = module_name(symbolizer, module);
	module->own = record->kind == FPERF_MODULE_ELF &&
		      fperf_own__path(module->path, symbolizer->programs, symbolizer->program_count);
	*stats = (struct fperf_module_names){.module = record->id, .source = "", .problem = ""};
	return fperf_map__set(&symbolizer->module_by_id, record->id, symbolizer->module_count - 1);
}

static void jits_free(struct fperf_symbolizer *symbolizer)
{
	for (size_t i = 0; i < symbolizer->jit_count; i++) {
		fperf_range_table__free(&symbolizer->jits[i].names);
		fperf_map__free(&symbolizer->jits[i].chains);
	}
	symbolizer->jit_count = 0;
	fperf_map__free(&symbolizer->jit_by_process);
}

/* Names of the kernel and of generated code come from records, of which there may be more now. */
static int modules_refresh(struct fperf_symbolizer *symbolizer)
{
	const struct fperf_rec_module *records;
	size_t count;
	uint64_t index;

	records = fperf_session__records(symbolizer->session, FPERF_RECORD_MODULE, &count);
	for (size_t i = 0; records && i < count; i++) {
		struct fperf_module *module;

		if (!fperf_map__get(&symbolizer->module_by_id, records[i].id, &index)) {
			if (module_add(symbolizer, &records[i]))
				return -ENOMEM;
			continue;
		}
		module = &symbolizer->modules[index];
		module->record = &records[i];
		if (records[i].kind != FPERF_MODULE_KERNEL)
			continue;
		fperf_range_table__free(&module->names);
		fperf_map__free(&module->chains);
		module->opened = false;
	}
	return 0;
}

int fperf_symbolizer__refresh(struct fperf_symbolizer *symbolizer, struct fperf_error *err)
{
	jits_free(symbolizer);
	symbolizer->program_count = 0;
	if (programs_gather(symbolizer) || modules_refresh(symbolizer))
		return fperf_error__no_memory(err, "the symbolizer");
	return 0;
}

static int symbolizer_fill(struct fperf_symbolizer *symbolizer)
{
	const struct fperf_rec_module *records;
	size_t count;

	symbolizer->strings = fperf_strtab__new();
	symbolizer->finder =
		fperf_file_finder__new(symbolizer->options.symbol_dirs, symbolizer->options.symbol_dir_count,
				       !symbolizer->options.no_system_files);
	if (symbolizer->options.cache && symbolizer->options.lines)
		symbolizer->cache = fperf_name_cache__open(symbolizer->options.cache_path);
	if (!symbolizer->strings || !symbolizer->finder || chains_fixed(symbolizer) ||
	    programs_gather(symbolizer))
		return -ENOMEM;
	records = fperf_session__records(symbolizer->session, FPERF_RECORD_MODULE, &count);
	for (size_t i = 0; records && i < count; i++)
		if (module_add(symbolizer, &records[i]))
			return -ENOMEM;
	return 0;
}

int fperf_symbolizer__new(const struct fperf_session *session, const struct fperf_symbolizer_options *options,
			  struct fperf_symbolizer **out, struct fperf_error *err)
{
	struct fperf_symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer)
		return fperf_error__no_memory(err, "the symbolizer");
	symbolizer->session = session;
	symbolizer->options = *options;
	if (symbolizer_fill(symbolizer)) {
		fperf_symbolizer__free(symbolizer);
		return fperf_error__no_memory(err, "the symbolizer");
	}
	*out = symbolizer;
	return 0;
}

void fperf_symbolizer__free(struct fperf_symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	for (size_t i = 0; i < symbolizer->module_count; i++) {
		struct fperf_module *module = &symbolizer->modules[i];

		fperf_module_files__close(&module->files);
		fperf_range_table__free(&module->names);
		fperf_map__free(&module->chains);
		free(module->wanted);
	}
	jits_free(symbolizer);
	for (size_t i = 0; i < symbolizer->chain_count; i++)
		free(symbolizer->chains[i].symbols);
	free(symbolizer->modules);
	free(symbolizer->stats);
	free(symbolizer->jits);
	free(symbolizer->chains);
	free(symbolizer->programs);
	fperf_map__free(&symbolizer->module_by_id);
	fperf_map__free(&symbolizer->functions);
	fperf_map__free(&symbolizer->demangled);
	fperf_strtab__free(symbolizer->strings);
	fperf_file_finder__free(symbolizer->finder);
	fperf_cache_dir__close(symbolizer->cache);
	free(symbolizer);
}

size_t fperf_symbolizer__modules(const struct fperf_symbolizer *symbolizer,
				 const struct fperf_module_names **modules)
{
	*modules = symbolizer->stats;
	return symbolizer->stat_count;
}
