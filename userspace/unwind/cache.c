#include "unwind/cache.h"

#include "base/cache_dir.h"
#include "base/hash.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_MAGIC    0x77757066u /* "fpuw" */
#define CACHE_LIMIT    (256ull << 20)
#define CACHE_ROWS_MIN 2000 /* smaller tables are built as fast as they are read */
#define CACHE_ROWS_MAX (64u << 20)

struct fperf_unwind_cache_dir {
	struct fperf_cache_dir *dir;
};

struct cache_header {
	uint32_t magic, version;
	uint32_t machine, build_id_size;
	uint8_t build_id[FPERF_BUILD_ID_MAX];
	uint64_t source_hash; /* of the .eh_frame that the rows come from: a build ID can be forged */
	uint64_t count, fdes, damaged, unsupported;
	uint64_t rows_hash;
};

int fperf_unwind_cache__open(const char *path, uint64_t limit, struct fperf_unwind_cache_dir **cache,
			     struct fperf_error *err)
{
	struct fperf_cache_options options = {
		.path = path, .kind = "unwind", .suffix = ".rows", .limit = limit ? limit : CACHE_LIMIT};
	struct fperf_unwind_cache_dir *opened = calloc(1, sizeof(*opened));

	if (!opened)
		return fperf_error__no_memory(err, "the cache of unwind tables");
	if (fperf_cache_dir__open(&options, &opened->dir, err)) {
		free(opened);
		return fperf_error__wrap(err, "unwind tables");
	}
	*cache = opened;
	return 0;
}

void fperf_unwind_cache__close(struct fperf_unwind_cache_dir *cache)
{
	if (!cache)
		return;
	fperf_cache_dir__close(cache->dir);
	free(cache);
}

/* What must agree for a cached table to be this file's. */
static bool header_expect(const struct fperf_elf *elf, struct cache_header *header)
{
	struct fperf_elf_section eh_frame;

	memset(header, 0, sizeof(*header));
	header->magic = CACHE_MAGIC;
	header->version = FPERF_UNWIND_VERSION;
	header->machine = fperf_elf__machine(elf);
	header->build_id_size = (uint32_t)fperf_elf__build_id(elf, header->build_id);
	if (!header->build_id_size || !fperf_elf__eh_frame(elf, &eh_frame, NULL))
		return false;
	header->source_hash = fperf_hash__words(eh_frame.data, eh_frame.size, eh_frame.address);
	return true;
}

static bool rows_valid(const struct fperf_unwind_table *table)
{
	for (size_t i = 1; i < table->count; i++) {
		if (table->rows[i].offset <= table->rows[i - 1].offset)
			return false;
	}
	for (size_t i = 0; i < table->count; i++) {
		if ((table->rows[i].rule & 0xf) > FPERF_RULE_UNSUPPORTED)
			return false;
	}
	return table->rows[table->count - 1].rule == FPERF_RULE_NONE;
}

/* Takes over `data`, which becomes the rows. */
static bool table_read(void *data, size_t size, const struct cache_header *expected,
		       struct fperf_unwind_table *table)
{
	struct cache_header header;
	size_t rows;

	table->rows = data;
	if (size < sizeof(header))
		return false;
	memcpy(&header, data, sizeof(header));
	if (memcmp(&header, expected, offsetof(struct cache_header, count)) != 0 || !header.count ||
	    header.count > CACHE_ROWS_MAX || size != sizeof(header) + header.count * sizeof(*table->rows))
		return false;
	rows = header.count * sizeof(*table->rows);
	table->count = table->capacity = header.count;
	table->fdes = header.fdes;
	table->damaged = header.damaged;
	table->unsupported = header.unsupported;
	memmove(table->rows, (const uint8_t *)data + sizeof(header), rows);
	return fperf_hash__words(table->rows, rows, 0) == header.rows_hash && rows_valid(table);
}

bool fperf_unwind_cache__load(const struct fperf_unwind_cache_dir *cache, const struct fperf_elf *elf,
			      struct fperf_unwind_table *table)
{
	struct cache_header expected;
	char name[FPERF_CACHE_NAME_MAX];
	size_t size;
	void *data;
	bool ok;

	*table = (struct fperf_unwind_table){0};
	if (!cache || !header_expect(elf, &expected))
		return false;
	fperf_cache_dir__name(cache->dir, expected.build_id, expected.build_id_size, name);
	data = fperf_cache_dir__read(cache->dir, name,
				     sizeof(expected) + (size_t)CACHE_ROWS_MAX * sizeof(*table->rows), &size);
	if (!data)
		return false;
	ok = table_read(data, size, &expected, table);
	if (!ok)
		fperf_unwind_table__free(table);
	return ok;
}

void fperf_unwind_cache__store(const struct fperf_unwind_cache_dir *cache, const struct fperf_elf *elf,
			       const struct fperf_unwind_table *table)
{
	size_t size = table->count * sizeof(*table->rows);
	char name[FPERF_CACHE_NAME_MAX];
	struct cache_header header;

	if (!cache || table->count < CACHE_ROWS_MIN || !header_expect(elf, &header))
		return;
	header.count = table->count;
	header.fdes = table->fdes;
	header.damaged = table->damaged;
	header.unsupported = table->unsupported;
	header.rows_hash = fperf_hash__words(table->rows, size, 0);
	fperf_cache_dir__name(cache->dir, header.build_id, header.build_id_size, name);
	fperf_cache_dir__write(cache->dir, name, &header, sizeof(header), table->rows, size);
}
