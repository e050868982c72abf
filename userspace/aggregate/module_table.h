/* Modules: which file, or which kind of memory without a file, an executable mapping shows.
 *
 * A module is its build ID; without one its content hash and size; without a readable file the device, inode
 * and path it was mapped from. One module that is seen under two paths stays one module, with the path it was
 * seen under first.
 */
#ifndef FPERF_AGGREGATE_MODULE_TABLE_H
#define FPERF_AGGREGATE_MODULE_TABLE_H

#include "aggregate/aggregate.h"
#include "base/error.h"
#include "session/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_module_table;

struct fperf_module_segment { /* PT_LOAD */
	uint64_t file_offset, file_size;
	uint64_t address, memory_size; /* p_vaddr, p_memsz */
	bool executable;
};

struct fperf_module {
	uint32_t id;
	uint8_t kind; /* enum fperf_module_kind */
	char *path;   /* without " (deleted)" */
	bool written; /* since the last epoch began */
	bool wanted;  /* fperf_module_table__epoch() keeps it */
	struct fperf_rec_module record;
	struct fperf_module_segment *segments;
	size_t segment_count;
};

struct fperf_module_table *fperf_module_table__new(struct fperf_writer *writer); /* NULL: out of memory */
void fperf_module_table__free(struct fperf_module_table *table);

void fperf_module_table__set_writer(struct fperf_module_table *table, struct fperf_writer *writer);

/* The module of a mapping; a new one is written to the session. Never fails for a reason that lies in the
 * file: what cannot be read is identified by the lesser means above. NULL with `err` when out of memory or
 * the session cannot be written. The result stays valid until the table is freed, or until an epoch begins
 * for which it is not wanted. */
const struct fperf_module *fperf_module_table__add(struct fperf_module_table *table,
						   const struct fperf_aggregate_mapping *mapping,
						   struct fperf_error *err);

/* The kernel as one module, the same one each time; stacks hold addresses minus `base`. */
const struct fperf_module *fperf_module_table__add_kernel(struct fperf_module_table *table, uint64_t base,
							  struct fperf_error *err);

/* Text that was copied to anonymous memory (huge pages) still belongs to its file: whether [start, end) lies
 * within an executable segment of the module, of which a part (file offset `known_offset`) is mapped at
 * `known_start`. *bias gets what makes file offsets of its addresses. */
bool fperf_module__holds(const struct fperf_module *module, uint64_t known_start, uint64_t known_offset,
			 bool known_executable, uint64_t start, uint64_t end, uint64_t *bias);

/* Forgets modules but those that are `wanted`, which is reset; what is referred to from now on is to be
 * written again. -ENOMEM leaves the table as it was. */
int fperf_module_table__epoch(struct fperf_module_table *table);

/* Writes the module unless it is written. An id that is not known is ignored. */
int fperf_module_table__mention(struct fperf_module_table *table, uint32_t id, struct fperf_error *err);

struct fperf_module *fperf_module_table__get(const struct fperf_module_table *table, uint32_t id);
uint32_t fperf_module_table__count(const struct fperf_module_table *table);

#endif
