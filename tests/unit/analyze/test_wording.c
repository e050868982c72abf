#include "analyze/verdict.h"

#include <criterion/criterion.h>

#include <stdlib.h>

/* A culprit is told apart from the thread that waited, also where both have one name. */
Test(analyze, wording_tells_threads_of_one_name_apart)
{
	struct fperf_verdict verdict = {
		.cause = FPERF_CAUSE_PREEMPTED,
		.thread = {.thread = 1, .pid = 10, .tid = 10, .name = "game"},
		.place = {.function = "update", .module = "game"},
		.has_by = true,
		.by = {.thread = 2, .pid = 10, .tid = 11, .name = "game"},
		.excess_ns = 20000000,
		.cause_ns = 20000000,
		.frame_excess_ns = 20000000,
	};
	char *text = fperf_verdict__text(&verdict);

	cr_assert_str_eq(
		text, "game was put aside for 20.0 ms in update(), the core went to game (tid 11) → 20 of 20 "
		      "ms explained");
	free(text);

	verdict.by.name = "loader";
	text = fperf_verdict__text(&verdict);
	cr_assert_str_eq(text,
			 "game was put aside for 20.0 ms in update(), the core went to loader → 20 of 20 ms "
			 "explained");
	free(text);
}
