#include "fixture.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];

void fixture_enter(void)
{
	strcpy(directory, "/tmp/fperf-symbolize-XXXXXX");
	cr_assert(mkdtemp(directory));
	cr_assert_eq(chdir(directory), 0);
}

void fixture_leave(void)
{
	char command[128];

	cr_assert_eq(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	cr_assert_eq(system(command), 0);
}

const char *fixture_dir(void)
{
	return directory;
}

void fixture_write(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	cr_assert(file, "%s", name);
	fputs(text, file);
	cr_assert_eq(fclose(file), 0);
}

void fixture_run(const char *format, ...)
{
	char command[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	cr_assert_eq(system(command), 0, "failed: %s", command);
}

bool fixture_has(const char *tool)
{
	char command[256];

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", tool);
	return system(command) == 0;
}

static void function_find(const char *file, const char *function, uint64_t *offset, uint64_t *address)
{
	struct fperf_error err = {0};
	struct fperf_elf *elf;

	cr_assert_eq(fperf_elf__open(file, &elf, &err), 0, "%s", err.text);
	cr_assert_eq(fperf_elf__find_function(elf, function, offset, address, &err), 0, "%s", err.text);
	fperf_elf__close(elf);
}

uint64_t fixture_offset(const char *file, const char *function)
{
	uint64_t offset, address;

	function_find(file, function, &offset, &address);
	return offset;
}

uint64_t fixture_address(const char *file, const char *function)
{
	uint64_t offset, address;

	function_find(file, function, &offset, &address);
	return address;
}

uint64_t fixture_to_offset(const char *file, uint64_t address)
{
	struct fperf_error err = {0};
	struct fperf_elf *elf;
	uint64_t offset;

	cr_assert_eq(fperf_elf__open(file, &elf, &err), 0, "%s", err.text);
	cr_assert(fperf_elf__address_to_offset(elf, address, &offset));
	fperf_elf__close(elf);
	return offset;
}

struct size_search {
	const char *name;
	uint64_t size;
};

static void size_take(void *context, const struct fperf_elf_symbol *symbol)
{
	struct size_search *search = context;

	if (!strcmp(symbol->name, search->name))
		search->size = symbol->size;
}

uint64_t fixture_size(const char *file, const char *function)
{
	struct size_search search = {.name = function};
	struct fperf_error err = {0};
	struct fperf_elf *elf;

	cr_assert_eq(fperf_elf__open(file, &elf, &err), 0, "%s", err.text);
	fperf_elf__visit_symbols(elf, FPERF_ELF_SYMTAB, size_take, &search);
	fperf_elf__close(elf);
	cr_assert(search.size, "%s", function);
	return search.size;
}

static void record_add(struct fixture_session *fixture, enum fperf_record_type type, const void *record)
{
	struct fperf_error err = {0};

	cr_assert_eq(fperf_session__add(fixture->session, type, record, &err), 0, "%s", err.text);
}

struct fixture_session fixture_session_new(void)
{
	struct fixture_session fixture = {.session = fperf_session__new()};

	cr_assert(fixture.session);
	return fixture;
}

uint32_t fixture_string(struct fixture_session *fixture, const char *text)
{
	struct fperf_rec_string string = {
		.id = ++fixture->strings, .size = (uint32_t)strlen(text), .bytes = text};

	record_add(fixture, FPERF_RECORD_STRING, &string);
	return string.id;
}

uint32_t fixture_module_record(struct fixture_session *fixture, struct fperf_rec_module module,
			       const char *path)
{
	module.id = ++fixture->modules;
	module.path = fixture_string(fixture, path);
	record_add(fixture, FPERF_RECORD_MODULE, &module);
	return module.id;
}

uint64_t fixture_content_hash(const char *file)
{
	static uint8_t bytes[8192];
	uint64_t hash = 0xcbf29ce484222325ull;
	int fd = open(file, O_RDONLY);
	struct stat stat;
	size_t size;

	cr_assert_eq(fstat(fd, &stat), 0);
	size = (size_t)pread(fd, bytes, 4096, 0);
	if (stat.st_size > 4096)
		size += (size_t)pread(fd, bytes + size, 4096, stat.st_size - 4096);
	close(fd);
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return hash;
}

uint32_t fixture_module(struct fixture_session *fixture, const char *path, const char *file)
{
	struct fperf_rec_module module = {.kind = FPERF_MODULE_ELF};
	struct fperf_error err = {0};
	struct fperf_elf *elf;
	struct stat stat_of_file;

	cr_assert_eq(fperf_elf__open(file, &elf, &err), 0, "%s", err.text);
	module.build_id_size = (uint8_t)fperf_elf__build_id(elf, module.build_id);
	fperf_elf__close(elf);
	cr_assert_eq(stat(file, &stat_of_file), 0);
	module.file_size = (uint64_t)stat_of_file.st_size;
	if (!module.build_id_size)
		module.content_hash = fixture_content_hash(file);
	return fixture_module_record(fixture, module, path);
}

uint32_t fixture_process(struct fixture_session *fixture, const char *exe)
{
	struct fperf_rec_process process = {
		.id = ++fixture->processes, .pid = 4000000 + fixture->processes, .target = 1};

	process.exe = fixture_string(fixture, exe);
	process.name = process.exe;
	record_add(fixture, FPERF_RECORD_PROCESS, &process);
	return process.id;
}

void fixture_stack(struct fixture_session *fixture, const struct fperf_stack_frame *frames, uint32_t count)
{
	struct fperf_rec_stack stack = {
		.id = ++fixture->stacks, .outcome = FPERF_STACK_COMPLETE, .count = count, .frames = frames};

	record_add(fixture, FPERF_RECORD_STACK, &stack);
}

void fixture_seal(struct fixture_session *fixture)
{
	struct fperf_error err = {0};

	cr_assert_eq(fperf_session__seal(fixture->session, &err), 0, "%s", err.text);
}

struct fperf_symbolizer *fixture_symbolizer(const struct fixture_session *fixture, const char *symbols,
					    bool system)
{
	static const char *dirs[1];
	struct fperf_symbolizer_options options = {
		.symbol_dirs = dirs,
		.symbol_dir_count = *symbols ? 1 : 0,
		.no_system_files = !system,
		.demangle = true,
		.lines = true,
	};
	struct fperf_symbolizer *symbolizer;
	struct fperf_error err = {0};

	dirs[0] = symbols;
	cr_assert_eq(fperf_symbolizer__new(fixture->session, &options, &symbolizer, &err), 0, "%s", err.text);
	return symbolizer;
}

const char *fixture_names(struct fperf_symbolizer *symbolizer, uint32_t module, uint64_t offset,
			  enum fperf_frame_kind kind)
{
	static char text[1 << 16];
	struct fperf_stack_frame frame = {.module = module, .kind = (uint8_t)kind, .offset = offset};
	const struct fperf_symbol *const *symbols;
	size_t count = fperf_symbolizer__resolve(symbolizer, &frame, 0, &symbols), at = 0;

	cr_assert(count);
	for (size_t i = 0; i < count && at < sizeof(text); i++) {
		const char *slash = strrchr(symbols[i]->file, '/');

		cr_assert_eq(symbols[i]->inlined, i + 1 < count);
		cr_assert(symbols[i]->function_id);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %s:%u", i ? " < " : "",
				       symbols[i]->function, slash ? slash + 1 : symbols[i]->file,
				       symbols[i]->line);
	}
	return text;
}

const char *fixture_function(struct fperf_symbolizer *symbolizer, uint32_t module, uint64_t offset)
{
	struct fperf_stack_frame frame = {.module = module, .kind = FPERF_FRAME_PC, .offset = offset};
	const struct fperf_symbol *const *symbols;
	size_t count = fperf_symbolizer__resolve(symbolizer, &frame, 0, &symbols);

	return symbols[count - 1]->function;
}

const char *fixture_one(const char *path, const char *identity_file, uint64_t offset, const char *symbols,
			bool system)
{
	static char text[1 << 16];
	struct fixture_session fixture = fixture_session_new();
	uint32_t module = fixture_module(&fixture, path, identity_file);
	struct fperf_symbolizer *symbolizer;

	fixture_seal(&fixture);
	symbolizer = fixture_symbolizer(&fixture, symbols, system);
	snprintf(text, sizeof(text), "%s", fixture_names(symbolizer, module, offset, FPERF_FRAME_PC));
	fperf_symbolizer__free(symbolizer);
	fperf_session__free(fixture.session);
	return text;
}
