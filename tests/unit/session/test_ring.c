#include "files.h"

#include "session/ring.h"

#define MS 1000000ull
#define S  (1000 * MS)

TestSuite(session_ring, .init = setup, .fini = teardown);

struct fixture {
	struct fperf_ring *ring;
	struct fperf_writer *writer;
	uint32_t next_stack, threads;
};

static void begin(struct fixture *fixture, size_t bytes, uint64_t span_ns)
{
	struct fperf_ring_options options = {.bytes = bytes, .span_ns = span_ns};
	struct fperf_writer_options writer = {0};
	struct fperf_sink sink;

	*fixture = (struct fixture){0};
	cr_assert_eq(fperf_ring__new(&options, &fixture->ring, &err), 0);
	sink = fperf_ring__sink(fixture->ring);
	writer.sink = &sink;
	cr_assert_eq(fperf_writer__open(&writer, &fixture->writer, &err), 0);
}

static void end(struct fixture *fixture)
{
	close_writer(fixture->writer);
	fperf_ring__free(fixture->ring);
}

static void add(struct fixture *fixture, enum fperf_record_type type, const void *record)
{
	cr_assert_eq(fperf_writer__add(fixture->writer, type, record, &err), 0, "%s", err.text);
}

/* Half a second of a game: what a recorder would write, ids of an epoch never used in the next. */
static void half_second(struct fixture *fixture, uint64_t now_ns, unsigned int samples)
{
	char name[32];

	for (unsigned int i = 0; i < samples; i++) {
		struct fperf_stack_frame frames[20];
		struct fperf_rec_stack stack = {.id = ++fixture->next_stack, .count = 20, .frames = frames};
		struct fperf_rec_sample sample = {
			.time_ns = now_ns + i * 400 * MS / samples, .thread = 1, .stack = stack.id};

		for (size_t at = 0; at < 20; at++)
			frames[at] = (struct fperf_stack_frame){.module = 1,
								.offset = stack.id * 977u + at * 65537u};
		if (i % 64 == 0) {
			struct fperf_rec_thread thread = {.id = ++fixture->threads};

			snprintf(name, sizeof(name), "thread %u", thread.id);
			thread.name = fperf_writer__text(fixture->writer, name);
			add(fixture, FPERF_RECORD_THREAD, &thread);
		}
		sample.thread = fixture->threads;
		add(fixture, FPERF_RECORD_STACK, &stack);
		add(fixture, FPERF_RECORD_SAMPLE, &sample);
	}
	cr_assert_eq(fperf_writer__flush(fixture->writer, false, &err), 0);
	if (!fperf_ring__wants_epoch(fixture->ring))
		return;
	cr_assert_eq(fperf_writer__forget_strings(fixture->writer, &err), 0);
	cr_assert_eq(fperf_ring__begin_epoch(fixture->ring, &err), 0);
	fixture->threads++;
	add(fixture, FPERF_RECORD_THREAD,
	    &(struct fperf_rec_thread){.id = fixture->threads,
				       .name = fperf_writer__text(fixture->writer, "said again")});
	cr_assert_eq(fperf_writer__flush(fixture->writer, false, &err), 0);
}

static struct fperf_session *write_out(struct fixture *fixture, uint64_t from_ns, bool pinned_only)
{
	struct fperf_writer_options options = {
		.path = path,
		.owner_uid = (uid_t)-1,
		.owner_gid = (gid_t)-1,
		.first_string = fperf_writer__last_string(fixture->writer),
	};
	struct fperf_session_damage damage;
	struct fperf_writer *file;

	cr_assert_eq(fperf_writer__open(&options, &file, &err), 0, "%s", err.text);
	cr_assert_eq(fperf_ring__write(fixture->ring, file, from_ns, pinned_only, &err), 0, "%s", err.text);
	cr_assert_eq(fperf_writer__meta(file, "label.late", "a string of its own", &err), 0);
	close_writer(file);
	return load(path, &damage);
}

/* Every reference leads somewhere, and to the right thing. */
static void assert_makes_sense(const struct fperf_session *session)
{
	size_t count;
	const struct fperf_rec_sample *samples = fperf_session__records(session, FPERF_RECORD_SAMPLE, &count);

	cr_assert_gt(count, 0);
	for (size_t i = 0; i < count; i++) {
		const struct fperf_rec_stack *stack = fperf_session__stack(session, samples[i].stack);
		const struct fperf_rec_thread *thread = fperf_session__thread(session, samples[i].thread);
		char name[32];

		cr_assert_not_null(stack, "sample %zu of %zu", i, count);
		cr_assert_eq(stack->frames[0].offset, stack->id * 977u);
		cr_assert_not_null(thread);
		snprintf(name, sizeof(name), "thread %u", thread->id);
		if (strcmp(fperf_session__string(session, thread->name, NULL), "said again"))
			cr_assert_str_eq(fperf_session__string(session, thread->name, NULL), name);
	}
	cr_assert_str_eq(fperf_session__meta(session, "label.late"), "a string of its own");
}

