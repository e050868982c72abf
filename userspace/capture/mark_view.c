#include "capture/mark_view.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Takes `fd`. */
static int regular_only(int fd, const char *path, struct fperf_file_id *id, struct fperf_error *err)
{
	struct stat stat;
	int result;

	if (fstat(fd, &stat)) {
		result = fperf_error__set_errno(err, -errno, "%s: fstat", path);
	} else if (!S_ISREG(stat.st_mode)) {
		result = fperf_error__set(err, -EINVAL, "%s: not a regular file", path);
	} else {
		if (id)
			*id = (struct fperf_file_id){stat.st_dev, stat.st_ino};
		return fd;
	}
	close(fd);
	return result;
}

int fperf_view__open(pid_t pid, const char *path, struct fperf_file_id *id, struct fperf_error *err)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char root[64];
	int root_fd, fd, code;

	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return fperf_error__set_errno(err, -errno, "root directory of process %d: open", (int)pid);
	fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	code = -errno;
	close(root_fd);
	if (fd < 0)
		return fperf_error__set_errno(err, code, "%s as process %d sees it: open", path, (int)pid);
	return regular_only(fd, path, id, err);
}

int fperf_view__open_mapping(pid_t pid, uint64_t start, uint64_t end, struct fperf_file_id *id,
			     struct fperf_error *err)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)start,
		 (unsigned long long)end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fperf_error__set_errno(err, -errno, "%s: open", path);
	return regular_only(fd, path, id, err);
}

pid_t fperf_view__inner_pid(pid_t pid)
{
	char line[256];
	pid_t inner = pid;
	FILE *file;

	snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
	file = fopen(line, "re");
	if (!file)
		return pid;
	while (fgets(line, sizeof(line), file)) {
		const char *last;

		if (strncmp(line, "NSpid:", 6))
			continue;
		last = strrchr(line, '\t'); /* one number for each namespace, outermost first */
		if (last && atoi(last + 1) > 0)
			inner = atoi(last + 1);
		break;
	}
	fclose(file);
	return inner;
}

static bool same_inode(const char *a, const char *b)
{
	struct stat first, second;

	return !stat(a, &first) && !stat(b, &second) && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

bool fperf_view__is_foreign(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	if (!same_inode(path, "/proc/self/ns/mnt"))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	return !same_inode(path, "/proc/self/root");
}
