/* What goes to standard error, and how loud. */
#ifndef FPERF_TOOLS_CONSOLE_H
#define FPERF_TOOLS_CONSOLE_H

#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>

struct fperf_console {
	const char *command; /* put before messages: "frameperf record" */
	bool quiet;	     /* errors only */
	bool verbose;
	bool progress_shown; /* a progress line stands on the terminal */
};

/* A log that writes to the console. */
struct fperf_log fperf_console__log(struct fperf_console *console);

void fperf_console__error(struct fperf_console *console, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void fperf_console__note(struct fperf_console *console, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A line that replaces itself; only on a terminal, and not with -q. */
void fperf_console__progress(struct fperf_console *console, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void fperf_console__progress_end(struct fperf_console *console);

/* Whether `fd` is a terminal that wants colour (NO_COLOR, TERM=dumb). */
bool fperf_console__colour(int fd);

/* Columns to write for: $COLUMNS, the terminal of `fd` or of standard error (output into a pager), else 100.
 */
unsigned int fperf_console__width(int fd);

#endif
