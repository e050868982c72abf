/* From a stack frame to its names. */
#include "base/strtab.h"
#include "base/vec.h"
#include "symbolize/module.h"
#include "symbolize/own.h"
#include "symbolize/plt.h"
#include "symbolize/record_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A return address lies behind the call, which may be the last instruction of its function. */
static uint64_t looked_up(const struct fperf_stack_frame *frame)
{
	return frame->kind == FPERF_FRAME_RETURN && frame->offset ? frame->offset - 1 : frame->offset;
}

static bool has_files(const struct fperf_module *module)
{
	return module->record->kind == FPERF_MODULE_ELF || module->record->kind == FPERF_MODULE_VDSO;
}

static struct fperf_module *module_of(struct fperf_symbolizer *symbolizer, uint32_t id)
{
	uint64_t index;

	if (id && id == symbolizer->last_id) /* stack frames of one module follow each other */
		return &symbolizer->modules[symbolizer->last_index];
	if (!id || !fperf_map__get(&symbolizer->module_by_id, id, &index))
		return NULL;
	symbolizer->last_id = id;
	symbolizer->last_index = index;
	return &symbolizer->modules[index];
}

/* The addresses of all stacks, by module: one worker looks up all of a module. */
static void wanted_gather(struct fperf_symbolizer *symbolizer)
{
	size_t count;
	const struct fperf_rec_stack *stacks =
		fperf_session__records(symbolizer->session, FPERF_RECORD_STACK, &count);

	symbolizer->wanted_gathered = true;
	for (size_t i = 0; stacks && i < count; i++)
		for (uint32_t f = 0; f < stacks[i].count; f++) {
			const struct fperf_stack_frame *frame = &stacks[i].frames[f];
			struct fperf_module *module = module_of(symbolizer, frame->module);
			uint64_t at = looked_up(frame), *slot;

			if (!module || !has_files(module) || fperf_map__get(&module->chains, at, NULL))
				continue;
			/* 0 stands for "not looked up yet". */
			if (fperf_map__set(&module->chains, at, 0))
				return;
			slot = fperf_vec__push(&module->wanted, &module->wanted_count,
					       &module->wanted_capacity);
			if (!slot)
				return;
			*slot = at;
		}
}

static void module_open(struct fperf_symbolizer *symbolizer, struct fperf_module *module)
{
	struct fperf_module_names *stats = &symbolizer->stats[module - symbolizer->modules];
	struct fperf_error err = {0};

	if (module->opened)
		return;
	module->opened = true;
	if (module->record->kind == FPERF_MODULE_KERNEL) {
		fperf_record_names__kernel(symbolizer->session, module->record->base, &module->names);
		stats->source = module->names.count ? "kernel symbols of the recording" : "";
		stats->problem = module->names.count ? "" : "the recording holds no kernel symbols";
		return;
	}
	if (!has_files(module))
		return;
	if (fperf_module_files__open(&module->files, symbolizer->finder, symbolizer->session, module->record,
				     &err))
		snprintf(module->files.problem, sizeof(module->files.problem), "%.500s", err.text);
	stats->source = fperf_module_files__source(&module->files);
	stats->problem = module->files.problem;
}

/* The module's recorded addresses at first, later single ones that no stack has. */
static void dwarf_ask(struct fperf_symbolizer *symbolizer, struct fperf_module *module, uint64_t offset)
{
	uint64_t chain;

	if (!symbolizer->options.lines)
		return;
	if (!symbolizer->wanted_gathered)
		wanted_gather(symbolizer);
	if (!module->dwarf_asked) {
		module->dwarf_asked = true;
		fperf_symbolizer__ask_dwarf(symbolizer, module, module->wanted, module->wanted_count);
	}
	if (!fperf_map__get(&module->chains, offset, &chain) && module->dwarf_usable)
		fperf_symbolizer__ask_dwarf(symbolizer, module, &offset, 1);
}

/* Addresses without a name are shown by the start of their function where .eh_frame tells it, so that all
 * addresses of one function count together. */
static void unknown_name(const struct fperf_module *module, uint64_t offset, char *text, size_t size)
{
	uint64_t address = offset, start, end;

	if (has_files(module) && fperf_module_files__address(&module->files, offset, &address) &&
	    fperf_fde_index__find(&module->files.fdes, address, &start, &end))
		address = start;
	snprintf(text, size, "%.3000s+0x%" PRIx64, module->name, address);
}

