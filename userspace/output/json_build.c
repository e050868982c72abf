#include "output/json_build.h"

#include "output/utf8.h"

#include <math.h>
#include <string.h>

#define TEXT_LIMIT (1u << 24) /* bytes of one string */

static json_t *checked(struct json_build *build, json_t *value)
{
	if (!value)
		build->failed = true;
	return value;
}

json_t *json_build__object(struct json_build *build)
{
	return checked(build, json_object());
}

json_t *json_build__array(struct json_build *build)
{
	return checked(build, json_array());
}

json_t *json_build__null(struct json_build *build)
{
	return checked(build, json_null());
}

json_t *json_build__bool(struct json_build *build, bool value)
{
	return checked(build, json_boolean(value));
}

json_t *json_build__i64(struct json_build *build, int64_t value)
{
	return checked(build, json_integer(value));
}

json_t *json_build__u64(struct json_build *build, uint64_t value)
{
	return json_build__i64(build, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

json_t *json_build__positive(struct json_build *build, uint64_t value)
{
	return value ? json_build__u64(build, value) : json_build__null(build);
}

json_t *json_build__real(struct json_build *build, double value)
{
	return isfinite(value) ? checked(build, json_real(value)) : json_build__null(build);
}

json_t *json_build__share(struct json_build *build, double value)
{
	return value < 0 ? json_build__null(build) : json_build__real(build, value);
}

json_t *json_build__text(struct json_build *build, const char *text)
{
	struct fperf_buf valid;
	json_t *value;

	if (!text)
		return json_build__null(build);
	fperf_buf__init(&valid, TEXT_LIMIT);
	fperf_utf8__repair(&valid, text, strlen(text));
	value = json_stringn(valid.size ? (const char *)valid.data : "", valid.size);
	if (valid.failed)
		build->failed = true;
	fperf_buf__free(&valid);
	return checked(build, value);
}

json_t *json_build__nonempty(struct json_build *build, const char *text)
{
	return json_build__text(build, text && text[0] ? text : NULL);
}

void json_build__set(struct json_build *build, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		build->failed = true;
}

void json_build__set_any_key(struct json_build *build, json_t *object, const char *key, json_t *value)
{
	struct fperf_buf valid;

	fperf_buf__init(&valid, TEXT_LIMIT);
	fperf_utf8__repair(&valid, key, strlen(key));
	fperf_buf__u8(&valid, 0);
	if (valid.failed) {
		build->failed = true;
		json_decref(value);
	} else {
		json_build__set(build, object, (const char *)valid.data, value);
	}
	fperf_buf__free(&valid);
}

void json_build__add(struct json_build *build, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		build->failed = true;
}

json_t *json_build__thread(struct json_build *build, const struct fperf_thread_ref *thread)
{
	json_t *object = json_build__object(build);

	json_build__set(build, object, "pid", json_build__positive(build, thread->pid));
	json_build__set(build, object, "tid", json_build__positive(build, thread->tid));
	json_build__set(build, object, "name", json_build__nonempty(build, thread->name));
	return object;
}

json_t *json_build__place(struct json_build *build, const struct fperf_place *place)
{
	json_t *object = json_build__object(build);

	json_build__set(build, object, "function", json_build__text(build, place->function));
	json_build__set(build, object, "module", json_build__text(build, place->module));
	return object;
}

static json_t *verdict_object(struct json_build *build, const struct fperf_verdict *verdict)
{
	json_t *object = json_build__object(build), *by = json_build__null(build);

	if (verdict->has_by) {
		json_decref(by);
		by = json_build__thread(build, &verdict->by);
		json_build__set(build, by, "function", json_build__text(build, verdict->by_function));
	}
	json_build__set(build, object, "cause", json_build__text(build, fperf_cause__name(verdict->cause)));
	json_build__set(build, object, "thread", json_build__thread(build, &verdict->thread));
	json_build__set(build, object, "place", json_build__place(build, &verdict->place));
	json_build__set(build, object, "leaf", json_build__place(build, &verdict->leaf));
	json_build__set(build, object, "by", by);
	json_build__set(build, object, "excess_ns", json_build__u64(build, verdict->excess_ns));
	json_build__set(build, object, "share", json_build__share(build, verdict->share));
	json_build__set(build, object, "text", json_build__text(build, verdict->text));
	return object;
}

static json_t *chain_array(struct json_build *build, const struct fperf_slow_frame *slow)
{
	json_t *array = json_build__array(build);

	for (size_t i = 0; i < slow->chain_count; i++) {
		const struct fperf_chain_link *link = &slow->chain[i];
		json_t *object = json_build__thread(build, &link->thread);

		json_build__set(build, object, "from_ns", json_build__u64(build, link->from_ns));
		json_build__set(build, object, "to_ns", json_build__u64(build, link->to_ns));
		json_build__set(build, object, "state",
				json_build__text(build, fperf_state__name(link->state)));
		json_build__set(build, object, "place", json_build__place(build, &link->place));
		json_build__set(build, object, "by",
				link->by.thread ? json_build__thread(build, &link->by)
						: json_build__null(build));
		json_build__add(build, array, object);
	}
	return array;
}

static json_t *ledger_array(struct json_build *build, const struct fperf_slow_frame *slow)
{
	json_t *array = json_build__array(build);

	for (size_t i = 0; i < slow->ledger_count; i++) {
		const struct fperf_ledger *ledger = &slow->ledger[i];
		json_t *object = json_build__thread(build, &ledger->thread);
		json_t *blocked = json_build__object(build);

		for (unsigned int state = FPERF_STATE_LOCK; state < FPERF_STATES; state++)
			json_build__set(build, blocked, fperf_state__name(state),
					json_build__u64(build, ledger->state_ns[state]));
		json_build__set(build, object, "user_ns",
				json_build__u64(build, ledger->state_ns[FPERF_STATE_USER]));
		json_build__set(build, object, "kernel_ns",
				json_build__u64(build, ledger->state_ns[FPERF_STATE_KERNEL]));
		json_build__set(build, object, "runnable_ns",
				json_build__u64(build, ledger->state_ns[FPERF_STATE_RUNNABLE]));
		json_build__set(build, object, "preempted_ns",
				json_build__u64(build, ledger->state_ns[FPERF_STATE_PREEMPTED]));
		json_build__set(build, object, "blocked_ns", blocked);
		json_build__set(build, object, "residual_ns", json_build__i64(build, ledger->residual_ns));
		json_build__add(build, array, object);
	}
	return array;
}

json_t *json_build__frame(struct json_build *build, const struct fperf_analysis *analysis,
			  const struct fperf_slow_frame *slow, bool chosen)
{
	const struct fperf_frame *frame = &analysis->frames[slow->frame];
	json_t *object = json_build__object(build);

	json_build__set(build, object, "index", json_build__u64(build, frame->index));
	json_build__set(build, object, "start_ns", json_build__u64(build, frame->start_ns));
	json_build__set(build, object, "time_ns", json_build__u64(build, frame->end_ns - frame->start_ns));
	json_build__set(build, object, "active_ns", json_build__u64(build, frame->active_ns));
	json_build__set(build, object, "slow", json_build__bool(build, frame->slow));
	json_build__set(build, object, "verdict",
			slow->has_verdict ? verdict_object(build, &slow->verdict) : json_build__null(build));
	if (!analysis->holds.chains)
		json_build__set(build, object, "chain", json_build__null(build));
	else if (slow->chain_count || !chosen)
		json_build__set(build, object, "chain", chain_array(build, slow));
	if (!analysis->holds.ledgers)
		json_build__set(build, object, "ledger", json_build__null(build));
	else if (slow->ledger_count || !chosen)
		json_build__set(build, object, "ledger", ledger_array(build, slow));
	return object;
}
