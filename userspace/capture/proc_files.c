#include "capture/proc_files.h"

#include "base/clock.h"
#include "base/vec.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads a small file whole; returns its size or a negative errno. The text is NUL-terminated. */
static ssize_t file_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -errno;
	do
		got = read(fd, text, size - 1);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		got = -errno;
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got;
}

bool fperf_proc__parse_stat(const char *line, size_t size, long ticks_per_s, int64_t boottime_offset_ns,
			    struct fperf_proc_task *task)
{
	const char *open_paren = memchr(line, '(', size), *close_paren = memrchr(line, ')', size);
	size_t name_size;
	unsigned long long start = 0;
	int parent = 0;

	if (!open_paren || !close_paren || close_paren < open_paren || ticks_per_s <= 0)
		return false;
	name_size = (size_t)(close_paren - open_paren - 1);
	if (name_size >= sizeof(task->name))
		name_size = sizeof(task->name) - 1;
	memcpy(task->name, open_paren + 1, name_size);
	task->name[name_size] = '\0';
	/* state ppid, then 17 fields that are not wanted, then the start time in ticks since boot */
	if (sscanf(close_paren + 1,
		   " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
		   &task->state, &parent, &start) != 3)
		return false;
	task->parent_pid = parent > 0 ? (uint32_t)parent : 0;
	task->start_ns = (uint64_t)start * (FPERF_NS_PER_S / (uint64_t)ticks_per_s);
	task->start_ns -= boottime_offset_ns > 0 && task->start_ns > (uint64_t)boottime_offset_ns
				  ? (uint64_t)boottime_offset_ns
				  : 0;
	return true;
}

int fperf_proc__task(uint32_t pid, uint32_t tid, struct fperf_proc_task *task, struct fperf_error *err)
{
	char path[64], text[1024];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", pid, tid);
	size = file_read(path, text, sizeof(text));
	if (size <= 0)
		return fperf_error__set_errno(err, size == -ENOENT || !size ? -ESRCH : (int)size,
					      "cannot read %s", path);
	*task = (struct fperf_proc_task){.pid = pid, .tid = tid};
	if (!fperf_proc__parse_stat(text, (size_t)size, sysconf(_SC_CLK_TCK),
				    fperf_clock__offsets().boottime_ns, task))
		return fperf_error__set(err, -EBADMSG, "cannot understand %s", path);
	return 0;
}

static int numbers_in_directory(const char *path, uint32_t **numbers, size_t *count, struct fperf_error *err)
{
	size_t capacity = 0;
	struct dirent *entry;
	DIR *dir = opendir(path);

	*numbers = NULL;
	*count = 0;
	if (!dir)
		return fperf_error__set_errno(err, errno == ENOENT ? -ESRCH : -errno, "cannot list %s", path);
	while ((entry = readdir(dir))) {
		uint32_t *number;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		number = fperf_vec__push(numbers, count, &capacity);
		if (!number) {
			closedir(dir);
			free(*numbers);
			*numbers = NULL;
			return fperf_error__no_memory(err, "a list of threads");
		}
		*number = (uint32_t)strtoul(entry->d_name, NULL, 10);
	}
	closedir(dir);
	return 0;
}

int fperf_proc__threads(uint32_t pid, uint32_t **tids, size_t *count, struct fperf_error *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return numbers_in_directory(path, tids, count, err);
}

int fperf_proc__processes(uint32_t **pids, size_t *count, struct fperf_error *err)
{
	return numbers_in_directory("/proc", pids, count, err);
}

static uint32_t status_inner_id(const char *path)
{
	char text[4096], *line, *end;
	uint32_t last = 0;

	if (file_read(path, text, sizeof(text)) <= 0)
		return 0;
	line = strstr(text, "\nNSpid:");
	if (!line)
		return 0;
	line += 7;
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	for (char *save = NULL, *word = strtok_r(line, " \t", &save); word;
	     word = strtok_r(NULL, " \t", &save))
		last = (uint32_t)strtoul(word, NULL, 10);
	return last;
}

bool fperf_proc__syscall(uint32_t pid, uint32_t tid, int32_t *number, uint64_t args[3])
{
	unsigned long long values[3];
	char path[64], text[512];
	int syscall;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", pid, tid);
	if (file_read(path, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%d %llx %llx %llx", &syscall, &values[0], &values[1], &values[2]) != 4 ||
	    syscall < 0)
		return false;
	*number = syscall;
	for (size_t i = 0; i < 3; i++)
		args[i] = values[i];
	return true;
}

uint32_t fperf_proc__namespace_pid(uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	return status_inner_id(path);
}

uint32_t fperf_proc__namespace_tid(uint32_t pid, uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, tid);
	return status_inner_id(path);
}

