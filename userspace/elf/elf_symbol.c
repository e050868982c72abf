#include "elf/elf_internal.h"

#include <errno.h>
#include <string.h>

/* A symbol table wherever it was found: by section or by the dynamic segment. */
struct symbol_table {
	uint64_t offset; /* of the Elf64_Sym array in the file */
	uint64_t count;
	uint64_t names_offset, names_size;
	uint64_t version_offset;    /* of the uint16_t array parallel to the symbols; 0: none */
	uint64_t definition_offset; /* of the version definitions; 0: none */
	uint64_t definition_size;
	uint64_t definition_names_offset, definition_names_size;
};

/* What is looked for, split at the '@'. */
struct wanted {
	const char *name;
	size_t name_size;
	const char *version; /* NULL: any, the default one first */
};

/* The best match so far. */
struct match {
	int score; /* 0: none */
	uint64_t address;
	unsigned local_count; /* different addresses of equally good local symbols */
	bool ifunc;
};

#define MAX_VERSIONS   4096u   /* of one file; libc has about 60 */
#define VERSION_HIDDEN 0x8000u /* not the default version of its name */

/* NUL-terminated string at `index` of a string table, or NULL; its length is limited by the table only. */
static const char *string_at(const struct fperf_elf *elf, uint64_t offset, uint64_t size, uint64_t index)
{
	const char *bytes;

	if (index >= size)
		return NULL;
	bytes = (const char *)elf_bytes(elf, offset + index, size - index);
	return bytes && memchr(bytes, 0, size - index) ? bytes : NULL;
}

static void strings_of(const struct fperf_elf *elf, uint32_t section, uint64_t *offset, uint64_t *size)
{
	if (section >= elf->section_count)
		return;
	*offset = elf->sections[section].sh_offset;
	*size = elf->sections[section].sh_size;
}

static bool table_from_section(const struct fperf_elf *elf, uint32_t type, struct symbol_table *table)
{
	const Elf64_Shdr *symbols = elf_section_of_type(elf, type), *versions, *definitions;

	*table = (struct symbol_table){0};
	if (!symbols || symbols->sh_entsize != sizeof(Elf64_Sym))
		return false;
	table->offset = symbols->sh_offset;
	table->count = symbols->sh_size / sizeof(Elf64_Sym);
	strings_of(elf, symbols->sh_link, &table->names_offset, &table->names_size);
	if (type != SHT_DYNSYM)
		return true;
	versions = elf_section_of_type(elf, SHT_GNU_versym);
	if (versions && versions->sh_size / 2 >= table->count)
		table->version_offset = versions->sh_offset;
	definitions = elf_section_of_type(elf, SHT_GNU_verdef);
	if (definitions) {
		table->definition_offset = definitions->sh_offset;
		table->definition_size = definitions->sh_size;
		strings_of(elf, definitions->sh_link, &table->definition_names_offset,
			   &table->definition_names_size);
	}
	return true;
}

/* Values of the dynamic segment that lead to the dynamic symbols; addresses, 0: absent. */
struct dynamic {
	uint64_t symbols, strings, strings_size, hash, versions, definitions;
	uint64_t next; /* the nearest table that begins behind the symbols: they end there at the latest */
};

static void dynamic_read(const struct fperf_elf *elf, const Elf64_Phdr *program, struct dynamic *dynamic)
{
	uint64_t count = program->p_filesz / sizeof(Elf64_Dyn);
	const uint8_t *bytes = elf_bytes(elf, program->p_offset, count * sizeof(Elf64_Dyn));
	Elf64_Dyn entry;

	for (int round = 0; bytes && round < 2; round++) {
		for (uint64_t i = 0; i < count; i++) {
			memcpy(&entry, bytes + i * sizeof(entry), sizeof(entry));
			if (entry.d_tag == DT_NULL)
				break;
			if (round == 1) {
				if (entry.d_un.d_ptr > dynamic->symbols && entry.d_un.d_ptr < dynamic->next &&
				    entry.d_tag != DT_STRSZ)
					dynamic->next = entry.d_un.d_ptr;
				continue;
			}
			switch (entry.d_tag) {
			case DT_SYMTAB:
				dynamic->symbols = entry.d_un.d_ptr;
				break;
			case DT_STRTAB:
				dynamic->strings = entry.d_un.d_ptr;
				break;
			case DT_STRSZ:
				dynamic->strings_size = entry.d_un.d_val;
				break;
			case DT_HASH:
				dynamic->hash = entry.d_un.d_ptr;
				break;
			case DT_VERSYM:
				dynamic->versions = entry.d_un.d_ptr;
				break;
			case DT_VERDEF:
				dynamic->definitions = entry.d_un.d_ptr;
				break;
			}
		}
	}
}

