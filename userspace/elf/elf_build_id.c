#include "base/reader.h"
#include "elf/elf_internal.h"

#include <string.h>

/* The build ID among the notes at `offset`; `align` as in the program or section header. */
static size_t notes_build_id(const struct fperf_elf *elf, uint64_t offset, uint64_t size, uint64_t align,
			     uint8_t build_id[FPERF_BUILD_ID_MAX])
{
	const uint8_t *bytes = elf_bytes(elf, offset, size);
	size_t mask = align == 8 ? 7 : 3; /* System V ABI: 4; notes of GNU properties: 8 */
	struct fperf_reader reader;

	if (!bytes)
		return 0;
	fperf_reader__init(&reader, bytes, size);
	while (fperf_reader__left(&reader) >= sizeof(Elf64_Nhdr)) {
		uint32_t name_size = fperf_reader__u32(&reader);
		uint32_t data_size = fperf_reader__u32(&reader);
		uint32_t type = fperf_reader__u32(&reader);
		const uint8_t *name = fperf_reader__bytes(&reader, name_size), *data;

		fperf_reader__skip(&reader, -(sizeof(Elf64_Nhdr) + (size_t)name_size) & mask);
		data = fperf_reader__bytes(&reader, data_size);
		if (reader.failed)
			return 0;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && !memcmp(name, "GNU", 4) && data_size > 0 &&
		    data_size <= FPERF_BUILD_ID_MAX) {
			bool zeros = true;

			for (uint32_t i = 0; i < data_size; i++)
				zeros = zeros && !data[i];
			if (zeros)
				return 0;
			memcpy(build_id, data, data_size);
			return data_size;
		}
		if (fperf_reader__left(&reader) <= (-(size_t)data_size & mask))
			return 0;
		fperf_reader__skip(&reader, -(size_t)data_size & mask);
	}
	return 0;
}

/* Through program headers, as the kernel looks for it; files of debug information and kernel modules have
 * useful notes only in sections. */
size_t fperf_elf__build_id(const struct fperf_elf *elf, uint8_t build_id[FPERF_BUILD_ID_MAX])
{
	for (size_t i = 0; i < elf->program_count; i++) {
		const Elf64_Phdr *program = &elf->programs[i];
		size_t size;

		if (program->p_type != PT_NOTE)
			continue;
		size = notes_build_id(elf, program->p_offset, program->p_filesz, program->p_align, build_id);
		if (size)
			return size;
	}
	for (size_t i = 0; i < elf->section_count; i++) {
		const Elf64_Shdr *section = &elf->sections[i];
		size_t size;

		if (section->sh_type != SHT_NOTE)
			continue;
		size = notes_build_id(elf, section->sh_offset, section->sh_size, section->sh_addralign,
				      build_id);
		if (size)
			return size;
	}
	return 0;
}
