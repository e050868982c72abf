/* Tables from hostile and unusual files; the cells that the unwinder searches; the cache on disk. */
#include "host_unwinder.h"

#include "unwind/cache.h"
#include "unwind/cfi.h"
#include "unwind/code.h"
#include "unwind/table.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void *file_read(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	void *bytes;

	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	*size = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*size);
	if (fread(bytes, 1, *size, file) != *size)
		*size = 0;
	fclose(file);
	return bytes;
}

/* The smallest file there is with unwind information: one segment that is file and text, .eh_frame found
 * through its header. */
struct tiny_elf {
	Elf64_Ehdr header;
	Elf64_Phdr programs[2];
	uint8_t eh_frame_hdr[8];
	uint8_t eh_frame[512];
	uint8_t text[512];
};

#define TEXT_OFFSET offsetof(struct tiny_elf, text)

static void tiny_make(struct tiny_elf *elf, const uint8_t *eh_frame, size_t size)
{
	int32_t to_frame =
		(int32_t)(offsetof(struct tiny_elf, eh_frame) - offsetof(struct tiny_elf, eh_frame_hdr) - 4);

	memset(elf, 0, sizeof(*elf));
	memcpy(elf->header.e_ident, ELFMAG, SELFMAG);
	elf->header.e_ident[EI_CLASS] = ELFCLASS64;
	elf->header.e_ident[EI_DATA] = ELFDATA2LSB;
	elf->header.e_ident[EI_VERSION] = EV_CURRENT;
	elf->header.e_type = ET_DYN;
	elf->header.e_machine = EM_X86_64;
	elf->header.e_version = EV_CURRENT;
	elf->header.e_phoff = offsetof(struct tiny_elf, programs);
	elf->header.e_ehsize = sizeof(elf->header);
	elf->header.e_phentsize = sizeof(elf->programs[0]);
	elf->header.e_phnum = 2;
	elf->programs[0] = (Elf64_Phdr){.p_type = PT_LOAD,
					.p_flags = PF_R | PF_X,
					.p_filesz = sizeof(*elf),
					.p_memsz = sizeof(*elf),
					.p_align = 4096};
	elf->programs[1] = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
					.p_flags = PF_R,
					.p_offset = offsetof(struct tiny_elf, eh_frame_hdr),
					.p_vaddr = offsetof(struct tiny_elf, eh_frame_hdr),
					.p_filesz = sizeof(elf->eh_frame_hdr)};
	elf->eh_frame_hdr[0] = 1;
	elf->eh_frame_hdr[1] = 0x1b; /* pc-relative, 4 bytes */
	elf->eh_frame_hdr[2] = 0xff;
	elf->eh_frame_hdr[3] = 0xff;
	memcpy(elf->eh_frame_hdr + 4, &to_frame, 4);
	memcpy(elf->eh_frame, eh_frame, size);
	memset(elf->text, 0xc3, sizeof(elf->text));
}

/* A CIE as GCC makes them: CFA = rsp + 8, return address at CFA - 8; then FDEs with the given instructions,
 * for 32 bytes of text each. Pointers are absolute. */
static size_t frames_make(uint8_t *out, size_t count, const uint8_t *const *instructions, const size_t *sizes)
{
	static const uint8_t cie[] = {0,    0,	  0, 0, 1,    'z', 'R', 0, 1, 0x78, 16, 1,
				      0x04, 0x0c, 7, 8, 0x90, 1,   0,	0, 0, 0,    0,	0};
	size_t at = 0;
	uint32_t word = sizeof(cie);

	memcpy(out, &word, 4);
	memcpy(out + 4, cie, sizeof(cie));
	at = 4 + sizeof(cie);
	for (size_t i = 0; i < count; i++) {
		uint64_t start = TEXT_OFFSET + i * 32, length = 32;
		size_t size = 4 + 8 + 8 + 1 + sizes[i];

		word = (uint32_t)size;
		memcpy(out + at, &word, 4);
		word = (uint32_t)at + 4;
		memcpy(out + at + 4, &word, 4); /* back to the CIE at 0 */
		memcpy(out + at + 8, &start, 8);
		memcpy(out + at + 16, &length, 8);
		out[at + 24] = 0;
		memcpy(out + at + 25, instructions[i], sizes[i]);
		at += 4 + size;
	}
	memset(out + at, 0, 4);
	return at + 4;
}

