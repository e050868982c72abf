#include "aggregate/module_table.h"

#include "aggregate/stack_table.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASHED_BYTES 4096 /* at each end of a file without a build ID */
#define KEY_LIMIT    (64u << 10)
#define DELETED	     " (deleted)"

struct fperf_module_table {
	struct fperf_writer *writer;
	struct fperf_strtab *keys; /* identities as bytes */
	struct fperf_map by_key;   /* id in `keys` -> pointer */
	struct fperf_map by_id;	   /* pointers */
	uint32_t last_id;
	struct fperf_module **modules;
	size_t count, capacity;
	struct fperf_buf key; /* scratch */
};

/* What is known of a mapping before its module is. */
struct candidate {
	struct fperf_rec_module record;
	const char *path;
	size_t path_size; /* without " (deleted)" */
	int fd;		  /* the mapped file, -1: cannot be opened */
	struct stat stat;
	struct fperf_elf *elf;
};

struct fperf_module_table *fperf_module_table__new(struct fperf_writer *writer)
{
	struct fperf_module_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->writer = writer;
	fperf_buf__init(&table->key, KEY_LIMIT);
	table->keys = fperf_strtab__new();
	if (!table->keys) {
		free(table);
		return NULL;
	}
	return table;
}

void fperf_module_table__set_writer(struct fperf_module_table *table, struct fperf_writer *writer)
{
	table->writer = writer;
}

static void module_free(struct fperf_module *module)
{
	free(module->path);
	free(module->segments);
	free(module);
}

void fperf_module_table__free(struct fperf_module_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->count; i++)
		module_free(table->modules[i]);
	free(table->modules);
	fperf_map__free(&table->by_key);
	fperf_map__free(&table->by_id);
	fperf_strtab__free(table->keys);
	fperf_buf__free(&table->key);
	free(table);
}

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* From the names that the kernel gives in /proc/PID/maps and PERF_RECORD_MMAP2. Shared memory without a file
 * is what JIT compilers write to through a second mapping. */
static uint8_t path_kind(const char *path)
{
	static const char *const anonymous[] = {"//anon",    "[anon",	       "[heap]",       "[stack",
						"/dev/zero", "/anon_hugepage", "/dev/ashmem/", "/SYSV"};

	if (!*path)
		return FPERF_MODULE_ANON;
	for (size_t i = 0; i < sizeof(anonymous) / sizeof(*anonymous); i++)
		if (starts_with(path, anonymous[i]))
			return FPERF_MODULE_ANON;
	if (strcmp(path, "[vdso]") == 0)
		return FPERF_MODULE_VDSO;
	return *path == '[' ? FPERF_MODULE_SPECIAL : FPERF_MODULE_ELF;
}

/* A file may really be named "game (deleted)": then the path, taken as it is, leads to the mapped file. */
static bool path_is_real(const struct candidate *candidate, const struct fperf_aggregate_mapping *mapping)
{
	char in_target[4096 + 64];
	struct stat found;
	uint64_t inode = candidate->fd >= 0 ? candidate->stat.st_ino : mapping->inode;
	int size = snprintf(in_target, sizeof(in_target), "/proc/%u/root%s", mapping->pid, mapping->path);

	if (candidate->fd >= 0 && candidate->stat.st_nlink == 0)
		return false;
	if (size < 0 || (size_t)size >= sizeof(in_target) || !inode || stat(in_target, &found))
		return false;
	/* Device numbers are not compared: overlay file systems show different ones for one file. */
	return found.st_ino == inode;
}

static void candidate_path(struct candidate *candidate, const struct fperf_aggregate_mapping *mapping)
{
	size_t suffix = strlen(DELETED);

	candidate->path = *mapping->path && strcmp(mapping->path, "//anon") != 0 ? mapping->path : "[anon]";
	candidate->path_size = strlen(candidate->path);
	if (candidate->path_size <= suffix || candidate->record.kind == FPERF_MODULE_SPECIAL ||
	    strcmp(candidate->path + candidate->path_size - suffix, DELETED) != 0)
		return;
	if (path_is_real(candidate, mapping))
		return;
	candidate->path_size -= suffix;
	candidate->record.deleted = 1;
}

