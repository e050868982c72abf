#include "files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

TestSuite(session_file, .init = setup, .fini = teardown);

/* Fields one by one: padding is nobody's business. */
static void assert_same(uint32_t type, const void *got, const void *expected)
{
	size_t count;
	const struct fperf_schema_field *fields = fperf_schema__fields(type, &count);
	const struct fperf_rec_string *string = got, *expected_string = expected;
	const struct fperf_rec_stack *stack = got, *expected_stack = expected;

	for (size_t i = 0; i < count; i++) {
		const char *at = (const char *)got + fields[i].offset,
			   *expected_at = (const char *)expected + fields[i].offset;

		if (fields[i].kind == FPERF_FIELD_INTEGER)
			cr_assert_arr_eq(at, expected_at, fields[i].width, "type %u, %s", type,
					 fields[i].name);
		else if (fields[i].kind == FPERF_FIELD_BYTES)
			cr_assert_arr_eq(at - 1, expected_at - 1, 1 + (size_t)fields[i].width);
	}
	if (type == FPERF_RECORD_STRING) {
		cr_assert_eq(string->size, expected_string->size);
		cr_assert_eq(string->bytes[string->size], '\0');
		if (string->size)
			cr_assert_arr_eq(string->bytes, expected_string->bytes, string->size);
	} else if (type == FPERF_RECORD_STACK) {
		cr_assert_eq(stack->count, expected_stack->count);
		if (stack->count)
			cr_assert_arr_eq(stack->frames, expected_stack->frames,
					 stack->count * sizeof(*stack->frames));
	}
}

static void assert_same_table(uint32_t type, const struct fperf_session *got,
			      const struct fperf_session *expected)
{
	size_t count, expected_count;
	const char *records = fperf_session__records(got, type, &count);
	const char *expected_records = fperf_session__records(expected, type, &expected_count);

	/* The writer adds the id of the session by itself. */
	if (type == FPERF_RECORD_STRING || type == FPERF_RECORD_META)
		return;
	cr_assert_eq(count, expected_count, "type %u: %zu instead of %zu", type, count, expected_count);
	for (size_t i = 0; i < count; i++)
		assert_same(type, records + i * fperf_schema__type(type)->size,
			    expected_records + i * fperf_schema__type(type)->size);
}

static void add_both(struct fperf_writer *writer, struct fperf_session *session, uint32_t type,
		     const void *record)
{
	cr_assert_eq(fperf_writer__add(writer, type, record, &err), 0, "%s", err.text);
	cr_assert_eq(fperf_session__add(session, type, record, &err), 0, "%s", err.text);
}

Test(session_file, every_type_survives_with_random_and_extreme_values, .timeout = 240)
{
	struct fperf_session *expected = fperf_session__new(), *got;
	struct fperf_writer *writer = open_writer(8192);
	struct random_record *record = calloc(1, sizeof(*record));
	struct random_source source = {.state = 1};
	struct fperf_session_damage damage;
	struct fperf_writer_stats stats;

	for (uint32_t type = FPERF_RECORD_META; type < FPERF_RECORD_TYPES; type++) {
		for (int i = 0; i < 700; i++) {
			random_fill(&source, type, record);
			add_both(writer, expected, type, record->bytes);
		}
	}
	cr_assert_eq(fperf_writer__flush(writer, true, &err), 0, "%s", err.text);
	fperf_writer__stats(writer, &stats);
	cr_assert_eq(stats.records[FPERF_RECORD_STACK], 700);
	cr_assert_gt(stats.chunks, FPERF_RECORD_TYPES);
	close_writer(writer);
	cr_assert_eq(fperf_session__seal(expected, &err), 0);
	got = load(path, &damage);
	assert_whole(&damage);
	for (uint32_t type = 1; type < FPERF_RECORD_TYPES; type++)
		assert_same_table(type, got, expected);
	fperf_session__free(expected);
	fperf_session__free(got);
	free(record);
}