static void tiny_table(size_t count, const uint8_t *const *instructions, const size_t *sizes, uint64_t entry,
		       struct fperf_unwind_table *table)
{
	static struct tiny_elf file;
	uint8_t frames[512];
	struct fperf_error err = {0};
	struct fperf_elf *elf;
	size_t size = frames_make(frames, count, instructions, sizes);

	tiny_make(&file, frames, size);
	file.header.e_entry = entry;
	if (entry) {
		file.header.e_type = ET_EXEC;
	}
	cr_assert_eq(fperf_elf__open_memory(&file, sizeof(file), "tiny", &elf, &err), 0, "%s", err.text);
	cr_assert_eq(fperf_unwind_table__build(elf, 0, table, &err), 0, "%s", err.text);
	fperf_elf__close(elf);
}

#define RULE(offset) (FPERF_RULE_SP | (uint32_t)(offset) / 8 << 16)

Test(unwind, rows_follow_instructions)
{
	/* advance 1, CFA offset 16, rbp at CFA - 16; advance 4, CFA = rbp + 16; advance 10, CFA = rsp + 8,
	 * rbp same */
	static const uint8_t push[] = {0x41, 0x0e, 16, 0x86, 2, 0x44, 0x0d, 6, 0x4a, 0x0c, 7, 8, 0xc6};
	const uint8_t *instructions[] = {push};
	const size_t sizes[] = {sizeof(push)};
	struct fperf_unwind_table table;

	tiny_table(1, instructions, sizes, 0, &table);
	cr_assert_eq(table.count, 5);
	cr_expect_eq(table.rows[0].offset, TEXT_OFFSET);
	cr_expect_eq(table.rows[0].rule, RULE(8));
	cr_expect_eq(table.rows[1].offset, TEXT_OFFSET + 1);
	cr_expect_eq(table.rows[1].rule, RULE(16) | 2 << 8);
	cr_expect_eq(table.rows[2].rule, FPERF_RULE_FP | 2u << 8 | 2u << 16);
	cr_expect_eq(table.rows[3].rule, RULE(8));
	cr_expect_eq(table.rows[4].offset, TEXT_OFFSET + 32);
	cr_expect_eq(table.rows[4].rule, FPERF_RULE_NONE);
	cr_expect_eq(fperf_unwind_table__find(&table, TEXT_OFFSET + 4), RULE(16) | 2 << 8);
	cr_expect_eq(fperf_unwind_table__find(&table, TEXT_OFFSET - 1), FPERF_RULE_NONE);
	cr_expect_eq(fperf_unwind_table__find(&table, TEXT_OFFSET + 32), FPERF_RULE_NONE);
	fperf_unwind_table__free(&table);
}

Test(unwind, equal_neighbours_are_one_row)
{
	const uint8_t *instructions[] = {(const uint8_t *)"", (const uint8_t *)"", (const uint8_t *)""};
	const size_t sizes[] = {0, 0, 0};
	struct fperf_unwind_table table;

	tiny_table(3, instructions, sizes, 0, &table);
	cr_assert_eq(table.count, 2);
	cr_expect_eq(table.rows[1].offset, TEXT_OFFSET + 96);
	fperf_unwind_table__free(&table);
}

Test(unwind, undefined_return_address_is_the_end)
{
	static const uint8_t undefined[] = {0x07, 16}, nothing[] = {0};
	const uint8_t *instructions[] = {nothing, undefined};
	const size_t sizes[] = {1, 2};
	struct fperf_unwind_table table;

	tiny_table(2, instructions, sizes, 0, &table);
	cr_expect_eq(fperf_unwind_table__find(&table, TEXT_OFFSET + 40), FPERF_RULE_END);
	fperf_unwind_table__free(&table);
}

