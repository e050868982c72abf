#include "symbolize/dwarf_reader.h"

#include "base/vec.h"
#include "symbolize/dwarf_scopes.h"
#include "symbolize/dwarf_tree.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#define COMPRESSION_ZSTD 2   /* ELFCOMPRESS_ZSTD, newer than some elf.h */
#define DEPTH_MAX	 256 /* nesting of DIEs that is followed */
#define UNIT_RANGE_STEPS                                                                                     \
	64 /* ranges of other units that may begin between a range's start and the address                   \
	    */

struct unit {
	Dwarf_Die die;	/* of the (skeleton) compile unit: lines and ranges */
	Dwarf_Die tree; /* where its functions are described */
	bool ranged;	/* its own ranges say what it covers */
};

struct unit_range {
	uint64_t start, end;
	uint64_t furthest; /* greatest end of this and all ranges before */
	uint32_t unit;
};

struct function_range {
	uint64_t start, end;
	Dwarf_Die die;
};

struct fperf_dwarf_reader {
	Elf *elf;
	Dwarf *dwarf;
	const struct fperf_dwarf_code *code;
	size_t code_count;
	struct unit *units;
	size_t unit_count, unit_capacity;
	struct unit_range *ranges;
	size_t range_count, range_capacity;
	/* Functions of the unit that was asked last. */
	uint32_t current; /* unit, UINT32_MAX: none */
	bool nested;	  /* functions inside functions are in the index, too */
	struct function_range *functions;
	size_t function_count, function_capacity;
	struct fperf_dwarf_scopes scopes;
};

static bool in_code(const struct fperf_dwarf_reader *reader, uint64_t address)
{
	for (size_t i = 0; i < reader->code_count; i++)
		if (address >= reader->code[i].start && address < reader->code[i].end)
			return true;
	return false;
}

/* Adds the ranges of a unit that lie in executable memory. */
static int unit_ranges_add(struct fperf_dwarf_reader *reader, uint32_t index, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		struct unit_range *range;

		if (end <= start || !in_code(reader, start))
			continue;
		range = fperf_vec__push(&reader->ranges, &reader->range_count, &reader->range_capacity);
		if (!range)
			return -ENOMEM;
		*range = (struct unit_range){.start = start, .end = end, .unit = index};
		reader->units[index].ranged = true;
	}
	return 0;
}

static int range_compare(const void *a, const void *b)
{
	const struct unit_range *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->end != right->end)
		return left->end > right->end ? -1 : 1; /* the narrower last */
	return left->unit < right->unit ? -1 : left->unit > right->unit;
}

/* For units without ranges of their own: what .debug_aranges says. */
static int aranges_add(struct fperf_dwarf_reader *reader)
{
	Dwarf_Aranges *aranges;
	size_t count;

	if (dwarf_getaranges(reader->dwarf, &aranges, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Arange *arange = dwarf_onearange(aranges, i);
		struct unit_range *range;
		Dwarf_Addr start;
		Dwarf_Word length;
		Dwarf_Off offset;

		if (!arange || dwarf_getarangeinfo(arange, &start, &length, &offset) ||
		    !in_code(reader, start))
			continue;
		for (uint32_t u = 0; u < reader->unit_count; u++) {
			if (reader->units[u].ranged || dwarf_dieoffset(&reader->units[u].die) != offset)
				continue;
			range = fperf_vec__push(&reader->ranges, &reader->range_count,
						&reader->range_capacity);
			if (!range)
				return -ENOMEM;
			*range = (struct unit_range){.start = start, .end = start + length, .unit = u};
		}
	}
	return 0;
}

static int units_read(struct fperf_dwarf_reader *reader)
{
	Dwarf_CU *cu = NULL;
	bool unranged = false;
	uint8_t type;
	struct unit unit;

	for (;;) {
		struct unit *added;
		uint32_t index = (uint32_t)reader->unit_count;
		int result;

		memset(&unit, 0, sizeof(unit));
		result = dwarf_get_units(reader->dwarf, cu, &cu, NULL, &type, &unit.die, &unit.tree);
		if (result)
			break; /* the end, or damage: what was read so far counts */
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (dwarf_tag(&unit.die) != DW_TAG_compile_unit &&
		    dwarf_tag(&unit.die) != DW_TAG_skeleton_unit)
			continue;
		if (!unit.tree.addr)
			unit.tree = unit.die;
		added = fperf_vec__push(&reader->units, &reader->unit_count, &reader->unit_capacity);
		if (!added)
			return -ENOMEM;
		*added = unit;
		if (unit_ranges_add(reader, index, &reader->units[index].die))
			return -ENOMEM;
		unranged = unranged || !reader->units[index].ranged;
	}
	if (unranged && aranges_add(reader))
		return -ENOMEM;
	if (reader->range_count)
		qsort(reader->ranges, reader->range_count, sizeof(*reader->ranges), range_compare);
	for (size_t i = 0; i < reader->range_count; i++) {
		uint64_t before = i ? reader->ranges[i - 1].furthest : 0;

		reader->ranges[i].furthest = reader->ranges[i].end > before ? reader->ranges[i].end : before;
	}
	return 0;
}

/* libdw skips sections in a compression that it was not built with, without a word. */
static bool has_zstd_sections(Elf *elf)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		GElf_Chdr compression;

		if (gelf_getshdr(section, &header) && header.sh_flags & SHF_COMPRESSED &&
		    gelf_getchdr(section, &compression) && compression.ch_type == COMPRESSION_ZSTD)
			return true;
	}
	return false;
}

