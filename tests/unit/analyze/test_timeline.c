#include "build.h"

static struct world world;

static void teardown(void)
{
	world_free(&world);
}

TestSuite(analyze_timeline, .fini = teardown);

static const struct fperf_ledger *ledger_of(const struct fperf_analysis *analysis, uint32_t of_thread)
{
	for (size_t i = 0; i < analysis->slow[0].ledger_count; i++)
		if (analysis->slow[0].ledger[i].thread.thread == of_thread)
			return &analysis->slow[0].ledger[i];
	return NULL;
}

/* One frame of [10, 110), with its ledger. */
static const struct fperf_analysis *one_frame(uint32_t presenting)
{
	struct fperf_analysis_options options = {.frame = 0};

	mark(&world, 10, presenting);
	mark(&world, 110, presenting);
	analyze(&world, &options);
	cr_assert_eq(world.analysis->slow_count, 1);
	return world.analysis;
}

static const struct fperf_thread_stats *stats_of(const struct fperf_analysis *analysis, uint32_t of_thread)
{
	for (size_t i = 0; i < analysis->thread_count; i++)
		if (analysis->threads[i].thread.thread == of_thread)
			return &analysis->threads[i];
	cr_assert_fail("thread %u has no statistics", of_thread);
	return NULL;
}

static void expect_ms(uint64_t ns, double ms, const char *what)
{
	cr_expect_eq(ns, (uint64_t)(ms * 1e6 + 0.5), "%s: %.6f ms, expected %.6f", what, (double)ns / 1e6,
		     ms);
}

Test(analyze_timeline, states_sum_up_to_the_frame)
{
	struct why lock = {.syscall = SYS_FUTEX, .args = {1, 128, 2}};
	struct why preempted = {.runnable = true, .flags = FPERF_OFFCPU_PREEMPTED};
	const struct fperf_ledger *ledger;
	uint32_t main_thread;

	world_new(&world, 200);
	main_thread = thread(&world, 1, GAME_PID, "game");
	ran(&world, main_thread, 0, 30, stack(&world, "work main"), false);
	off(&world, main_thread, 30, 45, 47.5, &lock);
	ran(&world, main_thread, 47.5, 70, stack(&world, "copy_page|work main"), true);
	off(&world, main_thread, 70, -1, 78, &preempted);
	ran(&world, main_thread, 78, 200, stack(&world, "work main"), false);
	ledger = ledger_of(one_frame(main_thread), main_thread);
	cr_assert_not_null(ledger);
	expect_ms(ledger->state_ns[FPERF_STATE_LOCK], 15, "lock");
	expect_ms(ledger->state_ns[FPERF_STATE_RUNNABLE], 2.5, "runnable");
	expect_ms(ledger->state_ns[FPERF_STATE_PREEMPTED], 8, "preempted");
	expect_ms(ledger->state_ns[FPERF_STATE_USER] + ledger->state_ns[FPERF_STATE_KERNEL], 74.5, "running");
	cr_expect_float_eq((double)ledger->state_ns[FPERF_STATE_KERNEL], 22.5e6, 1.1e6);
	cr_expect_eq(ledger->residual_ns, 0);
}

/* Two spinners share a core: half the time each, nothing blocked, nobody woken. */
Test(analyze_timeline, preemption_is_no_wakeup)
{
	uint32_t spinners[2];

	world_new(&world, 5000);
	spinners[0] = thread(&world, 1, GAME_PID, "game");
	spinners[1] = thread(&world, 1, 101, "game");
	for (int i = 0; i < 1000; i++) {
		struct why why = {.runnable = true,
				  .flags = FPERF_OFFCPU_PREEMPTED,
				  .next = spinners[i % 2],
				  .prev = spinners[i % 2]};

		off(&world, spinners[(i + 1) % 2], i * 5, -1, i * 5 + 5, &why);
		ran(&world, spinners[i % 2], i * 5, i * 5 + 5, stack(&world, "spin main"), false);
	}
	one_frame(spinners[0]);
	for (int i = 0; i < 2; i++) {
		const struct fperf_thread_stats *stats = stats_of(world.analysis, spinners[i]);
		const struct fperf_ledger *ledger = ledger_of(world.analysis, spinners[i]);

		expect_ms(stats->cpu_ns, 2500, "on the core");
		cr_expect_eq(stats->run_queue_max_ns, 0);
		cr_assert_not_null(ledger);
		expect_ms(ledger->state_ns[FPERF_STATE_PREEMPTED], 50, "preempted");
		for (int state = FPERF_STATE_LOCK; state < FPERF_STATES; state++)
			cr_expect_eq(ledger->state_ns[state], 0, "%s", fperf_state__name(state));
		cr_expect_eq(ledger->state_ns[FPERF_STATE_RUNNABLE], 0);
	}
}

