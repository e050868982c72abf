#include "capture/freq_sysfs.h"
#include "capture/mark_library.h"
#include "capture/mark_view.h"
#include "capture/vulkan_cache.h"
#include "capture/vulkan_manifest.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *directory_new(void)
{
	char *path = strdup("/tmp/frameperf-files-XXXXXX");

	cr_assert(mkdtemp(path));
	return path;
}

static void directory_remove(char *path)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	cr_assert_eq(system(command), 0);
	free(path);
}

static void file_write(const char *directory, const char *name, const char *text)
{
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	cr_assert(file, "%s", path);
	fputs(text, file);
	fclose(file);
}

Test(capture, library_names_match_with_their_versions)
{
	cr_expect(fperf_library__matches("/usr/lib/libGLX.so.0.0.0", "libGLX.so.0"));
	cr_expect(fperf_library__matches("/usr/lib/libGLX.so.0", "libGLX.so.0"));
	cr_expect(fperf_library__matches("libGLX.so.0.0.0", "libGLX"));
	cr_expect(fperf_library__matches("/usr/lib/libSDL2-2.0.so.0.2600.5", "libSDL2-2.0.so.0"));
	cr_expect(fperf_library__matches("/x/libvulkan_lvp.so", "libvulkan_*"));
	cr_expect(fperf_library__matches("/opt/My Game/game (x86)", "game (x86)"));
	cr_expect_not(fperf_library__matches("/usr/lib/libGLX_mesa.so.0", "libGLX.so.0"));
	cr_expect_not(fperf_library__matches("/usr/lib/libGLX.so.01", "libGLX.so.0"));
	cr_expect_not(fperf_library__matches("/usr/lib/libGLX.so.0-gdb.py", "libGLX.so.0"));
	cr_expect_not(fperf_library__matches("/usr/lib/libGLXX.so", "libGLX"));
}

struct found {
	size_t count;
	char last[256];
};

static void found_path(void *context, const char *path)
{
	struct found *found = context;

	found->count++;
	snprintf(found->last, sizeof(found->last), "%s", path);
}

/* One entry "liba.so.1" => "/lib/liba.so.1" in the cache's layout. */
static size_t cache_make(uint8_t *cache, size_t capacity)
{
#if defined(__aarch64__)
	const uint32_t flags = 0x0a03;
#else
	const uint32_t flags = 0x0303;
#endif
	static const char strings[] = "liba.so.1\0/lib/liba.so.1";
	uint32_t entry[6] = {flags, 48 + 24, 48 + 24 + 10, 0, 0, 0}, count = 1;

	cr_assert_geq(capacity, 48 + 24 + sizeof(strings));
	memset(cache, 0, capacity);
	memcpy(cache, "glibc-ld.so.cache1.1", 20);
	memcpy(cache + 20, &count, 4);
	memcpy(cache + 48, entry, sizeof(entry));
	memcpy(cache + 48 + 24, strings, sizeof(strings));
	return 48 + 24 + sizeof(strings);
}

Test(capture, linker_cache_tells_where_a_library_is)
{
	struct found found = {0};
	uint8_t cache[256];
	size_t size = cache_make(cache, sizeof(cache));

	fperf_library__locate_in_cache(cache, size, "liba.so.1", found_path, &found);
	cr_expect_eq(found.count, 1);
	cr_expect_str_eq(found.last, "/lib/liba.so.1");
	fperf_library__locate_in_cache(cache, size, "liba.so", found_path, &found);
	cr_expect_eq(found.count, 1);
}

Test(capture, linker_cache_may_be_hostile)
{
	struct found found = {0};
	uint8_t cache[256];
	size_t size = cache_make(cache, sizeof(cache));

	for (size_t i = 0; i < size; i++)
		for (unsigned value = 0; value < 256; value += 51) {
			uint8_t old = cache[i], *copy = malloc(size);

			cache[i] = (uint8_t)value;
			memcpy(copy, cache, size);
			fperf_library__locate_in_cache(copy, size, "liba.so.1", found_path, &found);
			fperf_library__locate_in_cache(copy, i, "liba.so.1", found_path, &found);
			free(copy);
			cache[i] = old;
		}
	cr_expect_geq(found.count, 1, "the untouched one, at least");
}

