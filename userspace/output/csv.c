#include "output/csv.h"

#include "base/buf.h"
#include "output/utf8.h"

#include <inttypes.h>
#include <string.h>

#define FIELD_LIMIT (4u << 20)
#define FIELD_MAX   (1u << 20)

void fperf_csv__text(FILE *stream, const char *text)
{
	size_t size = strnlen(text, FIELD_MAX);
	struct fperf_buf visible;

	fperf_buf__init(&visible, FIELD_LIMIT);
	fperf_utf8__visible(&visible, text, size);
	fputc('"', stream);
	for (size_t i = 0; i < visible.size; i++) {
		if (visible.data[i] == '"')
			fputc('"', stream);
		fputc(visible.data[i], stream);
	}
	fputc('"', stream);
	fperf_buf__free(&visible);
}

void fperf_csv__ms(FILE *stream, uint64_t ns)
{
	fprintf(stream, "%" PRIu64 ".%06" PRIu64, ns / 1000000, ns % 1000000);
}