Test(analyze_timeline, run_queue_percentiles)
{
	uint32_t main_thread;
	const struct fperf_thread_stats *stats;
	struct why sleeps = {.syscall = SYS_NANOSLEEP};

	world_new(&world, 2000);
	main_thread = thread(&world, 1, GAME_PID, "game");
	for (int i = 0; i < 100; i++) /* waits of 0.01 … 1 ms */
		off(&world, main_thread, i * 10, i * 10 + 5, i * 10 + 5 + (i + 1) * 0.01, &sleeps);
	stats = stats_of(one_frame(main_thread), main_thread);
	cr_expect_eq(stats->switches, 100);
	expect_ms(stats->run_queue_p50_ns, 0.5, "p50");
	expect_ms(stats->run_queue_p99_ns, 0.99, "p99");
	expect_ms(stats->run_queue_max_ns, 1, "max");
	cr_expect_lt(stats->stacks_complete_share, 0);
}

/* A wait that began before the recording and one that outlasts it are counted from edge to edge. */
Test(analyze_timeline, open_intervals_at_both_edges)
{
	struct why before = {.syscall = SYS_NANOSLEEP, .flags = FPERF_OFFCPU_OPEN_START};
	struct why after = {.syscall = SYS_NANOSLEEP, .flags = FPERF_OFFCPU_OPEN_END};
	struct why always = {.syscall = SYS_NANOSLEEP,
			     .flags = FPERF_OFFCPU_OPEN_START | FPERF_OFFCPU_OPEN_END};
	uint32_t main_thread, sleeper, idler;
	const struct fperf_ledger *ledger;

	world_new(&world, 120);
	main_thread = thread(&world, 1, GAME_PID, "game");
	sleeper = thread(&world, 1, 101, "sleeper");
	idler = thread(&world, 1, 102, "idler");
	off(&world, sleeper, 0, 50, 50, &before);
	off(&world, sleeper, 60, -1, 120, &after);
	off(&world, idler, 0, -1, 120, &always);
	ran(&world, main_thread, 0, 120, stack(&world, "work main"), false);
	ledger = ledger_of(one_frame(main_thread), sleeper);
	cr_assert_not_null(ledger);
	expect_ms(ledger->state_ns[FPERF_STATE_SLEEP], 90, "asleep");
	expect_ms(ledger->state_ns[FPERF_STATE_USER], 10, "running");
	cr_expect_null(ledger_of(world.analysis, idler), "did nothing in the frame");
	expect_ms(stats_of(world.analysis, sleeper)->cpu_ns, 10, "sleeper");
	expect_ms(stats_of(world.analysis, idler)->cpu_ns, 0, "idler");
	cr_expect_eq(stats_of(world.analysis, sleeper)->switches, 1);
}

/* A thread without one scheduler record: samples prove that it ran, else nothing is claimed. */
static const struct fperf_ledger *ledger_of_young(bool sampled)
{
	struct fperf_rec_task_event ended = {.event = FPERF_TASK_EXIT, .time_ns = at(80), .thread = 77};
	struct fperf_rec_thread young = {.id = 77, .process = 1, .tid = 177, .start_ns = at(50)};
	uint32_t main_thread;

	world_new(&world, 200);
	main_thread = thread(&world, 1, GAME_PID, "game");
	world_add(&world, FPERF_RECORD_THREAD, &young);
	world_add(&world, FPERF_RECORD_TASK_EVENT, &ended);
	if (sampled)
		ran(&world, 77, 50, 80, stack(&world, "job"), false);
	ran(&world, main_thread, 0, 200, stack(&world, "work main"), false);
	return ledger_of(one_frame(main_thread), 77);
}

