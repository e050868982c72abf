/* Processes and threads with their session-wide identities.
 *
 * A process is (pid, start time, exec generation): a new one begins when a pid is used again and at each
 * exec. A thread belongs to one process; the thread that execs continues as a new thread of the new process.
 * Earlier bearers of a pid or tid stay known, so that records are given to whoever had the id at their time.
 * Tasks outside of the target that records mention (wakers, preempting tasks) are told apart by
 * (pid, tid, name).
 */
#ifndef FPERF_AGGREGATE_TASK_TABLE_H
#define FPERF_AGGREGATE_TASK_TABLE_H

#include "aggregate/aggregate.h"
#include "aggregate/mapping_set.h"
#include "base/error.h"
#include "base/map.h"
#include "frameperf/records.h"
#include "frameperf/wire.h"
#include "session/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file's mapping without execute permission, kept for the anonymous one that may follow it. */
struct fperf_neighbour {
	struct fperf_aggregate_mapping mapping;
	char *path, *image_path; /* NULL path: none */
};

void fperf_neighbour__free(struct fperf_neighbour *neighbour); /* also resets to none */

struct fperf_process {
	uint32_t id, pid, ns_pid, parent, generation;
	bool target;
	bool wanted;	   /* scratch of fperf_task_table__epoch() */
	bool image_queued; /* its maps should be read: not told by fperf_task_table__next_new_image() yet */
	uint64_t birth_ns; /* of the pid: kept over exec */
	uint64_t start_ns; /* of this identity */
	uint64_t end_ns;   /* 0: lives */
	char name[FPERF_COMM_SIZE + 1];
	char *exe; /* NULL: not known */
	struct fperf_mapping_set maps;
	struct fperf_neighbour neighbour;
	struct fperf_process *older; /* the bearer of the pid before this one */
};

/* A stack that is kept until it is needed: the user part of a switch-out until the interval that it opens
 * ends.
 */
struct fperf_out_stack {
	uint64_t out_ns; /* 0: none */
	uint8_t outcome;
	struct fperf_stack_frame *frames;
	size_t count, capacity;
};

/* A thread that was off the CPU when recording began, as the start scan found it. */
struct fperf_thread_at_start {
	uint32_t state;
	int32_t syscall;
	bool iowait;
	uint64_t args[3];
	uint64_t cpu_ns;
	struct fperf_out_stack stack; /* out_ns 0: none */
};

struct fperf_thread {
	uint32_t id, tid;
	struct fperf_process *process;
	uint64_t start_ns;
	uint64_t end_ns; /* 0: lives */
	char name[FPERF_COMM_SIZE + 1];
	uint64_t renamed_ns;	    /* last rename; 0: none */
	uint64_t rename_pending_ns; /* a rename that is not written yet, see fperf_task_table__rename() */
	bool wanted;		    /* scratch of fperf_task_table__epoch() */
	bool seen_by_scan, seen_by_sched;
	struct fperf_thread_at_start *at_start; /* NULL: was running, or its first interval was seen */
	struct fperf_out_stack out_stack;
	uint32_t sample_stack;	    /* of its last sample in this epoch; 0: none */
	uint64_t sampled_ns;	    /* when that was */
	uint64_t last_in_ns;	    /* last switch-in; 0: none seen */
	uint64_t last_cpu_ns;	    /* the kernel's account of its CPU time then */
	int64_t owed_ns;	    /* see offcpu_account() */
	struct fperf_thread *older; /* the bearer of the tid before this one */
};

void fperf_thread__forget_start(struct fperf_thread *thread); /* frees at_start */

/* For the table's own files. */
void fperf_process__free(struct fperf_process *process);
void fperf_thread__free(struct fperf_thread *thread);

struct fperf_task_table {
	struct fperf_writer *writer;
	struct fperf_process **processes;
	size_t process_count, process_capacity;
	struct fperf_thread **threads;
	size_t thread_count, thread_capacity;
	uint32_t last_process, last_thread; /* ids given out */
	struct fperf_map by_pid, by_tid;    /* target: id -> pointer to the latest */
	struct fperf_map other_by_pid;	    /* mentioned only: pid -> pointer */
	struct fperf_map other_by_task;	    /* mentioned only: hash of (pid, tid, name) -> pointer */
	struct fperf_process **new_images;
	size_t new_image_count, new_image_capacity, new_image_next;
	struct fperf_process **ended; /* in order of time; before `ended_next` their mappings are freed */
	size_t ended_count, ended_capacity, ended_next;
	uint64_t forgotten_ns; /* when fperf_task_table__forget() last looked */
};

