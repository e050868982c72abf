#include "symbolize/plt.h"

#include "base/vec.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char fperf_plt_group[] = "plt";

#define STUB_ALIGN 8u /* of x86-64's shortest stubs */

struct slot {
	uint64_t address;
	const char *name;
};

struct slots {
	struct slot *slots;
	size_t count, capacity;
	bool failed;
};

/* Relocation types that put the address of a function into a slot (psABI of x86-64 and arm64). */
static bool fills_slot(uint16_t machine, uint32_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}

static void slots_read(struct slots *slots, const struct fperf_elf *elf, const char *section)
{
	struct fperf_elf_section relocations, symbols, strings;

	if (!fperf_elf__section(elf, section, &relocations) ||
	    !fperf_elf__section(elf, ".dynsym", &symbols) || !fperf_elf__section(elf, ".dynstr", &strings))
		return;
	for (size_t i = 0; !slots->failed && i < relocations.size / sizeof(Elf64_Rela); i++) {
		struct slot *slot;
		Elf64_Rela relocation;
		Elf64_Sym symbol;
		size_t index;

		memcpy(&relocation, relocations.data + i * sizeof(relocation), sizeof(relocation));
		index = ELF64_R_SYM(relocation.r_info);
		if (!fills_slot(fperf_elf__machine(elf), ELF64_R_TYPE(relocation.r_info)) || !index ||
		    index >= symbols.size / sizeof(symbol))
			continue;
		memcpy(&symbol, symbols.data + index * sizeof(symbol), sizeof(symbol));
		if (symbol.st_name >= strings.size || !strings.data[symbol.st_name] ||
		    !memchr(strings.data + symbol.st_name, 0, strings.size - symbol.st_name))
			continue;
		slot = fperf_vec__push(&slots->slots, &slots->count, &slots->capacity);
		if (slot)
			*slot = (struct slot){relocation.r_offset,
					      (const char *)strings.data + symbol.st_name};
		slots->failed = !slot;
	}
}

static int slot_compare(const void *a, const void *b)
{
	const struct slot *left = a, *right = b;

	return left->address < right->address ? -1 : left->address > right->address;
}

/* The slot through which the instruction at `at` jumps; false when it is no such instruction. */
static bool jump_slot_x86(const struct fperf_elf_section *code, size_t at, uint64_t *slot)
{
	int32_t displacement;

	if (code->size - at < 6 || code->data[at] != 0xff || code->data[at + 1] != 0x25) /* jmp *d(%rip) */
		return false;
	memcpy(&displacement, code->data + at + 2, sizeof(displacement));
	*slot = code->address + at + 6 + (uint64_t)(int64_t)displacement;
	return true;
}

static bool jump_slot_arm64(const struct fperf_elf_section *code, size_t at, uint64_t *slot)
{
	uint32_t adrp, load;
	int64_t pages;

	if (at % 4 || code->size - at < 8)
		return false;
	memcpy(&adrp, code->data + at, sizeof(adrp));
	memcpy(&load, code->data + at + 4, sizeof(load));
	if ((adrp & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
		return false; /* adrp x16, page; ldr x17, [x16, #offset] */
	pages = (int64_t)((uint64_t)(((adrp >> 5 & 0x7ffff) << 2) | (adrp >> 29 & 3)) << 43) >> 43;
	*slot = ((code->address + at) & ~0xfffull) + (uint64_t)pages * 4096 +
		(uint64_t)(load >> 10 & 0xfff) * 8;
	return true;
}

static int stubs_add(const struct fperf_elf *elf, const char *section, const struct slots *slots,
		     struct fperf_range_table *table)
{
	bool x86 = fperf_elf__machine(elf) == EM_X86_64;
	struct fperf_range stub = {.group = fperf_plt_group};
	struct fperf_elf_section code;

	if (!fperf_elf__section(elf, section, &code))
		return 0;
	for (size_t at = 0; at < code.size; at++) {
		struct slot key = {0}, *slot;
		uint64_t start = (code.address + at) & ~(uint64_t)(STUB_ALIGN - 1);

		if (!(x86 ? jump_slot_x86(&code, at, &key.address)
			  : jump_slot_arm64(&code, at, &key.address)))
			continue;
		stub.end = start;
		if (stub.name && fperf_range_table__add(table, &stub))
			return -ENOMEM;
		slot = bsearch(&key, slots->slots, slots->count, sizeof(*slot), slot_compare);
		stub.name = slot ? slot->name : NULL;
		stub.start = start;
	}
	stub.end = code.address + code.size;
	return stub.name ? fperf_range_table__add(table, &stub) : 0;
}

int fperf_plt__add(const struct fperf_elf *elf, struct fperf_range_table *table)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
	uint16_t machine = fperf_elf__machine(elf);
	struct slots slots = {0};
	int result = 0;

	if (machine != EM_X86_64 && machine != EM_AARCH64)
		return 0;
	slots_read(&slots, elf, ".rela.plt");
	slots_read(&slots, elf, ".rela.dyn");
	if (slots.count)
		qsort(slots.slots, slots.count, sizeof(*slots.slots), slot_compare);
	for (size_t i = 0; !result && slots.count && i < sizeof(sections) / sizeof(*sections); i++)
		result = stubs_add(elf, sections[i], &slots, table);
	free(slots.slots);
	return slots.failed ? -ENOMEM : result;
}
