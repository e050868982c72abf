#include "analyze/features.h"

#include "analyze/chain.h"
#include "analyze/freq.h"
#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct collector {
	const struct fperf_analysis *analysis;
	struct fperf_model *model;
	struct fperf_features *features;
	struct fperf_map index;	    /* key to index in features->items */
	struct fperf_strtab *tasks; /* names of tasks, as keys */
	struct fperf_pieces chain;
	double running_ns, clocked_ns, cycles; /* of the frame at hand */
};

static uint64_t key_of(enum fperf_finding_kind kind, uint32_t cause, uint32_t what)
{
	return (uint64_t)kind << 48 | (uint64_t)cause << 40 | what;
}

/* The feature with this key, new or known; NULL when out of memory. `about` is copied for a new one. */
static struct fperf_feature *feature_at(struct collector *collector, uint64_t key,
					const struct fperf_finding *about)
{
	struct fperf_features *features = collector->features;
	struct fperf_feature *feature;
	uint64_t index;

	if (fperf_map__get(&collector->index, key, &index))
		return &features->items[index];
	feature = fperf_vec__push(&features->items, &features->count, &features->capacity);
	if (!feature)
		return NULL;
	feature->key = key;
	feature->about = *about;
	feature->values = calloc(features->frame_count + 1, sizeof(*feature->values));
	if (!feature->values || fperf_map__set(&collector->index, key, features->count - 1))
		return NULL;
	return feature;
}

static int value_add(struct collector *collector, size_t frame, uint64_t key,
		     const struct fperf_finding *about, double value)
{
	struct fperf_feature *feature = feature_at(collector, key, about);

	if (!feature)
		return -ENOMEM;
	feature->values[frame] += (float)value;
	return 0;
}

/* ---- what the critical chain did ---- */

static int task_add(struct collector *collector, size_t frame, enum fperf_cause cause, uint32_t by,
		    const struct fperf_piece *piece, double ns)
{
	struct fperf_thread_ref ref = fperf_model__thread_ref(collector->model, by, piece->from_ns);
	struct fperf_finding about = {
		.kind = FPERF_FINDING_TASK, .cause = cause, .name = ref.name, .module = ""};
	uint32_t task = fperf_strtab__intern(collector->tasks, ref.name, strlen(ref.name));

	return value_add(collector, frame, key_of(about.kind, cause, task), &about, ns);
}

static int place_add(struct collector *collector, size_t frame, enum fperf_cause cause,
		     const struct fperf_symbol *place, double ns)
{
	struct fperf_finding about = {
		.kind = cause == FPERF_CAUSE_CPU ? FPERF_FINDING_FUNCTION : FPERF_FINDING_BLOCKED,
		.cause = cause,
		.name = place->function,
		.module = place->module,
	};

	return value_add(collector, frame, key_of(about.kind, cause, place->function_id), &about, ns);
}

static uint32_t greatest_khz(const struct fperf_freq *clocks, uint16_t cpu)
{
	return clocks && cpu < clocks->count ? clocks->cpus[cpu].max_khz : 0;
}

static int cpu_add(struct collector *collector, size_t frame, const struct fperf_piece *piece, double ns)
{
	const struct fperf_freq *clocks = collector->analysis->clocks;
	struct fperf_finding cpu = {.kind = FPERF_FINDING_CPU, .name = "", .module = "", .cpu = piece->cpu};
	struct fperf_finding cluster = {.kind = FPERF_FINDING_CLUSTER,
					.name = "",
					.module = "",
					.cpu = greatest_khz(clocks, piece->cpu)};
	double cycles;

	collector->running_ns += ns;
	if (clocks && fperf_freq__cycles(clocks, piece->cpu, piece->from_ns, piece->to_ns, &cycles)) {
		collector->clocked_ns += ns;
		collector->cycles += cycles;
	}
	if (value_add(collector, frame, key_of(cpu.kind, 0, piece->cpu), &cpu, ns))
		return -ENOMEM;
	return cluster.cpu ? value_add(collector, frame, key_of(cluster.kind, 0, cluster.cpu), &cluster, ns)
			   : 0;
}

