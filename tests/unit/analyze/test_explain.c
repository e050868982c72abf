/* What slow frames have in common, on runs made up for it. */
#include "build.h"

#include "analyze/explain.h"
#include "frameperf/wire.h"

#include <math.h>
#include <stdlib.h>

#define FRAMES 1200

/* One frame of a made-up run. */
struct made {
	double usual_ms, extra_ms;
	const char *extra_in; /* function of the extra time; NULL: waits for a lock in take_lock() */
	uint16_t cpu;
	bool marked;
	uint32_t khz; /* from the frame's start on; 0: says nothing */
};

static uint64_t seed;

static double chance(void) /* 0..1 */
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(seed >> 33) / 2147483648.0;
}

static void run_on(struct world *world, double from, double to, const char *in, uint16_t cpu)
{
	for (double ms = from + 0.5; ms < to; ms += 1) {
		struct fperf_rec_sample record = {.time_ns = at(ms),
						  .thread = 1,
						  .stack = stack(world, in),
						  .cpu = cpu,
						  .period = PERIOD_NS};

		world_add(world, FPERF_RECORD_SAMPLE, &record);
	}
}

static double frame_add(struct world *world, double now, const struct made *made)
{
	double usual_end = now + made->usual_ms, end = usual_end + made->extra_ms;

	/* a moment off the CPU: from there on it is known where the thread runs */
	world_add(world, FPERF_RECORD_OFFCPU,
		  &(struct fperf_rec_offcpu){.out_ns = at(now),
					     .wake_ns = at(now + 0.01),
					     .in_ns = at(now + 0.02),
					     .thread = 1,
					     .state = 1,
					     .syscall = -1,
					     .cpu_out = made->cpu,
					     .cpu_in = made->cpu});
	run_on(world, now, usual_end, "update loop main", made->cpu);
	if (made->extra_ms > 0 && made->extra_in)
		run_on(world, usual_end, end, made->extra_in, made->cpu);
	else if (made->extra_ms > 0)
		off(world, 1, usual_end, end, end,
		    &(struct why){.stack = stack(world, "pthread_mutex_lock take_lock main"),
				  .syscall = SYS_FUTEX,
				  .args = {1, 128, 2}});
	if (made->khz)
		for (uint16_t cpu = 0; cpu < 4; cpu++) {
			struct fperf_rec_freq record = {
				.time_ns = at(now), .cpu = cpu, .kind = FPERF_FREQ_CURRENT, .khz = made->khz};
			world_add(world, FPERF_RECORD_FREQ, &record);
		}
	if (made->marked) {
		struct fperf_rec_mark record = {.time_ns = at(now + 1), .thread = 1, .marker = 2};

		world_add(world, FPERF_RECORD_MARK, &record);
	}
	mark(world, end, 1);
	return end;
}

typedef void (*maker)(int frame, double now, struct made *made);

static struct fperf_explanation *explain(struct world *world, maker make)
{
	struct fperf_rec_marker user = {.id = 2, .kind = FPERF_MARKER_MARK, .surface_arg = 255};
	struct fperf_explanation *explanation;
	struct fperf_error err = {0};
	double now = 1;

	world_new(world, 60000);
	user.name = text(world, "load_level");
	world_add(world, FPERF_RECORD_MARKER, &user);
	thread(world, 1, GAME_PID, "game");
	mark(world, now, 1);
	for (int i = 0; i < FRAMES; i++) {
		struct made made = {.usual_ms = 9 + 2 * chance(), .cpu = (uint16_t)(chance() * 4)};

		make(i, now, &made);
		now = frame_add(world, now, &made);
	}
	meta_ms(world, FPERF_META_END_NS, now);
	analyze(world, NULL);
	cr_assert_eq(fperf_explain(world->analysis, &explanation, &err), 0, "%s", err.text);
	return explanation;
}

static const struct fperf_finding *find(const struct fperf_explanation *explanation,
					enum fperf_finding_kind kind)
{
	for (size_t i = 0; i < explanation->count; i++)
		if (explanation->items[i].kind == kind)
			return &explanation->items[i];
	return NULL;
}

static void make_nothing(int frame, double now, struct made *made)
{
	(void)frame;
	(void)now;
	(void)made;
}

Test(explain, nothing_in_runs_without_slow_frames)
{
	struct fperf_explanation *explanation;
	struct world world;

	explanation = explain(&world, make_nothing);
	cr_assert_eq(explanation->count, 0);
	cr_assert_eq(explanation->slow, 0);
	fperf_explanation__free(explanation);
	world_free(&world);
}

static void make_function(int frame, double now, struct made *made)
{
	(void)frame;
	(void)now;
	if (chance() < 0.04) {
		made->extra_ms = 15 + 10 * chance();
		made->extra_in = "spike loop main";
	}
}

