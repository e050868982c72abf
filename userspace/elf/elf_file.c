#include "elf/elf_file.h"

#include "elf/elf_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SECTIONS 1000000u

const uint8_t *elf_bytes(const struct fperf_elf *elf, uint64_t offset, uint64_t size)
{
	return elf_image__bytes(elf->image, offset, size);
}

static int header_read(struct fperf_elf *elf, struct fperf_error *err)
{
	const uint8_t *bytes = elf_bytes(elf, 0, sizeof(elf->header));

	if (!bytes || memcmp(bytes, ELFMAG, SELFMAG))
		return fperf_error__set(err, -ENOEXEC, "%s: not an ELF file", elf->name);
	memcpy(&elf->header, bytes, sizeof(elf->header));
	if (elf->header.e_ident[EI_CLASS] != ELFCLASS64 || elf->header.e_ident[EI_DATA] != ELFDATA2LSB)
		return fperf_error__set(err, -ENOEXEC, "%s: only 64-bit little-endian ELF is understood",
					elf->name);
	return 0;
}

/* Program headers and, from them, the segments. A relocatable file has none. */
static int programs_read(struct fperf_elf *elf, struct fperf_error *err)
{
	const Elf64_Ehdr *header = &elf->header;
	size_t count = header->e_phnum;
	const uint8_t *bytes;

	if (!count || !header->e_phoff)
		return 0;
	if (header->e_phentsize != sizeof(Elf64_Phdr))
		return fperf_error__set(err, -ENOEXEC, "%s: damaged: program header entries of %u bytes",
					elf->name, header->e_phentsize);
	bytes = elf_bytes(elf, header->e_phoff, count * sizeof(Elf64_Phdr));
	if (!bytes)
		return fperf_error__set(err, -ENOEXEC, "%s: damaged: program headers beyond the file's end",
					elf->name);
	elf->programs = calloc(count, sizeof(*elf->programs));
	elf->segments = calloc(count, sizeof(*elf->segments));
	if (!elf->programs || !elf->segments)
		return fperf_error__no_memory(err, "program headers");
	memcpy(elf->programs, bytes, count * sizeof(Elf64_Phdr));
	elf->program_count = count;
	for (size_t i = 0; i < count; i++) {
		const Elf64_Phdr *program = &elf->programs[i];

		if (program->p_type != PT_LOAD)
			continue;
		if (program->p_offset + program->p_filesz < program->p_offset ||
		    program->p_vaddr + program->p_memsz < program->p_vaddr)
			return fperf_error__set(err, -ENOEXEC, "%s: damaged: segment %zu wraps around",
						elf->name, i);
		elf->segments[elf->segment_count++] = (struct fperf_elf_segment){
			.file_offset = program->p_offset,
			.file_size = program->p_filesz,
			.address = program->p_vaddr,
			.memory_size = program->p_memsz,
			.flags = program->p_flags,
		};
	}
	return 0;
}

/* Section headers are a convenience: when they are missing or make no sense, there are none. */
static int sections_read(struct fperf_elf *elf, struct fperf_error *err)
{
	const Elf64_Ehdr *header = &elf->header;
	uint64_t count = header->e_shnum, names = header->e_shstrndx;
	const uint8_t *bytes;
	Elf64_Shdr first;

	if (!header->e_shoff || header->e_shentsize != sizeof(Elf64_Shdr))
		return 0;
	bytes = elf_bytes(elf, header->e_shoff, sizeof(first));
	if (!bytes)
		return 0;
	memcpy(&first, bytes, sizeof(first)); /* holds what does not fit into the ELF header */
	if (!count)
		count = first.sh_size;
	if (names == SHN_XINDEX)
		names = first.sh_link;
	if (!count || count > MAX_SECTIONS || names >= count)
		return 0;
	bytes = elf_bytes(elf, header->e_shoff, count * sizeof(Elf64_Shdr));
	if (!bytes)
		return 0;
	elf->sections = calloc(count, sizeof(*elf->sections));
	if (!elf->sections)
		return fperf_error__no_memory(err, "section headers");
	memcpy(elf->sections, bytes, count * sizeof(Elf64_Shdr));
	elf->section_count = count;
	elf->section_names = names;
	return 0;
}

/* Takes the image, also on failure. */
static int elf_parse(struct elf_image *image, const char *name, struct fperf_elf **out,
		     struct fperf_error *err)
{
	struct fperf_elf *elf = calloc(1, sizeof(*elf));
	int result;

	if (!elf) {
		elf_image__close(image);
		return fperf_error__no_memory(err, "an ELF file");
	}
	elf->image = image;
	elf->name = strdup(name);
	if (!elf->name)
		result = fperf_error__no_memory(err, "an ELF file");
	else
		result = header_read(elf, err);
	if (!result)
		result = programs_read(elf, err);
	if (!result)
		result = sections_read(elf, err);
	if (result) {
		fperf_elf__close(elf);
		return result;
	}
	*out = elf;
	return 0;
}

