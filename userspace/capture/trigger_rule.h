/* What makes a flight recorder write a session: rules such as "frame>33ms". */
#ifndef FPERF_CAPTURE_TRIGGER_RULE_H
#define FPERF_CAPTURE_TRIGGER_RULE_H

#include "base/error.h"
#include "frameperf/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPERF_TRIGGER_TEXT 96
#define FPERF_TRIGGER_NAME 64

struct fperf_trigger_rule {
	uint8_t kind;			/* enum fperf_trigger_kind, one of those that rules can name */
	char text[FPERF_TRIGGER_TEXT];	/* as given */
	char scope[FPERF_TRIGGER_NAME]; /* mark: its name */
	uint64_t limit;			/* ns; hitches: how many are still allowed */
	uint64_t window_ns;		/* hitches: in how long */
};

/* Kinds of rules, as they are written:
 *   frame>33ms          a frame takes longer
 *   stall>250ms         no frame ends for longer, while it lasts; or five in a row take a fifth of it each
 *   hitches>3/10s       more slow frames than that within the time
 *   mark:NAME>5ms       a scope (--scope …=NAME) takes longer
 *   run-queue>10ms      a thread waits longer for a core after it was woken
 * Times are numbers with ns, us, ms or s. On failure `err` says what is wrong and what would be right. */
int fperf_trigger_rule__parse(const char *text, struct fperf_trigger_rule *rule, struct fperf_error *err);

/* "frame", "stall" and so on, also of kinds that are no rules ("signal", "command"); for file names and JSON.
 * "unknown" for a number that is none. */
const char *fperf_trigger_kind__name(uint8_t kind);

#endif
