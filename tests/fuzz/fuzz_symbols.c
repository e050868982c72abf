/* libFuzzer: any bytes as an ELF file. Its symbols become disjoint ranges that can be searched. */
#include "symbolize/debug_link.h"
#include "symbolize/embedded_symbols.h"
#include "symbolize/fde_index.h"
#include "symbolize/symbol_set.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void ranges_check(const struct fperf_range_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct fperf_range *range = &table->ranges[i];

		require(range->start < range->end && range->name && *range->name);
		require(!i || table->ranges[i - 1].end <= range->start);
		require(fperf_range_table__find(table, range->start) == range);
		require(fperf_range_table__find(table, range->end - 1) == range);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fperf_embedded_symbols embedded = {0};
	struct fperf_range_table table = {0};
	struct fperf_symbol_set set = {0};
	struct fperf_fde_index fdes;
	struct fperf_debug_link link;
	struct fperf_error err = {0};
	struct fperf_elf *elf;
	uint64_t start, end;

	if (fperf_elf__open_memory(data, size, "input", &elf, &err))
		return 0;
	fperf_debug_link__read(elf, "/", &link);
	fdes = fperf_fde_index__open(elf);
	for (uint64_t at = 0; at < 0x4000; at += 0x101) {
		if (fperf_fde_index__find(&fdes, at, &start, &end))
			require(start <= at && at < end);
		require(fperf_fde_index__next(&fdes, at) > at);
	}
	fperf_symbol_set__add(&set, elf, FPERF_ELF_SYMTAB, 0);
	fperf_symbol_set__add(&set, elf, FPERF_ELF_DYNSYM, 0x1000);
	if (!fperf_embedded_symbols__open(&embedded, elf, &err) && embedded.elf)
		fperf_symbol_set__add(&set, embedded.elf, FPERF_ELF_SYMTAB, 0);
	if (!fperf_symbol_set__build(&set, &fdes, &table))
		ranges_check(&table);
	fperf_range_table__free(&table);
	fperf_embedded_symbols__close(&embedded);
	fperf_elf__close(elf);
	return 0;
}
