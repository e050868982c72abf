/* What is wrong with a file costs what is damaged and no more, is told, and never anything worse. */
#include "files.h"

#include "session/chunk.h"
#include "session/rows.h"

#include <errno.h>
#include <inttypes.h>

TestSuite(session_damage, .init = setup, .fini = teardown);

struct place { /* of a chunk */
	size_t at, end;
	struct fperf_chunk_header header;
};

struct example {
	uint8_t *bytes;
	size_t size;
	struct place places[256];
	size_t count;
};

/* Some chunks of every type, in a file of a few KB. */
static void example_make(struct example *example)
{
	struct random_record *record = calloc(1, sizeof(*record));
	struct random_source source = {.state = 3};
	struct fperf_writer *writer = open_writer(0);

	for (int round = 0; round < 2; round++) {
		for (uint32_t type = 1; type < FPERF_RECORD_TYPES; type++) {
			for (int i = 0; i < 2; i++) {
				random_fill(&source, type, record);
				/* Small, so that trying every byte does not take long. */
				if (type == FPERF_RECORD_STRING)
					record->string.size %= 16;
				if (type == FPERF_RECORD_STACK)
					record->stack.count %= 4;
				cr_assert_eq(fperf_writer__add(writer, type, record, &err), 0, "%s",
					     err.text);
			}
		}
		cr_assert_eq(fperf_writer__flush(writer, false, &err), 0);
	}
	close_writer(writer);
	free(record);
	example->bytes = read_file(&example->size);
	example->count = 0;
	for (size_t at = FPERF_FILE_HEADER_SIZE; at < example->size;) {
		struct place *place = &example->places[example->count++];

		place->at = at;
		cr_assert(fperf_chunk_header__unpack(&place->header, example->bytes + at));
		at = place->end = at + FPERF_CHUNK_HEADER_SIZE + place->header.stored_size;
	}
	cr_assert_eq(example->places[example->count - 1].end, example->size);
}

/* Types of which no two records replace each other, but for losses, which a reader adds. */
static bool type_counts(uint32_t type)
{
	return !fperf_schema__type(type)->keys && type != FPERF_RECORD_LOSS;
}

static size_t total_of(const struct fperf_session *session)
{
	size_t total = 0;

	for (uint32_t type = FPERF_RECORD_TASK_EVENT; type < FPERF_RECORD_TYPES; type++)
		if (type_counts(type))
			total += count_of(session, type);
	return total;
}

static bool counts(const struct fperf_chunk_header *header)
{
	return header->type >= FPERF_RECORD_TASK_EVENT && type_counts(header->type);
}

Test(session_damage, every_prefix_is_read_up_to_its_last_whole_chunk, .timeout = 240)
{
	struct example example;
	struct fperf_session_damage damage;
	struct fperf_session *session;

	example_make(&example);
	for (size_t size = 0; size < example.size; size++) {
		size_t expected = 0, whole = FPERF_FILE_HEADER_SIZE;

		cr_assert_eq(truncate(path, 0), 0);
		write_file(example.bytes, size);
		if (size < FPERF_FILE_HEADER_SIZE) {
			cr_assert_eq(fperf_session__load(path, 0, &session, &damage, &err), -EINVAL);
			continue;
		}
		for (size_t i = 0; i < example.count && example.places[i].end <= size; i++) {
			whole = example.places[i].end;
			expected += counts(&example.places[i].header) ? example.places[i].header.count : 0;
		}
		session = load(path, &damage);
		cr_assert_eq(total_of(session), expected, "prefix of %zu bytes", size);
		cr_assert(damage.no_end);
		cr_assert_eq(damage.tail_cut, whole != size, "prefix of %zu bytes", size);
		cr_assert_eq(damage.chunks_bad, 0);
		cr_assert_eq(damage.bytes_skipped, size - whole);
		fperf_session__free(session);
	}
	free(example.bytes);
}

/* In which chunk the byte lies; count: in the file header. */
static size_t place_of(const struct example *example, size_t at)
{
	size_t i = 0;

	while (i < example->count && (at < example->places[i].at || at >= example->places[i].end))
		i++;
	return i;
}

