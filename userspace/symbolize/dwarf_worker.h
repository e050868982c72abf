/* Looks up addresses in the DWARF of one file in a process of its own. Damaged debug information can make
 * libdw crash, loop or eat memory; the process that does the work then dies, and costs the compile unit it
 * was at, not the report. */
#ifndef FPERF_SYMBOLIZE_DWARF_WORKER_H
#define FPERF_SYMBOLIZE_DWARF_WORKER_H

#include "elf/elf_file.h"
#include "symbolize/dwarf_reader.h"

#include <stddef.h>
#include <stdint.h>

struct fperf_dwarf_job {
	const struct fperf_elf *elf;
	const uint64_t *addresses; /* in the file's own address space */
	size_t count;
	unsigned step_seconds; /* of CPU time without progress: it counts as hung; 0: the default of 20 s */
	void *context;
	/* Once for each address that is known, in any order; strings are valid during the call only. */
	void (*found)(void *context, size_t index, const struct fperf_dwarf_entry *entries, size_t count);
};

/* Returns 0 when all addresses were asked for, also when some are not known. -ENODATA: the file has no usable
 * DWARF. Other errors: what could not be looked up and why; what was found until then has been reported. */
int fperf_dwarf_worker__run(const struct fperf_dwarf_job *job, struct fperf_error *err);

#endif
