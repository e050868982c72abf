/* libFuzzer: the session reader, and the analysis of what it reads. Bytes are tried as they are, and once
 * more with the checksums made right, so that what lies behind the checksums is reached as well. */
#include "analyze/analysis.h"
#include "session/chunk.h"
#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MEMORY_LIMIT ((size_t)256 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Everything that a reader hands out must be there: touches all of it. */
static uint64_t touch(const struct fperf_session *session)
{
	const struct fperf_rec_string *strings;
	const struct fperf_rec_stack *stacks;
	uint64_t sum = 0;
	size_t count;

	strings = fperf_session__records(session, FPERF_RECORD_STRING, &count);
	for (size_t i = 0; i < count; i++) {
		sum += strlen(strings[i].bytes) + strings[i].size;
		sum += (uint64_t)fperf_session__string(session, strings[i].id, NULL)[0];
	}
	stacks = fperf_session__records(session, FPERF_RECORD_STACK, &count);
	for (size_t i = 0; i < count; i++)
		for (uint32_t at = 0; at < stacks[i].count; at++)
			sum += stacks[i].frames[at].offset;
	for (uint32_t id = 0; id < 64; id++) {
		sum += fperf_session__module(session, id) != NULL;
		sum += fperf_session__process(session, id) != NULL;
		sum += fperf_session__thread(session, id) != NULL;
		sum += fperf_session__marker(session, id) != NULL;
	}
	return sum + fperf_session__meta_u64(session, "start_ns", 0);
}

/* What is made of the records, events and results alike. */
static void analyse(const struct fperf_session *session)
{
	const struct fperf_symbolizer_options symbols = {.no_system_files = true, .demangle = true};
	const struct fperf_analysis_options options = {.frame = 0, .per_frame = true};
	struct fperf_symbolizer *symbolizer;
	struct fperf_analysis *analysis;
	struct fperf_error err;

	if (fperf_symbolizer__new(session, &symbols, &symbolizer, &err))
		return;
	if (!fperf_analysis__run(session, symbolizer, &options, &analysis, &err))
		fperf_analysis__free(analysis);
	fperf_symbolizer__free(symbolizer);
}

static void load(const uint8_t *data, size_t size)
{
	struct fperf_session_damage damage;
	struct fperf_session *session;
	struct fperf_error err;
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!fperf_session__load(path, MEMORY_LIMIT, &session, &damage, &err)) {
		if (touch(session) == UINT64_MAX)
			abort();
		analyse(session);
		fperf_session__free(session);
	}
	close(fd);
}

/* Makes headers valid where their place can be guessed: the file's, and one chunk after the other. */
static void repair(uint8_t *data, size_t size)
{
	struct fperf_file_header file = {
		.major = FPERF_FORMAT_MAJOR, .size = FPERF_FILE_HEADER_SIZE, .uuid = "fuzz"};
	struct fperf_chunk_header header;
	uint32_t sequence = 0;

	if (size < FPERF_FILE_HEADER_SIZE)
		return;
	fperf_file_header__pack(&file, data);
	for (size_t at = FPERF_FILE_HEADER_SIZE; size - at >= FPERF_CHUNK_HEADER_SIZE;) {
		size_t left = size - at - FPERF_CHUNK_HEADER_SIZE;

		header = (struct fperf_chunk_header){.tag = fperf_file_header__tag(&file),
						     .type = data[at + 8] % 24,
						     .codec = data[at + 10] % 3,
						     .sequence = sequence++};
		memcpy(&header.stored_size, data + at + 16, 4);
		memcpy(&header.raw_size, data + at + 20, 4);
		memcpy(&header.count, data + at + 24, 4);
		if (header.stored_size > left)
			header.stored_size = (uint32_t)left;
		if (header.codec == FPERF_CODEC_RAW)
			header.raw_size = header.stored_size;
		header.payload_checksum =
			fperf_crc32(data + at + FPERF_CHUNK_HEADER_SIZE, header.stored_size);
		fperf_chunk_header__pack(&header, data + at);
		at += FPERF_CHUNK_HEADER_SIZE + header.stored_size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	load(copy, size);
	repair(copy, size);
	load(copy, size);
	free(copy);
	return 0;
}
