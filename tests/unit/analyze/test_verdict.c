#include "build.h"

/* A game of 60 frames of 16 ms: the render thread (which presents) draws, waits for the logic thread's
 * update, draws again and sleeps until the next frame is due. In frame 30 something goes wrong for 24 ms. */

static struct world world;
static uint32_t render, logic, worker, helper, hog;
static uint32_t draw, wait_update, limiter, update, idle;

enum { FRAMES = 60, SLOW = 30, FAULT_MS = 24 };

static void setup(void)
{
	uint32_t game, other;

	world_new(&world, 3000);
	game = 1;
	render = thread(&world, game, GAME_PID, "Render");
	logic = thread(&world, game, 101, "GameThread");
	worker = thread(&world, game, 102, "Worker3");
	helper = thread(&world, process(&world, HELPER_PID, "server", true), HELPER_PID, "server");
	other = process(&world, 900, "backup", false);
	hog = thread(&world, other, 900, "backup");
	draw = stack(&world, "draw_mesh render_frame main");
	wait_update = stack(&world, "futex_wait_queue do_futex|wait_for_update render_frame main");
	limiter = stack(&world, "hrtimer_nanosleep|limit_rate main");
	update = stack(&world, "move_units update_world logic_main");
	idle = stack(&world, "futex_wait_queue do_futex|wait_for_frame logic_main");
}

static void teardown(void)
{
	world_free(&world);
}

TestSuite(analyze_verdict, .init = setup, .fini = teardown);

static struct why condition(uint32_t of_stack, uint32_t waker)
{
	return (struct why){
		.stack = of_stack, .waker = waker, .syscall = SYS_FUTEX, .args = {0x7100, 393, 0}};
}

/* The logic thread's part: woken by the render thread at start + 1, done at `done`. */
static void logic_idles(double from, double woken)
{
	struct why why = condition(idle, render);

	off(&world, logic, from, woken, woken, &why);
}

/* The render thread's part of a frame whose update is done at `done`. */
static void render_draws(double start, double done, double next)
{
	struct why waits = condition(wait_update, logic);
	struct why sleeps = {.stack = limiter, .syscall = SYS_NANOSLEEP, .flags = FPERF_OFFCPU_WAKER_IRQ};

	mark(&world, start, render);
	ran(&world, render, start, start + 2, draw, false);
	off(&world, render, start + 2, done, done, &waits);
	ran(&world, render, done, done + 2, draw, false);
	if (done + 2 < next)
		off(&world, render, done + 2, next, next, &sleeps);
}

/* Frames of 16 ms up to the slow one, whose update starts at +1 and would end at +8. */
static double ordinary_until_slow(void)
{
	for (int i = 0; i < SLOW; i++) {
		double start = 10 + i * 16;

		render_draws(start, start + 8, start + 16);
		ran(&world, logic, start + 1, start + 8, update, false);
		logic_idles(start + 8, start + 17);
	}
	return 10 + SLOW * 16;
}

static const struct fperf_analysis *ordinary_after(double start)
{
	struct fperf_analysis_options options = {.frame = -1};

	for (int i = SLOW + 1; i < FRAMES; i++, start += 16) {
		render_draws(start, start + 8, start + 16);
		ran(&world, logic, start + 1, start + 8, update, false);
		logic_idles(start + 8, start + 17);
	}
	mark(&world, start, render);
	return analyze(&world, &options);
}

/* The slow frame of the render thread when the update took FAULT_MS longer; returns its end. */
static double slow_frame(double start)
{
	render_draws(start, start + 8 + FAULT_MS, start + 10 + FAULT_MS);
	logic_idles(start + 8 + FAULT_MS, start + 11 + FAULT_MS);
	return start + 10 + FAULT_MS;
}

static void expect_text(const char *actual, const char *expected)
{
	cr_expect_str_eq(actual ? actual : "(null)", expected ? expected : "(null)");
}

