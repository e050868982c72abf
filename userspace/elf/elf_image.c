#include "elf/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK	 ((size_t)16384)
#define MAX_SIZE ((uint64_t)8 << 30) /* only address space: blocks that nobody asks for cost nothing */

static struct elf_image *image_new(struct fperf_error *err)
{
	struct elf_image *image = calloc(1, sizeof(*image));

	if (!image) {
		fperf_error__no_memory(err, "an ELF file");
		return NULL;
	}
	image->fd = -1;
	return image;
}

int elf_image__open_fd(int fd, const char *name, struct elf_image **out, struct fperf_error *err)
{
	struct elf_image *image;
	struct stat stat;
	void *memory;
	int result;

	if (fstat(fd, &stat))
		return fperf_error__set_errno(err, -errno, "%s: fstat", name);
	if (!S_ISREG(stat.st_mode))
		return fperf_error__set(err, -ENOEXEC, "%s: not a regular file", name);
	if (stat.st_size < (off_t)sizeof(Elf64_Ehdr))
		return fperf_error__set(err, -ENOEXEC, "%s: not an ELF file: only %lld bytes", name,
					(long long)stat.st_size);
	if ((uint64_t)stat.st_size > MAX_SIZE)
		return fperf_error__set(err, -EFBIG, "%s: %lld bytes are more than an ELF file may have here",
					name, (long long)stat.st_size);
	image = image_new(err);
	if (!image)
		return -ENOMEM;
	image->size = (size_t)stat.st_size;
	image->loaded = calloc((image->size / BLOCK + 64) / 64, sizeof(uint64_t));
	memory = mmap(NULL, image->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		      -1, 0);
	if (!image->loaded || memory == MAP_FAILED) {
		result = fperf_error__no_memory(err, name);
		goto fail;
	}
	image->memory = memory;
	image->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (image->fd < 0) {
		result = fperf_error__set_errno(err, -errno, "%s: dup", name);
		goto fail;
	}
	*out = image;
	return 0;
fail:
	elf_image__close(image);
	return result;
}

int elf_image__borrow(const void *data, size_t size, struct elf_image **out, struct fperf_error *err)
{
	struct elf_image *image = image_new(err);

	if (!image)
		return -ENOMEM;
	image->memory = (uint8_t *)(uintptr_t)data; /* never written: nothing is loaded into it */
	image->size = size;
	*out = image;
	return 0;
}

void elf_image__close(struct elf_image *image)
{
	if (!image)
		return;
	if (image->fd >= 0)
		close(image->fd);
	if (image->loaded && image->memory)
		munmap(image->memory, image->size);
	free(image->loaded);
	free(image);
}

static bool block_loaded(const struct elf_image *image, size_t block)
{
	return image->loaded[block / 64] & (1ull << (block % 64));
}

/* Reads blocks first .. last, which are not loaded yet. */
static bool blocks_load(struct elf_image *image, size_t first, size_t last)
{
	size_t pos = first * BLOCK, end = (last + 1) * BLOCK;

	if (end > image->size)
		end = image->size;
	while (pos < end) {
		ssize_t got = pread(image->fd, image->memory + pos, end - pos, (off_t)pos);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false; /* cut meanwhile, or the medium failed */
		pos += (size_t)got;
	}
	for (size_t block = first; block <= last; block++)
		image->loaded[block / 64] |= 1ull << (block % 64);
	return true;
}

const uint8_t *elf_image__bytes(struct elf_image *image, uint64_t offset, uint64_t size)
{
	size_t last;

	if (offset > image->size || size > image->size - offset)
		return NULL;
	if (!image->loaded || !size)
		return image->memory + offset;
	last = (size_t)((offset + size - 1) / BLOCK);
	for (size_t block = (size_t)(offset / BLOCK); block <= last; block++) {
		size_t end = block;

		if (block_loaded(image, block))
			continue;
		while (end < last && !block_loaded(image, end + 1))
			end++;
		if (!blocks_load(image, block, end))
			return NULL;
		block = end;
	}
	return image->memory + offset;
}