Test(capture, own_library_is_located)
{
	struct found found = {0};

	fperf_library__locate(getpid(), "libc.so.6", found_path, &found);
	cr_expect_geq(found.count, 1);
	cr_expect_eq(access(found.last, R_OK), 0);
}

Test(capture, files_are_opened_as_the_process_sees_them)
{
	char *directory = directory_new(), path[300], link[300];
	struct fperf_file_id file, again;
	struct fperf_error err;
	int fd;

	file_write(directory, "game", "x");
	snprintf(path, sizeof(path), "%s/game", directory);
	snprintf(link, sizeof(link), "%s/link", directory);
	cr_assert_eq(symlink(path, link), 0);
	fd = fperf_view__open(getpid(), path, &file, &err);
	cr_assert_geq(fd, 0, "%s", err.text);
	close(fd);
	fd = fperf_view__open(getpid(), link, &again, &err);
	cr_assert_geq(fd, 0, "%s", err.text);
	close(fd);
	cr_expect_eq(file.inode, again.inode);
	cr_expect_eq(fperf_view__open(getpid(), directory, NULL, &err), -EINVAL);
	cr_expect_eq(fperf_view__open(getpid(), "/nowhere/at/all", NULL, &err), -ENOENT);
	cr_expect(strstr(err.text, "/nowhere/at/all"));
	snprintf(link, sizeof(link), "%s/fifo", directory);
	cr_assert_eq(mkfifo(link, 0600), 0);
	cr_expect_eq(fperf_view__open(getpid(), link, NULL, &err), -EINVAL, "and it does not wait");
	cr_expect_eq(fperf_view__inner_pid(getpid()) > 0, true);
	cr_expect_not(fperf_view__is_foreign(getpid()));
	directory_remove(directory);
}

static bool library(const char *text, char *path)
{
	return fperf_vulkan_manifest__library(text, strlen(text), path, 64);
}

Test(capture, vulkan_manifest_names_its_library)
{
	char path[64];

	cr_assert(library(
		"{\"ICD\": {\"api_version\": \"1.3\",\n \"library_path\" : \"/usr/lib/libvulkan_lvp.so\"}}",
		path));
	cr_expect_str_eq(path, "/usr/lib/libvulkan_lvp.so");
	cr_assert(library("{\"library_path\":\"C:\\\\a\\/b\"}", path));
	cr_expect_str_eq(path, "C:\\a/b");
	cr_expect_not(library("{}", path));
	cr_expect_not(library("{\"library_path\": 5}", path));
	cr_expect_not(library("{\"library_path\": \"\"}", path));
	cr_expect_not(library("{\"library_path\": \"/cut", path));
	cr_expect_not(library("{\"library_path\": \"/cut\\", path));
	cr_expect_not(library("{\"library_path\"", path));
	cr_expect_not(library(
		"{\"library_path\": "
		"\"/a/path/that/is/longer/than/the/place/there/is/for/it/in/the/buffer/of/this/test\"}",
		path));
}

static const uint8_t id[4] = {0xde, 0xad, 0xbe, 0xef};

Test(capture, vulkan_answers_are_kept)
{
	struct fperf_vulkan_answer answer = {.found = true, .file_offset = 0x5c4b0, .build_id_size = 3}, got;
	char *directory = directory_new(), cache[300];

	snprintf(cache, sizeof(cache), "%s/a/b", directory);
	memcpy(answer.build_id, "abc", 3);
	strcpy(answer.path, "/usr/lib/Proton 3.16/libvulkan_lvp.so");
	cr_expect_not(fperf_vulkan_cache__get(cache, id, 4, &got));
	fperf_vulkan_cache__put(cache, id, 4, &answer);
	cr_assert(fperf_vulkan_cache__get(cache, id, 4, &got));
	cr_expect(got.found);
	cr_expect_eq(got.file_offset, 0x5c4b0);
	cr_expect_eq(got.build_id_size, 3);
	cr_expect_str_eq(got.path, answer.path);
	cr_expect_not(fperf_vulkan_cache__get(cache, id, 3, &got), "another driver");
	answer.found = false;
	fperf_vulkan_cache__put(cache, id, 4, &answer);
	cr_assert(fperf_vulkan_cache__get(cache, id, 4, &got));
	cr_expect_not(got.found);
	fperf_vulkan_cache__put(cache, id, 0, &answer); /* no build ID: nothing to know it by */
	cr_expect_not(fperf_vulkan_cache__get(cache, id, 0, &got));
	directory_remove(directory);
}