Test(session_damage, a_flipped_byte_costs_one_chunk_and_is_told, .timeout = 240)
{
	struct random_source source = {.state = 4};
	struct example example;
	struct fperf_session_damage damage;
	struct fperf_session *session;
	size_t whole;

	example_make(&example);
	session = load(path, &damage);
	whole = total_of(session);
	fperf_session__free(session);
	for (size_t at = 0; at < example.size; at++) {
		size_t place = place_of(&example, at), expected = whole, bad = place < example.count;
		uint8_t flip = (uint8_t)(1 + random_next(&source) % 255);

		if (place < example.count && counts(&example.places[place].header))
			expected -= example.places[place].header.count;
		example.bytes[at] ^= flip;
		write_file(example.bytes, example.size);
		session = load(path, &damage);
		cr_assert_eq(total_of(session), expected, "byte %zu: %s", at, damage.first);
		cr_assert_neq(damage.first[0], '\0', "byte %zu goes unnoticed", at);
		cr_assert_eq(damage.chunks_bad + damage.tail_cut, bad, "byte %zu: %s", at, damage.first);
		fperf_session__free(session);
		example.bytes[at] ^= flip;
	}
	free(example.bytes);
}

Test(session_damage, several_damaged_places, .timeout = 240)
{
	struct random_source source = {.state = 5};
	struct example example;
	struct fperf_session_damage damage;
	struct fperf_session *session;

	example_make(&example);
	for (int round = 0; round < 1000; round++) {
		uint8_t *bytes = malloc(example.size);
		bool hit[257] = {false};
		size_t expected = 0;

		memcpy(bytes, example.bytes, example.size);
		for (uint64_t i = 1 + random_next(&source) % 12; i > 0; i--) {
			size_t at = random_next(&source) % example.size;

			bytes[at] = (uint8_t)~example.bytes[at];
			hit[place_of(&example, at)] = true;
		}
		for (size_t i = 0; i < example.count; i++)
			if (!hit[i] && counts(&example.places[i].header))
				expected += example.places[i].header.count;
		write_file(bytes, example.size);
		session = load(path, &damage);
		cr_assert_eq(total_of(session), expected, "%s", damage.first);
		cr_assert_neq(damage.first[0], '\0');
		fperf_session__free(session);
		free(bytes);
	}
	free(example.bytes);
}

/* Removes bytes [from, to) of the example. */
static void write_without(const struct example *example, size_t from, size_t to)
{
	uint8_t *bytes = malloc(example->size);

	memcpy(bytes, example->bytes, from);
	memcpy(bytes + from, example->bytes + to, example->size - to);
	write_file(bytes, example->size - (to - from));
	free(bytes);
}

Test(session_damage, bytes_missing_in_the_middle)
{
	struct example example;
	struct fperf_session_damage damage;
	struct fperf_session *session;
	const struct place *place;

	example_make(&example);
	place = &example.places[20];
	/* Out of a payload. */
	write_without(&example, place->at + FPERF_CHUNK_HEADER_SIZE + 1, place->end - 1);
	session = load(path, &damage);
	cr_assert_eq(damage.chunks_bad, 1, "%s", damage.first);
	cr_assert_eq(damage.records_dropped, place->header.count);
	fperf_session__free(session);
	/* Three whole chunks. */
	write_without(&example, place->at, example.places[22].end);
	session = load(path, &damage);
	cr_assert_eq(damage.chunks_bad, 3, "%s", damage.first);
	cr_assert_eq(damage.bytes_skipped, 0);
	cr_assert_eq(damage.records_dropped, 6);
	cr_assert_not(damage.no_end);
	fperf_session__free(session);
	/* The end of one, the beginning of the next. */
	write_without(&example, place->end - 5, place->end + 60);
	session = load(path, &damage);
	cr_assert_eq(damage.chunks_bad, 2, "%s", damage.first);
	fperf_session__free(session);
	free(example.bytes);
}

