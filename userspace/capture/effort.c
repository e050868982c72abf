#include "capture/effort.h"

#include "base/clock.h"

#define RATE_FLOOR_HZ 100
#define EASE_STEP     4 /* as far as recording eases off for a slow game that it does not cost much */
#define BPF_READINGS  2 /* of which the mean is judged; one, when that is twice the budget */
#define OWN_READINGS  6 /* the recorder works in bursts: tables of a library that was opened */
#define SLOW_READINGS 2
#define STARTING_NS   (6 * FPERF_NS_PER_S) /* tables of all libraries are made at the start */
#define CALM_SHARE    0.6		   /* of the budget: what a step costs more must fit in the rest */
#define HOLD_NS	      (10 * FPERF_NS_PER_S)
#define HOLD_MAX_NS   (320 * FPERF_NS_PER_S)

/* In the order in which it is given up: first what is missed least. Half the samples find the same functions;
 * stacks of short waits are seldom part of a verdict. The intervals themselves are never given up: the ledger
 * of a frame would no longer add up. */
static const struct fperf_effort ladder[FPERF_EFFORT_STEPS] = {
	/* hits, stacks at switches: ns, per thread; kernel stacks from */
	{1, 5000000, 1000, 200000},  /* everything */
	{2, 5000000, 1000, 200000},  /* half the samples */
	{4, 5000000, 1000, 200000},  /* a quarter of the samples */
	{4, 2500000, 500, 200000},   /* half the stacks of waits */
	{4, 1000000, 200, 200000},   /* a fifth of the stacks of waits */
	{4, 1000000, 200, 1000000},  /* kernel stacks of waits of a millisecond only */
	{10, 1000000, 200, 1000000}, /* a tenth of the samples */
	{10, 200000, 50, 5000000},   /* hardly any stacks of waits */
};

struct fperf_effort fperf_effort__of_step(uint8_t step, uint32_t frequency_hz)
{
	struct fperf_effort effort = ladder[step < FPERF_EFFORT_STEPS ? step : FPERF_EFFORT_STEPS - 1];
	uint32_t most = frequency_hz / RATE_FLOOR_HZ;

	if (effort.hits_per_sample > most)
		effort.hits_per_sample = most ? most : 1;
	return effort;
}

static bool effort_equal(const struct fperf_effort *a, const struct fperf_effort *b)
{
	return a->hits_per_sample == b->hits_per_sample && a->stack_budget_ns == b->stack_budget_ns &&
	       a->thread_stacks_per_s == b->thread_stacks_per_s &&
	       a->kernel_stack_min_ns == b->kernel_stack_min_ns;
}

/* The next step in a direction that changes anything; the present one when there is none. */
static uint8_t step_next(const struct fperf_effort_control *control, int direction)
{
	struct fperf_effort now = fperf_effort__of_step(control->step, control->frequency_hz), then;

	for (int step = control->step + direction; step >= 0 && step < FPERF_EFFORT_STEPS;
	     step += direction) {
		then = fperf_effort__of_step((uint8_t)step, control->frequency_hz);
		if (!effort_equal(&now, &then))
			return (uint8_t)step;
	}
	return control->step;
}

void fperf_effort_control__init(struct fperf_effort_control *control, uint32_t budget_ppm,
				uint32_t frequency_hz)
{
	*control = (struct fperf_effort_control){
		.budget_ppm = budget_ppm,
		.frequency_hz = frequency_hz,
		.hold_ns = HOLD_NS,
	};
}

static void average_add(struct fperf_effort_average *average, uint32_t value, uint32_t most)
{
	if (value == FPERF_EFFORT_UNKNOWN)
		return;
	if (average->count == most) { /* an old reading goes */
		average->sum -= average->sum / average->count;
		average->count--;
	}
	average->sum += value;
	average->count++;
}

static uint32_t average_of(const struct fperf_effort_average *average)
{
	return average->count ? (uint32_t)(average->sum / average->count) : FPERF_EFFORT_UNKNOWN;
}

static bool over(const struct fperf_effort_control *control, const struct fperf_effort_average *average,
		 uint32_t readings)
{
	uint32_t mean = average_of(average);

	if (!average->count || mean <= control->budget_ppm)
		return false;
	return average->count >= readings || mean / 2 > control->budget_ppm;
}