int fperf_dwarf_reader__open(const void *image, size_t size, const struct fperf_dwarf_code *code,
			     size_t code_count, struct fperf_dwarf_reader **out, struct fperf_error *err)
{
	struct fperf_dwarf_reader *reader = calloc(1, sizeof(*reader));
	int result;

	if (!reader)
		return fperf_error__no_memory(err, "debug information");
	reader->code = code;
	reader->code_count = code_count;
	reader->current = UINT32_MAX;
	elf_version(EV_CURRENT);
	/* libelf does not write to an image that it only reads. */
	reader->elf = elf_memory((char *)(uintptr_t)image, size);
	if (!reader->elf) {
		result = fperf_error__set(err, -ENOEXEC, "libelf: %s", elf_errmsg(-1));
		goto fail;
	}
	reader->dwarf = dwarf_begin_elf(reader->elf, DWARF_C_READ, NULL);
	if (!reader->dwarf) {
		result = fperf_error__set(err, -ENODATA, "libdw: %s", dwarf_errmsg(-1));
		goto fail;
	}
	result = units_read(reader);
	if (result) {
		fperf_error__no_memory(err, "debug information");
		goto fail;
	}
	if (!reader->unit_count) {
		result = fperf_error__set(
			err, -ENODATA, "%s",
			has_zstd_sections(reader->elf)
				? "the debug information is compressed with zstd, which this libdw cannot "
				  "expand "
				  "(objcopy --decompress-debug-sections can)"
				: "the debug information holds no compile unit that libdw can read");
		goto fail;
	}
	*out = reader;
	return 0;
fail:
	fperf_dwarf_reader__close(reader);
	return result;
}

void fperf_dwarf_reader__close(struct fperf_dwarf_reader *reader)
{
	if (!reader)
		return;
	dwarf_end(reader->dwarf);
	elf_end(reader->elf);
	fperf_dwarf_scopes__free(&reader->scopes);
	free(reader->functions);
	free(reader->ranges);
	free(reader->units);
	free(reader);
}

size_t fperf_dwarf_reader__units(const struct fperf_dwarf_reader *reader, uint64_t address, uint32_t *units,
				 size_t max)
{
	size_t low = 0, high = reader->range_count, found = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reader->ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low, steps = 0; i-- > 0 && found < max && steps < UNIT_RANGE_STEPS; steps++) {
		const struct unit_range *range = &reader->ranges[i];

		if (range->furthest <= address)
			break;
		if (range->end > address)
			units[found++] = range->unit;
	}
	return found;
}

static int function_add(struct fperf_dwarf_reader *reader, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		struct function_range *function;

		if (end <= start || !in_code(reader, start))
			continue;
		function = fperf_vec__push(&reader->functions, &reader->function_count,
					   &reader->function_capacity);
		if (!function)
			return -ENOMEM;
		*function = (struct function_range){start, end, *die};
	}
	return 0;
}

/* Functions below `die`; those inside other functions only when `nested`. */
static int functions_walk(struct fperf_dwarf_reader *reader, Dwarf_Die *die, bool nested, int depth)
{
	Dwarf_Die child;

	if (depth > DEPTH_MAX || !fperf_dwarf_tree__child(die, &child))
		return 0;
	do {
		bool below;

		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			if (function_add(reader, &child))
				return -ENOMEM;
			below = nested;
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
			below = true;
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_inlined_subroutine:
			below = nested;
			break;
		default:
			below = false;
		}
		if (below && functions_walk(reader, &child, nested, depth + 1))
			return -ENOMEM;
	} while (fperf_dwarf_tree__next(&child));
	return 0;
}

static int function_compare(const void *a, const void *b)
{
	const struct function_range *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->end > right->end ? -1 : left->end < right->end;
}

static void functions_index(struct fperf_dwarf_reader *reader, uint32_t unit, bool nested)
{
	reader->function_count = 0;
	reader->current = unit;
	reader->nested = nested;
	/* Out of memory leaves fewer functions, which then have ELF names only. */
	functions_walk(reader, &reader->units[unit].tree, nested, 0);
	if (reader->function_count)
		qsort(reader->functions, reader->function_count, sizeof(*reader->functions),
		      function_compare);
}

static Dwarf_Die *function_find(struct fperf_dwarf_reader *reader, uint64_t address)
{
	size_t low = 0, high = reader->function_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reader->functions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low, steps = 0; i-- > 0 && steps < UNIT_RANGE_STEPS; steps++)
		if (address < reader->functions[i].end)
			return &reader->functions[i].die;
	return NULL;
}

/* The function of a unit at an address. Functions inside functions are rare: looked for only when no other
 * covers the address. */