Test(session_damage, what_is_lost_is_a_loss_like_any_other)
{
	struct fperf_writer *writer = open_writer(0);
	struct fperf_session_damage damage;
	struct fperf_session *session;
	const struct fperf_rec_loss *loss;
	uint8_t *bytes;
	size_t size, count;

	for (uint64_t i = 0; i < 100; i++)
		fperf_writer__add(writer, FPERF_RECORD_SAMPLE, &(struct fperf_rec_sample){.time_ns = i},
				  &err);
	close_writer(writer);
	bytes = read_file(&size);
	for (size_t at = FPERF_FILE_HEADER_SIZE; at < size;) {
		struct fperf_chunk_header header;

		cr_assert(fperf_chunk_header__unpack(&header, bytes + at));
		if (header.type == FPERF_RECORD_SAMPLE)
			bytes[at]++; /* not even the header is left */
		at += FPERF_CHUNK_HEADER_SIZE + header.stored_size;
	}
	write_file(bytes, size);
	session = load(path, &damage);
	cr_assert_eq(damage.records_dropped, 100);
	cr_assert_eq(damage.chunks_bad, 1);
	loss = fperf_session__records(session, FPERF_RECORD_LOSS, &count);
	cr_assert_eq(count, 1);
	cr_assert_eq(loss->source, FPERF_SOURCE_SAMPLE);
	cr_assert_eq(loss->reason, FPERF_LOSS_CHUNK);
	cr_assert_eq(loss->count, 100);
	fperf_session__free(session);
	free(bytes);
}

/* A file from a header and chunks that a test makes up. */
struct made {
	uint8_t bytes[65536];
	size_t size;
	struct fperf_file_header header;
	uint32_t sequence;
};

static void made_begin(struct made *made)
{
	*made = (struct made){
		.header = {.major = 1, .size = FPERF_FILE_HEADER_SIZE, .uuid = "abcdefghijklmno"}};
	fperf_file_header__pack(&made->header, made->bytes);
	made->size = FPERF_FILE_HEADER_SIZE;
}

static void made_chunk(struct made *made, struct fperf_chunk_header header, const void *payload, size_t size)
{
	header.tag = header.tag ? header.tag : fperf_file_header__tag(&made->header);
	header.sequence = made->sequence++;
	header.stored_size = header.stored_size ? header.stored_size : (uint32_t)size;
	header.raw_size = header.raw_size ? header.raw_size : (uint32_t)size;
	header.payload_checksum = fperf_crc32(payload, size);
	fperf_chunk_header__pack(&header, made->bytes + made->size);
	memcpy(made->bytes + made->size + FPERF_CHUNK_HEADER_SIZE, payload, size);
	made->size += FPERF_CHUNK_HEADER_SIZE + size;
}

/* One column: its header, and a body of small numbers. */
static size_t put_column(uint8_t *at, uint8_t id, uint8_t kind, uint8_t predictor, const void *body,
			 uint32_t size)
{
	uint8_t header[FPERF_COLUMN_HEADER_SIZE] = {id, kind, predictor,     0,
						    0,	0,    (uint8_t)size, (uint8_t)(size >> 8)};

	memcpy(at, header, sizeof(header));
	memcpy(at + sizeof(header), body, size);
	return sizeof(header) + size;
}

static struct fperf_session *made_load(struct made *made, struct fperf_session_damage *damage)
{
	write_file(made->bytes, made->size);
	return load(path, damage);
}

