/* What DWARF said, kept on disk: it comes back as it was or not at all. */
#include "fixture.h"
#include "symbolize/name_cache.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(name_cache, .init = fixture_enter, .fini = fixture_leave);

static const uint8_t id[20] = {1, 2, 3, 0xff};
static const struct fperf_name_key key = {
	.build_id = id, .build_id_size = sizeof(id), .file_size = 1234, .file_mtime_ns = 99};

static struct fperf_cache_dir *cache_open(void)
{
	struct fperf_cache_dir *cache = fperf_name_cache__open("names");

	cr_assert_not_null(cache);
	return cache;
}

/* The only file of the cache. */
static const char *cached_path(void)
{
	static char path[PATH_MAX];
	glob_t found;

	cr_assert_eq(glob("names/*.names", 0, NULL, &found), 0);
	cr_assert_eq(found.gl_pathc, 1);
	snprintf(path, sizeof(path), "%s", found.gl_pathv[0]);
	globfree(&found);
	return path;
}

static void fill(struct fperf_name_file *file, const char *name)
{
	const struct fperf_dwarf_entry entries[] = {{.function = name, .file = "a b.c", .line = 7},
						    {.function = "outer", .file = "", .line = 0}};

	for (uint64_t address = 100; address < 200; address++)
		cr_assert_eq(fperf_name_file__add(file, address, entries, 2), 0);
	cr_assert_eq(fperf_name_file__add(file, UINT64_MAX, NULL, 0), 0);
}

static void store(struct fperf_cache_dir *cache, const char *name)
{
	struct fperf_name_file file;

	cr_assert_eq(fperf_name_file__load(&file, cache, &key), 0);
	fill(&file, name);
	fperf_name_file__store(&file, cache, &key);
	fperf_name_file__free(&file);
}

/* Whether something is kept; if so, it has to be what fill() said. */
static bool kept(struct fperf_cache_dir *cache, const struct fperf_name_key *wanted, const char *name)
{
	struct fperf_dwarf_entry entries[FPERF_DWARF_DEPTH];
	struct fperf_name_file file;
	size_t count = 0;
	bool any;

	cr_assert_eq(fperf_name_file__load(&file, cache, wanted), 0);
	any = fperf_name_file__find(&file, 150, entries, &count);
	if (any) {
		cr_assert_eq(count, 2);
		cr_assert(!name || !strcmp(entries[0].function, name));
		cr_assert_str_eq(entries[0].file, "a b.c");
		cr_assert_eq(entries[0].line, 7);
		cr_assert_str_eq(entries[1].function, "outer");
		cr_assert(fperf_name_file__find(&file, UINT64_MAX, entries, &count) && count == 0);
		cr_assert_not(fperf_name_file__find(&file, 99, entries, &count));
	}
	fperf_name_file__free(&file);
	return any;
}

Test(name_cache, it_comes_back_for_the_same_file_only)
{
	struct fperf_cache_dir *cache = cache_open();
	struct fperf_name_key other = key;
	uint8_t other_id[20] = {1, 2, 3, 0xfe};

	cr_assert_not(kept(cache, &key, "part"));
	store(cache, "part");
	cr_assert(kept(cache, &key, "part"));
	other.file_mtime_ns++;
	cr_assert_not(kept(cache, &other, "part"));
	other = key;
	other.file_size++;
	cr_assert_not(kept(cache, &other, "part"));
	other = key;
	other.build_id = other_id;
	cr_assert_not(kept(cache, &other, "part"));
	other.build_id_size = 0;
	cr_assert_not(kept(cache, &other, "part"));
	fperf_cache_dir__close(cache);
}

Test(name_cache, nothing_of_a_damaged_file_is_believed)
{
	struct fperf_cache_dir *cache = cache_open();
	const char *path;
	long size;
	int fd;

	store(cache, "part");
	path = cached_path();
	fd = open(path, O_RDWR);
	size = lseek(fd, 0, SEEK_END);
	for (long at = 0; at < size; at += 1 + at / 40) {
		uint8_t byte, wrong;

		cr_assert_eq(pread(fd, &byte, 1, at), 1);
		wrong = byte ^ (uint8_t)(1 << at % 8);
		cr_assert_eq(pwrite(fd, &wrong, 1, at), 1);
		cr_assert_not(kept(cache, &key, NULL), "byte %ld", at);
		cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
	}
	cr_assert(kept(cache, &key, "part"));
	for (long left = size - 1; left > 0; left -= 1 + left / 20) {
		cr_assert_eq(ftruncate(fd, left), 0);
		cr_assert_not(kept(cache, &key, NULL), "%ld bytes", left);
	}
	close(fd);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(symlink("/etc/passwd", path), 0);
	cr_assert_not(kept(cache, &key, NULL));
	store(cache, "part"); /* replaces the link, not what it points to */
	cr_assert(kept(cache, &key, "part"));
	cr_assert_eq(chmod(path, 0666), 0);
	cr_assert_not(kept(cache, &key, NULL));
	fperf_cache_dir__close(cache);
}

