/* Reads a session file of which nothing is believed: each chunk stands alone, and after damage the next
 * intact one is searched for. */
#include "session/session.h"

#include "session/chunk.h"
#include "session/rows.h"
#include "session/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_LIMIT ((size_t)2 << 30)
#define SEARCH_BYTES  ((size_t)64 << 10)
#define SECTOR_BYTES  4096u

struct loader {
	int fd;
	const char *path;
	uint64_t size; /* of the file */
	struct fperf_session *session;
	struct fperf_session_damage *damage;
	bool have_tag;
	uint32_t tag;
	uint32_t next_sequence;
	uint64_t chunks;		      /* intact ones */
	uint64_t seen[FPERF_RECORD_TYPES];    /* records in intact chunks */
	uint64_t lost[FPERF_RECORD_TYPES];    /* in chunks of which only the header is intact */
	uint64_t written[FPERF_RECORD_TYPES]; /* as the end chunk says */
	uint64_t lost_unknown;
	uint64_t last_ns;
	uint64_t wasted; /* bytes of payloads that turned out to be damaged */
	struct fperf_buf stored, raw;
};

static void __attribute__((format(printf, 2, 3))) note(struct loader *loader, const char *format, ...)
{
	va_list args;

	if (loader->damage->first[0])
		return;
	va_start(args, format);
	vsnprintf(loader->damage->first, sizeof(loader->damage->first), format, args);
	va_end(args);
}

static const char *type_name(uint32_t type)
{
	return fperf_schema__type(type) ? fperf_schema__type(type)->name : "of an unknown type";
}

/* Bytes that the disk cannot give, or that are gone since the size was taken, read as zeros: the checksums
 * tell. */
static int read_at(struct loader *loader, uint64_t offset, void *buffer, size_t size, struct fperf_error *err)
{
	uint8_t *at = buffer;

	while (size) {
		ssize_t got = pread(loader->fd, at, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno != EIO)
			return fperf_error__set_errno(err, -errno, "cannot read %s", loader->path);
		if (got <= 0) {
			size_t sector = SECTOR_BYTES - (size_t)(offset % SECTOR_BYTES);

			note(loader, "bytes at offset %" PRIu64 " cannot be read", offset);
			got = (ssize_t)(got && sector < size ? sector : size);
			memset(at, 0, (size_t)got);
		}
		at += got;
		offset += (uint64_t)got;
		size -= (size_t)got;
	}
	return 0;
}

static uint8_t *room_for(struct fperf_buf *buf, size_t size)
{
	fperf_buf__clear(buf);
	return fperf_buf__reserve(buf, size);
}

/* A header that may be next: ours, and not one that was read already. */
static bool header_fits(const struct loader *loader, const uint8_t *bytes, struct fperf_chunk_header *header)
{
	return fperf_chunk_header__unpack(header, bytes) &&
	       (!loader->have_tag || header->tag == loader->tag) && header->sequence >= loader->next_sequence;
}

/* The first place at or after `from` where a chunk header fits; the file's size if there is none. */
static int search(struct loader *loader, uint64_t from, uint64_t *found, struct fperf_error *err)
{
	static const uint8_t magic[4] = {FPERF_CHUNK_MAGIC & 0xff, FPERF_CHUNK_MAGIC >> 8 & 0xff,
					 FPERF_CHUNK_MAGIC >> 16 & 0xff, FPERF_CHUNK_MAGIC >> 24};
	struct fperf_chunk_header header;
	uint8_t *window = malloc(SEARCH_BYTES);
	int ret = window ? 0 : fperf_error__no_memory(err, "a search for intact chunks");

	*found = loader->size;
	while (!ret && from < loader->size && loader->size - from >= FPERF_CHUNK_HEADER_SIZE) {
		size_t size =
			loader->size - from < SEARCH_BYTES ? (size_t)(loader->size - from) : SEARCH_BYTES;
		const uint8_t *last = window + size - FPERF_CHUNK_HEADER_SIZE, *at = window;

		ret = read_at(loader, from, window, size, err);
		while (!ret && at <= last && (at = memchr(at, magic[0], (size_t)(last - at) + 1))) {
			if (!memcmp(at, magic, sizeof(magic)) && header_fits(loader, at, &header)) {
				*found = from + (uint64_t)(at - window);
				free(window);
				return 0;
			}
			at++;
		}
		from += (uint64_t)(last - window) + 1;
	}
	free(window);
	return ret;
}