Test(session_file, strings_survive_whatever_their_bytes_and_ids)
{
	struct fperf_writer *writer = open_writer(512);
	struct random_record *record = calloc(1, sizeof(*record));
	struct random_source source = {.state = 2};
	struct fperf_session_damage damage;
	struct fperf_session *got;
	size_t size;

	for (uint32_t i = 0; i < 300; i++) {
		random_fill(&source, FPERF_RECORD_STRING, record);
		record->string.id = i * 7919 + 1000;
		cr_assert_eq(fperf_writer__add(writer, FPERF_RECORD_STRING, record, &err), 0, "%s", err.text);
	}
	close_writer(writer);
	got = load(path, &damage);
	assert_whole(&damage);
	source.state = 2;
	for (uint32_t i = 0; i < 300; i++) {
		random_fill(&source, FPERF_RECORD_STRING, record);
		cr_assert_eq(memcmp(fperf_session__string(got, i * 7919 + 1000, &size), record->text,
				    record->string.size),
			     0);
		cr_assert_eq(size, record->string.size);
	}
	fperf_session__free(got);
	free(record);
}

Test(session_file, interned_strings_and_meta)
{
	struct fperf_writer *writer = open_writer(0);
	uint32_t name = fperf_writer__text(writer, "render"),
		 again = fperf_writer__string(writer, "render", 6);
	struct fperf_session_damage damage;
	struct fperf_session *session;

	cr_assert_neq(name, 0);
	cr_assert_eq(name, again);
	cr_assert_eq(fperf_writer__text(writer, ""), 0);
	cr_assert_eq(fperf_writer__text(writer, NULL), 0);
	cr_assert_eq(fperf_writer__meta(writer, "target.name", "old", &err), 0);
	cr_assert_eq(fperf_writer__meta(writer, "target.name", "minetest", &err), 0);
	cr_assert_eq(fperf_writer__meta(writer, "label.empty", "", &err), 0);
	cr_assert_eq(fperf_writer__meta_u64(writer, "end_ns", UINT64_MAX, &err), 0);
	close_writer(writer);
	session = load(path, &damage);
	assert_whole(&damage);
	cr_assert_str_eq(fperf_session__string(session, name, NULL), "render");
	cr_assert_str_eq(fperf_session__meta(session, "target.name"), "minetest");
	cr_assert_str_eq(fperf_session__meta(session, "label.empty"), "");
	cr_assert_eq(fperf_session__meta_u64(session, "end_ns", 0), UINT64_MAX);
	cr_assert_eq(strlen(fperf_session__meta(session, "session.id")), 32);
	fperf_session__free(session);
}

Test(session_file, empty_session_is_whole)
{
	struct fperf_session_damage damage;
	struct fperf_session *session;
	size_t count;

	close_writer(open_writer(0));
	session = load(path, &damage);
	assert_whole(&damage);
	cr_assert_null(fperf_session__records(session, FPERF_RECORD_SAMPLE, &count));
	fperf_session__free(session);
	cr_assert_eq(fperf_writer__close(NULL, &err), 0);
}

Test(session_file, what_was_flushed_is_there_when_the_recorder_is_killed)
{
	struct fperf_session_damage damage;
	struct fperf_session *session;
	size_t count;
	pid_t child = fork();

	if (!child) {
		struct fperf_writer *writer = open_writer(0);
		struct fperf_rec_sample sample = {.time_ns = 5, .thread = 1};

		fperf_writer__add(writer, FPERF_RECORD_SAMPLE, &sample, &err);
		fperf_writer__flush(writer, false, &err);
		fperf_writer__add(writer, FPERF_RECORD_SAMPLE, &sample, &err);
		raise(SIGKILL);
	}
	cr_assert_gt(child, 0);
	cr_assert_eq(waitpid(child, NULL, 0), child);
	session = load(path, &damage);
	cr_assert(damage.no_end);
	cr_assert_not(damage.tail_cut);
	cr_assert_eq(damage.chunks_bad, 0);
	fperf_session__records(session, FPERF_RECORD_SAMPLE, &count);
	cr_assert_eq(count, 1);
	fperf_session__free(session);
}

