#include "output/export_functions.h"

#include "base/vec.h"
#include "output/csv.h"
#include "output/export_scopes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NO_FRAME UINT32_MAX

/* CPU time of one stack in one frame. */
struct stack_time {
	uint32_t frame, stack; /* NO_FRAME: outside of the exported frames */
	uint64_t ns;
};

struct function_row {
	const char *function, *module; /* NULL: no function has this number */
	uint64_t self_ns, total_ns;
	uint64_t frame_ns, frame_max_ns, framed_ns; /* in the frame at hand; most of one; of all frames */
	uint64_t calls, timed_calls, call_ns, call_max_ns;
	size_t last_time; /* piece of time that was counted last into total, plus one: recursion counts once
			   */
	uint32_t last_frame;
};

struct functions {
	const struct fperf_export *export;
	struct stack_time *times;
	size_t time_count, time_capacity;
	size_t frame;		   /* in step with the samples of one thread */
	struct function_row *rows; /* by function id; marked functions without samples follow */
	size_t row_count, row_capacity;
	struct fperf_export_stack stack;
	uint64_t whole_ns;
	size_t exported_frames;
};

/* ---- CPU time ---- */

static int sample_take(void *context, const struct fperf_export_sample *sample)
{
	struct functions *functions = context;
	const struct fperf_analysis *analysis = functions->export->analysis;
	uint64_t time = sample->record->time_ns;
	struct stack_time *entry;

	while (functions->frame < analysis->frame_count && analysis->frames[functions->frame].end_ns <= time)
		functions->frame++;
	entry = fperf_vec__push(&functions->times, &functions->time_count, &functions->time_capacity);
	if (!entry)
		return -ENOMEM;
	*entry = (struct stack_time){.frame = NO_FRAME, .stack = sample->stack, .ns = sample->weight_ns};
	if (functions->frame < analysis->frame_count && analysis->frames[functions->frame].start_ns <= time &&
	    fperf_export__has_frame(functions->export, &analysis->frames[functions->frame]))
		entry->frame = (uint32_t)functions->frame;
	functions->whole_ns += sample->weight_ns;
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	const struct stack_time *x = a, *y = b;

	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

static struct function_row *row_of(struct functions *functions, const struct fperf_symbol *symbol)
{
	size_t need = (size_t)symbol->function_id + 1;
	struct function_row *row;

	if (fperf_vec__grow((void **)&functions->rows, &functions->row_capacity, need,
			    sizeof(*functions->rows)))
		return NULL;
	if (need > functions->row_count)
		functions->row_count = need;
	row = &functions->rows[symbol->function_id];
	row->function = symbol->function;
	row->module = symbol->module;
	return row;
}

static void row_end_frame(struct function_row *row)
{
	row->framed_ns += row->frame_ns;
	if (row->frame_ns > row->frame_max_ns)
		row->frame_max_ns = row->frame_ns;
	row->frame_ns = 0;
}

static void row_add(struct function_row *row, const struct stack_time *time, size_t index)
{
	if (row->last_time == index + 1)
		return;
	row->last_time = index + 1;
	row->total_ns += time->ns;
	if (time->frame == NO_FRAME)
		return;
	if (row->last_frame != time->frame)
		row_end_frame(row);
	row->last_frame = time->frame;
	row->frame_ns += time->ns;
}

static int time_spread(struct functions *functions, size_t index)
{
	const struct stack_time *time = &functions->times[index];
	const struct fperf_stack_frame *leaf = NULL;

	if (fperf_export__stack(functions->export, time->stack, &functions->stack))
		return -ENOMEM;
	for (size_t i = 0; i < functions->stack.count; i++) {
		const struct fperf_export_function *frame = &functions->stack.functions[i];
		struct function_row *row;

		if (frame->frame->kind == FPERF_FRAME_GAP)
			continue;
		row = row_of(functions, frame->symbol);
		if (!row)
			return -ENOMEM;
		if (!leaf)
			leaf = frame->frame;
		if (leaf == frame->frame && !frame->symbol->inlined)
			row->self_ns += time->ns;
		row_add(row, time, index);
	}
	return 0;
}

static int times_collect(struct functions *functions)
{
	const struct fperf_export *export = functions->export;

	for (size_t i = 0; i < export->analysis->model->timeline_count; i++) {
		functions->frame = 0;
		if (fperf_export__samples(export, i, sample_take, functions))
			return -ENOMEM;
	}
	if (functions->time_count)
		qsort(functions->times, functions->time_count, sizeof(*functions->times), compare_times);
	for (size_t i = 0; i < functions->time_count; i++) {
		if (time_spread(functions, i))
			return -ENOMEM;
	}
	for (size_t i = 0; i < functions->row_count; i++)
		row_end_frame(&functions->rows[i]);
	for (size_t i = 0; i < export->analysis->frame_count; i++)
		functions->exported_frames += fperf_export__has_frame(export, &export->analysis->frames[i]);
	return 0;
}

/* A session that kept results instead of samples has the functions of all frames, and of the slow ones. */
static int results_collect(struct functions *functions)
{
	const struct fperf_analysis *analysis = functions->export->analysis;
	bool slow = functions->export->options.frames == FPERF_FRAMES_SLOW;
	const struct fperf_hot_function *hot = slow ? analysis->hot_slow : analysis->hot;
	size_t count = slow ? analysis->hot_slow_count : analysis->hot_count;

	for (size_t i = 0; i < count; i++) {
		struct function_row *row =
			fperf_vec__push(&functions->rows, &functions->row_count, &functions->row_capacity);

		if (!row)
			return -ENOMEM;
		*row = (struct function_row){.function = hot[i].function,
					     .module = hot[i].module,
					     .self_ns = hot[i].self_ns,
					     .total_ns = hot[i].total_ns};
		if (hot[i].total_share > 0 && !functions->whole_ns)
			functions->whole_ns = (uint64_t)((double)hot[i].total_ns / hot[i].total_share + 0.5);
	}
	return 0;
}

/* Whether the results are about the very part that is asked for. */
static bool results_serve(const struct fperf_export *export)
{
	const struct fperf_export_options *options = &export->options;

	return !export->analysis->model->sample_count && options->frames != FPERF_FRAMES_RANGE &&
	       !options->from_ns && !options->to_ns && !options->thread;
}

/* ---- calls ---- */

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* The row of the function that a marker is on; a new one if it has no samples. NULL: not known which, or out
 * of memory. */
static struct function_row *row_of_marker(struct functions *functions, const struct fperf_rec_marker *marker)
{
	const struct fperf_session *session = functions->export->session;
	const char *symbol = fperf_session__string(session, marker->symbol, NULL);
	const char *module = file_name(fperf_session__string(session, marker->path, NULL));
	struct function_row *row = NULL;
	char *name = *symbol ? fperf_demangle(symbol) : NULL;

	for (size_t i = 0; name && i < functions->row_count && !row; i++) {
		struct function_row *candidate = &functions->rows[i];

		if (candidate->function && !strcmp(candidate->function, name) &&
		    !strcmp(candidate->module, module))
			row = candidate;
	}
	free(name);
	if (row || !*symbol)
		return row;
	row = fperf_vec__push(&functions->rows, &functions->row_count, &functions->row_capacity);
	if (row) {
		row->function = symbol;
		row->module = module;
	}
	return row;
}

static int calls_count(struct functions *functions, struct fperf_error *err)
{
	const struct fperf_session *session = functions->export->session;
	const struct fperf_rec_marker *markers;
	const struct fperf_rec_mark *marks;
	struct fperf_scope *scopes;
	size_t marker_count, mark_count, scope_count;

	if (fperf_scopes__find(session, &scopes, &scope_count, err))
		return err->code;
	markers = fperf_session__records(session, FPERF_RECORD_MARKER, &marker_count);
	marks = fperf_session__records(session, FPERF_RECORD_MARK, &mark_count);
	for (size_t i = 0; i < marker_count; i++) {
		struct function_row *row = row_of_marker(functions, &markers[i]);

		for (size_t k = 0; row && k < mark_count; k++)
			row->calls += marks[k].marker == markers[i].id &&
				      fperf_export__has_time(functions->export, marks[k].time_ns);
		for (size_t k = 0; row && k < scope_count; k++) {
			uint64_t ns = scopes[k].to_ns - scopes[k].from_ns;

			if (scopes[k].marker != markers[i].id ||
			    !fperf_export__has_time(functions->export, scopes[k].from_ns))
				continue;
			row->timed_calls++;
			row->call_ns += ns;
			row->call_max_ns = ns > row->call_max_ns ? ns : row->call_max_ns;
		}
	}
	free(scopes);
	return 0;
}

/* ---- the table ---- */

static int compare_rows(const void *a, const void *b)
{
	const struct function_row *x = a, *y = b;

	if (x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	if (!x->function || !y->function)
		return !x->function - !y->function;
	return strcmp(x->function, y->function);
}

static void row_put(const struct functions *functions, const struct function_row *row, FILE *stream)
{
	double whole = functions->whole_ns ? (double)functions->whole_ns : 1;

	fperf_csv__text(stream, row->function);
	fputc(',', stream);
	fperf_csv__text(stream, row->module);
	fprintf(stream, ",%" PRIu64 ",%" PRIu64 ",%.9f,%.9f,", row->self_ns, row->total_ns,
		(double)row->self_ns / whole, (double)row->total_ns / whole);
	if (row->calls)
		fprintf(stream, "%" PRIu64, row->calls);
	fputc(',', stream);
	if (row->timed_calls)
		fprintf(stream, "%" PRIu64 ",%" PRIu64, row->call_ns / row->timed_calls, row->call_max_ns);
	else
		fputc(',', stream);
	fputc(',', stream);
	if (functions->exported_frames)
		fprintf(stream, "%" PRIu64 ",%" PRIu64, row->framed_ns / functions->exported_frames,
			row->frame_max_ns);
	else
		fputc(',', stream);
	fputc('\n', stream);
}

int fperf_export_functions__write(const struct fperf_export *export, FILE *stream, struct fperf_error *err)
{
	struct functions functions = {.export = export};
	int ret = 0;

	if (results_serve(export) ? results_collect(&functions) : times_collect(&functions))
		ret = fperf_error__no_memory(err, "the functions");
	if (!ret)
		ret = calls_count(&functions, err);
	if (!ret) {
		if (functions.row_count)
			qsort(functions.rows, functions.row_count, sizeof(*functions.rows), compare_rows);
		fputs("function,module,self_ns,total_ns,self_share,total_share,calls,call_mean_ns,"
		      "call_max_ns,frame_mean_ns,frame_max_ns\n",
		      stream);
		for (size_t i = 0; i < functions.row_count; i++) {
			const struct function_row *row = &functions.rows[i];

			if (row->function && (row->total_ns || row->calls))
				row_put(&functions, row, stream);
		}
	}
	free(functions.times);
	free(functions.rows);
	free(functions.stack.functions);
	return ret;
}
