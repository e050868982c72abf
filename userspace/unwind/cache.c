#include "unwind/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_MAGIC    0x77757066u /* "fpuw" */
#define CACHE_LIMIT    (256ull << 20)
#define CACHE_ROWS_MIN 2000 /* smaller tables are built as fast as they are read */
#define CACHE_ROWS_MAX (64u << 20)
#define SUFFIX	       ".rows"

struct fperf_unwind_cache_dir {
	int fd;
};

struct cache_header {
	uint32_t magic, version;
	uint32_t machine, build_id_size;
	uint8_t build_id[FPERF_BUILD_ID_MAX];
	uint64_t source_hash; /* of the .eh_frame that the rows come from: a build ID can be forged */
	uint64_t count, fdes, damaged, unsupported;
	uint64_t rows_hash;
};

/* FNV-1a over 8-byte words, in four lanes; the tail byte by byte. */
static uint64_t words_hash(const uint8_t *bytes, size_t size, uint64_t seed)
{
	const uint64_t prime = 0x100000001b3ull;
	uint64_t lanes[4] = {seed ^ 0xcbf29ce484222325ull, seed + 1, seed + 2, seed + 3};
	uint64_t hash, word;
	size_t at = 0;

	for (; at + 32 <= size; at += 32) {
		for (size_t lane = 0; lane < 4; lane++) {
			memcpy(&word, bytes + at + lane * 8, 8);
			lanes[lane] = (lanes[lane] ^ word) * prime;
			lanes[lane] ^= lanes[lane] >> 32;
		}
	}
	hash = lanes[0] ^ size;
	for (size_t lane = 1; lane < 4; lane++)
		hash = (hash ^ lanes[lane]) * prime;
	for (; at < size; at++)
		hash = (hash ^ bytes[at]) * prime;
	return hash;
}

/* Is this ours alone? */
static bool is_private(const struct stat *stat)
{
	return stat->st_uid == geteuid() && !(stat->st_mode & (S_IWGRP | S_IWOTH));
}

static bool default_path(char *path, size_t size)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int length;

	if (geteuid() == 0)
		length = snprintf(path, size, "/var/cache/frameperf/unwind");
	else if (base && base[0] == '/')
		length = snprintf(path, size, "%s/frameperf/unwind", base);
	else if (home && home[0] == '/')
		length = snprintf(path, size, "%s/.cache/frameperf/unwind", home);
	else
		return false;
	return length > 0 && (size_t)length < size;
}

/* mkdir -p, private where we make something. */
static void directories_make(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	mkdir(path, 0755);
}

struct cache_file {
	char name[96];
	uint64_t size;
	int64_t used;
};

static int file_compare(const void *a, const void *b)
{
	const struct cache_file *left = a, *right = b;

	return (left->used > right->used) - (left->used < right->used);
}

/* Removes the files that were written longest ago until the rest fits. */
static void cache_prune(int dir_fd, uint64_t limit)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct cache_file *files = calloc(4096, sizeof(*files));
	struct dirent *entry;
	uint64_t total = 0;
	size_t count = 0;
	struct stat stat;

	while (dir && files && count < 4096 && (entry = readdir(dir))) {
		size_t length = strlen(entry->d_name);

		if (length >= sizeof(files->name) || length < sizeof(SUFFIX) ||
		    strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX) != 0 ||
		    fstatat(dir_fd, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW))
			continue;
		memcpy(files[count].name, entry->d_name, length + 1);
		files[count].size = (uint64_t)stat.st_size;
		files[count].used = stat.st_mtime;
		total += files[count++].size;
	}
	if (total > limit) {
		qsort(files, count, sizeof(*files), file_compare);
		for (size_t i = 0; i < count && total > limit; i++) {
			unlinkat(dir_fd, files[i].name, 0);
			total -= files[i].size;
		}
	}
	free(files);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

int fperf_unwind_cache__open(const char *path, uint64_t limit, struct fperf_unwind_cache_dir **cache,
			     struct fperf_error *err)
{
	struct fperf_unwind_cache_dir *opened;
	char chosen[4096];
	struct stat stat;
	int fd;

