/* Firefox Profiler (profiler.firefox.com): a processed profile as JSON. Each piece of a thread's time is a
 * sample with its length as weight, so that a thread's samples fill its time: running with its stack, waiting
 * with the kind of wait as leaf and category. */
#include "output/export_firefox.h"

#include "base/vec.h"
#include "frameperf/meta.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct sample {
	uint64_t from_ns, ns, cpu_ns; /* cpu_ns: since the sample before */
	int32_t stack;
};

struct firefox {
	const struct fperf_export *export;
	struct fperf_json json;
	struct fperf_firefox_tables tables;
	struct sample *samples; /* of the thread at hand */
	size_t sample_count, sample_capacity;
	uint64_t cpu_ns;	     /* since the last sample */
	struct fperf_map pids, tids; /* how often a number was met; (pid, tid) must differ in the file */
	struct fperf_map suffixes;   /* process to its count among those of its pid */
	int64_t threads, presenting; /* presenting: index of the thread that presents; -1: none */
	size_t presented;
};

/* ---- samples ---- */

static int sample_add(struct firefox *firefox, uint64_t from_ns, uint64_t ns, int32_t stack)
{
	struct sample *sample =
		fperf_vec__push(&firefox->samples, &firefox->sample_count, &firefox->sample_capacity);

	if (!sample)
		return -ENOMEM;
	*sample = (struct sample){.from_ns = from_ns, .ns = ns, .cpu_ns = firefox->cpu_ns, .stack = stack};
	firefox->cpu_ns = 0;
	return 0;
}

static int piece_take(void *context, const struct fperf_piece *piece)
{
	struct firefox *firefox = context;
	uint64_t ns = piece->to_ns - piece->from_ns;
	int32_t stack = FPERF_FIREFOX_NONE;
	bool known = piece->state < FPERF_STATES;

	if (known && fperf_firefox_tables__stack(&firefox->tables, piece->stack, piece->state, &stack))
		return -ENOMEM;
	if (sample_add(firefox, piece->from_ns, known ? ns : 0, stack))
		return -ENOMEM;
	if (piece->state == FPERF_STATE_USER || piece->state == FPERF_STATE_KERNEL)
		firefox->cpu_ns = ns;
	return 0;
}

static void samples_put(struct firefox *firefox)
{
	struct fperf_json *json = &firefox->json;
	uint64_t start = firefox->export->analysis->start_ns;

	fperf_json__key_begin(json, "samples", '{');
	fperf_json__key_begin(json, "stack", '[');
	for (size_t i = 0; i < firefox->sample_count; i++) {
		if (firefox->samples[i].stack == FPERF_FIREFOX_NONE)
			fperf_json__null(json);
		else
			fperf_json__int(json, firefox->samples[i].stack);
	}
	fperf_json__end(json, ']');
	fperf_json__key_begin(json, "time", '[');
	for (size_t i = 0; i < firefox->sample_count; i++)
		fperf_json__ms(json,
			       firefox->samples[i].from_ns > start ? firefox->samples[i].from_ns - start : 0);
	fperf_json__end(json, ']');
	fperf_json__key_begin(json, "weight", '[');
	for (size_t i = 0; i < firefox->sample_count; i++)
		fperf_json__ms(json, firefox->samples[i].ns);
	fperf_json__end(json, ']');
	fperf_json__key_text(json, "weightType", "tracing-ms");
	fperf_json__key_begin(json, "threadCPUDelta", '[');
	for (size_t i = 0; i < firefox->sample_count; i++)
		fperf_json__int(json, (int64_t)firefox->samples[i].cpu_ns);
	fperf_json__end(json, ']');
	fperf_json__key_int(json, "length", (int64_t)firefox->sample_count);
	fperf_json__end(json, '}');
}

/* ---- threads ---- */

/* How often the key was counted before, and counts it. */
static int count_up(struct fperf_map *map, uint64_t key, uint64_t *before)
{
	*before = 0;
	fperf_map__get(map, key, before);
	return fperf_map__set(map, key, *before + 1);
}