static size_t elf_chain(struct fperf_symbolizer *symbolizer, struct fperf_module *module, uint64_t offset)
{
	const struct fperf_range *range = NULL;
	struct fperf_symbol symbol;
	char unknown[3100];
	uint64_t address;

	if (fperf_module_files__address(&module->files, offset, &address))
		range = fperf_range_table__find(&module->files.ranges, address);
	if (!range)
		unknown_name(module, offset, unknown, sizeof(unknown));
	fperf_symbolizer__name(symbolizer, module, range ? range->name : NULL, unknown, &symbol);
	if (range && range->group == fperf_plt_group)
		fperf_symbolizer__mark_stub(symbolizer, &symbol);
	return fperf_symbolizer__keep(symbolizer, &symbol, 1);
}

static size_t kernel_chain(struct fperf_symbolizer *symbolizer, struct fperf_module *module, uint64_t offset)
{
	const struct fperf_range *range =
		fperf_range_table__find(&module->names, offset + module->record->base);
	struct fperf_module named = *module;
	struct fperf_symbol symbol;
	char text[128];

	if (range && range->group && *range->group) {
		snprintf(text, sizeof(text), "[%s]", range->group);
		named.name = fperf_symbolizer__text(symbolizer, text, strlen(text));
	}
	if (!range)
		unknown_name(module, offset, text, sizeof(text));
	fperf_symbolizer__name(symbolizer, &named, range ? range->name : NULL, text, &symbol);
	return fperf_symbolizer__keep(symbolizer, &symbol, 1);
}

static struct fperf_jit *jit_of(struct fperf_symbolizer *symbolizer, uint32_t process)
{
	struct fperf_jit *jit;
	uint64_t index;

	if (fperf_map__get(&symbolizer->jit_by_process, process, &index))
		return &symbolizer->jits[index];
	jit = fperf_vec__push(&symbolizer->jits, &symbolizer->jit_count, &symbolizer->jit_capacity);
	if (!jit)
		return NULL;
	jit->process = process;
	fperf_record_names__jit(symbolizer->session, process, &jit->names);
	fperf_map__set(&symbolizer->jit_by_process, process, symbolizer->jit_count - 1);
	return jit;
}

/* Code in memory without a file. An address there means nothing outside of its process and run: without a
 * name all of it counts as one. */
static size_t jit_chain(struct fperf_symbolizer *symbolizer, const struct fperf_module *module,
			struct fperf_jit *jit, uint64_t address)
{
	const struct fperf_range *range = jit ? fperf_range_table__find(&jit->names, address) : NULL;
	struct fperf_symbol symbol;

	fperf_symbolizer__name(symbolizer, module, range ? range->name : NULL, module->name, &symbol);
	symbol.own = range && fperf_own__jit_name(range->name);
	return fperf_symbolizer__keep(symbolizer, &symbol, 1);
}

static size_t module_chain(struct fperf_symbolizer *symbolizer, struct fperf_module *module, uint32_t process,
			   uint64_t offset)
{
	struct fperf_map *chains = &module->chains;
	struct fperf_jit *jit = NULL;
	uint64_t chain = 0;

	if (module->record->kind == FPERF_MODULE_ANON) {
		jit = jit_of(symbolizer, process);
		if (jit)
			chains = &jit->chains;
	}
	if (fperf_map__get(chains, offset, &chain) && chain)
		return chain;
	module_open(symbolizer, module);
	switch (module->record->kind) {
	case FPERF_MODULE_KERNEL:
		chain = kernel_chain(symbolizer, module, offset);
		break;
	case FPERF_MODULE_ANON:
		chain = jit_chain(symbolizer, module, jit, offset);
		break;
	case FPERF_MODULE_ELF:
	case FPERF_MODULE_VDSO:
		dwarf_ask(symbolizer, module, offset);
		if (!fperf_map__get(chains, offset, &chain) || !chain)
			chain = elf_chain(symbolizer, module, offset);
		break;
	default:
		chain = jit_chain(symbolizer, module, NULL, offset);
	}
	if (chain)
		fperf_map__set(chains, offset, chain);
	return chain;
}

size_t fperf_symbolizer__resolve(struct fperf_symbolizer *symbolizer, const struct fperf_stack_frame *frame,
				 uint32_t process, const struct fperf_symbol *const **symbols)
{
	struct fperf_module *module = module_of(symbolizer, frame->module);
	size_t index = FPERF_CHAIN_UNKNOWN;
	const struct fperf_chain *chain;
	struct fperf_module_names *stats;

	if (frame->kind == FPERF_FRAME_GAP)
		index = FPERF_CHAIN_GAP;
	else if (module)
		index = module_chain(symbolizer, module, process, looked_up(frame));
	chain = &symbolizer->chains[index];
	*symbols = chain->symbols;
	if (module && frame->kind != FPERF_FRAME_GAP) {
		stats = &symbolizer->stats[module - symbolizer->modules];
		if (chain->known)
			stats->known++;
		else
			stats->unknown++;
	}
	return chain->count;
}
