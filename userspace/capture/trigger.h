/* Watches a recording for what its rules name, as records arrive. State does not grow with time.
 *
 * The caller feeds events in order of time, and after each round the time up to which all events have been
 * fed; that is when stalls are noticed. */
#ifndef FPERF_CAPTURE_TRIGGER_H
#define FPERF_CAPTURE_TRIGGER_H

#include "base/error.h"
#include "capture/trigger_rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPERF_TRIGGER_REASON 160

/* A rule that came true. */
struct fperf_trigger_event {
	uint8_t kind;
	char rule[FPERF_TRIGGER_TEXT];
	char reason[FPERF_TRIGGER_REASON]; /* one sentence for people */
	uint64_t time_ns;		   /* when it was known to be true */
	uint64_t since_ns;		   /* when what it is about began */
	uint64_t value, limit;		   /* ns; hitches: how many */
	uint32_t pid, tid;		   /* the thread that it is about */
};

struct fperf_triggers;

/* Copies the rules. */
int fperf_triggers__new(const struct fperf_trigger_rule *rules, size_t count,
			struct fperf_triggers **triggers, struct fperf_error *err);
void fperf_triggers__free(struct fperf_triggers *triggers); /* NULL is fine */

/* A thread ended a frame of a surface (any number that tells a process's surfaces apart). */
void fperf_triggers__frame(struct fperf_triggers *triggers, uint32_t pid, uint32_t tid, uint64_t surface,
			   uint64_t time_ns);

/* Is told of each frame whose time is known, before the rules are looked at: of a surface that moves. */
struct fperf_frame_listener {
	void (*frame)(void *context, uint32_t pid, uint32_t tid, uint64_t start_ns, uint64_t end_ns);
	void *context;
};

void fperf_triggers__listen(struct fperf_triggers *triggers, const struct fperf_frame_listener *listener);

/* A thread began or ended the scope of that name. */
void fperf_triggers__scope(struct fperf_triggers *triggers, uint32_t pid, uint32_t tid, const char *name,
			   bool end, uint64_t time_ns);

/* A thread got a core. */
void fperf_triggers__run_queue(struct fperf_triggers *triggers, uint32_t pid, uint32_t tid, uint64_t wake_ns,
			       uint64_t in_ns);

void fperf_triggers__exit(struct fperf_triggers *triggers, uint32_t pid); /* the process is gone */

/* The frame boundary of a process was not known, or is another one now: what was measured means nothing. */
void fperf_triggers__forget_frames(struct fperf_triggers *triggers, uint32_t pid);

void fperf_triggers__until(struct fperf_triggers *triggers, uint64_t time_ns);

/* Takes the next rule that came true; false when there is none. What came true while eight waited is lost. */
bool fperf_triggers__next(struct fperf_triggers *triggers, struct fperf_trigger_event *event);

#endif