Test(session_damage, unknown_types_and_columns_of_a_newer_version_are_skipped)
{
	static const uint8_t two[] = {1, 0, 7, 9};
	uint8_t payload[256];
	struct fperf_session_damage damage;
	struct fperf_session *session;
	const struct fperf_rec_source *sources;
	struct made made;
	size_t size, count;

	made_begin(&made);
	made.header.minor = 99;
	made.header.size = 80; /* a longer file header */
	fperf_file_header__pack(&made.header, made.bytes);
	made.size = 80;
	made_chunk(&made, (struct fperf_chunk_header){.type = 4711, .count = 3}, "whatever it is", 14);
	size = put_column(payload, 1, FPERF_COLUMN_INTEGERS, 0, two, sizeof(two));
	size += put_column(payload + size, 200, 77, 99, "something", 9);
	size += put_column(payload + size, 3, FPERF_COLUMN_INTEGERS, 0, two, sizeof(two));
	made_chunk(&made, (struct fperf_chunk_header){.type = FPERF_RECORD_SOURCE, .count = 2}, payload,
		   size);
	/* A known column in an encoding that is not known must not be misread. */
	size = put_column(payload, 1, FPERF_COLUMN_INTEGERS, 99, two, sizeof(two));
	made_chunk(&made, (struct fperf_chunk_header){.type = FPERF_RECORD_SOURCE, .count = 2}, payload,
		   size);
	made_chunk(&made, (struct fperf_chunk_header){.type = FPERF_RECORD_SOURCE, .codec = 9, .count = 2},
		   payload, size);
	session = made_load(&made, &damage);
	cr_assert_eq(damage.chunks_unknown, 3);
	cr_assert_eq(damage.chunks_bad, 0, "%s", damage.first);
	sources = fperf_session__records(session, FPERF_RECORD_SOURCE, &count);
	cr_assert_eq(count, 2);
	cr_assert_eq(sources[1].source, 9);
	cr_assert_eq(sources[1].state, 0, "a missing column has its default");
	cr_assert_eq(sources[1].reason, 9);
	fperf_session__free(session);
}

Test(session_damage, missing_columns_have_their_defaults)
{
	static const uint8_t one[] = {1, 0, 5};
	uint8_t payload[64];
	struct fperf_session_damage damage;
	struct fperf_session *session;
	struct made made;
	size_t size = put_column(payload, 1, FPERF_COLUMN_INTEGERS, 0, one, sizeof(one)), count;

	made_begin(&made);
	made_chunk(&made, (struct fperf_chunk_header){.type = FPERF_RECORD_OFFCPU, .count = 1}, payload,
		   size);
	made_chunk(&made, (struct fperf_chunk_header){.type = FPERF_RECORD_MARKER, .count = 1}, payload,
		   size);
	made_chunk(&made, (struct fperf_chunk_header){.type = FPERF_RECORD_STRING, .count = 1}, payload,
		   size);
	made_chunk(&made, (struct fperf_chunk_header){.type = FPERF_RECORD_STACK, .count = 1}, payload, size);
	session = made_load(&made, &damage);
	cr_assert_eq(damage.chunks_bad, 0, "%s", damage.first);
	cr_assert_eq(((const struct fperf_rec_offcpu *)fperf_session__records(session, FPERF_RECORD_OFFCPU,
									      &count))
			     ->syscall,
		     -1);
	cr_assert_eq(fperf_session__marker(session, 5)->surface_arg, 255);
	fperf_session__free(session);
}

Test(session_damage, newer_major_version_is_refused_by_name)
{
	struct fperf_session_damage damage;
	struct fperf_session *session;
	struct made made;

	made_begin(&made);
	made.header.major = 2;
	fperf_file_header__pack(&made.header, made.bytes);
	write_file(made.bytes, made.size);
	cr_assert_eq(fperf_session__load(path, 0, &session, &damage, &err), -ENOTSUP);
	cr_assert_not_null(strstr(err.text, "2.0"), "%s", err.text);
}

