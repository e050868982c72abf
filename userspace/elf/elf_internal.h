/* Shared by the files of elf/ only. */
#ifndef FPERF_ELF_INTERNAL_H
#define FPERF_ELF_INTERNAL_H

#include "elf/elf_file.h"
#include "elf/elf_image.h"

#include <elf.h>

struct fperf_elf {
	struct elf_image *image; /* filled on demand, also through a const struct fperf_elf */
	char *name;		 /* for errors */
	Elf64_Ehdr header;
	Elf64_Phdr *programs;
	size_t program_count;
	struct fperf_elf_segment *segments;
	size_t segment_count;
	Elf64_Shdr *sections; /* NULL: none, or unusable */
	size_t section_count;
	size_t section_names; /* index of the section that holds the names */
};

/* The `size` bytes at `offset`, or NULL when they are not all in the file or cannot be read. */
const uint8_t *elf_bytes(const struct fperf_elf *elf, uint64_t offset, uint64_t size);

/* File offset of `address` and how many bytes of its segment's file part follow (at least 1). */
bool elf_locate(const struct fperf_elf *elf, uint64_t address, uint64_t *offset, uint64_t *left);

/* The first section of this type; NULL: none. */
const Elf64_Shdr *elf_section_of_type(const struct fperf_elf *elf, uint32_t type);

#endif
