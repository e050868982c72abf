#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

TestSuite(session_writer, .init = setup, .fini = teardown);

static int open_result(const char *at)
{
	struct fperf_writer_options options = {.path = at, .owner_uid = (uid_t)-1, .owner_gid = (gid_t)-1};
	struct fperf_writer *writer = NULL;
	int ret = fperf_writer__open(&options, &writer, &err);

	if (!ret)
		close_writer(writer);
	return ret;
}

Test(session_writer, a_planted_link_is_refused_and_its_target_untouched)
{
	char target[96];
	struct stat st;

	snprintf(target, sizeof(target), "%s/precious", directory);
	cr_assert_eq(symlink(target, path), 0);
	cr_assert_eq(open_result(path), -ELOOP);
	cr_assert_not_null(strstr(err.text, "symbolic link"));
	cr_assert_neq(stat(target, &st), 0, "a dangling link must not create its target");
	write_file("keep me", 7); /* through the link */
	cr_assert_eq(open_result(path), -ELOOP);
	cr_assert_eq(stat(target, &st), 0);
	cr_assert_eq(st.st_size, 7);
	unlink(target);
}

Test(session_writer, a_regular_file_is_replaced_not_written_into)
{
	char other[96];
	struct stat st;

	write_file("hard links of it keep this", 26);
	snprintf(other, sizeof(other), "%s/other", directory);
	cr_assert_eq(link(path, other), 0);
	cr_assert_eq(open_result(path), 0, "%s", err.text);
	cr_assert_eq(stat(other, &st), 0);
	cr_assert_eq(st.st_size, 26);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	unlink(other);
}

Test(session_writer, other_things_are_refused)
{
	char fifo[96];

	cr_assert_eq(open_result(directory), -EISDIR);
	snprintf(fifo, sizeof(fifo), "%s/fifo", directory);
	cr_assert_eq(mkfifo(fifo, 0600), 0);
	cr_assert_eq(open_result(fifo), -EINVAL);
	unlink(fifo);
	cr_assert_eq(open_result("/nonexistent/directory/x"), -ENOENT);
	cr_assert_not_null(strstr(err.text, "/nonexistent/directory/x"));
}

Test(session_writer, the_file_belongs_to_the_owner_given)
{
	struct fperf_writer_options options = {.path = path, .owner_uid = 12345, .owner_gid = 23456};
	struct fperf_writer *writer;
	struct stat st;

	if (geteuid())
		cr_skip("only root gives files away");
	cr_assert_eq(fperf_writer__open(&options, &writer, &err), 0, "%s", err.text);
	close_writer(writer);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_uid, 12345);
	cr_assert_eq(st.st_gid, 23456);
}

Test(session_writer, time_grain_rounds_down_and_keeps_order_and_joins)
{
	struct fperf_writer_options options = {
		.path = path, .owner_uid = (uid_t)-1, .owner_gid = (gid_t)-1, .time_grain_ns = 1024};
	struct fperf_session_damage damage;
	const struct fperf_rec_offcpu *interval;
	struct fperf_session *session;
	struct fperf_writer *writer;
	size_t count;

	cr_assert_eq(fperf_writer__open(&options, &writer, &err), 0, "%s", err.text);
	fperf_writer__add(writer, FPERF_RECORD_OFFCPU,
			  &(struct fperf_rec_offcpu){.out_ns = 5000, .in_ns = 9999}, &err);
	fperf_writer__add(writer, FPERF_RECORD_COUNTER, &(struct fperf_rec_counter){.time_ns = 5001}, &err);
	close_writer(writer);
	session = load(path, &damage);
	interval = fperf_session__records(session, FPERF_RECORD_OFFCPU, &count);
	cr_assert_eq(interval->out_ns, 4096);
	cr_assert_eq(interval->wake_ns, 0);
	cr_assert_eq(interval->in_ns, 9216);
	cr_assert_eq(((const struct fperf_rec_counter *)fperf_session__records(session, FPERF_RECORD_COUNTER,
									       &count))
			     ->time_ns,
		     5001);
	fperf_session__free(session);
	options.time_grain_ns = 1000;
	cr_assert_eq(fperf_writer__open(&options, &writer, &err), -EINVAL);
}

Test(session_writer, records_that_do_not_fit_are_refused)
{
	struct fperf_writer *writer = open_writer(0);
	struct fperf_rec_stack stack = {.id = 1, .count = FPERF_STACK_MAX_FRAMES + 1};
	char *large = calloc(1, 2 << 20);

	stack.frames = calloc(stack.count, sizeof(*stack.frames));
	cr_assert_eq(fperf_writer__add(writer, FPERF_RECORD_STACK, &stack, &err), -EINVAL);
	cr_assert_eq(fperf_writer__string(writer, large, 2 << 20), 0);
	cr_assert_eq(fperf_writer__add(writer, 99, &stack, &err), -EINVAL);
	close_writer(writer);
	free((void *)stack.frames);
	free(large);
}

/* Records until the disk is full and on, as a recorder does; returns how often an error was told. */
static int record_until_full(struct fperf_writer *writer, uint64_t *added)
{
	struct random_source source = {.state = 6};
	int told = 0;

	for (*added = 0; *added < 300000; ++*added) {
		struct fperf_rec_sample sample = {.time_ns = random_next(&source), .thread = 1};

		told += fperf_writer__add(writer, FPERF_RECORD_SAMPLE, &sample, &err) != 0;
		if (*added % 5000 == 0)
			told += fperf_writer__flush(writer, true, &err) != 0;
	}
	told += fperf_writer__meta(writer, "end_reason", "disk full", &err) != 0;
	return told;
}