static void step_set(struct fperf_effort_control *control, uint8_t step, uint64_t now_ns)
{
	control->went_up = step < control->step;
	control->step = step;
	control->step_ns = now_ns;
	control->calm_ns = 0;
	control->slow_readings = 0;
	control->floor_told = false;
	control->bpf = control->recorder = (struct fperf_effort_average){0};
}

/* What was taken back too early is taken back later the next time. */
static void hold_adapt(struct fperf_effort_control *control, uint64_t now_ns)
{
	if (!control->went_up)
		return;
	if (now_ns - control->step_ns >= HOLD_MAX_NS)
		control->hold_ns = HOLD_NS;
	else if (control->hold_ns < HOLD_MAX_NS)
		control->hold_ns *= 2;
}

/* Gives up one step more, and says so; at the floor it says that, once. */
static bool step_down(struct fperf_effort_control *control, uint64_t now_ns, enum fperf_effort_reason why,
		      enum fperf_effort_reason *reason)
{
	uint8_t next = step_next(control, 1);

	*reason = why;
	control->calm_ns = 0;
	if (next != control->step) {
		hold_adapt(control, now_ns);
		step_set(control, next, now_ns);
		return true;
	}
	if (control->floor_told)
		return false;
	control->floor_told = true;
	*reason = FPERF_EFFORT_FLOOR;
	return true;
}

static bool calm(const struct fperf_effort_control *control)
{
	double limit = CALM_SHARE * (double)control->budget_ppm;

	return (!control->bpf.count || average_of(&control->bpf) < limit) &&
	       (!control->recorder.count || average_of(&control->recorder) < limit);
}

/* Whether a step can be taken back: all has been well below the budget for long enough. */
static bool recovered(struct fperf_effort_control *control, const struct fperf_effort_reading *reading)
{
	bool smooth = reading->fps_milli == FPERF_EFFORT_UNKNOWN ||
		      reading->fps_milli >= FPERF_EFFORT_SMOOTH_FPS_MILLI;

	if (!control->step || !smooth || !calm(control)) {
		control->calm_ns = 0;
		return false;
	}
	if (!control->calm_ns)
		control->calm_ns = reading->time_ns;
	return reading->time_ns - control->calm_ns >= control->hold_ns;
}

static bool is_slow(struct fperf_effort_control *control, const struct fperf_effort_reading *reading)
{
	bool slow = reading->fps_milli < FPERF_EFFORT_SLOW_FPS_MILLI;

	control->slow_readings = slow ? control->slow_readings + 1 : 0;
	return control->slow_readings >= SLOW_READINGS && control->step < EASE_STEP;
}

bool fperf_effort_control__read(struct fperf_effort_control *control,
				const struct fperf_effort_reading *reading, enum fperf_effort_reason *reason,
				struct fperf_effort_reading *average)
{
	bool starting;

	if (control->budget_ppm == UINT32_MAX)
		return false;
	if (!control->start_ns)
		control->start_ns = reading->time_ns;
	starting = reading->time_ns - control->start_ns < STARTING_NS;
	average_add(&control->bpf, reading->bpf_ppm, BPF_READINGS);
	if (!starting)
		average_add(&control->recorder, reading->recorder_ppm, OWN_READINGS);
	*average = (struct fperf_effort_reading){
		.time_ns = reading->time_ns,
		.bpf_ppm = average_of(&control->bpf),
		.recorder_ppm = average_of(&control->recorder),
		.fps_milli = reading->fps_milli,
	};
	if (over(control, &control->bpf, BPF_READINGS))
		return step_down(control, reading->time_ns, FPERF_EFFORT_OVER_BPF, reason);
	if (over(control, &control->recorder, OWN_READINGS))
		return step_down(control, reading->time_ns, FPERF_EFFORT_OVER_RECORDER, reason);
	if (is_slow(control, reading))
		return step_down(control, reading->time_ns, FPERF_EFFORT_LOW_FPS, reason);
	if (!recovered(control, reading))
		return false;
	step_set(control, step_next(control, -1), reading->time_ns);
	*reason = FPERF_EFFORT_RECOVERED;
	return true;
}
