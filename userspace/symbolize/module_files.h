/* The files that hold the names of one module, and its symbols by ELF address. */
#ifndef FPERF_SYMBOLIZE_MODULE_FILES_H
#define FPERF_SYMBOLIZE_MODULE_FILES_H

#include "session/session.h"
#include "symbolize/embedded_symbols.h"
#include "symbolize/fde_index.h"
#include "symbolize/file_finder.h"
#include "symbolize/range_table.h"

#include <stdbool.h>
#include <stdint.h>

struct fperf_module_files {
	struct fperf_found_file whole; /* the module: layout, unwind data, perhaps symbols and DWARF */
	struct fperf_found_file debug; /* what was stripped from it */
	struct fperf_embedded_symbols embedded;
	uint64_t debug_bias; /* address in the module minus address in `debug`, modulo 2^64 */
	struct fperf_range_table ranges;
	struct fperf_fde_index fdes;
	/* Without the module itself: its executable segments, with the file offsets from the mappings. */
	struct fperf_elf_segment *segments;
	size_t segment_count;
	char problem[512]; /* what is missing and what to do; "" if nothing */
};

/* Finds and reads; what is not found is empty, and the problem says so. Returns 0 or -ENOMEM. */
int fperf_module_files__open(struct fperf_module_files *files, struct fperf_file_finder *finder,
			     const struct fperf_session *session, const struct fperf_rec_module *module,
			     struct fperf_error *err);
void fperf_module_files__close(struct fperf_module_files *files);

/* File offset to ELF address (p_vaddr) of the module, through the program headers. */
bool fperf_module_files__address(const struct fperf_module_files *files, uint64_t file_offset,
				 uint64_t *address);

/* The file with DWARF, and what to add to its addresses to get the module's; NULL: there is none. */
const struct fperf_elf *fperf_module_files__dwarf(const struct fperf_module_files *files, uint64_t *bias);

/* Path of the file that names come from; "" if there is none. */
const char *fperf_module_files__source(const struct fperf_module_files *files);

#endif
