#include "build.h"

static struct world world;

static void teardown(void)
{
	world_free(&world);
}

TestSuite(analyze_hot, .fini = teardown);

static const struct fperf_hot_function *find(const struct fperf_hot_function *hot, size_t count,
					     const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(hot[i].function, name))
			return &hot[i];
	return NULL;
}

Test(analyze_hot, shares_follow_running_time_not_sample_counts)
{
	uint32_t main_thread, a, b;
	struct why blink = {.syscall = SYS_NANOSLEEP};
	const struct fperf_hot_function *hot;

	world_new(&world, 1000);
	main_thread = thread(&world, 1, GAME_PID, "game");
	a = stack(&world, "alpha main");
	b = stack(&world, "beta main");
	ran(&world, main_thread, 0, 600, a, false);
	for (double ms = 600; ms < 1000; ms += 4) /* only one in four samples arrived */
		ran(&world, main_thread, ms + 1.5, ms + 2.4, b, false);
	off(&world, main_thread, 999.9, 999.95, 1000, &blink);
	analyze(&world, NULL);
	hot = find(world.analysis->hot, world.analysis->hot_count, "alpha");
	cr_assert_not_null(hot);
	cr_expect_float_eq(hot->self_share, 0.6, 0.003);
	hot = find(world.analysis->hot, world.analysis->hot_count, "main");
	cr_assert_not_null(hot);
	cr_expect_eq(hot->self_ns, 0);
	cr_expect_float_eq(hot->total_share, 1, 1e-9);
	cr_expect_str_eq(world.analysis->hot[0].function, "alpha");
}

Test(analyze_hot, recursion_counts_once)
{
	uint32_t main_thread;
	const struct fperf_hot_function *hot;
	struct why blink = {.syscall = SYS_NANOSLEEP};

	world_new(&world, 100);
	main_thread = thread(&world, 1, GAME_PID, "game");
	ran(&world, main_thread, 0, 100, stack(&world, "walk walk visit walk main"), false);
	off(&world, main_thread, 99.9, 99.95, 100, &blink);
	analyze(&world, NULL);
	hot = find(world.analysis->hot, world.analysis->hot_count, "walk");
	cr_assert_not_null(hot);
	cr_expect_float_eq(hot->total_share, 1, 1e-9);
	cr_expect_float_eq(hot->self_share, 1, 1e-9);
	cr_expect_eq(world.analysis->hot_count, 3);
}

/* One function at many addresses is one row. */
Test(analyze_hot, addresses_of_a_function_are_one_row)
{
	uint32_t main_thread;
	uint64_t base;
	struct why blink = {.syscall = SYS_NANOSLEEP};

	world_new(&world, 100);
	main_thread = thread(&world, 1, GAME_PID, "game");
	base = function(&world, 1, "spread");
	for (uint32_t i = 0; i < 50; i++) {
		struct fperf_stack_frame frame = {
			.module = JIT_MODULE, .kind = FPERF_FRAME_PC, .offset = base + i * 8};
		struct fperf_rec_stack record = {
			.id = 100 + i, .outcome = FPERF_STACK_COMPLETE, .count = 1, .frames = &frame};

		world_add(&world, FPERF_RECORD_STACK, &record);
		ran(&world, main_thread, i * 2, i * 2 + 2, 100 + i, false);
	}
	off(&world, main_thread, 99.9, 99.95, 100, &blink);
	analyze(&world, NULL);
	cr_assert_eq(world.analysis->hot_count, 1);
	cr_expect_str_eq(world.analysis->hot[0].function, "spread");
}

Test(analyze_hot, absurd_periods_are_capped_without_scheduler_records)
{
	struct fperf_rec_source sched = {.source = FPERF_SOURCE_SCHED, .state = FPERF_SOURCE_STATE_ABSENT};
	uint32_t main_thread;
	const struct fperf_hot_function *hot;

	world_new(&world, 200);
	world_add(&world, FPERF_RECORD_SOURCE, &sched);
	main_thread = thread(&world, 1, GAME_PID, "game");
	ran(&world, main_thread, 0, 100, stack(&world, "alpha main"), false);
	for (int i = 0; i < 2; i++) {
		struct fperf_rec_sample record = {.time_ns = at(150 + i),
						  .thread = main_thread,
						  .stack = stack(&world, "beta main"),
						  .period = i ? UINT64_MAX : 1ull << 60};

		world_add(&world, FPERF_RECORD_SAMPLE, &record);
	}
	analyze(&world, NULL);
	hot = find(world.analysis->hot, world.analysis->hot_count, "beta");
	cr_assert_not_null(hot);
	cr_expect_lt(hot->self_share, 0.15);
}

