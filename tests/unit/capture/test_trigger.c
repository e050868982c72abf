#include "capture/trigger.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MS 1000000ull
#define S  (1000 * MS)

TestSuite(capture_trigger);

static struct fperf_error err;

static struct fperf_trigger_rule parse(const char *text)
{
	struct fperf_trigger_rule rule;

	cr_assert_eq(fperf_trigger_rule__parse(text, &rule, &err), 0, "%s: %s", text, err.text);
	return rule;
}

static struct fperf_triggers *with_rule(const char *text)
{
	struct fperf_trigger_rule rule = parse(text);
	struct fperf_triggers *triggers;

	cr_assert_eq(fperf_triggers__new(&rule, 1, &triggers, &err), 0);
	return triggers;
}

Test(capture_trigger, rules_are_read)
{
	struct fperf_trigger_rule rule = parse("frame>33ms");

	cr_assert_eq(rule.kind, FPERF_TRIGGER_FRAME);
	cr_assert_eq(rule.limit, 33 * MS);
	cr_assert_str_eq(rule.text, "frame>33ms");
	cr_assert_eq(parse("stall>0.25s").limit, 250 * MS);
	cr_assert_eq(parse("run-queue>500us").limit, MS / 2);
	cr_assert_eq(parse("frame>16.7ms").limit, 16700000);
	rule = parse("hitches>3/10s");
	cr_assert_eq(rule.kind, FPERF_TRIGGER_HITCHES);
	cr_assert_eq(rule.limit, 3);
	cr_assert_eq(rule.window_ns, 10 * S);
	rule = parse("mark:a>b:c>5ms");
	cr_assert_eq(rule.kind, FPERF_TRIGGER_MARK);
	cr_assert_str_eq(rule.scope, "a>b:c", "names hold what they like");
	cr_assert_eq(rule.limit, 5 * MS);
}

Test(capture_trigger, bad_rules_are_refused_with_what_would_be_right)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"", "is no trigger"},
		{"frame", "write it like frame>33ms"},
		{"frame>", "is no time"},
		{"frame>33", "with its unit"},
		{"frame>33m", "with its unit"},
		{"frame>-3ms", "is no time"},
		{"frame>0ms", "is no time"},
		{"frame>nanms", "is no time"},
		{"frame>infs", "is no time"},
		{"frame>1e300s", "between 1 ns and an hour"},
		{"frame>33ms ", "with its unit"},
		{" frame>33ms", "is no trigger"},
		{"frames>33ms", "is no trigger"},
		{"frame:x>33ms", "is no trigger"},
		{"stalls>33ms", "is no trigger"},
		{"mark>5ms", "is no trigger"},
		{"mark:>5ms", "name of a scope"},
		{"hitches>3", "a number of hitches in a time"},
		{"hitches>3/", "is no time"},
		{"hitches>x/10s", "a number of hitches"},
		{"hitches>-1/10s", "a number of hitches"},
		{"hitches>1000/10s", "at most"},
		{"signal>1ms", "is no trigger"},
		{"run-queue<10ms", "is no trigger"},
	};
	struct fperf_trigger_rule rule;
	char longer[400];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_assert_eq(fperf_trigger_rule__parse(bad[i].text, &rule, &err), -EINVAL, "'%s'",
			     bad[i].text);
		cr_assert_not_null(strstr(err.text, bad[i].says), "'%s': %s", bad[i].text, err.text);
	}
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	cr_assert_eq(fperf_trigger_rule__parse(longer, &rule, &err), -EINVAL);
	cr_assert_str_eq(fperf_trigger_kind__name(FPERF_TRIGGER_RUN_QUEUE), "run-queue");
	cr_assert_str_eq(fperf_trigger_kind__name(200), "unknown");
}

/* Frames of the length, up to and without `until`. Returns the last boundary. */
static uint64_t frames(struct fperf_triggers *triggers, uint64_t from_ns, uint64_t length_ns, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		from_ns += length_ns;
		fperf_triggers__frame(triggers, 10, 11, 1, from_ns);
		fperf_triggers__until(triggers, from_ns + MS / 2);
	}
	return from_ns;
}

static size_t fired(struct fperf_triggers *triggers, struct fperf_trigger_event *last)
{
	size_t count = 0;

	while (fperf_triggers__next(triggers, last))
		count++;
	return count;
}

