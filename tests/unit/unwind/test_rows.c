/* Every row of real files, and every step that it makes, against libdw. */
#include "host_unwinder.h"
#include "libdw_frame.h"

#include "symbolize/fde_index.h"
#include "unwind/table.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)

/* A process whose every byte of memory can be read and differs from its neighbours, but whose values look
 * like addresses above the stack pointer. */
static bool invented_read(void *context, uint64_t address, void *to, size_t size)
{
	(void)context;
	for (size_t i = 0; i < size; i += 8) {
		uint64_t value =
			((address + i) * 0x9e3779b97f4a7c15ull >> 20 & 0xfffffffff8ull) + 0x7f0000000000ull;

		memcpy((char *)to + i, &value, size - i < 8 ? size - i : 8);
	}
	return true;
}

struct comparison {
	uint64_t functions, rows, equal, unsupported, wrong;
	uint64_t from_code; /* rows where there is no unwind information: jumps through thread memory */
	char first_wrong[200];
};

static void wrong(struct comparison *comparison, uint64_t address, uint32_t rule, const char *what,
		  uint64_t ours, uint64_t theirs)
{
	if (!comparison->wrong++)
		snprintf(comparison->first_wrong, sizeof(comparison->first_wrong),
			 "at 0x%llx, rule 0x%08x: %s is 0x%llx, libdw says 0x%llx",
			 (unsigned long long)address, rule, what, (unsigned long long)ours,
			 (unsigned long long)theirs);
}

/* Returns where libdw's row ends, 0 when it has none. */
static uint64_t row_compare(struct comparison *comparison, Dwarf_CFI *cfi, uint64_t address, uint32_t rule)
{
	uint64_t registers[16];
	struct host_memory memory = {invented_read, NULL};
	struct host_registers at = {.leaf = true, .all = registers};
	struct libdw_caller caller = {0};
	struct host_stack stack;
	enum libdw_answer answer;

	for (unsigned int i = 0; i < 16; i++)
		registers[i] = 0x7f0000000000ull + i * 0x10000000ull;
	registers[7] = 0x700000000000ull; /* sp: below everything, so that each step is progress */
	at.pc = address;
	at.sp = registers[7];
	at.fp = registers[6];
	answer = libdw_caller_get(cfi, address, &memory, &at, &caller);
	comparison->rows++;
	if ((rule & 0xf) == FPERF_RULE_UNSUPPORTED || answer == LIBDW_UNKNOWN) {
		comparison->unsupported++;
		return caller.end;
	}
	if (rule == (FPERF_RULE_SP | 1u << 16) && answer == LIBDW_NO_FRAME) {
		comparison->from_code++;
		return caller.end;
	}
	if ((rule & 0xf) == FPERF_RULE_NONE || answer == LIBDW_NO_FRAME) {
		if (((rule & 0xf) == FPERF_RULE_NONE) != (answer == LIBDW_NO_FRAME))
			wrong(comparison, address, rule, "coverage", rule & 0xf, answer);
		return caller.end;
	}
	if ((rule & 0xf) == FPERF_RULE_END || answer == LIBDW_END) {
		if (((rule & 0xf) == FPERF_RULE_END) != (answer == LIBDW_END))
			wrong(comparison, address, rule, "end", rule & 0xf, answer);
		return caller.end;
	}
	if (!host_unwinder_rule(&memory, &at, rule, &stack))
		wrong(comparison, address, rule, "outcome", stack.outcome, FPERF_STACK_COMPLETE);
	else if (stack.sp != caller.cfa && (rule & 0xf) != FPERF_RULE_SIGNAL)
		wrong(comparison, address, rule, "CFA", stack.sp, caller.cfa);
	else if (stack.frames[0] != caller.ra)
		wrong(comparison, address, rule, "return address", stack.frames[0], caller.ra);
	else if (!stack.fp_lost && (!caller.fp_known || stack.fp != caller.fp))
		wrong(comparison, address, rule, "fp", stack.fp, caller.fp);
	else if (!stack.bx_lost && caller.bx_known && stack.bx != caller.bx)
		wrong(comparison, address, rule, "rbx", stack.bx, caller.bx);
	else
		comparison->equal++;
	return caller.end;
}

