/* Loading a session for a command that reads one. */
#ifndef FPERF_TOOLS_LOAD_H
#define FPERF_TOOLS_LOAD_H

#include "console.h"
#include "session/session.h"

/* Loads the file and says on the console what is damaged. Returns 0, or a negative errno once the error was
 * shown. The caller frees *session. */
int fperf_load(const char *path, struct fperf_console *console, struct fperf_session **session,
	       struct fperf_session_damage *damage);

/* FPERF_EXIT_OK or FPERF_EXIT_DAMAGED. */
int fperf_load__status(const struct fperf_session_damage *damage);

#endif
