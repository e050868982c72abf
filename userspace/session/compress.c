#include "session/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Nearly all of the gain comes from prediction and from giving each byte plane its own statistics: higher
 * levels cost the recorder CPU time and save 2 %. docs/session-format.md has the figures. */
#define DEFAULT_LEVEL 1

/* A block costs a few dozen bytes of tables: shorter pieces go into the block of what follows them. */
#define BLOCK_MIN ((size_t)192)

struct fperf_compressor {
	ZSTD_CCtx *context;
};

struct fperf_compressor *fperf_compressor__new(int level)
{
	struct fperf_compressor *compressor = calloc(1, sizeof(*compressor));

	if (!compressor)
		return NULL;
	compressor->context = ZSTD_createCCtx();
	if (!compressor->context) {
		free(compressor);
		return NULL;
	}
	ZSTD_CCtx_setParameter(compressor->context, ZSTD_c_compressionLevel, level ? level : DEFAULT_LEVEL);
	ZSTD_CCtx_setParameter(compressor->context, ZSTD_c_checksumFlag, 0);
	return compressor;
}

void fperf_compressor__free(struct fperf_compressor *compressor)
{
	if (!compressor)
		return;
	ZSTD_freeCCtx(compressor->context);
	free(compressor);
}

/* Ends a block at each cut, so that each piece gets literal tables of its own. */
static size_t compress_pieces(ZSTD_CCtx *context, const struct fperf_payload *payload, ZSTD_outBuffer *out)
{
	ZSTD_inBuffer in = {.src = payload->bytes.data};
	size_t ret;

	for (size_t i = 0; i < payload->cut_count; i++) {
		if (payload->cuts[i] < in.pos + BLOCK_MIN || payload->cuts[i] == payload->bytes.size)
			continue;
		in.size = payload->cuts[i];
		ret = ZSTD_compressStream2(context, out, &in, ZSTD_e_flush);
		if (ret)
			return ret;
	}
	in.size = payload->bytes.size;
	return ZSTD_compressStream2(context, out, &in, ZSTD_e_end);
}

int fperf_compressor__run(struct fperf_compressor *compressor, const struct fperf_payload *payload,
			  struct fperf_buf *out, enum fperf_codec *codec)
{
	size_t size = payload->bytes.size;
	size_t room = ZSTD_compressBound(size) + (payload->cut_count + 1) * 16;
	ZSTD_outBuffer target = {.dst = fperf_buf__reserve(out, room), .size = room};
	size_t ret;

	if (!target.dst)
		return -ENOMEM;
	ZSTD_CCtx_reset(compressor->context, ZSTD_reset_session_only);
	ZSTD_CCtx_setPledgedSrcSize(compressor->context, size);
	ret = size ? compress_pieces(compressor->context, payload, &target) : 1;
	if (ZSTD_isError(ret) && ZSTD_getErrorCode(ret) == ZSTD_error_memory_allocation)
		return -ENOMEM;
	*codec = ret || target.pos >= size ? FPERF_CODEC_RAW : FPERF_CODEC_ZSTD;
	if (*codec == FPERF_CODEC_RAW)
		fperf_buf__append(out, payload->bytes.data, size);
	else
		out->size += target.pos;
	return out->failed ? -ENOMEM : 0;
}

bool fperf_decompress(const void *stored, size_t stored_size, void *raw, size_t raw_size)
{
	return ZSTD_decompress(raw, raw_size, stored, stored_size) == raw_size;
}
