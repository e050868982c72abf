/* The state of every target thread at one moment, see bpf/scan.bpf.c. */
#ifndef FPERF_CAPTURE_SCAN_H
#define FPERF_CAPTURE_SCAN_H

#include "base/buf.h"
#include "base/error.h"
#include "capture/program.h"

#include <stddef.h>
#include <stdint.h>

struct fperf_scan;

/* Loads the iterator; uses the shared maps of the target set and of the threads. */
int fperf_scan__open(struct fperf_shared_maps *shared, struct fperf_scan **scan, struct fperf_error *err);
void fperf_scan__close(struct fperf_scan *scan); /* NULL is fine */

/* Looks once at every thread as below, and appends the records to a buffer: each begins with a struct
 * fperf_wire_header. */
int fperf_scan__read(struct fperf_scan *scan, uint64_t end_ns, struct fperf_buf *records,
		     struct fperf_error *err);

/* Calls back with each record in such a buffer. */
int fperf_scan__each(struct fperf_buf *records,
		     int (*visit)(void *context, void *record, size_t size, struct fperf_error *err),
		     void *context, struct fperf_error *err);

/* Looks once at every thread of the targets and calls back with a struct fperf_wire_task_state for each, and,
 * if `end_ns` is not 0, with the struct fperf_wire_offcpu that is open at that time. The records may be
 * written to. */
int fperf_scan__run(struct fperf_scan *scan, uint64_t end_ns,
		    int (*visit)(void *context, void *record, size_t size, struct fperf_error *err),
		    void *context, struct fperf_error *err);

#endif
