#include "session/session.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static struct fperf_error err;

static void add(struct fperf_session *session, enum fperf_record_type type, const void *record)
{
	cr_assert_eq(fperf_session__add(session, type, record, &err), 0, "%s", err.text);
}

static void add_string(struct fperf_session *session, uint32_t id, const char *text)
{
	struct fperf_rec_string string = {.id = id, .size = (uint32_t)strlen(text), .bytes = text};

	add(session, FPERF_RECORD_STRING, &string);
}

Test(session, empty_has_nothing)
{
	struct fperf_session *session = fperf_session__new();
	size_t count = 7;

	cr_assert_eq(fperf_session__seal(session, &err), 0);
	cr_assert_null(fperf_session__records(session, FPERF_RECORD_SAMPLE, &count));
	cr_assert_eq(count, 0);
	cr_assert_null(fperf_session__thread(session, 1));
	cr_assert_str_eq(fperf_session__string(session, 5, &count), "");
	cr_assert_null(fperf_session__meta(session, "host.kernel"));
	cr_assert_eq(fperf_session__meta_u64(session, "start_ns", 42), 42);
	fperf_session__free(session);
	fperf_session__free(NULL);
}

Test(session, copies_strings_and_stack_frames)
{
	struct fperf_session *session = fperf_session__new();
	struct fperf_stack_frame frames[2] = {{.module = 1, .kind = FPERF_FRAME_PC, .offset = 16},
					      {.module = 1, .offset = 32}};
	struct fperf_rec_stack stack = {
		.id = 1, .outcome = FPERF_STACK_COMPLETE, .count = 2, .frames = frames};
	char bytes[] = {'a', '\0', 'b'};
	struct fperf_rec_string string = {.id = 3, .size = 3, .bytes = bytes};
	size_t size;

	add(session, FPERF_RECORD_STACK, &stack);
	add(session, FPERF_RECORD_STRING, &string);
	memset(frames, 0, sizeof(frames));
	memset(bytes, 0, sizeof(bytes));
	cr_assert_eq(fperf_session__seal(session, &err), 0);
	cr_assert_eq(fperf_session__stack(session, 1)->frames[1].offset, 32);
	cr_assert_arr_eq(fperf_session__string(session, 3, &size), "a\0b", 4);
	cr_assert_eq(size, 3);
	fperf_session__free(session);
}

Test(session, seal_sorts_events_and_keeps_the_order_of_equal_times)
{
	struct fperf_session *session = fperf_session__new();
	static const uint64_t times[] = {50, 10, 50, 30, 10}, ends[] = {60, 20, 55, 40, 20};
	static const uint32_t expected[] = {1, 4, 3, 0, 2};
	const struct fperf_rec_offcpu *intervals;
	size_t count;

	for (uint32_t i = 0; i < 5; i++) {
		struct fperf_rec_offcpu interval = {.out_ns = times[i], .in_ns = ends[i], .thread = i};

		add(session, FPERF_RECORD_OFFCPU, &interval);
	}
	cr_assert_eq(fperf_session__seal(session, &err), 0);
	intervals = fperf_session__records(session, FPERF_RECORD_OFFCPU, &count);
	cr_assert_eq(count, 5);
	for (size_t i = 0; i < count; i++)
		cr_assert_eq(intervals[i].thread, expected[i]);
	fperf_session__free(session);
}

Test(session, a_later_record_with_the_same_key_replaces_the_earlier)
{
	struct fperf_session *session = fperf_session__new();
	struct fperf_rec_marker marker = {.id = 2, .chosen = 0};
	struct fperf_rec_mapping mapping = {.process = 1, .start = 4096, .from_ns = 5};
	struct fperf_rec_meta meta = {.key = 1, .value = 2};
	size_t count;

	add_string(session, 1, "label.scene");
	add_string(session, 2, "old");
	add_string(session, 3, "new");
	add(session, FPERF_RECORD_META, &meta);
	meta.value = 3;
	add(session, FPERF_RECORD_META, &meta);
	add(session, FPERF_RECORD_MARKER, &marker);
	marker.id = 1;
	add(session, FPERF_RECORD_MARKER, &marker);
	marker = (struct fperf_rec_marker){.id = 2, .chosen = 1};
	add(session, FPERF_RECORD_MARKER, &marker);
	add(session, FPERF_RECORD_MAPPING, &mapping);
	mapping.from_ns = 6;
	add(session, FPERF_RECORD_MAPPING, &mapping);
	mapping.from_ns = 5;
	mapping.to_ns = 9;
	add(session, FPERF_RECORD_MAPPING, &mapping);
	cr_assert_eq(fperf_session__seal(session, &err), 0);
	cr_assert_str_eq(fperf_session__meta(session, "label.scene"), "new");
	cr_assert_eq(fperf_session__marker(session, 2)->chosen, 1);
	cr_assert_eq(((const struct fperf_rec_marker *)fperf_session__records(session, FPERF_RECORD_MARKER,
									      &count))[0]
			     .id,
		     2);
	cr_assert_eq(count, 2);
	cr_assert_eq(((const struct fperf_rec_mapping *)fperf_session__records(session, FPERF_RECORD_MAPPING,
									       &count))[0]
			     .to_ns,
		     9);
	cr_assert_eq(count, 2);
	fperf_session__free(session);
}

Test(session, ids_may_be_anything)
{
	struct fperf_session *session = fperf_session__new();
	static const uint32_t ids[] = {UINT32_MAX, 1, UINT32_MAX - 1, 70000, 0};
	struct fperf_rec_thread thread = {0};

	for (size_t i = 0; i < 5; i++) {
		thread.id = ids[i];
		thread.tid = (uint32_t)i + 100;
		add(session, FPERF_RECORD_THREAD, &thread);
	}
	cr_assert_eq(fperf_session__seal(session, &err), 0);
	for (size_t i = 0; i < 4; i++)
		cr_assert_eq(fperf_session__thread(session, ids[i])->tid, i + 100);
	cr_assert_null(fperf_session__thread(session, 0), "id 0 means none even if a record claims it");
	cr_assert_null(fperf_session__thread(session, 2));
	fperf_session__free(session);
}

Test(session, meta_numbers)
{
	struct fperf_session *session = fperf_session__new();
	static const char *const texts[] = {
		"18446744073709551615", "18446744073709551616", "12x", "", "-1", "007"};
	static const uint64_t expected[] = {UINT64_MAX, 42, 42, 42, 42, 7};

	for (uint32_t i = 0; i < 6; i++) {
		struct fperf_rec_meta meta = {.key = 2 * i + 1, .value = 2 * i + 2};

		add_string(session, 2 * i + 1, (const char[]){(char)('a' + i), '\0'});
		add_string(session, 2 * i + 2, texts[i]);
		add(session, FPERF_RECORD_META, &meta);
	}
	cr_assert_eq(fperf_session__seal(session, &err), 0);
	for (uint32_t i = 0; i < 6; i++)
		cr_assert_eq(fperf_session__meta_u64(session, (const char[]){(char)('a' + i), '\0'}, 42),
			     expected[i], "%s", texts[i]);
	cr_assert_null(fperf_session__meta(session, "g"));
	fperf_session__free(session);
}

Test(session, unknown_types_are_refused)
{
	struct fperf_session *session = fperf_session__new();
	struct fperf_rec_offcpu record = {0};

	cr_assert_eq(fperf_session__add(session, 0, &record, &err), -EINVAL);
	cr_assert_eq(fperf_session__add(session, FPERF_RECORD_TYPES, &record, &err), -EINVAL);
	fperf_session__free(session);
}
