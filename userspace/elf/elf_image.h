/* The bytes of an ELF file, read on demand. */
#ifndef FPERF_ELF_IMAGE_H
#define FPERF_ELF_IMAGE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* The file's bytes, without ever mapping the file: memory of the file's size is reserved, and blocks are read
 * into it when they are first asked for. A file that is cut or rewritten meanwhile can so neither raise
 * SIGBUS nor change what has been checked; and the build ID of a 150 MB engine costs a few blocks. */
struct elf_image {
	uint8_t *memory;
	size_t size;
	uint64_t *loaded; /* one bit per block; NULL: memory is borrowed and complete */
	int fd;		  /* -1: borrowed memory */
};

/* Keeps a duplicate of `fd`, so the caller may close its own. -ENOEXEC for what is not a regular file or too
 * short to be an ELF file. */
int elf_image__open_fd(int fd, const char *name, struct elf_image **image, struct fperf_error *err);

/* Bytes that somebody else owns and keeps until close. */
int elf_image__borrow(const void *data, size_t size, struct elf_image **image, struct fperf_error *err);
void elf_image__close(struct elf_image *image);

/* The `size` bytes at `offset`, valid until close, or NULL when they are not all there. */
const uint8_t *elf_image__bytes(struct elf_image *image, uint64_t offset, uint64_t size);

#endif
