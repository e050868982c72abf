#include "session/writer.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "frameperf/meta.h"
#include "session/chunk.h"
#include "session/file.h"
#include "session/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define DEFAULT_CHUNK_BYTES ((uint32_t)256 << 10)
#define LARGEST_CHUNK_BYTES ((uint32_t)4 << 20)
/* Records take about this much more memory while they wait than bytes in columns. */
#define MEMORY_PER_RAW 4

#define STRING_MAX_BYTES ((uint32_t)1 << 20)

/* Once the disk is full, this much of each type that says how the recording went is kept for the end. All of
 * it fits into the space that the file has in reserve. */
#define CLOSING_BYTES ((size_t)8 << 10)

/* Records of one type that wait to be written. Their strings and stack frames are in `tail`; while they wait,
 * the pointers in the records are offsets into it. */
struct pending {
	void *records;
	size_t count, capacity;
	struct fperf_buf tail;
};

struct fperf_writer {
	struct fperf_file file; /* unless the chunks go elsewhere */
	struct fperf_sink sink;
	struct pending pending[FPERF_RECORD_TYPES];
	struct fperf_payload payload;
	struct fperf_buf chunk; /* the one being written, and its header */
	struct fperf_chunk_header header;
	struct fperf_compressor *compressor;
	struct fperf_strtab *strings;
	uint32_t string_base; /* ids of strings are from here on */
	uint32_t tag;
	uint32_t sequence;
	uint32_t chunk_bytes; /* of memory */
	uint64_t time_mask;   /* clears what is below the time grain */
	size_t wait_bytes;
	bool closing;		   /* nothing waits any more */
	bool failed;		   /* a write failed: only what says how it went is still taken */
	struct fperf_error untold; /* a failure that no caller has been told of yet */
	struct fperf_writer_stats stats;
	uint64_t lost[FPERF_RECORD_TYPES];
};

static void pending_clear(struct pending *pending)
{
	pending->count = 0;
	fperf_buf__clear(&pending->tail);
}

static size_t pending_bytes(const struct pending *pending, const struct fperf_schema_type *schema)
{
	return pending->count * schema->size + pending->tail.size;
}

static void pending_lose(struct fperf_writer *writer, uint32_t type)
{
	writer->lost[type] += writer->pending[type].count;
	writer->stats.records_lost += writer->pending[type].count;
	pending_clear(&writer->pending[type]);
}

/* From now on strings get new ids, since the records of the old ones may not have reached the file. */
static void strings_restart(struct fperf_writer *writer)
{
	writer->string_base += fperf_strtab__count(writer->strings);
	fperf_strtab__free(writer->strings);
	writer->strings = fperf_strtab__new();
}

static void give_up(struct fperf_writer *writer)
{
	if (writer->failed)
		return;
	writer->failed = true;
	for (uint32_t type = 1; type < FPERF_RECORD_TYPES; type++) {
		const struct fperf_schema_type *schema = fperf_schema__type(type);

		if (!schema)
			continue;
		if (!schema->closing || pending_bytes(&writer->pending[type], schema) > CLOSING_BYTES)
			pending_lose(writer, type);
	}
	strings_restart(writer);
}

/* Turns the offsets of waiting records into pointers (base: where the tail is), and back (base: minus that).
 */
static void tails_move(struct pending *pending, uint8_t tail, uintptr_t base)
{
	struct fperf_rec_string *strings = pending->records;
	struct fperf_rec_stack *stacks = pending->records;

	for (size_t i = 0; i < pending->count; i++) {
		if (tail == FPERF_TAIL_BYTES)
			strings[i].bytes = (const char *)((uintptr_t)strings[i].bytes + base);
		else if (tail == FPERF_TAIL_FRAMES)
			stacks[i].frames = (const void *)((uintptr_t)stacks[i].frames + base);
	}
}