static void lose(struct loader *loader, const struct fperf_chunk_header *header)
{
	if (header->type < FPERF_RECORD_TYPES)
		loader->lost[header->type] += header->count;
	else
		loader->lost_unknown += header->count;
}

static int end_take(struct loader *loader, struct fperf_rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		const struct fperf_rec_end *end = fperf_rows__get(rows, i);

		if (end->type < FPERF_RECORD_TYPES)
			loader->written[end->type] = end->count;
	}
	loader->damage->no_end = false;
	return 0;
}

static int rows_take(struct loader *loader, uint32_t type, struct fperf_rows *rows, struct fperf_error *err)
{
	int ret = 0;

	if (type == FPERF_RECORD_END)
		return end_take(loader, rows);
	for (uint32_t i = 0; !ret && i < rows->count; i++)
		ret = fperf_session__add(loader->session, type, fperf_rows__get(rows, i), err);
	loader->seen[type] += rows->count;
	return ret;
}

/* Decodes a payload whose checksum is right. */
static int payload_take(struct loader *loader, uint64_t offset, const struct fperf_chunk_header *header,
			const uint8_t *stored, struct fperf_error *err)
{
	const struct fperf_schema_type *schema = fperf_schema__type(header->type);
	const uint8_t *payload = stored;
	struct fperf_rows rows;
	size_t meanwhile;
	int ret;

	if (!schema || header->codec > FPERF_CODEC_ZSTD) {
		loader->damage->chunks_unknown++;
		return 0;
	}
	/* The tree of calls of a stack chunk takes up to eight times its payload. */
	meanwhile = (size_t)header->count * schema->size + (size_t)header->raw_size * 9 + header->stored_size;
	ret = fperf_session__account(loader->session, meanwhile, err);
	if (ret)
		return ret;
	loader->session->used -= meanwhile;
	if (header->codec == FPERF_CODEC_ZSTD) {
		payload = room_for(&loader->raw, header->raw_size);
		if (!payload)
			return fperf_error__no_memory(err, "a chunk");
		ret = fperf_decompress(stored, header->stored_size, loader->raw.data, header->raw_size)
			      ? 0
			      : -EBADMSG;
	} else if (header->raw_size != header->stored_size) {
		ret = -EBADMSG;
	}
	if (!ret)
		ret = fperf_rows__decode(&rows, header->type, payload, header->raw_size, header->count);
	if (!ret) {
		ret = rows_take(loader, header->type, &rows, err);
		loader->session->stored[header->type] += header->stored_size + FPERF_CHUNK_HEADER_SIZE;
		fperf_rows__free(&rows);
		return ret;
	}
	if (ret == -ENOMEM)
		return fperf_error__no_memory(err, "the records of a chunk");
	if (ret == -ENOTSUP) {
		loader->damage->chunks_unknown++;
		return 0;
	}
	loader->damage->chunks_bad++;
	lose(loader, header);
	note(loader, "chunk %" PRIu32 " (%s) at offset %" PRIu64 " is intact but makes no sense",
	     header->sequence, schema->name, offset);
	return 0;
}

static void sequence_check(struct loader *loader, uint64_t offset, const struct fperf_chunk_header *header)
{
	uint32_t missing = header->sequence - loader->next_sequence;

	if (missing) {
		note(loader, "%" PRIu32 " chunks are missing before offset %" PRIu64, missing, offset);
		if (loader->damage->chunks_bad > UINT32_MAX - missing)
			missing = UINT32_MAX - loader->damage->chunks_bad;
		loader->damage->chunks_bad += missing;
	}
	loader->next_sequence = header->sequence + 1;
}

/* Bytes that are no intact chunk: goes on at the next one. A damaged payload is searched as well, since bytes
 * may be missing from it; but only as long as the whole effort stays proportional to the file's size. */
static int skip_damage(struct loader *loader, uint64_t *offset, uint64_t search_from, struct fperf_error *err)
{
	uint64_t found;
	int ret = search(loader, search_from, &found, err);

	if (ret)
		return ret;
	loader->damage->bytes_skipped += found - *offset;
	*offset = found;
	return 0;
}

