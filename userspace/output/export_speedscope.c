/* Speedscope (github.com/jlfwong/speedscope, file-format-spec.ts): one sampled profile for each thread, in
 * nanoseconds. Neighbouring samples of the same stack are one. */
#include "output/export.h"

#include "base/map.h"
#include "base/vec.h"
#include "output/json_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* What speedscope calls a frame: a function, with where it is. */
struct shared_function {
	const char *function, *file;
};

struct run {
	uint32_t stack;
	uint8_t state;
	uint64_t ns;
};

struct speedscope {
	const struct fperf_export *export;
	struct fperf_json json;
	struct shared_function *shared;
	size_t shared_count, shared_capacity;
	struct fperf_map index; /* function id << 8 to index; words of ours are below 256 */
	struct run *runs;	/* of the thread at hand */
	size_t run_count, run_capacity;
	struct fperf_export_stack stack;
	size_t profiles, presenting, active; /* profile of the thread that presents most frames */
};

static int64_t shared_add(struct speedscope *scope, uint64_t key, const char *function, const char *file)
{
	struct shared_function *entry;
	uint64_t index;

	if (fperf_map__get(&scope->index, key, &index))
		return (int64_t)index;
	entry = fperf_vec__push(&scope->shared, &scope->shared_count, &scope->shared_capacity);
	if (!entry)
		return -ENOMEM;
	*entry = (struct shared_function){.function = function, .file = file};
	if (fperf_map__set(&scope->index, key, scope->shared_count - 1))
		return -ENOMEM;
	return (int64_t)scope->shared_count - 1;
}

static int64_t shared_symbol(struct speedscope *scope, const struct fperf_symbol *symbol)
{
	return shared_add(scope, (uint64_t)symbol->function_id << 8, symbol->function, symbol->file);
}

/* ---- what a thread did ---- */

static int run_add(struct speedscope *scope, uint32_t stack, uint8_t state, uint64_t ns)
{
	struct run *run = scope->run_count ? &scope->runs[scope->run_count - 1] : NULL;

	if (!ns)
		return 0;
	if (!run || run->stack != stack || run->state != state)
		run = fperf_vec__push(&scope->runs, &scope->run_count, &scope->run_capacity);
	if (!run)
		return -ENOMEM;
	run->stack = stack;
	run->state = state;
	run->ns += ns;
	return 0;
}

static int sample_take(void *context, const struct fperf_export_sample *sample)
{
	return run_add(context, sample->stack, FPERF_STATE_USER, sample->weight_ns);
}

static int piece_take(void *context, const struct fperf_piece *piece)
{
	if (!fperf_export__waits(piece))
		return 0;
	return run_add(context, piece->stack, piece->state, piece->to_ns - piece->from_ns);
}

/* ---- writing ---- */

static const char *const state_words[FPERF_STATES] = {
	[FPERF_STATE_RUNNABLE] = "[runnable]", [FPERF_STATE_PREEMPTED] = "[preempted]",
	[FPERF_STATE_LOCK] = "[lock]",	       [FPERF_STATE_IO] = "[io]",
	[FPERF_STATE_FAULT] = "[fault]",       [FPERF_STATE_GPU] = "[gpu]",
	[FPERF_STATE_SLEEP] = "[sleep]",       [FPERF_STATE_EVENT] = "[event]",
	[FPERF_STATE_OTHER] = "[other]",
};

static int stack_put(struct speedscope *scope, const struct run *run)
{
	int64_t index = 0;

	if (fperf_export__stack(scope->export, run->stack, &scope->stack))
		return -ENOMEM;
	fperf_json__begin(&scope->json, '[');
	if (!scope->stack.count) {
		index = shared_add(scope, FPERF_STATES, FPERF_EXPORT_NO_STACK, "");
		fperf_json__int(&scope->json, index);
	}
	for (size_t i = scope->stack.count; i > 0 && index >= 0; i--) {
		index = shared_symbol(scope, scope->stack.functions[i - 1].symbol);
		fperf_json__int(&scope->json, index);
	}
	if (index >= 0 && run->state < FPERF_STATES && state_words[run->state]) {
		index = shared_add(scope, run->state, state_words[run->state], "");
		fperf_json__int(&scope->json, index);
	}
	fperf_json__end(&scope->json, ']');
	return index < 0 ? -ENOMEM : 0;
}