static void times_of(struct fperf_chunk_header *header, const struct fperf_schema_type *schema,
		     const void *records, size_t count)
{
	if (schema->time == FPERF_SCHEMA_NO_OFFSET)
		return;
	header->first_ns = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		const char *record = (const char *)records + i * schema->size;
		uint64_t from = fperf_schema__load(record, schema->time, 8);
		uint64_t until = fperf_schema__load(record, schema->until, 8);

		header->first_ns = from < header->first_ns ? from : header->first_ns;
		header->last_ns = until > header->last_ns ? until : header->last_ns;
	}
}

static bool may_wait(const struct fperf_writer *writer, int ret)
{
	return writer->wait_bytes && !writer->closing && !writer->failed &&
	       (ret == -ENOSPC || ret == -EDQUOT);
}

/* Gives the chunk in writer->chunk to the sink. */
static int chunk_hand_over(struct fperf_writer *writer, struct fperf_error *err)
{
	const struct fperf_chunk_header *header = &writer->header;
	int ret = writer->sink.ops->chunk(writer->sink.self, header, writer->chunk.data, writer->chunk.size,
					  writer->failed, err);

	if (ret) {
		if (!may_wait(writer, ret))
			give_up(writer);
		return ret;
	}
	writer->stats.waiting = false;
	writer->sequence++;
	writer->stats.chunks++;
	writer->stats.raw_bytes += header->raw_size;
	if (header->type < FPERF_RECORD_TYPES)
		writer->stats.records[header->type] += header->count;
	return 0;
}

/* Builds header and stored payload of a chunk in writer->chunk. */
static int chunk_build(struct fperf_writer *writer, uint32_t type, const struct pending *pending,
		       size_t count)
{
	struct fperf_chunk_header header = {.tag = writer->tag,
					    .type = (uint16_t)type,
					    .sequence = writer->sequence,
					    .count = (uint32_t)count};
	enum fperf_codec codec = FPERF_CODEC_RAW;
	uint8_t bytes[FPERF_CHUNK_HEADER_SIZE] = {0};
	int ret;

	fperf_payload__clear(&writer->payload);
	fperf_buf__clear(&writer->chunk);
	ret = fperf_rows__encode(&writer->payload, type, pending->records, header.count);
	if (ret)
		return ret;
	fperf_buf__append(&writer->chunk, bytes, sizeof(bytes));
	ret = fperf_compressor__run(writer->compressor, &writer->payload, &writer->chunk, &codec);
	if (ret)
		return ret;
	header.codec = (uint8_t)codec;
	header.raw_size = (uint32_t)writer->payload.bytes.size;
	header.stored_size = (uint32_t)(writer->chunk.size - sizeof(bytes));
	header.payload_checksum = fperf_crc32(writer->chunk.data + sizeof(bytes), header.stored_size);
	times_of(&header, fperf_schema__type(type), pending->records, count);
	fperf_chunk_header__pack(&header, writer->chunk.data);
	writer->header = header;
	return 0;
}

/* How many of the waiting records make a chunk: all, unless they had to wait and became many. */
static size_t slice_count(const struct fperf_writer *writer, const struct pending *pending,
			  const struct fperf_schema_type *schema)
{
	size_t chunks = pending_bytes(pending, schema) / writer->chunk_bytes / 2 + 1;

	return (pending->count + chunks - 1) / chunks;
}

static void slice_drop(struct pending *pending, const struct fperf_schema_type *schema, size_t count)
{
	pending->count -= count;
	if (!pending->count)
		pending_clear(pending);
	else
		memmove(pending->records, (char *)pending->records + count * schema->size,
			pending->count * schema->size);
}

/* Writes what waits of one type. */
static int chunk_write(struct fperf_writer *writer, uint32_t type, struct fperf_error *err)
{
	const struct fperf_schema_type *schema = fperf_schema__type(type);
	struct pending *pending = &writer->pending[type];
	int ret;

	while (schema && pending->count) {
		size_t count = slice_count(writer, pending, schema);

		tails_move(pending, schema->tail, (uintptr_t)pending->tail.data);
		ret = chunk_build(writer, type, pending, count);
		tails_move(pending, schema->tail, -(uintptr_t)pending->tail.data);
		if (ret) {
			pending_lose(writer, type);
			return fperf_error__set_errno(err, ret,
						      "%s: %s records could not be encoded and are lost",
						      writer->sink.name, schema->name);
		}
		ret = chunk_hand_over(writer, err);
		if (ret && may_wait(writer, ret)) {
			writer->stats.waiting = true;
			return 0;
		}
		if (ret)
			return ret;
		slice_drop(pending, schema, count);
	}
	return 0;
}

