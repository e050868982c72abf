/* A recording that lasts: what is gone is forgotten, and each epoch makes sense by itself. */
#include "feed.h"

#include "session/ring.h"

#include <malloc.h>

TestSuite(aggregate_epochs);

#define GAME 100u

struct long_feed {
	struct feed feed;
	struct fperf_ring *ring;
	struct fperf_writer *to_ring;
	uint32_t next_pid;
	uint64_t now_ms;
};

static bool lives(void *context, uint32_t pid, uint32_t tid)
{
	(void)context;
	return pid == GAME && tid < GAME + 4;
}

static void long_begin(struct long_feed *feed, size_t bytes, uint64_t span_ms)
{
	struct fperf_ring_options options = {.bytes = bytes, .span_ns = span_ms * MS};
	struct fperf_aggregate_options aggregate = {.start_ns = START, .kernel_base = KERNEL_BASE};
	struct fperf_writer_options writer = {0};
	struct fperf_sink sink;

	*feed = (struct long_feed){.next_pid = 1000};
	cr_assert_eq(fperf_ring__new(&options, &feed->ring, &err), 0);
	sink = fperf_ring__sink(feed->ring);
	writer.sink = &sink;
	cr_assert_eq(fperf_writer__open(&writer, &feed->to_ring, &err), 0);
	aggregate.writer = feed->to_ring;
	cr_assert_eq(fperf_aggregate__new(&aggregate, &feed->feed.agg, &err), 0);
	feed->feed.writer = feed->to_ring;
}

static void short_process(struct long_feed *feed)
{
	uint32_t pid = feed->next_pid++;
	struct fperf_wire_fork fork = {
		.header = feed_header(FPERF_WIRE_FORK, sizeof(fork), feed->now_ms, pid, pid),
		.parent_pid = GAME};
	struct fperf_wire_exec exec = {
		.header = feed_header(FPERF_WIRE_EXEC, sizeof(exec), feed->now_ms + 1, pid, pid)};
	struct fperf_wire_exit end = {
		.header = feed_header(FPERF_WIRE_EXIT, sizeof(end), feed->now_ms + 8, pid, pid), .last = 1};
	char path[64], name[FPERF_COMM_SIZE];
	struct fperf_aggregate_mapping mapping = {.pid = pid,
						  .time_ns = START + (feed->now_ms + 2) * MS,
						  .start = 0x400000,
						  .end = 0x500000,
						  .inode = pid,
						  .device = 1};
	struct {
		struct fperf_wire_sample sample;
		uint64_t user[4];
	} sample = {.sample = {.header = feed_header(FPERF_WIRE_SAMPLE, sizeof(sample), feed->now_ms + 3, pid,
						     pid),
			       .period = 1000000,
			       .stack = {.user_count = 4, .outcome = FPERF_STACK_COMPLETE}},
		    .user = {0x400100 + pid % 4096, 0x400200, 0x400300, 0x400400}};

	snprintf(name, sizeof(name), "job-%u", pid);
	memcpy(exec.name, name, sizeof(exec.name));
	snprintf(path, sizeof(path), "/nowhere/build/job-%u", pid);
	mapping.path = path;
	feed_record(&feed->feed, &fork, sizeof(fork));
	feed_record(&feed->feed, &exec, sizeof(exec));
	cr_assert_eq(fperf_aggregate__add_mapping(feed->feed.agg, &mapping, NULL, &err), 0);
	feed_record(&feed->feed, &sample, sizeof(sample));
	feed_record(&feed->feed, &end, sizeof(end));
}

/* A game that has always the same threads, each time with another stack, and is woken by ever new tasks. */
static void game_moment(struct long_feed *feed)
{
	for (uint32_t tid = GAME; tid < GAME + 4; tid++) {
		struct {
			struct fperf_wire_sample sample;
			uint64_t addresses[2 + 3];
		} sample = {.sample = {.header = feed_header(FPERF_WIRE_SAMPLE, sizeof(sample), feed->now_ms,
							     GAME, tid),
				       .period = 1000000,
				       .flags = FPERF_SAMPLE_KERNEL,
				       .stack = {.kernel_count = 2,
						 .user_count = 3,
						 .outcome = FPERF_STACK_COMPLETE}},
			    .addresses = {KERNEL_BASE + 0x100 + feed->now_ms % 50000, KERNEL_BASE + 0x200,
					  0x10000000 + feed->now_ms % 100000, 0x10000200, 0x10000300}};
		struct fperf_wire_offcpu offcpu = {
			.header = feed_header(FPERF_WIRE_OFFCPU, sizeof(offcpu), feed->now_ms + 5, GAME, tid),
			.out_ns = START + (feed->now_ms + 1) * MS,
			.wake_ns = START + (feed->now_ms + 4) * MS,
			.state = 1,
			.syscall = -1,
			.waker = {.pid = 5000000 + feed->next_pid, .tid = 5000000 + feed->next_pid}};

		snprintf(offcpu.waker.name, sizeof(offcpu.waker.name), "w%u", feed->next_pid);
		feed_record(&feed->feed, &sample, sizeof(sample));
		feed_record(&feed->feed, &offcpu, sizeof(offcpu));
	}
}

