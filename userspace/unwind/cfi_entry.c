/* The entries of .eh_frame: common information (CIE) and one frame description (FDE) for each piece of code.
 */
#include "base/map.h"
#include "base/vec.h"
#include "unwind/cfi.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	ENCODING_OMIT = 0xff,
	ENCODING_FORMAT = 0x0f,
	ENCODING_ABSOLUTE = 0x00,
	ENCODING_ULEB128 = 0x01,
	ENCODING_UDATA2 = 0x02,
	ENCODING_UDATA4 = 0x03,
	ENCODING_UDATA8 = 0x04,
	ENCODING_SLEB128 = 0x09,
	ENCODING_SDATA2 = 0x0a,
	ENCODING_SDATA4 = 0x0b,
	ENCODING_SDATA8 = 0x0c,
	ENCODING_APPLICATION = 0x70,
	ENCODING_PC_RELATIVE = 0x10,
	ENCODING_DATA_RELATIVE = 0x30,
	ENCODING_INDIRECT = 0x80,
};

/* A bound on what a hostile file can make us hold; the largest binaries we know have some 2 million entries.
 */
#define ENTRIES_MAX (16u << 20)
#define CIES_MAX    65536u

/* LEB128 as DWARF has it: padding beyond 64 bits is read and dropped. */
uint64_t cfi_uleb(struct fperf_reader *reader)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 140; shift += 7) {
		uint8_t byte = fperf_reader__u8(reader);

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	reader->failed = true;
	return 0;
}

int64_t cfi_sleb(struct fperf_reader *reader)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 140; shift += 7) {
		uint8_t byte = fperf_reader__u8(reader);

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			if (shift + 7 < 64 && (byte & 0x40))
				value |= ~0ull << (shift + 7);
			return (int64_t)value;
		}
	}
	reader->failed = true;
	return 0;
}

static uint64_t encoded_value(struct fperf_reader *reader, uint8_t encoding)
{
	switch (encoding & ENCODING_FORMAT) {
	case ENCODING_ABSOLUTE:
	case ENCODING_UDATA8:
	case ENCODING_SDATA8:
		return fperf_reader__u64(reader);
	case ENCODING_ULEB128:
		return cfi_uleb(reader);
	case ENCODING_SLEB128:
		return (uint64_t)cfi_sleb(reader);
	case ENCODING_UDATA2:
		return fperf_reader__u16(reader);
	case ENCODING_SDATA2:
		return (uint64_t)(int64_t)(int16_t)fperf_reader__u16(reader);
	case ENCODING_UDATA4:
		return fperf_reader__u32(reader);
	case ENCODING_SDATA4:
		return (uint64_t)(int64_t)(int32_t)fperf_reader__u32(reader);
	default:
		reader->failed = true;
		return 0;
	}
}

bool cfi_pointer_read(const struct cfi_section *section, struct fperf_reader *reader, uint8_t encoding,
		      uint64_t address, uint64_t *value)
{
	*value = encoded_value(reader, encoding);
	switch (encoding & ENCODING_APPLICATION) {
	case ENCODING_ABSOLUTE:
		break;
	case ENCODING_PC_RELATIVE:
		*value += address;
		break;
	case ENCODING_DATA_RELATIVE:
		*value += section->hdr_address;
		break;
	default:
		reader->failed = true;
	}
	return !reader->failed && !(encoding & ENCODING_INDIRECT);
}

static uint64_t reader_address(const struct cfi_section *section, const struct fperf_reader *reader)
{
	return section->address + (uint64_t)(reader->pos - section->data);
}

/* The letters of an augmentation that begins with 'z' say what its data holds, in order. A letter that we do
 * not know ends the reading: the data's length is known, so the instructions are still found. */
static bool augmentation_read(const struct cfi_section *section, const char *letters,
			      struct fperf_reader data, struct cfi_cie *cie)
{
	uint64_t ignored;

	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			cie->pointer_encoding = fperf_reader__u8(&data);
			break;
		case 'L':
			fperf_reader__u8(&data);
			break;
		case 'P':
			encoding = fperf_reader__u8(&data);
			if (encoding != ENCODING_OMIT)
				cfi_pointer_read(section, &data, encoding, reader_address(section, &data),
						 &ignored);
			break;
		case 'S':
			cie->signal_frame = true;
			break;
		case 'B': /* arm64: return addresses are signed with the B key; all are stripped alike */
		case 'G': /* arm64: memory tagging of the stack */
			break;
		default:
			return !data.failed;
		}
	}
	return !data.failed;
}

static bool cie_read(const struct cfi_section *section, struct fperf_reader entry, struct cfi_cie *cie)
{
	uint8_t version = fperf_reader__u8(&entry);
	const uint8_t *letters = entry.pos;
	const uint8_t *end = memchr(letters, 0, fperf_reader__left(&entry));

	*cie = (struct cfi_cie){0};
	if (entry.failed || !end || (version != 1 && version != 3 && version != 4))
		return false;
	fperf_reader__skip(&entry, (size_t)(end - letters) + 1);
	if (version == 4 && (fperf_reader__u8(&entry) != 8 || fperf_reader__u8(&entry) != 0))
		return false; /* size of addresses, of segment selectors */
	cie->code_align = cfi_uleb(&entry);
	cie->data_align = cfi_sleb(&entry);
	cie->ra_column = version == 1 ? fperf_reader__u8(&entry) : cfi_uleb(&entry);
	if (*letters == 'z') {
		uint64_t size = cfi_uleb(&entry);
		struct fperf_reader data = fperf_reader__sub(&entry, size);

		if (entry.failed || !augmentation_read(section, (const char *)letters + 1, data, cie))
			return false;
		cie->augmented = true;
	} else if (*letters) {
		return false; /* data of unknown length */
	}
	if (entry.failed || cie->ra_column != cfi_ra_register(section->machine))
		return false;
	cie->initial.ra.kind = CFI_SAME;
	cie->usable = cfi_program_run(section, cie, entry.pos, fperf_reader__left(&entry), &cie->initial, 0,
				      NULL, NULL);
	return cie->usable;
}

