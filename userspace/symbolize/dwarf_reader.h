/* Functions, inlined functions and lines from DWARF, with libdw. libdw trusts its input in places: this runs
 * only in the process of dwarf_worker.c, which may die of a damaged file. */
#ifndef FPERF_SYMBOLIZE_DWARF_READER_H
#define FPERF_SYMBOLIZE_DWARF_READER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPERF_DWARF_DEPTH 128 /* inlined functions at one address; deeper ones keep the innermost */

struct fperf_dwarf_reader;

/* Addresses of executable memory; code that the linker removed is described at addresses outside. */
struct fperf_dwarf_code {
	uint64_t start, end;
};

struct fperf_dwarf_entry {
	const char *function; /* linkage name where there is one, else the qualified name; "" if not known;
				 memory of the reader */
	const char *file;     /* "" if not known */
	uint32_t line;	      /* 0: not known */
};

/* `image` is a whole ELF file in memory and stays until close. */
int fperf_dwarf_reader__open(const void *image, size_t size, const struct fperf_dwarf_code *code,
			     size_t code_count, struct fperf_dwarf_reader **reader, struct fperf_error *err);
void fperf_dwarf_reader__close(struct fperf_dwarf_reader *reader);

/* The units (numbered from 0) whose code covers `address`, narrowest first; returns how many were written. */
size_t fperf_dwarf_reader__units(const struct fperf_dwarf_reader *reader, uint64_t address, uint32_t *units,
				 size_t max);

/* Innermost inlined function first, the function that is really there last. Returns the number of entries, 0
 * when the unit knows nothing of the address. Looking up addresses unit by unit is cheap; each change of the
 * unit costs a walk over its functions. */
size_t fperf_dwarf_reader__lookup(struct fperf_dwarf_reader *reader, uint32_t unit, uint64_t address,
				  struct fperf_dwarf_entry entries[FPERF_DWARF_DEPTH]);

#endif
