#include "build.h"

#include "analyze/stats.h"

#include <math.h>

static struct world world;

static void teardown(void)
{
	world_free(&world);
}

TestSuite(analyze_series, .fini = teardown);

/* A game with these frame times, presented by one thread that only runs. */
static const struct fperf_analysis *game_of(const double *frame_ms, size_t count,
					    const struct fperf_analysis_options *options)
{
	double now = 10;
	uint32_t main_thread;

	world_new(&world, 1e6);
	main_thread = thread(&world, 1, GAME_PID, "game");
	mark(&world, now, main_thread);
	for (size_t i = 0; i < count; i++) {
		now += frame_ms[i];
		mark(&world, now, main_thread);
	}
	return analyze(&world, options);
}

Test(analyze_series, fps_is_frames_over_time)
{
	double frames[400];
	const struct fperf_analysis *analysis;

	for (size_t i = 0; i < 400; i++)
		frames[i] = i % 2 ? 4 : 1;
	analysis = game_of(frames, 400, NULL);
	cr_expect_eq(analysis->summary.count, 401, "presents, one more than the times between them");
	cr_expect_eq(analysis->summary.timed, 400);
	cr_expect_float_eq(analysis->summary.fps_mean, 400, 0.01);
	cr_expect_eq(analysis->summary.duration_ns, 1000000000);
	cr_expect_str_eq(analysis->summary.marker, "libGLX.so.0:glXSwapBuffers");
}

Test(analyze_series, lows_are_one_over_the_mean_of_the_slowest)
{
	double frames[1000];
	const struct fperf_analysis *analysis;

	for (size_t i = 0; i < 1000; i++)
		frames[i] = i == 500 ? 200 : i % 100 == 7 ? 50 : 10;
	analysis =
		game_of(frames, 1000, NULL); /* ten of 50 ms, one of 200 ms: slowest ten are 200 + 9 × 50 */
	cr_expect_float_eq(analysis->summary.low_1pct_fps, 10 * 1000.0 / (200 + 9 * 50), 1e-6);
	cr_expect_float_eq(analysis->summary.low_01pct_fps, 5, 1e-6);
	cr_expect_eq(analysis->summary.time.p50, 10000000);
	cr_expect_eq(analysis->summary.time.p99, 50000000);
	cr_expect_eq(analysis->summary.time.max, 200000000);
	cr_expect_eq(analysis->summary.slow, 11);
	cr_expect_eq(analysis->summary.jank, 1);
	cr_expect_eq(analysis->summary.big_jank, 1);
}

Test(analyze_series, low_of_few_frames_takes_one)
{
	const double frames[] = {10, 10, 20};
	const struct fperf_analysis *analysis = game_of(frames, 3, NULL);

	cr_expect_float_eq(analysis->summary.low_1pct_fps, 50, 1e-6);
	cr_expect_float_eq(analysis->summary.low_01pct_fps, 50, 1e-6);
}

static void expect_no_frames(const struct fperf_analysis *analysis)
{
	cr_expect_eq(analysis->frame_count, 0);
	cr_expect_eq(analysis->slow_count, 0);
	cr_expect_eq(analysis->summary.count, 0);
	cr_expect_eq(analysis->summary.fps_mean, 0);
	cr_expect_eq(analysis->summary.low_1pct_fps, 0);
	cr_expect_eq(analysis->summary.hitches_per_min, 0);
	cr_expect_not(isnan(analysis->summary.low_01pct_fps));
}

Test(analyze_series, empty_session)
{
	world = (struct world){.session = fperf_session__new()};
	expect_no_frames(analyze(&world, NULL));
	cr_expect_eq(world.analysis->thread_count, 0);
	cr_expect_eq(world.analysis->hot_count, 0);
	cr_expect_eq(world.analysis->samples, 0);
}

Test(analyze_series, no_mark)
{
	world_new(&world, 100);
	thread(&world, 1, GAME_PID, "game");
	expect_no_frames(analyze(&world, NULL));
}

Test(analyze_series, one_mark)
{
	expect_no_frames(game_of(NULL, 0, NULL));
}