Test(analyze_timeline, thread_without_scheduler_records_but_with_samples)
{
	const struct fperf_ledger *ledger = ledger_of_young(true);

	cr_assert_not_null(ledger);
	expect_ms(ledger->state_ns[FPERF_STATE_USER], 30, "its life");
	cr_expect_eq(ledger->residual_ns, 0);
}

Test(analyze_timeline, thread_without_any_record_claims_nothing)
{
	cr_expect_null(ledger_of_young(false));
	cr_expect_eq(stats_of(world.analysis, 77)->cpu_ns, 0);
}

Test(analyze_timeline, short_thread_with_its_last_switch)
{
	struct why waits = {.syscall = SYS_FUTEX, .args = {1, 393, 0}}, gone = {.flags = FPERF_OFFCPU_EXITED};
	struct fperf_rec_thread young = {.id = 77, .process = 1, .tid = 177, .start_ns = at(50)};
	uint32_t main_thread;
	const struct fperf_ledger *ledger;

	world_new(&world, 200);
	main_thread = thread(&world, 1, GAME_PID, "game");
	world_add(&world, FPERF_RECORD_THREAD, &young);
	off(&world, 77, 60, 70, 70, &waits);
	off(&world, 77, 80, -1, 80, &gone);
	ran(&world, main_thread, 0, 200, stack(&world, "work main"), false);
	ledger = ledger_of(one_frame(main_thread), 77);
	cr_assert_not_null(ledger);
	expect_ms(ledger->state_ns[FPERF_STATE_USER], 20, "ran");
	expect_ms(ledger->state_ns[FPERF_STATE_EVENT], 10, "waited");
	cr_expect_eq(ledger->residual_ns, 0);
	expect_ms(stats_of(world.analysis, 77)->cpu_ns, 20, "CPU time");
}

Test(analyze_timeline, exec_ends_one_life_and_begins_another)
{
	struct fperf_rec_process image = {.id = 9, .pid = GAME_PID, .generation = 1, .target = 1};
	struct fperf_rec_thread again = {.id = 50, .process = 9, .tid = GAME_PID};
	uint32_t before;

	world_new(&world, 200);
	before = thread(&world, 1, GAME_PID, "launcher");
	image.start_ns = at(100);
	image.name = again.name = text(&world, "game");
	again.start_ns = EPOCH_NS;
	world_add(&world, FPERF_RECORD_PROCESS, &image);
	world_add(&world, FPERF_RECORD_THREAD, &again);
	for (int i = 0; i < 10; i++) {
		struct why sleeps = {.syscall = SYS_NANOSLEEP};

		off(&world, i < 5 ? before : 50, i * 20 + 5, i * 20 + 15, i * 20 + 15, &sleeps);
	}
	analyze(&world, NULL);
	expect_ms(stats_of(world.analysis, before)->cpu_ns, 50, "first image");
	expect_ms(stats_of(world.analysis, 50)->cpu_ns, 50, "second image");
	cr_expect_str_eq(stats_of(world.analysis, before)->thread.name, "launcher");
	cr_expect_str_eq(stats_of(world.analysis, 50)->thread.name, "game");
}

Test(analyze_timeline, renamed_thread_has_its_name_of_that_time)
{
	struct fperf_rec_task_event rename = {.event = FPERF_TASK_RENAME, .time_ns = at(150)};
	uint32_t main_thread;

	world_new(&world, 200);
	main_thread = thread(&world, 1, GAME_PID, "early");
	rename.thread = main_thread;
	rename.name = text(&world, "late");
	world_add(&world, FPERF_RECORD_TASK_EVENT, &rename);
	ran(&world, main_thread, 0, 200, stack(&world, "work main"), false);
	off(&world, main_thread, 199, -1, 200, &(struct why){.flags = FPERF_OFFCPU_OPEN_END});
	cr_expect_str_eq(ledger_of(one_frame(main_thread), main_thread)->thread.name, "early");
	cr_expect_str_eq(stats_of(world.analysis, main_thread)->thread.name, "late");
}

