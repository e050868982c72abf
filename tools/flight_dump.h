/* Writes a session from what a flight recorder has in memory, while recording goes on. */
#ifndef FPERF_TOOLS_FLIGHT_DUMP_H
#define FPERF_TOOLS_FLIGHT_DUMP_H

#include "base/error.h"
#include "capture/capture.h"
#include "child.h"
#include "console.h"
#include "record_options.h"
#include "session/ring.h"

struct fperf_dump {
	const struct fperf_ring *ring; /* everything is borrowed */
	struct fperf_capture *capture; /* after fperf_capture__look() */
	const struct fperf_record_config *config;
	struct fperf_console *console;
	const char *path;
	struct fperf_invoker invoker;
	pid_t target;
	uint32_t first_string; /* that the ring's writer has not given out */
	uint64_t from_ns;      /* what ended before is left out; 0: nothing is */
	uint64_t end_ns;
	const char *end_reason;
	uint64_t begun_ns; /* when the recorder began, to share out what it has cost */
	bool pinned_only;  /* write only what is pinned in the ring, and where the gaps are */
	bool replace;	   /* write beside the file first, then in its place */
	bool quiet;	   /* say only what went wrong */
	/* Writes what else belongs there; NULL: nothing. */
	int (*extra)(void *context, struct fperf_writer *to, struct fperf_error *err);
	void *extra_context;
};

/* Starts a child process that writes it and ends, with the status that frameperf would end with; it says what
 * it has written, and what went wrong. */
int fperf_dump__begin(const struct fperf_dump *dump, pid_t *child, struct fperf_error *err);

#endif
