#include "console.h"

#include "output/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MESSAGE_LIMIT (1u << 16)
#define WIDTH_DEFAULT 100
#define WIDTH_MIN     60
#define WIDTH_MAX     140

/* Names and paths in messages come from outside: nothing in them may move the cursor. */
static void put_message(struct fperf_console *console, const char *kind, const char *format, va_list args)
{
	struct fperf_buf line;
	char *text = NULL;
	int size = vasprintf(&text, format, args);

	if (size < 0)
		return;
	fperf_console__progress_end(console);
	fperf_buf__init(&line, MESSAGE_LIMIT);
	fperf_utf8__visible(&line, text, (size_t)size);
	fprintf(stderr, "%s: %s%.*s\n", console->command, kind, (int)line.size,
		line.size ? (const char *)line.data : "");
	fperf_buf__free(&line);
	free(text);
}

void fperf_console__error(struct fperf_console *console, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_message(console, "", format, args);
	va_end(args);
}

void fperf_console__note(struct fperf_console *console, const char *format, ...)
{
	va_list args;

	if (console->quiet)
		return;
	va_start(args, format);
	put_message(console, "", format, args);
	va_end(args);
}

static void put_kind(struct fperf_console *console, const char *kind, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_message(console, kind, format, args);
	va_end(args);
}

static void log_write(void *context, enum fperf_log_level level, const char *line)
{
	struct fperf_console *console = context;

	if (console->quiet || (level == FPERF_LOG_DETAIL && !console->verbose))
		return;
	put_kind(console, level == FPERF_LOG_WARNING ? "warning: " : "", "%s", line);
}

struct fperf_log fperf_console__log(struct fperf_console *console)
{
	return (struct fperf_log){.write = log_write, .context = console};
}

void fperf_console__progress(struct fperf_console *console, const char *format, ...)
{
	va_list args;

	if (console->quiet || !isatty(STDERR_FILENO))
		return;
	fputs("\r\x1b[K", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fflush(stderr);
	console->progress_shown = true;
}

void fperf_console__progress_end(struct fperf_console *console)
{
	if (console->progress_shown)
		fputs("\r\x1b[K", stderr);
	console->progress_shown = false;
}

bool fperf_console__colour(int fd)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(no_colour && no_colour[0]) && !(term && !strcmp(term, "dumb"));
}

unsigned int fperf_console__width(int fd)
{
	const char *columns = getenv("COLUMNS");
	unsigned long width = columns ? strtoul(columns, NULL, 10) : 0;
	struct winsize size = {0};

	if (!width && (!ioctl(fd, TIOCGWINSZ, &size) || !ioctl(STDERR_FILENO, TIOCGWINSZ, &size)))
		width = size.ws_col;
	if (!width)
		width = WIDTH_DEFAULT;
	return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : (unsigned int)width;
}
