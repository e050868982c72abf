#include "arm_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILE_NAME "state.json"
#define LOCK_NAME "lock"

int fperf_directory_make(const char *path, mode_t mode, struct fperf_error *err)
{
	char part[PATH_MAX];
	struct stat file;

	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part))
		return fperf_error__set(err, -ENAMETOOLONG, "%s: the path is too long", path);
	for (char *at = strchr(part + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(part, 0755);
		*at = '/';
	}
	if (mkdir(part, mode) && errno != EEXIST)
		return fperf_error__set_errno(err, -errno, "cannot make the directory %s", path);
	if (stat(path, &file) || !S_ISDIR(file.st_mode))
		return fperf_error__set(err, -ENOTDIR, "%s is no directory", path);
	return 0;
}

uint64_t fperf_process_start(pid_t pid)
{
	char path[64], line[1024], *at;
	unsigned long long start = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	at = strrchr(line, ')'); /* the name before it may hold anything */
	if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
		return 0;
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, " %llu", &start) == 1 ? start : 0;
}

static int directory_check(const char *path, struct fperf_error *err)
{
	struct stat file;

	if (lstat(path, &file))
		return fperf_error__set_errno(err, -errno, "cannot look at %s", path);
	if (file.st_uid == geteuid() && S_ISDIR(file.st_mode) && !(file.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	return fperf_error__set(
		err, -EPERM, "%s must be a directory of the watcher's user that no other may write to", path);
}

static char *file_path(const char *directory, const char *name)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

static json_t *file_read(const char *directory)
{
	char *path = file_path(directory, FILE_NAME);
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	json_t *root = NULL;
	struct stat file;

	if (fd >= 0 && !fstat(fd, &file) && S_ISREG(file.st_mode) && file.st_size < 1 << 20)
		root = json_loadfd(fd, 0, NULL);
	if (fd >= 0)
		close(fd);
	free(path);
	if (root && json_is_object(root))
		return root;
	json_decref(root);
	return NULL;
}

static int lock_take(struct fperf_arm_state *state, struct fperf_error *err)
{
	char *path = file_path(state->directory, LOCK_NAME);
	int rc = 0;

	if (!path)
		return fperf_error__no_memory(err, "the state");
	state->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (state->lock < 0)
		rc = fperf_error__set_errno(err, -errno, "cannot open %s", path);
	else if (flock(state->lock, LOCK_EX | LOCK_NB))
		rc = fperf_error__set(err, -EBUSY,
				      "another watcher runs with the state directory %s: `frameperf arm "
				      "--status` says what it does",
				      state->directory);
	free(path);
	return rc;
}

static void member_make(json_t *root, const char *key, json_t *(*make)(void))
{
	json_t *member = json_object_get(root, key), *made = make();

	if (!member || json_typeof(member) != json_typeof(made))
		json_object_set(root, key, made);
	json_decref(made);
}

int fperf_arm_state__open(const char *directory, struct fperf_arm_state *state, struct fperf_error *err)
{
	int rc;

	*state = (struct fperf_arm_state){.directory = strdup(directory), .lock = -1};
	rc = state->directory ? fperf_directory_make(directory, 0700, err)
			      : fperf_error__no_memory(err, "the state");
	rc = rc ? rc : directory_check(directory, err);
	rc = rc ? rc : lock_take(state, err);
	if (!rc) {
		state->root = file_read(directory);
		if (!state->root)
			state->root = json_object();
		if (!state->root)
			rc = fperf_error__no_memory(err, "the state");
	}
	if (rc) {
		fperf_arm_state__close(state);
		return rc;
	}
	member_make(state->root, "targets", json_object);
	member_make(state->root, "done", json_array);
	fperf_arm_state__day(state);
	return 0;
}

void fperf_arm_state__close(struct fperf_arm_state *state)
{
	if (state->lock >= 0)
		close(state->lock);
	json_decref(state->root);
	free(state->directory);
	*state = (struct fperf_arm_state){.lock = -1};
}

int fperf_arm_state__write(struct fperf_arm_state *state, struct fperf_error *err)
{
	char *path = file_path(state->directory, FILE_NAME),
	     *fresh = file_path(state->directory, FILE_NAME ".new");
	int fd = -1, rc = 0;

	if (path && fresh) {
		unlink(fresh);
		fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	}
	if (fd < 0 || json_dumpfd(state->root, fd, JSON_INDENT(1) | JSON_SORT_KEYS) || fdatasync(fd) ||
	    rename(fresh, path))
		rc = fperf_error__set_errno(err, -(errno ? errno : EIO), "cannot write the state to %s",
					    state->directory);
	if (fd >= 0)
		close(fd);
	free(path);
	free(fresh);
	return rc;
}

json_t *fperf_arm_state__peek(const char *directory, bool *running)
{
	char *path = file_path(directory, LOCK_NAME);
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;

	*running = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
	if (fd >= 0)
		close(fd);
	free(path);
	return file_read(directory);
}

bool fperf_arm_state__day(struct fperf_arm_state *state)
{
	const char *known = json_string_value(json_object_get(state->root, "day"));
	time_t now = time(NULL);
	char day[16] = "";
	const char *section;
	json_t *target;
	struct tm local;

	if (localtime_r(&now, &local))
		strftime(day, sizeof(day), "%Y-%m-%d", &local);
	if (known && !strcmp(known, day))
		return false;
	json_object_set_new(state->root, "day", json_string(day));
	json_object_foreach(json_object_get(state->root, "targets"), section, target)
	{
		json_object_set_new(target, "sessions", json_integer(0));
		json_object_set_new(target, "bytes", json_integer(0));
	}
	return true;
}

json_t *fperf_arm_state__target(struct fperf_arm_state *state, const char *section)
{
	json_t *targets = json_object_get(state->root, "targets");
	json_t *target = json_object_get(targets, section);

	if (json_is_object(target))
		return target;
	target = json_pack("{s:i, s:i}", "sessions", 0, "bytes", 0);
	return json_object_set_new(targets, section, target) ? NULL : target;
}

static bool entry_is(const json_t *entry, const char *section, pid_t pid, uint64_t start)
{
	const char *target = json_string_value(json_object_get(entry, "target"));

	return target && !strcmp(target, section) &&
	       json_integer_value(json_object_get(entry, "pid")) == pid &&
	       (uint64_t)json_integer_value(json_object_get(entry, "start")) == start;
}

bool fperf_arm_state__is_done(const struct fperf_arm_state *state, const char *section, pid_t pid,
			      uint64_t start)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(state->root, "done"), i,
			   entry) if (entry_is(entry, section, pid, start)) return true;
	return false;
}

void fperf_arm_state__done(struct fperf_arm_state *state, const char *section, pid_t pid, uint64_t start)
{
	json_t *done = json_object_get(state->root, "done"), *entry;

	for (size_t i = json_array_size(done); i-- > 0;) {
		pid_t old;

		entry = json_array_get(done, i);
		old = (pid_t)json_integer_value(json_object_get(entry, "pid"));
		if (fperf_process_start(old) != (uint64_t)json_integer_value(json_object_get(entry, "start")))
			json_array_remove(done, i);
	}
	json_array_append_new(done, json_pack("{s:s, s:i, s:I}", "target", section, "pid", (int)pid, "start",
					      (json_int_t)start));
}
