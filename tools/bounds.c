#include "bounds.h"

#include "base/vec.h"
#include "session/chunk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE_MIN ((uint64_t)256 << 10) /* room for a session that says at least how it ended */

int fperf_bounds__parse_size(const char *text, uint64_t *bytes, struct fperf_error *err)
{
	static const char units[] = "KMG";
	unsigned long long value;
	const char *unit;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (end == text || *text == '-' || errno || !unit || end[1] ||
	    value > UINT64_MAX >> (10 * (unit - units + 1)))
		return fperf_error__set(err, -EINVAL, "'%s' is no size such as 512K, 16M or 1G", text);
	*bytes = (uint64_t)value << (10 * (unit - units + 1));
	if (*bytes < SIZE_MIN)
		return fperf_error__set(err, -EINVAL, "'%s' is too small: no less than 256K", text);
	return 0;
}

int fperf_bounds__parse_keep(struct fperf_bounds *bounds, const char *text, struct fperf_error *err)
{
	const char *comma = strchr(text, ',');
	unsigned long count;
	char *end;

	errno = 0;
	count = strtoul(text, &end, 10);
	if (end == text || *text == '-' || errno || count < 1 || count > 1000000 ||
	    end != (comma ? comma : text + strlen(text)))
		return fperf_error__set(
			err, -EINVAL, "'%s' is not of the form NUMBER or NUMBER,SIZE, such as 10 or 10,200M",
			text);
	bounds->keep = (uint32_t)count;
	return comma ? fperf_bounds__parse_size(comma + 1, &bounds->keep_bytes, err) : 0;
}

int fperf_bounds__prepare(const struct fperf_bounds *bounds, struct fperf_invoker owner,
			  struct fperf_error *err)
{
	int fd;

	if (!mkdir(bounds->directory, 0755)) {
		fd = open(bounds->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && owner.uid != (uid_t)-1 && fchown(fd, owner.uid, owner.gid)) {
			close(fd);
			return fperf_error__set_errno(err, -errno, "cannot give %s to its owner",
						      bounds->directory);
		}
		if (fd >= 0)
			close(fd);
	} else if (errno != EEXIST) {
		return fperf_error__set_errno(err, -errno, "cannot make the directory %s", bounds->directory);
	}
	return 0;
}

/* ---- rotation ---- */

struct entry {
	char *name;
	struct timespec written;
	uint64_t bytes;
	ino_t inode;
	dev_t device;
};

struct entries {
	struct entry *items;
	size_t count, capacity;
};

static bool name_is_ours(const char *name)
{
	size_t length = strlen(name), prefix = strlen("frameperf-"), suffix = strlen(".fperf");

	return length > prefix + suffix && !strncmp(name, "frameperf-", prefix) &&
	       !strcmp(name + length - suffix, ".fperf");
}

static bool file_is_ours(int directory, const char *name, struct fperf_invoker owner, struct stat *st)
{
	uint8_t bytes[FPERF_FILE_HEADER_SIZE];
	struct fperf_file_header header;
	bool ours;
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return false;
	ours = !fstat(fd, st) && S_ISREG(st->st_mode) && st->st_nlink == 1 &&
	       (st->st_uid == geteuid() || st->st_uid == owner.uid) &&
	       read(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes) &&
	       fperf_file_header__unpack(&header, bytes);
	close(fd);
	return ours;
}

static int entries_read(DIR *stream, struct fperf_invoker owner, struct entries *entries)
{
	struct dirent *one;

	while ((one = readdir(stream))) {
		struct entry *entry;
		struct stat st;

		if (!name_is_ours(one->d_name) || !file_is_ours(dirfd(stream), one->d_name, owner, &st))
			continue;
		entry = fperf_vec__push(&entries->items, &entries->count, &entries->capacity);
		if (!entry)
			return -ENOMEM;
		*entry = (struct entry){.name = strdup(one->d_name),
					.written = st.st_mtim,
					.bytes = (uint64_t)st.st_size,
					.inode = st.st_ino,
					.device = st.st_dev};
		if (!entry->name)
			return -ENOMEM;
	}
	return 0;
}

static int compare_age(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->written.tv_sec != y->written.tv_sec)
		return x->written.tv_sec < y->written.tv_sec ? -1 : 1;
	if (x->written.tv_nsec != y->written.tv_nsec)
		return x->written.tv_nsec < y->written.tv_nsec ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Only if the name still stands for the file that was looked at. */
static int entry_remove(int directory, const struct entry *entry, struct fperf_error *err)
{
	struct stat st;

	if (fstatat(directory, entry->name, &st, AT_SYMLINK_NOFOLLOW) || st.st_ino != entry->inode ||
	    st.st_dev != entry->device)
		return 0;
	if (unlinkat(directory, entry->name, 0) && errno != ENOENT)
		return fperf_error__set_errno(err, -errno, "cannot remove the old session %s", entry->name);
	return 1;
}

static int entries_remove(const struct fperf_bounds *bounds, uint32_t expected, int directory,
			  const struct entries *entries, struct fperf_error *err)
{
	size_t left = entries->count;
	uint64_t bytes = 0;
	int removed = 0;

	for (size_t i = 0; i < entries->count; i++)
		bytes += entries->items[i].bytes;
	for (size_t i = 0; i < entries->count; i++) {
		bool many = bounds->keep && left + expected > bounds->keep;
		bool much = bounds->keep_bytes && bytes > bounds->keep_bytes && (left > 1 || expected);
		int ret;

		if (!many && !much)
			break;
		ret = entry_remove(directory, &entries->items[i], err);
		if (ret < 0)
			return ret;
		removed += ret;
		left--;
		bytes -= entries->items[i].bytes;
	}
	return removed;
}

int fperf_bounds__rotate(const struct fperf_bounds *bounds, uint32_t expected, struct fperf_invoker owner,
			 struct fperf_error *err)
{
	struct entries entries = {0};
	DIR *stream = opendir(bounds->directory);
	int ret;

	if (!stream)
		return fperf_error__set_errno(err, -errno, "cannot read the directory %s", bounds->directory);
	ret = entries_read(stream, owner, &entries);
	if (ret) {
		ret = fperf_error__no_memory(err, "the list of sessions");
	} else {
		if (entries.count)
			qsort(entries.items, entries.count, sizeof(*entries.items), compare_age);
		ret = entries_remove(bounds, expected, dirfd(stream), &entries, err);
	}
	for (size_t i = 0; i < entries.count; i++)
		free(entries.items[i].name);
	free(entries.items);
	closedir(stream);
	return ret;
}
