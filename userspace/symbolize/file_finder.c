#include "symbolize/file_finder.h"

#include "base/buf.h"
#include "symbolize/debug_link.h"
#include "symbolize/name_index.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_DEBUG	"/usr/lib/debug"
#define HASHED_BYTES	4096
#define NAMED_FILES_MAX 64 /* files of a fitting name that are opened for their build ID */

struct fperf_file_finder {
	const char *const *dirs;
	size_t dir_count;
	bool system_files;
	struct fperf_name_index *index; /* of the symbol directories; made when first needed */
};

struct fperf_file_finder *fperf_file_finder__new(const char *const *symbol_dirs, size_t symbol_dir_count,
						 bool system_files)
{
	struct fperf_file_finder *finder = calloc(1, sizeof(*finder));

	if (!finder)
		return NULL;
	finder->dirs = symbol_dirs;
	finder->dir_count = symbol_dir_count;
	finder->system_files = system_files;
	return finder;
}

void fperf_file_finder__free(struct fperf_file_finder *finder)
{
	if (!finder)
		return;
	fperf_name_index__free(finder->index);
	free(finder);
}

void fperf_found_file__close(struct fperf_found_file *file)
{
	fperf_elf__close(file->elf);
	free(file->path);
	*file = (struct fperf_found_file){0};
}

bool fperf_elf_has_dwarf(const struct fperf_elf *elf)
{
	return fperf_elf__has_section(elf, ".debug_info") || fperf_elf__has_section(elf, ".zdebug_info");
}

bool fperf_elf_is_whole(const struct fperf_elf *elf)
{
	size_t count;
	const struct fperf_elf_segment *segments = fperf_elf__segments(elf, &count);
	bool code = false;

	for (size_t i = 0; i < count; i++)
		code = code || (segments[i].flags & PF_X && segments[i].file_size);
	/* eu-strip leaves the program headers of debug files as they were in the module. */
	return code && (fperf_elf__has_section(elf, ".text") || !fperf_elf__has_section(elf, ".symtab"));
}

static uint64_t hash_more(uint64_t hash, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return hash;
}

/* FNV-1a over the first and last 4096 bytes, as the recorder computes it. */
static bool content_equal(int fd, const struct fperf_identity *identity, uint64_t size)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	uint8_t bytes[HASHED_BYTES];
	ssize_t got;

	if (!identity->content_hash || size != identity->file_size)
		return false;
	got = pread(fd, bytes, sizeof(bytes), 0);
	if (got > 0)
		hash = hash_more(hash, bytes, (size_t)got);
	if (size > HASHED_BYTES) {
		got = pread(fd, bytes, sizeof(bytes), (off_t)(size - HASHED_BYTES));
		if (got > 0)
			hash = hash_more(hash, bytes, (size_t)got);
	}
	return hash == identity->content_hash;
}

/* Opens the file at `path` if it is of that build. *other is set when a file is there that is not. */
static struct fperf_elf *open_same_build(const char *path, const struct fperf_identity *identity, bool *other)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct fperf_error ignored = {0}; /* what cannot be read is not the file we look for */
	uint8_t build_id[FPERF_BUILD_ID_MAX];
	struct fperf_elf *elf = NULL;
	struct stat stat;
	bool same = false;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &stat) && !fperf_elf__open_fd(fd, path, &elf, &ignored)) {
		size_t size = fperf_elf__build_id(elf, build_id);

		if (identity->build_id_size)
			same = size == identity->build_id_size && !memcmp(build_id, identity->build_id, size);
		else
			same = content_equal(fd, identity, (uint64_t)stat.st_size);
	}
	close(fd);
	if (!same) {
		fperf_elf__close(elf);
		*other = true;
		return NULL;
	}
	return elf;
}

enum want { WANT_WHOLE, WANT_DEBUG };

static bool is_wanted(const struct fperf_elf *elf, enum want want)
{
	if (want == WANT_WHOLE)
		return fperf_elf_is_whole(elf);
	return fperf_elf_has_dwarf(elf) || fperf_elf__has_section(elf, ".symtab");
}

/* Tries one path, printf-like; true when it is what is wanted and now in *found. */
static bool try_path(struct fperf_found_file *found, const struct fperf_identity *identity, enum want want,
		     const char *format, ...) __attribute__((format(printf, 4, 5)));