static int payload_damaged(struct loader *loader, uint64_t *offset, const struct fperf_chunk_header *header,
			   struct fperf_error *err)
{
	uint64_t body = *offset + FPERF_CHUNK_HEADER_SIZE, start = *offset, left = loader->size - body;
	bool cut = header->stored_size > left;
	int ret;

	if (loader->have_tag)
		sequence_check(loader, start, header);
	lose(loader, header);
	loader->wasted += header->stored_size;
	if (loader->wasted / 2 > loader->size + FPERF_CHUNK_MAX_BYTES)
		body += cut ? left : header->stored_size;
	ret = skip_damage(loader, offset, body, err);
	if (ret)
		return ret;
	if (cut && *offset == loader->size) {
		loader->damage->tail_cut = true;
		note(loader, "the file ends inside chunk %" PRIu32 " (%s) at offset %" PRIu64,
		     header->sequence, type_name(header->type), start);
		return 0;
	}
	loader->damage->chunks_bad++;
	note(loader,
	     "chunk %" PRIu32 " (%s) at offset %" PRIu64 ": the checksum of its %" PRIu32 " bytes is wrong",
	     header->sequence, type_name(header->type), start, header->stored_size);
	return 0;
}

/* No header at *offset. */
static int header_damaged(struct loader *loader, uint64_t *offset, struct fperf_error *err)
{
	uint64_t start = *offset;
	int ret;

	if (loader->size - start < FPERF_CHUNK_HEADER_SIZE) {
		loader->damage->tail_cut = true;
		loader->damage->bytes_skipped += loader->size - start;
		note(loader, "the file ends inside a chunk header at offset %" PRIu64, start);
		*offset = loader->size;
		return 0;
	}
	note(loader, "no chunk begins at offset %" PRIu64, start);
	ret = skip_damage(loader, offset, start + 1, err);
	/* Before an intact chunk, its sequence number tells how many are missing. */
	if (!ret && *offset == loader->size && loader->damage->chunks_bad < UINT32_MAX)
		loader->damage->chunks_bad++;
	return ret;
}

/* One chunk, or one stretch of damage. */
static int chunk_take(struct loader *loader, uint64_t *offset, struct fperf_error *err)
{
	uint8_t bytes[FPERF_CHUNK_HEADER_SIZE];
	struct fperf_chunk_header header;
	uint64_t body = *offset + FPERF_CHUNK_HEADER_SIZE, start = *offset;
	uint8_t *stored;
	int ret;

	if (loader->size - start < sizeof(bytes))
		return header_damaged(loader, offset, err);
	ret = read_at(loader, start, bytes, sizeof(bytes), err);
	if (ret)
		return ret;
	if (!header_fits(loader, bytes, &header))
		return header_damaged(loader, offset, err);
	if (header.stored_size > loader->size - body)
		return payload_damaged(loader, offset, &header, err);
	stored = room_for(&loader->stored, header.stored_size);
	if (!stored)
		return fperf_error__no_memory(err, "a chunk");
	ret = read_at(loader, body, stored, header.stored_size, err);
	if (ret)
		return ret;
	if (fperf_crc32(stored, header.stored_size) != header.payload_checksum)
		return payload_damaged(loader, offset, &header, err);
	loader->have_tag = true;
	loader->tag = header.tag;
	loader->chunks++;
	sequence_check(loader, start, &header);
	if (header.last_ns > loader->last_ns)
		loader->last_ns = header.last_ns;
	*offset = body + header.stored_size;
	return payload_take(loader, start, &header, stored, err);
}

static int no_session(const struct loader *loader, struct fperf_error *err)
{
	return fperf_error__set(err, -EINVAL, "%s is no frameperf session: %s", loader->path,
				loader->size ? "it has no session header and no intact chunk"
					     : "it is empty");
}

