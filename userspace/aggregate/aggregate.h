/* Turns wire records into session records: gives processes, threads, modules and stacks their identities,
 * makes stacks module-relative and interns them, and hands the result to the session writer.
 *
 * The caller feeds records in time order (capture sorts each drained batch). Nothing here allocates per
 * sample once the tables have grown.
 */
#ifndef FPERF_AGGREGATE_AGGREGATE_H
#define FPERF_AGGREGATE_AGGREGATE_H

#include "base/error.h"
#include "base/log.h"
#include "frameperf/wire.h"
#include "session/writer.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fperf_aggregate;

struct fperf_aggregate_options {
	struct fperf_writer *writer; /* borrowed */
	const struct fperf_log *log;
	uint64_t start_ns;    /* start of recording */
	uint64_t kernel_base; /* address of _stext, 0: not known */
	uint32_t stack_limit; /* stacks kept in the table before new ones are counted as lost; 0: 1 << 20 */
};

int fperf_aggregate__new(const struct fperf_aggregate_options *options, struct fperf_aggregate **agg,
			 struct fperf_error *err);
void fperf_aggregate__free(struct fperf_aggregate *agg);

/* Moves the start of recording to when everything was ready. */
void fperf_aggregate__set_start(struct fperf_aggregate *agg, uint64_t start_ns);

/* A process or thread that exists when recording starts (from /proc), or that a child process turned out to
 * be. */
struct fperf_aggregate_process {
	uint32_t pid, parent_pid, ns_pid;
	uint64_t start_ns;
	const char *name; /* comm */
	const char *exe;  /* path, "" if not known */
};

int fperf_aggregate__add_process(struct fperf_aggregate *agg, const struct fperf_aggregate_process *process,
				 struct fperf_error *err);
int fperf_aggregate__add_thread(struct fperf_aggregate *agg, uint32_t pid, uint32_t tid, uint64_t start_ns,
				const char *name, struct fperf_error *err);

/* An executable mapping, from PERF_RECORD_MMAP2 or /proc/PID/maps. The build ID is the kernel's if it gave
 * one, else read from `image_path`, if not NULL (a path that opens exactly the mapped file, such as
 * /proc/PID/map_files/…). */
struct fperf_aggregate_mapping {
	uint32_t pid;
	uint64_t time_ns;
	uint64_t start, end, file_offset;
	const char *path; /* as in /proc/PID/maps, " (deleted)" still there; "" for anonymous memory */
	const char *image_path;
	uint8_t build_id_size;
	uint8_t build_id[FPERF_BUILD_ID_MAX];
	uint64_t device, inode; /* 0, 0: not known; equal files share a module */
	uint64_t inode_generation;
	bool not_executable; /* a file's mapping without execute permission: only remembered until the next
				mapping of the process, so that anonymous memory which follows it is known as
				the file's own text, moved to huge pages */
};

/* Replaces what it overlaps in the process. `module` (may be NULL) gets the module's id. */
int fperf_aggregate__add_mapping(struct fperf_aggregate *agg, const struct fperf_aggregate_mapping *mapping,
				 uint32_t *module, struct fperf_error *err);

/* One wire record of any type; `size` is what the ring said and is checked. Unknown types and short records
 * are counted and dropped. FPERF_WIRE_FREQ, MARK, FORK, EXEC, EXIT, RENAME, SAMPLE, OFFCPU, TASK are
 * understood. A FORK gives the child its parent's mappings; an EXEC starts a new generation without mappings.
 */
int fperf_aggregate__consume(struct fperf_aggregate *agg, const void *record, size_t size,
			     struct fperf_error *err);

/* Writes a struct fperf_rec_snapshot of the thread that a record of the scan is about: a FPERF_WIRE_OFFCPU
 * that is open, else its FPERF_WIRE_TASK. `owner_tid`: who holds the lock that it waits for, 0: not known.
 * The record's meaning for the recording is not touched: it may be consumed as well. */
