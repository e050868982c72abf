#include "capture/jit.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool parse(const char *line, struct fperf_jit_line *parsed)
{
	return fperf_jit__parse_line(line, strlen(line), parsed);
}

static void expect_name(const struct fperf_jit_line *line, const char *name)
{
	cr_expect_eq(line->name_size, strlen(name));
	cr_expect(!strncmp(line->name, name, line->name_size), "%.*s", (int)line->name_size, line->name);
}

Test(capture, perf_map_lines_come_in_several_styles)
{
	struct fperf_jit_line line;

	cr_assert(parse("7f0010 20 Main::run", &line));
	cr_expect_eq(line.address, 0x7f0010);
	cr_expect_eq(line.size, 0x20);
	expect_name(&line, "Main::run");
	cr_assert(parse("0x7f0010 0x20 void java.lang.String::<init>(char [], int)", &line));
	cr_expect_eq(line.address, 0x7f0010);
	expect_name(&line, "void java.lang.String::<init>(char [], int)");
	cr_assert(parse("\t7F00AB\t1\tx\r", &line));
	cr_expect_eq(line.address, 0x7f00ab);
	expect_name(&line, "x");
	cr_assert(parse("ffffffffffff0000 10 high", &line));
}

Test(capture, perf_map_lines_that_are_none_are_refused)
{
	static const char *const lines[] = {"",
					    "7f0010",
					    "7f0010 20",
					    "7f0010 20 ",
					    "zz 20 name",
					    "7f0010 -1 name",
					    "0 20 name",
					    "7f0010 0 name",
					    "ffffffffffffffff 20 wraps",
					    "10000000000000000 20 too long",
					    "0x 20 name",
					    "# comment"};
	struct fperf_jit_line line;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		cr_expect_not(parse(lines[i], &line), "'%s'", lines[i]);
}

Test(capture, perf_map_names_are_cut_at_the_limit)
{
	char *text = malloc(100020);
	struct fperf_jit_line line;

	cr_assert(text);
	memcpy(text, "1000 20 ", 8);
	memset(text + 8, 'x', 100000);
	cr_assert(fperf_jit__parse_line(text, 100008, &line));
	cr_expect_eq(line.name_size, FPERF_JIT_NAME_MAX);
	free(text);
}

struct taken {
	size_t count;
	char last[64];
	uint64_t last_address;
};

static void take(void *context, const struct fperf_jit_line *line)
{
	struct taken *taken = context;

	taken->count++;
	taken->last_address = line->address;
	snprintf(taken->last, sizeof(taken->last), "%.*s", (int)line->name_size, line->name);
}

static int temporary(char *path)
{
	int fd;

	strcpy(path, "/tmp/frameperf-map-XXXXXX");
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	return fd;
}

static void append(int fd, const char *text)
{
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static int64_t read_on(struct fperf_jit_map *map, int fd, bool final, struct taken *taken)
{
	struct fperf_error err;
	int64_t result = fperf_jit__read(map, fd, final, take, taken, &err);

	cr_assert_geq(result, 0, "%s", err.text);
	return result;
}

Test(capture, perf_map_is_read_as_it_grows)
{
	struct fperf_jit_map map = {0};
	struct taken taken = {0};
	char path[64];
	int fd = temporary(path);

	cr_expect_eq(read_on(&map, fd, false, &taken), 0, "still empty");
	append(fd, "1000 10 first\nnonsense\n2000 10 seco");
	cr_expect_eq(read_on(&map, fd, false, &taken), 1, "a half line is left for later");
	cr_expect_eq(map.bad, 1);
	append(fd, "nd function\n3000 10 thi");
	cr_expect_eq(read_on(&map, fd, false, &taken), 1);
	cr_expect_str_eq(taken.last, "second function");
	cr_expect_eq(read_on(&map, fd, true, &taken), 1, "at the end half a line is all there will be");
	cr_expect_str_eq(taken.last, "thi");
	cr_expect_eq(taken.count, 3);
	close(fd);
	unlink(path);
}

Test(capture, perf_map_that_was_written_anew_is_read_anew)
{
	struct fperf_jit_map map = {0};
	struct taken taken = {0};
	char path[64];
	int fd = temporary(path);

	append(fd, "1000 10 first\n2000 10 second\n");
	cr_expect_eq(read_on(&map, fd, false, &taken), 2);
	cr_assert_eq(ftruncate(fd, 0), 0);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	append(fd, "5000 10 new\n");
	cr_expect_eq(read_on(&map, fd, false, &taken), 1);
	cr_expect_eq(taken.last_address, 0x5000);
	close(fd);
	unlink(path);
}

Test(capture, perf_map_of_many_lines_and_endless_ones)
{
	struct fperf_jit_map map = {0};
	struct taken taken = {0};
	char path[64], line[64], *long_line = malloc(300001);
	int fd = temporary(path);
	FILE *file = fdopen(dup(fd), "w");

	cr_assert(long_line && file);
	memset(long_line, 'a', 300000);
	long_line[300000] = 0;
	for (int i = 1; i <= 20000; i++)
		fprintf(file, "%x000 100 function_%d\n", i, i);
	fputs(long_line, file); /* no newline for longer than any buffer */
	fputs("\n70000000 10 behind it\n", file);
	fclose(file);
	cr_expect_geq(read_on(&map, fd, true, &taken), 20001);
	cr_expect_eq(taken.last_address, 0x70000000);
	snprintf(line, sizeof(line), "80000000 10 more\n");
	append(fd, line);
	cr_expect_eq(read_on(&map, fd, false, &taken), 1);
	close(fd);
	unlink(path);
	free(long_line);
}