static const struct fperf_verdict *the_verdict(const struct fperf_analysis *analysis)
{
	const struct fperf_chain_link *chain;

	cr_assert_eq(analysis->summary.slow, 1, "%lu slow frames", (unsigned long)analysis->summary.slow);
	cr_assert_eq(analysis->slow_count, 1);
	cr_assert_eq(analysis->slow[0].frame, SLOW);
	cr_assert(analysis->slow[0].has_verdict);
	chain = analysis->slow[0].chain;
	cr_assert_gt(analysis->slow[0].chain_count, 0);
	cr_expect_eq(chain[0].from_ns, analysis->frames[SLOW].start_ns);
	for (size_t i = 1; i < analysis->slow[0].chain_count; i++)
		cr_expect_eq(chain[i].from_ns, chain[i - 1].to_ns);
	cr_expect_eq(chain[analysis->slow[0].chain_count - 1].to_ns, analysis->frames[SLOW].end_ns);
	for (size_t i = 0; i < analysis->slow[0].ledger_count; i++) {
		const struct fperf_ledger *ledger = &analysis->slow[0].ledger[i];
		uint64_t sum = 0;

		for (int state = 0; state < FPERF_STATES; state++)
			sum += ledger->state_ns[state];
		cr_expect_eq(sum, analysis->frames[SLOW].end_ns - analysis->frames[SLOW].start_ns, "%s",
			     ledger->thread.name);
		cr_expect_eq(ledger->residual_ns, 0);
	}
	return &analysis->slow[0].verdict;
}

static void expect_verdict(const struct fperf_analysis *analysis, enum fperf_cause cause,
			   const char *thread_name, const char *place)
{
	const struct fperf_verdict *verdict = the_verdict(analysis);

	cr_expect_eq(verdict->cause, cause, "%s: %s", fperf_cause__name(verdict->cause), verdict->text);
	expect_text(verdict->thread.name, thread_name);
	expect_text(verdict->place.function, place);
	cr_expect_gt(verdict->share, 0.9, "share %f", verdict->share);
	cr_expect_leq(verdict->share, 1.0);
	cr_expect_leq(verdict->excess_ns, 18000000); /* 34 ms instead of 16 */
	cr_expect_gt(verdict->excess_ns, 16000000);
	cr_assert_eq(analysis->cause_count, 1);
	cr_expect_eq(analysis->causes[0].cause, cause);
	cr_expect_eq(analysis->causes[0].frames, 1);
}

Test(analyze_verdict, no_fault_no_verdict)
{
	double start = ordinary_until_slow();
	const struct fperf_analysis *analysis;

	render_draws(start, start + 8, start + 16);
	ran(&world, logic, start + 1, start + 8, update, false);
	logic_idles(start + 8, start + 17);
	analysis = ordinary_after(start + 16);
	cr_expect_eq(analysis->summary.timed, FRAMES);
	cr_expect_eq(analysis->slow_count, 0);
	cr_expect_eq(analysis->cause_count, 0);
	cr_expect_eq(analysis->frames[5].active_ns, 10000000, "frame time without the limiter's sleep");
}

Test(analyze_verdict, lock_held_by_another_thread)
{
	uint32_t locked = stack(&world, "futex_wait_queue|?libc spawn_enemies update_world logic_main");
	uint32_t rebuild = stack(&world, "rebuild_navmesh worker_main");
	struct why lock = {.stack = locked, .waker = worker, .syscall = SYS_FUTEX, .args = {0x7200, 128, 2}};
	double start = ordinary_until_slow(), end = slow_frame(start);

	ran(&world, worker, start, start + 3 + FAULT_MS, rebuild, false);
	ran(&world, logic, start + 1, start + 3, update, false);
	off(&world, logic, start + 3, start + 3 + FAULT_MS, start + 3 + FAULT_MS, &lock);
	ran(&world, logic, start + 3 + FAULT_MS, start + 8 + FAULT_MS, update, false);
	expect_verdict(ordinary_after(end), FPERF_CAUSE_LOCK, "GameThread", "spawn_enemies");
	expect_text(world.analysis->slow[0].verdict.by.name, "Worker3");
	expect_text(world.analysis->slow[0].verdict.by_function, "rebuild_navmesh");
	expect_text(world.analysis->slow[0].verdict.leaf.function, "futex_wait_queue");
	expect_text(world.analysis->slow[0].verdict.text,
		    "GameThread waited 24.0 ms for a lock in spawn_enemies(), held by Worker3 in "
		    "rebuild_navmesh() → 18 of 18 ms explained");
}