/* What others refer to has the lower number: what is written refers to nothing that is not. */
static int write_all(struct fperf_writer *writer, struct fperf_error *err)
{
	int ret = 0;

	writer->stats.waiting = false;
	for (uint32_t type = 1; !ret && !writer->stats.waiting && type < FPERF_RECORD_TYPES; type++)
		ret = chunk_write(writer, type, err);
	return ret;
}

/* One type, and before it what it may refer to: types without a time. */
static int write_type(struct fperf_writer *writer, uint32_t wanted, struct fperf_error *err)
{
	int ret = 0;

	for (uint32_t type = 1; !ret && !writer->stats.waiting && type < wanted; type++)
		if (fperf_schema__type(type) && fperf_schema_types[type].time == FPERF_SCHEMA_NO_OFFSET)
			ret = chunk_write(writer, type, err);
	return ret || writer->stats.waiting ? ret : chunk_write(writer, wanted, err);
}

static int tail_keep(struct pending *pending, uint8_t tail, void *record)
{
	struct fperf_rec_string *string = record;
	struct fperf_rec_stack *stack = record;
	uintptr_t offset = pending->tail.size;

	if (tail == FPERF_TAIL_BYTES) {
		fperf_buf__append(&pending->tail, string->bytes, string->size);
		string->bytes = (const char *)offset;
	} else if (tail == FPERF_TAIL_FRAMES) {
		fperf_buf__append(&pending->tail, stack->frames, stack->count * sizeof(*stack->frames));
		stack->frames = (const void *)offset;
	}
	return pending->tail.failed ? -ENOMEM : 0;
}

static void times_round(const struct fperf_writer *writer, uint32_t type, void *record)
{
	size_t count;
	const struct fperf_schema_field *fields = fperf_schema__fields(type, &count);

	for (size_t i = 0; i < count; i++)
		if (fields[i].moment)
			fperf_schema__store(record, fields[i].offset, 8,
					    fperf_schema__load(record, fields[i].offset, 8) &
						    writer->time_mask);
}

static int pending_add(struct fperf_writer *writer, uint32_t type, const void *record,
		       struct fperf_error *err)
{
	const struct fperf_schema_type *schema = fperf_schema__type(type);
	struct pending *pending = &writer->pending[type];
	char *slot = fperf_vec__append(&pending->records, &pending->count, &pending->capacity, schema->size);

	if (slot) {
		memcpy(slot, record, schema->size);
		if (writer->time_mask != UINT64_MAX)
			times_round(writer, type, slot);
		if (!tail_keep(pending, schema->tail, slot))
			return 0;
		pending->count--;
		pending->tail.failed = false;
	}
	writer->lost[type]++;
	writer->stats.records_lost++;
	return fperf_error__no_memory(err, "records that wait to be written");
}

static int check_record(uint32_t type, const void *record, struct fperf_error *err)
{
	const struct fperf_schema_type *schema = fperf_schema__type(type);
	const struct fperf_rec_string *string = record;
	const struct fperf_rec_stack *stack = record;

	if (!schema || type == FPERF_RECORD_END)
		return fperf_error__set(err, -EINVAL, "no record type has number %" PRIu32, type);
	if (schema->tail == FPERF_TAIL_BYTES && string->size > STRING_MAX_BYTES)
		return fperf_error__set(err, -EINVAL, "a string of %" PRIu32 " bytes does not fit a session",
					string->size);
	if (schema->tail == FPERF_TAIL_FRAMES && stack->count > FPERF_STACK_MAX_FRAMES)
		return fperf_error__set(err, -EINVAL,
					"a stack of %" PRIu32 " stack frames does not fit a session",
					stack->count);
	return 0;
}

