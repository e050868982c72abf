#include "base/reader.h"
#include "elf/elf_internal.h"

/* Pointer encodings of exception frames (Linux Standard Base, "DWARF Exception Header Encoding"). */
enum {
	ENCODING_ABSOLUTE = 0x00,
	ENCODING_UDATA4 = 0x03,
	ENCODING_UDATA8 = 0x04,
	ENCODING_SDATA4 = 0x0b,
	ENCODING_SDATA8 = 0x0c,
	ENCODING_PC_RELATIVE = 0x10,
	ENCODING_DATA_RELATIVE = 0x30,
};

#define HDR_VERSION 1

/* Address of .eh_frame as .eh_frame_hdr tells it: version, three encodings, the encoded pointer. */
static bool hdr_pointer(const struct fperf_elf_section *hdr, uint64_t *address)
{
	struct fperf_reader reader;
	uint8_t encoding;
	uint64_t value;

	fperf_reader__init(&reader, hdr->data, hdr->size);
	if (fperf_reader__u8(&reader) != HDR_VERSION)
		return false;
	encoding = fperf_reader__u8(&reader);
	fperf_reader__skip(&reader, 2);
	switch (encoding & 0x0f) {
	case ENCODING_ABSOLUTE:
	case ENCODING_UDATA8:
	case ENCODING_SDATA8:
		value = fperf_reader__u64(&reader);
		break;
	case ENCODING_UDATA4:
		value = fperf_reader__u32(&reader);
		break;
	case ENCODING_SDATA4:
		value = (uint64_t)(int64_t)(int32_t)fperf_reader__u32(&reader);
		break;
	default:
		return false;
	}
	switch (encoding & 0xf0) {
	case 0:
		break;
	case ENCODING_PC_RELATIVE:
		value += hdr->address + 4;
		break;
	case ENCODING_DATA_RELATIVE:
		value += hdr->address;
		break;
	default:
		return false;
	}
	*address = value;
	return !reader.failed;
}

/* No header tells the size of .eh_frame: entry by entry up to the terminator, or to the first entry that
 * cannot be one. */
static size_t eh_frame_size(const uint8_t *data, size_t limit)
{
	struct fperf_reader reader;

	fperf_reader__init(&reader, data, limit);
	for (;;) {
		size_t start = limit - fperf_reader__left(&reader), id_at;
		uint64_t length = fperf_reader__u32(&reader), id;

		if (reader.failed)
			return start;
		if (!length)
			return start + 4;
		if (length == UINT32_MAX)
			length = fperf_reader__u64(&reader);
		id_at = limit - fperf_reader__left(&reader);
		if (reader.failed || length < 4 || length > limit - id_at)
			return start;
		id = fperf_reader__u32(&reader);
		if (id > id_at) /* an FDE points back to its CIE, and a CIE has 0 */
			return start;
		fperf_reader__skip(&reader, length - 4);
	}
}

static bool hdr_from_program(const struct fperf_elf *elf, struct fperf_elf_section *hdr)
{
	for (size_t i = 0; i < elf->program_count; i++) {
		const Elf64_Phdr *program = &elf->programs[i];

		if (program->p_type != PT_GNU_EH_FRAME)
			continue;
		hdr->data = elf_bytes(elf, program->p_offset, program->p_filesz);
		hdr->size = program->p_filesz;
		hdr->address = program->p_vaddr;
		return hdr->data != NULL;
	}
	return false;
}

static bool eh_frame_from_hdr(const struct fperf_elf *elf, const struct fperf_elf_section *hdr,
			      struct fperf_elf_section *eh_frame)
{
	uint64_t address, offset, left;

	if (!hdr_pointer(hdr, &address) || !elf_locate(elf, address, &offset, &left))
		return false;
	if (offset >= elf->image->size)
		return false;
	if (left > elf->image->size - offset)
		left = elf->image->size - offset;
	eh_frame->data = elf_bytes(elf, offset, left);
	if (!eh_frame->data)
		return false;
	eh_frame->size = eh_frame_size(eh_frame->data, left);
	eh_frame->address = address;
	return eh_frame->size > 0;
}

bool fperf_elf__eh_frame(const struct fperf_elf *elf, struct fperf_elf_section *eh_frame,
			 struct fperf_elf_section *eh_frame_hdr)
{
	struct fperf_elf_section hdr = {0};

	if (!fperf_elf__section(elf, ".eh_frame_hdr", &hdr) && !hdr_from_program(elf, &hdr))
		hdr = (struct fperf_elf_section){0};
	if (eh_frame_hdr)
		*eh_frame_hdr = hdr;
	return fperf_elf__section(elf, ".eh_frame", eh_frame) ||
	       (hdr.data && eh_frame_from_hdr(elf, &hdr, eh_frame));
}
