/* Feeds an aggregator with wire records and loads what it wrote. */
#ifndef TESTS_UNIT_AGGREGATE_FEED_H
#define TESTS_UNIT_AGGREGATE_FEED_H

#include "aggregate/aggregate.h"
#include "session/session.h"
#include "session/writer.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS	    1000000ull
#define START	    (1000 * MS) /* of the recording; times of records are given from here on */
#define KERNEL_BASE 0xffffffff81000000ull

static struct fperf_error err;

struct feed {
	char directory[40];
	char path[64];
	struct fperf_writer *writer;
	struct fperf_aggregate *agg;
	struct fperf_session *session; /* once finished */
};

static inline void feed_begin_with(struct feed *feed, uint32_t stack_limit)
{
	struct fperf_writer_options writer = {
		.path = feed->path, .owner_uid = (uid_t)-1, .owner_gid = (gid_t)-1};
	struct fperf_aggregate_options options = {
		.start_ns = START, .kernel_base = KERNEL_BASE, .stack_limit = stack_limit};

	*feed = (struct feed){.directory = "/tmp/fperf-aggregate-XXXXXX"};
	cr_assert_not_null(mkdtemp(feed->directory));
	snprintf(feed->path, sizeof(feed->path), "%s/s.fperf", feed->directory);
	writer.path = feed->path;
	cr_assert_eq(fperf_writer__open(&writer, &feed->writer, &err), 0, "%s", err.text);
	options.writer = feed->writer;
	cr_assert_eq(fperf_aggregate__new(&options, &feed->agg, &err), 0, "%s", err.text);
}

static inline void feed_begin(struct feed *feed)
{
	feed_begin_with(feed, 0);
}

static inline void feed_finish(struct feed *feed, uint64_t end_ms)
{
	struct fperf_session_damage damage;

	cr_assert_eq(fperf_aggregate__finish(feed->agg, START + end_ms * MS, &err), 0, "%s", err.text);
	cr_assert_eq(fperf_writer__close(feed->writer, &err), 0, "%s", err.text);
	cr_assert_eq(fperf_session__load(feed->path, 0, &feed->session, &damage, &err), 0, "%s", err.text);
	cr_assert_eq(damage.records_dropped, 0, "every reference must lead somewhere");
	cr_assert_eq(damage.chunks_bad, 0);
}

static inline void feed_end(struct feed *feed)
{
	fperf_session__free(feed->session);
	fperf_aggregate__free(feed->agg);
	unlink(feed->path);
	rmdir(feed->directory);
}

static inline void feed_record(struct feed *feed, const void *record, size_t size)
{
	cr_assert_eq(fperf_aggregate__consume(feed->agg, record, size, &err), 0, "%s", err.text);
}

static inline struct fperf_wire_header feed_header(uint16_t type, size_t size, uint64_t ms, uint32_t pid,
						   uint32_t tid)
{
	return (struct fperf_wire_header){.type = type,
					  .cpu = 1,
					  .size = (uint32_t)size,
					  .time_ns = START + ms * MS,
					  .pid = pid,
					  .tid = tid};
}

static inline void feed_process(struct feed *feed, uint32_t pid, const char *name)
{
	struct fperf_aggregate_process process = {
		.pid = pid, .parent_pid = 1, .ns_pid = pid, .start_ns = 5 * MS, .name = name, .exe = ""};

	cr_assert_eq(fperf_aggregate__add_process(feed->agg, &process, &err), 0, "%s", err.text);
	cr_assert_eq(fperf_aggregate__add_thread(feed->agg, pid, pid, 5 * MS, name, &err), 0);
}

static inline uint32_t feed_mapping(struct feed *feed, uint32_t pid, uint64_t ms, uint64_t start,
				    uint64_t end, uint64_t offset, const char *path)
{
	struct fperf_aggregate_mapping mapping = {.pid = pid,
						  .time_ns = START + ms * MS,
						  .start = start,
						  .end = end,
						  .file_offset = offset,
						  .path = path};
	uint32_t module;

	cr_assert_eq(fperf_aggregate__add_mapping(feed->agg, &mapping, &module, &err), 0, "%s", err.text);
	return module;
}

