/* Slow frames that come at equal distances. Each burst of slow frames is one event; events in step with a
 * period have the same phase in it (Rayleigh's test). Every period is tried, and the best has to beat the
 * best of as many events at random times. */
#include "analyze/features.h"
#include "analyze/random.h"
#include "base/clock.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>

#define EVENTS_MIN   4
#define EVENTS_MAX   500
#define BURST_NS     (300 * FPERF_NS_PER_MS) /* slow frames nearer than this are one event */
#define PERIOD_MIN_S 0.8
#define CYCLES_MIN   3.0 /* a period must fit into the run so often */
#define OVERSAMPLE   5	 /* frequencies tried for each that the length of the run can tell apart */
#define RANDOM_RUNS  399
#define SEED	     0x706572696f643031ull
#define PHASES	     1024
#define IN_STEP	     0.1 /* of a period, to either side */
#define SIGNIFICANT  0.005
#define STEP_SHARE   0.7 /* of the events' weight that has to be in step */
#define CYCLE_SHARE  0.6 /* of the cycles that have to have an event in step */

struct event {
	double time_s, weight;
};

struct events {
	struct event items[EVENTS_MAX];
	size_t count;
	double length_s;
	double cosine[PHASES], sine[PHASES];
};

/* The library's sine differs between machines in its last digit: this one turns by a fixed small angle. */
static void phases_fill(struct events *events)
{
	const double step = 6.283185307179586 / PHASES;
	const double square = step * step;
	const double turn_cos = 1 - square / 2 + square * square / 24 - square * square * square / 720;
	const double turn_sin = step * (1 - square / 6 + square * square / 120);
	double cosine = 1, sine = 0;

	for (size_t i = 0; i < PHASES; i++) {
		double next = cosine * turn_cos - sine * turn_sin;

		events->cosine[i] = cosine;
		events->sine[i] = sine;
		sine = sine * turn_cos + cosine * turn_sin;
		cosine = next;
	}
}

static double usual_time(const struct fperf_analysis *analysis)
{
	double sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < analysis->frame_count; i++)
		if (!analysis->frames[i].slow) {
			sum += (double)(analysis->frames[i].end_ns - analysis->frames[i].start_ns);
			count++;
		}
	return count ? sum / (double)count : 0;
}

/* Bursts of slow frames, each as heavy as the time it lost; false when there are too few or too many. */
static bool events_find(const struct fperf_analysis *analysis, struct events *events)
{
	double usual = usual_time(analysis), sum = 0;
	uint64_t start = analysis->start_ns, last_end = 0;

	for (size_t i = 0; i < analysis->frame_count; i++) {
		const struct fperf_frame *frame = &analysis->frames[i];
		double lost = (double)(frame->end_ns - frame->start_ns) - usual;

		if (!frame->slow || lost <= 0)
			continue;
		if (!events->count || frame->start_ns - last_end > BURST_NS) {
			if (events->count == EVENTS_MAX)
				return false;
			events->items[events->count++].time_s = (double)(frame->start_ns - start) / 1e9;
		}
		events->items[events->count - 1].weight += lost;
		last_end = frame->end_ns;
	}
	events->length_s = (double)(analysis->end_ns - start) / 1e9;
	if (events->count < EVENTS_MIN || !(events->length_s > PERIOD_MIN_S * CYCLES_MIN))
		return false;
	for (size_t i = 0; i < events->count; i++)
		sum += events->items[i].weight;
	for (size_t i = 0; i < events->count; i++) { /* one loading screen must not decide */
		double mean = sum / (double)events->count;

		if (events->items[i].weight > 3 * mean)
			events->items[i].weight = 3 * mean;
	}
	return true;
}

/* Squared length of the sum of the events' directions at one frequency, by that of random directions. */
static double power(const struct events *events, const double *times, double frequency)
{
	double x = 0, y = 0, squares = 0;

	for (size_t i = 0; i < events->count; i++) {
		double turns = times[i] * frequency, weight = events->items[i].weight;
		size_t phase = (size_t)((turns - floor(turns)) * PHASES) % PHASES;

		x += weight * events->cosine[phase];
		y += weight * events->sine[phase];
		squares += weight * weight;
	}
	return (x * x + y * y) / squares;
}

/* The greatest power over all periods; of equally good ones (a period and its half, its third) the longest.
 */