static bool try_path(struct fperf_found_file *found, const struct fperf_identity *identity, enum want want,
		     const char *format, ...)
{
	char path[PATH_MAX];
	bool other = false;
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (size < 0 || (size_t)size >= sizeof(path))
		return false;
	found->elf = open_same_build(path, identity, &other);
	if (found->elf && is_wanted(found->elf, want))
		found->path = strdup(path);
	if (!found->path)
		fperf_found_file__close(found);
	return found->elf != NULL;
}

struct hex_id {
	char first[3], rest[2 * FPERF_BUILD_ID_MAX], whole[2 * FPERF_BUILD_ID_MAX + 1];
};

static bool hex_id_make(const struct fperf_identity *identity, struct hex_id *id)
{
	if (identity->build_id_size < 2)
		return false;
	for (size_t i = 0; i < identity->build_id_size; i++)
		snprintf(id->whole + 2 * i, 3, "%02x", identity->build_id[i]);
	memcpy(id->first, id->whole, 2);
	id->first[2] = '\0';
	strcpy(id->rest, id->whole + 2);
	return true;
}

/* The layouts of build-ID stores: .build-id (also inside a copied file system), debuginfod's cache, flat. */
static bool find_by_id(struct fperf_found_file *found, const struct fperf_identity *identity, enum want want,
		       const char *dir)
{
	static const char *const stores[] = {"", "/.build-id", "/usr/lib/debug/.build-id"};
	struct hex_id id;

	if (!hex_id_make(identity, &id))
		return false;
	for (size_t i = 0; i < sizeof(stores) / sizeof(*stores); i++)
		if (try_path(found, identity, want, "%s%s/%s/%s.debug", dir, stores[i], id.first, id.rest) ||
		    try_path(found, identity, want, "%s%s/%s/%s", dir, stores[i], id.first, id.rest))
			return true;
	return try_path(found, identity, want, "%s/%s/debuginfo", dir, id.whole) ||
	       try_path(found, identity, want, "%s/%s/executable", dir, id.whole) ||
	       try_path(found, identity, want, "%s/%s.debug", dir, id.whole) ||
	       try_path(found, identity, want, "%s/%s", dir, id.whole);
}

static bool find_in_debuginfod_cache(struct fperf_found_file *found, const struct fperf_identity *identity,
				     enum want want)
{
	const char *cache = getenv("DEBUGINFOD_CACHE_PATH"), *home = getenv("HOME");
	char path[PATH_MAX];

	if (!cache && home && snprintf(path, sizeof(path), "%s/.cache/debuginfod_client", home) < PATH_MAX)
		cache = path;
	return cache && find_by_id(found, identity, want, cache);
}

/* "libgame.so.1.2" and "libgame.so.debug" have the stem "libgame" in common; "game.x86_64" and "game.dbg"
 * have "game". */