void fperf_task_table__init(struct fperf_task_table *table, struct fperf_writer *writer);
void fperf_task_table__free(struct fperf_task_table *table);

/* The latest bearer; NULL when unknown. */
struct fperf_process *fperf_task_table__process(const struct fperf_task_table *table, uint32_t pid);
struct fperf_thread *fperf_task_table__thread(const struct fperf_task_table *table, uint32_t tid);

/* Adds the process, or completes the one that is known: one that lives and has the same start time within the
 * 10 ms resolution of /proc. `name` and `exe` may be "" when not known; a start of 0 fits any. NULL with
 * `err` on failure, as everywhere below. */
struct fperf_process *fperf_task_table__add_process(struct fperf_task_table *table, uint32_t pid,
						    uint32_t parent_pid, uint32_t ns_pid, uint64_t start_ns,
						    const char *name, const char *exe,
						    struct fperf_error *err);
struct fperf_thread *fperf_task_table__add_thread(struct fperf_task_table *table,
						  struct fperf_process *process, uint32_t tid,
						  uint64_t start_ns, const char *name,
						  struct fperf_error *err);

/* Who (pid, tid) was at `time_ns`; a target thread that was not known is added. */
struct fperf_thread *fperf_task_table__at(struct fperf_task_table *table, uint32_t pid, uint32_t tid,
					  uint64_t time_ns, struct fperf_error *err);

/* Who a task was that a record carries by value. *id is 0 for the idle task and for "not known". */
int fperf_task_table__mentioned(struct fperf_task_table *table, const struct fperf_wire_task *task,
				uint64_t time_ns, uint32_t *id, struct fperf_error *err);

/* An exec: the process ends and a new one, with a new thread for its leader, begins. The kernel maps the new
 * program before it reports the exec: mappings from then on move to the new process. */
struct fperf_process *fperf_task_table__exec(struct fperf_task_table *table,
					     const struct fperf_wire_exec *exec, const char *name,
					     struct fperf_error *err);

/* A rename. An exec renames its thread, too, just before it is reported: a leader's rename is held back until
 * it is known not to be part of an exec, so that the old program keeps its name. */
int fperf_task_table__rename(struct fperf_task_table *table, struct fperf_thread *thread, uint64_t time_ns,
			     const char *name, struct fperf_error *err);

/* Writes a rename that is still held back, if it is older than an exec takes. UINT64_MAX: in any case. */
int fperf_task_table__settle(struct fperf_task_table *table, struct fperf_thread *thread, uint64_t now_ns,
			     struct fperf_error *err);

/* The last thread of the process ended; its mappings are kept for a while, for records that arrive late. */
void fperf_task_table__end_process(struct fperf_task_table *table, struct fperf_process *process,
				   uint64_t time_ns);
void fperf_task_table__free_old_maps(struct fperf_task_table *table, uint64_t now_ns);

void fperf_task_table__queue_image(struct fperf_task_table *table, struct fperf_process *process);
bool fperf_task_table__next_new_image(struct fperf_task_table *table, uint32_t *pid);

/* Sets what is known of the program's path; writes the process record again if that changes it. */
int fperf_task_table__set_exe(struct fperf_task_table *table, struct fperf_process *process, const char *exe,
			      struct fperf_error *err);

int fperf_task_table__write_process(struct fperf_task_table *table, const struct fperf_process *process,
				    struct fperf_error *err);
int fperf_task_table__write_thread(struct fperf_task_table *table, const struct fperf_thread *thread,
				   struct fperf_error *err);

/* Forgets who ended so long ago that no record can be of them. Looks every few seconds; call it often. */
int fperf_task_table__forget(struct fperf_task_table *table, uint64_t now_ns, struct fperf_error *err);

/* Forgets whoever ended a while ago (and whoever `lives` says is gone), and all tasks outside of the target;
 * writes everybody else again. */
int fperf_task_table__epoch(struct fperf_task_table *table, uint64_t now_ns,
			    bool (*lives)(void *context, uint32_t pid, uint32_t tid), void *context,
			    struct fperf_error *err);

#endif