Test(analyze_series, two_marks)
{
	const double frames[] = {16};
	const struct fperf_analysis *analysis = game_of(frames, 1, NULL);

	cr_expect_eq(analysis->summary.count, 2);
	cr_expect_float_eq(analysis->summary.fps_mean, 62.5, 1e-6);
	cr_expect_eq(analysis->summary.slow, 0);
	cr_expect_eq(analysis->summary.jank, 0);
}

Test(analyze_series, equal_times_are_anomalies_not_frames)
{
	const double frames[] = {16, 0, 16, 0, 0, 16};
	const struct fperf_analysis *analysis = game_of(frames, 6, NULL);

	cr_expect_eq(analysis->summary.timed, 3);
	cr_expect_eq(analysis->summary.time_anomalies, 3);
}

Test(analyze_series, main_surface_is_the_one_with_most_frames)
{
	uint32_t main_thread;
	const struct fperf_analysis *analysis;

	world_new(&world, 1000);
	main_thread = thread(&world, 1, GAME_PID, "game");
	for (int i = 0; i < 20; i++)
		mark_at(&world, 10 + i * 16, main_thread, 0xabc);
	for (int i = 0; i < 7; i++)
		mark_at(&world, 15 + i * 50, main_thread, 0xdef);
	analysis = analyze(&world, NULL);
	cr_expect_eq(analysis->summary.timed, 19);
	cr_expect_str_eq(analysis->summary.surface, "0xabc");
	cr_expect_eq(analysis->summary.time_anomalies, 0);
}

Test(analyze_series, equal_surfaces_of_two_processes_are_two_series)
{
	uint32_t first, second;

	world_new(&world, 1000);
	first = thread(&world, 1, GAME_PID, "game");
	second = thread(&world, process(&world, HELPER_PID, "other", true), HELPER_PID, "other");
	for (int i = 0; i < 20; i++)
		mark(&world, 10 + i * 16, first);
	for (int i = 0; i < 10; i++)
		mark(&world, 15 + i * 16, second);
	cr_expect_eq(analyze(&world, NULL)->summary.timed, 19);
	cr_expect_eq(world.analysis->frames[3].thread, first);
}

Test(analyze_series, without_a_choice_the_lowest_plausible_rank_counts)
{
	struct fperf_rec_marker rare = {.id = 2, .rank = 0, .surface_arg = 255},
				stub = {.id = 3, .rank = 2, .surface_arg = 255},
				driver = {.id = 4, .rank = 1, .surface_arg = 255};
	uint32_t main_thread;

	world_new(&world, 1000);
	main_thread = thread(&world, 1, GAME_PID, "game");
	rare.symbol = text(&world, "rare");
	stub.symbol = text(&world, "stub");
	driver.symbol = text(&world, "driver");
	world_add(&world, FPERF_RECORD_MARKER, &rare);
	world_add(&world, FPERF_RECORD_MARKER, &stub);
	world_add(&world, FPERF_RECORD_MARKER, &driver);
	for (int i = 0; i < 30; i++) {
		struct fperf_rec_mark record = {
			.time_ns = at(10 + i * 16), .thread = main_thread, .marker = 3};

		world_add(&world, FPERF_RECORD_MARK, &record);
		record.marker = 4;
		record.time_ns += 1000;
		world_add(&world, FPERF_RECORD_MARK, &record);
		record.marker = 2;
		if (i < 10)
			world_add(&world, FPERF_RECORD_MARK, &record);
	}
	cr_expect_eq(analyze(&world, NULL)->summary.timed, 29);
	cr_expect_str_eq(world.analysis->summary.marker, "driver");
}

Test(analyze_series, window_keeps_whole_frames_inside)
{
	struct fperf_analysis_options options = {.frame = -1, .from_ns = at(30), .to_ns = at(75)};
	const double frames[] = {16, 16, 16, 16, 16};
	const struct fperf_analysis *analysis = game_of(frames, 5, &options);

	cr_assert_eq(analysis->frame_count, 2); /* 42..58 and 58..74 */
	cr_expect_eq(analysis->frames[0].start_ns, at(42));
}

