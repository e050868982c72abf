/* Waiting for processes that begin to run a program, at next to no cost: the kernel compares names, and wakes
 * us for those that are waited for alone. Nothing is recorded. */
#ifndef FPERF_CAPTURE_ARRIVALS_H
#define FPERF_CAPTURE_ARRIVALS_H

#include "base/error.h"

#include <stddef.h>

struct fperf_arrivals;

/* `names` are of processes or program files, of any length: the kernel keeps 15 bytes of a name, the first
 * ones at an exec, on Android the last ones of an app's. Fails where the kernel cannot do it (no BTF, no
 * rights): then one has to look for oneself. At most FPERF_ARRIVAL_NAMES / 2 names. */
int fperf_arrivals__open(const char *const *names, size_t count, struct fperf_arrivals **arrivals,
			 struct fperf_error *err);

/* Becomes readable when one of them has come. */
int fperf_arrivals__fd(const struct fperf_arrivals *arrivals);

/* Takes what has come; which processes these are, one finds out by looking. */
void fperf_arrivals__take(struct fperf_arrivals *arrivals);

void fperf_arrivals__close(struct fperf_arrivals *arrivals); /* NULL is fine; detaches everything */

#endif
