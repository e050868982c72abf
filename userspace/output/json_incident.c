/* The keys `trigger`, `stall` and `whole` of the JSON report. */
#include "output/json_build.h"

#include "output/kept.h"
#include "output/names.h"

static json_t *trigger_object(struct json_build *build, const struct fperf_incident_trigger *trigger)
{
	const struct fperf_rec_trigger *record = trigger->record;
	json_t *object = json_build__object(build);
	bool counted = record->kind == FPERF_TRIGGER_HITCHES;

	json_build__set(build, object, "kind", json_build__text(build, fperf_trigger__key(record->kind)));
	json_build__set(build, object, "number", json_build__u64(build, record->number));
	json_build__set(build, object, "rule", json_build__nonempty(build, trigger->rule));
	json_build__set(build, object, "reason", json_build__nonempty(build, trigger->reason));
	json_build__set(build, object, "time_ns", json_build__u64(build, record->time_ns));
	json_build__set(build, object, "since_ns", json_build__positive(build, record->since_ns));
	json_build__set(build, object, counted ? "value" : "value_ns",
			json_build__positive(build, record->value));
	json_build__set(build, object, counted ? "limit" : "limit_ns",
			json_build__positive(build, record->limit));
	json_build__set(build, object, "thread",
			trigger->thread.thread ? json_build__thread(build, &trigger->thread)
					       : json_build__null(build));
	return object;
}

static json_t *thread_or_null(struct json_build *build, const struct fperf_thread_ref *thread)
{
	return thread->thread ? json_build__thread(build, thread) : json_build__null(build);
}

static json_t *thread_object(struct json_build *build, const struct fperf_incident_thread *thread)
{
	static const char *const states[] = {[FPERF_SNAPSHOT_RUNS] = "runs",
					     [FPERF_SNAPSHOT_READY] = "ready",
					     [FPERF_SNAPSHOT_WAITS] = "waits"};
	const struct fperf_rec_snapshot *record = thread->record;
	json_t *object = json_build__thread(build, &thread->thread);
	bool known = record->state < sizeof(states) / sizeof(states[0]);
	bool waits = record->state == FPERF_SNAPSHOT_WAITS;

	json_build__set(build, object, "state",
			json_build__text(build, known ? states[record->state] : NULL));
	json_build__set(build, object, "waits_for",
			json_build__text(build, waits ? fperf_state__name(thread->state) : NULL));
	json_build__set(build, object, "waited_ns", json_build__positive(build, thread->waited_ns));
	json_build__set(build, object, "place", json_build__place(build, &thread->place));
	json_build__set(build, object, "leaf", json_build__place(build, &thread->leaf));
	json_build__set(build, object, "owner", thread_or_null(build, &thread->owner));
	json_build__set(build, object, "waker", thread_or_null(build, &thread->waker));
	return object;
}

static json_t *stall_object(struct json_build *build, const struct fperf_incident *incident)
{
	json_t *object = json_build__object(build), *chain = json_build__array(build);
	const struct fperf_incident_thread *last;

	for (size_t i = 0; i < incident->chain_count; i++)
		json_build__add(build, chain, thread_object(build, incident->chain[i]));
	json_build__set(build, object, "text", json_build__text(build, incident->text));
	json_build__set(build, object, "thread",
			incident->chain_count ? thread_object(build, incident->chain[0])
					      : json_build__null(build));
	last = incident->chain_count ? incident->chain[incident->chain_count - 1] : NULL;
	json_build__set(build, object, "holder",
			incident->chain_count > 1 ? thread_object(build, last) : json_build__null(build));
	json_build__set(build, object, "chain", chain);
	return object;
}

static json_t *kept_object(struct json_build *build, const struct fperf_report *report)
{
	json_t *object, *time;
	struct fperf_kept kept;

	if (!fperf_kept__find(report, &kept))
		return json_build__null(build);
	object = json_build__object(build);
	time = json_build__object(build);
	json_build__set(build, time, "mean", json_build__positive(build, kept.time.mean));
	json_build__set(build, time, "p50", json_build__positive(build, kept.time.p50));
	json_build__set(build, time, "p90", json_build__positive(build, kept.time.p90));
	json_build__set(build, time, "p95", json_build__positive(build, kept.time.p95));
	json_build__set(build, time, "p99", json_build__positive(build, kept.time.p99));
	json_build__set(build, time, "max", json_build__positive(build, kept.time.max));
	json_build__set(build, object, "frames", json_build__u64(build, kept.frames));
	json_build__set(build, object, "duration_ns", json_build__u64(build, kept.duration_ns));
	json_build__set(build, object, "time_ns", time);
	json_build__set(build, object, "worst", json_build__u64(build, kept.worst));
	json_build__set(build, object, "kept_ns", json_build__u64(build, kept.kept_ns));
	return object;
}

void fperf_json__incident(struct json_build *build, json_t *root, const struct fperf_report *report)
{
	json_t *trigger, *further, *threads;
	struct fperf_incident *incident;
	struct fperf_error err;

	json_build__set(build, root, "whole", kept_object(build, report));
	if (fperf_incident__find(report->analysis, &incident, &err))
		build->failed = true;
	if (build->failed || !incident) {
		json_build__set(build, root, "trigger", json_build__null(build));
		json_build__set(build, root, "stall", json_build__null(build));
		return;
	}
	trigger = trigger_object(build, &incident->trigger);
	further = json_build__array(build);
	for (size_t i = 0; i < incident->further_count; i++)
		json_build__add(build, further, trigger_object(build, &incident->further[i]));
	json_build__set(build, trigger, "further", further);
	threads = json_build__array(build);
	for (size_t i = 0; i < incident->thread_count; i++)
		json_build__add(build, threads, thread_object(build, &incident->threads[i]));
	json_build__set(build, trigger, "threads", threads);
	json_build__set(build, root, "trigger", trigger);
	json_build__set(build, root, "stall",
			incident->trigger.record->kind == FPERF_TRIGGER_STALL ? stall_object(build, incident)
									      : json_build__null(build));
	fperf_incident__free(incident);
}