Test(analyze_verdict, lock_whose_stack_was_skipped)
{
	uint32_t locked = stack(&world, "futex_wait_queue|spawn_enemies update_world logic_main");
	uint32_t kernel_only = stack(&world, "futex_wait_queue|");
	struct why lock = {.stack = locked, .waker = worker, .syscall = SYS_FUTEX, .args = {0x7200, 128, 2}};
	double start = ordinary_until_slow(), end = slow_frame(start);

	ran(&world, logic, start + 1, start + 2, update, false);
	off(&world, logic, start + 2, start + 2.1, start + 2.1, &lock); /* with its stack */
	lock.stack = kernel_only;
	off(&world, logic, start + 3, start + 3 + FAULT_MS, start + 3 + FAULT_MS, &lock);
	ran(&world, logic, start + 3 + FAULT_MS, start + 8 + FAULT_MS, update, false);
	expect_verdict(ordinary_after(end), FPERF_CAUSE_LOCK, "GameThread", "spawn_enemies");
}

Test(analyze_verdict, lock_without_any_stack_names_no_place)
{
	struct why lock = {.waker = worker, .syscall = SYS_FUTEX, .args = {0x7200, 128, 2}};
	double start = ordinary_until_slow(), end = slow_frame(start);

	ran(&world, logic, start + 1, start + 3, update, false);
	off(&world, logic, start + 3, start + 3 + FAULT_MS, start + 3 + FAULT_MS, &lock);
	ran(&world, logic, start + 3 + FAULT_MS, start + 8 + FAULT_MS, update, false);
	expect_verdict(ordinary_after(end), FPERF_CAUSE_LOCK, "GameThread", NULL);
}

Test(analyze_verdict, more_work_on_the_logic_thread)
{
	uint32_t work = stack(&world, "?libm find_paths update_world logic_main");
	double start = ordinary_until_slow(), end = slow_frame(start);

	ran(&world, logic, start + 1, start + 4, update, false);
	ran(&world, logic, start + 4, start + 4 + FAULT_MS, work, false);
	ran(&world, logic, start + 4 + FAULT_MS, start + 8 + FAULT_MS, update, false);
	expect_verdict(ordinary_after(end), FPERF_CAUSE_CPU, "GameThread", "find_paths");
	cr_expect_not(world.analysis->slow[0].verdict.has_by);
}

Test(analyze_verdict, more_work_spread_over_callees_names_their_caller)
{
	double start = ordinary_until_slow(), end = slow_frame(start);
	char names[64];

	ran(&world, logic, start + 1, start + 4, update, false);
	for (int i = 0; i < FAULT_MS; i++) {
		snprintf(names, sizeof(names), "step_%d find_paths update_world logic_main", i % 6);
		ran(&world, logic, start + 4 + i, start + 5 + i, stack(&world, names), false);
	}
	ran(&world, logic, start + 4 + FAULT_MS, start + 8 + FAULT_MS, update, false);
	expect_verdict(ordinary_after(end), FPERF_CAUSE_CPU, "GameThread", "find_paths");
}

Test(analyze_verdict, more_work_on_the_presenting_thread)
{
	uint32_t work = stack(&world, "sort_particles render_frame main");
	struct why sleeps = {.stack = limiter, .syscall = SYS_NANOSLEEP};
	struct why waits = condition(wait_update, logic);
	double start = ordinary_until_slow(), end = start + 34;

	mark(&world, start, render);
	ran(&world, render, start, start + 2, draw, false);
	off(&world, render, start + 2, start + 8, start + 8, &waits);
	ran(&world, render, start + 8, start + 32, work, false);
	ran(&world, render, start + 32, end, draw, false);
	(void)sleeps;
	ran(&world, logic, start + 1, start + 8, update, false);
	logic_idles(start + 8, end + 1);
	expect_verdict(ordinary_after(end), FPERF_CAUSE_CPU, "Render", "sort_particles");
}

