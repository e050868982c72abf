#include "symbolize/embedded_symbols.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#define EXPANDED_MAX   ((size_t)256 << 20)
#define EXPANDED_FIRST ((size_t)64 << 10)
#define DECODER_MEMORY ((uint64_t)256 << 20)

/* Expands the whole stream; *size is its length. NULL when it is damaged, too large or memory is short. */
static uint8_t *xz_expand(const struct fperf_elf_section *section, size_t *size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	uint8_t *memory = NULL, *grown;
	size_t capacity = 0;
	lzma_ret result = LZMA_OK;

	if (lzma_stream_decoder(&stream, DECODER_MEMORY, 0) != LZMA_OK)
		return NULL;
	stream.next_in = section->data;
	stream.avail_in = section->size;
	while (result == LZMA_OK) {
		if (!stream.avail_out) {
			size_t more = capacity ? capacity * 2 : EXPANDED_FIRST;

			grown = more > EXPANDED_MAX ? NULL : realloc(memory, more);
			if (!grown)
				break;
			memory = grown;
			stream.next_out = memory + capacity;
			stream.avail_out = more - capacity;
			capacity = more;
		}
		result = lzma_code(&stream, LZMA_FINISH);
	}
	*size = (size_t)stream.total_out;
	lzma_end(&stream);
	if (result != LZMA_STREAM_END) {
		free(memory);
		return NULL;
	}
	return memory;
}

int fperf_embedded_symbols__open(struct fperf_embedded_symbols *symbols, const struct fperf_elf *elf,
				 struct fperf_error *err)
{
	struct fperf_elf_section section;
	size_t size;
	int result;

	*symbols = (struct fperf_embedded_symbols){0};
	if (!fperf_elf__section(elf, ".gnu_debugdata", &section))
		return 0;
	symbols->memory = xz_expand(&section, &size);
	if (!symbols->memory)
		return fperf_error__set(err, -EIO, ".gnu_debugdata cannot be expanded: damaged or too large");
	result = fperf_elf__open_memory(symbols->memory, size, ".gnu_debugdata", &symbols->elf, err);
	if (result)
		fperf_embedded_symbols__close(symbols);
	return result;
}

void fperf_embedded_symbols__close(struct fperf_embedded_symbols *symbols)
{
	fperf_elf__close(symbols->elf);
	free(symbols->memory);
	*symbols = (struct fperf_embedded_symbols){0};
}
