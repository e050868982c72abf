#include "symbolize/name_cache.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/reader.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LIMIT   (512ull << 20)
#define FILE_LIMIT    ((size_t)64 << 20)
#define NAME_MAGIC    0x6e757066u /* "fpun" */
#define NAME_VERSION  1
#define BUILD_ID_ROOM 32

struct name_header {
	uint32_t magic, version;
	uint32_t build_id_size, zero;
	uint8_t build_id[BUILD_ID_ROOM];
	uint64_t file_size, file_mtime_ns;
	uint64_t body_size, body_hash;
};

struct fperf_cache_dir *fperf_name_cache__open(const char *path)
{
	struct fperf_cache_options options = {
		.path = path, .kind = "names", .suffix = ".names", .limit = CACHE_LIMIT};
	struct fperf_cache_dir *cache = NULL;
	struct fperf_error ignored = {0}; /* it only costs time */

	return fperf_cache_dir__open(&options, &cache, &ignored) ? NULL : cache;
}

static bool header_expect(const struct fperf_name_key *key, struct name_header *header)
{
	memset(header, 0, sizeof(*header));
	if (!key->build_id_size || key->build_id_size > sizeof(header->build_id))
		return false;
	header->magic = NAME_MAGIC;
	header->version = NAME_VERSION;
	header->build_id_size = (uint32_t)key->build_id_size;
	memcpy(header->build_id, key->build_id, key->build_id_size);
	header->file_size = key->file_size;
	header->file_mtime_ns = key->file_mtime_ns;
	return true;
}

/* ---- reading ---- */

/* The strings of the body, in order: their ids are not those of the table. */
static uint32_t *strings_read(struct fperf_reader *reader, struct fperf_strtab *strings, size_t *count)
{
	uint64_t wanted = fperf_reader__varint(reader);
	uint32_t *ids;

	if (reader->failed || wanted > fperf_reader__left(reader))
		return NULL;
	ids = calloc(wanted + 1, sizeof(*ids));
	for (*count = 0; ids && *count < wanted; (*count)++) {
		uint64_t size = fperf_reader__varint(reader);
		const uint8_t *bytes = size <= SIZE_MAX ? fperf_reader__bytes(reader, (size_t)size) : NULL;

		if (reader->failed)
			break;
		ids[*count] = fperf_strtab__intern(strings, bytes, (size_t)size);
	}
	return ids;
}

static int address_read(struct fperf_reader *reader, struct fperf_name_file *file, const uint32_t *ids,
			size_t id_count, uint64_t address)
{
	uint64_t count = fperf_reader__varint(reader);
	size_t first = file->entry_count;

	if (reader->failed || count > FPERF_DWARF_DEPTH)
		return -EINVAL;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t function = fperf_reader__varint(reader), source = fperf_reader__varint(reader);
		uint64_t line = fperf_reader__varint(reader);
		struct fperf_name_entry *entry;

		if (reader->failed || function >= id_count || source >= id_count || line > UINT32_MAX)
			return -EINVAL;
		entry = fperf_vec__push(&file->entries, &file->entry_count, &file->entry_capacity);
		if (!entry)
			return -ENOMEM;
		*entry = (struct fperf_name_entry){ids[function], ids[source], (uint32_t)line};
	}
	return fperf_map__set(&file->addresses, address, first << 8 | count);
}

static int body_read(struct fperf_reader *reader, struct fperf_name_file *file)
{
	size_t id_count = 0;
	uint32_t *ids = strings_read(reader, file->strings, &id_count);
	uint64_t count = fperf_reader__varint(reader), address = 0;
	int failed = ids && !reader->failed ? 0 : -EINVAL;

	for (uint64_t i = 0; i < count && !failed; i++) {
		address += fperf_reader__varint(reader);
		failed = address_read(reader, file, ids, id_count, address);
	}
	free(ids);
	return failed ? failed : reader->failed || fperf_reader__left(reader) ? -EINVAL : 0;
}

static bool whole(const struct name_header *expected, const uint8_t *data, size_t size)
{
	struct name_header header;

	if (size < sizeof(header))
		return false;
	memcpy(&header, data, sizeof(header));
	return !memcmp(&header, expected, offsetof(struct name_header, body_size)) &&
	       header.body_size == size - sizeof(header) &&
	       header.body_hash == fperf_hash__words(data + sizeof(header), size - sizeof(header), 0);
}

