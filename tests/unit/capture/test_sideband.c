#include "capture/sideband.h"

#include <criterion/criterion.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define WITH_BUILD_ID (1 << 14) /* PERF_RECORD_MISC_MMAP_BUILD_ID */

struct mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, size, file_offset;
	uint8_t identity[24];
	uint32_t protection, flags;
	char name[64];
	uint64_t time_ns;
};

static struct mmap2 record_make(const char *name, uint16_t misc)
{
	struct mmap2 record = {
		.header = {.type = PERF_RECORD_MMAP2, .misc = misc, .size = sizeof(record)},
		.pid = 7,
		.tid = 8,
		.start = 0x1000,
		.size = 0x2000,
		.file_offset = 0x3000,
		.time_ns = 99,
	};

	strncpy(record.name, name, sizeof(record.name) - 1);
	return record;
}

Test(capture, sideband_takes_a_build_id)
{
	struct mmap2 record = record_make("/lib/x y.so", WITH_BUILD_ID);
	struct fperf_sideband_mapping mapping;

	record.identity[0] = 20;
	for (int i = 0; i < 20; i++)
		record.identity[4 + i] = (uint8_t)(i + 1);
	cr_assert(fperf_sideband__parse(&record, sizeof(record), &mapping));
	cr_assert_eq(mapping.pid, 7);
	cr_assert_eq(mapping.start, 0x1000);
	cr_assert_eq(mapping.size, 0x2000);
	cr_assert_eq(mapping.file_offset, 0x3000);
	cr_assert_eq(mapping.time_ns, 99);
	cr_assert_eq(mapping.build_id_size, 20);
	cr_assert_eq(mapping.build_id[19], 20);
	cr_assert_eq(mapping.inode, 0);
	cr_assert_str_eq(mapping.path, "/lib/x y.so");
}

Test(capture, sideband_takes_an_inode_and_forgets_the_record_before)
{
	struct mmap2 with_id = record_make("/a", WITH_BUILD_ID), record = record_make("/b", 0);
	struct fperf_sideband_mapping mapping;
	uint32_t major = 254, minor = 3;
	uint64_t inode = 12345;

	with_id.identity[0] = 20;
	cr_assert(fperf_sideband__parse(&with_id, sizeof(with_id), &mapping));
	memcpy(record.identity, &major, 4);
	memcpy(record.identity + 4, &minor, 4);
	memcpy(record.identity + 8, &inode, 8);
	cr_assert(fperf_sideband__parse(&record, sizeof(record), &mapping));
	cr_assert_eq(mapping.build_id_size, 0, "each module carries its own build ID or none");
	cr_assert_eq(mapping.device_major, 254);
	cr_assert_eq(mapping.inode, 12345);
}

Test(capture, sideband_anonymous_memory_has_no_path)
{
	struct mmap2 record = record_make("//anon", 0);
	struct fperf_sideband_mapping mapping;

	cr_assert(fperf_sideband__parse(&record, sizeof(record), &mapping));
	cr_assert_str_empty(mapping.path);
}

Test(capture, sideband_refuses_what_is_cut_or_unending)
{
	struct mmap2 record = record_make("/lib/a.so", 0);
	struct fperf_sideband_mapping mapping;

	for (size_t size = 0; size < offsetof(struct mmap2, name) + 8; size++) {
		uint8_t *copy = malloc(size ? size : 1); /* exact size, so that ASan sees a byte too far */

		memcpy(copy, &record, size);
		cr_assert_not(fperf_sideband__parse(copy, size, &mapping), "at %zu bytes", size);
		free(copy);
	}
	memset(record.name, 'x', sizeof(record.name)); /* no NUL */
	cr_assert_not(fperf_sideband__parse(&record, sizeof(record), &mapping));
	record = record_make("/lib/a.so", 0);
	record.size = UINT64_MAX; /* wraps around */
	cr_assert_not(fperf_sideband__parse(&record, sizeof(record), &mapping));
	record = record_make("/lib/a.so", 0);
	record.header.type = PERF_RECORD_COMM;
	cr_assert_not(fperf_sideband__parse(&record, sizeof(record), &mapping));
}
