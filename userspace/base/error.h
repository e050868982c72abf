/* The one error idiom of frameperf.
 *
 * A function that can fail returns 0 (or a count) on success and a negative errno value on failure, and takes
 * a `struct fperf_error *` as its last parameter, never NULL. On failure it has filled in the text: what
 * failed, on which file, thread or call, and why. On success it leaves the error as it was. Callers add their
 * own context with fperf_error__wrap(); only tools/ prints it.
 */
#ifndef FPERF_BASE_ERROR_H
#define FPERF_BASE_ERROR_H

#include <stddef.h>

#define FPERF_ERROR_TEXT 768

struct fperf_error {
	int code;		     /* negative errno value, 0 while nothing failed */
	char text[FPERF_ERROR_TEXT]; /* one line, no trailing newline, NUL-terminated, cut if longer */
};

/* Sets code and text; returns `code`, so that `return fperf_error__set(err, -EINVAL, ...)` works. A code of 0
 * or more is a programming error and becomes -EINVAL. */
int fperf_error__set(struct fperf_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Like fperf_error__set(), and appends ": " and the description of `code`. */
int fperf_error__set_errno(struct fperf_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts the formatted context and ": " before the text that is there; returns the code that is there. */
int fperf_error__wrap(struct fperf_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "out of memory" with the name of what was being allocated; returns -ENOMEM. */
int fperf_error__no_memory(struct fperf_error *err, const char *what);

#endif
