/* Samples with the CPU time that they stand for, and waits with their lengths, as two streams of StackSample
 * packets. Names, modules and stacks are interned when they are first met. */
#include "output/export_perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { INTERNED_FUNCTION = 5, INTERNED_FRAME, INTERNED_STACK, INTERNED_BUILD_ID = 16, INTERNED_PATH };
enum { INTERNED_SOURCE = 18, INTERNED_MAPPING };
enum { STRING_ID = 1, STRING_BYTES };
enum { MAPPING_ID = 1, MAPPING_BUILD_ID, MAPPING_PATH = 7 };
enum { FRAME_ID = 1, FRAME_FUNCTION, FRAME_MAPPING, FRAME_ADDRESS, FRAME_SOURCE, FRAME_LINE, FRAME_KIND };
enum { KIND_UNKNOWN, KIND_NATIVE, KIND_KERNEL, KIND_JIT = 4 };
enum { STACK_ID = 1, STACK_FRAME };
enum { SAMPLE_TASK = 1, SAMPLE_EXECUTION = 3, SAMPLE_STACK = 6, SAMPLE_WEIGHT = 11 };
enum { TASK_PID = 2, TASK_TID };
enum { EXECUTION_CPU = 2, EXECUTION_MODE };
enum { MODE_USER = 1, MODE_KERNEL };
enum { DEFAULTS_STACK_SAMPLE = 100, DEFAULTS_SOURCE = 1, DEFAULTS_COUNTER };
enum { COUNTER_NAME = 2, COUNTER_UNIT };
enum { UNIT_NANOSECONDS = 1 };

struct frame_key { /* compared as bytes: no padding */
	uint64_t address;
	uint32_t function_id, module, line, kind;
};

/* One sequence of packets. */
struct stream {
	struct perfetto *perfetto;
	enum perfetto_sequence sequence;
	struct fperf_strtab *functions, *sources, *paths, *build_ids, *frames;
	struct fperf_map modules; /* module to 1: its mapping was written */
	struct fperf_map stacks;  /* model's stack << 8 | state to id */
	struct fperf_export_stack scratch;
	struct fperf_buf interned; /* what the next packet has to bring along */
	struct fperf_buf ids;	   /* of the stack at hand */
};

/* Id of a string in one of the tables, which is new in `interned` if it was not there. */
static uint32_t string_id(struct stream *stream, struct fperf_strtab *strings, uint32_t field,
			  const void *bytes, size_t size)
{
	uint32_t known = fperf_strtab__count(strings), id = fperf_strtab__intern(strings, bytes, size);
	size_t begin;

	if (!id || id < known)
		return id;
	begin = fperf_protobuf__begin(&stream->interned, field);
	fperf_protobuf__uint(&stream->interned, STRING_ID, id);
	fperf_protobuf__bytes(&stream->interned, STRING_BYTES, bytes, size);
	fperf_protobuf__end(&stream->interned, begin);
	return id;
}

/* Mappings have the modules' own numbers, plus one. */
static uint32_t mapping_id(struct stream *stream, uint32_t module)
{
	const struct fperf_session *session = stream->perfetto->export->session;
	const struct fperf_rec_module *record = fperf_session__module(session, module);
	uint32_t path, build_id = 0;
	const char *text = "[unknown]";
	size_t begin, size = 9;

	if (fperf_map__get(&stream->modules, module, NULL))
		return module + 1;
	if (fperf_map__set(&stream->modules, module, 1))
		stream->perfetto->failed = true;
	if (record)
		text = fperf_session__string(session, record->path, &size);
	path = string_id(stream, stream->paths, INTERNED_PATH, text, size);
	if (record && record->build_id_size && record->build_id_size <= FPERF_BUILD_ID_MAX)
		build_id = string_id(stream, stream->build_ids, INTERNED_BUILD_ID, record->build_id,
				     record->build_id_size);
	begin = fperf_protobuf__begin(&stream->interned, INTERNED_MAPPING);
	fperf_protobuf__uint(&stream->interned, MAPPING_ID, module + 1);
	if (build_id)
		fperf_protobuf__uint(&stream->interned, MAPPING_BUILD_ID, build_id);
	fperf_protobuf__uint(&stream->interned, MAPPING_PATH, path);
	fperf_protobuf__end(&stream->interned, begin);
	return module + 1;
}

