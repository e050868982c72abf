/* What the symbolizer knows of one module of the session; shared by the files of symbolize/ only. */
#ifndef FPERF_SYMBOLIZE_MODULE_H
#define FPERF_SYMBOLIZE_MODULE_H

#include "base/cache_dir.h"
#include "base/map.h"
#include "base/strtab.h"
#include "symbolize/module_files.h"
#include "symbolize/range_table.h"
#include "symbolize/symbolize.h"

/* The names at one address, innermost first. */
struct fperf_chain {
	const struct fperf_symbol **symbols; /* one block of memory with what it points to */
	size_t count;
	bool known; /* the function that is really there has a name */
};

/* Chains that always exist. */
enum {
	FPERF_CHAIN_UNKNOWN, /* in no module; also the answer when memory is short */
	FPERF_CHAIN_GAP,     /* the missing middle of a truncated stack */
	FPERF_CHAINS_FIXED
};

struct fperf_module {
	const struct fperf_rec_module *record;
	const char *path; /* as recorded */
	const char *name; /* printable file name */
	bool own;
	bool opened;	   /* files and names below are there */
	bool dwarf_asked;  /* the recorded addresses have been looked up */
	bool dwarf_usable; /* others may be looked up, too */
	struct fperf_module_files files;
	struct fperf_range_table names; /* kernel only */
	struct fperf_map chains; /* address that is looked up (after the pc - 1 rule) to index of chain */
	uint64_t *wanted;	 /* addresses that occur in the session's stacks, distinct */
	size_t wanted_count, wanted_capacity;
};

/* JIT names of one process. */
struct fperf_jit {
	uint32_t process;
	struct fperf_range_table names;
	struct fperf_map chains;
};

struct fperf_symbolizer {
	const struct fperf_session *session;
	struct fperf_symbolizer_options options;
	struct fperf_file_finder *finder;
	struct fperf_cache_dir *cache; /* of what DWARF says; NULL: none */
	struct fperf_strtab *strings;
	const char **programs; /* paths of the target's program files */
	size_t program_count, program_capacity;

	struct fperf_module *modules; /* parallel to `stats` */
	struct fperf_module_names *stats;
	size_t module_count, module_capacity, stat_count, stat_capacity;
	struct fperf_map module_by_id; /* module id to index */
	uint32_t last_id;	       /* module that was asked for last, 0: none; with its index */
	size_t last_index;
	bool wanted_gathered;

	struct fperf_jit *jits;
	size_t jit_count, jit_capacity;
	struct fperf_map jit_by_process;

	struct fperf_chain *chains; /* the fixed ones first */
	size_t chain_count, chain_capacity;
	struct fperf_map functions; /* (function, module name) as string ids to function id */
	struct fperf_map demangled; /* string id of a name in a file to string id of the name to show */
};

/* Interned printable form of a name. */
const char *fperf_symbolizer__text(struct fperf_symbolizer *symbolizer, const char *text, size_t size);

/* A symbol from a name in a file: without version and clone suffixes, demangled, printable. NULL name:
 * unknown, shown as `fallback`. */
void fperf_symbolizer__name(struct fperf_symbolizer *symbolizer, const struct fperf_module *module,
			    const char *raw, const char *fallback, struct fperf_symbol *symbol);

/* Makes the symbol of a function that of the stub through which other modules call it: "function@plt". */
void fperf_symbolizer__mark_stub(struct fperf_symbolizer *symbolizer, struct fperf_symbol *symbol);

/* Keeps a copy of the symbols as a chain; its index, FPERF_CHAIN_UNKNOWN when out of memory. */
size_t fperf_symbolizer__keep(struct fperf_symbolizer *symbolizer, const struct fperf_symbol *symbols,
			      size_t count);

/* Looks up file offsets of a module in its DWARF and keeps the chains of those that are known. */
void fperf_symbolizer__ask_dwarf(struct fperf_symbolizer *symbolizer, struct fperf_module *module,
				 const uint64_t *offsets, size_t count);

#endif