/* The logic thread works 7 ms in every frame in the shadow of drawing; when a lock of 10 ms makes the render
 * thread wait for all of it, that work is not the cause. */
Test(analyze_verdict, usual_work_that_comes_into_the_chain_is_not_blamed)
{
	uint32_t locked = stack(&world, "futex_wait_queue|spawn_enemies update_world logic_main");
	struct why lock = {.stack = locked, .waker = worker, .syscall = SYS_FUTEX, .args = {0x7200, 128, 2}};
	struct why waits = condition(wait_update, logic), wakes = condition(idle, render);
	double start = 10;

	for (int i = 0; i < FRAMES; i++) {
		double done = start + (i == SLOW ? 24 : 13), end = start + (i == SLOW ? 26 : 14);

		mark(&world, start, render);
		ran(&world, render, start, start + (i == SLOW ? 2 : 12), draw, false);
		off(&world, render, start + (i == SLOW ? 2 : 12), done, done, &waits);
		ran(&world, render, done, end, draw, false);
		ran(&world, logic, start, start + 6, update, false);
		if (i == SLOW)
			off(&world, logic, start + 6, start + 16, start + 16, &lock);
		ran(&world, logic, i == SLOW ? start + 16 : start + 6, done, update, false);
		off(&world, logic, done, end, end, &wakes);
		start = end;
	}
	mark(&world, start, render);
	analyze(&world, NULL);
	cr_expect_eq(the_verdict(world.analysis)->cause, FPERF_CAUSE_LOCK, "%s",
		     world.analysis->slow[0].verdict.text);
	expect_text(world.analysis->slow[0].verdict.place.function, "spawn_enemies");
}

static void blocked_logic(const struct why *why, double wake, double in)
{
	double start = ordinary_until_slow(), end = slow_frame(start);

	ran(&world, logic, start + 1, start + 3, update, false);
	off(&world, logic, start + 3, wake < 0 ? -1 : start + wake, start + in, why);
	ran(&world, logic, start + 3 + FAULT_MS, start + 8 + FAULT_MS, update, false);
	ordinary_after(end);
}

Test(analyze_verdict, file_read)
{
	uint32_t reads = stack(&world, "folio_wait_bit_common filemap_read vfs_read do_syscall_64|load_level "
				       "update_world logic_main");
	struct why why = {.stack = reads, .state = 2, .syscall = FAKE_READ, .flags = FPERF_OFFCPU_IOWAIT};

	blocked_logic(&why, 3 + FAULT_MS, 3 + FAULT_MS);
	expect_verdict(world.analysis, FPERF_CAUSE_IO, "GameThread", "load_level");
}

Test(analyze_verdict, page_fault_that_reads)
{
	uint32_t faults = stack(&world, "folio_wait_bit_common filemap_fault handle_mm_fault exc_page_fault|"
					"touch_texture update_world logic_main");
	struct why why = {.stack = faults, .state = 2, .flags = FPERF_OFFCPU_IOWAIT};

	blocked_logic(&why, 3 + FAULT_MS, 3 + FAULT_MS);
	expect_verdict(world.analysis, FPERF_CAUSE_FAULT, "GameThread", "touch_texture");
}

Test(analyze_verdict, page_faults_on_the_core)
{
	uint32_t faults =
		stack(&world, "clear_page handle_mm_fault exc_page_fault|touch_texture update_world "
			      "logic_main");
	double start = ordinary_until_slow(), end = slow_frame(start);

	ran(&world, logic, start + 1, start + 3, update, false);
	ran(&world, logic, start + 3, start + 3 + FAULT_MS, faults, true);
	ran(&world, logic, start + 3 + FAULT_MS, start + 8 + FAULT_MS, update, false);
	expect_verdict(ordinary_after(end), FPERF_CAUSE_FAULT, "GameThread", "touch_texture");
}

