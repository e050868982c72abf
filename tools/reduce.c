#include "reduce.h"

#include "frameperf/meta.h"
#include "symbolize/symbolize.h"

#include <string.h>
#include <unistd.h>

static uint32_t text_take(void *self, const char *bytes, size_t size)
{
	return fperf_writer__string(self, bytes, size);
}

static int record_take(void *self, enum fperf_record_type type, const void *record, struct fperf_error *err)
{
	return fperf_writer__add(self, type, record, err);
}

struct fperf_reduced_sink fperf_reduce__sink(struct fperf_writer *writer)
{
	return (struct fperf_reduced_sink){.self = writer, .text = text_take, .add = record_take};
}

static int reduce(const struct fperf_session *session, struct fperf_writer *writer, uint32_t level,
		  const struct fperf_log *log, struct fperf_error *err)
{
	const struct fperf_symbolizer_options symbolizer_options = {
		.demangle = true, .lines = true, .log = log};
	const struct fperf_analysis_options options = {.frame = -1, .worst = 1, .per_frame = true};
	const struct fperf_reduced_sink sink = fperf_reduce__sink(writer);
	struct fperf_symbolizer *symbolizer = NULL;
	struct fperf_analysis *analysis = NULL;
	struct fperf_reducer *reducer = NULL;
	int ret = fperf_symbolizer__new(session, &symbolizer_options, &symbolizer, err);

	if (!ret)
		ret = fperf_analysis__run(session, symbolizer, &options, &analysis, err);
	if (!ret)
		ret = fperf_reducer__new(level, &sink, &reducer, err);
	if (!ret)
		ret = fperf_reducer__describe(reducer, session, analysis->end_ns, err);
	if (!ret)
		ret = fperf_reducer__window(reducer, analysis, analysis->start_ns, analysis->end_ns + 1, err);
	if (!ret)
		ret = fperf_reducer__sums(reducer, analysis->end_ns, err);
	fperf_reducer__free(reducer);
	fperf_analysis__free(analysis);
	fperf_symbolizer__free(symbolizer);
	return ret;
}

int fperf_reduce__session(const struct fperf_session *session, const char *path, uint32_t level,
			  const struct fperf_log *log, struct fperf_error *err)
{
	const char *id = fperf_session__meta(session, FPERF_META_SESSION_ID);
	const struct fperf_writer_options options = {
		.path = path,
		.owner_uid = (uid_t)-1,
		.owner_gid = (gid_t)-1,
		.session_id = id && strlen(id) == 32 ? id : NULL,
	};
	struct fperf_writer *writer;
	struct fperf_error late;
	int ret = fperf_writer__open(&options, &writer, err);

	if (ret)
		return ret;
	ret = reduce(session, writer, level, log, err);
	if (fperf_writer__close(writer, &late) && !ret) {
		*err = late;
		ret = late.code;
	}
	if (ret)
		unlink(path);
	return ret;
}