int fperf_name_file__load(struct fperf_name_file *file, const struct fperf_cache_dir *cache,
			  const struct fperf_name_key *key)
{
	char name[FPERF_CACHE_NAME_MAX];
	struct name_header expected;
	struct fperf_reader reader;
	size_t size = 0;
	uint8_t *data;
	int failed = -EINVAL;

	*file = (struct fperf_name_file){.strings = fperf_strtab__new()};
	if (!file->strings)
		return -ENOMEM;
	if (!header_expect(key, &expected))
		return 0;
	fperf_cache_dir__name(cache, key->build_id, key->build_id_size, name);
	data = fperf_cache_dir__read(cache, name, FILE_LIMIT, &size);
	if (data && whole(&expected, data, size)) {
		fperf_reader__init(&reader, data + sizeof(expected), size - sizeof(expected));
		failed = body_read(&reader, file);
	}
	free(data);
	if (!failed)
		return 0;
	fperf_name_file__free(file); /* of what is damaged nothing is believed */
	file->strings = fperf_strtab__new();
	return file->strings ? 0 : -ENOMEM;
}

void fperf_name_file__free(struct fperf_name_file *file)
{
	fperf_strtab__free(file->strings);
	fperf_map__free(&file->addresses);
	free(file->entries);
	*file = (struct fperf_name_file){0};
}

bool fperf_name_file__find(const struct fperf_name_file *file, uint64_t address,
			   struct fperf_dwarf_entry entries[FPERF_DWARF_DEPTH], size_t *count)
{
	uint64_t place;

	if (!fperf_map__get(&file->addresses, address, &place))
		return false;
	*count = place & 0xff;
	for (size_t i = 0; i < *count; i++) {
		const struct fperf_name_entry *entry = &file->entries[(place >> 8) + i];

		entries[i] = (struct fperf_dwarf_entry){
			.function = fperf_strtab__get(file->strings, entry->function, NULL),
			.file = fperf_strtab__get(file->strings, entry->file, NULL),
			.line = entry->line,
		};
	}
	return true;
}

/* ---- writing ---- */

int fperf_name_file__add(struct fperf_name_file *file, uint64_t address,
			 const struct fperf_dwarf_entry *entries, size_t count)
{
	size_t first = file->entry_count;

	if (count > FPERF_DWARF_DEPTH)
		return 0;
	for (size_t i = 0; i < count; i++) {
		struct fperf_name_entry *entry =
			fperf_vec__push(&file->entries, &file->entry_count, &file->entry_capacity);

		if (!entry)
			return -ENOMEM;
		entry->function =
			fperf_strtab__intern(file->strings, entries[i].function, strlen(entries[i].function));
		entry->file = fperf_strtab__intern(file->strings, entries[i].file, strlen(entries[i].file));
		entry->line = entries[i].line;
	}
	file->changed = true;
	return fperf_map__set(&file->addresses, address, first << 8 | count);
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint64_t *addresses_sorted(const struct fperf_name_file *file, size_t *count)
{
	uint64_t *addresses = calloc(file->addresses.used + 1, sizeof(*addresses)), value;
	size_t cursor = 0;

	*count = 0;
	while (addresses && fperf_map__next(&file->addresses, &cursor, &addresses[*count], &value))
		(*count)++;
	if (*count)
		qsort(addresses, *count, sizeof(*addresses), compare_addresses);
	return addresses;
}

static void body_write(const struct fperf_name_file *file, const uint64_t *addresses, size_t count,
		       struct fperf_buf *out)
{
	uint64_t before = 0;

	fperf_buf__varint(out, fperf_strtab__count(file->strings));
	for (uint32_t i = 0; i < fperf_strtab__count(file->strings); i++) {
		size_t size;
		const char *text = fperf_strtab__get(file->strings, i, &size);

		fperf_buf__varint(out, size);
		fperf_buf__append(out, text, size);
	}
	fperf_buf__varint(out, count);
	for (size_t i = 0; i < count; i++) {
		uint64_t place = 0;

		fperf_map__get(&file->addresses, addresses[i], &place);
		fperf_buf__varint(out, addresses[i] - before);
		fperf_buf__varint(out, place & 0xff);
		before = addresses[i];
		for (size_t k = 0; k < (place & 0xff); k++) {
			const struct fperf_name_entry *entry = &file->entries[(place >> 8) + k];

			fperf_buf__varint(out, entry->function);
			fperf_buf__varint(out, entry->file);
			fperf_buf__varint(out, entry->line);
		}
	}
}

void fperf_name_file__store(const struct fperf_name_file *file, const struct fperf_cache_dir *cache,
			    const struct fperf_name_key *key)
{
	char name[FPERF_CACHE_NAME_MAX];
	struct name_header header;
	uint64_t *addresses;
	struct fperf_buf out;
	size_t count;

	if (!file->changed || !header_expect(key, &header))
		return;
	fperf_buf__init(&out, FILE_LIMIT - sizeof(header));
	addresses = addresses_sorted(file, &count);
	if (addresses)
		body_write(file, addresses, count, &out);
	if (addresses && !out.failed) {
		header.body_size = out.size;
		header.body_hash = fperf_hash__words(out.data, out.size, 0);
		fperf_cache_dir__name(cache, key->build_id, key->build_id_size, name);
		fperf_cache_dir__write(cache, name, &header, sizeof(header), out.data, out.size);
	}
	free(addresses);
	fperf_buf__free(&out);
}