int fperf_elf__open(const char *path, struct fperf_elf **elf, struct fperf_error *err)
{
	/* Not to wait for the other end should the path be a FIFO. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), result;

	if (fd < 0)
		return fperf_error__set_errno(err, -errno, "%s: open", path);
	result = fperf_elf__open_fd(fd, path, elf, err);
	close(fd);
	return result;
}

int fperf_elf__open_fd(int fd, const char *name_for_errors, struct fperf_elf **elf, struct fperf_error *err)
{
	struct elf_image *image;
	int result = elf_image__open_fd(fd, name_for_errors, &image, err);

	return result ? result : elf_parse(image, name_for_errors, elf, err);
}

int fperf_elf__open_memory(const void *data, size_t size, const char *name_for_errors, struct fperf_elf **elf,
			   struct fperf_error *err)
{
	struct elf_image *image;
	int result = elf_image__borrow(data, size, &image, err);

	return result ? result : elf_parse(image, name_for_errors, elf, err);
}

void fperf_elf__close(struct fperf_elf *elf)
{
	if (!elf)
		return;
	elf_image__close(elf->image);
	free(elf->name);
	free(elf->programs);
	free(elf->segments);
	free(elf->sections);
	free(elf);
}

const uint8_t *fperf_elf__data(const struct fperf_elf *elf, size_t *size)
{
	*size = elf->image->size;
	return elf_bytes(elf, 0, elf->image->size);
}

const uint8_t *fperf_elf__bytes(const struct fperf_elf *elf, uint64_t file_offset, size_t size)
{
	return elf_bytes(elf, file_offset, size);
}

bool fperf_elf__has_interpreter(const struct fperf_elf *elf)
{
	for (size_t i = 0; i < elf->program_count; i++) {
		if (elf->programs[i].p_type == PT_INTERP)
			return true;
	}
	return false;
}

uint16_t fperf_elf__machine(const struct fperf_elf *elf)
{
	return elf->header.e_machine;
}

uint16_t fperf_elf__type(const struct fperf_elf *elf)
{
	return elf->header.e_type;
}

uint64_t fperf_elf__entry(const struct fperf_elf *elf)
{
	return elf->header.e_entry;
}

const struct fperf_elf_segment *fperf_elf__segments(const struct fperf_elf *elf, size_t *count)
{
	*count = elf->segment_count;
	return elf->segments;
}

/* Segments may share bytes at their edges; code is what addresses are asked about, so it goes first. */
bool fperf_elf__offset_to_address(const struct fperf_elf *elf, uint64_t file_offset, uint64_t *address)
{
	bool found = false;

	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct fperf_elf_segment *segment = &elf->segments[i];

		if (file_offset < segment->file_offset ||
		    file_offset - segment->file_offset >= segment->file_size)
			continue;
		if (found && !(segment->flags & PF_X))
			continue;
		*address = segment->address + (file_offset - segment->file_offset);
		found = true;
		if (segment->flags & PF_X)
			break;
	}
	return found;
}

bool elf_locate(const struct fperf_elf *elf, uint64_t address, uint64_t *offset, uint64_t *left)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct fperf_elf_segment *segment = &elf->segments[i];
		uint64_t delta = address - segment->address;

		if (address < segment->address || delta >= segment->file_size ||
		    delta >= segment->memory_size)
			continue;
		*offset = segment->file_offset + delta;
		*left = segment->file_size - delta;
		return true;
	}
	return false;
}

bool fperf_elf__address_to_offset(const struct fperf_elf *elf, uint64_t address, uint64_t *file_offset)
{
	uint64_t left;

	return elf_locate(elf, address, file_offset, &left);
}

const Elf64_Shdr *elf_section_of_type(const struct fperf_elf *elf, uint32_t type)
{
	for (size_t i = 0; i < elf->section_count; i++)
		if (elf->sections[i].sh_type == type)
			return &elf->sections[i];
	return NULL;
}

static const Elf64_Shdr *section_named(const struct fperf_elf *elf, const char *name)
{
	const Elf64_Shdr *names;
	size_t size = strlen(name) + 1;

	if (!elf->section_count)
		return NULL;
	names = &elf->sections[elf->section_names];
	for (size_t i = 0; i < elf->section_count; i++) {
		const Elf64_Shdr *header = &elf->sections[i];
		const uint8_t *bytes;

		if (header->sh_name >= names->sh_size || size > names->sh_size - header->sh_name)
			continue;
		bytes = elf_bytes(elf, names->sh_offset + header->sh_name, size);
		if (bytes && !memcmp(bytes, name, size))
			return header;
	}
	return NULL;
}

bool fperf_elf__section(const struct fperf_elf *elf, const char *name, struct fperf_elf_section *section)
{
	const Elf64_Shdr *header = section_named(elf, name);
	const uint8_t *bytes;

	if (!header || header->sh_type == SHT_NOBITS || header->sh_flags & SHF_COMPRESSED)
		return false;
	bytes = elf_bytes(elf, header->sh_offset, header->sh_size);
	if (!bytes)
		return false;
	*section = (struct fperf_elf_section){bytes, header->sh_size, header->sh_addr};
	return true;
}

bool fperf_elf__has_section(const struct fperf_elf *elf, const char *name)
{
	const Elf64_Shdr *header = section_named(elf, name);

	return header && header->sh_type != SHT_NOBITS;
}