static void epoch_if_wanted(struct long_feed *feed)
{
	cr_assert_eq(fperf_writer__flush(feed->to_ring, false, &err), 0, "%s", err.text);
	if (!fperf_ring__wants_epoch(feed->ring))
		return;
	cr_assert_eq(fperf_writer__forget_strings(feed->to_ring, &err), 0);
	cr_assert_eq(fperf_ring__begin_epoch(feed->ring, &err), 0);
	cr_assert_eq(fperf_aggregate__begin_epoch(feed->feed.agg, START + feed->now_ms * MS,
						  fperf_ring__epoch(feed->ring) -
							  fperf_ring__first_epoch(feed->ring) + 1,
						  lives, NULL, &err),
		     0, "%s", err.text);
	cr_assert_eq(fperf_writer__flush(feed->to_ring, false, &err), 0);
}

static void game_begin(struct long_feed *feed)
{
	struct fperf_aggregate_mapping mapping = {.pid = GAME,
						  .time_ns = START,
						  .start = 0x10000000,
						  .end = 0x20000000,
						  .inode = 1,
						  .device = 1,
						  .path = "/nowhere/game"};
	struct fperf_aggregate_process process = {
		.pid = GAME, .start_ns = 5 * MS, .name = "game", .exe = "/nowhere/game"};

	cr_assert_eq(fperf_aggregate__add_process(feed->feed.agg, &process, &err), 0);
	cr_assert_eq(fperf_aggregate__add_mapping(feed->feed.agg, &mapping, NULL, &err), 0);
	for (uint32_t tid = GAME; tid < GAME + 4; tid++)
		cr_assert_eq(fperf_aggregate__add_thread(feed->feed.agg, GAME, tid, 5 * MS, "game", &err), 0);
}

static void run(struct long_feed *feed, uint64_t seconds)
{
	for (uint64_t end = feed->now_ms + seconds * 1000; feed->now_ms < end; feed->now_ms += 10) {
		game_moment(feed);
		if (feed->now_ms % 50 == 0)
			short_process(feed);
		if (feed->now_ms % 1000 == 0)
			epoch_if_wanted(feed);
	}
}

static void long_end(struct long_feed *feed)
{
	cr_assert_eq(fperf_writer__close(feed->to_ring, &err), 0);
	fperf_aggregate__free(feed->feed.agg);
	fperf_ring__free(feed->ring);
}

static struct fperf_session *write_out(struct long_feed *feed)
{
	char path[] = "/tmp/fperf-epochs-XXXXXX";
	struct fperf_session_damage damage;
	struct fperf_session *session;
	struct fperf_writer *file;
	int fd = mkstemp(path);
	struct fperf_writer_options options = {.path = path, .owner_uid = (uid_t)-1, .owner_gid = (gid_t)-1};

	cr_assert_geq(fd, 0);
	close(fd);
	cr_assert_eq(fperf_writer__flush(feed->to_ring, false, &err), 0);
	options.first_string = fperf_writer__last_string(feed->to_ring);
	cr_assert_eq(fperf_writer__open(&options, &file, &err), 0, "%s", err.text);
	cr_assert_eq(fperf_ring__write(feed->ring, file, 0, false, &err), 0);
	cr_assert_eq(fperf_writer__close(file, &err), 0);
	cr_assert_eq(fperf_session__load(path, 0, &session, &damage, &err), 0, "%s", err.text);
	unlink(path);
	return session;
}

static void assert_thread(const struct fperf_session *session, uint32_t id)
{
	const struct fperf_rec_thread *thread = fperf_session__thread(session, id);

	cr_assert_not_null(thread, "thread %u is not in the session", id);
	cr_assert_not_null(fperf_session__process(session, thread->process));
}

