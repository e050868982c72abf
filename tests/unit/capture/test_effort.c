/* What recording gives up when it costs too much: the controller, fed with made-up measurements. */
#include "capture/effort.h"

#include "base/clock.h"

#include <criterion/criterion.h>

#define BUDGET 10000 /* 1 % */

/* A machine that costs `ppm` at step 0, and a tenth less of that with each further step. */
struct machine {
	struct fperf_effort_control control;
	uint64_t now_ns;
	uint32_t bpf_ppm, recorder_ppm, fps_milli;
	uint32_t told;
	enum fperf_effort_reason reason; /* of the last that was told */
};

static void machine_init(struct machine *machine)
{
	*machine = (struct machine){.now_ns = 77 * FPERF_NS_PER_S, .fps_milli = 60000};
	fperf_effort_control__init(&machine->control, BUDGET, 1000);
}

static void machine_run(struct machine *machine, int seconds)
{
	for (int i = 0; i < seconds; i++) {
		struct fperf_effort_reading average,
			reading = {
				.time_ns = machine->now_ns += FPERF_NS_PER_S,
				.bpf_ppm = machine->bpf_ppm * (10 - machine->control.step) / 10,
				.recorder_ppm = machine->recorder_ppm * (10 - machine->control.step) / 10,
				.fps_milli = machine->fps_milli,
			};
		uint8_t from = machine->control.step;
		enum fperf_effort_reason reason;

		if (!fperf_effort_control__read(&machine->control, &reading, &reason, &average))
			continue;
		machine->told++;
		machine->reason = reason;
		if (machine->reason != FPERF_EFFORT_FLOOR)
			cr_assert_eq(machine->reason == FPERF_EFFORT_RECOVERED ? from - 1 : from + 1,
				     machine->control.step, "one step at a time, in order");
	}
}

Test(effort, within_the_budget_nothing_is_given_up)
{
	struct machine machine;

	machine_init(&machine);
	machine.bpf_ppm = 9900;
	machine.recorder_ppm = 9900;
	machine_run(&machine, 600);
	cr_assert_eq(machine.told, 0);
	cr_assert_eq(machine.control.step, 0);
}

Test(effort, over_the_budget_steps_are_taken_until_it_holds)
{
	struct machine machine;

	machine_init(&machine);
	machine.bpf_ppm = 13000; /* 13000 * 0.7 = 9100 */
	machine_run(&machine, 30);
	cr_assert_eq(machine.control.step, 3);
	cr_assert_eq(machine.reason, FPERF_EFFORT_OVER_BPF);
	cr_assert_eq(machine.told, 3);
}

Test(effort, far_over_the_budget_each_reading_is_a_step)
{
	struct machine machine;

	machine_init(&machine);
	machine.bpf_ppm = 200000;
	machine_run(&machine, FPERF_EFFORT_STEPS - 1);
	cr_assert_eq(machine.control.step, FPERF_EFFORT_STEPS - 1);
	machine_run(&machine, 100);
	cr_assert_eq(machine.reason, FPERF_EFFORT_FLOOR);
	cr_assert_eq(machine.told, FPERF_EFFORT_STEPS, "the floor is told once");
}

Test(effort, a_short_burst_costs_nothing)
{
	struct machine machine;

	machine_init(&machine);
	machine.bpf_ppm = 5000;
	machine.recorder_ppm = 5000;
	machine_run(&machine, 30);
	machine.bpf_ppm = 14000;
	machine.recorder_ppm = 14000;
	machine_run(&machine, 1);
	machine.bpf_ppm = 5000;
	machine.recorder_ppm = 5000;
	machine_run(&machine, 30);
	cr_assert_eq(machine.told, 0);
}

Test(effort, the_work_of_the_start_is_not_held_against_the_recorder)
{
	struct machine machine;

	machine_init(&machine);
	machine.recorder_ppm = 15000;
	machine_run(&machine, 6);
	cr_assert_eq(machine.told, 0);
	machine_run(&machine, 10);
	cr_assert_eq(machine.reason, FPERF_EFFORT_OVER_RECORDER);
	cr_assert_geq(machine.control.step, 1);
}

Test(effort, recovers_slowly)
{
	struct machine machine;

	machine_init(&machine);
	machine.bpf_ppm = 13000;
	machine_run(&machine, 30);
	machine.bpf_ppm = 2000;
	machine_run(&machine, 8);
	cr_assert_eq(machine.control.step, 3, "not at once");
	machine_run(&machine, 60);
	cr_assert_eq(machine.control.step, 0);
	cr_assert_eq(machine.reason, FPERF_EFFORT_RECOVERED);
	cr_assert_eq(machine.told, 6);
}

