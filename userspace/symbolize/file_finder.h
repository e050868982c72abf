/* Finds the files that hold a module's names: the module itself and separate debug information. Whatever is
 * found is used only when it is of the same build. */
#ifndef FPERF_SYMBOLIZE_FILE_FINDER_H
#define FPERF_SYMBOLIZE_FILE_FINDER_H

#include "elf/elf_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_file_finder;

/* Which build of a module is meant: the build ID, or where there is none, size and content hash. */
struct fperf_identity {
	uint8_t build_id[FPERF_BUILD_ID_MAX];
	size_t build_id_size; /* 0: has none */
	uint64_t file_size;
	uint64_t content_hash; /* see struct fperf_rec_module; 0: not known */
};

struct fperf_found_file {
	struct fperf_elf *elf; /* NULL: nothing found */
	char *path;
};

/* Borrows the array and its strings. `system_files`: also look at module paths, in /usr/lib/debug and in the
 * cache of debuginfod. NULL when out of memory. */
struct fperf_file_finder *fperf_file_finder__new(const char *const *symbol_dirs, size_t symbol_dir_count,
						 bool system_files);
void fperf_file_finder__free(struct fperf_file_finder *finder);
void fperf_found_file__close(struct fperf_found_file *file);

/* The file that was mapped, or another whole copy of it. `root` is a directory in front of `path` ("" as a
 * rule, /proc/PID/root for a process in a container). *other_build is set when there is a file at `path` that
 * is of another build. */
struct fperf_found_file fperf_file_finder__module(struct fperf_file_finder *finder,
						  const struct fperf_identity *identity, const char *root,
						  const char *path, bool *other_build);

/* Separate debug information: by build ID, by file name with equal build ID, by .gnu_debuglink with equal
 * CRC. `module` is what the function above found; may be empty. */
struct fperf_found_file fperf_file_finder__debug(struct fperf_file_finder *finder,
						 const struct fperf_identity *identity, const char *path,
						 const struct fperf_found_file *module);

/* False when the file only holds what was stripped from the module: its segments have no bytes. */
bool fperf_elf_is_whole(const struct fperf_elf *elf);
bool fperf_elf_has_dwarf(const struct fperf_elf *elf);

#endif
