/* Files of version 1 are read forever, and by a second reader that was written from the specification alone.
 */
#include "files.h"

#include "session/chunk.h"

#include <inttypes.h>

TestSuite(session_golden, .init = setup, .fini = teardown);

/* The repository, from where the compiler found this file. */
static void source_path(char *text, size_t size, const char *name)
{
	const char *end = strstr(__FILE__, "tests/unit/");

	snprintf(text, size, "%.*stests/golden/%s", (int)(end - __FILE__), __FILE__, name);
}

static void golden_path(char *text, size_t size, const char *golden, const char *suffix)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%s", golden, suffix);
	source_path(text, size, name);
}

/* Each version that had new record types or columns left a file behind; and there is one of each level. */
static const char *const golden_files[] = {"v1", "v1_1", "level2", "level1", "level0"};
#define GOLDEN_FILES  (sizeof(golden_files) / sizeof(golden_files[0]))
#define NEWEST_DIGEST "v1_1.digest"

/* What the newest golden file holds: keys and times as a sealed session has them, so that order and number of
 * records are those of the file; everything else at random. */
static void golden_fill(struct fperf_writer *writer, uint32_t types)
{
	struct random_record *record = calloc(1, sizeof(*record));
	struct random_source source = {.state = 20261201};

	for (uint32_t type = 1; type < types; type++) {
		const struct fperf_schema_type *schema = fperf_schema__type(type);
		uint32_t count = type == FPERF_RECORD_SOURCE ? 10 : 60;

		for (uint32_t i = 0; i < count; i++) {
			random_fill(&source, type, record);
			if (type == FPERF_RECORD_STACK && record->stack.count > 64)
				record->stack.count = 64;
			if (schema->keys)
				fperf_schema__store(record->bytes, schema->key[0], schema->key_width[0],
						    type == FPERF_RECORD_STRING || type == FPERF_RECORD_META
							    ? i + 1000
							    : i);
			if (schema->time != FPERF_SCHEMA_NO_OFFSET)
				fperf_schema__store(record->bytes, schema->time, 8, (uint64_t)i * 999999937);
			cr_assert_eq(fperf_writer__add(writer, type, record, &err), 0, "%s", err.text);
		}
		if (type % 5 == 0)
			cr_assert_eq(fperf_writer__flush(writer, false, &err), 0, "%s", err.text);
	}
	free(record);
}

/* FPERF_WRITE_GOLDEN=FILE keeps what is written today, as the golden file of a new version; its digest is
 * what read_session.py --digest says about it. */
static void copy_if_wanted(void)
{
	const char *wanted = getenv("FPERF_WRITE_GOLDEN");
	uint8_t *bytes;
	size_t size;
	FILE *file;

	if (!wanted)
		return;
	bytes = read_file(&size);
	file = fopen(wanted, "wb");
	cr_assert_not_null(file);
	cr_assert_eq(fwrite(bytes, 1, size, file), size);
	cr_assert_eq(fclose(file), 0);
	free(bytes);
}

static void field_text(struct fperf_buf *text, const struct fperf_schema_field *field, const char *record)
{
	const struct fperf_rec_string *string = (const void *)record;
	const struct fperf_rec_stack *stack = (const void *)record;
	uint64_t value;

	if (field->kind == FPERF_FIELD_INTEGER) {
		value = fperf_schema__load(record, field->offset, field->width);
		if (!strcmp(field->name, "exit_code") || !strcmp(field->name, "syscall"))
			fperf_buf__printf(text, "%" PRId32, (int32_t)value);
		else if (!strcmp(field->name, "value") && field->type == FPERF_RECORD_COUNTER)
			fperf_buf__printf(text, "%" PRId64, (int64_t)value);
		else
			fperf_buf__printf(text, "%" PRIu64, value);
	} else if (field->kind == FPERF_FIELD_BYTES) {
		for (uint8_t i = 0; i < (uint8_t)record[field->offset - 1]; i++)
			fperf_buf__printf(text, "%02x", (uint8_t)record[field->offset + i]);
	} else if (field->kind == FPERF_FIELD_STRING) {
		for (uint32_t i = 0; i < string->size; i++)
			fperf_buf__printf(text, "%02x", (uint8_t)string->bytes[i]);
	} else {
		for (uint32_t i = 0; i < stack->count; i++)
			fperf_buf__printf(text, "%s%u:%u:%u:%" PRIu64, i ? " " : "", stack->frames[i].module,
					  stack->frames[i].kind, stack->frames[i].kernel,
					  stack->frames[i].offset);
	}
}

/* As read_session.py --digest: name, number of records, checksum of all values of all records. */
static void digest(const struct fperf_session *session, uint32_t type, char *line, size_t size)
{
	const struct fperf_schema_type *schema = fperf_schema__type(type);
	size_t count, field_count;
	const struct fperf_schema_field *fields = fperf_schema__fields(type, &field_count);
	const char *records = fperf_session__records(session, type, &count);
	struct fperf_buf text;

	fperf_buf__init(&text, 64 << 20);
	for (size_t i = 0; i < count; i++) {
		for (size_t at = 0; at < field_count; at++) {
			field_text(&text, &fields[at], records + i * schema->size);
			fperf_buf__u8(&text, at + 1 < field_count ? '\t' : '\n');
		}
	}
	cr_assert_not(text.failed);
	snprintf(line, size, "%s %zu %08" PRIx32 "\n", schema->name, count,
		 fperf_crc32(text.data, text.size));
	fperf_buf__free(&text);
}