/* Slow frames at random, on random CPUs: the function is all that they share. */
Test(explain, a_function_and_nothing_else_in_20_runs)
{
	int others = 0;

	for (seed = 1; seed <= 20; seed++) {
		uint64_t number = seed;
		const struct fperf_finding *function;
		struct fperf_explanation *explanation;
		struct world world;

		explanation = explain(&world, make_function);
		function = find(explanation, FPERF_FINDING_FUNCTION);
		cr_assert(function, "run %d: nothing found", (int)number);
		cr_assert_str_eq(function->name, "spike");
		cr_assert(function->effect > 0.8 && function->slow_with > 0.95 &&
			  function->ordinary_with == 0);
		others += explanation->count > 1;
		fperf_explanation__free(explanation);
		world_free(&world);
		seed = number;
	}
	cr_assert_leq(others, 1, "%d runs with a finding that is not there", others);
}

static void make_lock_at_mark(int frame, double now, struct made *made)
{
	(void)now;
	if (frame % 37 == 20 && chance() < 0.8) {
		made->extra_ms = 20;
		made->marked = true;
	}
}

Test(explain, a_lock_and_the_mark_at_which_it_is_waited_for)
{
	struct fperf_explanation *explanation;
	const struct fperf_finding *blocked, *marked;
	struct world world;

	seed = 7;
	explanation = explain(&world, make_lock_at_mark);
	blocked = find(explanation, FPERF_FINDING_BLOCKED);
	marked = find(explanation, FPERF_FINDING_MARK);
	cr_assert(blocked && marked);
	cr_assert_eq(blocked->cause, FPERF_CAUSE_LOCK);
	cr_assert_str_eq(blocked->name, "pthread_mutex_lock");
	cr_assert_str_eq(marked->name, "load_level");
	cr_assert(marked->slow_with > 0.9 && marked->ordinary_with < 0.05);
	fperf_explanation__free(explanation);
	world_free(&world);
}

static void make_cpu(int frame, double now, struct made *made)
{
	(void)frame;
	(void)now;
	if (made->cpu == 3 && chance() < 0.2) {
		made->extra_ms = 20;
		made->extra_in = "update loop main";
	}
}

Test(explain, the_cpu_on_which_slow_frames_ran)
{
	struct fperf_explanation *explanation;
	const struct fperf_finding *cpu;
	struct world world;

	seed = 3;
	explanation = explain(&world, make_cpu);
	cpu = find(explanation, FPERF_FINDING_CPU);
	cr_assert(cpu);
	cr_assert_eq(cpu->cpu, 3);
	cr_assert(cpu->effect > 0.8 && cpu->slow_with > 0.9, "%f", cpu->effect);
	fperf_explanation__free(explanation);
	world_free(&world);
}

static void make_period(int frame, double now, struct made *made)
{
	static double next;

	if (frame == 0)
		next = 700;
	if (now < next)
		return;
	next += 1500;
	made->extra_ms = 25;
	made->extra_in = "collect_garbage loop main";
}

Test(explain, period_and_phase_of_hitches_at_equal_distances)
{
	struct fperf_explanation *explanation;
	const struct fperf_finding *period;
	struct world world;

	seed = 11;
	explanation = explain(&world, make_period);
	period = find(explanation, FPERF_FINDING_PERIOD);
	cr_assert(period);
	cr_assert(fabs((double)period->period_ns / 1e9 - 1.5) < 0.06, "%f", (double)period->period_ns / 1e9);
	cr_assert(fabs((double)period->phase_ns / 1e9 - 0.7) < 0.2, "%f", (double)period->phase_ns / 1e9);
	fperf_explanation__free(explanation);
	world_free(&world);
}

static void make_clock(int frame, double now, struct made *made)
{
	static int low;

	(void)now;
	made->khz = 2000000;
	if (frame == 0)
		low = 0;
	if (!low && chance() < 0.02)
		low = 3;
	if (!low)
		return;
	low--;
	made->khz = 800000;
	made->extra_ms = made->usual_ms * 1.5;
	made->extra_in = "update loop main";
}

Test(explain, a_slower_clock)
{
	struct fperf_explanation *explanation;
	const struct fperf_finding *clock;
	struct world world;

	seed = 5;
	explanation = explain(&world, make_clock);
	clock = find(explanation, FPERF_FINDING_FREQUENCY);
	cr_assert(clock);
	cr_assert(clock->slow < 900000 && clock->ordinary > 1900000, "%f %f", clock->slow, clock->ordinary);
	cr_assert_gt(clock->effect, 0.9);
	fperf_explanation__free(explanation);
	world_free(&world);
}