Test(capture_trigger, a_long_frame_fires_at_its_end)
{
	struct fperf_triggers *triggers = with_rule("frame>33ms");
	struct fperf_trigger_event event;
	uint64_t now = frames(triggers, S, 16 * MS, 100);

	cr_assert_eq(fired(triggers, &event), 0);
	now = frames(triggers, now, 33 * MS, 1);
	cr_assert_eq(fired(triggers, &event), 0, "it is the limit, not more");
	frames(triggers, now, 34 * MS, 1);
	cr_assert_eq(fired(triggers, &event), 1);
	cr_assert_eq(event.kind, FPERF_TRIGGER_FRAME);
	cr_assert_eq(event.time_ns, now + 34 * MS);
	cr_assert_eq(event.since_ns, now);
	cr_assert_eq(event.value, 34 * MS);
	cr_assert_eq(event.tid, 11);
	cr_assert_str_eq(event.reason, "a frame took 34.0 ms, more than 33.0 ms");
	fperf_triggers__free(triggers);
}

Test(capture_trigger, surfaces_do_not_mix)
{
	struct fperf_triggers *triggers = with_rule("frame>33ms");
	struct fperf_trigger_event event;

	for (uint64_t i = 1; i < 1000; i++)
		for (uint32_t pid = 1; pid <= 5; pid++)
			for (uint64_t surface = 0; surface < 3; surface++)
				fperf_triggers__frame(triggers, pid, pid, surface,
						      S + i * 20 * MS + pid * 3 * MS + surface * MS);
	cr_assert_eq(fired(triggers, &event), 0);
	for (uint64_t i = 0; i < 100000; i++) /* surfaces that come and go push nothing over */
		fperf_triggers__frame(triggers, 7, 7, i, 100 * S + i * MS);
	cr_assert_eq(fired(triggers, &event), 0);
	fperf_triggers__free(triggers);
}

Test(capture_trigger, a_stall_fires_once_while_it_lasts)
{
	struct fperf_triggers *triggers = with_rule("stall>250ms");
	struct fperf_trigger_event event;
	uint64_t now = frames(triggers, S, 16 * MS, 100);

	fperf_triggers__until(triggers, now + 250 * MS);
	cr_assert_eq(fired(triggers, &event), 0);
	for (uint64_t later = 251; later < 2000; later += 10)
		fperf_triggers__until(triggers, now + later * MS);
	cr_assert_eq(fired(triggers, &event), 1);
	cr_assert_eq(event.kind, FPERF_TRIGGER_STALL);
	cr_assert_eq(event.time_ns, now + 251 * MS);
	cr_assert_eq(event.since_ns, now);
	now = frames(triggers, now + 2 * S, 16 * MS, 20);
	cr_assert_eq(fired(triggers, &event), 0, "its end is no other stall");
	fperf_triggers__until(triggers, now + 300 * MS);
	cr_assert_eq(fired(triggers, &event), 1, "the next one is");
	fperf_triggers__free(triggers);
}

Test(capture_trigger, five_slow_frames_in_a_row_are_a_stall)
{
	struct fperf_triggers *triggers = with_rule("stall>250ms");
	struct fperf_trigger_event event;
	uint64_t now = frames(triggers, S, 16 * MS, 100), began;

	now = frames(triggers, now, 60 * MS, 4);
	now = frames(triggers, now, 16 * MS, 1);
	began = now;
	cr_assert_eq(fired(triggers, &event), 0);
	now = frames(triggers, now, 51 * MS, 5);
	cr_assert_eq(fired(triggers, &event), 1);
	cr_assert_eq(event.since_ns, began);
	cr_assert_not_null(strstr(event.reason, "5 frames in a row"), "%s", event.reason);
	fperf_triggers__free(triggers);
}

Test(capture_trigger, what_never_moved_or_is_gone_does_not_stall)
{
	struct fperf_triggers *triggers = with_rule("stall>250ms");
	struct fperf_trigger_event event;
	uint64_t now = frames(triggers, S, 16 * MS, 2);

	fperf_triggers__until(triggers, now + 10 * S);
	cr_assert_eq(fired(triggers, &event), 0);
	now = frames(triggers, now + 10 * S, 16 * MS, 50);
	fperf_triggers__exit(triggers, 10);
	fperf_triggers__until(triggers, now + 10 * S);
	cr_assert_eq(fired(triggers, &event), 0);
	fperf_triggers__free(triggers);
}

