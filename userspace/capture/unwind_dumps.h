/* Stack dumps on their way to the aggregator: unwound by libdw when they arrive, kept until the record that
 * they belong to, which comes next. */
#ifndef FPERF_CAPTURE_UNWIND_DUMPS_H
#define FPERF_CAPTURE_UNWIND_DUMPS_H

#include "capture/unwind_modules.h"
#include "capture/unwind_processes.h"
#include "frameperf/wire.h"

#include <stdbool.h>

struct fperf_unwind_dumps;

/* libdw is told of a process's mappings anew when they have changed, but not more often than each
 * `renew_ns`. */
int fperf_unwind_dumps__new(struct fperf_unwind_processes *processes, struct fperf_unwind_modules *modules,
			    uint64_t renew_ns, struct fperf_unwind_dumps **dumps, struct fperf_error *err);
void fperf_unwind_dumps__free(struct fperf_unwind_dumps *dumps);

/* A FPERF_WIRE_STACK_DUMP record; `size` is checked against what it says. */
void fperf_unwind_dumps__take(struct fperf_unwind_dumps *dumps, const void *record, size_t size);

/* The stack for a record with this header, if a dump of it was taken; it is forgotten by the next call of
 * take. */
struct fperf_unwind_dump_stack {
	uint32_t count;
	uint8_t outcome;
	uint64_t frames[FPERF_USER_DEPTH];
};

const struct fperf_unwind_dump_stack *fperf_unwind_dumps__find(const struct fperf_unwind_dumps *dumps,
							       const struct fperf_wire_header *header);
/* Does libdw have unwind information for this stack frame (with FPERF_WIRE_PC_BIT as in records)? Where not,
 * what it says of the caller is a guess by frame pointer. */
bool fperf_unwind_dumps__knows(const struct fperf_unwind_dumps *dumps, uint32_t pid, uint64_t frame);

void fperf_unwind_dumps__exit(struct fperf_unwind_dumps *dumps, uint32_t pid);
uint64_t fperf_unwind_dumps__count(const struct fperf_unwind_dumps *dumps);

#endif