/* *offset becomes the place of the first chunk. A damaged header is no reason to give up the chunks. */
static int file_header_take(struct loader *loader, uint64_t *offset, struct fperf_error *err)
{
	uint8_t bytes[FPERF_FILE_HEADER_SIZE] = {0};
	struct fperf_file_header header;
	size_t size = loader->size < sizeof(bytes) ? (size_t)loader->size : sizeof(bytes);
	int ret = read_at(loader, 0, bytes, size, err);

	if (ret)
		return ret;
	if (fperf_file_header__unpack(&header, bytes)) {
		if (header.major != FPERF_FORMAT_MAJOR)
			return fperf_error__set(
				err, -ENOTSUP,
				"%s has format %u.%u, this frameperf reads %d.x: use the version "
				"that recorded it or a newer one",
				loader->path, header.major, header.minor, FPERF_FORMAT_MAJOR);
		loader->have_tag = true;
		loader->tag = fperf_file_header__tag(&header);
		*offset = header.size < loader->size ? header.size : loader->size;
		return 0;
	}
	ret = search(loader, 0, offset, err);
	if (ret)
		return ret;
	if (*offset == loader->size)
		return no_session(loader, err);
	note(loader, "the file header is damaged");
	loader->damage->bytes_skipped += *offset;
	return 0;
}

/* What is missing is a loss like any other: one record for each source that lost something. */
static int losses_add(struct loader *loader, struct fperf_error *err)
{
	uint64_t by_source[FPERF_SOURCES] = {0};
	int ret = 0;

	loader->damage->records_dropped = loader->lost_unknown;
	for (uint32_t type = 1; type < FPERF_RECORD_TYPES; type++) {
		uint64_t lost = loader->lost[type];

		if (!fperf_schema__type(type))
			continue;
		if (!loader->damage->no_end)
			lost = loader->written[type] > loader->seen[type]
				       ? loader->written[type] - loader->seen[type]
				       : 0;
		by_source[fperf_schema__type(type)->source] += lost;
		loader->damage->lost[type] = lost;
		loader->damage->records_dropped += lost;
	}
	for (uint8_t source = 0; !ret && source < FPERF_SOURCES; source++) {
		struct fperf_rec_loss loss = {.time_ns = loader->last_ns,
					      .source = source,
					      .reason = FPERF_LOSS_CHUNK,
					      .count = by_source[source]};

		if (loss.count)
			ret = fperf_session__add(loader->session, FPERF_RECORD_LOSS, &loss, err);
	}
	return ret;
}

static int load(struct loader *loader, struct fperf_error *err)
{
	uint64_t offset = 0;
	int ret = file_header_take(loader, &offset, err);

	while (!ret && offset < loader->size)
		ret = chunk_take(loader, &offset, err);
	if (ret)
		return ret;
	if (!loader->chunks && !loader->have_tag)
		return no_session(loader, err);
	if (loader->damage->no_end)
		note(loader, "the recording was not closed");
	ret = losses_add(loader, err);
	return ret ? ret : fperf_session__seal(loader->session, err);
}

static int file_open(struct loader *loader, struct fperf_error *err)
{
	struct stat st;

	loader->fd = open(loader->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (loader->fd < 0)
		return fperf_error__set_errno(err, -errno, "cannot open the session %s", loader->path);
	if (fstat(loader->fd, &st))
		return fperf_error__set_errno(err, -errno, "cannot read %s", loader->path);
	if (!S_ISREG(st.st_mode))
		return fperf_error__set(err, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL,
					"%s is no regular file: copy the session to a file first",
					loader->path);
	loader->size = (uint64_t)st.st_size;
	return 0;
}

int fperf_session__load(const char *path, size_t limit, struct fperf_session **session,
			struct fperf_session_damage *damage, struct fperf_error *err)
{
	struct loader loader = {.fd = -1, .path = path, .damage = damage};
	int ret;

	*damage = (struct fperf_session_damage){.no_end = true};
	fperf_buf__init(&loader.stored, FPERF_CHUNK_MAX_BYTES);
	fperf_buf__init(&loader.raw, FPERF_CHUNK_MAX_BYTES);
	loader.session = fperf_session__new();
	if (!loader.session)
		return fperf_error__no_memory(err, "a session");
	loader.session->limit = limit ? limit : DEFAULT_LIMIT;
	ret = file_open(&loader, err);
	if (!ret)
		ret = load(&loader, err);
	if (!ret)
		*session = loader.session;
	else
		fperf_session__free(loader.session);
	if (loader.fd >= 0)
		close(loader.fd);
	fperf_buf__free(&loader.stored);
	fperf_buf__free(&loader.raw);
	return ret;
}
