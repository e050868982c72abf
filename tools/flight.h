/* `record --flight`: the last seconds in memory, and a session when something happens. */
#ifndef FPERF_TOOLS_FLIGHT_H
#define FPERF_TOOLS_FLIGHT_H

#include "base/error.h"
#include "capture/capture.h"
#include "child.h"
#include "console.h"
#include "record_options.h"
#include "session/writer.h"

struct fperf_flight;

struct fperf_flight_options {
	const struct fperf_record_config *config; /* borrowed, like all that follows */
	struct fperf_console *console;
	const char *path; /* of a session without trigger and number: those go before its ".fperf" */
	struct fperf_invoker invoker;
	pid_t target;
};

int fperf_flight__open(const struct fperf_flight_options *options, struct fperf_flight **flight,
		       struct fperf_error *err);

/* For fperf_capture__start(). Borrowed; valid until fperf_flight__close(). */
struct fperf_writer *fperf_flight__writer(struct fperf_flight *flight);
struct fperf_triggers *fperf_flight__triggers(struct fperf_flight *flight);

/* Everything runs: from here on triggers count. Tells the user what is waited for. */
void fperf_flight__begin(struct fperf_flight *flight, struct fperf_capture *capture);

/* After each fperf_capture__poll(). Fails only when recording cannot go on. */
int fperf_flight__step(struct fperf_flight *flight, struct fperf_error *err);

/* The recording ends, before fperf_capture__stop(): a session that waits for its post-roll is written now.
 * Returns the exit status: failed when a session could not be written. */
int fperf_flight__end(struct fperf_flight *flight, const char *end_reason);

/* How many sessions have been written or begun. */
uint32_t fperf_flight__sessions(const struct fperf_flight *flight);

void fperf_flight__close(struct fperf_flight *flight); /* NULL is fine */

#endif