/* Nothing in the dynamic segment says how many symbols there are; DT_HASH does, where it exists. */
static uint64_t dynamic_symbol_count(const struct fperf_elf *elf, const struct dynamic *dynamic,
				     uint64_t left)
{
	uint64_t offset, hash_left;
	const uint8_t *bytes;
	uint32_t chains;

	if (dynamic->hash && elf_locate(elf, dynamic->hash, &offset, &hash_left)) {
		bytes = elf_bytes(elf, offset, 8);
		if (bytes) {
			memcpy(&chains, bytes + 4, sizeof(chains));
			if (chains <= left / sizeof(Elf64_Sym))
				return chains;
		}
	}
	if (dynamic->next - dynamic->symbols < left)
		left = dynamic->next - dynamic->symbols;
	return left / sizeof(Elf64_Sym);
}

static bool table_from_dynamic(const struct fperf_elf *elf, struct symbol_table *table)
{
	struct dynamic dynamic = {.next = UINT64_MAX};
	uint64_t left, names_left;

	*table = (struct symbol_table){0};
	for (size_t i = 0; i < elf->program_count; i++)
		if (elf->programs[i].p_type == PT_DYNAMIC) {
			dynamic_read(elf, &elf->programs[i], &dynamic);
			break;
		}
	if (!dynamic.symbols || !elf_locate(elf, dynamic.symbols, &table->offset, &left) ||
	    !elf_locate(elf, dynamic.strings, &table->names_offset, &names_left))
		return false;
	if (table->offset >= elf->image->size)
		return false;
	if (left > elf->image->size - table->offset)
		left = elf->image->size - table->offset;
	table->names_size = dynamic.strings_size < names_left ? dynamic.strings_size : names_left;
	table->count = dynamic_symbol_count(elf, &dynamic, left);
	if (!elf_locate(elf, dynamic.versions, &table->version_offset, &left) || left / 2 < table->count)
		table->version_offset = 0;
	if (!elf_locate(elf, dynamic.definitions, &table->definition_offset, &table->definition_size))
		table->definition_offset = 0;
	table->definition_names_offset = table->names_offset;
	table->definition_names_size = table->names_size;
	return true;
}

/* Name of version `index`, NULL: not defined in this file. */
static const char *version_name(const struct fperf_elf *elf, const struct symbol_table *table, uint16_t index)
{
	uint64_t pos = 0;

	if (!table->definition_offset)
		return NULL;
	for (unsigned i = 0; i < MAX_VERSIONS; i++) {
		const uint8_t *bytes;
		Elf64_Verdef definition;
		Elf64_Verdaux name;

		if (pos > table->definition_size || table->definition_size - pos < sizeof(definition))
			return NULL;
		bytes = elf_bytes(elf, table->definition_offset + pos, sizeof(definition));
		if (!bytes)
			return NULL;
		memcpy(&definition, bytes, sizeof(definition));
		if (definition.vd_ndx == index) {
			bytes = elf_bytes(elf, table->definition_offset + pos + definition.vd_aux,
					  sizeof(name));
			if (!bytes)
				return NULL;
			memcpy(&name, bytes, sizeof(name));
			return string_at(elf, table->definition_names_offset, table->definition_names_size,
					 name.vda_name);
		}
		if (!definition.vd_next)
			return NULL;
		pos += definition.vd_next;
	}
	return NULL;
}

