/* Sessions of lower levels of detail, made from whole ones. */
#ifndef FPERF_TOOLS_REDUCE_H
#define FPERF_TOOLS_REDUCE_H

#include "analyze/reduce.h"
#include "session/session.h"
#include "session/writer.h"

/* A sink of a reducer that writes to a session file. */
struct fperf_reduced_sink fperf_reduce__sink(struct fperf_writer *writer);

/* Writes what level 0 or 1 keeps of a session to a new file, which is removed on failure. */
int fperf_reduce__session(const struct fperf_session *session, const char *path, uint32_t level,
			  const struct fperf_log *log, struct fperf_error *err);

#endif
