#include "capture/kallsyms.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file of its own for each test, removed at its end. */
static char *file_with(const char *text, size_t size)
{
	char *path = strdup("/tmp/frameperf-kallsyms-XXXXXX");
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, size), (ssize_t)size);
	close(fd);
	return path;
}

static void file_remove(char *path)
{
	unlink(path);
	free(path);
}

static const char kernel[] = "0000000000000100 D data_below\n"
			     "ffffffff81000000 T _stext\n"
			     "ffffffff81000000 T _text\n"
			     "ffffffff81000100 t local_one\n"
			     "ffffffff81000100 T global_one\n"
			     "ffffffff81000180 D variable\n"
			     "ffffffff81000200 T last\n"
			     "ffffffffc0000000 t module_start\t[gpu]\n"
			     "ffffffffc0000100 t module_end\t[gpu]\n"
			     "ffffffffc0400000 t other\t[net]\n";

static const char modules[] = "gpu 4096 1 - Live 0xffffffffc0000000\nnet 4096 0 - Live 0xffffffffc0400000\n";

static void resolve(const char *text, const char *module_text, const uint64_t *addresses, size_t count,
		    struct fperf_kallsyms_name *names)
{
	char *path = file_with(text, strlen(text)),
	     *module_path = file_with(module_text, strlen(module_text));
	struct fperf_error err;

	cr_assert_eq(fperf_kallsyms__resolve(path, module_path, addresses, count, names, &err), 0, "%s",
		     err.text);
	file_remove(path);
	file_remove(module_path);
}

Test(capture, kernel_base_is_stext)
{
	char *path = file_with(kernel, strlen(kernel));
	struct fperf_error err;
	uint64_t base = 0;

	cr_assert_eq(fperf_kallsyms__base(path, &base, &err), 0, "%s", err.text);
	cr_expect_eq(base, 0xffffffff81000000ull);
	file_remove(path);
}

Test(capture, hidden_kernel_addresses_are_refused_with_advice)
{
	static const char hidden[] = "0000000000000000 T _stext\n0000000000000000 T schedule\n";
	char *path = file_with(hidden, strlen(hidden));
	struct fperf_kallsyms_name names[1];
	uint64_t base, address = 0xffffffff81000010ull;
	struct fperf_error err;

	cr_expect_eq(fperf_kallsyms__base(path, &base, &err), -EACCES);
	cr_expect(strstr(err.text, "kptr_restrict"));
	cr_expect_eq(fperf_kallsyms__resolve(path, "/nowhere", &address, 1, names, &err), -EACCES);
	cr_expect_null(names[0].name, "a wrong name is worse than none");
	fperf_kallsyms__free_names(names, 1);
	file_remove(path);
}

Test(capture, kernel_names_cover_up_to_the_next_function)
{
	static const uint64_t addresses[] = {0xffffffff81000000ull, 0xffffffff810000ffull,
					     0xffffffff81000100ull, 0xffffffff810001f0ull,
					     0xffffffff81000210ull};
	struct fperf_kallsyms_name names[5];

	resolve(kernel, modules, addresses, 5, names);
	cr_expect_str_eq(names[0].name, "_text", "the shorter of two global names");
	cr_expect_str_eq(names[1].name, "_text");
	cr_expect_eq(names[1].size, 0x100);
	cr_expect_str_eq(names[2].name, "global_one", "global before local");
	cr_expect_str_eq(names[3].name, "global_one", "data is no function");
	cr_expect_eq(names[3].size, 0x100);
	cr_expect_str_eq(names[4].name, "last");
	cr_expect_eq(names[4].size, 0, "the next function is too far away to tell the size");
	cr_expect_null(names[4].module);
	fperf_kallsyms__free_names(names, 5);
}

Test(capture, kernel_names_end_with_their_module)
{
	static const uint64_t addresses[] = {0x10ull,
					     0xffffffffc0000050ull,
					     0xffffffffc0000ff0ull,
					     0xffffffffc0001000ull,
					     0xffffffffc0400001ull,
					     0xffffffffc0900000ull};
	struct fperf_kallsyms_name names[6];

	resolve(kernel, modules, addresses, 6, names);
	cr_expect_null(names[0].name, "below everything");
	cr_expect_str_eq(names[1].name, "module_start");
	cr_expect_str_eq(names[1].module, "gpu");
	cr_expect_str_eq(names[2].name, "module_end");
	cr_expect_null(names[3].name, "behind the end of the module");
	cr_expect_str_eq(names[4].name, "other");
	cr_expect_null(names[5].name, "too far from anything");
	fperf_kallsyms__free_names(names, 6);
}

Test(capture, kernel_names_survive_nonsense)
{
	static const uint64_t addresses[] = {0xffffffff81000010ull};
	size_t size = 0, capacity = 400000;
	char *text = malloc(capacity);
	struct fperf_kallsyms_name names[1];
	struct fperf_error err;
	char *path;

	cr_assert(text);
	size += (size_t)snprintf(text, capacity, "\n\nffffffff81000000\nxyz T name\nffffffff81000000 T \n");
	size += (size_t)snprintf(text + size, capacity - size, "ffffffff81000008 T ");
	memset(text + size, 'n', 300000); /* a name that no buffer holds */
	size += 300000;
	size += (size_t)snprintf(text + size, capacity - size, "\nffffffff81000004 T fine\nffffffff8100");
	path = file_with(text, size);
	cr_assert_eq(fperf_kallsyms__resolve(path, "/nowhere", addresses, 1, names, &err), 0, "%s", err.text);
	cr_assert(names[0].name);
	cr_expect_eq(names[0].name[0], 'n', "cut, but the nearest");
	cr_expect_lt(strlen(names[0].name), 2000);
	fperf_kallsyms__free_names(names, 1);
	file_remove(path);
	free(text);
}