Test(capture, vulkan_answers_of_others_are_not_believed)
{
	struct fperf_vulkan_answer answer = {.found = true,
					     .file_offset = 1,
					     .build_id_size = 1,
					     .path = "/x"},
				   got;
	char *directory = directory_new(), path[300];

	cr_assert_eq(chmod(directory, 0755), 0);
	fperf_vulkan_cache__put(directory, id, 4, &answer);
	cr_assert(fperf_vulkan_cache__get(directory, id, 4, &got));
	snprintf(path, sizeof(path), "%s/deadbeef", directory);
	cr_assert_eq(chmod(path, 0666), 0);
	cr_expect_not(fperf_vulkan_cache__get(directory, id, 4, &got), "a file that anybody may write");
	cr_assert_eq(chmod(path, 0644), 0);
	cr_assert_eq(chmod(directory, 0777), 0);
	cr_expect_not(fperf_vulkan_cache__get(directory, id, 4, &got), "a directory that anybody may write");
	cr_assert_eq(chmod(directory, 0755), 0);
	file_write(directory, "deadbeef", "frameperf vulkan driver 1\n0x10 zz\n/x\n");
	cr_expect_not(fperf_vulkan_cache__get(directory, id, 4, &got));
	file_write(directory, "deadbeef", "something else\n");
	cr_expect_not(fperf_vulkan_cache__get(directory, id, 4, &got));
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(symlink("/etc/passwd", path), 0);
	cr_expect_not(fperf_vulkan_cache__get(directory, id, 4, &got));
	directory_remove(directory);
}

static void cpu_make(const char *root, unsigned cpu, const char *current, const char *related)
{
	char name[300];

	snprintf(name, sizeof(name), "mkdir -p %s/cpu%u/cpufreq", root, cpu);
	cr_assert_eq(system(name), 0);
	snprintf(name, sizeof(name), "%s/cpu%u/cpufreq", root, cpu);
	file_write(name, "scaling_cur_freq", current);
	file_write(name, "scaling_min_freq", "400000\n");
	file_write(name, "scaling_max_freq", "1800000\n");
	file_write(name, "cpuinfo_min_freq", "300000\n");
	file_write(name, "cpuinfo_max_freq", "2000000\n");
	file_write(name, "related_cpus", related);
	file_write(name, "scaling_driver", "test-driver\n");
}

Test(capture, clocks_are_read_from_sysfs)
{
	struct fperf_freq_cpu cpus[8];
	char *root = directory_new(), driver[32];

	cr_expect_eq(fperf_freq_sysfs__read(root, 8, cpus, driver, sizeof(driver)), 0, "no cpufreq driver");
	cpu_make(root, 0, "1200000\n", "0 1\n");
	cpu_make(root, 1, "<unsupported>\n", "0 1\n");
	cpu_make(root, 5, "900000\n", "5\n"); /* 2, 3, 4 are offline */
	cr_assert_eq(fperf_freq_sysfs__read(root, 8, cpus, driver, sizeof(driver)), 3);
	cr_expect_str_eq(driver, "test-driver");
	cr_expect_eq(cpus[0].current, 1200000);
	cr_expect_eq(cpus[0].min, 400000);
	cr_expect_eq(cpus[0].max, 1800000);
	cr_expect_eq(cpus[0].hardware_min, 300000);
	cr_expect_eq(cpus[0].hardware_max, 2000000);
	cr_expect_eq(cpus[1].current, 0, "not told");
	cr_expect_eq(cpus[1].policy, 0);
	cr_expect_eq(cpus[2].cpu, 5);
	cr_expect_eq(cpus[2].policy, 5);
	directory_remove(root);
}