static size_t all_waiting(const struct fperf_writer *writer)
{
	size_t sum = 0;

	for (uint32_t type = 1; type < FPERF_RECORD_TYPES; type++)
		if (fperf_schema__type(type))
			sum += pending_bytes(&writer->pending[type], fperf_schema__type(type));
	return sum;
}

static int record_add(struct fperf_writer *writer, enum fperf_record_type type, const void *record,
		      struct fperf_error *err)
{
	const struct fperf_schema_type *schema = fperf_schema__type(type);
	int ret = check_record(type, record, err);
	size_t waiting;

	if (ret)
		return ret;
	if (writer->sink.ops->record)
		return writer->sink.ops->record(writer->sink.self, type, record, err);
	waiting = pending_bytes(&writer->pending[type], schema);
	if ((writer->failed && (!schema->closing || waiting >= CLOSING_BYTES)) ||
	    (writer->stats.waiting && !schema->closing && all_waiting(writer) >= writer->wait_bytes)) {
		writer->lost[type]++;
		writer->stats.records_lost++;
		return 0;
	}
	ret = pending_add(writer, type, record, err);
	if (ret || writer->failed || writer->stats.waiting ||
	    pending_bytes(&writer->pending[type], schema) < writer->chunk_bytes)
		return ret;
	return write_type(writer, type, err);
}

/* A failure that a function without an error return met is told by the next that has one. */
static int tell(struct fperf_writer *writer, struct fperf_error *err)
{
	if (!writer->untold.code)
		return 0;
	*err = writer->untold;
	writer->untold.code = 0;
	return err->code;
}

int fperf_writer__add(struct fperf_writer *writer, enum fperf_record_type type, const void *record,
		      struct fperf_error *err)
{
	int ret = record_add(writer, type, record, err);

	return ret ? ret : tell(writer, err);
}

uint32_t fperf_writer__string(struct fperf_writer *writer, const void *bytes, size_t size)
{
	struct fperf_rec_string string = {.size = (uint32_t)size, .bytes = bytes};
	uint32_t known, id;

	if (!size || size > STRING_MAX_BYTES || !writer->strings)
		return 0;
	known = fperf_strtab__count(writer->strings);
	id = fperf_strtab__intern(writer->strings, bytes, size);
	if (!id || id > UINT32_MAX - writer->string_base)
		return 0;
	string.id = writer->string_base + id;
	if (id >= known)
		record_add(writer, FPERF_RECORD_STRING, &string, &writer->untold);
	return string.id;
}

uint32_t fperf_writer__text(struct fperf_writer *writer, const char *text)
{
	return text ? fperf_writer__string(writer, text, strlen(text)) : 0;
}

int fperf_writer__meta(struct fperf_writer *writer, const char *key, const char *value,
		       struct fperf_error *err)
{
	struct fperf_rec_meta meta = {.key = fperf_writer__text(writer, key),
				      .value = fperf_writer__text(writer, value)};

	return fperf_writer__add(writer, FPERF_RECORD_META, &meta, err);
}

int fperf_writer__meta_u64(struct fperf_writer *writer, const char *key, uint64_t value,
			   struct fperf_error *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return fperf_writer__meta(writer, key, text, err);
}

int fperf_writer__flush(struct fperf_writer *writer, bool sync, struct fperf_error *err)
{
	int ret = 0;

	if (!writer->failed)
		ret = write_all(writer, err);
	if (!ret && !writer->failed && writer->sink.ops->flushed)
		ret = writer->sink.ops->flushed(writer->sink.self, err);
	if (!ret && sync && !writer->failed && writer->sink.ops->sync)
		ret = writer->sink.ops->sync(writer->sink.self, err);
	return ret ? ret : tell(writer, err);
}

void fperf_writer__stats(const struct fperf_writer *writer, struct fperf_writer_stats *stats)
{
	*stats = writer->stats;
	stats->file_bytes = writer->sink.ops->bytes ? writer->sink.ops->bytes(writer->sink.self) : 0;
}

uint32_t fperf_writer__last_string(const struct fperf_writer *writer)
{
	return writer->string_base + (writer->strings ? fperf_strtab__count(writer->strings) - 1 : 0);
}

