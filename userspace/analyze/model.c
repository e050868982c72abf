#include "analyze/model.h"

#include "analyze/gaps.h"

#include "analyze/timeline.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "frameperf/meta.h"
#include "frameperf/wire.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* When the session does not say how often it sampled. */
#define DEFAULT_PERIOD_NS 1000000

static const void *records(const struct fperf_session *session, enum fperf_record_type type, size_t *count)
{
	return fperf_session__records(session, type, count);
}

/* ---- bounds of the recording ---- */

static void span_note(uint64_t time_ns, uint64_t *first, uint64_t *last)
{
	if (!time_ns)
		return;
	if (time_ns < *first)
		*first = time_ns;
	if (time_ns > *last)
		*last = time_ns;
}

/* From the session's own words, else from its events. */
static void bounds_find(struct fperf_model *model)
{
	const struct fperf_session *session = model->session;
	uint64_t first = UINT64_MAX, last = 0;
	const struct fperf_rec_mark *marks;
	size_t count;

	for (size_t i = 0; i < model->offcpu_count; i++) {
		span_note(model->offcpu[i].out_ns, &first, &last);
		span_note(model->offcpu[i].in_ns, &first, &last);
	}
	if (model->sample_count) {
		span_note(model->samples[0].time_ns, &first, &last);
		span_note(model->samples[model->sample_count - 1].time_ns, &first, &last);
	}
	marks = records(session, FPERF_RECORD_MARK, &count);
	if (count) {
		span_note(marks[0].time_ns, &first, &last);
		span_note(marks[count - 1].time_ns, &first, &last);
	}
	if (first > last)
		first = last = 0;
	model->start_ns = fperf_session__meta_u64(session, FPERF_META_START_NS, first);
	model->end_ns = fperf_session__meta_u64(session, FPERF_META_END_NS, last);
	if (model->end_ns <= model->start_ns) {
		model->start_ns = first;
		model->end_ns = last;
	}
}

/* Were off-CPU intervals recorded, and did all of them arrive? */
static void sched_find(struct fperf_model *model)
{
	const struct fperf_rec_source *sources;
	const struct fperf_rec_loss *losses;
	size_t count;

	model->has_sched = model->offcpu_count > 0;
	sources = records(model->session, FPERF_RECORD_SOURCE, &count);
	for (size_t i = 0; i < count; i++)
		if (sources[i].source == FPERF_SOURCE_SCHED && sources[i].state == FPERF_SOURCE_STATE_ACTIVE)
			model->has_sched = true;
	losses = records(model->session, FPERF_RECORD_LOSS, &count);
	for (size_t i = 0; i < count; i++) {
		bool whole = losses[i].reason != FPERF_LOSS_STACK_SKIPPED &&
			     losses[i].reason != FPERF_LOSS_TIME_ORDER;

		if ((losses[i].source == FPERF_SOURCE_SCHED || losses[i].reason == FPERF_LOSS_CHUNK) &&
		    whole && losses[i].count)
			model->sched_lossy = true;
	}
}

/* ---- threads ---- */

static int timelines_create(struct fperf_model *model, struct fperf_error *err)
{
	const struct fperf_rec_thread *threads;
	size_t count;

	threads = records(model->session, FPERF_RECORD_THREAD, &count);
	model->timelines = calloc(count + 1, sizeof(*model->timelines));
	if (!model->timelines)
		return fperf_error__no_memory(err, "the threads of the session");
	for (size_t i = 0; i < count; i++) {
		const struct fperf_rec_process *process =
			fperf_session__process(model->session, threads[i].process);
		struct fperf_timeline *timeline = &model->timelines[model->timeline_count];
		uint64_t start = threads[i].start_ns;

		if (!threads[i].id || fperf_map__get(&model->by_thread, threads[i].id, NULL))
			continue;
		if (process && process->generation && process->start_ns > start)
			start = process->start_ns;
		timeline->thread = &threads[i];
		timeline->process = threads[i].process;
		timeline->pid = process ? process->pid : 0;
		timeline->target = process && process->target;
		timeline->from_ns = start;
		timeline->to_ns = model->end_ns;
		if (fperf_map__set(&model->by_thread, threads[i].id, model->timeline_count))
			return fperf_error__no_memory(err, "the threads of the session");
		model->timeline_count++;
	}
	return 0;
}

static struct fperf_timeline *timeline_find(const struct fperf_model *model, uint32_t thread)
{
	uint64_t index;

	return fperf_map__get(&model->by_thread, thread, &index) ? &model->timelines[index] : NULL;
}

const struct fperf_timeline *fperf_model__timeline(const struct fperf_model *model, uint32_t thread)
{
	return timeline_find(model, thread);
}