/* Index of the CIE at `offset`, reading it when it is met first. -1 when it cannot be used, -ENOMEM. */
static int64_t cie_at(const struct cfi_section *section, size_t offset, struct fperf_map *known,
		      struct cfi_index *index)
{
	struct fperf_reader reader, entry;
	struct cfi_cie *cie;
	uint64_t found;

	if (fperf_map__get(known, offset, &found))
		return index->cies[found].usable ? (int64_t)found : -1;
	if (index->cie_count >= CIES_MAX)
		return -1;
	cie = fperf_vec__push(&index->cies, &index->cie_count, &index->cie_capacity);
	if (!cie || fperf_map__set(known, offset, index->cie_count - 1))
		return -ENOMEM;
	fperf_reader__init(&reader, section->data, section->size);
	fperf_reader__skip(&reader, offset);
	entry = fperf_reader__sub(&reader, fperf_reader__u32(&reader));
	if (fperf_reader__u32(&entry) != 0 || entry.failed)
		return -1;
	return cie_read(section, entry, cie) ? (int64_t)(index->cie_count - 1) : -1;
}

static bool fde_read(const struct cfi_section *section, struct fperf_reader entry, const struct cfi_cie *cie,
		     struct cfi_fde *fde)
{
	uint64_t address = reader_address(section, &entry);

	if (!cfi_pointer_read(section, &entry, cie->pointer_encoding, address, &fde->address))
		return false;
	fde->size = encoded_value(&entry, cie->pointer_encoding & ENCODING_FORMAT);
	if (cie->augmented)
		fperf_reader__skip(&entry, cfi_uleb(&entry));
	if (entry.failed || fde->size > UINT64_MAX - fde->address)
		return false;
	fde->instructions = entry.pos;
	fde->instruction_size = fperf_reader__left(&entry);
	return true;
}

static int entry_read(const struct cfi_section *section, struct fperf_reader entry, struct fperf_map *known,
		      struct cfi_index *index)
{
	size_t id_at = (size_t)(entry.pos - section->data);
	uint32_t id = fperf_reader__u32(&entry);
	struct cfi_fde fde, *slot;
	int64_t cie;

	if (id == 0 && !entry.failed)
		return 0; /* a CIE: read when an FDE asks for it */
	if (entry.failed || id > id_at) {
		index->damaged++;
		return 0;
	}
	cie = cie_at(section, id_at - id, known, index);
	if (cie == -ENOMEM)
		return -ENOMEM;
	if (cie < 0 || !fde_read(section, entry, &index->cies[cie], &fde)) {
		index->damaged++;
		return 0;
	}
	if (!fde.size)
		return 0; /* removed by the linker */
	fde.cie = (uint32_t)cie;
	slot = fperf_vec__push(&index->fdes, &index->fde_count, &index->fde_capacity);
	if (!slot)
		return -ENOMEM;
	*slot = fde;
	return 0;
}

int cfi_index_read(const struct cfi_section *section, struct cfi_index *index, struct fperf_error *err)
{
	struct fperf_map known = {0};
	struct fperf_reader reader;
	int ret = 0;

	fperf_reader__init(&reader, section->data, section->size);
	while (ret == 0 && fperf_reader__left(&reader) >= 4 && index->fde_count < ENTRIES_MAX) {
		uint32_t length = fperf_reader__u32(&reader);
		struct fperf_reader entry;

		if (length == 0) /* terminator; linkers that join files leave some in between */
			continue;
		if (length == UINT32_MAX) { /* 64-bit form, which no linker writes here: pass over it */
			fperf_reader__skip(&reader, fperf_reader__u64(&reader));
			index->damaged++;
			continue;
		}
		entry = fperf_reader__sub(&reader, length);
		if (entry.failed) {
			index->damaged++;
			break;
		}
		ret = entry_read(section, entry, &known, index);
	}
	fperf_map__free(&known);
	return ret ? fperf_error__no_memory(err, "call frame information") : 0;
}

void cfi_index_free(struct cfi_index *index)
{
	free(index->cies);
	free(index->fdes);
	*index = (struct cfi_index){0};
}

unsigned int cfi_fp_register(uint16_t machine)
{
	return machine == EM_AARCH64 ? CFI_ARM64_FP : CFI_X86_FP;
}

unsigned int cfi_sp_register(uint16_t machine)
{
	return machine == EM_AARCH64 ? CFI_ARM64_SP : CFI_X86_SP;
}

unsigned int cfi_ra_register(uint16_t machine)
{
	return machine == EM_AARCH64 ? CFI_ARM64_LR : CFI_X86_RA;
}
