/* Where functions begin and end according to .eh_frame, through the sorted table of .eh_frame_hdr (Linux
 * Standard Base, "Exception Frames"). Stripped files keep it: it bounds symbols without a size, and tells
 * which addresses without a name belong to one function. */
#ifndef FPERF_SYMBOLIZE_FDE_INDEX_H
#define FPERF_SYMBOLIZE_FDE_INDEX_H

#include "elf/elf_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_fde_index {
	struct fperf_elf_section frame; /* .eh_frame; memory of the ELF file */
	const uint8_t *rows;		/* pairs of int32_t relative to `base`: first address, entry */
	size_t count;			/* 0: there is no index */
	uint64_t base;
};

/* Empty when the file has no such table or one in an encoding that linkers do not write. Borrows `elf`. */
struct fperf_fde_index fperf_fde_index__open(const struct fperf_elf *elf);

/* The entry that covers `address`: the addresses *start .. *end. */
bool fperf_fde_index__find(const struct fperf_fde_index *index, uint64_t address, uint64_t *start,
			   uint64_t *end);

/* First address behind `address` at which another entry begins; UINT64_MAX when there is none. */
uint64_t fperf_fde_index__next(const struct fperf_fde_index *index, uint64_t address);

#endif