Test(analyze_verdict, sleep_is_told_from_the_limiter)
{
	uint32_t sleeps = stack(&world, "hrtimer_nanosleep|retry_later update_world logic_main");
	struct why why = {.stack = sleeps, .syscall = SYS_NANOSLEEP, .flags = FPERF_OFFCPU_WAKER_IRQ};

	blocked_logic(&why, 3 + FAULT_MS, 3 + FAULT_MS);
	expect_verdict(world.analysis, FPERF_CAUSE_SLEEP, "GameThread", "retry_later");
}

Test(analyze_verdict, sleep_on_the_thread_that_paces)
{
	struct why paces = {.stack = limiter, .syscall = SYS_NANOSLEEP};
	struct why bad = {.stack = stack(&world, "hrtimer_nanosleep|retry_later main"),
			  .syscall = SYS_NANOSLEEP};
	double start = 10;

	for (int i = 0; i < FRAMES; i++) {
		double end = start + (i == SLOW ? 24 : 16);

		mark(&world, start, render);
		ran(&world, render, start, start + 4, draw, false);
		if (i == SLOW)
			off(&world, render, start + 4, end, end, &bad); /* 20 ms, in place of 12 of pacing */
		else
			off(&world, render, start + 4, end, end, &paces);
		start = end;
	}
	mark(&world, start, render);
	analyze(&world, NULL);
	cr_expect_eq(the_verdict(world.analysis)->cause, FPERF_CAUSE_SLEEP);
	expect_text(world.analysis->slow[0].verdict.place.function, "retry_later");
	cr_expect_eq(world.analysis->slow[0].verdict.excess_ns, 8000000);
	cr_expect_float_eq(world.analysis->slow[0].verdict.share, 1, 1e-6);
}

Test(analyze_verdict, gpu)
{
	uint32_t waits =
		stack(&world, "dma_fence_default_wait drm_syncobj_wait_ioctl|upload_texture update_world "
			      "logic_main");
	struct why why = {.stack = waits, .syscall = 16};

	blocked_logic(&why, 3 + FAULT_MS, 3 + FAULT_MS);
	expect_verdict(world.analysis, FPERF_CAUSE_GPU, "GameThread", "upload_texture");
}

Test(analyze_verdict, answer_of_another_process)
{
	uint32_t asks = stack(&world, "pipe_read vfs_read|ask_server update_world logic_main");
	struct why why = {.stack = asks, .syscall = FAKE_READ, .waker = helper};
	double start = ordinary_until_slow(), end = slow_frame(start);

	ran(&world, logic, start + 1, start + 3, update, false);
	off(&world, logic, start + 3, start + 3 + FAULT_MS, start + 3 + FAULT_MS, &why);
	ran(&world, helper, start + 3, start + 3 + FAULT_MS, stack_of(&world, 2, "slow_answer serve"), false);
	ran(&world, logic, start + 3 + FAULT_MS, start + 8 + FAULT_MS, update, false);
	expect_verdict(ordinary_after(end), FPERF_CAUSE_EVENT, "GameThread", "ask_server");
	expect_text(world.analysis->slow[0].verdict.by.name, "server");
	cr_expect_eq(world.analysis->slow[0].verdict.by.pid, HELPER_PID);
	expect_text(world.analysis->slow[0].verdict.by_function, "slow_answer");
	expect_text(
		world.analysis->slow[0].verdict.text,
		"GameThread waited 24.0 ms for an event in ask_server(), which came from server (pid 200) in "
		"slow_answer() → 18 of 18 ms explained");
}

Test(analyze_verdict, core_taken_by_another_task)
{
	struct why why = {
		.stack = stack(&world, "asm_sysvec_apic_timer_interrupt|move_units update_world logic_main"),
		.runnable = true,
		.flags = FPERF_OFFCPU_PREEMPTED,
		.next = hog};

	blocked_logic(&why, -1, 3 + FAULT_MS);
	expect_verdict(world.analysis, FPERF_CAUSE_PREEMPTED, "GameThread", "move_units");
	expect_text(world.analysis->slow[0].verdict.by.name, "backup");
	cr_expect_null(world.analysis->slow[0].verdict.by_function);
}

