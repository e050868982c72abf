/* What a session says once about the machine and the recording. */
#ifndef FPERF_TOOLS_HOST_H
#define FPERF_TOOLS_HOST_H

#include "record_options.h"
#include "session/writer.h"

/* Session id, host, labels, and what was asked for. */
int fperf_host__write(struct fperf_writer *writer, const struct fperf_record_config *config,
		      struct fperf_error *err);

/* Name and program of the target, as they are now. What cannot be read is left as it was. */
int fperf_host__write_target(struct fperf_writer *writer, pid_t pid, struct fperf_error *err);

/* The recorder's own CPU time and memory, at the end. */
int fperf_host__write_overhead(struct fperf_writer *writer, struct fperf_error *err);

/* Largest resident memory that a process had until now, in bytes; 0 when it has ended. */
uint64_t fperf_host__memory_peak(pid_t pid);

#endif
