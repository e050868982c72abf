/* The stubs of the procedure linkage table, through which programs call other modules: they have no symbols,
 * but jump through a slot that a relocation fills. */
#ifndef FPERF_SYMBOLIZE_PLT_H
#define FPERF_SYMBOLIZE_PLT_H

#include "elf/elf_file.h"
#include "symbolize/range_table.h"

/* Group of the ranges added below; their name is the called function's. */
extern const char fperf_plt_group[];

/* Adds a range for each stub whose instructions lead to a slot with a known name (x86-64, arm64). Borrows
 * `elf`. Returns 0 or -ENOMEM. */
int fperf_plt__add(const struct fperf_elf *elf, struct fperf_range_table *table);

#endif
