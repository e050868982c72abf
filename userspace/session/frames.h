/* The stack frame lists of one chunk: a table of different stack frames, a tree of calls whose nodes refer to
 * it, and for each stack the node of its leaf. Stacks share what they have in common from the root on. */
#ifndef FPERF_SESSION_FRAMES_H
#define FPERF_SESSION_FRAMES_H

#include "base/error.h"
#include "frameperf/records.h"
#include "session/ints.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPERF_STACK_MAX_FRAMES 1024

/* Appends the column's bytes; returns 0 or -ENOMEM. */
int fperf_frames__put(struct fperf_payload *payload, const struct fperf_rec_stack *stacks, size_t count);

/* A checked column of `count` stacks. Points into the payload; `frames` and `depths` are its own. */
struct fperf_frames {
	struct fperf_stack_frame *frames; /* different stack frames */
	uint16_t *depths;		  /* of each node */
	uint32_t *leaves;		  /* node of each stack */
	struct fperf_ints steps;	  /* of each node: how many nodes before it its parent is */
	struct fperf_ints refs;		  /* of each node: index into frames */
};

/* 0, -EBADMSG when the bytes are no such column, or -ENOMEM. */
int fperf_frames__take(struct fperf_frames *column, struct fperf_reader *reader, size_t count);
void fperf_frames__free(struct fperf_frames *column);

/* Stack frames of one stack, leaf first, into `frames` with room for FPERF_STACK_MAX_FRAMES; returns how
 * many. */
uint32_t fperf_frames__get(const struct fperf_frames *column, size_t stack, struct fperf_stack_frame *frames);

#endif