static void candidate_open(struct candidate *candidate, const struct fperf_aggregate_mapping *mapping)
{
	candidate->fd = -1;
	if (candidate->record.kind != FPERF_MODULE_ELF || !mapping->image_path)
		return;
	candidate->fd = open(mapping->image_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (candidate->fd < 0)
		return;
	if (fstat(candidate->fd, &candidate->stat) || !S_ISREG(candidate->stat.st_mode)) {
		close(candidate->fd);
		candidate->fd = -1;
		return;
	}
	candidate->record.file_size = (uint64_t)candidate->stat.st_size;
}

static uint64_t content_hash(int fd, uint64_t file_size)
{
	uint8_t bytes[2 * HASHED_BYTES];
	ssize_t head = pread(fd, bytes, HASHED_BYTES, 0), tail = 0;

	if (head < 0)
		return 0;
	if (file_size > HASHED_BYTES)
		tail = pread(fd, bytes + head, HASHED_BYTES, (off_t)(file_size - HASHED_BYTES));
	return fperf_fnv1a(bytes, (size_t)head + (tail > 0 ? (size_t)tail : 0));
}

/* Reads the file itself: only when the module is not known by what is cheaper to get. */
static void candidate_read(struct candidate *candidate)
{
	struct fperf_error ignored = {0}; /* not an ELF file, damaged, unreadable: a module all the same */

	if (candidate->fd < 0)
		return;
	if (fperf_elf__open_fd(candidate->fd, candidate->path, &candidate->elf, &ignored))
		candidate->elf = NULL;
	if (candidate->elf && !candidate->record.build_id_size)
		candidate->record.build_id_size =
			(uint8_t)fperf_elf__build_id(candidate->elf, candidate->record.build_id);
	/* A memory file holds a library opened from memory, or else the output of a JIT compiler. */
	if (!candidate->elf && starts_with(candidate->path, "/memfd:"))
		candidate->record.kind = FPERF_MODULE_ANON;
	else if (!candidate->record.build_id_size)
		candidate->record.content_hash = content_hash(candidate->fd, candidate->record.file_size);
}

static void candidate_close(struct candidate *candidate)
{
	fperf_elf__close(candidate->elf);
	if (candidate->fd >= 0)
		close(candidate->fd);
}

static uint32_t key_take(struct fperf_module_table *table)
{
	return table->key.failed ? 0 : fperf_strtab__intern(table->keys, table->key.data, table->key.size);
}

/* The same file was seen before and did not change since: there is no need to read it again. */
static uint32_t key_by_stat(struct fperf_module_table *table, const struct candidate *candidate)
{
	const struct stat *stat = &candidate->stat;

	fperf_buf__clear(&table->key);
	fperf_buf__u8(&table->key, 'S');
	fperf_buf__u64(&table->key, stat->st_dev);
	fperf_buf__u64(&table->key, stat->st_ino);
	fperf_buf__u64(&table->key, (uint64_t)stat->st_size);
	fperf_buf__append(&table->key, &stat->st_mtim, sizeof(stat->st_mtim));
	fperf_buf__append(&table->key, &stat->st_ctim, sizeof(stat->st_ctim));
	return key_take(table);
}

static uint32_t key_by_build_id(struct fperf_module_table *table, const struct fperf_rec_module *record)
{
	fperf_buf__clear(&table->key);
	fperf_buf__u8(&table->key, 'B');
	fperf_buf__append(&table->key, record->build_id, record->build_id_size);
	return key_take(table);
}

/* Without a build ID: content, else name and where it was mapped from. */
static uint32_t key_by_rest(struct fperf_module_table *table, const struct candidate *candidate,
			    const struct fperf_aggregate_mapping *mapping)
{
	const struct fperf_rec_module *record = &candidate->record;

	fperf_buf__clear(&table->key);
	if (record->content_hash) {
		fperf_buf__u8(&table->key, 'C');
		fperf_buf__u64(&table->key, record->content_hash);
		fperf_buf__u64(&table->key, record->file_size);
		return key_take(table);
	}
	fperf_buf__u8(&table->key, 'N');
	fperf_buf__u8(&table->key, record->kind);
	if (record->kind == FPERF_MODULE_ELF) {
		fperf_buf__u64(&table->key, mapping->device);
		fperf_buf__u64(&table->key, mapping->inode);
		fperf_buf__u64(&table->key, mapping->inode_generation);
	}
	fperf_buf__append(&table->key, candidate->path, candidate->path_size);
	return key_take(table);
}

static struct fperf_module *module_by_key(const struct fperf_module_table *table, uint32_t key)
{
	uint64_t at;

	return key && fperf_map__get(&table->by_key, key, &at) ? (struct fperf_module *)(uintptr_t)at : NULL;
}

static int segments_copy(struct fperf_module *module, const struct fperf_elf *elf)
{
	size_t count, capacity = 0;
	const struct fperf_elf_segment *segments = fperf_elf__segments(elf, &count);

	for (size_t i = 0; i < count; i++) {
		struct fperf_module_segment *segment;

		segment = fperf_vec__push(&module->segments, &module->segment_count, &capacity);
		if (!segment)
			return -ENOMEM;
		segment->file_offset = segments[i].file_offset;
		segment->file_size = segments[i].file_size;
		segment->address = segments[i].address;
		segment->memory_size = segments[i].memory_size;
		segment->executable = segments[i].flags & PF_X;
	}
	return 0;
}

static int module_write(struct fperf_module_table *table, struct fperf_module *module,
			struct fperf_error *err)
{
	module->record.path = fperf_writer__text(table->writer, module->path);
	module->written = true;
	return fperf_writer__add(table->writer, FPERF_RECORD_MODULE, &module->record, err);
}

static struct fperf_module *module_new(struct fperf_module_table *table, struct candidate *candidate,
				       struct fperf_error *err)
{
	struct fperf_module *module = calloc(1, sizeof(*module)), **place;

	if (!module)
		goto no_memory;
	module->id = ++table->last_id;
	module->kind = candidate->record.kind;
	module->path = strndup(candidate->path, candidate->path_size);
	if (!module->path || (candidate->elf && segments_copy(module, candidate->elf)))
		goto no_memory;
	candidate->record.id = module->id;
	module->record = candidate->record;
	if (module_write(table, module, err))
		goto fail;
	place = fperf_vec__push(&table->modules, &table->count, &table->capacity);
	if (!place || fperf_map__set(&table->by_id, module->id, (uintptr_t)module))
		goto no_memory;
	*place = module;
	return module;

no_memory:
	fperf_error__no_memory(err, "a module");
fail:
	if (module)
		module_free(module);
	return NULL;
}

/* Remembers under which key a module is found again. Without memory it will only be looked for once more. */
static void key_remember(struct fperf_module_table *table, uint32_t key, const struct fperf_module *module)
{
	if (key)
		fperf_map__set(&table->by_key, key, (uintptr_t)module);
}

const struct fperf_module *fperf_module_table__add(struct fperf_module_table *table,
						   const struct fperf_aggregate_mapping *mapping,
						   struct fperf_error *err)
{
	struct candidate candidate = {.record.kind = path_kind(mapping->path), .path = mapping->path};
	struct fperf_module *module = NULL;
	uint32_t by_stat = 0, key = 0;

	for (size_t i = 0; i < mapping->build_id_size && i < FPERF_BUILD_ID_MAX; i++)
		if (mapping->build_id[i]) /* all zeros is none */
			candidate.record.build_id_size = mapping->build_id_size;
	if (candidate.record.build_id_size > FPERF_BUILD_ID_MAX)
		candidate.record.build_id_size = FPERF_BUILD_ID_MAX;
	memcpy(candidate.record.build_id, mapping->build_id, candidate.record.build_id_size);
	candidate.fd = -1;
	if (candidate.record.build_id_size) {
		key = key_by_build_id(table, &candidate.record);
		module = module_by_key(table, key);
	}
	if (module)
		return module;
	candidate_open(&candidate, mapping);
	if (candidate.fd >= 0 && !candidate.record.build_id_size) {
		by_stat = key_by_stat(table, &candidate);
		module = module_by_key(table, by_stat);
	}
	if (!module) {
		candidate_read(&candidate);
		candidate_path(&candidate, mapping);
		key = candidate.record.build_id_size ? key_by_build_id(table, &candidate.record)
						     : key_by_rest(table, &candidate, mapping);
		module = module_by_key(table, key);
	}
	if (!module)
		module = module_new(table, &candidate, err);
	if (module) {
		key_remember(table, key, module);
		key_remember(table, by_stat, module);
	}
	candidate_close(&candidate);
	return module;
}

/* The build ID of the running kernel: ELF notes, native endianness, as gABI chapter 5 describes them. */
static void kernel_build_id(struct fperf_rec_module *record)
{
	uint8_t notes[4096];
	int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, notes, sizeof(notes));
	size_t at = 0, end = size > 0 ? (size_t)size : 0;

	if (fd >= 0)
		close(fd);
	while (end - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name_size, desc_size;

		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		name_size = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		desc_size = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name_size > end - at || desc_size > end - at - name_size)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(notes + at, "GNU", 4) &&
		    note.n_descsz <= FPERF_BUILD_ID_MAX) {
			record->build_id_size = (uint8_t)note.n_descsz;
			memcpy(record->build_id, notes + at + name_size, note.n_descsz);
			return;
		}
		at += name_size + desc_size;
	}
}