Test(capture_trigger, a_window_that_was_closed_does_not_stall)
{
	struct fperf_triggers *triggers = with_rule("stall>250ms");
	struct fperf_trigger_event event;
	uint64_t now = frames(triggers, S, 16 * MS, 50);

	for (size_t i = 0; i < 100; i++) {
		now += 16 * MS;
		fperf_triggers__frame(triggers, 10, 11, 2, now);
		fperf_triggers__until(triggers, now);
	}
	cr_assert_eq(fired(triggers, &event), 0);
	fperf_triggers__until(triggers, now + 300 * MS);
	cr_assert_eq(fired(triggers, &event), 1, "the other one does");
	fperf_triggers__free(triggers);
}

Test(capture_trigger, hitches_are_counted_within_their_time)
{
	struct fperf_triggers *triggers = with_rule("hitches>3/10s");
	struct fperf_trigger_event event;
	uint64_t now = frames(triggers, S, 16 * MS, 100);

	for (size_t i = 0; i < 20; i++) { /* one every four seconds */
		now = frames(triggers, now, 40 * MS, 1);
		now = frames(triggers, now, 16 * MS, 250);
	}
	now = frames(triggers, now, 16 * MS, 700);
	cr_assert_eq(fired(triggers, &event), 0);
	for (size_t i = 0; i < 4; i++) {
		cr_assert_eq(fired(triggers, &event), 0);
		now = frames(triggers, now, 40 * MS, 1);
		now = frames(triggers, now, 16 * MS, 60);
	}
	cr_assert_eq(fired(triggers, &event), 1);
	cr_assert_eq(event.value, 4);
	fperf_triggers__free(triggers);
}

Test(capture_trigger, a_steady_slow_game_has_no_hitches)
{
	struct fperf_triggers *triggers = with_rule("hitches>0/10s");
	struct fperf_trigger_event event;

	frames(triggers, S, 50 * MS, 1000);
	cr_assert_eq(fired(triggers, &event), 0);
	fperf_triggers__free(triggers);
}

Test(capture_trigger, scopes_are_matched_by_thread_and_name)
{
	struct fperf_triggers *triggers = with_rule("mark:physics>5ms");
	struct fperf_trigger_event event;

	fperf_triggers__scope(triggers, 10, 11, "physics", false, S);
	fperf_triggers__scope(triggers, 10, 12, "physics", false, S + MS);
	fperf_triggers__scope(triggers, 10, 11, "audio", false, S + MS);
	fperf_triggers__scope(triggers, 10, 12, "physics", true, S + 3 * MS);
	fperf_triggers__scope(triggers, 10, 11, "audio", true, S + 9 * MS);
	cr_assert_eq(fired(triggers, &event), 0);
	fperf_triggers__scope(triggers, 10, 11, "physics", true, S + 6 * MS);
	cr_assert_eq(fired(triggers, &event), 1);
	cr_assert_eq(event.tid, 11);
	cr_assert_eq(event.value, 6 * MS);
	fperf_triggers__scope(triggers, 10, 11, "physics", true, S + 60 * MS);
	cr_assert_eq(fired(triggers, &event), 0, "an end without a begin");
	for (uint32_t tid = 0; tid < 10000; tid++) /* threads that never end theirs */
		fperf_triggers__scope(triggers, 10, 100 + tid, "physics", false, 2 * S + tid * MS);
	fperf_triggers__scope(triggers, 10, 10099, "physics", true, 2 * S + 10010 * MS);
	cr_assert_eq(fired(triggers, &event), 1, "the latest ones are known");
	fperf_triggers__free(triggers);
}

Test(capture_trigger, waits_for_a_core_are_measured_from_the_wake_up)
{
	struct fperf_triggers *triggers = with_rule("run-queue>10ms");
	struct fperf_trigger_event event;

	fperf_triggers__run_queue(triggers, 10, 11, 0, S);
	fperf_triggers__run_queue(triggers, 10, 11, S, S + 10 * MS);
	fperf_triggers__run_queue(triggers, 10, 11, S + MS, S);
	cr_assert_eq(fired(triggers, &event), 0);
	fperf_triggers__run_queue(triggers, 10, 11, S, S + 11 * MS);
	cr_assert_eq(fired(triggers, &event), 1);
	cr_assert_eq(event.since_ns, S);
	for (size_t i = 0; i < 1000; i++)
		fperf_triggers__run_queue(triggers, 10, 11, S, S + 11 * MS);
	cr_assert_leq(fired(triggers, &event), 8, "a storm does not pile up");
	fperf_triggers__free(triggers);
}
