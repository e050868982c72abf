/* Unwinds a copy of a thread's stack with libdw: the last resort, for unwind information that rows cannot
 * express and for comparison.
 *
 * libdw sees only the registers and bytes of the dump and the files it is given; it never looks for debug
 * files, and never asks the process.
 */
#ifndef FPERF_UNWIND_DUMP_H
#define FPERF_UNWIND_DUMP_H

#include "base/error.h"
#include "frameperf/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One process as libdw knows it. */
struct fperf_dump_process;

int fperf_dump_process__new(pid_t pid, struct fperf_dump_process **process, struct fperf_error *err);
void fperf_dump_process__free(struct fperf_dump_process *process);

/* A module, by the address at which its file offset 0 is or would be mapped. `fd` stays the caller's. Modules
 * that libdw does not take are left out. */
void fperf_dump_process__add(struct fperf_dump_process *process, const char *name, int fd, uint64_t base);

/* After the last add, before the first unwind. */
int fperf_dump_process__seal(struct fperf_dump_process *process, struct fperf_error *err);

/* A dump, as in struct fperf_wire_stack_dump. */
struct fperf_dump {
	const uint64_t *registers; /* FPERF_DUMP_REGISTERS */
	const uint8_t *bytes;
	size_t size;
	uint64_t base; /* address of bytes[0] */
};

/* Stack frames leaf first, with FPERF_WIRE_PC_BIT as in wire records; returns their number, at least 1 (the
 * pc), at most `max`. `outcome` gets an enum fperf_stack_outcome: complete only when libdw met the end that
 * unwind information describes. */
uint32_t fperf_dump_process__unwind(struct fperf_dump_process *process, const struct fperf_dump *dump,
				    uint64_t *frames, uint32_t max, uint8_t *outcome);

/* Is there unwind information for this stack frame (with FPERF_WIRE_PC_BIT as above)? Without, libdw guesses
 * the caller by the frame pointer. */
bool fperf_dump_process__knows(struct fperf_dump_process *process, uint64_t frame);

#endif