const struct fperf_module *fperf_module_table__add_kernel(struct fperf_module_table *table, uint64_t base,
							  struct fperf_error *err)
{
	struct candidate candidate = {
		.record = {.kind = FPERF_MODULE_KERNEL, .base = base},
		.path = "[kernel]",
		.path_size = strlen("[kernel]"),
		.fd = -1,
	};

	kernel_build_id(&candidate.record);
	return module_new(table, &candidate, err);
}

/* Load bias from one segment, then the place of the executable ones. Mappings begin and end at pages,
 * segments need not. */
bool fperf_module__holds(const struct fperf_module *module, uint64_t known_start, uint64_t known_offset,
			 bool known_executable, uint64_t start, uint64_t end, uint64_t *bias)
{
	const struct fperf_module_segment *segments = module->segments;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), load_bias = 0;
	bool found = false;

	for (size_t i = 0; i < module->segment_count && !found; i++) {
		uint64_t begin = segments[i].file_offset & ~(page - 1);
		uint64_t size = segments[i].file_offset - begin + segments[i].file_size;

		if (segments[i].executable != known_executable || known_offset - begin >= size)
			continue;
		load_bias = known_start - known_offset + segments[i].file_offset - segments[i].address;
		found = true;
	}
	for (size_t i = 0; i < module->segment_count && found; i++) {
		uint64_t first = load_bias + segments[i].address;
		uint64_t last = (first + segments[i].memory_size + page - 1) & ~(page - 1);

		first &= ~(page - 1);
		if (!segments[i].executable || start < first || end > last || start >= last)
			continue;
		*bias = load_bias + segments[i].address - segments[i].file_offset;
		return true;
	}
	return false;
}