static double best_power(const struct events *events, const double *times, double *frequency)
{
	double step = 1 / (OVERSAMPLE * events->length_s), best = 0;

	for (double at = CYCLES_MIN / events->length_s; at <= 1 / PERIOD_MIN_S; at += step) {
		double found = power(events, times, at);

		if (found > best * 1.05) {
			best = found;
			*frequency = at;
		}
	}
	return best;
}

/* Distances below what makes a burst do not occur by definition: nor do they in random runs. */
static void random_times(const struct events *events, struct fperf_random *random, double *times)
{
	double gap = (double)BURST_NS / 1e9, room = events->length_s - gap * (double)events->count;

	if (room < 0)
		room = gap = 0;
	for (size_t i = 0; i < events->count; i++) {
		double at = (double)(fperf_random__next(random) >> 11) / 9007199254740992.0 * room;
		size_t place = i;

		while (place && times[place - 1] > at) {
			times[place] = times[place - 1];
			place--;
		}
		times[place] = at;
	}
	for (size_t i = 0; i < events->count; i++)
		times[i] += gap * (double)i;
}

static double period_p(const struct events *events, double real, double *times)
{
	struct fperf_random random = {.state = SEED};
	size_t beaten = 0;
	double ignored;

	for (int i = 0; i < RANDOM_RUNS; i++) {
		random_times(events, &random, times);
		beaten += best_power(events, times, &ignored) >= real;
	}
	return (double)(beaten + 1) / (RANDOM_RUNS + 1);
}

/* Phase of the mean direction, and how much of the weight is in step with it. */
static double phase_fill(const struct events *events, double frequency, struct fperf_finding *finding)
{
	double best = 0, best_phase = 0, all = 0, in_step = 0;
	size_t with = 0;

	for (size_t candidate = 0; candidate < events->count; candidate++) {
		double turns = events->items[candidate].time_s * frequency, phase = turns - floor(turns),
		       sum = 0;

		for (size_t i = 0; i < events->count; i++) {
			double away = events->items[i].time_s * frequency - phase;

			away -= floor(away + 0.5);
			sum += fabs(away) <= IN_STEP ? events->items[i].weight * (1 - fabs(away)) : 0;
		}
		if (sum > best) {
			best = sum;
			best_phase = phase;
		}
	}
	for (size_t i = 0; i < events->count; i++) {
		double away = events->items[i].time_s * frequency - best_phase;

		away -= floor(away + 0.5);
		all += events->items[i].weight;
		in_step += fabs(away) <= IN_STEP ? events->items[i].weight : 0;
		with += fabs(away) <= IN_STEP;
	}
	finding->period_ns = (uint64_t)(1e9 / frequency + 0.5);
	finding->phase_ns = (uint64_t)(best_phase * 1e9 / frequency + 0.5);
	finding->slow_with = (double)with / (double)events->count;
	finding->ordinary_with = 2 * IN_STEP; /* by chance */
	return all > 0 ? in_step / all : 0;
}

/* "Every 3 s" is said of what happens in most cycles. */
static bool fills_cycles(const struct events *events, double frequency, const struct fperf_finding *finding)
{
	double phase = (double)finding->phase_ns / 1e9 * frequency, last = -1;
	size_t filled = 0;

	for (size_t i = 0; i < events->count; i++) {
		double turns = events->items[i].time_s * frequency - phase, cycle = floor(turns + 0.5);

		if (fabs(turns - cycle) <= IN_STEP && cycle > last) {
			filled++;
			last = cycle;
		}
	}
	return (double)filled >= CYCLE_SHARE * floor(events->length_s * frequency);
}

bool fperf_period__find(const struct fperf_analysis *analysis, struct fperf_finding *finding)
{
	struct events *events = calloc(1, sizeof(*events));
	double *times = calloc(EVENTS_MAX, sizeof(*times)), frequency = 0, real, share = 0;
	bool found = false;

	if (events && times && events_find(analysis, events)) {
		phases_fill(events);
		for (size_t i = 0; i < events->count; i++)
			times[i] = events->items[i].time_s;
		real = best_power(events, times, &frequency);
		if (frequency > 0) {
			share = phase_fill(events, frequency, finding);
			finding->p = period_p(events, real, times);
		}
		finding->effect = share;
		found = frequency > 0 && finding->p <= SIGNIFICANT && share >= STEP_SHARE &&
			fills_cycles(events, frequency, finding);
	}
	free(events);
	free(times);
	return found;
}