Test(unwind, entry_point_is_the_end_with_and_without_rows)
{
	static const uint8_t nothing[] = {0};
	const uint8_t *instructions[] = {nothing};
	const size_t sizes[] = {1};
	struct fperf_unwind_table table;

	tiny_table(1, instructions, sizes, TEXT_OFFSET + 8, &table); /* an FDE that does not say so */
	cr_expect_eq(fperf_unwind_table__find(&table, TEXT_OFFSET + 20), FPERF_RULE_END);
	fperf_unwind_table__free(&table);
	tiny_table(1, instructions, sizes, TEXT_OFFSET + 200, &table); /* no FDE at all */
	cr_expect_eq(fperf_unwind_table__find(&table, TEXT_OFFSET + 20), RULE(8));
	cr_expect_eq(fperf_unwind_table__find(&table, TEXT_OFFSET + 199), FPERF_RULE_NONE);
	cr_expect_eq(fperf_unwind_table__find(&table, TEXT_OFFSET + 210), FPERF_RULE_END);
	cr_expect_eq(fperf_unwind_table__find(&table, TEXT_OFFSET + 300), FPERF_RULE_NONE);
	fperf_unwind_table__free(&table);
}

Test(unwind, a_function_that_cannot_be_read_has_no_rows)
{
	static const uint8_t good[] = {0x41, 0x0e, 16}, restore_nothing[] = {0x41, 0x0e, 16, 0x41, 0x0b},
			     unknown[] = {0x41, 0x0e, 16, 0x3f}, cut[] = {0x41, 0x0e};
	const uint8_t *instructions[] = {good, restore_nothing, unknown, cut, good};
	const size_t sizes[] = {sizeof(good), sizeof(restore_nothing), sizeof(unknown), sizeof(cut),
				sizeof(good)};
	struct fperf_unwind_table table;

	tiny_table(5, instructions, sizes, 0, &table);
	cr_expect_eq(table.damaged, 3);
	cr_expect_eq(fperf_unwind_table__find(&table, TEXT_OFFSET + 2), RULE(16));
	for (uint32_t bad = 1; bad <= 3; bad++)
		for (uint32_t at = 0; at < 32; at++)
			cr_expect_eq(fperf_unwind_table__find(&table, TEXT_OFFSET + bad * 32 + at),
				     FPERF_RULE_NONE);
	cr_expect_eq(fperf_unwind_table__find(&table, TEXT_OFFSET + 4 * 32 + 2), RULE(16));
	fperf_unwind_table__free(&table);
}

Test(unwind, what_a_rule_cannot_hold_is_unsupported)
{
	/* return address elsewhere; CFA from an expression that multiplies; an odd offset */
	static const uint8_t ra[] = {0x90, 3}, expression[] = {0x0f, 3, 0x77, 0, 0x1e}, odd[] = {0x0e, 13};
	const uint8_t *instructions[] = {ra, expression, odd};
	const size_t sizes[] = {sizeof(ra), sizeof(expression), sizeof(odd)};
	struct fperf_unwind_table table;

	tiny_table(3, instructions, sizes, 0, &table);
	cr_expect_eq(table.count, 2);
	cr_expect_eq(table.rows[0].rule, FPERF_RULE_UNSUPPORTED);
	cr_expect_eq(table.unsupported, 1);
	fperf_unwind_table__free(&table);
}

Test(unwind, large_frames_have_a_rule)
{
	static const uint8_t large[] = {0x0e, 0x88, 0x80, 0x80, 0x01 /* 2 MiB + 8 */, 0x86, 4},
			     enormous[] = {0x0e, 0x80, 0x80, 0x80, 0x80, 0x02 /* 512 MiB */};
	const uint8_t *instructions[] = {large, enormous};
	const size_t sizes[] = {sizeof(large), sizeof(enormous)};
	struct fperf_unwind_table table;
	uint32_t rule;

	tiny_table(2, instructions, sizes, 0, &table);
	rule = fperf_unwind_table__find(&table, TEXT_OFFSET);
	cr_expect_eq(rule & 0xf, FPERF_RULE_LARGE);
	cr_expect_eq((rule >> 11) * 8, (2 << 20) + 8);
	cr_expect_eq(rule >> 8 & 7, 3);
	cr_expect_eq(fperf_unwind_table__find(&table, TEXT_OFFSET + 32), FPERF_RULE_UNSUPPORTED);
	fperf_unwind_table__free(&table);
}

