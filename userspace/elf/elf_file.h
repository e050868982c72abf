/* What we need to know of an ELF file besides names: identity, segments, symbol addresses. Every read is
 * bounded: the file may be hostile, cut, or change while it is read. It is never mapped: blocks are copied
 * when something in them is first asked for, so truncation cannot raise SIGBUS, what was checked stays as it
 * was, and the identity of a 150 MB engine costs a few blocks. One thread at a time may use a struct
 * fperf_elf.
 *
 * Works from program headers alone: section headers may be missing. 64-bit little-endian only; others give
 * -ENOEXEC.
 */
#ifndef FPERF_ELF_ELF_FILE_H
#define FPERF_ELF_ELF_FILE_H

#include "base/error.h"
#include "frameperf/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_elf;

struct fperf_elf_segment { /* PT_LOAD */
	uint64_t file_offset, file_size;
	uint64_t address, memory_size; /* p_vaddr, p_memsz */
	uint32_t flags;		       /* PF_* */
};

struct fperf_elf_section { /* located by section header, or by program header for .eh_frame_hdr and .eh_frame
			    */
	const uint8_t *data; /* inside the file's memory; valid until fperf_elf__close */
	size_t size;
	uint64_t address;
};

int fperf_elf__open(const char *path, struct fperf_elf **elf, struct fperf_error *err);
int fperf_elf__open_fd(int fd, const char *name_for_errors, struct fperf_elf **elf, struct fperf_error *err);
int fperf_elf__open_memory(const void *data, size_t size, const char *name_for_errors, struct fperf_elf **elf,
			   struct fperf_error *err); /* borrows `data`; for the vDSO and tests */
void fperf_elf__close(struct fperf_elf *elf);

/* The whole file, which this reads if it must: for small files. NULL when it cannot be read. */
const uint8_t *fperf_elf__data(const struct fperf_elf *elf, size_t *size);

/* The `size` bytes at a file offset, valid until fperf_elf__close; NULL when they are not all there. Reads
 * only the blocks that hold them, where fperf_elf__data reads the whole file. */
const uint8_t *fperf_elf__bytes(const struct fperf_elf *elf, uint64_t file_offset, size_t size);

uint16_t fperf_elf__machine(const struct fperf_elf *elf); /* EM_X86_64, EM_AARCH64 */
uint16_t fperf_elf__type(const struct fperf_elf *elf);	  /* ET_EXEC, ET_DYN */
uint64_t fperf_elf__entry(const struct fperf_elf *elf);
bool fperf_elf__has_interpreter(const struct fperf_elf *elf); /* PT_INTERP: a dynamically linked program */

/* Size in bytes of the build ID copied to `build_id`, 0 when there is none (a note of all zeros counts as
 * none). */
size_t fperf_elf__build_id(const struct fperf_elf *elf, uint8_t build_id[FPERF_BUILD_ID_MAX]);

const struct fperf_elf_segment *fperf_elf__segments(const struct fperf_elf *elf, size_t *count);

/* Through the program headers. False when the offset or address is in no segment (or beyond its file part).
 */
bool fperf_elf__offset_to_address(const struct fperf_elf *elf, uint64_t file_offset, uint64_t *address);
bool fperf_elf__address_to_offset(const struct fperf_elf *elf, uint64_t address, uint64_t *file_offset);

/* False when the file has none: no section headers, no such section, or one without bytes of its own (NOBITS,
 * compressed). */
bool fperf_elf__section(const struct fperf_elf *elf, const char *name, struct fperf_elf_section *section);

/* Is there such a section with bytes in the file, compressed or not? */
bool fperf_elf__has_section(const struct fperf_elf *elf, const char *name);

/* Location of .eh_frame: by section header, else through PT_GNU_EH_FRAME's pointer; of .eh_frame_hdr
 * likewise. */
bool fperf_elf__eh_frame(const struct fperf_elf *elf, struct fperf_elf_section *eh_frame,
			 struct fperf_elf_section *eh_frame_hdr);

/* File offset of a defined function for an entry probe: looks in .symtab and .dynsym (through PT_DYNAMIC when
 * there are no section headers). Takes versioned names: "sym" matches "sym@VER" (default version first),
 * "sym@VER" that one. An IFUNC gives -ENOTSUP with the hint to name the implementation. Not found: -ENOENT.
 * Several local functions of that name: -ENOTUNIQ.
 * `address` may be NULL. */
int fperf_elf__find_function(const struct fperf_elf *elf, const char *symbol, uint64_t *file_offset,
			     uint64_t *address, struct fperf_error *err);

struct fperf_elf_symbol {
	const char *name; /* not empty; NUL-terminated, any bytes; valid until fperf_elf__close */
	uint64_t address;
	uint64_t size;	 /* as the symbol says; 0: not known */
	uint64_t limit;	 /* end of the section, or else of the segment, that holds it */
	uint8_t type;	 /* STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE */
	uint8_t binding; /* STB_* */
};

enum fperf_elf_symbols {
	FPERF_ELF_SYMTAB,
	FPERF_ELF_DYNSYM, /* through PT_DYNAMIC when there are no section headers */
};

/* Every defined symbol of that table that lies in executable memory and may be a function, in file order.
 * Works for files of separate debug information too, whose segments have no bytes. */
void fperf_elf__visit_symbols(const struct fperf_elf *elf, enum fperf_elf_symbols which,
			      void (*visit)(void *context, const struct fperf_elf_symbol *symbol),
			      void *context);

#endif
