#include "capture/vulkan_manifest.h"

#include "base/error.h"
#include "capture/mark_library.h"
#include "capture/mark_view.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_MANIFEST  65536
#define MAX_MANIFESTS 64 /* of one directory */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool fperf_vulkan_manifest__library(const char *text, size_t size, char *path, size_t path_size)
{
	static const char key[] = "\"library_path\"";
	const char *end = text + size, *pos = memmem(text, size, key, sizeof(key) - 1);
	size_t used = 0;

	if (!pos)
		return false;
	for (pos += sizeof(key) - 1; pos < end && (is_space(*pos) || *pos == ':'); pos++)
		;
	if (pos == end || *pos++ != '"')
		return false;
	for (; pos < end && *pos != '"'; pos++) {
		if (*pos == '\\' &&
		    ++pos == end) /* of the escapes only quote, slash and backslash make sense here */
			return false;
		if (!*pos || used + 1 >= path_size)
			return false;
		path[used++] = *pos;
	}
	path[used] = 0;
	return pos < end && used;
}

struct search {
	pid_t pid;
	const char *directory;
	void (*found)(void *context, pid_t pid, const char *path);
	void *context;
};

static void library_found(void *context, const char *path)
{
	struct search *search = context;

	search->found(search->context, search->pid, path);
}

/* The path is absolute, a name for the dynamic linker, or relative to the manifest. */
static void manifest_read(struct search *search, const char *file)
{
	char path[4096], library[2048], text[MAX_MANIFEST];
	struct fperf_error err;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", search->directory, file);
	fd = fperf_view__open(search->pid, path, NULL, &err);
	if (fd < 0)
		return;
	size = read(fd, text, sizeof(text));
	close(fd);
	if (size <= 0 || !fperf_vulkan_manifest__library(text, (size_t)size, library, sizeof(library)))
		return;
	if (library[0] == '/') {
		search->found(search->context, search->pid, library);
	} else if (!strchr(library, '/')) {
		fperf_library__locate(search->pid, library, library_found, search);
	} else {
		snprintf(path, sizeof(path), "%s/%s", search->directory, library);
		search->found(search->context, search->pid, path);
	}
}

void fperf_vulkan_manifest__drivers(pid_t pid, void (*found)(void *context, pid_t pid, const char *path),
				    void *context)
{
	static const char *const directories[] = {"/etc/vulkan/icd.d", "/usr/local/etc/vulkan/icd.d",
						  "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d"};

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		struct search search = {pid, directories[i], found, context};
		unsigned read = 0;
		char path[256];
		DIR *directory;

		/* Only names are taken from here; the files are opened within the process' root. */
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, directories[i]);
		directory = opendir(path);
		if (!directory)
			continue;
		for (struct dirent *entry; read < MAX_MANIFESTS && (entry = readdir(directory));) {
			size_t length = strlen(entry->d_name);

			if (length < 5 || strcmp(entry->d_name + length - 5, ".json"))
				continue;
			manifest_read(&search, entry->d_name);
			read++;
		}
		closedir(directory);
	}
}
