#include "analyze/incident.h"

#include "analyze/timeline.h"
#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fperf_place place_of(const struct fperf_symbol *symbol)
{
	return symbol ? (struct fperf_place){symbol->function, symbol->module} : (struct fperf_place){0};
}

static void trigger_fill(const struct fperf_analysis *analysis, const struct fperf_rec_trigger *record,
			 struct fperf_incident_trigger *trigger)
{
	trigger->record = record;
	trigger->rule = fperf_session__string(analysis->session, record->rule, NULL);
	trigger->reason = fperf_session__string(analysis->session, record->reason, NULL);
	if (record->thread)
		trigger->thread = fperf_model__thread_ref(analysis->model, record->thread, record->time_ns);
}

/* The last that began a session is this one's: earlier ones are still in memory when they are recent. */
static int triggers_take(const struct fperf_analysis *analysis, struct fperf_incident *incident,
			 struct fperf_error *err)
{
	size_t count, capacity = 0, first;
	const struct fperf_rec_trigger *records =
		fperf_session__records(analysis->session, FPERF_RECORD_TRIGGER, &count);

	for (first = count; first > 0 && !records[first - 1].first;)
		first--;
	if (!first)
		return 0;
	trigger_fill(analysis, &records[first - 1], &incident->trigger);
	for (size_t i = first; i < count; i++) {
		struct fperf_incident_trigger *further =
			fperf_vec__push(&incident->further, &incident->further_count, &capacity);

		if (!further)
			return fperf_error__no_memory(err, "the triggers of a session");
		trigger_fill(analysis, &records[i], further);
	}
	return 0;
}

/* The interval of a thread that holds the moment; false while it ran. */
static bool interval_at(const struct fperf_timeline *timeline, uint64_t time_ns, size_t *index)
{
	size_t low = 0, high = timeline->interval_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (timeline->intervals[middle].in_ns > time_ns)
			high = middle;
		else
			low = middle + 1;
	}
	*index = low;
	return low < timeline->interval_count && timeline->intervals[low].out_ns <= time_ns;
}

/* What the whole recording tells of the wait beyond the moment: its kind, and how it ended. */
static void wait_fill(const struct fperf_analysis *analysis, const struct fperf_timeline *timeline,
		      struct fperf_incident_thread *thread)
{
	const struct fperf_rec_offcpu *record;
	size_t at;

	if (!interval_at(timeline, thread->record->time_ns, &at))
		return;
	record = &analysis->model->offcpu[timeline->intervals[at].record];
	if (thread->record->state == FPERF_SNAPSHOT_WAITS)
		thread->state = fperf_timeline__interval_state(analysis->model, timeline, at);
	if (record->waker && !(record->flags & 16u /* woken from an interrupt */))
		thread->waker = fperf_model__thread_ref(analysis->model, record->waker, record->in_ns);
}

static void thread_fill(const struct fperf_analysis *analysis, const struct fperf_rec_snapshot *record,
			struct fperf_incident_thread *thread)
{
	static const enum fperf_state states[] = {[FPERF_SNAPSHOT_RUNS] = FPERF_STATE_USER,
						  [FPERF_SNAPSHOT_READY] = FPERF_STATE_RUNNABLE,
						  [FPERF_SNAPSHOT_WAITS] = FPERF_STATE_OTHER};
	const struct fperf_timeline *timeline = fperf_model__timeline(analysis->model, record->thread);
	const struct fperf_stack_info *stack;

	thread->record = record;
	thread->thread = fperf_model__thread_ref(analysis->model, record->thread, record->time_ns);
	thread->state = record->state < sizeof(states) / sizeof(states[0]) ? states[record->state]
									   : FPERF_STATE_OTHER;
	if (timeline) {
		/* may move them */
		uint32_t index = fperf_model__stack(analysis->model, record->stack, timeline->process);

		stack = &analysis->model->stacks[index];
		thread->place = place_of(stack->place);
		thread->leaf = place_of(stack->leaf);
		wait_fill(analysis, timeline, thread);
	}
	if (record->owner) {
		thread->owner = fperf_model__thread_ref(analysis->model, record->owner, record->time_ns);
		if (thread->state == FPERF_STATE_OTHER)
			thread->state = FPERF_STATE_LOCK;
	}
	if (record->state != FPERF_SNAPSHOT_RUNS && record->since_ns && record->since_ns < record->time_ns)
		thread->waited_ns = record->time_ns - record->since_ns;
}

static int threads_take(const struct fperf_analysis *analysis, struct fperf_incident *incident,
			struct fperf_error *err)
{
	size_t count, first, capacity = 0;
	const struct fperf_rec_snapshot *records =
		fperf_session__records(analysis->session, FPERF_RECORD_SNAPSHOT, &count);

	for (first = count; first > 0 && records[first - 1].time_ns == records[count - 1].time_ns;)
		first--;
	for (size_t i = first; i < count; i++) {
		struct fperf_incident_thread *thread =
			fperf_vec__push(&incident->threads, &incident->thread_count, &capacity);

		if (!thread)
			return fperf_error__no_memory(err, "the threads of a snapshot");
		thread_fill(analysis, &records[i], thread);
	}
	return 0;
}

