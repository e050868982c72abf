/* pprof: gzip of a protocol buffer (github.com/google/pprof, proto/profile.proto). Each thread's stacks with
 * CPU time and time off the CPU by kind, in nanoseconds; labels say the thread and, in slow or chosen frames,
 * the frame. */
#include "output/export_pprof.h"

#include "base/vec.h"
#include "frameperf/meta.h"
#include "output/gzip.h"
#include "output/protobuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_LIMIT (64u << 20)
#define FLUSH_BYTES  (64u << 10)

enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum { TYPE_NAME = 1, TYPE_UNIT };

/* Values of a sample, in this order. */
enum {
	VALUE_SAMPLES,
	VALUE_CPU,
	VALUE_OFF_CPU,
	VALUE_STATES, /* one for each state that is off the CPU */
	VALUES = VALUE_STATES + FPERF_STATES - FPERF_STATE_RUNNABLE
};

struct values {
	uint32_t stack, frame; /* frame: its number plus one, 0: no label */
	uint64_t of[VALUES];
};

struct pprof {
	const struct fperf_export *export;
	struct fperf_pprof_tables tables;
	struct fperf_map index; /* stack << 32 | frame to index, of the thread at hand */
	struct values *values;
	size_t count, capacity;
	size_t frame; /* in step with the time of one thread */
	struct fperf_buf out;
	struct fperf_gzip *gzip;
};

/* ---- adding up ---- */

static struct values *values_at(struct pprof *pprof, uint32_t stack, uint32_t frame)
{
	uint64_t key = (uint64_t)stack << 32 | frame, index;
	struct values *values;

	if (fperf_map__get(&pprof->index, key, &index))
		return &pprof->values[index];
	values = fperf_vec__push(&pprof->values, &pprof->count, &pprof->capacity);
	if (!values || fperf_map__set(&pprof->index, key, pprof->count - 1))
		return NULL;
	values->stack = stack;
	values->frame = frame;
	return values;
}

static bool labelled(const struct pprof *pprof, size_t frame)
{
	const struct fperf_export_options *options = &pprof->export->options;

	if (options->frames == FPERF_FRAMES_RANGE)
		return frame >= options->first_frame && frame <= options->last_frame;
	return pprof->export->analysis->frames[frame].slow;
}

/* The label of a moment, and how long it holds at least. Moments come in order of time. */
static uint32_t label_at(struct pprof *pprof, uint64_t time_ns, uint64_t *until_ns)
{
	const struct fperf_analysis *analysis = pprof->export->analysis;

	while (pprof->frame < analysis->frame_count &&
	       (analysis->frames[pprof->frame].end_ns <= time_ns || !labelled(pprof, pprof->frame)))
		pprof->frame++;
	*until_ns = UINT64_MAX;
	if (pprof->frame == analysis->frame_count)
		return 0;
	if (analysis->frames[pprof->frame].start_ns > time_ns) {
		*until_ns = analysis->frames[pprof->frame].start_ns;
		return 0;
	}
	*until_ns = analysis->frames[pprof->frame].end_ns;
	return (uint32_t)pprof->frame + 1;
}

static int sample_take(void *context, const struct fperf_export_sample *sample)
{
	struct pprof *pprof = context;
	uint64_t until;
	struct values *values =
		values_at(pprof, sample->stack, label_at(pprof, sample->record->time_ns, &until));

	if (!values)
		return -ENOMEM;
	values->of[VALUE_SAMPLES]++;
	values->of[VALUE_CPU] += sample->weight_ns;
	return 0;
}

static int piece_take(void *context, const struct fperf_piece *piece)
{
	struct pprof *pprof = context;
	uint64_t from = piece->from_ns, until;

	while (fperf_export__waits(piece) && from < piece->to_ns) {
		uint32_t label = label_at(pprof, from, &until);
		struct values *values = values_at(pprof, piece->stack, label);
		uint64_t to = until < piece->to_ns ? until : piece->to_ns;

		if (!values)
			return -ENOMEM;
		values->of[VALUE_OFF_CPU] += to - from;
		values->of[VALUE_STATES + piece->state - FPERF_STATE_RUNNABLE] += to - from;
		from = to;
	}
	return 0;
}