static void assert_closed_cleanly(uint64_t added)
{
	struct fperf_session_damage damage;
	struct fperf_session *session = load(path, &damage);
	size_t count, samples = count_of(session, FPERF_RECORD_SAMPLE);
	const struct fperf_rec_loss *loss = fperf_session__records(session, FPERF_RECORD_LOSS, &count);

	assert_whole(&damage);
	cr_assert_gt(samples, 1000);
	cr_assert_eq(count, 1);
	cr_assert_eq(loss->source, FPERF_SOURCE_SAMPLE);
	cr_assert_eq(loss->reason, FPERF_LOSS_WRITE);
	cr_assert_eq(loss->count + samples, added, "received and lost make all");
	cr_assert_str_eq(fperf_session__meta(session, "end_reason"), "disk full");
	fperf_session__free(session);
}

Test(session_writer, a_full_disk_ends_the_recording_in_an_orderly_way, .timeout = 240)
{
	struct fperf_writer_stats stats;
	struct fperf_writer *writer;
	uint64_t added;
	struct stat st;

	if (mount("tmpfs", directory, "tmpfs", 0, "size=512k"))
		cr_skip("cannot mount a small file system here");
	writer = open_writer(0);
	cr_assert_eq(record_until_full(writer, &added), 1, "told once");
	cr_assert_not_null(strstr(err.text, "No space left"), "%s", err.text);
	fperf_writer__stats(writer, &stats);
	cr_assert_gt(stats.records_lost, 1000);
	cr_assert_eq(fperf_writer__close(writer, &err), 0);
	cr_assert_eq(stat(path, &st), 0);
	assert_closed_cleanly(added);
	unlink(path);
	cr_assert_eq(umount(directory), 0);
}

Test(session_writer, a_file_size_limit_ends_the_recording_in_an_orderly_way, .timeout = 240)
{
	struct rlimit limit = {.rlim_cur = 300000, .rlim_max = RLIM_INFINITY};
	struct fperf_writer *writer;
	uint64_t added;
	int told;

	signal(SIGXFSZ, SIG_IGN);
	writer = open_writer(0);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	told = record_until_full(writer, &added);
	cr_assert_eq(fperf_writer__close(writer, &err), 0);
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	cr_assert_eq(told, 1, "told once");
	assert_closed_cleanly(added);
}

/* Even a disk that takes nothing leads to no more than an error. */
Test(session_writer, no_space_from_the_start)
{
	struct rlimit limit = {.rlim_cur = 100, .rlim_max = RLIM_INFINITY};
	struct fperf_session_damage damage;
	struct fperf_session *session;
	struct fperf_writer *writer;

	signal(SIGXFSZ, SIG_IGN);
	writer = open_writer(0);
	setrlimit(RLIMIT_FSIZE, &limit);
	fperf_writer__add(writer, FPERF_RECORD_SAMPLE, &(struct fperf_rec_sample){.time_ns = 1}, &err);
	cr_assert_eq(fperf_writer__close(writer, &err), -EFBIG);
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	session = load(path, &damage);
	cr_assert(damage.no_end);
	cr_assert_eq(count_of(session, FPERF_RECORD_SAMPLE), 0);
	fperf_session__free(session);
}

/* What waits in memory is written when there is room again, and what had no room there either is counted. */
Test(session_writer, records_wait_while_the_disk_is_full, .timeout = 240)
{
	struct fperf_writer_options options = {
		.path = path, .owner_uid = (uid_t)-1, .owner_gid = (gid_t)-1, .wait_bytes = 4 << 20};
	struct fperf_session_damage damage;
	struct fperf_writer_stats stats;
	struct fperf_session *session;
	struct fperf_writer *writer;
	uint64_t added, waited;

	if (mount("tmpfs", directory, "tmpfs", 0, "size=512k"))
		cr_skip("cannot mount a small file system here");
	cr_assert_eq(fperf_writer__open(&options, &writer, &err), 0, "%s", err.text);
	cr_assert_eq(record_until_full(writer, &added), 0, "a full disk is no error");
	fperf_writer__stats(writer, &stats);
	cr_assert(stats.waiting);
	cr_assert_gt(stats.records_lost, 1000);
	waited = added - stats.records[FPERF_RECORD_SAMPLE] - stats.records_lost;
	cr_assert_gt(waited, 10000);
	cr_assert_eq(mount("tmpfs", directory, "tmpfs", MS_REMOUNT, "size=64m"), 0);
	cr_assert_eq(fperf_writer__flush(writer, false, &err), 0, "%s", err.text);
	fperf_writer__stats(writer, &stats);
	cr_assert_not(stats.waiting);
	cr_assert_eq(fperf_writer__close(writer, &err), 0);
	assert_closed_cleanly(added);
	session = load(path, &damage);
	cr_assert_geq(count_of(session, FPERF_RECORD_SAMPLE), waited);
	fperf_session__free(session);
	unlink(path);
	cr_assert_eq(umount(directory), 0);
}

Test(session_writer, a_file_keeps_its_bound, .timeout = 240)
{
	struct fperf_writer_options options = {
		.path = path, .owner_uid = (uid_t)-1, .owner_gid = (gid_t)-1, .max_bytes = 400000};
	struct fperf_writer *writer;
	struct stat st;
	uint64_t added;

	cr_assert_eq(fperf_writer__open(&options, &writer, &err), 0, "%s", err.text);
	cr_assert_eq(record_until_full(writer, &added), 1, "told once");
	cr_assert_eq(fperf_writer__close(writer, &err), 0);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_leq(st.st_size, 400000);
	cr_assert_gt(st.st_size, 200000);
	assert_closed_cleanly(added);
}