/* ---- records that contradict each other ---- */

Test(analyze_timeline, overlapping_and_backward_intervals)
{
	struct why sleeps = {.syscall = SYS_NANOSLEEP};
	const struct fperf_ledger *ledger;
	uint32_t main_thread;
	uint64_t sum = 0;

	world_new(&world, 200);
	main_thread = thread(&world, 1, GAME_PID, "game");
	off(&world, main_thread, 20, 35, 40, &sleeps);
	off(&world, main_thread, 30, 55, 60, &sleeps); /* overlaps */
	off(&world, main_thread, 30, 31, 32, &sleeps); /* the same start */
	off(&world, main_thread, 70, 69, 65, &sleeps); /* ends before it begins */
	off(&world, main_thread, 80, 70, 85, &sleeps); /* woken before it went */
	off(&world, main_thread, 90, 99, 95, &sleeps); /* woken after it ran */
	ledger = ledger_of(one_frame(main_thread), main_thread);
	cr_assert_not_null(ledger);
	for (int state = 0; state < FPERF_STATES; state++) {
		cr_expect_leq(ledger->state_ns[state], 100000000);
		sum += ledger->state_ns[state];
	}
	expect_ms(sum, 100, "whole frame");
	expect_ms(ledger->state_ns[FPERF_STATE_RUNNABLE], 5 + 5, "woken early: runnable for all of it");
	cr_expect_eq(ledger->residual_ns, 0);
}

Test(analyze_timeline, absurd_times_and_ids)
{
	static const uint64_t times[] = {0, 1, EPOCH_NS - 1, EPOCH_NS + 50000000, UINT64_MAX / 2, UINT64_MAX};
	uint32_t main_thread;
	uint64_t wall = 0;

	world_new(&world, 200);
	main_thread = thread(&world, 1, GAME_PID, "game");
	for (size_t i = 0; i < 6 * 6 * 6; i++) {
		struct fperf_rec_offcpu record = {
			.out_ns = times[i % 6],
			.wake_ns = times[i / 6 % 6],
			.in_ns = times[i / 36],
			.thread = i % 5 ? main_thread : UINT32_MAX,
			.state = (uint32_t)i,
			.flags = (uint32_t)(i * 2654435761u),
			.syscall = (int32_t)(i * 40503),
			.waker = i % 3 ? main_thread : UINT32_MAX,
			.next = UINT32_MAX,
			.stack = UINT32_MAX,
		};
		struct fperf_rec_sample sample = {
			.time_ns = times[i % 6],
			.thread = record.thread,
			.stack = (uint32_t)i,
			.period = times[i / 36],
			.cpu = UINT16_MAX,
		};

		world_add(&world, FPERF_RECORD_OFFCPU, &record);
		world_add(&world, FPERF_RECORD_SAMPLE, &sample);
	}
	one_frame(main_thread);
	for (int state = 0; world.analysis->slow[0].ledger_count && state < FPERF_STATES; state++)
		wall += world.analysis->slow[0].ledger[0].state_ns[state];
	cr_expect_leq(wall, 100000000);
	cr_expect_leq(stats_of(world.analysis, main_thread)->cpu_ns, 200000000);
}

/* Threads that claim to have woken each other inside their own waits: the chain ends, fills the frame once.
 */
Test(analyze_timeline, cycle_of_wakers)
{
	uint32_t first, second;
	const struct fperf_slow_frame *slow;
	struct why by_second = {.syscall = SYS_FUTEX, .args = {1, 393, 0}}, by_first = by_second;

	world_new(&world, 200);
	first = thread(&world, 1, GAME_PID, "first");
	second = thread(&world, 1, 101, "second");
	by_second.waker = second;
	by_first.waker = first;
	off(&world, first, 20, 100, 100, &by_second);
	off(&world, second, 15, 105, 105, &by_first);
	slow = &one_frame(first)->slow[0];
	cr_assert_gt(slow->chain_count, 0);
	cr_expect_eq(slow->chain[0].from_ns, at(10));
	for (size_t i = 1; i < slow->chain_count; i++)
		cr_expect_eq(slow->chain[i].from_ns, slow->chain[i - 1].to_ns);
	cr_expect_eq(slow->chain[slow->chain_count - 1].to_ns, at(110));
}