/* Each line of `from` must be the digest of the session's next type; of types after the last line there are
 * no records. `own`: also those of strings and meta, which hold the random id of each session. */
static void assert_digests(FILE *from, const struct fperf_session *session, bool own)
{
	char expected[128], got[128];
	size_t count, lines = 0;

	cr_assert_not_null(from);
	for (uint32_t type = 1; type < FPERF_RECORD_TYPES; type++) {
		digest(session, type, got, sizeof(got));
		if (!fgets(expected, sizeof(expected), from)) {
			fperf_session__records(session, type, &count);
			cr_assert_eq(count, 0, "%s", got);
			continue;
		}
		lines++;
		if (own || (type != FPERF_RECORD_STRING && type != FPERF_RECORD_META))
			cr_assert_str_eq(got, expected);
	}
	cr_assert_geq(lines, 20);
}

Test(session_golden, version_1_is_read_as_ever)
{
	struct fperf_session_damage damage;
	struct fperf_session *session;
	char file[512], digests[512];
	FILE *expected;

	for (size_t i = 0; i < GOLDEN_FILES; i++) {
		golden_path(file, sizeof(file), golden_files[i], "fperf");
		golden_path(digests, sizeof(digests), golden_files[i], "digest");
		session = load(file, &damage);
		assert_whole(&damage);
		expected = fopen(digests, "r");
		assert_digests(expected, session, true);
		fclose(expected);
		fperf_session__free(session);
	}
}

/* One more than the highest type that a digest has a line for. */
static uint32_t digest_types(const char *digests)
{
	FILE *file = fopen(digests, "r");
	uint32_t types = 1;
	char line[128];

	cr_assert_not_null(file);
	while (fgets(line, sizeof(line), file))
		types++;
	fclose(file);
	return types;
}

Test(session_golden, what_is_written_today_holds_the_same)
{
	struct fperf_writer *writer = open_writer(4096);
	struct fperf_session_damage damage;
	struct fperf_session *session;
	char digests[512];
	FILE *expected;

	source_path(digests, sizeof(digests), NEWEST_DIGEST);
	golden_fill(writer, getenv("FPERF_WRITE_GOLDEN") ? FPERF_RECORD_TYPES : digest_types(digests));
	close_writer(writer);
	copy_if_wanted();
	session = load(path, &damage);
	assert_whole(&damage);
	expected = fopen(digests, "r");
	assert_digests(expected, session, false);
	fclose(expected);
	fperf_session__free(session);
}

static bool second_reader_runs(void)
{
	return !system("command -v python3 >/dev/null && { command -v zstd >/dev/null || "
		       "python3 -c 'import zstandard' 2>/dev/null; }");
}

/* Runs the second reader on a file; its exit status is 0 or 4. */
static FILE *second_reader(const char *option, const char *file)
{
	char script[512], command[1200];

	source_path(script, sizeof(script), "read_session.py");
	snprintf(command, sizeof(command), "python3 '%s' %s '%s'", script, option, file);
	return popen(command, "r");
}

Test(session_golden, the_second_reader_agrees, .timeout = 240)
{
	struct fperf_session_damage damage;
	struct fperf_session *session;
	char file[512];
	FILE *from;

	if (!second_reader_runs())
		cr_skip("needs python3 and zstd");
	for (size_t i = 0; i < GOLDEN_FILES; i++) {
		golden_path(file, sizeof(file), golden_files[i], "fperf");
		session = load(file, &damage);
		from = second_reader("--digest", file);
		assert_digests(from, session, true);
		cr_assert_eq(pclose(from), 0);
		fperf_session__free(session);
	}
}

Test(session_golden, the_second_reader_agrees_on_damage, .timeout = 240)
{
	struct random_source source = {.state = 8};
	struct fperf_session_damage damage;
	struct fperf_session *session;
	char got[512], expected[512], file[512];
	uint8_t *bytes;
	size_t size;
	FILE *from;

	if (!second_reader_runs())
		cr_skip("needs python3 and zstd");
	source_path(file, sizeof(file), "v1.fperf");
	for (int round = 0; round < 12; round++) {
		from = fopen(file, "rb");
		bytes = malloc(1 << 20);
		size = fread(bytes, 1, 1 << 20, from);
		fclose(from);
		for (int i = 0; i < 1 + round / 2; i++)
			bytes[random_next(&source) % size] ^= 0x55;
		write_file(bytes, round % 3 == 2 ? size - size / 5 : size);
		free(bytes);
		session = load(path, &damage);
		snprintf(expected, sizeof(expected),
			 "\"chunks_bad\": %u, \"chunks_unknown\": %u, \"bytes_skipped\": %" PRIu64
			 ", \"tail_cut\": %s, \"not_closed\": %s}",
			 damage.chunks_bad, damage.chunks_unknown, damage.bytes_skipped,
			 damage.tail_cut ? "true" : "false", damage.no_end ? "true" : "false");
		from = second_reader("", path);
		cr_assert_not_null(fgets(got, sizeof(got), from));
		cr_assert_eq(WEXITSTATUS(pclose(from)), 4);
		cr_assert_not_null(strstr(got, expected), "%s is not in %s", expected, got);
		fperf_session__free(session);
	}
}