/* Writes numbered samples, a flush after each 500, until it is killed. */
static void write_until_killed(void)
{
	struct fperf_writer *writer = open_writer(4096);

	for (uint64_t i = 1;; i++) {
		struct fperf_rec_sample sample = {
			.time_ns = i, .thread = 1, .period = i * 0x9e3779b97f4a7c15ull};

		fperf_writer__add(writer, FPERF_RECORD_SAMPLE, &sample, &err);
		if (i % 500 == 0)
			fperf_writer__flush(writer, false, &err);
	}
}

/* At any moment: what is there is intact, without a gap, and at most the chunk that was being written is cut.
 * FPERF_KILLS changes how often. */
Test(session_file, killed_at_random_moments, .timeout = 600)
{
	const char *wanted = getenv("FPERF_KILLS");
	struct random_source source = {.state = 11};
	int kills = wanted ? atoi(wanted) : 200, cut = 0;

	for (int round = 0; round < kills; round++) {
		const struct fperf_rec_sample *samples;
		struct fperf_session_damage damage;
		struct fperf_session *session;
		size_t count;
		pid_t child = fork();

		if (!child)
			write_until_killed();
		cr_assert_gt(child, 0);
		while (access(path, F_OK))
			usleep(100);
		usleep(500 + (useconds_t)(random_next(&source) % 20000));
		kill(child, SIGKILL);
		cr_assert_eq(waitpid(child, NULL, 0), child);
		if (fperf_session__load(path, 0, &session, &damage, &err)) {
			struct stat st;

			cr_assert_eq(stat(path, &st), 0);
			cr_assert_eq(st.st_size, 0, "%s", err.text); /* not even its header was there */
			unlink(path);
			continue;
		}
		cr_assert(damage.no_end);
		cr_assert_eq(damage.chunks_bad, 0, "%s", damage.first);
		cut += damage.tail_cut;
		samples = fperf_session__records(session, FPERF_RECORD_SAMPLE, &count);
		for (size_t i = 0; i < count; i++)
			cr_assert_eq(samples[i].time_ns, i + 1);
		fperf_session__free(session);
		unlink(path);
	}
	cr_log_info("%d kills, %d files cut inside a chunk", kills, cut);
}

Test(session_file, a_saved_session_is_the_same_and_keeps_its_id, .timeout = 240)
{
	struct fperf_writer *writer = open_writer(8192);
	struct random_record *record = calloc(1, sizeof(*record));
	struct random_source source = {.state = 9};
	struct fperf_session_damage damage;
	struct fperf_session *first, *second;
	char copy[80];
	size_t size;

	for (uint32_t type = FPERF_RECORD_MODULE; type < FPERF_RECORD_TYPES; type++) {
		for (int i = 0; i < 300; i++) {
			random_fill(&source, type, record);
			if (type == FPERF_RECORD_OFFCPU) /* equal times would not keep their order */
				record->offcpu.out_ns = (uint64_t)i;
			cr_assert_eq(fperf_writer__add(writer, type, record->bytes, &err), 0, "%s", err.text);
		}
	}
	fperf_writer__meta(writer, "target.name", "minetest", &err);
	close_writer(writer);
	first = load(path, &damage);
	snprintf(copy, sizeof(copy), "%s.copy", path);
	cr_assert_eq(fperf_session__save(first, copy, &err), 0, "%s", err.text);
	second = load(copy, &damage);
	unlink(copy);
	assert_whole(&damage);
	for (uint32_t type = 1; type < FPERF_RECORD_TYPES; type++)
		assert_same_table(type, second, first);
	cr_assert_str_eq(fperf_session__meta(second, "session.id"), fperf_session__meta(first, "session.id"));
	cr_assert_str_eq(fperf_session__meta(second, "target.name"), "minetest");
	cr_assert_str_eq(fperf_session__string(second, 1, &size), fperf_session__string(first, 1, &size));
	fperf_session__free(first);
	fperf_session__free(second);
	free(record);
}