/* ---- writing ---- */

static int flush(struct pprof *pprof, size_t least)
{
	int ret = 0;

	if (pprof->out.size < least)
		return 0;
	ret = fperf_gzip__write(pprof->gzip, pprof->out.data, pprof->out.size);
	fperf_buf__clear(&pprof->out);
	return ret;
}

static void label_put(struct fperf_buf *out, uint32_t key, uint32_t field, uint64_t value)
{
	size_t begin = fperf_protobuf__begin(out, SAMPLE_LABEL);

	fperf_protobuf__uint(out, LABEL_KEY, key);
	fperf_protobuf__uint(out, field, value);
	fperf_protobuf__end(out, begin);
}

static int locations_put(struct pprof *pprof, uint32_t index)
{
	const struct fperf_stack_info *info = &pprof->export->analysis->model->stacks[index];
	const struct fperf_rec_stack *stack = fperf_session__stack(pprof->export->session, info->stack);
	uint32_t count = stack ? stack->count : 0;
	size_t begin = fperf_protobuf__begin(&pprof->out, SAMPLE_LOCATION);

	for (uint32_t i = 0; i < (count ? count : 1); i++) {
		uint32_t id = fperf_pprof_tables__location(&pprof->tables, count ? &stack->frames[i] : NULL,
							   count ? info->process : 0);

		if (!id)
			return -ENOMEM;
		fperf_buf__varint(&pprof->out, id);
	}
	fperf_protobuf__end(&pprof->out, begin);
	return 0;
}

static int thread_put(struct pprof *pprof, const struct fperf_timeline *timeline)
{
	struct fperf_pprof_tables *tables = &pprof->tables;
	uint32_t thread = fperf_pprof_tables__string(tables, "thread");
	uint32_t tid = fperf_pprof_tables__string(tables, "tid");
	uint32_t frame = fperf_pprof_tables__string(tables, "frame");
	uint32_t name =
		fperf_pprof_tables__string(tables, fperf_export__thread_name(pprof->export, timeline));

	for (size_t i = 0; i < pprof->count; i++) {
		const struct values *values = &pprof->values[i];
		size_t begin = fperf_protobuf__begin(&pprof->out, FPERF_PPROF_SAMPLE), packed;

		if (locations_put(pprof, values->stack))
			return -ENOMEM;
		packed = fperf_protobuf__begin(&pprof->out, SAMPLE_VALUE);
		for (int value = 0; value < VALUES; value++)
			fperf_buf__varint(&pprof->out, values->of[value]);
		fperf_protobuf__end(&pprof->out, packed);
		label_put(&pprof->out, thread, LABEL_TEXT, name);
		label_put(&pprof->out, tid, LABEL_NUMBER, timeline->thread->tid);
		if (values->frame)
			label_put(&pprof->out, frame, LABEL_NUMBER, values->frame - 1);
		fperf_protobuf__end(&pprof->out, begin);
		if (pprof->out.failed)
			return -ENOMEM;
		if (flush(pprof, FLUSH_BYTES))
			return -EIO;
	}
	pprof->count = 0;
	fperf_map__free(&pprof->index);
	pprof->index = (struct fperf_map){0};
	return 0;
}