Test(unwind, padding_is_known_from_code)
{
	static const uint8_t padding[] = {0x90, 0x66, 0x90, 0x0f, 0x1f, 0x00, 0x0f, 0x1f,
					  0x44, 0x00, 0x00, 0x66, 0x2e, 0x0f, 0x1f, 0x84,
					  0x00, 0x00, 0x00, 0x00, 0x00, 0xcc, 0x00};
	static const uint8_t code[] = {0x90, 0x48, 0x89, 0xe5}, cut[] = {0x0f, 0x1f, 0x84, 0x00};

	cr_expect(code_is_padding(EM_X86_64, padding, sizeof(padding)));
	cr_expect_not(code_is_padding(EM_X86_64, code, sizeof(code)));
	cr_expect_not(code_is_padding(EM_X86_64, cut, sizeof(cut)));
}

Test(unwind, jumps_through_thread_memory_are_known_from_code)
{
	static const uint8_t jump[] = {0x48, 0x8b, 0x05, 0x99, 0xb4, 0x06, 0x00, 0x64, 0x4c,
				       0x8b, 0x18, 0x41, 0xff, 0xa3, 0xc0, 0x02, 0x00, 0x00};
	uint8_t other[sizeof(jump)];

	cr_expect_eq(code_thread_jump(jump, sizeof(jump)), sizeof(jump));
	for (size_t size = 0; size < sizeof(jump); size++)
		cr_expect_eq(code_thread_jump(jump, size), 0, "cut at %zu", size);
	memcpy(other, jump, sizeof(jump));
	other[12] = 0xe8; /* no jump */
	cr_expect_eq(code_thread_jump(other, sizeof(other)), 0);
	memcpy(other, jump, sizeof(jump));
	other[2] = 0x25; /* loads rsp */
	cr_expect_eq(code_thread_jump(other, sizeof(other)), 0);
}

#if defined(__x86_64__)

/* The block index leads to what plain search finds, for every address; tables beyond one shard too. */
Test(unwind, cells_find_what_plain_search_finds)
{
	struct fperf_unwind_table table;
	struct host_unwinder *host = host_unwinder_new();
	struct fperf_error err = {0};
	struct fperf_elf *elf;
	uint32_t end;

	cr_assert_eq(fperf_elf__open("/proc/self/exe", &elf, &err), 0);
	cr_assert_eq(fperf_unwind_table__build(elf, 0, &table, &err), 0);
	end = table.rows[table.count - 1].offset;
	host_unwinder_map(host, 0x100000000, 0x100000000 + end + 4096, 0, &table);
	for (uint32_t offset = table.rows[0].offset - 4; offset < end + 4; offset += 1 + offset % 3)
		cr_assert_eq(host_unwinder_lookup(host, 0x100000000 + offset),
			     fperf_unwind_table__find(&table, offset), "at 0x%x", offset);
	host_unwinder_free(host);
	fperf_unwind_table__free(&table);
	fperf_elf__close(elf);
}

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Byte flips in the unwind information of a real library: never a crash, sorted rows, bounded work. */
Test(unwind, flipped_bytes_are_survived, .timeout = 60)
{
	struct fperf_elf_section eh_frame, hdr;
	struct fperf_error err = {0};
	size_t size = 0, eh_at, hdr_at;
	struct fperf_elf *elf;
	uint8_t *bytes = file_read("/proc/self/exe", &size), *copy = malloc(size);
	uint32_t random = 7;

	cr_assert_eq(fperf_elf__open_memory(bytes, size, "original", &elf, &err), 0);
	cr_assert(fperf_elf__eh_frame(elf, &eh_frame, &hdr));
	eh_at = (size_t)(eh_frame.data - bytes);
	hdr_at = (size_t)(hdr.data - bytes);
	fperf_elf__close(elf);
	memcpy(copy, bytes, size);
	for (int turn = 0; turn < 150; turn++) {
		struct fperf_unwind_table table;
		size_t flips = 1 + random_next(&random) % 64, first = 0;

		for (size_t i = 0; i < flips; i++) {
			size_t at = random_next(&random) % 8 ? eh_at + random_next(&random) % eh_frame.size
							     : hdr_at + random_next(&random) % hdr.size;

			copy[at] = (uint8_t)random_next(&random);
		}
		cr_assert_eq(fperf_elf__open_memory(copy, size, "flipped", &elf, &err), 0);
		if (fperf_unwind_table__build(elf, 1 << 20, &table, &err) == 0) {
			for (size_t i = 1; i < table.count; i++)
				cr_assert_gt(table.rows[i].offset, table.rows[i - 1].offset);
			cr_assert(!table.count || table.rows[table.count - 1].rule == FPERF_RULE_NONE);
			first = table.count;
			fperf_unwind_table__free(&table);
		}
		cr_assert_leq(first, 1 << 20);
		fperf_elf__close(elf);
		memcpy(copy + eh_at, bytes + eh_at, eh_frame.size);
		memcpy(copy + hdr_at, bytes + hdr_at, hdr.size);
	}
	free(copy);
	free(bytes);
}