Test(name_cache, a_directory_of_others_is_not_used)
{
	cr_assert_eq(mkdir("names", 0777), 0);
	cr_assert_eq(chmod("names", 0777), 0);
	cr_assert_null(fperf_name_cache__open("names"));
}

Test(name_cache, processes_may_write_at_once)
{
	struct fperf_cache_dir *cache = cache_open();
	int status;

	for (int process = 0; process < 6; process++) {
		char name[20];

		if (fork())
			continue;
		snprintf(name, sizeof(name), "part%d", process);
		for (int round = 0; round < 40; round++) {
			struct fperf_name_file file;

			if (fperf_name_file__load(&file, cache, &key))
				_exit(1);
			fill(&file, name);
			fperf_name_file__store(&file, cache, &key);
			fperf_name_file__free(&file);
			if (!kept(cache, &key, NULL))
				_exit(2);
		}
		_exit(0);
	}
	for (int process = 0; process < 6; process++) {
		cr_assert_gt(wait(&status), 0);
		cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
	}
	cr_assert(kept(cache, &key, NULL));
	cached_path(); /* one file */
	cr_assert_neq(access("names/.", F_OK), -1);
	fixture_run("test $(ls -A names | wc -l) = 1");
	fperf_cache_dir__close(cache);
}

static const char *names_of(const struct fixture_session *fixture, uint32_t module, uint64_t offset)
{
	struct fperf_symbolizer_options options = {
		.demangle = true, .lines = true, .cache = true, .cache_path = "names"};
	struct fperf_symbolizer *symbolizer;
	struct fperf_error err = {0};
	const char *names;

	cr_assert_eq(fperf_symbolizer__new(fixture->session, &options, &symbolizer, &err), 0, "%s", err.text);
	names = fixture_names(symbolizer, module, offset, FPERF_FRAME_PC);
	fperf_symbolizer__free(symbolizer);
	return names;
}

/* Names that are kept are used: told apart by a name that only the cache has. */
static void forge(const char *path, uint64_t address, const char *name)
{
	const struct fperf_dwarf_entry entry = {.function = name, .file = "x.c", .line = 3};
	struct fperf_cache_dir *cache = cache_open();
	uint8_t build_id[FPERF_BUILD_ID_MAX];
	struct fperf_name_key of = {.build_id = build_id};
	struct fperf_name_file file;
	struct fperf_error err = {0};
	struct fperf_elf *elf;
	struct stat status;

	cr_assert_eq(fperf_elf__open(path, &elf, &err), 0);
	of.build_id_size = fperf_elf__build_id(elf, build_id);
	fperf_elf__close(elf);
	cr_assert_eq(stat(path, &status), 0);
	of.file_size = (uint64_t)status.st_size;
	of.file_mtime_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec;
	cr_assert_eq(fperf_name_file__load(&file, cache, &of), 0);
	cr_assert_eq(fperf_name_file__add(&file, address, &entry, 1), 0);
	fperf_name_file__store(&file, cache, &of);
	fperf_name_file__free(&file);
	fperf_cache_dir__close(cache);
}

Test(name_cache, the_symbolizer_asks_it_first)
{
	struct fixture_session fixture = fixture_session_new();
	struct fperf_stack_frame frame = {.kind = FPERF_FRAME_PC};
	char path[PATH_MAX];

	fixture_write("p.c", "volatile int sink;\n"
			     "__attribute__((noinline)) static int hot(int x) { return sink * x; }\n"
			     "int main(int argc, char **argv) { return argv ? hot(argc) : 0; }\n");
	fixture_run("gcc -g -O2 -Wl,--build-id=sha1 p.c -o p");
	snprintf(path, sizeof(path), "%s/p", fixture_dir());
	frame.module = fixture_module(&fixture, path, path);
	frame.offset = fixture_offset("p", "hot");
	fixture_stack(&fixture, &frame, 1);
	fixture_seal(&fixture);

	cr_assert_str_eq(names_of(&fixture, frame.module, frame.offset), "hot p.c:2");
	cached_path();
	cr_assert_str_eq(names_of(&fixture, frame.module, frame.offset), "hot p.c:2");
	forge(path, fixture_address("p", "hot"), "forged");
	cr_assert_str_eq(names_of(&fixture, frame.module, frame.offset), "forged x.c:3");
	fixture_run("touch -d tomorrow p"); /* perhaps another file, which knows more */
	cr_assert_str_eq(names_of(&fixture, frame.module, frame.offset), "hot p.c:2");
	fperf_session__free(fixture.session);
}