Test(effort, a_cost_near_the_budget_does_not_swing)
{
	/* steps that save much: at step 1 well below the budget, at step 0 above it */
	struct fperf_effort_control control;
	enum fperf_effort_reason reason;
	uint64_t now_ns = FPERF_NS_PER_S;
	uint32_t changes = 0, late = 0;

	fperf_effort_control__init(&control, BUDGET, 1000);
	for (int i = 0; i < 3600; i++) {
		struct fperf_effort_reading average, reading = {
							     .time_ns = now_ns += FPERF_NS_PER_S,
							     .bpf_ppm = control.step ? 4000 : 12000,
							     .recorder_ppm = 100,
							     .fps_milli = FPERF_EFFORT_UNKNOWN,
						     };

		if (fperf_effort_control__read(&control, &reading, &reason, &average)) {
			changes++;
			late += i >= 1800;
		}
		cr_assert_leq(control.step, 1);
	}
	cr_assert_lt(changes, 32);
	cr_assert_leq(late, 12, "every five minutes at most, and back");
}

Test(effort, eases_off_for_a_slow_game_but_not_to_the_floor)
{
	struct machine machine;

	machine_init(&machine);
	machine.bpf_ppm = 3000;
	machine.fps_milli = 25000;
	machine_run(&machine, 60);
	cr_assert_eq(machine.told, 0, "25 frames a second are not below 25");
	machine.fps_milli = 18000;
	machine_run(&machine, 60);
	cr_assert_eq(machine.reason, FPERF_EFFORT_LOW_FPS);
	cr_assert_gt(machine.control.step, 0);
	cr_assert_lt(machine.control.step, FPERF_EFFORT_STEPS - 1);
	machine.fps_milli = 27000;
	machine_run(&machine, 60);
	cr_assert_eq(machine.reason, FPERF_EFFORT_LOW_FPS, "not smooth yet");
	machine.fps_milli = 40000;
	machine_run(&machine, 120);
	cr_assert_eq(machine.control.step, 0);
}

Test(effort, no_frames_are_no_slow_game)
{
	struct machine machine;

	machine_init(&machine);
	machine.fps_milli = FPERF_EFFORT_UNKNOWN;
	machine_run(&machine, 100);
	cr_assert_eq(machine.told, 0);
}

Test(effort, steps_that_change_nothing_are_passed_over)
{
	struct fperf_effort_control control;
	enum fperf_effort_reason reason;
	struct fperf_effort_reading average,
		reading = {.time_ns = 1, .bpf_ppm = 900000, .recorder_ppm = 0, .fps_milli = 60000};

	fperf_effort_control__init(&control, BUDGET, 100); /* nothing to gain from fewer samples */
	cr_assert(fperf_effort_control__read(&control, &reading, &reason, &average));
	cr_assert_gt(control.step, 1);
	for (uint8_t step = 0; step < FPERF_EFFORT_STEPS; step++) {
		cr_assert_eq(fperf_effort__of_step(step, 100).hits_per_sample, 1);
		cr_assert_eq(fperf_effort__of_step(step, 50).hits_per_sample, 1);
		cr_assert_geq(1000 / fperf_effort__of_step(step, 1000).hits_per_sample, 100);
		cr_assert_geq(250 / fperf_effort__of_step(step, 250).hits_per_sample, 100);
	}
}

Test(effort, each_step_allows_no_more_than_the_one_before)
{
	for (uint8_t step = 1; step < FPERF_EFFORT_STEPS; step++) {
		struct fperf_effort a = fperf_effort__of_step(step - 1, 1000),
				    b = fperf_effort__of_step(step, 1000);

		cr_assert_geq(b.hits_per_sample, a.hits_per_sample);
		cr_assert_leq(b.stack_budget_ns, a.stack_budget_ns);
		cr_assert_leq(b.thread_stacks_per_s, a.thread_stacks_per_s);
		cr_assert_geq(b.kernel_stack_min_ns, a.kernel_stack_min_ns);
	}
}

Test(effort, without_a_budget_nothing_is_given_up)
{
	struct machine machine;

	machine_init(&machine);
	fperf_effort_control__init(&machine.control, UINT32_MAX, 1000);
	machine.bpf_ppm = 900000;
	machine.fps_milli = 5000;
	machine_run(&machine, 60);
	cr_assert_eq(machine.told, 0);
}