static int profile_put(struct speedscope *scope, const char *name)
{
	struct fperf_json *json = &scope->json;
	uint64_t sum = 0;

	fperf_json__begin(json, '{');
	fperf_json__key_text(json, "type", "sampled");
	fperf_json__key_text(json, "name", name);
	fperf_json__key_text(json, "unit", "nanoseconds");
	for (size_t i = 0; i < scope->run_count; i++)
		sum += scope->runs[i].ns;
	fperf_json__key_int(json, "startValue", 0);
	fperf_json__key_int(json, "endValue", (int64_t)sum);
	fperf_json__key_begin(json, "samples", '[');
	for (size_t i = 0; i < scope->run_count; i++) {
		if (stack_put(scope, &scope->runs[i]))
			return -ENOMEM;
	}
	fperf_json__end(json, ']');
	fperf_json__key_begin(json, "weights", '[');
	for (size_t i = 0; i < scope->run_count; i++)
		fperf_json__int(json, (int64_t)scope->runs[i].ns);
	fperf_json__end(json, ']');
	fperf_json__end(json, '}');
	scope->run_count = 0;
	scope->profiles++;
	return 0;
}

static int thread_put(struct speedscope *scope, size_t index)
{
	const struct fperf_export *export = scope->export;
	const struct fperf_timeline *timeline = &export->analysis->model->timelines[index];
	const struct fperf_analysis *analysis = export->analysis;
	size_t presented = 0;
	char *name;
	int ret;

	ret = export->options.off_cpu ? fperf_export__pieces(export, index, piece_take, scope)
				      : fperf_export__samples(export, index, sample_take, scope);
	if (ret)
		return ret;
	if (!scope->run_count)
		return 0;
	for (size_t i = 0; i < analysis->frame_count; i++)
		presented += analysis->frames[i].thread == timeline->thread->id;
	if (presented > scope->presenting) {
		scope->presenting = presented;
		scope->active = scope->profiles;
	}
	if (asprintf(&name, "%s (%" PRIu32 ")", fperf_export__thread_name(export, timeline),
		     timeline->thread->tid) < 0)
		return -ENOMEM;
	ret = profile_put(scope, name);
	free(name);
	return ret;
}

static void shared_put(struct speedscope *scope)
{
	struct fperf_json *json = &scope->json;

	fperf_json__key_begin(json, "shared", '{');
	fperf_json__key_begin(json, "frames", '[');
	for (size_t i = 0; i < scope->shared_count; i++) {
		fperf_json__begin(json, '{');
		fperf_json__key_text(json, "name", scope->shared[i].function);
		if (*scope->shared[i].file)
			fperf_json__key_text(json, "file", scope->shared[i].file);
		fperf_json__end(json, '}');
	}
	fperf_json__end(json, ']');
	fperf_json__end(json, '}');
}

static int all_put(struct speedscope *scope)
{
	struct fperf_json *json = &scope->json;
	int failed = 0;

	fperf_json__begin(json, '{');
	fperf_json__key_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	fperf_json__key_text(json, "exporter", "frameperf");
	fperf_json__key_begin(json, "profiles", '[');
	for (size_t i = 0; i < scope->export->analysis->model->timeline_count && !failed; i++)
		failed = thread_put(scope, i);
	if (!scope->profiles && !failed) /* it refuses a file without any */
		failed = profile_put(scope, "no samples");
	if (failed)
		return -ENOMEM;
	fperf_json__end(json, ']');
	fperf_json__key_int(json, "activeProfileIndex", (int64_t)scope->active);
	shared_put(scope);
	fperf_json__end(json, '}');
	fputc('\n', json->stream);
	return 0;
}

static int speedscope_write(const struct fperf_export *export, FILE *stream, struct fperf_error *err)
{
	struct speedscope scope = {.export = export, .json = {.stream = stream}};
	int failed = all_put(&scope);

	fperf_map__free(&scope.index);
	free(scope.shared);
	free(scope.runs);
	free(scope.stack.functions);
	if (failed)
		return fperf_error__no_memory(err, "the speedscope profiles");
	return fperf_export__stream_end(stream, "the speedscope profiles", err);
}

const struct fperf_export_ops fperf_export_speedscope = {
	.name = "speedscope", .extension = ".speedscope.json", .text = true, .write = speedscope_write};
