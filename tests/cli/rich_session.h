/* Session content for the tests of exports. */
#ifndef FPERF_TESTS_RICH_SESSION_H
#define FPERF_TESTS_RICH_SESSION_H

#include "session/writer.h"

/* Every kind of record: three threads of a target that execs in the end, waits of every kind, wakers, marks,
 * nested scopes, clocks, counters, kernel code and generated code, one lost stack, one with a gap. `hostile`:
 * functions, threads and marks with names that break careless formats. */
int rich_session_write(struct fperf_writer *writer, int hostile, struct fperf_error *err);

#endif
