/* How much recording may cost: the ladder of what is given up, in the order in which it is given up, and the
 * controller that climbs it. No I/O: fed with measurements, it says which step to be on. Why so:
 * docs/decisions/overhead.md. */
#ifndef FPERF_CAPTURE_EFFORT_H
#define FPERF_CAPTURE_EFFORT_H

#include "frameperf/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one step of the ladder allows. */
struct fperf_effort {
	uint32_t hits_per_sample;     /* one sample for so many hits of the sampling event */
	uint64_t stack_budget_ns;     /* for user stacks at switches, per second and CPU */
	uint32_t thread_stacks_per_s; /* the same in stacks, per thread */
	uint64_t kernel_stack_min_ns; /* shorter waits get no kernel stack */
};

#define FPERF_EFFORT_STEPS 8

/* The slowest game that recording does not ease off for, in frames per 1000 s, and the rate from which on it
 * is no longer slow. */
#define FPERF_EFFORT_SLOW_FPS_MILLI   25000u
#define FPERF_EFFORT_SMOOTH_FPS_MILLI 30000u

/* Step 0 allows everything. The sampling rate is never divided to less than 100 a second, nor at all when
 * fewer were asked for. */
struct fperf_effort fperf_effort__of_step(uint8_t step, uint32_t frequency_hz);

/* One measurement. Shares are in millionths of the CPU time that the budget refers to, each may be
 * FPERF_EFFORT_UNKNOWN, as may the rate of frames. */
struct fperf_effort_reading {
	uint64_t time_ns;
	uint32_t bpf_ppm;
	uint32_t recorder_ppm;
	uint32_t fps_milli;
};

struct fperf_effort_average {
	uint64_t sum;
	uint32_t count;
};

struct fperf_effort_control {
	uint32_t budget_ppm, frequency_hz;
	uint8_t step;
	bool floor_told;	/* that nothing is left to give up */
	uint32_t slow_readings; /* in a row, of a game below 25 frames a second */
	uint64_t start_ns;	/* first reading */
	uint64_t step_ns;	/* when this step began */
	uint64_t calm_ns;	/* since when all has been well below the budget; 0: it is not */
	uint64_t hold_ns;	/* how long it must be before a step is taken back */
	bool went_up;		/* the last change took a step back */
	struct fperf_effort_average bpf, recorder; /* since this step began */
};

/* Budget in millionths; UINT32_MAX: nothing is ever given up. */
void fperf_effort_control__init(struct fperf_effort_control *control, uint32_t budget_ppm,
				uint32_t frequency_hz);

/* Takes a reading, about one a second. Returns true when there is something to tell: another step, or that
 * the floor is reached; `reason` says why, and `average` holds the means that decided. */
bool fperf_effort_control__read(struct fperf_effort_control *control,
				const struct fperf_effort_reading *reading, enum fperf_effort_reason *reason,
				struct fperf_effort_reading *average);

#endif