Test(analyze_verdict, preempted_without_a_stack_uses_samples_around)
{
	struct why why = {.runnable = true, .flags = FPERF_OFFCPU_PREEMPTED, .next = hog};

	blocked_logic(&why, -1, 3 + FAULT_MS);
	expect_verdict(world.analysis, FPERF_CAUSE_PREEMPTED, "GameThread", "move_units");
}

Test(analyze_verdict, woken_but_not_run)
{
	struct why why = {.stack = stack(&world, "hrtimer_nanosleep|nap update_world logic_main"),
			  .syscall = SYS_NANOSLEEP,
			  .prev = hog};

	blocked_logic(&why, 3.1, 3 + FAULT_MS);
	expect_verdict(world.analysis, FPERF_CAUSE_RUN_QUEUE, "GameThread", "nap");
	expect_text(world.analysis->slow[0].verdict.by.name, "backup");
}

/* The task next to the wait ran for an instant; a thread of the target had that core for most of it. */
Test(analyze_verdict, core_kept_by_another_thread_of_the_target)
{
	uint32_t scan = stack(&world, "scan_everything worker_main");
	struct why why = {.stack = stack(&world, "hrtimer_nanosleep|nap update_world logic_main"),
			  .syscall = SYS_NANOSLEEP,
			  .prev = hog};
	struct why sleeps = {.syscall = SYS_NANOSLEEP};
	double start = ordinary_until_slow(), end = slow_frame(start);

	off(&world, worker, 0, start + 2, start + 2, &sleeps);
	ran(&world, worker, start + 2, start + 2.5 + FAULT_MS, scan, false);
	off(&world, worker, start + 2.5 + FAULT_MS, 2900, 2900, &sleeps);
	ran(&world, logic, start + 1, start + 3, update, false);
	off(&world, logic, start + 3, start + 3.1, start + 3 + FAULT_MS, &why);
	ran(&world, logic, start + 3 + FAULT_MS, start + 8 + FAULT_MS, update, false);
	expect_verdict(ordinary_after(end), FPERF_CAUSE_RUN_QUEUE, "GameThread", "nap");
	expect_text(world.analysis->slow[0].verdict.by.name, "Worker3");
	expect_text(world.analysis->slow[0].verdict.by_function, "scan_everything");
}

/* Without a kernel stack: who sleeps uninterruptibly in no system call handles a page fault. */
Test(analyze_verdict, short_page_faults_have_no_kernel_stack)
{
	uint32_t touches = stack(&world, "touch_texture update_world logic_main");
	struct why why = {.stack = touches, .state = 2, .flags = FPERF_OFFCPU_IOWAIT};
	double start = ordinary_until_slow(), end = slow_frame(start);

	ran(&world, logic, start + 1, start + 3, update, false);
	for (int i = 0; i < FAULT_MS; i++)
		off(&world, logic, start + 3 + i, start + 3.98 + i, start + 3.98 + i, &why);
	ran(&world, logic, start + 3 + FAULT_MS, start + 8 + FAULT_MS, update, false);
	expect_verdict(ordinary_after(end), FPERF_CAUSE_FAULT, "GameThread", "touch_texture");
}

Test(analyze_verdict, chain_goes_on_across_three_threads)
{
	uint32_t waits = stack(&world, "futex_wait_queue|wait_for_jobs update_world logic_main");
	struct why jobs = condition(waits, worker);
	double start = ordinary_until_slow(), end = slow_frame(start);
	const struct fperf_slow_frame *slow;
	bool seen_worker = false;

	ran(&world, logic, start + 1, start + 3, update, false);
	off(&world, logic, start + 3, start + 3 + FAULT_MS, start + 3 + FAULT_MS, &jobs);
	ran(&world, worker, start + 2, start + 3 + FAULT_MS, stack(&world, "cook_mesh worker_main"), false);
	ran(&world, logic, start + 3 + FAULT_MS, start + 8 + FAULT_MS, update, false);
	expect_verdict(ordinary_after(end), FPERF_CAUSE_CPU, "Worker3", "cook_mesh");
	slow = &world.analysis->slow[0];
	for (size_t i = 0; i < slow->chain_count; i++)
		seen_worker |= slow->chain[i].thread.thread == worker;
	cr_expect(seen_worker);
}