int fperf_writer__forget_strings(struct fperf_writer *writer, struct fperf_error *err)
{
	int ret = fperf_writer__flush(writer, false, err);

	if (ret)
		return ret;
	strings_restart(writer);
	return writer->strings ? 0 : fperf_error__no_memory(err, "the strings of a session");
}

int fperf_writer__copy(struct fperf_writer *writer, const struct fperf_chunk_header *header,
		       const void *payload, struct fperf_error *err)
{
	uint8_t bytes[FPERF_CHUNK_HEADER_SIZE];

	if (writer->failed) {
		if (header->type < FPERF_RECORD_TYPES)
			writer->lost[header->type] += header->count;
		writer->stats.records_lost += header->count;
		return 0;
	}
	writer->header = *header;
	writer->header.tag = writer->tag;
	writer->header.sequence = writer->sequence;
	fperf_chunk_header__pack(&writer->header, bytes);
	fperf_buf__clear(&writer->chunk);
	fperf_buf__append(&writer->chunk, bytes, sizeof(bytes));
	fperf_buf__append(&writer->chunk, payload, header->stored_size);
	if (writer->chunk.failed)
		return fperf_error__no_memory(err, "a chunk");
	return chunk_hand_over(writer, err);
}

/* What could not be written is a loss like any other: one record for each source that lost something. */
static void losses_add(struct fperf_writer *writer, struct fperf_error *err)
{
	uint64_t by_source[FPERF_SOURCES] = {0};

	for (uint32_t type = 1; type < FPERF_RECORD_TYPES; type++)
		if (fperf_schema__type(type))
			by_source[fperf_schema__type(type)->source] += writer->lost[type];
	for (uint8_t source = 0; source < FPERF_SOURCES; source++) {
		struct fperf_rec_loss loss = {.time_ns = fperf_clock__now_ns(),
					      .source = source,
					      .reason = FPERF_LOSS_WRITE,
					      .count = by_source[source]};

		if (loss.count)
			record_add(writer, FPERF_RECORD_LOSS, &loss, err);
	}
}

static int end_write(struct fperf_writer *writer, struct fperf_error *err)
{
	struct fperf_rec_end end = {.type = FPERF_RECORD_END, .count = writer->stats.chunks};
	int ret = pending_add(writer, FPERF_RECORD_END, &end, err);

	for (uint32_t type = 1; !ret && type < FPERF_RECORD_TYPES; type++) {
		end = (struct fperf_rec_end){.type = type, .count = writer->stats.records[type]};
		if (end.count)
			ret = pending_add(writer, FPERF_RECORD_END, &end, err);
	}
	return ret ? ret : chunk_write(writer, FPERF_RECORD_END, err);
}

static void writer_free(struct fperf_writer *writer)
{
	for (size_t type = 0; type < FPERF_RECORD_TYPES; type++) {
		free(writer->pending[type].records);
		fperf_buf__free(&writer->pending[type].tail);
	}
	fperf_payload__free(&writer->payload);
	fperf_buf__free(&writer->chunk);
	fperf_compressor__free(writer->compressor);
	fperf_strtab__free(writer->strings);
	free(writer);
}

int fperf_writer__close(struct fperf_writer *writer, struct fperf_error *err)
{
	struct fperf_error late;
	int ret;

	if (!writer)
		return 0;
	writer->closing = true;
	ret = fperf_writer__flush(writer, false, err);
	/* After a failure what is left of the reserve may still take the end; that it does not was told. */
	losses_add(writer, &late);
	if (!writer->sink.ops->record && !write_all(writer, &late))
		end_write(writer, &late);
	if (writer->sink.ops->close && writer->sink.ops->close(writer->sink.self, &late) && !ret) {
		*err = late;
		ret = late.code;
	}
	writer_free(writer);
	return ret;
}

static int identity_parse(const char *text, uint8_t uuid[16])
{
	unsigned int byte;

	if (strlen(text) != 32 || strspn(text, "0123456789abcdefABCDEF") != 32)
		return -EINVAL;
	for (size_t i = 0; i < 16; i++) {
		sscanf(text + 2 * i, "%2x", &byte);
		uuid[i] = (uint8_t)byte;
	}
	return 0;
}

