/* One thread over time: disjoint pieces, each with a state. For analyze/, and for outputs that show threads
 * over time. */
#ifndef FPERF_ANALYZE_TIMELINE_H
#define FPERF_ANALYZE_TIMELINE_H

#include "analyze/model.h"

/* A part of a thread's time in one state. */
struct fperf_piece {
	uint64_t from_ns, to_ns;
	const struct fperf_timeline *timeline;
	uint32_t stack;	   /* index into model->stacks: sampled, or where it was switched out */
	uint32_t interval; /* index of the off-CPU interval, FPERF_NO_RECORD while running */
	uint16_t cpu;	   /* while running, when known */
	bool cpu_known;
	uint8_t state; /* enum fperf_state or FPERF_STATE_UNKNOWN */
};

/* Visits the pieces of [from, to) in order of time; they are disjoint and fill the part of it in which the
 * thread existed. Start, then call next until it returns false. */
struct fperf_walk {
	struct fperf_model *model;
	const struct fperf_timeline *timeline;
	uint64_t pos_ns, end_ns;
	size_t interval;     /* first interval that ends after pos */
	size_t sample;	     /* sample whose cell holds pos, while running */
	uint64_t unknown_to; /* time up to here is unknown */
	uint64_t known_to;   /* the stretch up to here was checked */
};

void fperf_walk__start(struct fperf_walk *walk, struct fperf_model *model,
		       const struct fperf_timeline *timeline, uint64_t from_ns, uint64_t to_ns);
bool fperf_walk__next(struct fperf_walk *walk, struct fperf_piece *piece);

/* Fills intervals, sample clocks and bounds of all timelines; called once by fperf_model__build(). */
int fperf_timelines__build(struct fperf_model *model, struct fperf_error *err);

/* State of an interval before its wake-up (PREEMPTED for one that left runnable), and when it was woken
 * (equal to in_ns when it was not). */
enum fperf_state fperf_timeline__interval_state(struct fperf_model *model,
						const struct fperf_timeline *timeline, size_t interval);
uint64_t fperf_timeline__wake_ns(const struct fperf_model *model, const struct fperf_interval *interval);

/* CPU time that sample `index` of the timeline stands for. The weights of a thread's samples add up to its
 * CPU time. */
uint64_t fperf_timeline__sample_weight(const struct fperf_model *model, const struct fperf_timeline *timeline,
				       size_t index);

/* CPU time of the whole thread. */
uint64_t fperf_timeline__cpu_ns(struct fperf_model *model, const struct fperf_timeline *timeline);

/* What ledgers and causes call a piece. */
enum fperf_cause fperf_piece__cause(const struct fperf_model *model, const struct fperf_piece *piece);

/* Who kept the thread waiting: thread id, 0 when not known or nobody. */
uint32_t fperf_piece__by(const struct fperf_model *model, const struct fperf_piece *piece);

#endif
