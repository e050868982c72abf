#include "capture/mark_library.h"

#include "base/buf.h"
#include "base/reader.h"
#include "capture/mark_view.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CACHE   ((size_t)16 << 20)
#define MAX_ENVIRON ((size_t)2 << 20)

bool fperf_library__matches(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	char pattern[300];

	if (!fnmatch(name, file, 0))
		return true;
	/* "libGLX.so.0" has a version, "libGLX" has none: the first may only grow by more digits. */
	snprintf(pattern, sizeof(pattern), strstr(name, ".so") ? "%s.[0-9]*" : "%s.so*", name);
	return !fnmatch(pattern, file, 0);
}

/* struct cache_file_new of glibc (elf/dl-cache.h): magic and version, count of entries, size of the strings,
 * flags, 3 + 12 unused bytes; then entries of 24 bytes: flags, offset of the name, offset of the path, OS
 * version, hardware capabilities. Offsets count from the start of this struct. */
#define CACHE_MAGIC	 "glibc-ld.so.cache1.1"
#define CACHE_OLD_MAGIC	 "ld.so-1.7.0"
#define CACHE_ENTRY	 24
#define CACHE_HEADER	 48
#define CACHE_TYPE_MASK	 0x00ff
#define CACHE_TYPE_ELF6	 0x0003
#define CACHE_ABI_MASK	 0xff00
#define CACHE_ABI_X86_64 0x0300
#define CACHE_ABI_ARM64	 0x0a00

/* Only libraries that this machine's 64-bit programs would load. */
static bool cache_abi_fits(uint32_t flags)
{
#if defined(__aarch64__)
	return (flags & CACHE_ABI_MASK) == CACHE_ABI_ARM64;
#else
	return (flags & CACHE_ABI_MASK) == CACHE_ABI_X86_64;
#endif
}

static const char *cache_string(const uint8_t *data, size_t size, uint32_t offset)
{
	if (offset >= size || !memchr(data + offset, 0, size - offset))
		return NULL;
	return (const char *)data + offset;
}

void fperf_library__locate_in_cache(const void *data, size_t size, const char *name,
				    void (*found)(void *context, const char *path), void *context)
{
	const uint8_t *start = data;
	struct fperf_reader reader;
	uint32_t count;

	/* The new cache may follow an old one. */
	if (size >= 11 && !memcmp(start, CACHE_OLD_MAGIC, 11)) {
		start = memmem(data, size, CACHE_MAGIC, strlen(CACHE_MAGIC));
		if (!start)
			return;
		size -= (size_t)(start - (const uint8_t *)data);
	}
	if (size < CACHE_HEADER || memcmp(start, CACHE_MAGIC, strlen(CACHE_MAGIC)))
		return;
	fperf_reader__init(&reader, start, size);
	fperf_reader__skip(&reader, strlen(CACHE_MAGIC));
	count = fperf_reader__u32(&reader);
	fperf_reader__skip(&reader, CACHE_HEADER - strlen(CACHE_MAGIC) - 4);
	for (uint32_t i = 0; i < count && fperf_reader__left(&reader) >= CACHE_ENTRY; i++) {
		uint32_t flags = fperf_reader__u32(&reader);
		const char *key = cache_string(start, size, fperf_reader__u32(&reader));
		const char *path = cache_string(start, size, fperf_reader__u32(&reader));

		fperf_reader__skip(&reader, CACHE_ENTRY - 12);
		if (key && path && (flags & CACHE_TYPE_MASK) == CACHE_TYPE_ELF6 && cache_abi_fits(flags) &&
		    !strcmp(key, name))
			found(context, path);
	}
}

