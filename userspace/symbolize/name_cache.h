/* What DWARF said about addresses, kept on disk by build ID: a second report of the same game needs no DWARF.
 * See base/cache_dir.h. Only DWARF's answers are kept, as they came: names are demangled, and symbol tables
 * read, each time anew. */
#ifndef FPERF_SYMBOLIZE_NAME_CACHE_H
#define FPERF_SYMBOLIZE_NAME_CACHE_H

#include "base/cache_dir.h"
#include "base/map.h"
#include "base/strtab.h"
#include "symbolize/dwarf_reader.h"

#include <stdbool.h>
#include <stdint.h>

/* NULL when no directory can be used. `path` NULL: the usual place, kind "names". */
struct fperf_cache_dir *fperf_name_cache__open(const char *path);

/* Which build, and which file told about it: another one, or one that was changed, may know more. */
struct fperf_name_key {
	const uint8_t *build_id;
	size_t build_id_size;
	uint64_t file_size, file_mtime_ns;
};

struct fperf_name_entry {
	uint32_t function, file; /* strings */
	uint32_t line;
};

/* Addresses with what is known of them. A zeroed struct is empty. */
struct fperf_name_file {
	struct fperf_strtab *strings;
	struct fperf_name_entry *entries;
	size_t entry_count, entry_capacity;
	struct fperf_map
		addresses; /* address to first entry << 8 | count; a count of 0: DWARF knows nothing */
	bool changed;
};

/* Reads what is kept under the key; an empty file when nothing is. Returns 0 or -ENOMEM. */
int fperf_name_file__load(struct fperf_name_file *file, const struct fperf_cache_dir *cache,
			  const struct fperf_name_key *key);
void fperf_name_file__free(struct fperf_name_file *file);

/* Whether the address was asked for before; *count entries, which live as long as the file does. */
bool fperf_name_file__find(const struct fperf_name_file *file, uint64_t address,
			   struct fperf_dwarf_entry entries[FPERF_DWARF_DEPTH], size_t *count);
int fperf_name_file__add(struct fperf_name_file *file, uint64_t address,
			 const struct fperf_dwarf_entry *entries, size_t count);

/* Writes what is new, unless it is more than a cache should hold. */
void fperf_name_file__store(const struct fperf_name_file *file, const struct fperf_cache_dir *cache,
			    const struct fperf_name_key *key);

#endif