static const struct fperf_incident_thread *thread_of(const struct fperf_incident *incident, uint32_t id)
{
	for (size_t i = 0; id && i < incident->thread_count; i++)
		if (incident->threads[i].thread.thread == id)
			return &incident->threads[i];
	return NULL;
}

/* Who has to do something before this one can go on; NULL: nobody of the target, as far as is known. */
static const struct fperf_incident_thread *next_of(const struct fperf_incident *incident,
						   const struct fperf_incident_thread *thread)
{
	if (thread->record->state != FPERF_SNAPSHOT_WAITS)
		return NULL;
	if (thread->record->owner)
		return thread_of(incident, thread->record->owner);
	/* A sleep ends by itself, and who happens to be there then has nothing to do with it. */
	if (thread->state == FPERF_STATE_SLEEP || thread->state == FPERF_STATE_IO ||
	    thread->state == FPERF_STATE_FAULT)
		return NULL;
	return thread_of(incident, thread->waker.thread);
}

static void chain_follow(struct fperf_incident *incident)
{
	const struct fperf_incident_thread *at = thread_of(incident, incident->trigger.record->thread);

	while (at && incident->chain_count < FPERF_INCIDENT_CHAIN) {
		for (size_t i = 0; i < incident->chain_count; i++)
			if (incident->chain[i] == at)
				return; /* a deadlock: what is there tells all */
		incident->chain[incident->chain_count++] = at;
		at = next_of(incident, at);
	}
}

/* "Render waits for a lock in read_transforms()" */
static void thread_describe(const struct fperf_incident_thread *thread, FILE *out)
{
	static const char *const does[FPERF_STATES] = {
		[FPERF_STATE_USER] = "runs",
		[FPERF_STATE_KERNEL] = "runs",
		[FPERF_STATE_RUNNABLE] = "is ready but not run",
		[FPERF_STATE_PREEMPTED] = "was put aside",
		[FPERF_STATE_LOCK] = "waits for a lock",
		[FPERF_STATE_IO] = "waits for files or disks",
		[FPERF_STATE_FAULT] = "waits for a page",
		[FPERF_STATE_GPU] = "waits for the GPU",
		[FPERF_STATE_SLEEP] = "sleeps",
		[FPERF_STATE_EVENT] = "waits for an event",
		[FPERF_STATE_OTHER] = "waits",
	};
	const struct fperf_place *place = thread->place.function ? &thread->place : &thread->leaf;

	if (thread->thread.name && *thread->thread.name)
		fprintf(out, "%s", thread->thread.name);
	else
		fprintf(out, "thread %u", thread->thread.tid);
	fprintf(out, " %s", does[thread->state]);
	if (place->function)
		fprintf(out, " in %s()", place->function);
}

static int text_make(struct fperf_incident *incident, struct fperf_error *err)
{
	size_t size;
	FILE *out = open_memstream(&incident->text, &size);

	if (!out)
		return fperf_error__no_memory(err, "the words of a stall");
	for (size_t i = 0; i < incident->chain_count; i++) {
		const struct fperf_incident_thread *thread = incident->chain[i];

		if (i)
			fprintf(out,
				incident->chain[i - 1]->record->owner ? ", held by " : ", which comes from ");
		thread_describe(thread, out);
	}
	if (incident->chain_count && !next_of(incident, incident->chain[incident->chain_count - 1])) {
		const struct fperf_incident_thread *last = incident->chain[incident->chain_count - 1];

		if (last->owner.thread && last->owner.name)
			fprintf(out, ", held by %s", last->owner.name);
		else if (last->waker.thread && last->waker.name && last->state == FPERF_STATE_EVENT)
			fprintf(out, ", which came from %s", last->waker.name);
	}
	return fclose(out) ? fperf_error__no_memory(err, "the words of a stall") : 0;
}

int fperf_incident__find(const struct fperf_analysis *analysis, struct fperf_incident **result,
			 struct fperf_error *err)
{
	struct fperf_incident *incident;
	int ret;

	*result = NULL;
	if (!analysis->model)
		return 0;
	incident = calloc(1, sizeof(*incident));
	if (!incident)
		return fperf_error__no_memory(err, "what a session is about");
	ret = triggers_take(analysis, incident, err);
	if (!ret && incident->trigger.record)
		ret = threads_take(analysis, incident, err);
	if (!ret && incident->trigger.record && incident->trigger.record->kind == FPERF_TRIGGER_STALL) {
		chain_follow(incident);
		if (incident->chain_count)
			ret = text_make(incident, err);
	}
	if (ret || !incident->trigger.record)
		fperf_incident__free(incident);
	else
		*result = incident;
	return ret;
}

void fperf_incident__free(struct fperf_incident *incident)
{
	if (!incident)
		return;
	free(incident->further);
	free(incident->threads);
	free(incident->text);
	free(incident);
}
