#include "base/cache_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILES_MAX    4096
#define LEFT_SECONDS 3600 /* an unfinished file this old was left by a process that died */

struct fperf_cache_dir {
	int fd;
	char suffix[16];
};

/* ---- the directory ---- */

static bool is_private(const struct stat *stat)
{
	return stat->st_uid == geteuid() && !(stat->st_mode & (S_IWGRP | S_IWOTH));
}

/* Is it there, or can it only be made by us? Then nothing is made in a place of somebody else. */
static bool is_ours(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

static bool default_path(const char *kind, char *path, size_t size)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int length;

	if (base && base[0] == '/' && (is_ours(base) || geteuid() != 0))
		length = snprintf(path, size, "%s/frameperf/%s", base, kind);
	else if (geteuid() == 0)
		length = snprintf(path, size, "/var/cache/frameperf/%s", kind);
	else if (home && home[0] == '/')
		length = snprintf(path, size, "%s/.cache/frameperf/%s", home, kind);
	else
		return false;
	return length > 0 && (size_t)length < size;
}

/* mkdir -p, writable for nobody else where we make something. */
static void directories_make(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	mkdir(path, 0755);
}

/* ---- its bound ---- */

struct cache_file {
	char name[FPERF_CACHE_NAME_MAX];
	uint64_t size;
	int64_t used;
};

static int file_compare(const void *a, const void *b)
{
	const struct cache_file *left = a, *right = b;

	return (left->used > right->used) - (left->used < right->used);
}

static bool has_suffix(const struct fperf_cache_dir *cache, const char *name)
{
	size_t length = strlen(name), suffix = strlen(cache->suffix);

	return length > suffix && length < FPERF_CACHE_NAME_MAX &&
	       !strcmp(name + length - suffix, cache->suffix);
}

/* What a process left that died while it wrote. */
static void left_remove(const struct fperf_cache_dir *cache, const char *name, const struct stat *stat)
{
	if (name[0] == '.' && strstr(name, cache->suffix) && S_ISREG(stat->st_mode) &&
	    time(NULL) - stat->st_mtime > LEFT_SECONDS)
		unlinkat(cache->fd, name, 0);
}

static size_t files_list(const struct fperf_cache_dir *cache, DIR *dir, struct cache_file *files)
{
	struct dirent *entry;
	struct stat stat;
	size_t count = 0;

	while (count < FILES_MAX && (entry = readdir(dir))) {
		if (fstatat(cache->fd, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW))
			continue;
		if (!has_suffix(cache, entry->d_name) || entry->d_name[0] == '.') {
			left_remove(cache, entry->d_name, &stat);
			continue;
		}
		strcpy(files[count].name, entry->d_name);
		files[count].size = (uint64_t)stat.st_size;
		files[count++].used = stat.st_mtime;
	}
	return count;
}

static void prune(const struct fperf_cache_dir *cache, uint64_t limit)
{
	int fd = openat(cache->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct cache_file *files = calloc(FILES_MAX, sizeof(*files));
	size_t count = dir && files ? files_list(cache, dir, files) : 0;
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += files[i].size;
	if (total > limit)
		qsort(files, count, sizeof(*files), file_compare);
	for (size_t i = 0; i < count && total > limit; i++) {
		unlinkat(cache->fd, files[i].name, 0);
		total -= files[i].size;
	}
	free(files);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

int fperf_cache_dir__open(const struct fperf_cache_options *options, struct fperf_cache_dir **cache,
			  struct fperf_error *err)
{
	struct fperf_cache_dir *opened;
	char chosen[4096];
	struct stat stat;
	int fd;

	if (options->path && strlen(options->path) < sizeof(chosen))
		strcpy(chosen, options->path);
	else if (options->path || !default_path(options->kind, chosen, sizeof(chosen)))
		return fperf_error__set(err, -ENOENT, "no place for the cache '%s'", options->kind);
	directories_make(chosen);
	fd = open(chosen, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fperf_error__set_errno(err, -errno, "cache %s", chosen);
	if (fstat(fd, &stat) || !is_private(&stat)) {
		close(fd);
		return fperf_error__set(err, -EPERM, "cache %s: not used, because others may write there",
					chosen);
	}
	opened = calloc(1, sizeof(*opened));
	if (!opened) {
		close(fd);
		return fperf_error__no_memory(err, "a cache");
	}
	opened->fd = fd;
	snprintf(opened->suffix, sizeof(opened->suffix), "%s", options->suffix);
	prune(opened, options->limit);
	*cache = opened;
	return 0;
}

void fperf_cache_dir__close(struct fperf_cache_dir *cache)
{
	if (!cache)
		return;
	close(cache->fd);
	free(cache);
}

/* ---- files ---- */

void fperf_cache_dir__name(const struct fperf_cache_dir *cache, const uint8_t *build_id, size_t size,
			   char name[FPERF_CACHE_NAME_MAX])
{
	size_t at = 0;

	for (size_t i = 0; i < size && at + 3 + sizeof(cache->suffix) < FPERF_CACHE_NAME_MAX; i++)
		at += (size_t)snprintf(name + at, FPERF_CACHE_NAME_MAX - at, "%02x", build_id[i]);
	snprintf(name + at, FPERF_CACHE_NAME_MAX - at, "%s", cache->suffix);
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

void *fperf_cache_dir__read(const struct fperf_cache_dir *cache, const char *name, size_t limit, size_t *size)
{
	int fd = openat(cache->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	void *data = NULL;
	struct stat stat;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &stat) && S_ISREG(stat.st_mode) && is_private(&stat) && stat.st_size > 0 &&
	    (uint64_t)stat.st_size <= limit) {
		*size = (size_t)stat.st_size;
		data = malloc(*size);
		if (data && !read_all(fd, data, *size)) {
			free(data);
			data = NULL;
		}
	}
	close(fd);
	return data;
}

void fperf_cache_dir__write(const struct fperf_cache_dir *cache, const char *name, const void *head,
			    size_t head_size, const void *body, size_t body_size)
{
	char temporary[FPERF_CACHE_NAME_MAX + 32];
	bool ok;
	int fd;

	snprintf(temporary, sizeof(temporary), ".%s.%ld", name, (long)getpid());
	fd = openat(cache->fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	ok = write_all(fd, head, head_size) && write_all(fd, body, body_size);
	close(fd);
	if (!ok || renameat(cache->fd, temporary, cache->fd, name))
		unlinkat(cache->fd, temporary, 0);
}