/* The entry point is ours to call the end, and jumps through thread memory are known from their code. */
static uint64_t address_compare(struct comparison *comparison, Dwarf_CFI *cfi, const struct fperf_elf *elf,
				const struct fperf_unwind_table *table, uint64_t address)
{
	uint64_t offset;
	uint32_t rule;

	if (!fperf_elf__address_to_offset(elf, address, &offset))
		return 0;
	rule = fperf_unwind_table__find(table, (uint32_t)offset);
	if ((rule & 0xf) == FPERF_RULE_END && offset == fperf_elf__entry(elf))
		return 0;
	return row_compare(comparison, cfi, address, rule);
}

/* From each function's first address on, wherever libdw says that another row begins: so all of them. Then
 * wherever ours begin, which must not be elsewhere. */
static void rows_compare(struct comparison *comparison, Dwarf_CFI *cfi, const struct fperf_elf *elf,
			 const struct fperf_unwind_table *table, size_t stride)
{
	struct fperf_fde_index index = fperf_fde_index__open(elf);
	uint64_t start = fperf_fde_index__next(&index, 0), address;

	for (size_t i = 0; start != UINT64_MAX; i++) {
		uint64_t end = 0;

		if (i % stride == 0 && fperf_fde_index__find(&index, start, &start, &end))
			comparison->functions++;
		for (address = start; address && address < end;)
			address = address_compare(comparison, cfi, elf, table, address);
		start = fperf_fde_index__next(&index, start);
	}
	for (size_t i = 0; i + 1 < table->count; i += stride) {
		if (fperf_elf__offset_to_address(elf, table->rows[i].offset, &address))
			address_compare(comparison, cfi, elf, table, address);
	}
}

static void file_compare(const char *path, size_t stride, struct comparison *comparison)
{
	struct fperf_unwind_table table;
	struct fperf_error err = {0};
	struct fperf_elf *elf;
	Dwarf_CFI *cfi;
	Elf *libelf;
	int fd;

	elf_version(EV_CURRENT);
	fd = open(path, O_RDONLY);
	cr_assert_geq(fd, 0);
	libelf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	cfi = dwarf_getcfi_elf(libelf);
	cr_assert_not_null(cfi, "%s", path);
	cr_assert_eq(fperf_elf__open(path, &elf, &err), 0, "%s", err.text);
	cr_assert_eq(fperf_unwind_table__build(elf, 0, &table, &err), 0, "%s", err.text);
	rows_compare(comparison, cfi, elf, &table, stride);
	fperf_unwind_table__free(&table);
	fperf_elf__close(elf);
	dwarf_cfi_end(cfi);
	elf_end(libelf);
	close(fd);
}

static void check_file(const char *path, size_t stride)
{
	struct comparison comparison = {0};

	if (access(path, R_OK))
		return;
	file_compare(path, stride, &comparison);
	cr_expect_eq(comparison.wrong, 0, "%s: %llu of %llu rows wrong, first %s", path,
		     (unsigned long long)comparison.wrong, (unsigned long long)comparison.rows,
		     comparison.first_wrong);
	cr_expect_gt(comparison.equal, 0, "%s: nothing was compared", path);
	cr_expect_lt(comparison.unsupported * 1000, comparison.rows, "%s: %llu rows cannot be expressed",
		     path, (unsigned long long)comparison.unsupported);
	if (getenv("VERBOSE"))
		fprintf(stderr, "%s: %llu functions, %llu rows, %llu equal, %llu unsupported, %llu wrong\n",
			path, (unsigned long long)comparison.functions, (unsigned long long)comparison.rows,
			(unsigned long long)comparison.equal, (unsigned long long)comparison.unsupported,
			(unsigned long long)comparison.wrong);
}

Test(unwind, rows_of_libc_equal_libdw, .timeout = 60)
{
	check_file("/lib/x86_64-linux-gnu/libc.so.6", 1);
	check_file("/lib64/ld-linux-x86-64.so.2", 1);
}

Test(unwind, rows_of_own_program_equal_libdw, .timeout = 60)
{
	check_file("/proc/self/exe", 1);
}

/* Set FPERF_UNWIND_FILES to a glob pattern to compare more files, every row of them. */
Test(unwind, rows_of_libraries_equal_libdw, .timeout = 600)
{
	const char *pattern = getenv("FPERF_UNWIND_FILES");
	glob_t found = {0};

	check_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 7);
	check_file("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", 7);
	check_file("/usr/lib/x86_64-linux-gnu/dri/swrast_dri.so", 31);
	if (pattern && glob(pattern, GLOB_BRACE, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			check_file(found.gl_pathv[i], 1);
		globfree(&found);
	}
}

#endif