static int piece_add(struct collector *collector, size_t frame, const struct fperf_piece *piece)
{
	const struct fperf_stack_info *stack = &collector->model->stacks[piece->stack];
	const struct fperf_symbol *place = stack->place ? stack->place : stack->leaf;
	double ns = (double)(piece->to_ns - piece->from_ns);
	struct fperf_finding whole = {.kind = FPERF_FINDING_CAUSE, .name = "", .module = ""};
	enum fperf_cause cause;
	uint32_t by;

	if (piece->state >= FPERF_STATES)
		return 0;
	cause = whole.cause = fperf_piece__cause(collector->model, piece);
	if (value_add(collector, frame, key_of(whole.kind, cause, 0), &whole, ns))
		return -ENOMEM;
	if (piece->interval == FPERF_NO_RECORD && piece->cpu_known && cpu_add(collector, frame, piece, ns))
		return -ENOMEM;
	if (cause == FPERF_CAUSE_RUN_QUEUE || cause == FPERF_CAUSE_PREEMPTED) {
		by = fperf_piece__by(collector->model, piece);
		return by ? task_add(collector, frame, cause, by, piece, ns) : 0;
	}
	return place ? place_add(collector, frame, cause, place, ns) : 0;
}

/* Time on each CPU becomes a share; the clock is cycles by time. */
static int running_settle(struct collector *collector, size_t frame)
{
	static const struct fperf_finding clock = {.kind = FPERF_FINDING_FREQUENCY, .name = "", .module = ""};
	struct fperf_features *features = collector->features;

	for (size_t i = 0; i < features->count && collector->running_ns > 0; i++)
		if (features->items[i].about.kind == FPERF_FINDING_CPU ||
		    features->items[i].about.kind == FPERF_FINDING_CLUSTER)
			features->items[i].values[frame] /= (float)collector->running_ns;
	if (!(collector->clocked_ns > 0))
		return 0;
	return value_add(collector, frame, key_of(clock.kind, 0, 0), &clock,
			 collector->cycles * 1e6 / collector->clocked_ns);
}

static int chains_add(struct collector *collector)
{
	struct fperf_features *features = collector->features;

	for (size_t i = 0; i < features->frame_count; i++) {
		collector->running_ns = collector->clocked_ns = collector->cycles = 0;
		if (fperf_chain__build(collector->model, &collector->analysis->frames[features->frames[i]],
				       &collector->chain))
			return -ENOMEM;
		for (size_t k = 0; k < collector->chain.count; k++)
			if (piece_add(collector, i, &collector->chain.items[k]))
				return -ENOMEM;
		if (running_settle(collector, i))
			return -ENOMEM;
	}
	return 0;
}

/* ---- marks ---- */

static int marks_add(struct collector *collector)
{
	const struct fperf_session *session = collector->analysis->session;
	struct fperf_features *features = collector->features;
	const struct fperf_rec_mark *marks;
	size_t count, frame = 0;

	marks = fperf_session__records(session, FPERF_RECORD_MARK, &count);
	for (size_t i = 0; i < count; i++) {
		const struct fperf_rec_marker *marker = fperf_session__marker(session, marks[i].marker);
		struct fperf_finding about = {.kind = FPERF_FINDING_MARK, .module = ""};
		const struct fperf_frame *of;

		if (!marker ||
		    (marker->kind != FPERF_MARKER_MARK && marker->kind != FPERF_MARKER_SCOPE_BEGIN))
			continue;
		while (frame < features->frame_count &&
		       collector->analysis->frames[features->frames[frame]].end_ns <= marks[i].time_ns)
			frame++;
		if (frame == features->frame_count)
			break;
		of = &collector->analysis->frames[features->frames[frame]];
		if (of->start_ns > marks[i].time_ns)
			continue;
		about.name = fperf_session__string(session, marker->name, NULL);
		if (value_add(collector, frame, key_of(about.kind, 0, marker->name), &about, 1))
			return -ENOMEM;
	}
	return 0;
}

