#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void fperf_log__write(const struct fperf_log *log, enum fperf_log_level level, const char *format, ...)
{
	char line[1024];
	va_list args;

	if (!log || !log->write)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	log->write(log->context, level, line);
}