static uint32_t frame_put(struct stream *stream, const struct frame_key *key, const char *function,
			  const char *source)
{
	uint32_t known = fperf_strtab__count(stream->frames);
	uint32_t id = fperf_strtab__intern(stream->frames, key, sizeof(*key));
	uint32_t name, file = 0, mapping;
	size_t begin;

	if (!id)
		stream->perfetto->failed = true;
	if (id < known)
		return id;
	name = string_id(stream, stream->functions, INTERNED_FUNCTION, function, strlen(function));
	if (*source)
		file = string_id(stream, stream->sources, INTERNED_SOURCE, source, strlen(source));
	mapping = mapping_id(stream, key->module);
	begin = fperf_protobuf__begin(&stream->interned, INTERNED_FRAME);
	fperf_protobuf__uint(&stream->interned, FRAME_ID, id);
	fperf_protobuf__uint(&stream->interned, FRAME_FUNCTION, name);
	fperf_protobuf__uint(&stream->interned, FRAME_MAPPING, mapping);
	fperf_protobuf__uint(&stream->interned, FRAME_ADDRESS, key->address);
	if (file)
		fperf_protobuf__uint(&stream->interned, FRAME_SOURCE, file);
	if (file && key->line)
		fperf_protobuf__uint(&stream->interned, FRAME_LINE, key->line);
	fperf_protobuf__uint(&stream->interned, FRAME_KIND, key->kind);
	fperf_protobuf__end(&stream->interned, begin);
	return id;
}

static uint32_t function_put(struct stream *stream, const struct fperf_export_function *of)
{
	const struct fperf_rec_module *module =
		fperf_session__module(stream->perfetto->export->session, of->frame->module);
	struct frame_key key = {.function_id = of->symbol->function_id, .line = of->symbol->line};

	key.module = module ? of->frame->module : 0;
	key.address = of->frame->kind == FPERF_FRAME_RETURN && of->frame->offset ? of->frame->offset - 1
										 : of->frame->offset;
	key.kind = of->frame->kernel		       ? KIND_KERNEL
		   : !module			       ? KIND_UNKNOWN
		   : module->kind == FPERF_MODULE_ANON ? KIND_JIT
						       : KIND_NATIVE;
	return frame_put(stream, &key, of->symbol->function, of->symbol->file);
}

/* A frame of our own: the kind of a wait, or a lost stack. */
static uint32_t words_put(struct stream *stream, uint32_t number, const char *words)
{
	struct frame_key key = {.address = number, .kind = KIND_UNKNOWN};

	return frame_put(stream, &key, words, "");
}

/* Id of a stack; `state`: the kind of wait that it ends in, FPERF_STATES: none. 0 when out of memory. */
static uint32_t stack_id(struct stream *stream, uint32_t stack, uint32_t state)
{
	uint64_t key = (uint64_t)stack << 8 | state, id;
	char words[40];
	size_t begin;

	if (fperf_map__get(&stream->stacks, key, &id))
		return (uint32_t)id;
	id = stream->stacks.used + 1;
	if (fperf_map__set(&stream->stacks, key, id) ||
	    fperf_export__stack(stream->perfetto->export, stack, &stream->scratch))
		return 0;
	fperf_buf__clear(&stream->ids);
	for (size_t i = stream->scratch.count; i > 0; i--)
		fperf_protobuf__uint(&stream->ids, STACK_FRAME,
				     function_put(stream, &stream->scratch.functions[i - 1]));
	if (!stream->scratch.count)
		fperf_protobuf__uint(&stream->ids, STACK_FRAME,
				     words_put(stream, FPERF_STATES, FPERF_EXPORT_NO_STACK));
	snprintf(words, sizeof(words), "[%s]", fperf_state__name((enum fperf_state)state));
	if (state < FPERF_STATES)
		fperf_protobuf__uint(&stream->ids, STACK_FRAME, words_put(stream, state, words));
	begin = fperf_protobuf__begin(&stream->interned, INTERNED_STACK);
	fperf_protobuf__uint(&stream->interned, STACK_ID, id);
	fperf_buf__append(&stream->interned, stream->ids.data, stream->ids.size);
	fperf_protobuf__end(&stream->interned, begin);
	return stream->ids.failed ? 0 : (uint32_t)id;
}

/* ---- packets ---- */

