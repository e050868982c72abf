#include "capture/proc_files.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool mapping_parse(const char *line, struct fperf_proc_mapping *mapping)
{
	return fperf_proc__parse_mapping(line, strlen(line), mapping);
}

Test(capture, maps_line_with_everything)
{
	struct fperf_proc_mapping mapping;

	cr_assert(mapping_parse(
		"7f0012340000-7f0012350000 r-xp 0001f000 fe:01 131 /opt/Proton 3.16/g (deleted)", &mapping));
	cr_assert_eq(mapping.start, 0x7f0012340000);
	cr_assert_eq(mapping.end, 0x7f0012350000);
	cr_assert_eq(mapping.file_offset, 0x1f000);
	cr_assert_eq(mapping.device_major, 0xfe);
	cr_assert_eq(mapping.device_minor, 1);
	cr_assert_eq(mapping.inode, 131);
	cr_assert(mapping.executable);
	cr_assert_str_eq(mapping.path, "/opt/Proton 3.16/g (deleted)");
}

Test(capture, maps_line_undoes_escaped_newlines_only)
{
	struct fperf_proc_mapping mapping;

	cr_assert(mapping_parse("1000-2000 r-xp 0 00:01 5    /a\\012b\\040c", &mapping));
	cr_assert_str_eq(mapping.path, "/a\nb\\040c");
}

Test(capture, maps_line_without_file)
{
	struct fperf_proc_mapping mapping;

	cr_assert(mapping_parse("1000-2000 rwxp 00000000 00:00 0 ", &mapping));
	cr_assert_str_empty(mapping.path);
	cr_assert(mapping_parse("1000-2000 rw-p 00000000 00:00 0 [heap]", &mapping));
	cr_assert_str_empty(mapping.path);
	cr_assert_not(mapping.executable);
	cr_assert(mapping_parse("1000-2000 r-xp 00000000 00:00 0 [vdso]", &mapping));
	cr_assert_str_eq(mapping.path, "[vdso]");
}

Test(capture, maps_line_that_is_none)
{
	struct fperf_proc_mapping mapping;

	cr_assert_not(mapping_parse("", &mapping));
	cr_assert_not(mapping_parse("zz", &mapping));
	cr_assert_not(mapping_parse("2000-1000 r-xp 0 00:00 0", &mapping), "ends before it starts");
	cr_assert_not(mapping_parse("1000-2000 r-xp", &mapping));
}

Test(capture, maps_line_with_a_path_too_long_is_cut)
{
	struct fperf_proc_mapping mapping;
	char line[9000] = "1000-2000 r-xp 0 00:01 5 /";
	size_t head = strlen(line);

	memset(line + head, 'x', 8000);
	line[head + 8000] = '\0';
	cr_assert(mapping_parse(line, &mapping));
	cr_assert_eq(strlen(mapping.path), sizeof(mapping.path) - 1);
}

Test(capture, stat_line_with_a_hostile_name)
{
	static const char line[] = "42 (a) R (b)) S 7 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 500 0 0";
	struct fperf_proc_task task = {0};

	cr_assert(fperf_proc__parse_stat(line, strlen(line), 100, 1000000000, &task));
	cr_assert_str_eq(task.name, "a) R (b)");
	cr_assert_eq(task.state, 'S');
	cr_assert_eq(task.parent_pid, 7);
	cr_assert_eq(task.start_ns, 4000000000ull, "5 s after boot, one of them suspended");
}

Test(capture, stat_line_that_is_cut)
{
	static const char line[] = "42 (name) S 7 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 500 0 0";
	struct fperf_proc_task task;

	for (size_t size = 0; size < strlen(line) - 8; size++) {
		char copy[sizeof(line)];

		memcpy(copy, line, size);
		copy[size] = '\0';
		cr_assert_not(fperf_proc__parse_stat(copy, size, 100, 0, &task), "at %zu bytes", size);
	}
}

Test(capture, proc_of_ourselves)
{
	struct fperf_proc_task task;
	struct fperf_error err = {0};
	uint32_t pid = (uint32_t)getpid(), *tids;
	size_t count;
	char exe[4096];

	cr_assert_eq(fperf_proc__task(pid, pid, &task, &err), 0, "%s", err.text);
	cr_assert_eq(task.parent_pid, (uint32_t)getppid());
	cr_assert_eq(fperf_proc__threads(pid, &tids, &count, &err), 0);
	cr_assert_geq(count, 1);
	free(tids);
	fperf_proc__exe(pid, exe, sizeof(exe));
	cr_assert_eq(exe[0], '/');
}

Test(capture, proc_of_nobody)
{
	struct fperf_proc_task task;
	struct fperf_error err = {0};
	uint32_t *tids;
	size_t count;

	cr_assert_eq(fperf_proc__task(4194303, 4194303, &task, &err), -3 /* ESRCH */);
	cr_assert(strstr(err.text, "4194303"));
	cr_assert_eq(fperf_proc__threads(4194303, &tids, &count, &err), -3);
}