/* A process keeps its number; another one of the same number, after an exec or a reuse, gets a suffix. */
static int identity_put(struct firefox *firefox, const struct fperf_timeline *timeline)
{
	uint64_t pid_count, tid_count;
	char text[48];

	if (!fperf_map__get(&firefox->suffixes, timeline->process, &pid_count) &&
	    (count_up(&firefox->pids, timeline->pid, &pid_count) ||
	     fperf_map__set(&firefox->suffixes, timeline->process, pid_count)))
		return -ENOMEM;
	if (count_up(&firefox->tids, timeline->thread->tid, &tid_count))
		return -ENOMEM;
	snprintf(text, sizeof(text), pid_count ? "%" PRIu32 ".%" PRIu64 : "%" PRIu32, timeline->pid,
		 pid_count);
	fperf_json__key_text(&firefox->json, "pid", text);
	snprintf(text, sizeof(text), "%" PRIu32 ".%" PRIu64, timeline->thread->tid, tid_count);
	if (tid_count)
		fperf_json__key_text(&firefox->json, "tid", text);
	else
		fperf_json__key_int(&firefox->json, "tid", timeline->thread->tid);
	return 0;
}

static void life_put(struct firefox *firefox, const struct fperf_timeline *timeline)
{
	const struct fperf_session *session = firefox->export->session;
	const struct fperf_rec_process *process = fperf_session__process(session, timeline->process);
	uint64_t start = firefox->export->analysis->start_ns;
	struct fperf_json *json = &firefox->json;

	fperf_json__key_text(json, "processType", "default");
	fperf_json__key_text(json, "processName",
			     process ? fperf_session__string(session, process->name, NULL) : "");
	fperf_json__key_int(json, "processStartupTime", 0);
	fperf_json__key_null(json, "processShutdownTime");
	fperf_json__key(json, "registerTime");
	fperf_json__ms(json, timeline->from_ns > start ? timeline->from_ns - start : 0);
	fperf_json__key(json, "unregisterTime");
	fperf_json__ms(json, timeline->to_ns > start ? timeline->to_ns - start : 0);
	fperf_json__key_begin(json, "pausedRanges", '[');
	fperf_json__end(json, ']');
	fperf_json__key_text(json, "name", fperf_export__thread_name(firefox->export, timeline));
	fperf_json__key_bool(json, "isMainThread", timeline->thread->tid == timeline->pid);
	fperf_json__key_bool(json, "showMarkersInTimeline", true);
}

static int thread_put(struct firefox *firefox, size_t index, struct fperf_error *err)
{
	const struct fperf_analysis *analysis = firefox->export->analysis;
	const struct fperf_timeline *timeline = &analysis->model->timelines[index];
	size_t presented = 0;
	int ret;

	firefox->sample_count = 0;
	firefox->cpu_ns = 0;
	ret = fperf_export__pieces(firefox->export, index, piece_take, firefox);
	if (!ret && firefox->cpu_ns) /* the CPU time of the last piece */
		ret = sample_add(firefox, timeline->to_ns, 0, FPERF_FIREFOX_NONE);
	if (ret)
		return fperf_error__no_memory(err, "the Firefox profile");
	for (size_t i = 0; i < analysis->frame_count; i++)
		presented += analysis->frames[i].thread == timeline->thread->id;
	if (presented > firefox->presented) {
		firefox->presented = presented;
		firefox->presenting = firefox->threads;
	}
	fperf_json__begin(&firefox->json, '{');
	if (identity_put(firefox, timeline))
		return fperf_error__no_memory(err, "the Firefox profile");
	life_put(firefox, timeline);
	samples_put(firefox);
	if (fperf_firefox__markers(&firefox->tables, &firefox->json, timeline, err))
		return err->code;
	fperf_json__end(&firefox->json, '}');
	firefox->threads++;
	return 0;
}

/* ---- the whole ---- */

static void units_put(struct fperf_json *json)
{
	fperf_json__key_begin(json, "sampleUnits", '{');
	fperf_json__key_text(json, "time", "ms");
	fperf_json__key_text(json, "eventDelay", "ms");
	fperf_json__key_text(json, "threadCPUDelta", "ns");
	fperf_json__end(json, '}');
}

