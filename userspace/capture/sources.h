/* The sources that capture is made of; the table is in capture.c. */
#ifndef FPERF_CAPTURE_SOURCES_H
#define FPERF_CAPTURE_SOURCES_H

#include "capture/source.h"

extern const struct fperf_capture_source_ops fperf_source_process;
extern const struct fperf_capture_source_ops fperf_source_sched;
extern const struct fperf_capture_source_ops fperf_source_sample;
extern const struct fperf_capture_source_ops fperf_source_unwind; /* after those that capture stacks */
extern const struct fperf_capture_source_ops fperf_source_freq;
extern const struct fperf_capture_source_ops fperf_source_frame;    /* --frame */
extern const struct fperf_capture_source_ops fperf_source_mark;	    /* --mark and --scope */
extern const struct fperf_capture_source_ops fperf_source_kallsyms; /* names of the kernel's functions */
extern const struct fperf_capture_source_ops fperf_source_jit;	    /* names from perf maps */

/* What the programs that capture stacks are told before they are loaded (bpf/unwind.h): the way of unwinding,
 * and the bits of a user address (arm64 signs return addresses in the bits above). */
uint32_t fperf_unwind__bpf_mode(enum fperf_unwind_mode mode);
uint64_t fperf_unwind__address_mask(void);

/* Whether the marker is what ends the frames of the process, as chosen so far; which of a mark's arguments
 * names the surface (255: none). `state`: context->frames. */
bool fperf_frame__is_boundary(void *state, uint32_t pid, uint32_t marker, uint8_t *surface_arg);

/* Whether the marker begins or ends a scope, and of which name (borrowed). `state`: context->marks. */
bool fperf_mark__scope(void *state, uint32_t marker, const char **name, bool *end);

/* Hands a record to the aggregator, with the stack that a dump before it gave. */
int fperf_unwind__consume(struct fperf_capture_context *context, const void *record, size_t size,
			  struct fperf_error *err);

#endif
