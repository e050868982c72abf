/* What libdw says about one stack frame: the judge in tests of unwind rows. */
#ifndef TESTS_LIBDW_FRAME_H
#define TESTS_LIBDW_FRAME_H

#include "host_unwinder.h"

#include <elfutils/libdw.h>

enum libdw_answer {
	LIBDW_FRAME,	/* cfa, ra and fp are set */
	LIBDW_NO_FRAME, /* no unwind information at this address */
	LIBDW_END,	/* return address undefined */
	LIBDW_UNKNOWN,	/* an expression that this judge does not evaluate */
};

struct libdw_caller {
	uint64_t cfa, ra, fp, bx;
	uint64_t end; /* libdw's own row reaches so far; 0: no unwind information */
	bool fp_known, bx_known;
};

/* `registers->all` must hold 16 registers. `pc` is an address of the ELF file. */
enum libdw_answer libdw_caller_get(Dwarf_CFI *cfi, uint64_t pc, const struct host_memory *memory,
				   const struct host_registers *registers, struct libdw_caller *caller);

#endif
