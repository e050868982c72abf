/* Function symbols of one module, gathered from its ELF files, made into ranges. */
#ifndef FPERF_SYMBOLIZE_SYMBOL_SET_H
#define FPERF_SYMBOLIZE_SYMBOL_SET_H

#include "elf/elf_file.h"
#include "symbolize/fde_index.h"
#include "symbolize/range_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_symbol_candidate {
	const char *name; /* memory of the ELF file */
	uint64_t start, size, limit;
	uint8_t type, binding;
};

/* A zeroed struct is an empty set. */
struct fperf_symbol_set {
	struct fperf_symbol_candidate *candidates;
	size_t count, capacity;
	uint64_t bias; /* of the file being added */
	bool failed;   /* out of memory */
};

/* Adds the symbols of one table; `bias` is added to their addresses (modulo 2^64). Borrows `elf` until the
 * ranges are no longer used. */
void fperf_symbol_set__add(struct fperf_symbol_set *set, const struct fperf_elf *elf,
			   enum fperf_elf_symbols which, uint64_t bias);

/* Disjoint ranges from all symbols, over what the table holds already; empties the set. Of several symbols at
 * one address the same one always wins: a function before an IFUNC (whose address is its resolver's) before a
 * label, with a size before without, global before weak before local, the shorter, the alphabetically first.
 * A symbol without a size ends at the next symbol, the end of its section, or where .eh_frame says that its
 * function ends or another begins; without .eh_frame it never gets more than 64 KiB. Returns 0 or -ENOMEM. */
int fperf_symbol_set__build(struct fperf_symbol_set *set, const struct fperf_fde_index *fdes,
			    struct fperf_range_table *table);
void fperf_symbol_set__free(struct fperf_symbol_set *set);

#endif