/* ---- frames ---- */

/* All slow frames, and as many ordinary ones as the limit allows, evenly. */
static int frames_choose(const struct fperf_analysis *analysis, struct fperf_features *features)
{
	size_t count = analysis->frame_count, step = count / FPERF_FEATURES_FRAMES + 1, ordinary = 0;

	features->frames = calloc(count + 1, sizeof(*features->frames));
	features->slow = calloc(count + 1, sizeof(*features->slow));
	features->time_ns = calloc(count + 1, sizeof(*features->time_ns));
	if (!features->frames || !features->slow || !features->time_ns)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct fperf_frame *frame = &analysis->frames[i];

		if (!frame->slow && ordinary++ % step)
			continue;
		features->frames[features->frame_count] = (uint32_t)i;
		features->slow[features->frame_count] = frame->slow;
		features->time_ns[features->frame_count++] = (double)(frame->end_ns - frame->start_ns);
		features->slow_count += frame->slow;
	}
	return 0;
}

static double in_slow_frames(const struct fperf_features *features, const struct fperf_feature *feature)
{
	double sum = 0;

	for (size_t i = 0; i < features->frame_count; i++)
		sum += features->slow[i] ? (double)feature->values[i] : 0;
	return sum;
}

struct weighed {
	double sum;
	size_t feature;
};

static int compare_weighed(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;

	if (x->sum < y->sum || x->sum > y->sum)
		return x->sum > y->sum ? -1 : 1;
	return (x->feature > y->feature) - (x->feature < y->feature);
}

/* Leaves out what slow frames hardly have: it cannot be what they have more of. */
static int features_limit(struct fperf_features *features)
{
	struct weighed *weighed = calloc(features->count + 1, sizeof(*weighed));
	struct fperf_feature *kept = calloc(FPERF_FEATURES_MAX, sizeof(*kept));
	size_t count = features->count < FPERF_FEATURES_MAX ? features->count : FPERF_FEATURES_MAX;

	if (!weighed || !kept) {
		free(weighed);
		free(kept);
		return -ENOMEM;
	}
	for (size_t i = 0; i < features->count; i++)
		weighed[i] = (struct weighed){in_slow_frames(features, &features->items[i]), i};
	qsort(weighed, features->count, sizeof(*weighed), compare_weighed);
	for (size_t i = 0; i < features->count; i++) {
		if (i < count)
			kept[i] = features->items[weighed[i].feature];
		else
			free(features->items[weighed[i].feature].values);
	}
	free(features->items);
	free(weighed);
	features->items = kept;
	features->count = count;
	features->capacity = FPERF_FEATURES_MAX;
	return 0;
}

int fperf_features__collect(const struct fperf_analysis *analysis, struct fperf_features *features,
			    struct fperf_error *err)
{
	struct collector collector = {
		.analysis = analysis,
		.model = analysis->model,
		.features = features,
		.tasks = fperf_strtab__new(),
	};
	int failed;

	*features = (struct fperf_features){0};
	failed = collector.tasks ? frames_choose(analysis, features) : -ENOMEM;
	if (!failed && features->slow_count)
		failed = chains_add(&collector) || marks_add(&collector) || features_limit(features);
	free(collector.chain.items);
	fperf_map__free(&collector.index);
	fperf_strtab__free(collector.tasks);
	return failed ? fperf_error__no_memory(err, "what frames have in common") : 0;
}

void fperf_features__free(struct fperf_features *features)
{
	for (size_t i = 0; i < features->count; i++)
		free(features->items[i].values);
	free(features->items);
	free(features->frames);
	free(features->slow);
	free(features->time_ns);
	*features = (struct fperf_features){0};
}
