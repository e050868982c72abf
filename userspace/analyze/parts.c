#include "analyze/parts.h"

#include "analyze/chain.h"
#include "analyze/match.h"
#include "base/vec.h"
#include "frameperf/meta.h"

#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 512

/* Frames whose chains make up the mean; of longer runs every so many is taken. */
#define MEAN_FRAMES 20000

struct part_key {
	uint32_t cause, thread, function, module, by;
};

struct builder {
	struct fperf_model *model;
	struct fperf_strtab *names;
	struct fperf_digest *digest;
	const char *exe;
	struct fperf_strtab *keys; /* part_key to its place in digest->parts plus 1 */
	size_t part_capacity;
	struct fperf_map places; /* function id to function << 32 | module, of names */
	struct fperf_pieces chain;
};

uint32_t fperf_parts__thread_name(struct fperf_strtab *names, const char *thread)
{
	char name[NAME_BYTES];

	fperf_match__thread(thread, name, sizeof(name));
	return fperf_strtab__intern(names, name, strlen(name));
}

void fperf_parts__place_name(struct fperf_strtab *names, const char *function, const char *module,
			     const char *exe, uint32_t *function_id, uint32_t *module_id)
{
	char name[NAME_BYTES];

	fperf_match__function(function, module, name, sizeof(name));
	*function_id = fperf_strtab__intern(names, name, strlen(name));
	fperf_match__module(module, exe, name, sizeof(name));
	*module_id = fperf_strtab__intern(names, name, strlen(name));
}

const char *fperf_parts__program(const struct fperf_analysis *analysis)
{
	const struct fperf_session *session = analysis->session;
	const struct fperf_rec_thread *thread = NULL;
	const struct fperf_rec_process *process;
	const char *path = fperf_session__meta(session, FPERF_META_TARGET_EXE), *exe;

	if (analysis->frame_count)
		thread = fperf_session__thread(session, analysis->frames[analysis->frame_count / 2].thread);
	process = thread ? fperf_session__process(session, thread->process) : NULL;
	exe = process ? fperf_session__string(session, process->exe, NULL) : "";
	return *exe ? exe : path ? path : "";
}

static int place_set(struct builder *builder, const struct fperf_symbol *symbol, struct part_key *key)
{
	uint64_t both;

	if (!symbol)
		return 0;
	if (!fperf_map__get(&builder->places, symbol->function_id, &both)) {
		fperf_parts__place_name(builder->names, symbol->function, symbol->module, builder->exe,
					&key->function, &key->module);
		both = (uint64_t)key->function << 32 | key->module;
		if (fperf_map__set(&builder->places, symbol->function_id, both))
			return -1;
	}
	key->function = (uint32_t)(both >> 32);
	key->module = (uint32_t)both;
	return 0;
}

static int key_make(struct builder *builder, const struct fperf_piece *piece, struct part_key *key)
{
	struct fperf_model *model = builder->model;
	const struct fperf_stack_info *stack = &model->stacks[piece->stack];
	uint32_t by = fperf_piece__by(model, piece);
	bool core;

	*key = (struct part_key){.cause = FPERF_CAUSE_UNKNOWN};
	if (piece->state < FPERF_STATES)
		key->cause = fperf_piece__cause(model, piece);
	core = key->cause == FPERF_CAUSE_RUN_QUEUE || key->cause == FPERF_CAUSE_PREEMPTED;
	key->thread = fperf_parts__thread_name(
		builder->names,
		fperf_model__thread_ref(model, piece->timeline->thread->id, piece->from_ns).name);
	if (by)
		key->by = fperf_parts__thread_name(builder->names,
						   fperf_model__thread_ref(model, by, piece->from_ns).name);
	return core ? 0 : place_set(builder, stack->place ? stack->place : stack->leaf, key);
}

static int piece_add(struct builder *builder, const struct fperf_piece *piece, enum fperf_profile profile,
		     double weight)
{
	struct fperf_digest *digest = builder->digest;
	struct fperf_part *part;
	struct part_key key;
	uint32_t id;

	if (key_make(builder, piece, &key))
		return -1;
	id = fperf_strtab__intern(builder->keys, &key, sizeof(key));
	if (!id)
		return -1;
	if (id > digest->part_count) {
		part = fperf_vec__push(&digest->parts, &digest->part_count, &builder->part_capacity);
		if (!part)
			return -1;
		part->cause = (enum fperf_cause)key.cause;
		part->thread = key.thread;
		part->function = key.function;
		part->module = key.module;
		part->by = key.by;
	}
	digest->parts[id - 1].ns[profile] += (double)(piece->to_ns - piece->from_ns) * weight;
	return 0;
}

