/* What is summed up over windows: threads, clocks, functions; and the facts made of it. */
#include "analyze/reduce_internal.h"

#include "analyze/freq.h"
#include "analyze/timeline.h"
#include "base/vec.h"
#include "frameperf/wire.h"

#include <stdlib.h>

/* Functions with a smaller part of a window's CPU time go into the rest, unless they have this part of that
 * of its slow frames. */
#define HOT_PART      1000
#define HOT_SLOW_PART 100

/* CPU times of functions are rounded to this. */
#define HOT_GRAIN_NS 16384

#define MILLION 1e6

/* ---- threads ---- */

static struct fperf_reduced_thread *thread_at(struct fperf_reducer *reducer, uint32_t id)
{
	struct fperf_reduced_thread *thread;
	uint64_t index;

	if (fperf_map__get(&reducer->thread_index, id, &index))
		return &reducer->threads[index];
	thread = fperf_vec__push(&reducer->threads, &reducer->thread_count, &reducer->thread_capacity);
	if (!thread || fperf_map__set(&reducer->thread_index, id, reducer->thread_count - 1))
		return NULL;
	thread->thread = thread->stats.thread = id;
	return thread;
}

static uint64_t cpu_between(struct fperf_model *model, const struct fperf_timeline *timeline,
			    uint64_t from_ns, uint64_t to_ns)
{
	struct fperf_piece piece;
	struct fperf_walk walk;
	uint64_t sum = 0;

	fperf_walk__start(&walk, model, timeline, from_ns, to_ns);
	while (fperf_walk__next(&walk, &piece))
		if (piece.state == FPERF_STATE_USER || piece.state == FPERF_STATE_KERNEL)
			sum += piece.to_ns - piece.from_ns;
	return sum;
}

static int switches_sum(const struct fperf_model *model, const struct fperf_timeline *timeline,
			uint64_t from_ns, uint64_t to_ns, struct fperf_reduced_thread *thread)
{
	for (size_t i = 0; i < timeline->interval_count; i++) {
		const struct fperf_interval *interval = &timeline->intervals[i];
		const struct fperf_rec_offcpu *record = &model->offcpu[interval->record];

		if (interval->in_ns < from_ns || interval->in_ns >= to_ns)
			continue;
		thread->stats.switches += !(record->flags & FPERF_OFFCPU_OPEN_START);
		if (!record->wake_ns || interval->state == FPERF_STATE_PREEMPTED ||
		    record->flags & FPERF_OFFCPU_OPEN_END)
			continue;
		if (fperf_histogram__add(&thread->run_queue,
					 interval->in_ns - fperf_timeline__wake_ns(model, interval)))
			return -1;
	}
	return 0;
}

static void samples_sum(const struct fperf_model *model, const struct fperf_timeline *timeline,
			uint64_t from_ns, uint64_t to_ns, struct fperf_reduced_thread *thread)
{
	for (size_t i = 0; i < timeline->sample_count; i++) {
		const struct fperf_rec_sample *sample = &model->samples[timeline->samples[i]];
		const struct fperf_rec_stack *stack;

		if (sample->time_ns < from_ns || sample->time_ns >= to_ns)
			continue;
		thread->stats.samples++;
		stack = fperf_session__stack(model->session, sample->stack);
		thread->stats.stacks += stack != NULL;
		thread->stats.stacks_complete += stack && stack->outcome == FPERF_STACK_COMPLETE;
	}
}

int fperf_reducer__threads_sum(struct fperf_reducer *reducer, const struct fperf_analysis *analysis,
			       uint64_t from_ns, uint64_t to_ns, struct fperf_error *err)
{
	struct fperf_model *model = analysis->model;

	for (size_t i = 0; i < model->timeline_count; i++) {
		const struct fperf_timeline *timeline = &model->timelines[i];
		struct fperf_reduced_thread *thread;

		if (!timeline->target || timeline->to_ns <= from_ns || timeline->from_ns >= to_ns)
			continue;
		thread = thread_at(reducer, timeline->thread->id);
		if (!thread || switches_sum(model, timeline, from_ns, to_ns, thread))
			return fperf_error__no_memory(err, "the statistics of threads");
		thread->stats.cpu_ns += cpu_between(model, timeline, from_ns, to_ns);
		samples_sum(model, timeline, from_ns, to_ns, thread);
		if (fperf_reducer__thread(reducer, analysis, thread->thread, err))
			return err->code;
	}
	return 0;
}

