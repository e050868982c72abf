/* Which of the frame boundaries that fire in one process is the one to keep. */
#ifndef FPERF_CAPTURE_FRAME_CHOICE_H
#define FPERF_CAPTURE_FRAME_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How often one candidate fired in one process, while all of them were attached. */
struct fperf_frame_count {
	uint32_t marker;
	uint8_t rank; /* 0 is nearest to the driver */
	uint32_t tid; /* the thread on which most of the hits were */
	uint64_t hits;
	uint64_t first_ns, last_ns;
};

#define FPERF_FRAME_NONE SIZE_MAX

/* Index of the candidate to keep, FPERF_FRAME_NONE if none can be. `final`: the recording or the process
 * ends, so a few hits must do; else FPERF_FRAME_NONE until there are enough to judge by (60, or 10 in 2 s).
 *
 * The rule: of the candidates that fire at least half as often as the busiest one, and on its thread, the one
 * nearest to the driver; of equals the busier. What fires faster than any game presents is not a frame. */
size_t fperf_frame_choose(const struct fperf_frame_count *counts, size_t count, uint64_t now_ns, bool final);

/* Why candidate `index` was kept or not, given the choice; one line, "" is never returned. */
void fperf_frame_explain(const struct fperf_frame_count *counts, size_t count, size_t chosen, size_t index,
			 char *text, size_t size);

#endif