/* ---- budget ---- */

static uint64_t slow_of(const double *frames, size_t count)
{
	return game_of(frames, count, NULL)->summary.slow;
}

Test(analyze_series, jitter_of_a_capped_game_is_not_slow)
{
	double frames[300];

	for (size_t i = 0; i < 300; i++)
		frames[i] = 8.33 + 1.5 * sin((double)i * 1.7);
	frames[100] = 14;
	cr_expect_eq(slow_of(frames, 300), 1);
	cr_expect(world.analysis->summary.budget_chosen);
}

Test(analyze_series, jitter_of_a_very_fast_game_is_not_slow)
{
	double frames[2000];

	for (size_t i = 0; i < 2000; i++)
		frames[i] = 0.5 + 0.4 * sin((double)i * 1.7) + (i % 200 == 0 ? 1 : 0);
	frames[1000] = 4;
	cr_expect_eq(slow_of(frames, 2000), 1);
}

Test(analyze_series, alternating_refreshes_are_not_slow)
{
	double frames[300];

	for (size_t i = 0; i < 300; i++)
		frames[i] = i % 2 ? 33.3 : 16.7;
	frames[100] = 50;
	cr_expect_eq(slow_of(frames, 300), 1);
}

Test(analyze_series, one_loading_screen_does_not_set_the_budget)
{
	double frames[300];

	for (size_t i = 0; i < 300; i++)
		frames[i] = i % 50 == 3 ? 40 : 16.7;
	frames[10] = 20000;
	cr_expect_eq(slow_of(frames, 300), 7);
}

Test(analyze_series, menu_frames_do_not_make_the_game_slow)
{
	double frames[3000];

	for (size_t i = 0; i < 3000; i++)
		frames[i] = i < 2000 ? 0.7 : 16.7; /* more menu frames, more game time */
	cr_expect_eq(slow_of(frames, 3000), 0);
}

Test(analyze_series, given_budget_is_used_as_it_is)
{
	struct fperf_analysis_options options = {.frame = -1, .budget_ns = 15000000};
	const double frames[] = {16, 14, 16, 14, 15};

	cr_expect_eq(game_of(frames, 5, &options)->summary.slow, 2);
	cr_expect_eq(world.analysis->summary.budget_ns, 15000000);
	cr_expect_not(world.analysis->summary.budget_chosen);
}

Test(analyze_series, hitches_per_minute)
{
	double frames[600];

	for (size_t i = 0; i < 600; i++)
		frames[i] = i % 100 == 99 ? 50 : 10;
	game_of(frames, 600, NULL);
	cr_expect_float_eq(world.analysis->summary.hitches_per_min, 6 * 60 / (594 * 0.01 + 6 * 0.05), 1e-6);
}

/* ---- stats ---- */

Test(analyze_stats, percentile_is_nearest_rank)
{
	const uint64_t values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

	cr_expect_eq(fperf_stats__percentile(values, 10, 500), 5);
	cr_expect_eq(fperf_stats__percentile(values, 10, 900), 9);
	cr_expect_eq(fperf_stats__percentile(values, 10, 901), 10);
	cr_expect_eq(fperf_stats__percentile(values, 10, 0), 1);
	cr_expect_eq(fperf_stats__percentile(values, 10, 1000), 10);
	cr_expect_eq(fperf_stats__percentile(values, 1, 990), 1);
	cr_expect_eq(fperf_stats__percentile(NULL, 0, 500), 0);
}

Test(analyze_stats, sums_do_not_overflow)
{
	const uint64_t values[] = {UINT64_MAX, UINT64_MAX, UINT64_MAX - 3};

	cr_expect_eq(fperf_stats__mean(values, 3), UINT64_MAX - 1);
	cr_expect_eq(fperf_stats__mean(NULL, 0), 0);
	cr_expect_eq(fperf_stats__time_median(values, 3, UINT64_MAX), UINT64_MAX);
	cr_expect_eq(fperf_stats__time_median(NULL, 0, 5), 0);
}