/* ---- clocks ---- */

static void cpu_sum(const struct fperf_freq_cpu *cpu, uint64_t from_ns, uint64_t to_ns,
		    struct fperf_reduced_cpu *sum)
{
	for (size_t i = 0; i < cpu->count; i++) {
		uint64_t from = cpu->changes[i].time_ns,
			 to = i + 1 < cpu->count ? cpu->changes[i + 1].time_ns : to_ns;
		uint32_t khz = cpu->changes[i].khz;
		double length;

		sum->highest_khz = khz > sum->highest_khz ? khz : sum->highest_khz;
		if (from >= from_ns && from < to_ns) {
			sum->transitions += sum->last_khz && khz != sum->last_khz;
			sum->last_khz = khz;
		}
		from = from < from_ns ? from_ns : from;
		to = to > to_ns ? to_ns : to;
		length = to > from ? (double)(to - from) : 0;
		if (length > 0 && !sum->last_khz)
			sum->last_khz = khz;
		sum->known_ns += length;
		sum->khz_ns += length * khz;
		if (khz < (sum->max_khz ? sum->max_khz : sum->highest_khz))
			sum->below_ns += length;
	}
}

int fperf_reducer__clocks_sum(struct fperf_reducer *reducer, const struct fperf_analysis *analysis,
			      uint64_t from_ns, uint64_t to_ns, struct fperf_error *err)
{
	const struct fperf_freq *clocks = analysis->clocks;

	if (fperf_vec__grow((void **)&reducer->cpus, &reducer->cpu_capacity, clocks->count,
			    sizeof(*reducer->cpus)))
		return fperf_error__no_memory(err, "the frequencies");
	reducer->cpu_count = clocks->count > reducer->cpu_count ? clocks->count : reducer->cpu_count;
	for (size_t i = 0; i < clocks->count; i++) {
		const struct fperf_freq_cpu *cpu = &clocks->cpus[i];

		if (!cpu->count && !cpu->max_khz)
			continue;
		reducer->cpus[i].known = true;
		if (cpu->max_khz) {
			reducer->cpus[i].min_khz = cpu->min_khz;
			reducer->cpus[i].max_khz = cpu->max_khz;
		}
		cpu_sum(cpu, from_ns, to_ns, &reducer->cpus[i]);
	}
	return 0;
}

/* ---- functions ---- */

static struct fperf_reduced_hot *hot_at(struct fperf_reducer *reducer, uint32_t id)
{
	if (fperf_vec__grow((void **)&reducer->hot, &reducer->hot_capacity, (size_t)id + 1,
			    sizeof(*reducer->hot)))
		return NULL;
	if (id >= reducer->hot_count)
		reducer->hot_count = (size_t)id + 1;
	return &reducer->hot[id];
}

static int hot_list_sum(struct fperf_reducer *reducer, struct fperf_reduced_names *names, bool slow,
			uint64_t limit_ns, uint64_t *left_ns, struct fperf_error *err)
{
	const struct fperf_analysis *analysis = names->analysis;
	const struct fperf_hot_function *hot = slow ? analysis->hot_slow : analysis->hot;
	size_t count = slow ? analysis->hot_slow_count : analysis->hot_count;

	for (size_t i = 0; i < count; i++) {
		const struct fperf_place place = {hot[i].function, hot[i].module};
		struct fperf_reduced_hot *sum;
		uint32_t id;

		if (hot[i].total_ns < limit_ns ||
		    (hot[i].self_ns < limit_ns && hot[i].total_ns < 10 * limit_ns))
			continue;
		if (fperf_reduced_names__id(names, &place, &id, err))
			return err->code;
		sum = hot_at(reducer, id);
		if (!sum)
			return fperf_error__no_memory(err, "the hot functions");
		*(slow ? &sum->slow_self_ns : &sum->self_ns) += hot[i].self_ns;
		*(slow ? &sum->slow_total_ns : &sum->total_ns) += hot[i].total_ns;
		*left_ns -= hot[i].self_ns < *left_ns ? hot[i].self_ns : *left_ns;
	}
	return 0;
}

