/* A session file in a directory of its own, for tests that write and read it. */
#ifndef FPERF_TESTS_SESSION_FILES_H
#define FPERF_TESTS_SESSION_FILES_H

#include "session/session.h"
#include "session/writer.h"

#include "random_records.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct fperf_error err;
static char directory[] = "/tmp/fperf-unit-XXXXXX";
static char path[64];

static inline void setup(void)
{
	cr_assert_not_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/session.fperf", directory);
}

static inline void teardown(void)
{
	unlink(path);
	rmdir(directory);
}

static inline struct fperf_writer *open_writer(uint32_t chunk_bytes)
{
	struct fperf_writer_options options = {
		.path = path, .owner_uid = (uid_t)-1, .owner_gid = (gid_t)-1, .chunk_bytes = chunk_bytes};
	struct fperf_writer *writer = NULL;

	cr_assert_eq(fperf_writer__open(&options, &writer, &err), 0, "%s", err.text);
	return writer;
}

static inline void close_writer(struct fperf_writer *writer)
{
	cr_assert_eq(fperf_writer__close(writer, &err), 0, "%s", err.text);
}

static inline struct fperf_session *load(const char *from, struct fperf_session_damage *damage)
{
	struct fperf_session *session = NULL;

	cr_assert_eq(fperf_session__load(from, 0, &session, damage, &err), 0, "%s", err.text);
	return session;
}

static inline void assert_whole(const struct fperf_session_damage *damage)
{
	struct fperf_session_damage none = {0};

	cr_assert_eq(memcmp(damage, &none, sizeof(none)), 0, "%s", damage->first);
}

static inline size_t count_of(const struct fperf_session *session, enum fperf_record_type type)
{
	size_t count;

	fperf_session__records(session, type, &count);
	return count;
}

/* The whole file; the caller frees it. */
static inline uint8_t *read_file(size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes;

	cr_assert_not_null(file);
	fseek(file, 0, SEEK_END);
	*size = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*size + 1);
	cr_assert_eq(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

static inline void write_file(const void *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");

	cr_assert_not_null(file);
	cr_assert_eq(fwrite(bytes, 1, size, file), size);
	cr_assert_eq(fclose(file), 0);
}

#endif
