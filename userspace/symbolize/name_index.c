#include "symbolize/name_index.h"

#include "base/vec.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX   12
#define ENTRIES_MAX 200000

struct named_file {
	char *path;
	const char *name; /* in path */
};

struct fperf_name_index {
	struct named_file *files;
	size_t count, capacity;
	size_t seen;
	bool failed;
};

static void file_add(struct fperf_name_index *index, const char *path)
{
	char *copy = strdup(path);
	struct named_file *file =
		copy ? fperf_vec__push(&index->files, &index->count, &index->capacity) : NULL;

	if (!file) {
		free(copy);
		index->failed = true;
		return;
	}
	file->path = copy;
	file->name = strrchr(copy, '/') ? strrchr(copy, '/') + 1 : copy;
}

static void dir_walk(struct fperf_name_index *index, const char *dir, int depth)
{
	DIR *stream = opendir(dir);
	struct dirent *entry;

	while (stream && !index->failed && index->seen < ENTRIES_MAX && (entry = readdir(stream))) {
		char path[PATH_MAX];
		struct stat stat;

		index->seen++;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) >= (int)sizeof(path))
			continue;
		if (lstat(path, &stat))
			continue;
		if (S_ISDIR(stat.st_mode) && depth < DEPTH_MAX)
			dir_walk(index, path, depth + 1);
		else if (S_ISREG(stat.st_mode) || S_ISLNK(stat.st_mode))
			file_add(index, path);
	}
	if (stream)
		closedir(stream);
}

/* By name, then path: the same file is found first on every run. */
static int file_compare(const void *a, const void *b)
{
	const struct named_file *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	return order ? order : strcmp(left->path, right->path);
}

struct fperf_name_index *fperf_name_index__new(const char *const *dirs, size_t count)
{
	struct fperf_name_index *index = calloc(1, sizeof(*index));

	if (!index)
		return NULL;
	for (size_t i = 0; i < count; i++)
		dir_walk(index, dirs[i], 0);
	if (index->failed) {
		fperf_name_index__free(index);
		return NULL;
	}
	if (index->count)
		qsort(index->files, index->count, sizeof(*index->files), file_compare);
	return index;
}

void fperf_name_index__free(struct fperf_name_index *index)
{
	if (!index)
		return;
	for (size_t i = 0; i < index->count; i++)
		free(index->files[i].path);
	free(index->files);
	free(index);
}

static size_t first_with_prefix(const struct fperf_name_index *index, const char *name, size_t size)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strncmp(index->files[middle].name, name, size) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const char *fperf_name_index__next(const struct fperf_name_index *index, const char *name, size_t size,
				   size_t *cursor)
{
	if (!*cursor)
		*cursor = first_with_prefix(index, name, size) + 1;
	for (;;) {
		const struct named_file *file;
		char next;

		if (*cursor - 1 >= index->count)
			return NULL;
		file = &index->files[*cursor - 1];
		if (strncmp(file->name, name, size) != 0)
			return NULL;
		(*cursor)++;
		next = file->name[size];
		if (!next || strchr(".-_", next))
			return file->path;
	}
}