/* Whichever worker of a pool takes the long job, it is compared with what the pool does ordinarily. */
Test(analyze_verdict, pool_workers_are_compared_with_each_other)
{
	uint32_t other_worker = thread(&world, 1, 103, "Worker12");
	uint32_t waits = stack(&world, "futex_wait_queue|wait_for_jobs main");
	uint32_t job = stack(&world, "cook_mesh worker_main"),
		 bad = stack(&world, "cook_terrain worker_main");
	struct why idles = condition(stack(&world, "futex_wait_queue|next_job worker_main"), render);
	double start = 10;

	for (int i = 0; i < FRAMES; i++) {
		uint32_t on = i % 2 ? worker : other_worker;
		struct why jobs = condition(waits, on);
		double done = start + (i == SLOW ? 30 : 10);

		mark(&world, start, render);
		ran(&world, render, start, start + 1, draw, false);
		off(&world, render, start + 1, done, done, &jobs);
		ran(&world, render, done, done + 2, draw, false);
		ran(&world, on, start + 1, start + 10, job, false);
		if (i == SLOW)
			ran(&world, on, start + 10, done, bad, false);
		off(&world, on == worker ? other_worker : worker, start + 1, done + 3, done + 3, &idles);
		start = done + 2;
	}
	mark(&world, start, render);
	analyze(&world, NULL);
	cr_expect_eq(the_verdict(world.analysis)->cause, FPERF_CAUSE_CPU);
	expect_text(world.analysis->slow[0].verdict.thread.name, "Worker12");
	expect_text(world.analysis->slow[0].verdict.place.function, "cook_terrain");
}

Test(analyze_verdict, slower_clock)
{
	double start = 10;

	for (int i = 0; i < FRAMES; i++) {
		double end = start + (i == SLOW ? 32 : 16);
		struct fperf_rec_freq freq = {.time_ns = at(start), .khz = i == SLOW ? 1000000 : 2000000};
		struct why blink = {.stack = limiter, .syscall = SYS_NANOSLEEP};

		world_add(&world, FPERF_RECORD_FREQ, &freq);
		mark(&world, start, render);
		ran(&world, render, start, end, draw, false);
		off(&world, render, end - 0.1, end - 0.05, end, &blink);
		start = end;
	}
	mark(&world, start, render);
	analyze(&world, NULL);
	cr_expect_eq(the_verdict(world.analysis)->cause, FPERF_CAUSE_FREQUENCY, "%s",
		     world.analysis->slow[0].verdict.text);
	cr_expect_gt(world.analysis->slow[0].verdict.share, 0.9);
	cr_assert_eq(world.analysis->freq_count, 1);
	cr_expect_eq(world.analysis->freq[0].transitions, 2);
	cr_expect_gt(world.analysis->freq[0].mean_khz, 1900000);
	cr_expect_float_eq(world.analysis->freq[0].time_below_max_share, 0.032 / 2.99, 0.002);
}

Test(analyze_verdict, unexplained_stays_unknown)
{
	struct why why = {.stack = stack(&world, "something_new|odd_call update_world logic_main"),
			  .state = 2};

	blocked_logic(&why, 3 + FAULT_MS, 3 + FAULT_MS);
	cr_expect_eq(the_verdict(world.analysis)->cause, FPERF_CAUSE_UNKNOWN);
	cr_expect_null(world.analysis->slow[0].verdict.place.function);
}