int fperf_reducer__hot_sum(struct fperf_reducer *reducer, struct fperf_reduced_names *names,
			   struct fperf_error *err)
{
	const struct fperf_analysis *analysis = names->analysis;
	uint64_t left = analysis->sampled_ns, slow_left = analysis->slow_sampled_ns;
	struct fperf_reduced_hot *rest;

	reducer->sampled |= analysis->samples > 0;
	if (reducer->level == FPERF_LEVEL_SUMMARY)
		return 0;
	if (hot_list_sum(reducer, names, false, analysis->sampled_ns / HOT_PART, &left, err) ||
	    hot_list_sum(reducer, names, true, analysis->slow_sampled_ns / HOT_SLOW_PART, &slow_left, err))
		return err->code;
	rest = hot_at(reducer, 0);
	if (!rest)
		return fperf_error__no_memory(err, "the hot functions");
	rest->self_ns += left;
	rest->slow_self_ns += slow_left;
	return 0;
}

static uint64_t hot_rounded(uint64_t ns)
{
	return (ns + HOT_GRAIN_NS / 2) & ~(uint64_t)(HOT_GRAIN_NS - 1);
}

static int hot_write(struct fperf_reducer *reducer, uint64_t now_ns, struct fperf_error *err)
{
	for (size_t i = 0; i < reducer->hot_count; i++) {
		struct fperf_reduced_hot *sum = &reducer->hot[i];
		struct fperf_rec_hot record = {
			.time_ns = now_ns,
			.function = (uint32_t)i,
			.self_ns = hot_rounded(sum->self_ns),
			.total_ns = hot_rounded(sum->total_ns),
			.slow_self_ns = hot_rounded(sum->slow_self_ns),
			.slow_total_ns = hot_rounded(sum->slow_total_ns),
		};

		if (!record.self_ns && !record.total_ns && !record.slow_self_ns && !record.slow_total_ns)
			continue;
		*sum = (struct fperf_reduced_hot){0};
		if (fperf_reducer__add(reducer, FPERF_RECORD_HOT, &record, err))
			return err->code;
	}
	return 0;
}

/* ---- writing ---- */

static int threads_write(struct fperf_reducer *reducer, struct fperf_error *err)
{
	for (size_t i = 0; i < reducer->thread_count; i++) {
		struct fperf_reduced_thread *thread = &reducer->threads[i];

		thread->stats.run_queue_p50_ns = fperf_histogram__percentile(&thread->run_queue, 500);
		thread->stats.run_queue_p99_ns = fperf_histogram__percentile(&thread->run_queue, 990);
		thread->stats.run_queue_max_ns = thread->run_queue.max;
		if (fperf_reducer__add(reducer, FPERF_RECORD_THREAD_STATS, &thread->stats, err))
			return err->code;
	}
	return 0;
}

struct facts {
	struct fperf_reducer *reducer;
	struct fperf_error *err;
	int failed;
};

static void fact(struct facts *facts, enum fperf_fact which, uint32_t index, uint64_t value)
{
	struct fperf_rec_summary record = {.fact = (uint16_t)which, .index = index, .value = value};

	if (!facts->failed)
		facts->failed = fperf_reducer__add(facts->reducer, FPERF_RECORD_SUMMARY, &record, facts->err);
}

static uint64_t low_millifps(const struct fperf_histogram *times, uint64_t part)
{
	uint64_t slowest = times->values / part ? times->values / part : 1;
	double mean = fperf_histogram__mean_of_greatest(times, slowest);

	return mean > 0 ? (uint64_t)(1e12 / mean + 0.5) : 0;
}

