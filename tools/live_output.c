#include "live_output.h"

#include "reduce.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* A budget from fewer frames than this would change too much. */
#define BUDGET_FRAMES 100

static int writer_open(struct fperf_live_output *output, const char *path, struct fperf_writer **writer,
		       struct fperf_error *err)
{
	const struct fperf_writer_options options = {
		.path = path,
		.owner_uid = output->options.owner_uid,
		.owner_gid = output->options.owner_gid,
		.session_id = output->id,
		.max_bytes = output->options.max_bytes,
	};

	return fperf_writer__open(&options, writer, err);
}

static int id_make(char id[33], struct fperf_error *err)
{
	uint8_t bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return fperf_error__set_errno(err, -errno, "getrandom for the id of the session");
	bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40); /* RFC 9562, version 4 */
	bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(id + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static void bytes_note(struct fperf_live_output *output, const struct fperf_writer *writer)
{
	struct fperf_writer_stats stats;

	fperf_writer__stats(writer, &stats);
	atomic_store(&output->bytes, stats.file_bytes);
}

static int no_record(void *self, enum fperf_record_type type, const void *record, struct fperf_error *err)
{
	(void)self;
	(void)type;
	(void)record;
	(void)err;
	return 0;
}

static uint32_t no_text(void *self, const char *bytes, size_t size)
{
	(void)self;
	(void)bytes;
	(void)size;
	return 0;
}

/* At level 0 nothing is written between the files. */
static const struct fperf_reduced_sink nowhere = {.text = no_text, .add = no_record};

int fperf_live_output__open(struct fperf_live_output *output, const struct fperf_live_options *options,
			    struct fperf_error *err)
{
	struct fperf_reduced_sink sink = nowhere;
	struct fperf_writer *writer = NULL;
	struct fperf_error late;
	int ret = id_make(output->id, err);

	output->options = *options;
	output->path = strdup(options->path);
	if (!ret && (!output->path || asprintf(&output->next, "%s.next", options->path) < 0))
		ret = fperf_error__no_memory(err, "the recording");
	if (!ret)
		ret = writer_open(output, output->path, &writer, err);
	if (!ret && options->level == FPERF_LEVEL_TIMELINE)
		sink = fperf_reduce__sink(writer);
	if (!ret)
		ret = fperf_reducer__new(options->level, &sink, &output->reducer, err);
	if (!ret && options->level == FPERF_LEVEL_TIMELINE) {
		output->writer = writer;
		return fperf_writer__flush(writer, false, err);
	}
	/* Level 0: that the file can be written is known, and there is one from the start. */
	if (writer && fperf_writer__close(writer, &late) && !ret) {
		*err = late;
		ret = late.code;
	}
	if (ret) {
		if (writer)
			unlink(output->path);
		fperf_reducer__free(output->reducer);
		free(output->next);
		free(output->path);
		output->reducer = NULL;
		output->next = output->path = NULL;
	}
	return ret;
}

uint64_t fperf_live_output__budget(const struct fperf_live_output *output)
{
	return fperf_reducer__frames(output->reducer) < BUDGET_FRAMES
		       ? 0
		       : fperf_reducer__budget(output->reducer);
}

int fperf_live_output__window(struct fperf_live_output *output, const struct fperf_analysis *analysis,
			      uint64_t from_ns, uint64_t to_ns, struct fperf_error *err)
{
	return fperf_reducer__window(output->reducer, analysis, from_ns, to_ns, err);
}

/* Level 0: the file that there is stays until the next one is whole. */
static int file_renew(struct fperf_live_output *output, const struct fperf_session *session, uint64_t now_ns,
		      struct fperf_error *err)
{
	struct fperf_writer *writer;
	struct fperf_reduced_sink sink;
	struct fperf_error late;
	int ret = writer_open(output, output->next, &writer, err);

	if (ret)
		return ret;
	sink = fperf_reduce__sink(writer);
	ret = fperf_reducer__restart(output->reducer, &sink, err);
	if (!ret)
		ret = fperf_reducer__describe(output->reducer, session, now_ns, err);
	if (!ret)
		ret = fperf_reducer__sums(output->reducer, now_ns, err);
	if (!ret)
		ret = fperf_writer__flush(writer, true, err);
	if (fperf_reducer__restart(output->reducer, &nowhere, &late) && !ret) {
		*err = late;
		ret = late.code;
	}
	bytes_note(output, writer);
	if (fperf_writer__close(writer, &late) && !ret) {
		*err = late;
		ret = late.code;
	}
	if (!ret && rename(output->next, output->path))
		ret = fperf_error__set_errno(err, -errno, "cannot replace %s", output->path);
	if (ret)
		unlink(output->next);
	return ret;
}

int fperf_live_output__sums(struct fperf_live_output *output, const struct fperf_session *session,
			    uint64_t now_ns, struct fperf_error *err)
{
	if (!output->writer)
		return file_renew(output, session, now_ns, err);
	if (fperf_reducer__describe(output->reducer, session, now_ns, err))
		return err->code;
	return fperf_reducer__sums(output->reducer, now_ns, err);
}

int fperf_live_output__flush(struct fperf_live_output *output, bool sync, struct fperf_error *err)
{
	int ret;

	if (!output->writer)
		return 0;
	ret = fperf_writer__flush(output->writer, sync, err);
	bytes_note(output, output->writer);
	return ret;
}

int fperf_live_output__close(struct fperf_live_output *output, struct fperf_error *err)
{
	int ret = fperf_writer__close(output->writer, err);

	fperf_reducer__free(output->reducer);
	free(output->next);
	free(output->path);
	return ret;
}

uint64_t fperf_live_output__bytes(const struct fperf_live_output *output)
{
	return atomic_load(&output->bytes);
}