static int samples_put(struct pprof *pprof)
{
	const struct fperf_export *export = pprof->export;
	const struct fperf_model *model = export->analysis->model;

	for (size_t i = 0; i < model->timeline_count; i++) {
		int ret;

		pprof->frame = 0;
		ret = fperf_export__samples(export, i, sample_take, pprof);
		pprof->frame = 0;
		if (!ret)
			ret = fperf_export__pieces(export, i, piece_take, pprof);
		if (!ret)
			ret = thread_put(pprof, &model->timelines[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static void type_put(struct pprof *pprof, uint32_t field, const char *name, const char *unit)
{
	size_t begin = fperf_protobuf__begin(&pprof->out, field);

	fperf_protobuf__uint(&pprof->out, TYPE_NAME, fperf_pprof_tables__string(&pprof->tables, name));
	fperf_protobuf__uint(&pprof->out, TYPE_UNIT, fperf_pprof_tables__string(&pprof->tables, unit));
	fperf_protobuf__end(&pprof->out, begin);
}

static void head_put(struct pprof *pprof)
{
	const struct fperf_session *session = pprof->export->session;
	const struct fperf_analysis *analysis = pprof->export->analysis;
	uint64_t offset = fperf_session__meta_u64(session, FPERF_META_REALTIME_OFFSET, 0);
	char name[40];

	type_put(pprof, FPERF_PPROF_SAMPLE_TYPE, "samples", "count");
	type_put(pprof, FPERF_PPROF_SAMPLE_TYPE, "cpu", "nanoseconds");
	type_put(pprof, FPERF_PPROF_SAMPLE_TYPE, "off_cpu", "nanoseconds");
	for (int state = FPERF_STATE_RUNNABLE; state < FPERF_STATES; state++) {
		snprintf(name, sizeof(name), "off_cpu_%s", fperf_state__name((enum fperf_state)state));
		type_put(pprof, FPERF_PPROF_SAMPLE_TYPE, name, "nanoseconds");
	}
	fperf_protobuf__int(&pprof->out, FPERF_PPROF_TIME, (int64_t)(analysis->start_ns + offset));
	fperf_protobuf__int(&pprof->out, FPERF_PPROF_DURATION,
			    (int64_t)(analysis->end_ns - analysis->start_ns));
	type_put(pprof, FPERF_PPROF_PERIOD_TYPE, "cpu", "nanoseconds");
	fperf_protobuf__int(&pprof->out, FPERF_PPROF_PERIOD, (int64_t)analysis->model->sample_period_ns);
	fperf_protobuf__uint(&pprof->out, FPERF_PPROF_COMMENT,
			     fperf_pprof_tables__string(&pprof->tables, "recorded by frameperf"));
	fperf_protobuf__uint(&pprof->out, FPERF_PPROF_DEFAULT_TYPE,
			     fperf_pprof_tables__string(&pprof->tables, "cpu"));
}

static int all_put(struct pprof *pprof)
{
	struct fperf_strtab *strings = pprof->tables.strings;
	int ret;

	head_put(pprof);
	ret = samples_put(pprof);
	if (ret)
		return ret;
	if (pprof->tables.out.failed || flush(pprof, 0))
		return -ENOMEM;
	if (fperf_gzip__write(pprof->gzip, pprof->tables.out.data, pprof->tables.out.size))
		return -EIO;
	for (uint32_t i = 0; i < fperf_strtab__count(strings); i++) {
		fperf_protobuf__text(&pprof->out, FPERF_PPROF_STRING, fperf_strtab__get(strings, i, NULL));
		if (pprof->out.failed || flush(pprof, FLUSH_BYTES))
			return -ENOMEM;
	}
	return flush(pprof, 0);
}

static int pprof_write(const struct fperf_export *export, FILE *stream, struct fperf_error *err)
{
	struct pprof pprof = {.export = export};
	int ret;

	fperf_buf__init(&pprof.out, SAMPLE_LIMIT);
	ret = fperf_pprof_tables__init(&pprof.tables, export);
	pprof.gzip = ret ? NULL : fperf_gzip__new(stream);
	if (pprof.gzip) {
		ret = all_put(&pprof);
		fperf_gzip__end(pprof.gzip);
	} else {
		ret = -ENOMEM;
	}
	fperf_pprof_tables__free(&pprof.tables);
	fperf_map__free(&pprof.index);
	fperf_buf__free(&pprof.out);
	free(pprof.values);
	if (ret == -ENOMEM)
		return fperf_error__no_memory(err, "the pprof profile");
	return fperf_export__stream_end(stream, "the pprof profile", err);
}

const struct fperf_export_ops fperf_export_pprof = {
	.name = "pprof", .extension = ".pb.gz", .write = pprof_write};