Test(session_damage, nonsense_behind_right_checksums_is_passed_over)
{
	static const uint8_t one[] = {1, 0, 5}, wide[] = {9, 0, 5}, shifted[] = {1, 64, 5},
			     sparse[] = {0xff, 1, 0, 1};
	static const uint8_t lengths[] = {2, 0, 0xff, 0xff, 'x'};
	struct {
		uint16_t type;
		uint8_t kind, predictor;
		const void *body;
		uint32_t size, count;
	} cases[] = {
		{FPERF_RECORD_SOURCE, FPERF_COLUMN_INTEGERS, 0, wide, 3, 1},
		{FPERF_RECORD_SOURCE, FPERF_COLUMN_INTEGERS, 0, shifted, 3, 1},
		{FPERF_RECORD_SOURCE, FPERF_COLUMN_INTEGERS, 0, one, 3, 2},
		{FPERF_RECORD_SOURCE, FPERF_COLUMN_INTEGERS, 0, one, 2, 1},
		{FPERF_RECORD_SOURCE, FPERF_COLUMN_INTEGERS, 0, one, 0, 1},
		{FPERF_RECORD_SOURCE, FPERF_COLUMN_INTEGERS, FPERF_COLUMN_SPARSE, sparse, 4, 8},
	};
	static const uint8_t stack_bodies[][48] = {
		/* frames, nodes, then arrays: modules, kinds, offsets, steps, refs, leaves */
		{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0,
		 0, 1, 0, 0, 1, 0, 2, 1, 0, 0, 1, 0, 2}, /* step behind the root */
		{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0,
		 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 2}, /* its own parent */
		{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0,
		 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 2}, /* no such frame */
		{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0,
		 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 4}, /* no such node */
		{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1}, /* leaf -1 */
		{255, 255, 255, 255, 1, 0, 0, 0, 1, 0, 1}, /* four billion frames */
		{1, 0, 0, 0, 255, 255, 255, 255, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 1}, /* four billion nodes */
	};
	uint8_t payload[256];
	struct fperf_session_damage damage;
	struct fperf_session *session;
	struct made made;
	uint32_t bad = 0;
	size_t size;

	made_begin(&made);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++, bad++) {
		size = put_column(payload, 1, cases[i].kind, cases[i].predictor, cases[i].body,
				  cases[i].size);
		made_chunk(&made, (struct fperf_chunk_header){.type = cases[i].type, .count = cases[i].count},
			   payload, size);
	}
	for (size_t i = 0; i < sizeof(stack_bodies) / sizeof(stack_bodies[0]); i++, bad++) {
		size = put_column(payload, 3, FPERF_COLUMN_FRAMES, 0, stack_bodies[i], 26);
		made_chunk(&made, (struct fperf_chunk_header){.type = FPERF_RECORD_STACK, .count = 1},
			   payload, size);
	}
	size = put_column(payload, 2, FPERF_COLUMN_BYTES, 0, lengths, sizeof(lengths));
	made_chunk(&made, (struct fperf_chunk_header){.type = FPERF_RECORD_STRING, .count = 1}, payload,
		   size);
	size = put_column(payload, 1, FPERF_COLUMN_INTEGERS, 0, one, 3);
	size += put_column(payload + size, 1, FPERF_COLUMN_INTEGERS, 0, one, 3); /* twice */
	made_chunk(&made, (struct fperf_chunk_header){.type = FPERF_RECORD_SOURCE, .count = 1}, payload,
		   size);
	made_chunk(&made, (struct fperf_chunk_header){.type = FPERF_RECORD_SOURCE, .count = 1, .codec = 1},
		   payload, size); /* not zstd */
	made_chunk(&made,
		   (struct fperf_chunk_header){.type = FPERF_RECORD_SOURCE, .count = 1, .raw_size = 999},
		   payload, size);
	made_chunk(&made, (struct fperf_chunk_header){.type = FPERF_RECORD_SOURCE, .count = 1}, payload, 5);
	bad += 5;
	session = made_load(&made, &damage);
	cr_assert_eq(damage.chunks_bad, bad, "%u instead of %u: %s", damage.chunks_bad, bad, damage.first);
	cr_assert_eq(count_of(session, FPERF_RECORD_SOURCE) + count_of(session, FPERF_RECORD_STACK), 0);
	fperf_session__free(session);
}