static Dwarf_Die *function_at(struct fperf_dwarf_reader *reader, uint32_t unit, uint64_t address)
{
	Dwarf_Die *die;

	if (reader->current != unit)
		functions_index(reader, unit, false);
	die = function_find(reader, address);
	if (die || reader->nested)
		return die;
	functions_index(reader, unit, true);
	return function_find(reader, address);
}

static bool may_hold_inlined(Dwarf_Die *die, uint64_t address)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_inlined_subroutine:
		return dwarf_haspc(die, address) > 0;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return dwarf_haspc(die, address) > 0 ||
		       (!dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges));
	default:
		return false;
	}
}

/* Inlined functions at the address, outermost first, added to `path`. */
static size_t inlined_walk(Dwarf_Die *die, uint64_t address, Dwarf_Die *path, size_t count, int depth)
{
	Dwarf_Die child;

	if (depth > DEPTH_MAX || !fperf_dwarf_tree__child(die, &child))
		return count;
	do {
		size_t found = count;

		if (!may_hold_inlined(&child, address))
			continue;
		if (dwarf_tag(&child) == DW_TAG_inlined_subroutine) {
			if (found == FPERF_DWARF_DEPTH) {
				memmove(path, path + 1, (found - 1) * sizeof(*path));
				found--;
			}
			path[found++] = child;
		}
		found = inlined_walk(&child, address, path, found, depth + 1);
		if (found != count || dwarf_tag(&child) == DW_TAG_inlined_subroutine)
			return found;
	} while (fperf_dwarf_tree__next(&child));
	return count;
}

static const char *die_string(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	const char *string = dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));

	return string && *string ? string : NULL;
}

/* The DIE that stands in the class or namespace of a function: follows abstract origin and specification. */
static void die_declaration(Dwarf_Die *die)
{
	for (int i = 0; i < 16; i++) {
		Dwarf_Attribute attribute;
		Dwarf_Die origin;

		if (!dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
		    !dwarf_attr(die, DW_AT_specification, &attribute))
			return;
		if (!dwarf_formref_die(&attribute, &origin))
			return;
		*die = origin;
	}
}

static bool names_need_scopes(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_Rust:
	case DW_LANG_D:
		return true;
	default:
		return false;
	}
}

static const char *function_name(struct fperf_dwarf_reader *reader, uint32_t unit, Dwarf_Die *die)
{
	const char *name = die_string(die, DW_AT_linkage_name), *qualified = NULL;

	if (!name)
		name = die_string(die, DW_AT_MIPS_linkage_name);
	if (name)
		return name;
	name = die_string(die, DW_AT_name);
	if (name && names_need_scopes(&reader->units[unit].tree)) {
		Dwarf_Die declaration = *die;

		die_declaration(&declaration);
		qualified = fperf_dwarf_scopes__qualify(&reader->scopes, &declaration, name);
	}
	return qualified ? qualified : name ? name : "";
}

static void call_site(struct fperf_dwarf_reader *reader, uint32_t unit, Dwarf_Die *inlined,
		      struct fperf_dwarf_entry *entry)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word value;
	const char *name;

	if (!dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &value) && value <= UINT32_MAX)
		entry->line = (uint32_t)value;
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &value) ||
	    dwarf_getsrcfiles(&reader->units[unit].tree, &files, NULL))
		return;
	name = dwarf_filesrc(files, value, NULL, NULL);
	if (name)
		entry->file = name;
}

static void line_of(struct fperf_dwarf_reader *reader, uint32_t unit, uint64_t address,
		    struct fperf_dwarf_entry *entry)
{
	Dwarf_Line *line = dwarf_getsrc_die(&reader->units[unit].die, address);
	const char *file;
	int number;

	if (!line)
		return;
	file = dwarf_linesrc(line, NULL, NULL);
	if (file)
		entry->file = file;
	if (!dwarf_lineno(line, &number) && number > 0)
		entry->line = (uint32_t)number;
}

size_t fperf_dwarf_reader__lookup(struct fperf_dwarf_reader *reader, uint32_t unit, uint64_t address,
				  struct fperf_dwarf_entry entries[FPERF_DWARF_DEPTH])
{
	Dwarf_Die path[FPERF_DWARF_DEPTH + 1], *function;
	size_t depth = 0, count = 0;

	if (unit >= reader->unit_count)
		return 0;
	function = function_at(reader, unit, address);
	if (function)
		depth = inlined_walk(function, address, path, 0, 0);
	entries[0] = (struct fperf_dwarf_entry){.function = "", .file = ""};
	line_of(reader, unit, address, &entries[0]);
	while (depth && count + 1 < FPERF_DWARF_DEPTH) {
		entries[count].function = function_name(reader, unit, &path[--depth]);
		count++;
		entries[count] = (struct fperf_dwarf_entry){.function = "", .file = ""};
		call_site(reader, unit, &path[depth], &entries[count]);
	}
	if (function)
		entries[count].function = function_name(reader, unit, function);
	if (!function && !entries[0].line && !*entries[0].file)
		return 0;
	return count + 1;
}
