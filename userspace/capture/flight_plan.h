/* When a flight recorder writes: what a trigger leads to, given what came before it. Time comes from the
 * caller; nothing here writes anything. */
#ifndef FPERF_CAPTURE_FLIGHT_PLAN_H
#define FPERF_CAPTURE_FLIGHT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

struct fperf_flight_plan_options {
	uint64_t post_ns;     /* recorded further after a trigger before the session is written */
	uint64_t cooldown_ns; /* after a trigger before another one counts */
	uint32_t limit;	      /* sessions; 0: no limit */
};

enum fperf_flight_answer {
	FPERF_FLIGHT_BEGINS,  /* leads to a session: what is at this moment is worth a look */
	FPERF_FLIGHT_JOINS,   /* will be in the session of an earlier trigger */
	FPERF_FLIGHT_COOLS,   /* too soon after an earlier one */
	FPERF_FLIGHT_REACHED, /* the limit of sessions is reached */
};

struct fperf_flight_plan {
	struct fperf_flight_plan_options options;
	uint32_t number;    /* of the session that was begun last */
	uint64_t fired_ns;  /* its trigger; 0: there was none */
	bool due;	    /* it is not written yet */
	uint64_t passed_by; /* triggers that led to nothing */
};

/* A trigger fires. `plan->number` is the number of its session for the first two answers. */
enum fperf_flight_answer fperf_flight_plan__fire(struct fperf_flight_plan *plan, uint64_t now_ns);

/* True when the session is to be written now; the caller says so by fperf_flight_plan__written(). */
bool fperf_flight_plan__is_due(const struct fperf_flight_plan *plan, uint64_t now_ns);
void fperf_flight_plan__written(struct fperf_flight_plan *plan);

/* How long triggers will be passed by; 0: not. */
uint64_t fperf_flight_plan__cooldown(const struct fperf_flight_plan *plan, uint64_t now_ns);

#endif