Test(session_damage, sizes_beyond_what_the_format_allows_are_not_believed)
{
	static const uint8_t one[] = {1, 0, 5};
	uint8_t payload[64];
	size_t size = put_column(payload, 1, FPERF_COLUMN_INTEGERS, 0, one, sizeof(one));
	struct fperf_chunk_header good = {.type = FPERF_RECORD_SOURCE, .count = 1};
	struct fperf_session_damage damage;
	struct fperf_session *session;
	struct made made;

	made_begin(&made);
	made_chunk(&made, (struct fperf_chunk_header){.type = FPERF_RECORD_SOURCE, .stored_size = UINT32_MAX},
		   payload, size);
	made_chunk(&made, (struct fperf_chunk_header){.type = FPERF_RECORD_SOURCE, .raw_size = UINT32_MAX},
		   payload, size);
	made_chunk(&made, (struct fperf_chunk_header){.type = FPERF_RECORD_SOURCE, .count = UINT32_MAX},
		   payload, size);
	made_chunk(&made, (struct fperf_chunk_header){.type = FPERF_RECORD_SOURCE, .stored_size = 1 << 20},
		   payload, size);
	made_chunk(&made, good, payload, size);
	session = made_load(&made, &damage);
	cr_assert_eq(count_of(session, FPERF_RECORD_SOURCE), 1);
	cr_assert_eq(damage.chunks_bad, 4, "%s", damage.first);
	cr_assert_gt(damage.bytes_skipped, 4 * FPERF_CHUNK_HEADER_SIZE);
	fperf_session__free(session);
}

Test(session_damage, chunks_of_another_file_and_chunks_seen_before_are_not_taken)
{
	static const uint8_t one[] = {1, 0, 5};
	uint8_t payload[64];
	size_t size = put_column(payload, 1, FPERF_COLUMN_INTEGERS, 0, one, sizeof(one));
	struct fperf_chunk_header header = {.type = FPERF_RECORD_SAMPLE, .count = 1};
	struct fperf_session_damage damage;
	struct fperf_session *session;
	struct made made;

	made_begin(&made);
	made_chunk(&made, header, payload, size);
	made.sequence = 0;
	made_chunk(&made, header, payload, size);
	header.tag = 0x12345678;
	made_chunk(&made, header, payload, size);
	session = made_load(&made, &damage);
	cr_assert_eq(count_of(session, FPERF_RECORD_SAMPLE), 1);
	cr_assert_eq(damage.bytes_skipped, 2 * (FPERF_CHUNK_HEADER_SIZE + size));
	fperf_session__free(session);
}

Test(session_damage, what_is_no_session_is_refused)
{
	static const char *const contents[] = {"", "\n", "PERFILE2 something", "<html>", "\211FPF"};
	uint8_t zeros[8192] = {0};
	struct fperf_session_damage damage;
	struct fperf_session *session;

	for (size_t i = 0; i < 5; i++) {
		write_file(contents[i], strlen(contents[i]));
		cr_assert_eq(fperf_session__load(path, 0, &session, &damage, &err), -EINVAL);
		cr_assert_not_null(strstr(err.text, path));
	}
	write_file(zeros, sizeof(zeros));
	cr_assert_eq(fperf_session__load(path, 0, &session, &damage, &err), -EINVAL);
	cr_assert_eq(fperf_session__load(directory, 0, &session, &damage, &err), -EISDIR);
	cr_assert_eq(fperf_session__load("/dev/zero", 0, &session, &damage, &err), -EINVAL);
	unlink(path);
	cr_assert_eq(fperf_session__load(path, 0, &session, &damage, &err), -ENOENT);
}

Test(session_damage, memory_is_bounded_whatever_the_file_claims)
{
	struct fperf_writer *writer = open_writer(1 << 20);
	struct fperf_session_damage damage;
	struct fperf_session *session;

	for (uint32_t i = 0; i < 400000; i++)
		fperf_writer__add(writer, FPERF_RECORD_OFFCPU, &(struct fperf_rec_offcpu){.thread = 1}, &err);
	close_writer(writer);
	cr_assert_eq(fperf_session__load(path, 16 << 20, &session, &damage, &err), -EFBIG);
	cr_assert_not_null(strstr(err.text, "16 MiB"), "%s", err.text);
	session = load(path, &damage);
	assert_whole(&damage);
	cr_assert_eq(count_of(session, FPERF_RECORD_OFFCPU), 400000);
	fperf_session__free(session);
}
