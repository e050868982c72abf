/* Marks and scopes that the user asked for. */
#include "capture/mark_set.h"
#include "capture/sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct marks {
	struct fperf_capture_context *context;
	struct fperf_mark_set *set;
};

static int spec_add(struct marks *marks, const struct fperf_capture_mark *mark, enum fperf_marker_kind kind,
		    struct fperf_error *err)
{
	struct fperf_mark_spec spec = {
		.kind = kind,
		.surface_arg = 255,
		.path = mark->path,
		.symbol = mark->symbol,
		.name = mark->name,
	};

	return fperf_mark_set__add_spec(marks->set, &spec, err);
}

static int specs_add(struct marks *marks, struct fperf_error *err)
{
	const struct fperf_capture_options *options = marks->context->options;
	int result = 0;

	for (size_t i = 0; !result && i < options->mark_count; i++)
		result = spec_add(marks, &options->marks[i], FPERF_MARKER_MARK, err);
	for (size_t i = 0; !result && i < options->scope_count; i++) {
		result = spec_add(marks, &options->scopes[i].begin, FPERF_MARKER_SCOPE_BEGIN, err);
		if (!result)
			result = spec_add(marks, &options->scopes[i].end, FPERF_MARKER_SCOPE_END, err);
	}
	return result;
}

static int marks_start(struct fperf_capture_context *context, void **state, char *reason, size_t reason_size,
		       struct fperf_error *err)
{
	const struct fperf_capture_options *options = context->options;
	struct marks *marks;
	int result;

	if (!options->mark_count && !options->scope_count) {
		snprintf(reason, reason_size, "no --mark or --scope was given");
		return -ECANCELED;
	}
	marks = calloc(1, sizeof(*marks));
	if (!marks)
		return fperf_error__no_memory(err, "marks");
	marks->context = context;
	result = fperf_mark_set__new(context, FPERF_SOURCE_MARK, false, &marks->set, err);
	if (!result)
		result = specs_add(marks, err);
	if (result) {
		fperf_mark_set__free(marks->set);
		free(marks);
		return result;
	}
	for (size_t i = 0; i < options->pid_count; i++)
		fperf_mark_set__see_process(marks->set, (uint32_t)options->pids[i]);
	snprintf(reason, reason_size, "entry probes: %zu of %zu attached at the start",
		 fperf_mark_set__count(marks->set), options->mark_count + 2 * options->scope_count);
	*state = marks;
	context->marks = marks;
	return 0;
}

bool fperf_mark__scope(void *state, uint32_t marker, const char **name, bool *end)
{
	struct marks *marks = state;

	for (size_t i = 0; marks && i < fperf_mark_set__count(marks->set); i++) {
		const struct fperf_mark_site *site = fperf_mark_set__site(marks->set, i);
		const struct fperf_mark_spec *spec = fperf_mark_set__spec(marks->set, site->spec);

		if (site->marker != marker)
			continue;
		*name = spec->name;
		*end = spec->kind == FPERF_MARKER_SCOPE_END;
		return spec->name && spec->kind != FPERF_MARKER_MARK;
	}
	return false;
}

static void marks_describe(void *state, uint64_t end_ns)
{
	struct marks *marks = state;

	(void)end_ns;
	fperf_mark_set__write(marks->set);
}

static void marks_on_process(void *state, uint32_t pid)
{
	struct marks *marks = state;

	fperf_mark_set__see_process(marks->set, pid);
}

static void marks_on_mapping(void *state, const struct fperf_capture_mapping *mapping)
{
	struct marks *marks = state;

	fperf_mark_set__see_mapping(marks->set, mapping);
}

static void marks_stop(void *state, uint64_t end_ns)
{
	struct marks *marks = state;

	(void)end_ns;
	marks->context->marks = NULL;
	fperf_mark_set__tell_missing(marks->set);
	fperf_mark_set__free(marks->set);
	free(marks);
}

const struct fperf_capture_source_ops fperf_source_mark = {
	.source = FPERF_SOURCE_MARK,
	.name = "mark",
	.start = marks_start,
	.on_process = marks_on_process,
	.on_mapping = marks_on_mapping,
	.describe = marks_describe,
	.stop = marks_stop,
};