void fperf_proc__exe(uint32_t pid, char *path, size_t size)
{
	static const char deleted[] = " (deleted)";
	char link[64];
	ssize_t got;

	snprintf(link, sizeof(link), "/proc/%u/exe", pid);
	got = readlink(link, path, size - 1);
	path[got > 0 ? got : 0] = '\0';
	/* A file may really be called so; then it exists. */
	if ((size_t)(got > 0 ? got : 0) >= sizeof(deleted) &&
	    !strcmp(path + got - (sizeof(deleted) - 1), deleted)) {
		char full[4200];

		snprintf(full, sizeof(full), "/proc/%u/root%s", pid, path);
		if (access(full, F_OK))
			path[(size_t)got - (sizeof(deleted) - 1)] = '\0';
	}
}

bool fperf_proc__cpu_ns(uint32_t pid, uint32_t tid, uint64_t *cpu_ns)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", pid, tid);
	return file_read(path, text, sizeof(text)) > 0 && sscanf(text, "%" SCNu64, cpu_ns) == 1;
}

/* The kernel writes a newline in a file name as \012 there, and nothing else so. */
static void path_copy(const char *from, size_t size, char *to, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < size && used + 1 < room; i++) {
		if (size - i >= 4 && !memcmp(from + i, "\\012", 4)) {
			to[used++] = '\n';
			i += 3;
		} else {
			to[used++] = from[i];
		}
	}
	to[used] = '\0';
}

bool fperf_proc__parse_mapping(const char *line, size_t size, struct fperf_proc_mapping *mapping)
{
	char head[160], permissions[5] = "";
	size_t head_size = size < sizeof(head) - 1 ? size : sizeof(head) - 1;
	int used = 0;

	memcpy(head, line, head_size);
	head[head_size] = '\0';
	if (sscanf(head, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx64 ":%" SCNx64 " %" SCNu64 "%n",
		   &mapping->start, &mapping->end, permissions, &mapping->file_offset, &mapping->device_major,
		   &mapping->device_minor, &mapping->inode, &used) != 7 ||
	    mapping->end <= mapping->start)
		return false;
	mapping->executable = permissions[2] == 'x';
	while ((size_t)used < size && line[used] == ' ')
		used++;
	path_copy(line + used, size - (size_t)used, mapping->path, sizeof(mapping->path));
	if (!strncmp(mapping->path, "[anon:", 6) || !strcmp(mapping->path, "[heap]") ||
	    !strncmp(mapping->path, "[stack", 6))
		mapping->path[0] = '\0';
	return true;
}

int fperf_proc__mappings(uint32_t pid, void (*visit)(void *context, const struct fperf_proc_mapping *mapping),
			 void *context, struct fperf_error *err)
{
	struct fperf_proc_mapping *mapping = malloc(sizeof(*mapping));
	size_t capacity = 0;
	char path[64], *line = NULL;
	ssize_t size;
	FILE *file;

	if (!mapping)
		return fperf_error__no_memory(err, "a mapping");
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	file = fopen(path, "re");
	if (!file) {
		int code = errno == ENOENT ? -ESRCH : -errno;

		free(mapping);
		return fperf_error__set_errno(err, code, "cannot read %s", path);
	}
	while ((size = getline(&line, &capacity, file)) > 0) {
		if (line[size - 1] == '\n')
			size--;
		if (fperf_proc__parse_mapping(line, (size_t)size, mapping) &&
		    (mapping->executable || mapping->path[0] == '/'))
			visit(context, mapping);
	}
	free(line);
	fclose(file);
	free(mapping);
	return 0;
}

bool fperf_proc__image(uint32_t pid, uint64_t start, uint64_t end, const char *path, uint64_t inode,
		       char *image, size_t size)
{
	struct stat file;
	int used = snprintf(image, size, "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, start, end);

	if (used > 0 && (size_t)used < size && !access(image, R_OK))
		return true;
	used = snprintf(image, size, "/proc/%u/root%s", pid, path);
	return used > 0 && (size_t)used < size && inode && !stat(image, &file) && file.st_ino == inode;
}
