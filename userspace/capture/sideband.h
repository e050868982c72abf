/* Executable mappings as they appear, from perf's side-band records (PERF_RECORD_MMAP2): one dummy event and
 * one small ring per CPU. The kernel writes them at mmap(), exec and mprotect(), with the build ID
 * since 5.12. */
#ifndef FPERF_CAPTURE_SIDEBAND_H
#define FPERF_CAPTURE_SIDEBAND_H

#include "base/error.h"
#include "capture/batch.h"
#include "frameperf/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_sideband_mapping {
	uint64_t time_ns;
	uint64_t start, size, file_offset;
	uint64_t device_major, device_minor, inode, inode_generation; /* 0 when there is a build ID instead */
	uint32_t pid, tid;
	uint8_t build_id_size;
	uint8_t build_id[FPERF_BUILD_ID_MAX];
	char path[4096]; /* NUL-terminated; "" for anonymous memory. Only the bytes up to the NUL are stored
			    in a batch. */
};

struct fperf_sideband;

/* `reason` says what is used, for the session. */
int fperf_sideband__open(struct fperf_sideband **sideband, char *reason, size_t reason_size,
			 struct fperf_error *err);
void fperf_sideband__close(struct fperf_sideband *sideband);

/* Takes in CPUs that came online since the last call (the event of one that goes offline is dead for good).
 * True when there was one: what was mapped there meanwhile has not been seen. */
bool fperf_sideband__check(struct fperf_sideband *sideband);

/* Moves what has arrived into the batch: mappings of processes that `wanted` accepts. Returns the number of
 * records that the kernel says it lost since the last call. */
uint64_t fperf_sideband__drain(struct fperf_sideband *sideband, struct fperf_batch *batch,
			       bool (*wanted)(void *context, uint32_t pid), void *context);

/* Parses one PERF_RECORD_MMAP2 (header included) as sideband asks for it; false when it is malformed. */
bool fperf_sideband__parse(const void *record, size_t size, struct fperf_sideband_mapping *mapping);

#endif