/* ---- missing sources ---- */

Test(analyze_timeline, lost_records_are_residual_not_running)
{
	struct fperf_rec_loss loss = {
		.source = FPERF_SOURCE_SCHED, .reason = FPERF_LOSS_RING_FULL, .count = 5};
	struct why sleeps = {.syscall = SYS_NANOSLEEP};
	uint32_t main_thread;
	const struct fperf_ledger *ledger;

	world_new(&world, 200);
	main_thread = thread(&world, 1, GAME_PID, "game");
	loss.time_ns = at(200);
	world_add(&world, FPERF_RECORD_LOSS, &loss);
	ran(&world, main_thread, 0, 20, stack(&world, "work main"), false);
	off(&world, main_thread, 20, 30, 30, &sleeps);
	off(&world, main_thread, 100, 105, 105, &sleeps); /* between 30 and 100 not one sample */
	ran(&world, main_thread, 105, 200, stack(&world, "work main"), false);
	ledger = ledger_of(one_frame(main_thread), main_thread);
	cr_assert_not_null(ledger);
	expect_ms((uint64_t)ledger->residual_ns, 70, "unknown");
	expect_ms(ledger->state_ns[FPERF_STATE_USER], 15, "running");
	cr_expect_eq(world.analysis->lost[FPERF_SOURCE_SCHED][FPERF_LOSS_RING_FULL], 5);
}

Test(analyze_timeline, without_scheduler_records_only_samples_count)
{
	struct fperf_rec_source sched = {.source = FPERF_SOURCE_SCHED, .state = FPERF_SOURCE_STATE_FAILED};
	uint32_t main_thread;
	const struct fperf_ledger *ledger;

	world_new(&world, 200);
	world_add(&world, FPERF_RECORD_SOURCE, &sched);
	main_thread = thread(&world, 1, GAME_PID, "game");
	ran(&world, main_thread, 10, 50, stack(&world, "work main"), false);
	mark(&world, 10, main_thread);
	mark(&world, 110, main_thread);
	analyze(&world, &(struct fperf_analysis_options){.frame = 0});
	ledger = ledger_of(world.analysis, main_thread);
	cr_assert_not_null(ledger);
	cr_expect_float_eq((double)ledger->state_ns[FPERF_STATE_USER], 40e6, 1.1e6);
	cr_expect_eq((uint64_t)ledger->residual_ns + ledger->state_ns[FPERF_STATE_USER], 100000000);
	expect_ms(stats_of(world.analysis, main_thread)->cpu_ns, 40, "from samples");
}

Test(analyze_timeline, thousands_of_short_threads)
{
	uint32_t main_thread;
	uint64_t sum = 0;

	world_new(&world, 20000);
	main_thread = thread(&world, 1, GAME_PID, "game");
	for (uint32_t i = 0; i < 5000; i++) {
		struct fperf_rec_thread young = {
			.id = 100 + i, .process = 1, .tid = 1000 + i, .start_ns = at(i * 3)};
		struct why gone = {.flags = FPERF_OFFCPU_EXITED};
		struct why starts = {.runnable = true};

		world_add(&world, FPERF_RECORD_THREAD, &young);
		off(&world, young.id, i * 3, -1, i * 3 + 0.5, &starts);
		off(&world, young.id, i * 3 + 2.5, -1, i * 3 + 2.5, &gone);
	}
	for (int i = 0; i < 900; i++)
		mark(&world, i * 16, main_thread);
	analyze(&world, NULL);
	cr_assert_eq(world.analysis->thread_count, 5001);
	for (size_t i = 0; i < world.analysis->thread_count; i++)
		if (world.analysis->threads[i].thread.thread != main_thread)
			sum += world.analysis->threads[i].cpu_ns;
	expect_ms(sum, 5000 * 2, "all of them");
}