Test(analyze_hot, slow_frames_have_their_own_list)
{
	uint32_t main_thread, usual, bad;
	struct why blink = {.syscall = SYS_NANOSLEEP};
	double start = 10;

	world_new(&world, 2000);
	main_thread = thread(&world, 1, GAME_PID, "game");
	usual = stack(&world, "usual main");
	bad = stack(&world, "bad main");
	for (int i = 0; i < 60; i++) {
		mark(&world, start, main_thread);
		ran(&world, main_thread, start, start + 10, usual, false);
		start += 10;
		if (i % 20 == 19) {
			ran(&world, main_thread, start, start + 20, bad, false);
			start += 20;
		}
	}
	mark(&world, start, main_thread);
	off(&world, main_thread, start, start + 1, 2000, &blink);
	analyze(&world, NULL);
	cr_assert_geq(world.analysis->hot_slow_count, 2);
	cr_expect_str_eq(world.analysis->hot[0].function, "usual");
	cr_expect_str_eq(world.analysis->hot_slow[0].function, "bad");
	cr_expect_float_eq(world.analysis->hot_slow[0].self_share, 2.0 / 3, 0.03);
	cr_expect_eq(world.analysis->causes[0].cause, FPERF_CAUSE_CPU);
	cr_expect_eq(world.analysis->causes[0].frames, 3);
}

Test(analyze_hot, quality_counts_stacks_by_outcome)
{
	uint32_t main_thread;
	struct fperf_rec_stack cut = {.id = 300, .outcome = FPERF_STACK_NO_ROW};
	struct fperf_rec_sample lost = {.period = PERIOD_NS};

	world_new(&world, 200);
	main_thread = thread(&world, 1, GAME_PID, "game");
	ran(&world, main_thread, 0, 30, stack(&world, "work main"), false);
	world_add(&world, FPERF_RECORD_STACK, &cut);
	ran(&world, main_thread, 30, 40, 300, false);
	lost.time_ns = at(50);
	lost.thread = main_thread;
	world_add(&world, FPERF_RECORD_SAMPLE, &lost);
	analyze(&world, NULL);
	cr_expect_eq(world.analysis->samples, 41);
	cr_expect_eq(world.analysis->stacks.stacks, 40);
	cr_expect_eq(world.analysis->stacks.complete, 30);
	cr_expect_eq(world.analysis->stacks.by_outcome[FPERF_STACK_NO_ROW], 10);
	cr_assert_eq(world.analysis->thread_count, 1);
	cr_expect_float_eq(world.analysis->threads[0].stacks_complete_share, 0.75, 1e-9);
}

Test(analyze_hot, samples_of_others_do_not_count)
{
	uint32_t other;

	world_new(&world, 200);
	other = thread(&world, process(&world, 900, "other", false), 900, "other");
	ran(&world, other, 0, 30, stack(&world, "work main"), false);
	analyze(&world, NULL);
	cr_expect_eq(world.analysis->samples, 0);
	cr_expect_eq(world.analysis->hot_count, 0);
	cr_expect_eq(world.analysis->thread_count, 0);
}

Test(analyze_hot, names_of_causes_and_states)
{
	cr_expect_str_eq(fperf_cause__name(FPERF_CAUSE_RUN_QUEUE), "run_queue");
	cr_expect_str_eq(fperf_cause__name((enum fperf_cause)99), "unknown");
	cr_expect_str_eq(fperf_state__name(FPERF_STATE_PREEMPTED), "preempted");
	cr_expect_str_eq(fperf_state__name(FPERF_STATES), "other");
}
