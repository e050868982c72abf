#include "symbolize/debug_link.h"

#include "base/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((size_t)1 << 20)

bool fperf_debug_link__read(const struct fperf_elf *elf, const char *path, struct fperf_debug_link *link)
{
	struct fperf_elf_section section;
	struct fperf_reader reader;
	struct stat stat_of_module;
	const uint8_t *name;
	size_t size;

	if (!fperf_elf__section(elf, ".gnu_debuglink", &section))
		return false;
	size = strnlen((const char *)section.data, section.size);
	if (!size || size >= sizeof(link->name) || size == section.size)
		return false;
	fperf_reader__init(&reader, section.data, section.size);
	name = fperf_reader__bytes(&reader, size + 1);
	fperf_reader__skip(&reader, -(size + 1) & 3);
	link->crc = fperf_reader__u32(&reader);
	if (reader.failed || memchr(name, '/', size) || !strcmp((const char *)name, ".") ||
	    !strcmp((const char *)name, ".."))
		return false;
	memcpy(link->name, name, size + 1);
	link->device = 0;
	link->inode = 0;
	if (!stat(path, &stat_of_module)) {
		link->device = stat_of_module.st_dev;
		link->inode = stat_of_module.st_ino;
	}
	return true;
}

/* CRC-32 of IEEE 802.3, which debug links and .xz files have in common. */
static bool crc_equal(int fd, uint32_t expected)
{
	uint8_t *block = malloc(BLOCK);
	uint32_t crc = 0;
	ssize_t got = -1;

	while (block) {
		got = read(fd, block, BLOCK);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		crc = lzma_crc32(block, (size_t)got, crc);
	}
	free(block);
	return got == 0 && crc == expected;
}

struct fperf_elf *fperf_debug_link__open(const struct fperf_debug_link *link, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct fperf_error ignored = {0}; /* not the file we look for */
	struct fperf_elf *elf = NULL;
	struct stat stat;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &stat) && S_ISREG(stat.st_mode) &&
	    (stat.st_dev != link->device || stat.st_ino != link->inode) && crc_equal(fd, link->crc) &&
	    fperf_elf__open_fd(fd, path, &elf, &ignored))
		elf = NULL;
	close(fd);
	return elf;
}