	if (path && strlen(path) < sizeof(chosen))
		strcpy(chosen, path);
	else if (path || !default_path(chosen, sizeof(chosen)))
		return fperf_error__set(err, -ENOENT, "no place for a cache of unwind tables");
	directories_make(chosen);
	fd = open(chosen, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fperf_error__set_errno(err, -errno, "cache of unwind tables %s", chosen);
	if (fstat(fd, &stat) || !is_private(&stat)) {
		close(fd);
		return fperf_error__set(err, -EPERM,
					"cache of unwind tables %s: not used, because others may write there",
					chosen);
	}
	opened = calloc(1, sizeof(*opened));
	if (!opened) {
		close(fd);
		return fperf_error__no_memory(err, "the cache of unwind tables");
	}
	opened->fd = fd;
	cache_prune(fd, limit ? limit : CACHE_LIMIT);
	*cache = opened;
	return 0;
}

void fperf_unwind_cache__close(struct fperf_unwind_cache_dir *cache)
{
	if (!cache)
		return;
	close(cache->fd);
	free(cache);
}

/* What must agree for a cached table to be this file's. */
static bool header_expect(const struct fperf_elf *elf, struct cache_header *header)
{
	struct fperf_elf_section eh_frame;

	memset(header, 0, sizeof(*header));
	header->magic = CACHE_MAGIC;
	header->version = FPERF_UNWIND_VERSION;
	header->machine = fperf_elf__machine(elf);
	header->build_id_size = (uint32_t)fperf_elf__build_id(elf, header->build_id);
	if (!header->build_id_size || !fperf_elf__eh_frame(elf, &eh_frame, NULL))
		return false;
	header->source_hash = words_hash(eh_frame.data, eh_frame.size, eh_frame.address);
	return true;
}

static void file_name(const struct cache_header *header, char name[96])
{
	size_t at = 0;

	for (uint32_t i = 0; i < header->build_id_size; i++)
		at += (size_t)snprintf(name + at, 96 - at, "%02x", header->build_id[i]);
	snprintf(name + at, 96 - at, SUFFIX);
}

static bool read_all(int fd, void *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = read(fd, (char *)to + done, size - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

static bool write_all(int fd, const void *from, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t put = write(fd, (const char *)from + done, size - done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		done += (size_t)put;
	}
	return true;
}

static bool rows_valid(const struct fperf_unwind_table *table)
{
	for (size_t i = 1; i < table->count; i++) {
		if (table->rows[i].offset <= table->rows[i - 1].offset)
			return false;
	}
	for (size_t i = 0; i < table->count; i++) {
		if ((table->rows[i].rule & 0xf) > FPERF_RULE_UNSUPPORTED)
			return false;
	}
	return table->rows[table->count - 1].rule == FPERF_RULE_NONE;
}

static bool table_read(int fd, const struct cache_header *expected, struct fperf_unwind_table *table)
{
	struct cache_header header;
	struct stat stat;

	if (fstat(fd, &stat) || !S_ISREG(stat.st_mode) || !is_private(&stat) ||
	    !read_all(fd, &header, sizeof(header)))
		return false;
	if (memcmp(&header, expected, offsetof(struct cache_header, count)) != 0 || !header.count ||
	    header.count > CACHE_ROWS_MAX ||
	    (uint64_t)stat.st_size != sizeof(header) + header.count * sizeof(*table->rows))
		return false;
	table->rows = malloc(header.count * sizeof(*table->rows));
	if (!table->rows)
		return false;
	table->count = table->capacity = header.count;
	table->fdes = header.fdes;
	table->damaged = header.damaged;
	table->unsupported = header.unsupported;
	return read_all(fd, table->rows, table->count * sizeof(*table->rows)) &&
	       words_hash((const uint8_t *)table->rows, table->count * sizeof(*table->rows), 0) ==
		       header.rows_hash &&
	       rows_valid(table);
}

bool fperf_unwind_cache__load(const struct fperf_unwind_cache_dir *cache, const struct fperf_elf *elf,
			      struct fperf_unwind_table *table)
{
	struct cache_header expected;
	char name[96];
	bool ok;
	int fd;

	*table = (struct fperf_unwind_table){0};
	if (!cache || !header_expect(elf, &expected))
		return false;
	file_name(&expected, name);
	fd = openat(cache->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	ok = table_read(fd, &expected, table);
	close(fd);
	if (!ok)
		fperf_unwind_table__free(table);
	return ok;
}

void fperf_unwind_cache__store(const struct fperf_unwind_cache_dir *cache, const struct fperf_elf *elf,
			       const struct fperf_unwind_table *table)
{
	size_t size = table->count * sizeof(*table->rows);
	struct cache_header header;
	char name[96], temporary[128];
	bool ok;
	int fd;

	if (!cache || table->count < CACHE_ROWS_MIN || !header_expect(elf, &header))
		return;
	header.count = table->count;
	header.fdes = table->fdes;
	header.damaged = table->damaged;
	header.unsupported = table->unsupported;
	header.rows_hash = words_hash((const uint8_t *)table->rows, size, 0);
	file_name(&header, name);
	snprintf(temporary, sizeof(temporary), ".%s.%ld", name, (long)getpid());
	fd = openat(cache->fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	ok = write_all(fd, &header, sizeof(header)) && write_all(fd, table->rows, size);
	close(fd);
	if (!ok || renameat(cache->fd, temporary, cache->fd, name))
		unlinkat(cache->fd, temporary, 0);
}
