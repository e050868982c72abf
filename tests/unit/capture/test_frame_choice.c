#include "base/clock.h"
#include "capture/frame_choice.h"
#include "capture/frame_process.h"
#include "capture/frame_table.h"

#include <criterion/criterion.h>
#include <string.h>

enum { MAIN = 100, OTHER = 101 };

static struct fperf_frame_count candidate(uint8_t rank, uint32_t tid, uint64_t hits)
{
	return (struct fperf_frame_count){.marker = rank + 1u,
					  .rank = rank,
					  .tid = tid,
					  .hits = hits,
					  .first_ns = FPERF_NS_PER_S,
					  .last_ns = 11 * FPERF_NS_PER_S};
}

#define NOW (11 * FPERF_NS_PER_S)

Test(capture, frame_boundary_is_the_one_nearest_to_the_driver)
{
	/* SDL calls libGL, whose stub calls libGLX */
	struct fperf_frame_count counts[] = {candidate(6, MAIN, 1000), candidate(4, MAIN, 1001),
					     candidate(3, MAIN, 1001)};

	cr_expect_eq(fperf_frame_choose(counts, 3, NOW, false), 2);
}

Test(capture, frame_boundary_must_keep_up_with_the_busiest)
{
	/* a menu drawn by the driver now and then, the game itself by SDL */
	struct fperf_frame_count counts[] = {candidate(0, MAIN, 20), candidate(6, MAIN, 1000)};

	cr_expect_eq(fperf_frame_choose(counts, 2, NOW, false), 1);
	counts[0].hits = 500;
	cr_expect_eq(fperf_frame_choose(counts, 2, NOW, false), 0, "half as often is often enough");
}

Test(capture, frame_boundary_of_another_thread_is_another_picture)
{
	struct fperf_frame_count counts[] = {candidate(0, OTHER, 900), candidate(3, MAIN, 1000)};

	cr_expect_eq(fperf_frame_choose(counts, 2, NOW, false), 1);
}

Test(capture, frame_boundary_waits_for_enough_hits)
{
	struct fperf_frame_count counts[] = {candidate(3, MAIN, 59)};

	cr_expect_eq(fperf_frame_choose(counts, 1, counts[0].first_ns + FPERF_NS_PER_S, false),
		     FPERF_FRAME_NONE);
	counts[0].hits = 60;
	cr_expect_eq(fperf_frame_choose(counts, 1, counts[0].first_ns + FPERF_NS_PER_S, false), 0);
	counts[0].hits = 10; /* a slideshow */
	cr_expect_eq(fperf_frame_choose(counts, 1, counts[0].first_ns + 3 * FPERF_NS_PER_S, false), 0);
	counts[0].hits = 1;
	cr_expect_eq(fperf_frame_choose(counts, 1, NOW, false), FPERF_FRAME_NONE);
	cr_expect_eq(fperf_frame_choose(counts, 1, NOW, true), 0, "at the end one hit must do");
	counts[0].hits = 0;
	cr_expect_eq(fperf_frame_choose(counts, 1, NOW, true), FPERF_FRAME_NONE);
	cr_expect_eq(fperf_frame_choose(counts, 0, NOW, true), FPERF_FRAME_NONE);
}

Test(capture, frame_boundary_can_not_fire_faster_than_frames)
{
	struct fperf_frame_count counts[] = {candidate(0, MAIN, 5000000), candidate(3, MAIN, 1000)};
	char text[160];
	size_t chosen = fperf_frame_choose(counts, 2, NOW, false);

	cr_expect_eq(chosen, 1);
	fperf_frame_explain(counts, 2, chosen, 0, text, sizeof(text));
	cr_expect(strstr(text, "faster than frames"), "%s", text);
}

Test(capture, frame_boundaries_are_explained)
{
	struct fperf_frame_count counts[] = {candidate(3, MAIN, 1000), candidate(4, MAIN, 1000),
					     candidate(1, MAIN, 3), candidate(0, OTHER, 600),
					     candidate(6, MAIN, 0)};
	static const char *const words[] = {"nearest to the driver", "further from the driver",
					    "fired 3 times", "another thread", "never fired"};
	size_t chosen = fperf_frame_choose(counts, 5, NOW, false);
	char text[160];

	cr_assert_eq(chosen, 0);
	for (size_t i = 0; i < 5; i++) {
		fperf_frame_explain(counts, 5, chosen, i, text, sizeof(text));
		cr_expect(strstr(text, words[i]), "%zu: %s", i, text);
	}
	fperf_frame_explain(counts, 1, 0, 0, text, sizeof(text));
	cr_expect(strstr(text, "the only one"), "%s", text);
}

static struct fperf_mark_hits hits(uint64_t count, uint64_t first_ns, uint64_t last_ns)
{
	return (struct fperf_mark_hits){
		.count = count, .first_ns = first_ns, .last_ns = last_ns, .tid = MAIN};
}

/* A splash screen by SDL, then the game by a driver that is loaded later. */
Test(capture, frame_boundary_is_chosen_anew_when_a_candidate_comes)
{
	struct fperf_frame_process process;
	struct fperf_mark_hits first = hits(300, 1, 3 * FPERF_NS_PER_S), second;

	fperf_frame_process__init(&process, 7);
	fperf_frame_process__count(&process, 2, 3, 6, &first);
	cr_assert(fperf_frame_process__choose(&process, 3 * FPERF_NS_PER_S, false));
	cr_expect_eq(process.chosen, 2);
	cr_expect_not(fperf_frame_process__choose(&process, 3 * FPERF_NS_PER_S, false), "already made");
	cr_expect(fperf_frame_process__is_silent(&process, 6 * FPERF_NS_PER_S, 2 * FPERF_NS_PER_S));
	fperf_frame_process__reopen(&process, 6 * FPERF_NS_PER_S);
	first = hits(310, 1, 6 * FPERF_NS_PER_S);
	second = hits(100, 6 * FPERF_NS_PER_S, 7 * FPERF_NS_PER_S);
	fperf_frame_process__count(&process, 2, 3, 6, &first);
	fperf_frame_process__count(&process, 0, 1, 0, &second);
	cr_assert(fperf_frame_process__choose(&process, 7 * FPERF_NS_PER_S, false));
	cr_expect_eq(process.chosen, 0, "what was before does not count");
	cr_expect_not(fperf_frame_process__has_newcomer(&process));
	fperf_frame_process__count(&process, 1, 2, 3, &second);
	cr_expect(fperf_frame_process__has_newcomer(&process));
	fperf_frame_process__free(&process);
}

Test(capture, frame_candidates_are_known_by_library)
{
	size_t count;
	const struct fperf_frame_candidate *table = fperf_frame_table(&count);

	for (size_t i = 0; i < count; i++)
		cr_expect(table[i].surface_arg < 3 || table[i].surface_arg == FPERF_NO_SURFACE, "%zu", i);
	cr_expect(fperf_frame_table__is_vulkan_driver("/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so"));
	cr_expect(fperf_frame_table__is_vulkan_driver("/usr/lib/libGLX_nvidia.so.550.54.14"));
	cr_expect_not(fperf_frame_table__is_vulkan_driver("/usr/lib/x86_64-linux-gnu/libvulkan.so.1.3.239"));
}
