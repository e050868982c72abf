/* Unwind tables: the .eh_frame of one module compiled into sorted rows (include/frameperf/unwind_row.h), and
 * the cells in which the unwinder searches them.
 */
#ifndef FPERF_UNWIND_TABLE_H
#define FPERF_UNWIND_TABLE_H

#include "base/error.h"
#include "elf/elf_file.h"
#include "frameperf/unwind_row.h"

#include <stddef.h>
#include <stdint.h>

struct fperf_unwind_table {
	struct fperf_unwind_row *rows; /* sorted by offset, owned; the last one is FPERF_RULE_NONE */
	size_t count, capacity;
	uint64_t fdes;
	uint64_t damaged;     /* entries or functions that could not be read: their text has no rows */
	uint64_t unsupported; /* rows that a rule cannot express */
};

/* Hostile files cost at most memory and time in proportion to their size: rows beyond `row_limit` (0: no
 * limit) are dropped with an error. Returns 0 and a table without rows when the module has no unwind
 * information; -ENOMEM, or -E2BIG when there are too many rows. */
int fperf_unwind_table__build(const struct fperf_elf *elf, size_t row_limit, struct fperf_unwind_table *table,
			      struct fperf_error *err);
void fperf_unwind_table__free(struct fperf_unwind_table *table);

/* The rule at a file offset by plain binary search: what the unwinder must find, too. */
uint32_t fperf_unwind_table__find(const struct fperf_unwind_table *table, uint32_t offset);

/* Lays index and rows out as cells. `module` gets everything but state and used_ns, with cell numbers that
 * start at 0; add where the cells are put. `cells` is the caller's to free. */
int fperf_unwind_table__cells(const struct fperf_unwind_table *table, struct fperf_unwind_module *module,
			      uint64_t **cells, size_t *count, struct fperf_error *err);

#endif
