#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void text_format(struct fperf_error *err, const char *format, va_list args)
{
	vsnprintf(err->text, sizeof(err->text), format, args);
}

int fperf_error__set(struct fperf_error *err, int code, const char *format, ...)
{
	va_list args;

	err->code = code < 0 ? code : -EINVAL;
	va_start(args, format);
	text_format(err, format, args);
	va_end(args);
	return err->code;
}

int fperf_error__set_errno(struct fperf_error *err, int code, const char *format, ...)
{
	va_list args;
	size_t used;

	err->code = code < 0 ? code : -EINVAL;
	va_start(args, format);
	text_format(err, format, args);
	va_end(args);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(-err->code));
	return err->code;
}

int fperf_error__wrap(struct fperf_error *err, const char *format, ...)
{
	char inner[FPERF_ERROR_TEXT];
	va_list args;
	size_t used;

	memcpy(inner, err->text, sizeof(inner));
	va_start(args, format);
	text_format(err, format, args);
	va_end(args);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", inner);
	return err->code;
}

int fperf_error__no_memory(struct fperf_error *err, const char *what)
{
	return fperf_error__set(err, -ENOMEM, "out of memory while allocating %s", what);
}
