#include "output/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#define WINDOW_GZIP (15 + 16)
#define LEVEL	    6

struct fperf_gzip {
	z_stream zlib;
	FILE *stream;
	unsigned char out[64 << 10];
};

struct fperf_gzip *fperf_gzip__new(FILE *stream)
{
	struct fperf_gzip *gzip = calloc(1, sizeof(*gzip));

	if (!gzip)
		return NULL;
	gzip->stream = stream;
	if (deflateInit2(&gzip->zlib, LEVEL, Z_DEFLATED, WINDOW_GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return NULL;
	}
	return gzip;
}

static int deflate_all(struct fperf_gzip *gzip, int flush)
{
	int ret;

	do {
		size_t size;

		gzip->zlib.next_out = gzip->out;
		gzip->zlib.avail_out = sizeof(gzip->out);
		ret = deflate(&gzip->zlib, flush);
		size = sizeof(gzip->out) - gzip->zlib.avail_out;
		if (ret == Z_STREAM_ERROR || fwrite(gzip->out, 1, size, gzip->stream) != size)
			return -EIO;
	} while (!gzip->zlib.avail_out || (flush == Z_FINISH && ret != Z_STREAM_END));
	return 0;
}

int fperf_gzip__write(struct fperf_gzip *gzip, const void *data, size_t size)
{
	const unsigned char *at = data;
	int ret = 0;

	while (size && !ret) {
		size_t piece = size < (1u << 30) ? size : 1u << 30;

		gzip->zlib.next_in = (unsigned char *)at;
		gzip->zlib.avail_in = (unsigned int)piece;
		ret = deflate_all(gzip, Z_NO_FLUSH);
		at += piece;
		size -= piece;
	}
	return ret;
}

void fperf_gzip__end(struct fperf_gzip *gzip)
{
	gzip->zlib.next_in = NULL;
	gzip->zlib.avail_in = 0;
	deflate_all(gzip, Z_FINISH);
	deflateEnd(&gzip->zlib);
	free(gzip);
}