/* Does the symbol's version suit? Either the table of versions tells it, or the name itself ("f@@V" in
 * .symtab). `suffix` is what follows the name: "" or "@…". */
static bool version_suits(const struct fperf_elf *elf, const struct symbol_table *table, uint64_t index,
			  const char *suffix, const struct wanted *wanted, bool *is_default)
{
	const char *version = NULL;

	*is_default = true;
	if (*suffix == '@') {
		*is_default = suffix[1] == '@';
		version = suffix + 1 + *is_default;
	} else if (table->version_offset) {
		const uint8_t *bytes = elf_bytes(elf, table->version_offset + index * 2, 2);
		uint16_t number = 0;

		if (bytes)
			memcpy(&number, bytes, sizeof(number));
		*is_default = !(number & VERSION_HIDDEN);
		if (wanted->version)
			version = version_name(elf, table, number & (uint16_t)~VERSION_HIDDEN);
	}
	return !wanted->version || (version && !strcmp(version, wanted->version));
}

static bool in_code(const struct fperf_elf *elf, uint64_t address)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct fperf_elf_segment *segment = &elf->segments[i];

		if (segment->flags & PF_X && address >= segment->address &&
		    address - segment->address < segment->file_size)
			return true;
	}
	return false;
}

/* 0: not a function that a probe could be put on. Default versions go before others, known functions before
 * labels without a type, and global names before local ones, of which there may be several. */
static int symbol_score(const struct fperf_elf *elf, const Elf64_Sym *symbol, bool is_default)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info), binding = ELF64_ST_BIND(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF ||
	    (symbol->st_shndx >= SHN_LORESERVE && symbol->st_shndx != SHN_XINDEX))
		return 0;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	if (!in_code(elf, symbol->st_value))
		return 0;
	return 1 + (binding != STB_LOCAL ? 4 : 0) + (is_default ? 2 : 0) + (type != STT_NOTYPE ? 1 : 0);
}

static void symbol_consider(const struct fperf_elf *elf, const struct symbol_table *table, uint64_t index,
			    const Elf64_Sym *symbol, const struct wanted *wanted, struct match *match)
{
	const char *name;
	bool is_default;
	int score;

	if (symbol->st_name >= table->names_size || wanted->name_size >= table->names_size - symbol->st_name)
		return;
	/* Most names differ in their first bytes: no need to find the end of each. */
	name = (const char *)elf_bytes(elf, table->names_offset + symbol->st_name, wanted->name_size + 1);
	if (!name || memcmp(name, wanted->name, wanted->name_size))
		return;
	if (name[wanted->name_size] && name[wanted->name_size] != '@')
		return;
	name = string_at(elf, table->names_offset, table->names_size, symbol->st_name);
	if (!name || !version_suits(elf, table, index, name + wanted->name_size, wanted, &is_default))
		return;
	score = symbol_score(elf, symbol, is_default);
	if (!score || score < match->score)
		return;
	if (score == match->score) {
		if (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL && symbol->st_value != match->address)
			match->local_count++;
		return;
	}
	*match = (struct match){
		.score = score,
		.address = symbol->st_value,
		.local_count = 1,
		.ifunc = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC,
	};
}