/* A sample with the given kernel and user addresses. */
static inline void feed_sample(struct feed *feed, uint64_t ms, uint32_t pid, uint32_t tid,
			       const uint64_t *kernel, uint16_t kernel_count, const uint64_t *user,
			       uint16_t user_count)
{
	struct {
		struct fperf_wire_sample sample;
		uint64_t addresses[FPERF_KERNEL_DEPTH + FPERF_USER_DEPTH];
	} record = {0};
	size_t size = sizeof(record.sample) + (kernel_count + user_count) * sizeof(uint64_t);

	record.sample.header = feed_header(FPERF_WIRE_SAMPLE, size, ms, pid, tid);
	record.sample.period = MS;
	record.sample.flags = kernel_count ? FPERF_SAMPLE_KERNEL : 0;
	record.sample.stack.kernel_count = kernel_count;
	record.sample.stack.user_count = user_count;
	record.sample.stack.outcome = FPERF_STACK_COMPLETE;
	if (kernel_count)
		memcpy(record.addresses, kernel, kernel_count * sizeof(uint64_t));
	if (user_count)
		memcpy(record.addresses + kernel_count, user, user_count * sizeof(uint64_t));
	feed_record(feed, &record, size);
}

static inline void feed_pc(struct feed *feed, uint64_t ms, uint32_t pid, uint32_t tid, uint64_t pc)
{
	pc |= FPERF_WIRE_PC_BIT;
	feed_sample(feed, ms, pid, tid, NULL, 0, &pc, 1);
}

static inline void feed_fork(struct feed *feed, uint64_t ms, uint32_t parent, uint32_t pid, uint32_t tid,
			     const char *name)
{
	struct fperf_wire_fork fork = {
		.header = feed_header(FPERF_WIRE_FORK, sizeof(fork), ms, pid, tid),
		.parent_pid = parent,
		.parent_tid = parent,
		.start_ns = START + ms * MS,
	};

	memcpy(fork.name, name, strnlen(name, sizeof(fork.name)));
	feed_record(feed, &fork, sizeof(fork));
}

static inline void feed_exec(struct feed *feed, uint64_t ms, uint32_t pid, uint32_t old_tid, const char *name)
{
	struct fperf_wire_exec exec = {.header = feed_header(FPERF_WIRE_EXEC, sizeof(exec), ms, pid, pid),
				       .old_tid = old_tid};

	memcpy(exec.name, name, strnlen(name, sizeof(exec.name)));
	feed_record(feed, &exec, sizeof(exec));
}

static inline void feed_exit(struct feed *feed, uint64_t ms, uint32_t pid, uint32_t tid, bool last,
			     uint64_t cpu_ns)
{
	struct fperf_wire_exit exit_record = {
		.header = feed_header(FPERF_WIRE_EXIT, sizeof(exit_record), ms, pid, tid),
		.exit_code = 7,
		.last = last,
		.cpu_ns = cpu_ns};

	feed_record(feed, &exit_record, sizeof(exit_record));
}

static inline void feed_rename(struct feed *feed, uint64_t ms, uint32_t pid, uint32_t tid, const char *name)
{
	struct fperf_wire_rename rename_record = {
		.header = feed_header(FPERF_WIRE_RENAME, sizeof(rename_record), ms, pid, tid)};

	memcpy(rename_record.name, name, strnlen(name, sizeof(rename_record.name)));
	feed_record(feed, &rename_record, sizeof(rename_record));
}

/* What was loaded. */
#define LOADED(feed, TYPE, type, count)                                                                      \
	((const struct fperf_rec_##type *)fperf_session__records((feed)->session, FPERF_RECORD_##TYPE, count))

static inline const char *loaded_text(const struct feed *feed, uint32_t id)
{
	return fperf_session__string(feed->session, id, NULL);
}

static inline const struct fperf_rec_process *loaded_process_of(const struct feed *feed, uint32_t thread)
{
	const struct fperf_rec_thread *record = fperf_session__thread(feed->session, thread);

	cr_assert_not_null(record);
	return fperf_session__process(feed->session, record->process);
}

static inline const struct fperf_stack_frame *loaded_leaf(const struct feed *feed, uint32_t stack)
{
	const struct fperf_rec_stack *record = fperf_session__stack(feed->session, stack);

	cr_assert_not_null(record);
	cr_assert_gt(record->count, 0);
	return &record->frames[0];
}

static inline const char *loaded_leaf_path(const struct feed *feed, uint32_t stack)
{
	const struct fperf_rec_module *module =
		fperf_session__module(feed->session, loaded_leaf(feed, stack)->module);

	return module ? loaded_text(feed, module->path) : "";
}

#endif