static int compare_lives(const void *a, const void *b)
{
	const struct fperf_timeline *x = *(struct fperf_timeline *const *)a,
				    *y = *(struct fperf_timeline *const *)b;

	if (x->thread->tid != y->thread->tid)
		return x->thread->tid < y->thread->tid ? -1 : 1;
	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* A thread ends where the next one with its number begins (exec, reuse), whatever else is missing. */
static int lives_cut(struct fperf_model *model, struct fperf_error *err)
{
	struct fperf_timeline **sorted = calloc(model->timeline_count + 1, sizeof(struct fperf_timeline *));

	if (!sorted)
		return fperf_error__no_memory(err, "the threads of the session");
	for (size_t i = 0; i < model->timeline_count; i++)
		sorted[i] = &model->timelines[i];
	qsort(sorted, model->timeline_count, sizeof(*sorted), compare_lives);
	for (size_t i = 0; i + 1 < model->timeline_count; i++)
		if (sorted[i]->thread->tid == sorted[i + 1]->thread->tid && sorted[i]->thread->tid &&
		    sorted[i]->from_ns < sorted[i + 1]->from_ns && sorted[i + 1]->from_ns < sorted[i]->to_ns)
			sorted[i]->to_ns = sorted[i + 1]->from_ns;
	free(sorted);
	return 0;
}

/* Records of a thread before its noted start prove that it lived; the last switch-out and the exit end it. */
static int lives_find(struct fperf_model *model, struct fperf_error *err)
{
	for (size_t i = 0; i < model->sample_count; i++) {
		struct fperf_timeline *timeline = timeline_find(model, model->samples[i].thread);

		if (timeline && model->samples[i].time_ns < timeline->from_ns)
			timeline->from_ns = model->samples[i].time_ns;
	}
	for (size_t i = 0; i < model->offcpu_count; i++) {
		const struct fperf_rec_offcpu *record = &model->offcpu[i];
		struct fperf_timeline *timeline = timeline_find(model, record->thread);

		if (timeline && record->out_ns < timeline->from_ns)
			timeline->from_ns = record->out_ns;
	}
	if (lives_cut(model, err))
		return err->code;
	for (size_t i = 0; i < model->task_event_count; i++) {
		const struct fperf_rec_task_event *event = &model->task_events[i];
		struct fperf_timeline *timeline = timeline_find(model, event->thread);

		if (timeline && event->event == FPERF_TASK_EXIT && event->time_ns < timeline->to_ns)
			timeline->to_ns = event->time_ns;
	}
	for (size_t i = 0; i < model->offcpu_count; i++) {
		const struct fperf_rec_offcpu *record = &model->offcpu[i];
		struct fperf_timeline *timeline = timeline_find(model, record->thread);

		if (timeline && record->flags & FPERF_OFFCPU_EXITED && record->out_ns < model->end_ns)
			timeline->to_ns = record->out_ns;
	}
	for (size_t i = 0; i < model->timeline_count; i++) {
		struct fperf_timeline *timeline = &model->timelines[i];

		if (timeline->from_ns < model->start_ns)
			timeline->from_ns = model->start_ns;
		if (timeline->to_ns < timeline->from_ns)
			timeline->to_ns = timeline->from_ns;
	}
	return 0;
}

/* ---- names ---- */

static int renames_build(struct fperf_model *model, struct fperf_error *err)
{
	for (size_t i = 0; i < model->task_event_count; i++) {
		const struct fperf_rec_task_event *event = &model->task_events[i];
		struct fperf_timeline *timeline = timeline_find(model, event->thread);
		uint32_t *slot;

		if (!timeline || event->event != FPERF_TASK_RENAME)
			continue;
		slot = fperf_vec__push(&timeline->renames, &timeline->rename_count,
				       &timeline->rename_capacity);
		if (!slot)
			return fperf_error__no_memory(err, "the names of the threads");
		*slot = (uint32_t)i;
	}
	return 0;
}

static const char *name_at(const struct fperf_model *model, const struct fperf_timeline *timeline,
			   uint64_t time_ns)
{
	size_t low = 0, high = timeline->rename_count;
	uint32_t name = timeline->thread->name;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (model->task_events[timeline->renames[middle]].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low)
		name = model->task_events[timeline->renames[low - 1]].name;
	return fperf_session__string(model->session, name, NULL);
}

struct fperf_thread_ref fperf_model__thread_ref(const struct fperf_model *model, uint32_t thread,
						uint64_t time_ns)
{
	const struct fperf_timeline *timeline = timeline_find(model, thread);
	struct fperf_thread_ref ref = {.name = ""};

	if (!timeline)
		return ref;
	ref.thread = thread;
	ref.pid = timeline->pid;
	ref.tid = timeline->thread->tid;
	ref.name = name_at(model, timeline, time_ns);
	return ref;
}

/* ---- groups ---- */

/* "Worker3" and "Worker12" do the same work: every number becomes '#'. */
static void name_normalise(const char *name, char *normal, size_t size)
{
	size_t used = 0;

	for (; *name && used + 1 < size; name++) {
		bool digit = isdigit((unsigned char)*name);

		if (digit && used && normal[used - 1] == '#')
			continue;
		normal[used++] = digit ? '#' : *name;
	}
	normal[used] = '\0';
}

static int group_add(struct fperf_model *model, size_t group, uint32_t timeline)
{
	uint32_t *slot;

	slot = fperf_vec__push(&model->groups[group].timelines, &model->groups[group].count,
			       &model->groups[group].capacity);
	if (!slot)
		return -1;
	*slot = timeline;
	model->timelines[timeline].group = (uint32_t)group;
	return 0;
}

int fperf_model__group(struct fperf_model *model, uint32_t presenting_thread, struct fperf_error *err)
{
	struct fperf_strtab *names = fperf_strtab__new();
	char normal[160], key[192];
	int failed = 0;

	model->groups = calloc(model->timeline_count + 1, sizeof(*model->groups));
	if (!names || !model->groups)
		failed = fperf_error__no_memory(err, "the groups of threads");
	for (uint32_t i = 0; !failed && i < model->timeline_count; i++) {
		const struct fperf_timeline *timeline = &model->timelines[i];
		uint32_t before = fperf_strtab__count(names), id;
		bool alone = timeline->thread->id == presenting_thread ||
			     timeline->thread->tid == timeline->pid || !timeline->target;

		name_normalise(name_at(model, timeline, UINT64_MAX), normal, sizeof(normal));
		snprintf(key, sizeof(key), "%u %u %s", timeline->process, alone ? timeline->thread->id : 0,
			 normal);
		id = fperf_strtab__intern(names, key, strlen(key));
		if (!id || group_add(model, id - 1, i))
			failed = fperf_error__no_memory(err, "the groups of threads");
		else if (id >= before)
			model->group_count++;
	}
	fperf_strtab__free(names);
	return failed;
}

/* ---- life cycle ---- */

#define HITS_MAX 1000 /* whatever a file says */

uint64_t fperf_model__hits_per_sample(const struct fperf_model *model, uint64_t time_ns)
{
	uint32_t hits = 1;

	for (size_t i = 0; i < model->effort_count && model->efforts[i].time_ns <= time_ns; i++)
		hits = model->efforts[i].hits_per_sample;
	return hits < 1 ? 1 : hits > HITS_MAX ? HITS_MAX : hits;
}

int fperf_model__build(struct fperf_model *model, const struct fperf_session *session,
		       struct fperf_symbolizer *symbolizer, uint64_t earliest_ns, struct fperf_error *err)
{
	const char *event;

	*model = (struct fperf_model){.session = session, .symbolizer = symbolizer};
	model->arch = fperf_arch__from_name(fperf_session__meta(session, FPERF_META_HOST_ARCH));
	model->offcpu = records(session, FPERF_RECORD_OFFCPU, &model->offcpu_count);
	model->samples = records(session, FPERF_RECORD_SAMPLE, &model->sample_count);
	model->task_events = records(session, FPERF_RECORD_TASK_EVENT, &model->task_event_count);
	if (model->offcpu_count >= FPERF_NO_RECORD || model->sample_count >= FPERF_NO_RECORD)
		return fperf_error__set(err, -EFBIG,
					"more than 4 billion events: analyse a shorter recording");
	if (fperf_gaps__fill(model))
		return fperf_error__no_memory(err, "the gaps of a session");
	model->sample_period_ns = fperf_session__meta_u64(session, FPERF_META_SAMPLE_PERIOD_NS, 0);
	if (!model->sample_period_ns || model->sample_period_ns > 1000000000)
		model->sample_period_ns = DEFAULT_PERIOD_NS;
	event = fperf_session__meta(session, FPERF_META_SAMPLE_EVENT);
	model->period_is_ns = event && !strcmp(event, "cpu-clock");
	model->efforts = records(session, FPERF_RECORD_EFFORT, &model->effort_count);
	if (!fperf_vec__push(&model->stacks, &model->stack_count, &model->stack_capacity)) /* index 0 */
		return fperf_error__no_memory(err, "the stacks of the session");
	bounds_find(model);
	if (model->start_ns < earliest_ns)
		model->start_ns = earliest_ns;
	sched_find(model);
	if (timelines_create(model, err) || lives_find(model, err) || renames_build(model, err))
		return err->code;
	return fperf_timelines__build(model, err);
}

void fperf_model__free(struct fperf_model *model)
{
	for (size_t i = 0; i < model->timeline_count; i++) {
		free(model->timelines[i].intervals);
		free(model->timelines[i].samples);
		free(model->timelines[i].sample_cpu_ns);
		free(model->timelines[i].renames);
	}
	for (size_t i = 0; model->groups && i < model->timeline_count; i++)
		free(model->groups[i].timelines);
	free(model->groups);
	free(model->timelines);
	free(model->stacks);
	free(model->own_functions);
	free(model->facts);
	free(model->own_offcpu);
	fperf_map__free(&model->by_thread);
	fperf_map__free(&model->stack_index);
	*model = (struct fperf_model){0};
}