/* A whole small file of the process' view. */
static bool file_read(int fd, size_t limit, struct fperf_buf *buf)
{
	fperf_buf__init(buf, limit);
	for (;;) {
		uint8_t *room = fperf_buf__reserve(buf, 65536);
		ssize_t got = room ? read(fd, room, 65536) : -1;

		if (got < 0 && room && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0;
		buf->size += (size_t)got;
	}
}

struct locate {
	pid_t pid;
	void (*found)(void *context, const char *path);
	void *context;
};

/* Reports DIRECTORY/NAME if there is such a file. */
static void try_directory(const struct locate *locate, const char *directory, size_t size, const char *name)
{
	struct fperf_error err;
	char path[4096];
	int fd;

	if (!size || directory[0] != '/' || size + strlen(name) + 2 > sizeof(path))
		return;
	snprintf(path, sizeof(path), "%.*s/%s", (int)size, directory, name);
	fd = fperf_view__open(locate->pid, path, NULL, &err);
	if (fd < 0)
		return;
	close(fd);
	locate->found(locate->context, path);
}

static void try_list(const struct locate *locate, const char *list, const char *name)
{
	while (*list) {
		size_t size = strcspn(list, ":;");

		try_directory(locate, list, size, name);
		list += size + (list[size] != 0);
	}
}

/* LD_LIBRARY_PATH and, for programs, PATH of the process; read for this and kept nowhere. */
static void try_environment(const struct locate *locate, const char *name)
{
	static const char *const variables[] = {"LD_LIBRARY_PATH=", "PATH="};
	char path[64];
	struct fperf_buf environment;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)locate->pid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (file_read(fileno(file), MAX_ENVIRON, &environment)) {
		fperf_buf__u8(&environment, 0);
		for (size_t pos = 0; !environment.failed && pos < environment.size;) {
			const char *entry = (const char *)environment.data + pos;

			for (size_t i = 0; i < 2; i++)
				if (!strncmp(entry, variables[i], strlen(variables[i])))
					try_list(locate, entry + strlen(variables[i]), name);
			pos += strlen(entry) + 1;
		}
	}
	fperf_buf__free(&environment);
	fclose(file);
}

/* Where the target of /proc/PID/exe or cwd is, as the process sees it; false when it can't be known. */
static bool link_read(pid_t pid, const char *which, char path[4096])
{
	char link[64];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/%d/%s", (int)pid, which);
	size = readlink(link, path, 4095);
	if (size <= 0)
		return false;
	path[size] = 0;
	return true;
}

/* A program that is yet to be started is often in the current directory. */
static void try_current_directory(const struct locate *locate, const char *name)
{
	char path[4096];

	if (link_read(locate->pid, "cwd", path))
		try_directory(locate, path, strlen(path), name);
}

/* Games bring libraries along: beside the program and in directories next to it. */
static void try_program_directory(const struct locate *locate, const char *name)
{
	static const char *const beside[] = {"", "/lib", "/lib64", "/bin", "/../lib", "/../lib64"};
	char path[4096], *slash;

	if (!link_read(locate->pid, "exe", path))
		return;
	slash = strrchr(path, '/');
	if (!slash)
		return;
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		if ((size_t)(slash - path) + strlen(beside[i]) + 1 > sizeof(path))
			return;
		strcpy(slash, beside[i]);
		try_directory(locate, path, strlen(path), name);
	}
}

void fperf_library__locate(pid_t pid, const char *name, void (*found)(void *context, const char *path),
			   void *context)
{
	static const char usual[] =
#if defined(__aarch64__)
		"/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu:"
#else
		"/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:"
#endif
		"/lib64:/usr/lib64:/usr/local/lib:/lib:/usr/lib:/system/lib64:/vendor/lib64:"
		"/apex/com.android.runtime/lib64";
	struct locate locate = {pid, found, context};
	struct fperf_error err;
	struct fperf_buf cache;
	int fd;

	try_environment(&locate, name);
	try_current_directory(&locate, name);
	try_program_directory(&locate, name);
	fd = fperf_view__open(pid, "/etc/ld.so.cache", NULL, &err);
	if (fd >= 0) {
		if (file_read(fd, MAX_CACHE, &cache))
			fperf_library__locate_in_cache(cache.data, cache.size, name, found, context);
		fperf_buf__free(&cache);
		close(fd);
	}
	try_list(&locate, usual, name);
}