Test(unwind, the_row_limit_holds)
{
	struct fperf_unwind_table table;
	struct fperf_error err = {0};
	struct fperf_elf *elf;

	cr_assert_eq(fperf_elf__open("/proc/self/exe", &elf, &err), 0);
	cr_expect_eq(fperf_unwind_table__build(elf, 100, &table, &err), -E2BIG);
	cr_expect_null(table.rows);
	fperf_elf__close(elf);
}

Test(unwind, the_cache_gives_back_what_it_was_given_and_nothing_else)
{
	char folder[] = "/tmp/unwind-cache-XXXXXX", command[128], path[4200];
	struct fperf_unwind_cache_dir *cache;
	struct fperf_unwind_table table, cached;
	struct fperf_error err = {0};
	struct fperf_elf *elf;
	FILE *list;
	int fd;

	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(fperf_unwind_cache__open(folder, 0, &cache, &err), 0, "%s", err.text);
	cr_assert_eq(fperf_elf__open("/lib64/ld-linux-x86-64.so.2", &elf, &err), 0);
	cr_assert_eq(fperf_unwind_table__build(elf, 0, &table, &err), 0);
	cr_expect_not(fperf_unwind_cache__load(cache, elf, &cached));
	fperf_unwind_cache__store(cache, elf, &table);
	cr_assert(fperf_unwind_cache__load(cache, elf, &cached));
	cr_expect_eq(cached.count, table.count);
	cr_expect_arr_eq(cached.rows, table.rows, table.count * sizeof(*table.rows));
	fperf_unwind_table__free(&cached);

	snprintf(command, sizeof(command), "echo %s/*.rows", folder);
	list = popen(command, "r");
	cr_assert_not_null(fgets(path, sizeof(path), list));
	pclose(list);
	path[strcspn(path, "\n")] = '\0';
	fd = open(path, O_RDWR);
	cr_assert_geq(fd, 0);
	cr_assert_eq(pwrite(fd, "x", 1, 5000), 1); /* one byte wrong */
	cr_expect_not(fperf_unwind_cache__load(cache, elf, &cached));
	fperf_unwind_cache__store(cache, elf, &table);
	close(fd);
	cr_assert_eq(truncate(path, 6000), 0);
	cr_expect_not(fperf_unwind_cache__load(cache, elf, &cached));
	fperf_unwind_cache__store(cache, elf, &table);
	cr_assert_eq(chmod(path, 0666), 0); /* others may have written it */
	cr_expect_not(fperf_unwind_cache__load(cache, elf, &cached));
	fperf_unwind_cache__close(cache);

	cr_assert_eq(chmod(folder, 0777), 0);
	cr_expect_eq(fperf_unwind_cache__open(folder, 0, &cache, &err), -EPERM);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	cr_expect_eq(system(command), 0);
	fperf_unwind_table__free(&table);
	fperf_elf__close(elf);
}

#endif