static void frame_facts(struct facts *facts)
{
	const struct fperf_reducer *reducer = facts->reducer;
	const struct fperf_histogram *times = &reducer->times;

	fact(facts, FPERF_FACT_FRAMES, 0, times->values + 1);
	fact(facts, FPERF_FACT_FRAMES_TIMED, 0, times->values);
	fact(facts, FPERF_FACT_FRAMES_NS, 0, reducer->last_ns - reducer->first_ns);
	fact(facts, FPERF_FACT_TIME_MEAN_NS, 0, (uint64_t)(times->sum / (double)times->values));
	fact(facts, FPERF_FACT_TIME_P50_NS, 0, fperf_histogram__percentile(times, 500));
	fact(facts, FPERF_FACT_TIME_P90_NS, 0, fperf_histogram__percentile(times, 900));
	fact(facts, FPERF_FACT_TIME_P95_NS, 0, fperf_histogram__percentile(times, 950));
	fact(facts, FPERF_FACT_TIME_P99_NS, 0, fperf_histogram__percentile(times, 990));
	fact(facts, FPERF_FACT_TIME_MAX_NS, 0, times->max);
	fact(facts, FPERF_FACT_LOW_1PCT, 0, low_millifps(times, 100));
	fact(facts, FPERF_FACT_LOW_01PCT, 0, low_millifps(times, 1000));
	fact(facts, FPERF_FACT_BUDGET_NS, 0, reducer->budget_ns);
	fact(facts, FPERF_FACT_BUDGET_CHOSEN, 0, reducer->budget_chosen);
	fact(facts, FPERF_FACT_SLOW, 0, reducer->slow);
	fact(facts, FPERF_FACT_JANK, 0, reducer->jank);
	fact(facts, FPERF_FACT_BIG_JANK, 0, reducer->big_jank);
	fact(facts, FPERF_FACT_TIME_ANOMALIES, 0, reducer->anomalies);
	fact(facts, FPERF_FACT_MARKER, 0, fperf_reducer__text(facts->reducer, reducer->marker));
	if (reducer->surface[0])
		fact(facts, FPERF_FACT_SURFACE, 0, fperf_reducer__text(facts->reducer, reducer->surface));
	for (uint32_t cause = 0; cause < FPERF_CAUSES; cause++)
		if (reducer->cause_frames[cause])
			fact(facts, FPERF_FACT_CAUSE_FRAMES, cause, reducer->cause_frames[cause]);
	for (uint32_t cause = 0; cause < FPERF_CAUSES; cause++)
		if (reducer->cause_frames[cause])
			fact(facts, FPERF_FACT_CAUSE_NS, cause, reducer->cause_ns[cause]);
}

static void clock_facts(struct facts *facts)
{
	const struct fperf_reducer *reducer = facts->reducer;

	for (int which = FPERF_FACT_FREQ_MIN_KHZ; which <= FPERF_FACT_FREQ_BELOW_MAX; which++) {
		for (uint32_t i = 0; i < reducer->cpu_count; i++) {
			const struct fperf_reduced_cpu *cpu = &reducer->cpus[i];
			double known = cpu->known_ns > 0 ? cpu->known_ns : 1;
			const uint64_t values[] = {
				cpu->min_khz,
				cpu->max_khz,
				(uint64_t)(cpu->khz_ns / known + 0.5),
				cpu->transitions,
				(uint64_t)(cpu->below_ns / known * MILLION + 0.5),
			};

			if (cpu->known)
				fact(facts, (enum fperf_fact)which, i,
				     values[which - FPERF_FACT_FREQ_MIN_KHZ]);
		}
	}
}

int fperf_reducer__sums(struct fperf_reducer *reducer, uint64_t now_ns, struct fperf_error *err)
{
	struct facts facts = {.reducer = reducer, .err = err};
	uint64_t cpu_ns = 0;

	for (size_t i = 0; i < reducer->thread_count; i++)
		cpu_ns += reducer->threads[i].stats.cpu_ns;
	if (reducer->times.values)
		frame_facts(&facts);
	if (cpu_ns)
		fact(&facts, FPERF_FACT_CPU_NS, 0, cpu_ns);
	if (reducer->sampled)
		fact(&facts, FPERF_FACT_SAMPLES, 0, reducer->samples);
	if (reducer->level == FPERF_LEVEL_SUMMARY || facts.failed)
		return facts.failed;
	for (uint32_t outcome = 0; outcome < FPERF_STACK_OUTCOMES; outcome++)
		if (reducer->stacks[outcome])
			fact(&facts, FPERF_FACT_STACKS, outcome, reducer->stacks[outcome]);
	clock_facts(&facts);
	if (facts.failed)
		return facts.failed;
	return hot_write(reducer, now_ns, err) || threads_write(reducer, err) ? err->code : 0;
}
