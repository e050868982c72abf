/* .gnu_debugdata: a small ELF file with the symbols of functions that are not exported, compressed with xz;
 * Fedora and Android keep it in stripped libraries ("MiniDebugInfo" in the GDB manual). */
#ifndef FPERF_SYMBOLIZE_EMBEDDED_SYMBOLS_H
#define FPERF_SYMBOLIZE_EMBEDDED_SYMBOLS_H

#include "elf/elf_file.h"

#include <stdint.h>

struct fperf_embedded_symbols {
	struct fperf_elf *elf; /* NULL: the file has none */
	uint8_t *memory;
};

/* Returns 0, also when there is none. At most 256 MiB of memory. */
int fperf_embedded_symbols__open(struct fperf_embedded_symbols *symbols, const struct fperf_elf *elf,
				 struct fperf_error *err);
void fperf_embedded_symbols__close(struct fperf_embedded_symbols *symbols);

#endif