static size_t stem_size(const char *name)
{
	const char *so = strstr(name, ".so"), *dot = strrchr(name, '.');

	if (so && so > name)
		return (size_t)(so - name);
	return dot && dot > name ? (size_t)(dot - name) : strlen(name);
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const struct fperf_name_index *index_get(struct fperf_file_finder *finder)
{
	if (!finder->index && finder->dir_count)
		finder->index = fperf_name_index__new(finder->dirs, finder->dir_count);
	return finder->index;
}

/* A file below the symbol directories with a fitting name. */
static bool find_by_name(struct fperf_file_finder *finder, struct fperf_found_file *found,
			 const struct fperf_identity *identity, enum want want, const char *path)
{
	const char *name = file_name(path);
	size_t stem = stem_size(name), tried = 0, cursor = 0;
	const struct fperf_name_index *index;
	const char *candidate;

	if (!stem)
		return false;
	index = index_get(finder);
	while (index && tried++ < NAMED_FILES_MAX &&
	       (candidate = fperf_name_index__next(index, name, stem, &cursor)))
		if (try_path(found, identity, want, "%s", candidate))
			return true;
	return false;
}

/* Paths come from the session: none may lead out of the directories that are searched. */
static bool path_is_safe(const char *path)
{
	for (const char *at = path; *at;) {
		size_t size = strcspn(at, "/");

		if (size == 2 && at[0] == '.' && at[1] == '.')
			return false;
		at += size;
		at += strspn(at, "/");
	}
	return *path != '\0';
}

struct fperf_found_file fperf_file_finder__module(struct fperf_file_finder *finder,
						  const struct fperf_identity *identity, const char *root,
						  const char *path, bool *other_build)
{
	struct fperf_found_file found = {0};
	char whole[PATH_MAX];

	if (!path_is_safe(path))
		return found;
	if (finder->system_files && *path == '/' &&
	    snprintf(whole, sizeof(whole), "%s%s", root, path) < (int)sizeof(whole)) {
		found.elf = open_same_build(whole, identity, other_build);
		if (found.elf)
			found.path = strdup(whole);
		if (found.path)
			return found;
		fperf_found_file__close(&found);
	}
	for (size_t i = 0; i < finder->dir_count; i++)
		if (find_by_id(&found, identity, WANT_WHOLE, finder->dirs[i]) ||
		    try_path(&found, identity, WANT_WHOLE, "%s/%s", finder->dirs[i], path))
			return found;
	if (find_by_name(finder, &found, identity, WANT_WHOLE, path))
		return found;
	if (finder->system_files)
		find_in_debuginfod_cache(&found, identity, WANT_WHOLE);
	return found;
}

/* One place where .gnu_debuglink may lead to; *found is filled in when the file is the right one. */
static bool try_link(struct fperf_found_file *found, const struct fperf_identity *identity,
		     const struct fperf_debug_link *link, const char *prefix, const char *dir,
		     const char *below)
{
	uint8_t build_id[FPERF_BUILD_ID_MAX];
	char path[PATH_MAX];
	size_t size;

	if (snprintf(path, sizeof(path), "%s%s%s/%s", prefix, dir, below, link->name) >= (int)sizeof(path))
		return false;
	found->elf = fperf_debug_link__open(link, path);
	if (!found->elf)
		return false;
	size = fperf_elf__build_id(found->elf, build_id);
	if (!identity->build_id_size || !size ||
	    (size == identity->build_id_size && !memcmp(build_id, identity->build_id, size)))
		found->path = strdup(path);
	if (!found->path)
		fperf_found_file__close(found);
	return found->elf != NULL;
}

static bool find_by_link(struct fperf_file_finder *finder, struct fperf_found_file *found,
			 const struct fperf_identity *identity, const char *path,
			 const struct fperf_found_file *module)
{
	struct fperf_debug_link link;
	char dirs[2][PATH_MAX] = {"", ""}; /* of the file that was found, and as the target saw it */
	const char *const paths[2] = {module->path, path};
	size_t cursor = 0;
	const char *named;

	if (!module->elf || !fperf_debug_link__read(module->elf, module->path, &link))
		return false;
	for (size_t i = 0; i < 2; i++)
		snprintf(dirs[i], sizeof(dirs[i]), "%.*s", (int)(file_name(paths[i]) - paths[i]), paths[i]);
	for (size_t i = 0; i < finder->dir_count; i++)
		if (try_link(found, identity, &link, finder->dirs[i], "", "") ||
		    try_link(found, identity, &link, finder->dirs[i], "/", dirs[1]) ||
		    try_link(found, identity, &link, finder->dirs[i], SYSTEM_DEBUG "/", dirs[1]))
			return true;
	while (index_get(finder) &&
	       (named = fperf_name_index__next(finder->index, link.name, strlen(link.name), &cursor))) {
		char dir[PATH_MAX];

		snprintf(dir, sizeof(dir), "%.*s", (int)(file_name(named) - named), named);
		if (!strcmp(file_name(named), link.name) && try_link(found, identity, &link, "", dir, ""))
			return true;
	}
	if (!finder->system_files)
		return false;
	for (size_t i = 0; i < 2; i++)
		if (try_link(found, identity, &link, "", dirs[i], "") ||
		    try_link(found, identity, &link, "", dirs[i], "/.debug") ||
		    try_link(found, identity, &link, SYSTEM_DEBUG "/", dirs[i], ""))
			return true;
	return false;
}

struct fperf_found_file fperf_file_finder__debug(struct fperf_file_finder *finder,
						 const struct fperf_identity *identity, const char *path,
						 const struct fperf_found_file *module)
{
	struct fperf_found_file found = {0};

	if (!path_is_safe(path))
		return found;
	for (size_t i = 0; i < finder->dir_count; i++)
		if (find_by_id(&found, identity, WANT_DEBUG, finder->dirs[i]))
			return found;
	if (find_by_name(finder, &found, identity, WANT_DEBUG, path))
		return found;
	if (finder->system_files && (find_by_id(&found, identity, WANT_DEBUG, SYSTEM_DEBUG) ||
				     find_in_debuginfod_cache(&found, identity, WANT_DEBUG) ||
				     try_path(&found, identity, WANT_DEBUG, SYSTEM_DEBUG "/%s.debug", path) ||
				     try_path(&found, identity, WANT_DEBUG, SYSTEM_DEBUG "/%s", path)))
		return found;
	find_by_link(finder, &found, identity, path, module);
	return found;
}