static uint64_t first_sample(const struct fperf_session *session)
{
	size_t count;
	const struct fperf_rec_sample *samples = fperf_session__records(session, FPERF_RECORD_SAMPLE, &count);

	return samples[0].time_ns;
}

Test(session_ring, what_is_written_out_is_whole_and_covers_the_span)
{
	struct fixture fixture;
	struct fperf_session *session;

	begin(&fixture, 8u << 20, 10 * S);
	for (uint64_t half = 0; half < 100; half++)
		half_second(&fixture, 1000 * S + half * S / 2, 200);
	session = write_out(&fixture, 0, false);
	assert_makes_sense(session);
	cr_assert_leq(first_sample(session), 1040 * S);
	cr_assert_geq(first_sample(session), 1039 * S, "what is older than the span is gone");
	fperf_session__free(session);
	session = write_out(&fixture, 1047 * S, false);
	assert_makes_sense(session);
	cr_assert_geq(first_sample(session), 1046 * S, "whole segments from there on");
	cr_assert_leq(first_sample(session), 1047 * S);
	fperf_session__free(session);
	end(&fixture);
}

Test(session_ring, stays_within_its_bytes_however_much_comes)
{
	struct fixture fixture;
	struct fperf_ring_stats stats;
	struct fperf_session *session;

	begin(&fixture, 512u << 10, 0);
	for (uint64_t half = 0; half < 400; half++) {
		half_second(&fixture, 1000 * S + half * S / 2, 300 + (half % 7) * 300);
		fperf_ring__stats(fixture.ring, &stats);
		cr_assert_leq(stats.bytes, (512u << 10) + (128u << 10),
			      "half second %zu: %zu bytes in %zu segments", (size_t)half, stats.bytes,
			      stats.segments);
		cr_assert_leq(stats.epochs, 40);
	}
	cr_assert_gt(stats.dropped, 0);
	session = write_out(&fixture, 0, false);
	assert_makes_sense(session);
	fperf_session__free(session);
	end(&fixture);
}

Test(session_ring, what_is_pinned_stays_until_it_is_let_go)
{
	struct fixture fixture;
	struct fperf_ring_stats before, after;
	struct fperf_session *session;

	begin(&fixture, 512u << 10, 5 * S);
	for (uint64_t half = 0; half < 10; half++)
		half_second(&fixture, 1000 * S + half * S / 2, 200);
	cr_assert_gt(fperf_ring__pin(fixture.ring, 1002 * S, 1003 * S), 0);
	cr_assert_gt(fperf_ring__pin(fixture.ring, 1002 * S, 1003 * S), 0);
	for (uint64_t half = 10; half < 200; half++)
		half_second(&fixture, 1000 * S + half * S / 2, 200);
	session = write_out(&fixture, 0, true);
	assert_makes_sense(session);
	cr_assert_leq(first_sample(session), 1002 * S);
	cr_assert_geq(first_sample(session), 1001 * S);
	fperf_session__free(session);
	fperf_ring__unpin(fixture.ring, 1002 * S, 1003 * S);
	fperf_ring__stats(fixture.ring, &before);
	cr_assert_gt(before.pinned_bytes, 0, "it was pinned twice");
	fperf_ring__unpin(fixture.ring, 1002 * S, 1003 * S);
	fperf_ring__stats(fixture.ring, &after);
	cr_assert_eq(after.pinned_bytes, 0);
	cr_assert_lt(after.bytes, before.bytes);
	session = write_out(&fixture, 0, false);
	assert_makes_sense(session);
	cr_assert_geq(first_sample(session), 1090 * S);
	fperf_session__free(session);
	end(&fixture);
}

static void stretch_count(void *context, uint64_t from_ns, uint64_t to_ns)
{
	cr_assert_lt(from_ns, to_ns);
	(*(size_t *)context)++;
}

Test(session_ring, says_which_times_it_covers)
{
	struct fixture fixture;
	size_t stretches = 0;

	begin(&fixture, 8u << 20, 5 * S);
	for (uint64_t half = 0; half < 10; half++)
		half_second(&fixture, 1000 * S + half * S / 2, 200);
	fperf_ring__stretches(fixture.ring, 0, false, stretch_count, &stretches);
	cr_assert_eq(stretches, 1);
	fperf_ring__pin(fixture.ring, 1002 * S, 1002 * S + 1);
	fperf_ring__pin(fixture.ring, 1004 * S, 1004 * S + 1);
	for (uint64_t half = 10; half < 100; half++)
		half_second(&fixture, 1000 * S + half * S / 2, 200);
	stretches = 0;
	fperf_ring__stretches(fixture.ring, 0, true, stretch_count, &stretches);
	cr_assert_eq(stretches, 2);
	stretches = 0;
	fperf_ring__stretches(fixture.ring, 0, false, stretch_count, &stretches);
	cr_assert_eq(stretches, 3);
	end(&fixture);
}