static int sample_put(struct stream *stream, const struct fperf_timeline *timeline, uint64_t time_ns,
		      uint32_t stack, uint64_t weight_ns, const struct fperf_rec_sample *sample)
{
	struct perfetto *perfetto = stream->perfetto;
	struct fperf_buf *out = &perfetto->out;
	size_t packet, begin, fields;

	if (!stack)
		return -ENOMEM;
	packet = perfetto_packet__begin(perfetto, time_ns, stream->sequence);
	fperf_protobuf__uint(out, PERFETTO_PACKET_FLAGS, PERFETTO_FLAG_NEEDS_STATE);
	if (stream->interned.size)
		fperf_protobuf__bytes(out, PERFETTO_PACKET_INTERNED, stream->interned.data,
				      stream->interned.size);
	perfetto->failed |= stream->interned.failed;
	fperf_buf__clear(&stream->interned);
	begin = fperf_protobuf__begin(out, PERFETTO_PACKET_STACK_SAMPLE);
	fields = fperf_protobuf__begin(out, SAMPLE_TASK);
	fperf_protobuf__uint(out, TASK_PID, timeline->pid);
	fperf_protobuf__uint(out, TASK_TID, timeline->thread->tid);
	fperf_protobuf__end(out, fields);
	if (sample) {
		fields = fperf_protobuf__begin(out, SAMPLE_EXECUTION);
		fperf_protobuf__uint(out, EXECUTION_CPU, sample->cpu);
		fperf_protobuf__uint(out, EXECUTION_MODE, sample->kernel ? MODE_KERNEL : MODE_USER);
		fperf_protobuf__end(out, fields);
	}
	fperf_protobuf__uint(out, SAMPLE_STACK, stack);
	fperf_protobuf__uint(out, SAMPLE_WEIGHT, weight_ns);
	fperf_protobuf__end(out, begin);
	perfetto_packet__end(perfetto, packet);
	return 0;
}

static int sample_take(void *context, const struct fperf_export_sample *sample)
{
	return sample_put(context, sample->timeline, sample->record->time_ns,
			  stack_id(context, sample->stack, FPERF_STATES), sample->weight_ns, sample->record);
}

static int piece_take(void *context, const struct fperf_piece *piece)
{
	if (!fperf_export__waits(piece))
		return 0;
	return sample_put(context, piece->timeline, piece->from_ns,
			  stack_id(context, piece->stack, piece->state), piece->to_ns - piece->from_ns, NULL);
}

/* The packet that begins a stream. */
static void defaults_put(struct stream *stream, const char *source, const char *counter)
{
	struct fperf_buf *out = &stream->perfetto->out;
	size_t packet, begin, fields, inner;

	packet = perfetto_packet__begin(stream->perfetto, stream->perfetto->export->analysis->start_ns,
					stream->sequence);
	fperf_protobuf__uint(out, PERFETTO_PACKET_FLAGS, PERFETTO_FLAG_CLEARED);
	begin = fperf_protobuf__begin(out, PERFETTO_PACKET_DEFAULTS);
	fields = fperf_protobuf__begin(out, DEFAULTS_STACK_SAMPLE);
	fperf_protobuf__text(out, DEFAULTS_SOURCE, source);
	inner = fperf_protobuf__begin(out, DEFAULTS_COUNTER);
	fperf_protobuf__text(out, COUNTER_NAME, counter);
	fperf_protobuf__uint(out, COUNTER_UNIT, UNIT_NANOSECONDS);
	fperf_protobuf__end(out, inner);
	fperf_protobuf__end(out, fields);
	fperf_protobuf__end(out, begin);
	perfetto_packet__end(stream->perfetto, packet);
}

static int stream_put(struct stream *stream)
{
	const struct fperf_export *export = stream->perfetto->export;
	bool waits = stream->sequence == PERFETTO_SEQUENCE_WAITS;
	int failed = !stream->functions || !stream->sources || !stream->paths || !stream->build_ids ||
		     !stream->frames;

	if (!failed)
		defaults_put(stream, waits ? "frameperf.waits" : "frameperf.cpu",
			     waits ? "time off the CPU" : "CPU time");
	for (size_t i = 0; i < export->analysis->model->timeline_count && !failed; i++)
		failed = waits ? fperf_export__pieces(export, i, piece_take, stream)
			       : fperf_export__samples(export, i, sample_take, stream);
	return failed;
}

int fperf_perfetto__stacks(struct perfetto *perfetto)
{
	int failed = 0;

	for (uint32_t sequence = PERFETTO_SEQUENCE_CPU; sequence <= PERFETTO_SEQUENCE_WAITS && !failed;
	     sequence++) {
		struct stream stream = {
			.perfetto = perfetto,
			.sequence = (enum perfetto_sequence)sequence,
			.functions = fperf_strtab__new(),
			.sources = fperf_strtab__new(),
			.paths = fperf_strtab__new(),
			.build_ids = fperf_strtab__new(),
			.frames = fperf_strtab__new(),
		};

		fperf_buf__init(&stream.interned, perfetto->out.limit);
		fperf_buf__init(&stream.ids, perfetto->out.limit);
		failed = stream_put(&stream);
		fperf_strtab__free(stream.functions);
		fperf_strtab__free(stream.sources);
		fperf_strtab__free(stream.paths);
		fperf_strtab__free(stream.build_ids);
		fperf_strtab__free(stream.frames);
		fperf_map__free(&stream.modules);
		fperf_map__free(&stream.stacks);
		fperf_buf__free(&stream.interned);
		fperf_buf__free(&stream.ids);
		free(stream.scratch.functions);
	}
	return failed ? -ENOMEM : 0;
}
