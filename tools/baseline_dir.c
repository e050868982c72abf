#include "baseline_dir.h"

#include "base/vec.h"
#include "frameperf/meta.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".fperf"

static const char *meta_or(const struct fperf_session *session, const char *key, const char *fallback)
{
	const char *value = fperf_session__meta(session, key);

	return value && *value ? value : fallback;
}

/* Whatever a label holds, it names a folder below DIR and nothing else. */
static void name_make(const char *text, char *name, size_t size)
{
	size_t used = 0;

	for (; *text && used + 1 < size && used < 100; text++) {
		bool fits = isalnum((unsigned char)*text) || strchr("-_+", *text) || (*text == '.' && used);

		name[used++] = fits ? *text : '_';
	}
	name[used] = '\0';
}

void fperf_baseline_place__of(const struct fperf_session *session, struct fperf_baseline_place *place)
{
	char device[512];

	snprintf(device, sizeof(device), "%s-%s", meta_or(session, FPERF_META_HOST_MODEL, "unknown"),
		 meta_or(session, FPERF_META_HOST_ARCH, "unknown"));
	name_make(device, place->device, sizeof(place->device));
	name_make(meta_or(session, FPERF_META_LABEL_PREFIX "scene", "default"), place->scene,
		  sizeof(place->scene));
}

/* ---- reading ---- */

static int compare_entries(const void *a, const void *b)
{
	const struct fperf_baseline_entry *x = a, *y = b;
	int order = strcmp(x->place.device, y->place.device);

	if (!order)
		order = strcmp(x->place.scene, y->place.scene);
	return order ? order : strcmp(x->path, y->path);
}

static bool is_session(const char *name)
{
	size_t size = strlen(name), suffix = strlen(SUFFIX);

	return size > suffix && name[0] != '.' && !strcmp(name + size - suffix, SUFFIX);
}

static int scene_read(struct fperf_baseline_list *list, const char *dir,
		      const struct fperf_baseline_place *place, struct fperf_error *err)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/%s/%s", dir, place->device, place->scene);
	folder = opendir(path);
	if (!folder)
		return errno == ENOENT || errno == ENOTDIR ? 0
							   : fperf_error__set_errno(err, -errno, "%s", path);
	while (!err->code && (entry = readdir(folder))) {
		struct fperf_baseline_entry *slot;

		if (!is_session(entry->d_name))
			continue;
		slot = fperf_vec__push(&list->items, &list->count, &list->capacity);
		if (slot)
			slot->place = *place;
		if (!slot || asprintf(&slot->path, "%s/%s", path, entry->d_name) < 0)
			fperf_error__no_memory(err, "the list of baselines");
	}
	closedir(folder);
	return err->code;
}

/* Calls back for each folder in `path`. */
static int folders_visit(struct fperf_baseline_list *list, const char *dir, const char *device,
			 struct fperf_error *err)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s%s%s", dir, device ? "/" : "", device ? device : "");
	folder = opendir(path);
	if (!folder)
		return device ? 0
			      : fperf_error__set_errno(err, -errno, "cannot read the baselines in %s", dir);
	while (!err->code && (entry = readdir(folder))) {
		struct fperf_baseline_place place;

		if (entry->d_name[0] == '.')
			continue;
		if (!device) {
			folders_visit(list, dir, entry->d_name, err);
			continue;
		}
		snprintf(place.device, sizeof(place.device), "%s", device);
		snprintf(place.scene, sizeof(place.scene), "%s", entry->d_name);
		scene_read(list, dir, &place, err);
	}
	closedir(folder);
	return err->code;
}

int fperf_baseline_list__read(struct fperf_baseline_list *list, const char *dir,
			      const struct fperf_baseline_place *place, struct fperf_error *err)
{
	int ret = place ? scene_read(list, dir, place, err) : folders_visit(list, dir, NULL, err);

	if (!ret && list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_entries);
	return ret;
}

void fperf_baseline_list__free(struct fperf_baseline_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].path);
	free(list->items);
	*list = (struct fperf_baseline_list){0};
}

/* ---- adding ---- */

static int folder_make(const char *path, struct fperf_error *err)
{
	if (mkdir(path, 0777) && errno != EEXIST)
		return fperf_error__set_errno(err, -errno, "cannot make the folder %s", path);
	return 0;
}

static int bytes_copy(int from, int to, const char *path, struct fperf_error *err)
{
	ssize_t count;

	do {
		count = sendfile(to, from, NULL, 1 << 30);
	} while (count > 0);
	if (count < 0 || fsync(to))
		return fperf_error__set_errno(err, -errno, "cannot copy %s", path);
	return 0;
}

/* Under another name first, which is given up when the copy is whole. */
static int file_copy(const char *path, const char *copied, struct fperf_error *err)
{
	char partial[PATH_MAX + 16];
	int from = open(path, O_RDONLY | O_CLOEXEC), to;

	if (from < 0)
		return fperf_error__set_errno(err, -errno, "cannot read %s", path);
	snprintf(partial, sizeof(partial), "%s.part", copied);
	unlink(partial);
	to = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (to < 0) {
		fperf_error__set_errno(err, -errno, "cannot write %s", partial);
		close(from);
		return err->code;
	}
	if (!bytes_copy(from, to, path, err) && link(partial, copied))
		fperf_error__set_errno(err, -errno, "cannot make %s", copied);
	close(from);
	close(to);
	unlink(partial);
	return err->code;
}

int fperf_baseline__add(const char *dir, const char *path, const struct fperf_session *session,
			char copied[PATH_MAX], struct fperf_error *err)
{
	struct fperf_baseline_place place;
	char folder[PATH_MAX], id[128];
	int size;

	fperf_baseline_place__of(session, &place);
	name_make(meta_or(session, FPERF_META_SESSION_ID, ""), id, sizeof(id));
	if (!*id)
		return fperf_error__set(err, -EINVAL, "%s has no id", path);
	snprintf(folder, sizeof(folder), "%s/%s", dir, place.device);
	if (folder_make(dir, err) || folder_make(folder, err))
		return err->code;
	size = snprintf(folder, sizeof(folder), "%s/%s/%s", dir, place.device, place.scene);
	if (size >= (int)sizeof(folder))
		return fperf_error__set(err, -ENAMETOOLONG, "the name of the folder is too long: %s", dir);
	if (folder_make(folder, err))
		return err->code;
	size = snprintf(copied, PATH_MAX, "%.*s/%s" SUFFIX, (int)strlen(folder), folder, id);
	if (size >= PATH_MAX)
		return fperf_error__set(err, -ENAMETOOLONG, "the name of the folder is too long: %s", dir);
	if (!access(copied, F_OK))
		return fperf_error__set(err, -EEXIST, "%s is there already, as %s", path, copied);
	return file_copy(path, copied, err);
}
