#include "capture/flight_plan.h"

#include <criterion/criterion.h>

#define S 1000000000ull

TestSuite(capture_flight_plan);

static struct fperf_flight_plan plan_of(uint64_t post_s, uint64_t cooldown_s, uint32_t limit)
{
	return (struct fperf_flight_plan){
		.options = {.post_ns = post_s * S, .cooldown_ns = cooldown_s * S, .limit = limit}};
}

Test(capture_flight_plan, a_session_is_written_after_the_post_roll)
{
	struct fperf_flight_plan plan = plan_of(2, 30, 0);

	cr_assert_not(fperf_flight_plan__is_due(&plan, 100 * S));
	cr_assert_eq(fperf_flight_plan__fire(&plan, 100 * S), FPERF_FLIGHT_BEGINS);
	cr_assert_eq(plan.number, 1);
	cr_assert_not(fperf_flight_plan__is_due(&plan, 102 * S - 1));
	cr_assert_eq(fperf_flight_plan__fire(&plan, 101 * S), FPERF_FLIGHT_JOINS);
	cr_assert(fperf_flight_plan__is_due(&plan, 102 * S));
	fperf_flight_plan__written(&plan);
	cr_assert_not(fperf_flight_plan__is_due(&plan, 103 * S));
}

Test(capture_flight_plan, a_storm_leads_to_one_session_per_cool_down)
{
	struct fperf_flight_plan plan = plan_of(2, 30, 0);
	uint32_t begun = 0;

	for (uint64_t now = 0; now < 300 * S; now += S / 100) {
		begun += fperf_flight_plan__fire(&plan, now + 1) == FPERF_FLIGHT_BEGINS;
		if (fperf_flight_plan__is_due(&plan, now))
			fperf_flight_plan__written(&plan);
	}
	cr_assert_eq(begun, 10);
	cr_assert_gt(plan.passed_by, 25000);
}

Test(capture_flight_plan, the_limit_ends_it)
{
	struct fperf_flight_plan plan = plan_of(0, 1, 3);
	uint32_t begun = 0;

	for (uint64_t now = 1; now < 100; now++) {
		enum fperf_flight_answer answer = fperf_flight_plan__fire(&plan, now * 2 * S);

		begun += answer == FPERF_FLIGHT_BEGINS;
		cr_assert_eq(answer, now <= 3 ? FPERF_FLIGHT_BEGINS : FPERF_FLIGHT_REACHED);
		if (fperf_flight_plan__is_due(&plan, now * 2 * S))
			fperf_flight_plan__written(&plan);
	}
	cr_assert_eq(begun, 3);
}
