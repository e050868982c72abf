/* The unwinder in BPF against libdw, on the same registers and bytes of the stack: --unwind check. */
#ifndef FPERF_CAPTURE_UNWIND_CHECK_H
#define FPERF_CAPTURE_UNWIND_CHECK_H

#include "capture/unwind_dumps.h"
#include "session/writer.h"

#include <stddef.h>
#include <stdint.h>

struct fperf_unwind_check { /* counts of stacks, see FPERF_META_UNWIND_CHECK_* */
	uint64_t equal, shorter, longer, guessed, wrong;
	char first_wrong[1024];
};

/* `record` is a FPERF_WIRE_SAMPLE or FPERF_WIRE_OUT_STACK, for which `dumps` has a stack. Records that are
 * too short for what they say are passed over. */
void fperf_unwind_check__compare(struct fperf_unwind_check *check, const struct fperf_unwind_dumps *dumps,
				 const void *record, size_t size);

/* Meta records; an error is sticky in the writer. */
void fperf_unwind_check__write(const struct fperf_unwind_check *check, struct fperf_writer *writer);

#endif