static void assert_references(const struct fperf_session *session)
{
	size_t count;
	const struct fperf_rec_sample *samples = fperf_session__records(session, FPERF_RECORD_SAMPLE, &count);
	const struct fperf_rec_offcpu *intervals;

	cr_assert_gt(count, 1000);
	for (size_t i = 0; i < count; i++) {
		const struct fperf_rec_stack *stack = fperf_session__stack(session, samples[i].stack);

		assert_thread(session, samples[i].thread);
		cr_assert_not_null(stack, "sample %zu", i);
		for (uint32_t at = 0; at < stack->count; at++)
			cr_assert_not_null(fperf_session__module(session, stack->frames[at].module));
	}
	intervals = fperf_session__records(session, FPERF_RECORD_OFFCPU, &count);
	cr_assert_gt(count, 1000);
	for (size_t i = 0; i < count; i++) {
		assert_thread(session, intervals[i].thread);
		assert_thread(session, intervals[i].waker);
	}
}

/* Names of those that were there all the time, and of the last that came and went. */
static void assert_names(const struct fperf_session *session, const struct long_feed *feed)
{
	size_t count, games = 0, last = 0;
	const struct fperf_rec_process *processes =
		fperf_session__records(session, FPERF_RECORD_PROCESS, &count);
	char name[32];

	snprintf(name, sizeof(name), "job-%u", feed->next_pid - 1);
	for (size_t i = 0; i < count; i++) {
		games += processes[i].pid == GAME && processes[i].target;
		last += !strcmp(fperf_session__string(session, processes[i].name, NULL), name);
	}
	cr_assert_eq(games, 1);
	cr_assert_eq(last, 1);
}

Test(aggregate_epochs, what_is_left_makes_sense)
{
	struct long_feed feed;
	struct fperf_session *session;

	long_begin(&feed, 4u << 20, 10000);
	game_begin(&feed);
	run(&feed, 120);
	session = write_out(&feed);
	assert_references(session);
	assert_names(session, &feed);
	fperf_session__free(session);
	long_end(&feed);
}

/* An hour of a game that starts 80,000 processes, each with a name and a program of its own. */
Test(aggregate_epochs, memory_is_flat_over_an_hour, .timeout = 120)
{
	struct fperf_aggregate_stats stats;
	struct fperf_ring_stats ring;
	struct fperf_session *session;
	struct long_feed feed;
	size_t early, late;

	long_begin(&feed, 1u << 20, 30000);
	game_begin(&feed);
	run(&feed, 600);
	early = mallinfo2().uordblks;
	for (size_t i = 0; i < 6; i++) {
		run(&feed, 600);
		fperf_ring__stats(feed.ring, &ring);
		cr_assert_leq(ring.most_bytes, (1u << 20) + (128u << 10));
	}
	late = mallinfo2().uordblks;
	fperf_aggregate__stats(feed.feed.agg, &stats);
	cr_assert_lt(stats.processes, 5000);
	cr_assert_lt(stats.threads, 5000);
	cr_assert_lt(stats.modules, 5000);
	cr_assert_eq(stats.stacks_lost, 0);
	cr_assert_leq(late, early + (512u << 10), "%zu bytes after ten minutes, %zu an hour later", early,
		      late);
	session = write_out(&feed);
	assert_references(session);
	assert_names(session, &feed);
	fperf_session__free(session);
	long_end(&feed);
}

/* Without epochs, too: all of them are in the file, and those of the last seconds are in memory. */
Test(aggregate_epochs, who_ended_is_forgotten, .timeout = 60)
{
	struct long_feed feed = {.next_pid = 1000};
	struct fperf_aggregate_stats stats;
	const struct fperf_rec_process *processes;
	size_t named = 0, count;

	feed_begin(&feed.feed);
	game_begin(&feed);
	for (size_t i = 0; i < 20000; i++, feed.now_ms += 20) {
		short_process(&feed);
		fperf_aggregate__stats(feed.feed.agg, &stats);
		cr_assert_leq(stats.processes, 2 * (15 + 5) * 50 + 10, "after %zu processes", i);
		cr_assert_leq(stats.threads, 2 * (15 + 5) * 50 + 10, "after %zu processes", i);
	}
	feed_finish(&feed.feed, feed.now_ms);
	processes = fperf_session__records(feed.feed.session, FPERF_RECORD_PROCESS, &count);
	for (size_t i = 0; i < count; i++) {
		const char *name = fperf_session__string(feed.feed.session, processes[i].name, NULL);

		named += !strncmp(name, "job-", 4) && processes[i].target;
	}
	cr_assert_eq(named, 20000);
	feed_end(&feed.feed);
}
