#include "output/json_stream.h"

#include "output/utf8.h"

#include <inttypes.h>
#include <string.h>

static void value_before(struct fperf_json *json)
{
	if (json->after_value)
		fputc(',', json->stream);
	json->after_value = true;
}

void fperf_json__begin(struct fperf_json *json, char bracket)
{
	value_before(json);
	fputc(bracket, json->stream);
	json->after_value = false;
}

void fperf_json__end(struct fperf_json *json, char bracket)
{
	fputc(bracket, json->stream);
	json->after_value = true;
}

static void text_put(FILE *stream, const char *text)
{
	size_t size = strlen(text);

	fputc('"', stream);
	for (size_t at = 0, used; at < size; at += used) {
		uint32_t point;

		used = fperf_utf8__decode(text + at, size - at, &point);
		if (point == FPERF_UTF8_INVALID)
			fputs("\xef\xbf\xbd", stream);
		else if (point == '"' || point == '\\')
			fprintf(stream, "\\%c", (char)point);
		else if (point < 0x20 || point == 0x7f)
			fprintf(stream, "\\u%04x", (unsigned int)point);
		else
			fwrite(text + at, 1, used, stream);
	}
	fputc('"', stream);
}

void fperf_json__key(struct fperf_json *json, const char *key)
{
	value_before(json);
	text_put(json->stream, key);
	fputc(':', json->stream);
	json->after_value = false;
}

void fperf_json__text(struct fperf_json *json, const char *text)
{
	value_before(json);
	text_put(json->stream, text);
}

void fperf_json__int(struct fperf_json *json, int64_t value)
{
	value_before(json);
	fprintf(json->stream, "%" PRId64, value);
}

void fperf_json__bool(struct fperf_json *json, bool value)
{
	value_before(json);
	fputs(value ? "true" : "false", json->stream);
}

void fperf_json__null(struct fperf_json *json)
{
	value_before(json);
	fputs("null", json->stream);
}

void fperf_json__ms(struct fperf_json *json, uint64_t ns)
{
	value_before(json);
	fprintf(json->stream, "%" PRIu64 ".%06" PRIu64, ns / 1000000, ns % 1000000);
}

void fperf_json__key_text(struct fperf_json *json, const char *key, const char *text)
{
	fperf_json__key(json, key);
	fperf_json__text(json, text);
}

void fperf_json__key_int(struct fperf_json *json, const char *key, int64_t value)
{
	fperf_json__key(json, key);
	fperf_json__int(json, value);
}

void fperf_json__key_bool(struct fperf_json *json, const char *key, bool value)
{
	fperf_json__key(json, key);
	fperf_json__bool(json, value);
}

void fperf_json__key_null(struct fperf_json *json, const char *key)
{
	fperf_json__key(json, key);
	fperf_json__null(json);
}

void fperf_json__key_begin(struct fperf_json *json, const char *key, char bracket)
{
	fperf_json__key(json, key);
	fperf_json__begin(json, bracket);
}