static int frame_add(struct builder *builder, const struct fperf_frame *frame, enum fperf_profile profile,
		     double weight)
{
	if (fperf_chain__build(builder->model, frame, &builder->chain))
		return -1;
	for (size_t i = 0; i < builder->chain.count; i++)
		if (piece_add(builder, &builder->chain.items[i], profile, weight))
			return -1;
	return 0;
}

/* The parts add up to the mean of the frames that were taken; stretched by next to nothing, to the figure. */
static void profile_scale(struct fperf_digest *digest, enum fperf_profile profile, double figure)
{
	double sum = 0;

	for (size_t i = 0; i < digest->part_count; i++)
		sum += digest->parts[i].ns[profile];
	for (size_t i = 0; i < digest->part_count && sum > 0; i++)
		digest->parts[i].ns[profile] *= figure / sum;
	digest->profile_ns[profile] = sum > 0 ? figure : 0;
}

static int mean_build(struct builder *builder, const struct fperf_analysis *analysis)
{
	size_t step = analysis->frame_count / MEAN_FRAMES + 1,
	       taken = (analysis->frame_count + step - 1) / step;

	for (size_t i = 0; i < analysis->frame_count; i += step)
		if (frame_add(builder, &analysis->frames[i], FPERF_PROFILE_MEAN, 1.0 / (double)taken))
			return -1;
	profile_scale(builder->digest, FPERF_PROFILE_MEAN, builder->digest->value[FPERF_METRIC_MEAN]);
	return 0;
}

struct ranked_frame {
	uint64_t time_ns;
	size_t frame;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked_frame *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

static const struct window {
	enum fperf_profile profile;
	enum fperf_metric metric;
	size_t permille; /* the percentile */
	size_t half;	 /* permille of all frames on each side of it */
} windows[] = {
	{FPERF_PROFILE_P50, FPERF_METRIC_P50, 500, 20},
	{FPERF_PROFILE_P95, FPERF_METRIC_P95, 950, 10},
	{FPERF_PROFILE_P99, FPERF_METRIC_P99, 990, 4},
};

/* Frames ranked next to a percentile: as many above as below. */
static int window_build(struct builder *builder, const struct fperf_analysis *analysis,
			const struct ranked_frame *ranked, const struct window *window)
{
	size_t count = analysis->frame_count;
	size_t middle = (count * window->permille + 999) / 1000, half = count * window->half / 1000;

	middle -= middle > 0;
	half = half < 2 ? 2 : half > 200 ? 200 : half;
	if (half > middle)
		half = middle;
	if (half > count - 1 - middle)
		half = count - 1 - middle;
	for (size_t i = middle - half; i <= middle + half; i++)
		if (frame_add(builder, &analysis->frames[ranked[i].frame], window->profile,
			      1.0 / (double)(2 * half + 1)))
			return -1;
	profile_scale(builder->digest, window->profile, builder->digest->value[window->metric]);
	return 0;
}

static int percentiles_build(struct builder *builder, const struct fperf_analysis *analysis)
{
	struct ranked_frame *ranked = calloc(analysis->frame_count + 1, sizeof(*ranked));
	int failed = ranked ? 0 : -1;

	for (size_t i = 0; ranked && i < analysis->frame_count; i++)
		ranked[i] = (struct ranked_frame){
			.time_ns = analysis->frames[i].end_ns - analysis->frames[i].start_ns, .frame = i};
	if (ranked)
		qsort(ranked, analysis->frame_count, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]) && !failed; i++)
		failed = window_build(builder, analysis, ranked, &windows[i]);
	free(ranked);
	return failed;
}

int fperf_parts__build(struct fperf_model *model, const struct fperf_analysis *analysis,
		       struct fperf_strtab *names, struct fperf_digest *digest, struct fperf_error *err)
{
	struct builder builder = {
		.model = model,
		.names = names,
		.digest = digest,
		.exe = fperf_parts__program(analysis),
		.keys = fperf_strtab__new(),
	};
	int failed = builder.keys ? 0 : -1;

	if (!failed && analysis->frame_count)
		failed = mean_build(&builder, analysis) || percentiles_build(&builder, analysis);
	free(builder.chain.items);
	fperf_map__free(&builder.places);
	fperf_strtab__free(builder.keys);
	return failed ? fperf_error__no_memory(err, "the parts of the frame time") : 0;
}
