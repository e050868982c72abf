#include "capture/flight_plan.h"

enum fperf_flight_answer fperf_flight_plan__fire(struct fperf_flight_plan *plan, uint64_t now_ns)
{
	if (plan->due)
		return FPERF_FLIGHT_JOINS;
	if (plan->options.limit && plan->number >= plan->options.limit) {
		plan->passed_by++;
		return FPERF_FLIGHT_REACHED;
	}
	if (fperf_flight_plan__cooldown(plan, now_ns)) {
		plan->passed_by++;
		return FPERF_FLIGHT_COOLS;
	}
	plan->number++;
	plan->fired_ns = now_ns;
	plan->due = true;
	return FPERF_FLIGHT_BEGINS;
}

bool fperf_flight_plan__is_due(const struct fperf_flight_plan *plan, uint64_t now_ns)
{
	return plan->due && now_ns >= plan->fired_ns + plan->options.post_ns;
}

void fperf_flight_plan__written(struct fperf_flight_plan *plan)
{
	plan->due = false;
}

uint64_t fperf_flight_plan__cooldown(const struct fperf_flight_plan *plan, uint64_t now_ns)
{
	uint64_t end_ns = plan->fired_ns + plan->options.cooldown_ns;

	return plan->fired_ns && now_ns < end_ns ? end_ns - now_ns : 0;
}