int fperf_aggregate__snapshot(struct fperf_aggregate *agg, const void *record, size_t size, uint64_t time_ns,
			      uint32_t owner_tid, struct fperf_error *err);

/* Writes the interval of a thread that is off its core now, from the same records of the scan, up to
 * `time_ns`: for a session that ends there although the recording goes on. Does not touch the recording
 * either. */
int fperf_aggregate__still_off(struct fperf_aggregate *agg, const void *record, size_t size, uint64_t time_ns,
			       struct fperf_error *err);

/* Adds a stack that user space unwound (from a stack dump), to be used in place of the one in the record. */
int fperf_aggregate__consume_with_stack(struct fperf_aggregate *agg, const void *record, size_t size,
					const uint64_t *user, uint32_t user_count, uint8_t outcome,
					struct fperf_error *err);

/* True once for each new process image whose maps should be read (exec, or first seen): capture asks after a
 * batch. */
bool fperf_aggregate__next_new_image(struct fperf_aggregate *agg, uint32_t *pid);

/* Calls back for every kernel address that stacks refer to (once, at the end of recording), so that capture
 * can name them from kallsyms. */
void fperf_aggregate__kernel_addresses(struct fperf_aggregate *agg,
				       void (*visit)(void *context, uint64_t address), void *context);

/* For recordings of which only the last part is kept: begins a new epoch in which nothing refers to what was
 * written before. Tasks, modules and stacks that are gone are forgotten, those that are not are written again
 * (mappings and modules when something refers to them). `wanted_epochs` is how many epochs may still be
 * written out, the new one included: totals and kernel addresses are those of them. `lives` says whether a
 * thread exists. */
int fperf_aggregate__begin_epoch(struct fperf_aggregate *agg, uint64_t now_ns, uint64_t wanted_epochs,
				 bool (*lives)(void *context, uint32_t pid, uint32_t tid), void *context,
				 struct fperf_error *err);

/* Writes go there from now on: to a file that is being written from what is kept. Ids of strings are those of
 * the writer. */
void fperf_aggregate__set_writer(struct fperf_aggregate *agg, struct fperf_writer *writer);

/* Closes mappings and threads at `end_ns`, writes totals. */
int fperf_aggregate__finish(struct fperf_aggregate *agg, uint64_t end_ns, struct fperf_error *err);

struct fperf_aggregate_stats {
	uint64_t records[16]; /* by enum fperf_wire_type */
	uint64_t bad_records; /* wrong size or type */
	uint64_t stacks;      /* different stacks */
	uint64_t stack_lookups;
	uint64_t first_level_hits;  /* found in the direct-mapped first level */
	uint64_t second_level_hits; /* found in the second level */
	uint64_t second_level_probes;
	uint64_t hash_collisions; /* equal hash, different stack */
	uint64_t second_level_slots;
	uint64_t stacks_lost; /* table at its limit */
	uint64_t processes, threads, modules, mappings;
};

void fperf_aggregate__stats(const struct fperf_aggregate *agg, struct fperf_aggregate_stats *stats);

/* Name and program path of what a process became by exec while it was recorded; false when it did not.
 * Borrowed. */
bool fperf_aggregate__image(const struct fperf_aggregate *agg, uint32_t pid, const char **name,
			    const char **exe);

/* The file whose code lies at an address of a process now, although that may be a copy of it in anonymous
 * memory: its path as the process sees it (borrowed) and the offset in it. False when it is none's. */
bool fperf_aggregate__file_at(const struct fperf_aggregate *agg, uint32_t pid, uint64_t address,
			      const char **path, uint64_t *file_offset);

/* Session-wide ids, 0 when unknown: for records that capture writes itself. */
uint32_t fperf_aggregate__thread_id(const struct fperf_aggregate *agg, uint32_t tid);
uint32_t fperf_aggregate__process_id(const struct fperf_aggregate *agg, uint32_t pid);

#endif
