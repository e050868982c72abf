#include "output/export.h"

#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct fperf_export_ops *const formats[] = {
	&fperf_export_perfetto, &fperf_export_firefox,	  &fperf_export_pprof,
	&fperf_export_folded,	&fperf_export_speedscope, &fperf_export_csv,
};

const struct fperf_export_ops *fperf_export__at(size_t index)
{
	return index < sizeof(formats) / sizeof(formats[0]) ? formats[index] : NULL;
}

const struct fperf_export_ops *fperf_export__find(const char *name)
{
	const struct fperf_export_ops *format;

	for (size_t i = 0; (format = fperf_export__at(i)); i++) {
		if (!strcmp(format->name, name))
			return format;
	}
	return NULL;
}

/* ---- what is exported ---- */

static int span_add(struct fperf_export *export, uint64_t from_ns, uint64_t to_ns, size_t *capacity)
{
	struct fperf_export_span *span;

	if (from_ns >= to_ns)
		return 0;
	if (export->span_count && export->spans[export->span_count - 1].to_ns >= from_ns) {
		span = &export->spans[export->span_count - 1];
		span->to_ns = span->to_ns > to_ns ? span->to_ns : to_ns;
		return 0;
	}
	span = fperf_vec__push(&export->spans, &export->span_count, capacity);
	if (!span)
		return -ENOMEM;
	*span = (struct fperf_export_span){.from_ns = from_ns, .to_ns = to_ns};
	return 0;
}

static int frames_check(const struct fperf_export *export, struct fperf_error *err)
{
	const struct fperf_analysis *analysis = export->analysis;

	if (export->options.frames == FPERF_FRAMES_ALL)
		return 0;
	if (!analysis->frame_count)
		return fperf_error__set(err, -ENOENT, "no frames were recorded: none can be chosen");
	if (export->options.frames == FPERF_FRAMES_RANGE &&
	    export->options.first_frame >= analysis->frame_count)
		return fperf_error__set(err, -ENOENT, "there is no frame %" PRIu32 ": there are 0 to %zu",
					export->options.first_frame, analysis->frame_count - 1);
	return 0;
}

static bool frame_chosen(const struct fperf_export *export, size_t index)
{
	if (export->options.frames == FPERF_FRAMES_SLOW)
		return export->analysis->frames[index].slow;
	return index >= export->options.first_frame && index <= export->options.last_frame;
}

static int spans_make(struct fperf_export *export, struct fperf_error *err)
{
	const struct fperf_analysis *analysis = export->analysis;
	uint64_t from = 0, to = UINT64_MAX;
	size_t capacity = 0;
	int failed = 0;

	if (frames_check(export, err))
		return err->code;
	if (export->options.from_ns && analysis->start_ns <= UINT64_MAX - export->options.from_ns)
		from = analysis->start_ns + export->options.from_ns;
	if (export->options.to_ns && analysis->start_ns <= UINT64_MAX - export->options.to_ns)
		to = analysis->start_ns + export->options.to_ns;
	if (export->options.frames == FPERF_FRAMES_ALL)
		failed = span_add(export, from, to, &capacity);
	for (size_t i = 0; export->options.frames != FPERF_FRAMES_ALL && i < analysis->frame_count && !failed;
	     i++) {
		const struct fperf_frame *frame = &analysis->frames[i];

		if (frame_chosen(export, i))
			failed = span_add(export, frame->start_ns > from ? frame->start_ns : from,
					  frame->end_ns < to ? frame->end_ns : to, &capacity);
	}
	return failed ? fperf_error__no_memory(err, "the parts to export") : 0;
}

static bool thread_matches(const struct fperf_model *model, const struct fperf_timeline *timeline,
			   const char *wanted)
{
	const struct fperf_session *session = model->session;
	char number[16];

	snprintf(number, sizeof(number), "%" PRIu32, timeline->thread->tid);
	if (!strcmp(wanted, number) ||
	    !strcmp(wanted, fperf_session__string(session, timeline->thread->name, NULL)))
		return true;
	for (size_t i = 0; i < timeline->rename_count; i++) {
		if (!strcmp(wanted, fperf_session__string(
					    session, model->task_events[timeline->renames[i]].name, NULL)))
			return true;
	}
	return false;
}

/* "no thread X; there are: a, b, c" */
static int thread_missing(const struct fperf_export *export, struct fperf_error *err)
{
	const struct fperf_analysis *analysis = export->analysis;
	size_t used = 0;
	char list[400] = "";

	for (size_t i = 0; i < analysis->thread_count && used < sizeof(list); i++) {
		const struct fperf_thread_ref *thread = &analysis->threads[i].thread;

		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%.30s (%" PRIu32 ")",
					 i ? ", " : "", thread->name, thread->tid);
	}
	return fperf_error__set(err, -ENOENT,
				"no thread of the target is called '%.60s' or has that number; "
				"there are: %s%s",
				export->options.thread, list, used >= sizeof(list) ? "…" : "");
}

static int threads_choose(struct fperf_export *export, struct fperf_error *err)
{
	const struct fperf_model *model = export->analysis->model;
	bool any = false;

	export->threads = calloc(model->timeline_count + 1, sizeof(*export->threads));
	if (!export->threads)
		return fperf_error__no_memory(err, "the threads to export");
	for (size_t i = 0; i < model->timeline_count; i++) {
		const struct fperf_timeline *timeline = &model->timelines[i];

		export->threads[i] =
			timeline->target &&
			(!export->options.thread || thread_matches(model, timeline, export->options.thread));
		any = any || export->threads[i];
	}
	return export->options.thread && !any ? thread_missing(export, err) : 0;
}

int fperf_export__init(struct fperf_export *export, const struct fperf_session *session,
		       const struct fperf_analysis *analysis, struct fperf_symbolizer *symbolizer,
		       const struct fperf_export_options *options, struct fperf_error *err)
{
	*export = (struct fperf_export){
		.session = session, .analysis = analysis, .symbolizer = symbolizer, .options = *options};
	if (spans_make(export, err) || threads_choose(export, err))
		return err->code;
	return 0;
}

void fperf_export__free(struct fperf_export *export)
{
	free(export->spans);
	free(export->threads);
	export->spans = NULL;
	export->threads = NULL;
}

int fperf_export__stream_end(FILE *stream, const char *what, struct fperf_error *err)
{
	errno = 0;
	if (!fflush(stream) && !ferror(stream))
		return 0;
	return fperf_error__set_errno(err, errno ? -errno : -EIO, "cannot write %s", what);
}