Test(analyze_verdict, causes_below_a_third_are_not_invented)
{
	static const char *const names[] = {"hrtimer_nanosleep|a logic_main", "pipe_read|b logic_main",
					    "jbd2_log_wait_commit|c logic_main",
					    "dma_fence_wait|d logic_main"};
	double start = ordinary_until_slow(), end = slow_frame(start);

	ran(&world, logic, start + 1, start + 8, update, false);
	for (int i = 0; i < 4; i++) {
		struct why why = {.stack = stack(&world, names[i]), .flags = FPERF_OFFCPU_WAKER_IRQ};

		off(&world, logic, start + 8 + i * 6, start + 13.9 + i * 6, start + 13.9 + i * 6, &why);
	}
	ordinary_after(end);
	cr_expect_lt(the_verdict(world.analysis)->share, 0.34);
	cr_expect_eq(world.analysis->slow[0].verdict.cause, FPERF_CAUSE_UNKNOWN);
}

/* The limiter hides a late frame from the frame time: 20 ms is under 1.5 times 16, but its work took longer
 * than a whole frame has. */
Test(analyze_verdict, late_work_under_a_limiter_is_found)
{
	uint32_t work = stack(&world, "find_paths update_world logic_main");
	double start = ordinary_until_slow();

	render_draws(start, start + 18.5, start + 20.5);
	ran(&world, logic, start + 1, start + 4, update, false);
	ran(&world, logic, start + 4, start + 18.5, work, false);
	logic_idles(start + 18.5, start + 21.5);
	ordinary_after(start + 20.5);
	cr_expect_lt(world.analysis->frames[SLOW].end_ns - world.analysis->frames[SLOW].start_ns,
		     world.analysis->summary.budget_ns);
	cr_expect_eq(the_verdict(world.analysis)->cause, FPERF_CAUSE_CPU);
	expect_text(world.analysis->slow[0].verdict.place.function, "find_paths");
}

Test(analyze_verdict, frame_asked_for_has_details_without_a_verdict)
{
	struct fperf_analysis_options options = {.frame = 5};
	double start = 10;

	for (int i = 0; i < 20; i++, start += 16) {
		render_draws(start, start + 8, start + 16);
		ran(&world, logic, start + 1, start + 8, update, false);
		logic_idles(start + 8, start + 17);
	}
	mark(&world, start, render);
	analyze(&world, &options);
	cr_assert_eq(world.analysis->slow_count, 1);
	cr_expect_eq(world.analysis->slow[0].frame, 5);
	cr_expect_not(world.analysis->slow[0].has_verdict);
	cr_expect_null(world.analysis->slow[0].verdict.text);
	cr_expect_gt(world.analysis->slow[0].chain_count, 2);
	cr_expect_eq(world.analysis->summary.slow, 0);
	cr_expect_eq(world.analysis->cause_count, 0);
}

Test(analyze_verdict, only_the_worst_get_details)
{
	struct fperf_analysis_options options = {.frame = -1, .worst = 2};
	double start = 10;

	for (int i = 0; i < 40; i++) {
		double longer = i % 10 == 9 ? i : 0;

		mark(&world, start, render);
		ran(&world, render, start, start + 10 + longer, draw, false);
		start += 10 + longer;
	}
	mark(&world, start, render);
	analyze(&world, &options);
	cr_assert_eq(world.analysis->slow_count, 4);
	cr_expect_eq(world.analysis->slow[0].chain_count, 0);
	cr_expect_eq(world.analysis->slow[1].chain_count, 0);
	cr_expect_gt(world.analysis->slow[2].chain_count, 0);
	cr_expect_gt(world.analysis->slow[3].chain_count, 0);
	cr_expect(world.analysis->slow[0].has_verdict);
}

Test(analyze_verdict, session_of_slow_frames_only)
{
	struct fperf_analysis_options options = {.frame = -1, .budget_ns = 1000000};

	for (int i = 0; i < 5; i++)
		mark(&world, 10 + i * 16, render);
	analyze(&world, &options);
	cr_assert_eq(world.analysis->slow_count, 4);
	cr_expect_eq(world.analysis->slow[0].verdict.cause, FPERF_CAUSE_UNKNOWN);
	cr_expect_not_null(world.analysis->slow[0].verdict.text);
}