static void table_search(const struct fperf_elf *elf, const struct symbol_table *table,
			 const struct wanted *wanted, struct match *match)
{
	for (uint64_t i = 1; i < table->count; i++) {
		const uint8_t *bytes =
			elf_bytes(elf, table->offset + i * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
		Elf64_Sym symbol;

		if (!bytes)
			return;
		memcpy(&symbol, bytes, sizeof(symbol));
		symbol_consider(elf, table, i, &symbol, wanted, match);
	}
}

int fperf_elf__find_function(const struct fperf_elf *elf, const char *symbol, uint64_t *file_offset,
			     uint64_t *address, struct fperf_error *err)
{
	const char *at = strchr(symbol, '@');
	struct wanted wanted = {
		.name = symbol,
		.name_size = at ? (size_t)(at - symbol) : strlen(symbol),
		.version = at ? at + 1 + (at[1] == '@') : NULL,
	};
	struct match match = {0};
	struct symbol_table table;

	if (!wanted.name_size)
		return fperf_error__set(err, -EINVAL, "%s: no symbol name given", elf->name);
	if (table_from_section(elf, SHT_DYNSYM, &table) || table_from_dynamic(elf, &table))
		table_search(elf, &table, &wanted, &match);
	if (table_from_section(elf, SHT_SYMTAB, &table))
		table_search(elf, &table, &wanted, &match);
	if (!match.score)
		return fperf_error__set(err, -ENOENT, "%s: defines no function '%s'", elf->name, symbol);
	if (match.ifunc)
		return fperf_error__set(err, -ENOTSUP,
					"%s: '%s' is chosen among implementations when the program starts "
					"(IFUNC): name the implementation, or give its +0xOFFSET",
					elf->name, symbol);
	if (match.local_count > 1)
		return fperf_error__set(err, -ENOTUNIQ,
					"%s: %u local functions are called '%s': give the +0xOFFSET of one",
					elf->name, match.local_count, symbol);
	if (!fperf_elf__address_to_offset(elf, match.address, file_offset))
		return fperf_error__set(err, -ENOEXEC, "%s: '%s' lies outside the file", elf->name, symbol);
	if (address)
		*address = match.address;
	return 0;
}

/* End of the executable section of the symbol, or of its segment where there are no section headers; 0: it is
 * not in executable memory. */
static uint64_t code_limit(const struct fperf_elf *elf, const Elf64_Sym *symbol)
{
	if (symbol->st_shndx < elf->section_count) {
		const Elf64_Shdr *section = &elf->sections[symbol->st_shndx];

		if (!(section->sh_flags & SHF_EXECINSTR) || symbol->st_value < section->sh_addr ||
		    symbol->st_value - section->sh_addr >= section->sh_size)
			return 0;
		return section->sh_addr + section->sh_size;
	}
	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct fperf_elf_segment *segment = &elf->segments[i];

		if (segment->flags & PF_X && symbol->st_value >= segment->address &&
		    symbol->st_value - segment->address < segment->memory_size)
			return segment->address + segment->memory_size;
	}
	return 0;
}

static bool may_be_function(const Elf64_Sym *symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF ||
	    (symbol->st_shndx >= SHN_LORESERVE && symbol->st_shndx != SHN_XINDEX))
		return false;
	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

void fperf_elf__visit_symbols(const struct fperf_elf *elf, enum fperf_elf_symbols which,
			      void (*visit)(void *context, const struct fperf_elf_symbol *symbol),
			      void *context)
{
	struct symbol_table table;
	const uint8_t *symbols;
	const char *names;
	bool found;

	if (which == FPERF_ELF_SYMTAB)
		found = table_from_section(elf, SHT_SYMTAB, &table);
	else
		found = table_from_section(elf, SHT_DYNSYM, &table) || table_from_dynamic(elf, &table);
	if (!found || table.count > UINT64_MAX / sizeof(Elf64_Sym))
		return;
	symbols = elf_bytes(elf, table.offset, table.count * sizeof(Elf64_Sym));
	names = (const char *)elf_bytes(elf, table.names_offset, table.names_size);
	for (uint64_t i = 1; symbols && names && i < table.count; i++) {
		struct fperf_elf_symbol out = {0};
		Elf64_Sym symbol;

		memcpy(&symbol, symbols + i * sizeof(symbol), sizeof(symbol));
		if (!may_be_function(&symbol) || symbol.st_name >= table.names_size)
			continue;
		out.name = names + symbol.st_name;
		if (!*out.name || !memchr(out.name, 0, table.names_size - symbol.st_name))
			continue;
		out.address = symbol.st_value;
		out.size = symbol.st_size;
		out.limit = code_limit(elf, &symbol);
		out.type = (uint8_t)ELF64_ST_TYPE(symbol.st_info);
		out.binding = (uint8_t)ELF64_ST_BIND(symbol.st_info);
		if (out.limit)
			visit(context, &out);
	}
}