struct fperf_module *fperf_module_table__get(const struct fperf_module_table *table, uint32_t id)
{
	uint64_t at;

	return fperf_map__get(&table->by_id, id, &at) ? (struct fperf_module *)(uintptr_t)at : NULL;
}

int fperf_module_table__mention(struct fperf_module_table *table, uint32_t id, struct fperf_error *err)
{
	struct fperf_module *module = fperf_module_table__get(table, id);

	return module && !module->written ? module_write(table, module, err) : 0;
}

/* The keys under which wanted modules are found, and nothing else. */
static int keys_renew(const struct fperf_module_table *table, struct fperf_strtab *keys,
		      struct fperf_map *by_key, struct fperf_map *by_id)
{
	uint64_t key, at;
	size_t cursor = 0;

	while (fperf_map__next(&table->by_key, &cursor, &key, &at)) {
		const struct fperf_module *module = (const struct fperf_module *)(uintptr_t)at;
		size_t size;
		const char *bytes = fperf_strtab__get(table->keys, (uint32_t)key, &size);
		uint32_t id = module->wanted ? fperf_strtab__intern(keys, bytes, size) : 0;

		if (module->wanted && (!id || fperf_map__set(by_key, id, at)))
			return -ENOMEM;
	}
	for (size_t i = 0; i < table->count; i++)
		if (table->modules[i]->wanted &&
		    fperf_map__set(by_id, table->modules[i]->id, (uintptr_t)table->modules[i]))
			return -ENOMEM;
	return 0;
}

int fperf_module_table__epoch(struct fperf_module_table *table)
{
	struct fperf_map by_key = {0}, by_id = {0};
	struct fperf_strtab *keys = fperf_strtab__new();
	size_t kept = 0;

	if (!keys || keys_renew(table, keys, &by_key, &by_id)) {
		fperf_strtab__free(keys);
		fperf_map__free(&by_key);
		fperf_map__free(&by_id);
		return -ENOMEM;
	}
	fperf_strtab__free(table->keys);
	fperf_map__free(&table->by_key);
	fperf_map__free(&table->by_id);
	table->keys = keys;
	table->by_key = by_key;
	table->by_id = by_id;
	for (size_t i = 0; i < table->count; i++) {
		struct fperf_module *module = table->modules[i];

		if (!module->wanted) {
			module_free(module);
			continue;
		}
		module->wanted = module->written = false;
		table->modules[kept++] = module;
	}
	table->count = kept;
	return 0;
}

uint32_t fperf_module_table__count(const struct fperf_module_table *table)
{
	return (uint32_t)table->count;
}