static void meta_put(struct firefox *firefox)
{
	const struct fperf_session *session = firefox->export->session;
	const struct fperf_analysis *analysis = firefox->export->analysis;
	const char *name = fperf_session__meta(session, FPERF_META_TARGET_NAME);
	const char *cpu = fperf_session__meta(session, FPERF_META_HOST_MODEL);
	const char *kernel = fperf_session__meta(session, FPERF_META_HOST_KERNEL);
	uint64_t offset = fperf_session__meta_u64(session, FPERF_META_REALTIME_OFFSET, 0);
	struct fperf_json *json = &firefox->json;

	fperf_json__key_begin(json, "meta", '{');
	fperf_json__key_int(json, "version", 36);
	fperf_json__key_int(json, "preprocessedProfileVersion", FPERF_FIREFOX_VERSION);
	fperf_json__key(json, "interval");
	fperf_json__ms(json, analysis->model->sample_period_ns);
	fperf_json__key(json, "startTime");
	fperf_json__ms(json, analysis->start_ns + offset);
	fperf_json__key_int(json, "startTimeAsClockMonotonicNanosecondsSinceBoot",
			    (int64_t)analysis->start_ns);
	fperf_json__key_int(json, "processType", 0);
	fperf_json__key_text(json, "product", name && *name ? name : "frameperf");
	fperf_json__key_text(json, "importedFrom", "frameperf");
	fperf_json__key_int(json, "stackwalk", 1);
	fperf_json__key_bool(json, "symbolicated", true);
	fperf_json__key_bool(json, "symbolicationNotSupported", true);
	fperf_json__key_bool(json, "usesOnlyOneStackType", true);
	fperf_json__key_bool(json, "sourceCodeIsNotOnSearchfox", true);
	fperf_json__key_bool(json, "keepProfileThreadOrder", true);
	fperf_json__key_int(json, "logicalCPUs",
			    (int64_t)fperf_session__meta_u64(session, FPERF_META_HOST_CPUS, 0));
	fperf_json__key_text(json, "CPUName", cpu ? cpu : "");
	fperf_json__key_text(json, "oscpu", kernel ? kernel : "");
	fperf_json__key_text(json, "platform", "Linux");
	units_put(json);
	fperf_firefox__categories(json);
	fperf_firefox__marker_schema(json);
	if (firefox->presenting >= 0) {
		fperf_json__key_begin(json, "initialSelectedThreads", '[');
		fperf_json__int(json, firefox->presenting);
		fperf_json__end(json, ']');
	}
	fperf_json__end(json, '}');
}

static int all_put(struct firefox *firefox, struct fperf_error *err)
{
	const struct fperf_export *export = firefox->export;
	struct fperf_json *json = &firefox->json;

	if (fperf_firefox_tables__init(&firefox->tables, export))
		return fperf_error__no_memory(err, "the Firefox profile");
	fperf_json__begin(json, '{');
	fperf_json__key_begin(json, "threads", '[');
	for (size_t i = 0; i < export->analysis->model->timeline_count; i++) {
		if (export->threads[i] && thread_put(firefox, i, err))
			return err->code;
	}
	fperf_json__end(json, ']');
	meta_put(firefox);
	fperf_firefox_tables__put(&firefox->tables, json);
	fperf_json__end(json, '}');
	fputc('\n', json->stream);
	return 0;
}

static int firefox_write(const struct fperf_export *export, FILE *stream, struct fperf_error *err)
{
	struct firefox firefox = {.export = export, .json = {.stream = stream}, .presenting = -1};
	int failed = all_put(&firefox, err);

	fperf_firefox_tables__free(&firefox.tables);
	fperf_map__free(&firefox.pids);
	fperf_map__free(&firefox.tids);
	fperf_map__free(&firefox.suffixes);
	free(firefox.samples);
	return failed ? err->code : fperf_export__stream_end(stream, "the Firefox profile", err);
}

const struct fperf_export_ops fperf_export_firefox = {
	.name = "firefox", .extension = ".firefox.json", .text = true, .write = firefox_write};
