/* .gnu_debuglink: the name of a separate debug file and the CRC of its contents (GDB manual, "Separate Debug
 * Files"). */
#ifndef FPERF_SYMBOLIZE_DEBUG_LINK_H
#define FPERF_SYMBOLIZE_DEBUG_LINK_H

#include "elf/elf_file.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fperf_debug_link {
	char name[256]; /* a plain file name */
	uint32_t crc;
	dev_t device; /* of the module itself, so that it is not taken for its own debug file */
	ino_t inode;
};

/* False when there is none, or one whose name is not a plain file name: names come from the profiled program
 * and must not lead out of the directories that are searched. */
bool fperf_debug_link__read(const struct fperf_elf *elf, const char *path, struct fperf_debug_link *link);

/* The file at `path` if its contents have the CRC, else NULL. */
struct fperf_elf *fperf_debug_link__open(const struct fperf_debug_link *link, const char *path);

#endif
