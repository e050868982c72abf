#include "capture/vulkan_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One small text file per driver: this line, then "absent" and the devices there were, or the offset, the
 * build ID and the path. */
#define FIRST_LINE "frameperf vulkan driver 1"

static void hex(const uint8_t *bytes, size_t size, char *text)
{
	for (size_t i = 0; i < size; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	text[2 * size] = 0;
}

static bool unhex(const char *text, uint8_t *bytes, size_t *size)
{
	size_t length = strlen(text);

	if (length % 2 || length > 2 * FPERF_BUILD_ID_MAX)
		return false;
	for (size_t i = 0; i < length / 2; i++) {
		unsigned value;

		if (sscanf(text + 2 * i, "%2x", &value) != 1)
			return false;
		bytes[i] = (uint8_t)value;
	}
	*size = length / 2;
	return true;
}

static bool is_private(int fd, mode_t type)
{
	struct stat stat;

	return !fstat(fd, &stat) && (stat.st_mode & S_IFMT) == type && stat.st_uid == geteuid() &&
	       !(stat.st_mode & (S_IWGRP | S_IWOTH));
}

static int directory_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && !is_private(fd, S_IFDIR)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Which devices of GPUs exist: FNV-1a over their names and numbers, added up so that their order does not
 * matter. */
static unsigned long long devices_hash(void)
{
	static const char *const patterns[] = {"/dev/dri/*", "/dev/nvidia*", "/dev/kgsl*", "/dev/mali*"};
	unsigned long long sum = 0;
	glob_t found = {0};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		unsigned long long hash = 0xcbf29ce484222325ull;
		struct stat stat_buf = {0};

		stat(found.gl_pathv[i], &stat_buf);
		for (const char *c = found.gl_pathv[i]; *c; c++)
			hash = (hash ^ (unsigned char)*c) * 0x100000001b3ull;
		sum += (hash ^ stat_buf.st_rdev) * 0x100000001b3ull;
	}
	globfree(&found);
	return sum;
}

static bool answer_read(FILE *file, struct fperf_vulkan_answer *answer)
{
	char line[sizeof(answer->path) + 2], id[2 * FPERF_BUILD_ID_MAX + 2];
	unsigned long long offset, devices;

	memset(answer, 0, sizeof(*answer));
	if (!fgets(line, sizeof(line), file) || strcmp(line, FIRST_LINE "\n"))
		return false;
	if (!fgets(line, sizeof(line), file))
		return false;
	if (sscanf(line, "absent %llx", &devices) == 1)
		return devices == devices_hash(); /* another GPU may be there by now */
	if (sscanf(line, "0x%llx %65s", &offset, id) != 2 ||
	    !unhex(id, answer->build_id, &answer->build_id_size))
		return false;
	if (!fgets(line, sizeof(line), file) || line[0] != '/')
		return false;
	line[strcspn(line, "\n")] = 0;
	snprintf(answer->path, sizeof(answer->path), "%.4095s", line);
	answer->file_offset = offset;
	answer->found = true;
	return true;
}

bool fperf_vulkan_cache__get(const char *directory, const uint8_t *build_id, size_t size,
			     struct fperf_vulkan_answer *answer)
{
	char name[2 * FPERF_BUILD_ID_MAX + 1];
	int directory_fd, fd;
	bool found = false;
	FILE *file;

	if (!size || size > FPERF_BUILD_ID_MAX)
		return false;
	directory_fd = directory_open(directory);
	if (directory_fd < 0)
		return false;
	hex(build_id, size, name);
	fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	close(directory_fd);
	if (fd < 0)
		return false;
	file = is_private(fd, S_IFREG) ? fdopen(fd, "r") : NULL;
	if (!file) {
		close(fd);
		return false;
	}
	found = answer_read(file, answer);
	fclose(file);
	return found;
}

static bool directories_make(const char *path)
{
	char part[4096];

	if (strlen(path) >= sizeof(part))
		return false;
	for (const char *slash = path; (slash = strchr(slash + 1, '/'));) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdir(part, 0755) && errno != EEXIST)
			return false;
	}
	return !mkdir(path, 0755) || errno == EEXIST;
}

static bool answer_write(int fd, const struct fperf_vulkan_answer *answer)
{
	char id[2 * FPERF_BUILD_ID_MAX + 1], text[sizeof(answer->path) + 256];
	int size;

	hex(answer->build_id, answer->build_id_size, id);
	if (answer->found)
		size = snprintf(text, sizeof(text), "%s\n0x%llx %s\n%s\n", FIRST_LINE,
				(unsigned long long)answer->file_offset, id, answer->path);
	else
		size = snprintf(text, sizeof(text), "%s\nabsent %llx\n", FIRST_LINE, devices_hash());
	return write(fd, text, (size_t)size) == size;
}

void fperf_vulkan_cache__put(const char *directory, const uint8_t *build_id, size_t size,
			     const struct fperf_vulkan_answer *answer)
{
	char name[2 * FPERF_BUILD_ID_MAX + 1], temporary[sizeof(name) + 32];
	int directory_fd, fd;
	bool written;

	if (!size || size > FPERF_BUILD_ID_MAX || (answer->found && !answer->build_id_size) ||
	    strchr(answer->path, '\n') || !directories_make(directory))
		return;
	directory_fd = directory_open(directory);
	if (directory_fd < 0)
		return;
	hex(build_id, size, name);
	snprintf(temporary, sizeof(temporary), "%s.%d", name, (int)getpid());
	fd = openat(directory_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd >= 0) {
		written = answer_write(fd, answer);
		close(fd);
		if (!written || renameat(directory_fd, temporary, directory_fd, name))
			unlinkat(directory_fd, temporary, 0);
	}
	close(directory_fd);
}