static int identity_make(const char *wanted, uint8_t uuid[16], struct fperf_error *err)
{
	if (wanted && identity_parse(wanted, uuid))
		return fperf_error__set(err, -EINVAL, "\"%.64s\" is no session id: 32 hexadecimal digits are",
					wanted);
	if (wanted)
		return 0;
	if (getrandom(uuid, 16, 0) != 16)
		return fperf_error__set_errno(err, -errno, "getrandom for the id of the session");
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40); /* RFC 9562, version 4 */
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
	return 0;
}

static void identity_text(const uint8_t uuid[16], char text[33])
{
	for (size_t i = 0; i < 16; i++)
		snprintf(text + 2 * i, 3, "%02x", uuid[i]);
}

static int header_write(struct fperf_writer *writer, const char *session_id, struct fperf_error *err)
{
	struct fperf_file_header header = {
		.major = FPERF_FORMAT_MAJOR, .minor = FPERF_FORMAT_MINOR, .size = FPERF_FILE_HEADER_SIZE};
	uint8_t bytes[FPERF_FILE_HEADER_SIZE];
	char text[33];
	int ret = identity_make(session_id, header.uuid, err);

	if (ret)
		return ret;
	fperf_file_header__pack(&header, bytes);
	ret = fperf_file__append(&writer->file, bytes, sizeof(bytes), false, err);
	if (ret)
		return ret;
	writer->tag = fperf_file_header__tag(&header);
	identity_text(header.uuid, text);
	return fperf_writer__meta(writer, FPERF_META_SESSION_ID, text, err);
}

static int file_begin(struct fperf_writer *writer, const struct fperf_writer_options *options,
		      struct fperf_error *err)
{
	int ret =
		fperf_file__create(&writer->file, options->path, options->owner_uid, options->owner_gid, err);

	if (ret)
		return ret;
	writer->file.max_size = options->max_bytes;
	writer->sink = fperf_file__sink(&writer->file);
	ret = header_write(writer, options->session_id, err);
	if (ret) {
		struct fperf_error late;

		fperf_file__close(&writer->file, &late);
		unlink(options->path); /* ours since a moment ago, and nothing is in it */
	}
	return ret;
}

int fperf_writer__open(const struct fperf_writer_options *options, struct fperf_writer **result,
		       struct fperf_error *err)
{
	struct fperf_writer *writer;
	uint32_t grain;
	int ret = 0;

	if (options->time_grain_ns & (options->time_grain_ns - 1))
		return fperf_error__set(err, -EINVAL, "a time grain of %" PRIu32 " ns is no power of two",
					options->time_grain_ns);
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return fperf_error__no_memory(err, "the session writer");
	writer->chunk_bytes = options->chunk_bytes ? options->chunk_bytes : DEFAULT_CHUNK_BYTES;
	if (writer->chunk_bytes > LARGEST_CHUNK_BYTES)
		writer->chunk_bytes = LARGEST_CHUNK_BYTES;
	writer->chunk_bytes *= MEMORY_PER_RAW;
	grain = options->time_grain_ns ? options->time_grain_ns : 1;
	writer->string_base = options->first_string;
	writer->wait_bytes = options->wait_bytes;
	writer->time_mask = ~((uint64_t)grain - 1);
	fperf_payload__init(&writer->payload);
	fperf_buf__init(&writer->chunk, 2 * FPERF_CHUNK_MAX_BYTES);
	for (size_t type = 0; type < FPERF_RECORD_TYPES; type++)
		fperf_buf__init(&writer->pending[type].tail, FPERF_CHUNK_MAX_BYTES);
	writer->compressor = fperf_compressor__new(options->zstd_level);
	writer->strings = fperf_strtab__new();
	if (!writer->compressor || !writer->strings) {
		writer_free(writer);
		return fperf_error__no_memory(err, "the session writer");
	}
	if (options->sink)
		writer->sink = *options->sink;
	else
		ret = file_begin(writer, options, err);
	if (ret) {
		writer_free(writer);
		return ret;
	}
	*result = writer;
	return 0;
}
