#include "analyze/timeline.h"

#include "frameperf/wire.h"

#include <errno.h>
#include <stdlib.h>

/* Linux task state bit (include/linux/sched.h). */
#define TASK_UNINTERRUPTIBLE 2u

/* A running stretch this many sample periods long in which not one sample fell is not believed where
 * scheduler records were lost. */
#define SILENT_PERIODS 50

/* A sample without scheduler records stands for at most this many nominal periods, times the hits per sample.
 */
#define WEIGHT_LIMIT 8

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

static bool left_runnable(const struct fperf_rec_offcpu *record)
{
	return record->state == 0 || record->flags & FPERF_OFFCPU_PREEMPTED;
}

/* ---- building ---- */

/* Appends an interval, clipped to the life of the thread and to its neighbours. */
static void interval_add(struct fperf_model *model, struct fperf_timeline *timeline, uint32_t index)
{
	const struct fperf_rec_offcpu *record = &model->offcpu[index];
	struct fperf_interval *before =
		timeline->interval_count ? &timeline->intervals[timeline->interval_count - 1] : NULL;
	uint64_t out = clamp(record->out_ns, timeline->from_ns, timeline->to_ns);
	uint64_t in = clamp(record->in_ns, timeline->from_ns, timeline->to_ns);

	if (record->in_ns < record->out_ns || record->flags & FPERF_OFFCPU_CLAMPED)
		model->bad_intervals++;
	if (before && before->in_ns > out) { /* it must have run to be switched out again */
		model->bad_intervals++;
		if (out > before->out_ns) {
			timeline->off_ns -= before->in_ns - out;
			before->in_ns = out;
		} else {
			out = before->in_ns;
		}
	}
	if (in <= out)
		return;
	timeline->intervals[timeline->interval_count++] = (struct fperf_interval){
		.out_ns = out,
		.in_ns = in,
		.off_before_ns = timeline->off_ns,
		.record = index,
		.state = left_runnable(record) ? FPERF_STATE_PREEMPTED : FPERF_STATE_UNCLASSIFIED,
	};
	timeline->off_ns += in - out;
}

static struct fperf_timeline *timeline_of(struct fperf_model *model, uint32_t thread)
{
	uint64_t index;

	return fperf_map__get(&model->by_thread, thread, &index) ? &model->timelines[index] : NULL;
}

/* Counts, allocates and fills: intervals of all threads. */
static int intervals_build(struct fperf_model *model)
{
	struct fperf_timeline *timeline;

	for (size_t i = 0; i < model->offcpu_count; i++) {
		timeline = timeline_of(model, model->offcpu[i].thread);
		if (timeline)
			timeline->interval_count++;
	}
	for (size_t i = 0; i < model->timeline_count; i++) {
		timeline = &model->timelines[i];
		if (timeline->interval_count)
			timeline->intervals = calloc(timeline->interval_count, sizeof(*timeline->intervals));
		if (timeline->interval_count && !timeline->intervals)
			return -ENOMEM;
		timeline->interval_count = 0;
	}
	for (size_t i = 0; i < model->offcpu_count; i++) {
		timeline = timeline_of(model, model->offcpu[i].thread);
		if (timeline)
			interval_add(model, timeline, (uint32_t)i);
	}
	return 0;
}

/* Running time of the thread before `time_ns`, with `interval` the first that ends after it. */
static uint64_t cpu_clock(const struct fperf_timeline *timeline, uint64_t time_ns, size_t interval)
{
	uint64_t off = timeline->off_ns;

	if (interval < timeline->interval_count) {
		const struct fperf_interval *next = &timeline->intervals[interval];

		off = next->off_before_ns + (time_ns > next->out_ns ? time_ns - next->out_ns : 0);
	}
	return time_ns - timeline->from_ns - off;
}

static int compare_periods(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Periods count nanoseconds, or cycles: then the middle one of the samples at the full rate stands for one
 * nominal period. */
static uint64_t middle_period(const struct fperf_model *model)
{
	size_t step = model->sample_count / 4096 + 1, count = 0;
	uint64_t *periods, middle;

	if (model->period_is_ns)
		return model->sample_period_ns;
	periods = malloc((model->sample_count / step + 1) * sizeof(*periods));
	if (!periods)
		return 0;
	for (size_t i = 0; i < model->sample_count; i += step)
		if (model->samples[i].period)
			periods[count++] = model->samples[i].period /
					   fperf_model__hits_per_sample(model, model->samples[i].time_ns);
	qsort(periods, count, sizeof(*periods), compare_periods);
	middle = count ? periods[count / 2] : 0;
	free(periods);
	return middle;
}

static uint64_t weight_from_period(const struct fperf_model *model, const struct fperf_rec_sample *sample,
				   uint64_t middle)
{
	uint64_t hits = fperf_model__hits_per_sample(model, sample->time_ns), limit;
	double weight = (double)model->sample_period_ns;

	if (sample->period && middle)
		weight *= (double)sample->period / (double)middle;
	limit = WEIGHT_LIMIT * model->sample_period_ns * hits;
	if (weight > (double)limit)
		return limit;
	return (uint64_t)weight;
}

/* The clock of CPU time at each sample. Without scheduler records it is the sum of the samples' weights. */
static void samples_clock(const struct fperf_model *model, struct fperf_timeline *timeline, uint64_t middle)
{
	size_t interval = 0;
	uint64_t sum = 0;

	for (size_t i = 0; i < timeline->sample_count; i++) {
		const struct fperf_rec_sample *sample = &model->samples[timeline->samples[i]];
		uint64_t time = clamp(sample->time_ns, timeline->from_ns, timeline->to_ns);

		while (interval < timeline->interval_count && timeline->intervals[interval].in_ns <= time)
			interval++;
		sum += weight_from_period(model, sample, middle);
		timeline->sample_cpu_ns[i] = model->has_sched ? cpu_clock(timeline, time, interval) : sum;
	}
}

static int samples_build(struct fperf_model *model)
{
	struct fperf_timeline *timeline;
	uint64_t middle = middle_period(model);

	for (size_t i = 0; i < model->sample_count; i++) {
		timeline = timeline_of(model, model->samples[i].thread);
		if (timeline)
			timeline->sample_count++;
	}
	for (size_t i = 0; i < model->timeline_count; i++) {
		timeline = &model->timelines[i];
		if (!timeline->sample_count)
			continue;
		timeline->samples = calloc(timeline->sample_count, sizeof(*timeline->samples));
		timeline->sample_cpu_ns = calloc(timeline->sample_count, sizeof(*timeline->sample_cpu_ns));
		if (!timeline->samples || !timeline->sample_cpu_ns)
			return -ENOMEM;
		timeline->sample_count = 0;
	}
	for (size_t i = 0; i < model->sample_count; i++) {
		timeline = timeline_of(model, model->samples[i].thread);
		if (timeline)
			timeline->samples[timeline->sample_count++] = (uint32_t)i;
	}
	for (size_t i = 0; i < model->timeline_count; i++)
		samples_clock(model, &model->timelines[i], middle);
	return 0;
}

int fperf_timelines__build(struct fperf_model *model, struct fperf_error *err)
{
	if (intervals_build(model) || samples_build(model))
		return fperf_error__no_memory(err, "the timelines of the threads");
	return 0;
}

/* ---- facts about one interval ---- */

uint64_t fperf_timeline__wake_ns(const struct fperf_model *model, const struct fperf_interval *interval)
{
	const struct fperf_rec_offcpu *record = &model->offcpu[interval->record];

	if (left_runnable(record))
		return interval->out_ns;
	return record->wake_ns ? clamp(record->wake_ns, interval->out_ns, interval->in_ns) : interval->in_ns;
}

/* Short waits have no kernel stack. A user thread that sleeps uninterruptibly outside of any system call can
 * only have got there through an exception, and the one that sleeps is the page fault. */
static bool faulted(const struct fperf_model *model, const struct fperf_rec_offcpu *record,
		    const struct fperf_stack_info *stack)
{
	return !stack->kernel && record->state & TASK_UNINTERRUPTIBLE && model->arch != FPERF_ARCH_OTHER;
}

enum fperf_state fperf_timeline__interval_state(struct fperf_model *model,
						const struct fperf_timeline *timeline, size_t index)
{
	struct fperf_interval *interval = &timeline->intervals[index];
	const struct fperf_rec_offcpu *record = &model->offcpu[interval->record];
	const struct fperf_timeline *waker;
	const struct fperf_stack_info *kernel, *user;
	uint32_t kernel_stack, user_stack;
	struct fperf_blocked_facts facts = {
		.arch = model->arch,
		.syscall = record->syscall,
		.args = {record->args[0], record->args[1], record->args[2]},
		.task_state = record->state,
		.iowait = record->flags & FPERF_OFFCPU_IOWAIT,
	};

	if (interval->state != FPERF_STATE_UNCLASSIFIED)
		return interval->state;
	/* both calls first: they may move the array that the pointers point into */
	kernel_stack = fperf_model__stack(model, record->stack, timeline->process);
	user_stack = fperf_model__interval_stack(model, timeline, index);
	kernel = &model->stacks[kernel_stack];
	user = &model->stacks[user_stack];
	waker = record->flags & FPERF_OFFCPU_WAKER_IRQ ? NULL : fperf_model__timeline(model, record->waker);
	facts.fault = record->syscall < 0 && (kernel->fault || faulted(model, record, kernel));
	facts.woken_by_thread = waker && waker->target && waker != timeline;
	facts.kernel_hint = kernel->kernel_hint;
	facts.user_hint = user->user_hint;
	interval->state = (uint8_t)fperf_blocked__classify(&facts);
	return interval->state;
}

/* ---- CPU time of samples ---- */

/* On the thread's clock of CPU time, sample i stands for the time between the middles to its neighbours; the
 * first and the last also for what is before and after. */
static uint64_t cell_end(const struct fperf_timeline *timeline, size_t sample)
{
	uint64_t here = timeline->sample_cpu_ns[sample];

	if (sample + 1 >= timeline->sample_count)
		return UINT64_MAX;
	if (timeline->sample_cpu_ns[sample + 1] <= here)
		return here;
	return here + (timeline->sample_cpu_ns[sample + 1] - here) / 2;
}

uint64_t fperf_timeline__sample_weight(const struct fperf_model *model, const struct fperf_timeline *timeline,
				       size_t index)
{
	uint64_t begin, end;

	if (!model->has_sched)
		return timeline->sample_cpu_ns[index] - (index ? timeline->sample_cpu_ns[index - 1] : 0);
	begin = index ? cell_end(timeline, index - 1) : 0;
	end = cell_end(timeline, index);
	if (end == UINT64_MAX)
		end = timeline->to_ns - timeline->from_ns - timeline->off_ns;
	return end > begin ? end - begin : 0;
}

uint64_t fperf_timeline__cpu_ns(struct fperf_model *model, const struct fperf_timeline *timeline)
{
	struct fperf_piece piece;
	struct fperf_walk walk;
	uint64_t sum = 0;

	if (!model->has_sched)
		return timeline->sample_count ? timeline->sample_cpu_ns[timeline->sample_count - 1] : 0;
	if (timeline->interval_count && !model->sched_lossy)
		return timeline->to_ns - timeline->from_ns - timeline->off_ns;
	fperf_walk__start(&walk, model, timeline, timeline->from_ns, timeline->to_ns);
	while (fperf_walk__next(&walk, &piece))
		if (piece.state == FPERF_STATE_USER || piece.state == FPERF_STATE_KERNEL)
			sum += piece.to_ns - piece.from_ns;
	return sum;
}

/* ---- walking ---- */

/* First interval that ends after `time_ns`. */
static size_t interval_find(const struct fperf_timeline *timeline, uint64_t time_ns)
{
	size_t low = 0, high = timeline->interval_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (timeline->intervals[middle].in_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* First sample at or after `time_ns`. */
static size_t sample_find(const struct fperf_model *model, const struct fperf_timeline *timeline,
			  uint64_t time_ns)
{
	size_t low = 0, high = timeline->sample_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (model->samples[timeline->samples[middle]].time_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void fperf_walk__start(struct fperf_walk *walk, struct fperf_model *model,
		       const struct fperf_timeline *timeline, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t from = from_ns > timeline->from_ns ? from_ns : timeline->from_ns;
	uint64_t to = to_ns < timeline->to_ns ? to_ns : timeline->to_ns;

	*walk = (struct fperf_walk){.model = model, .timeline = timeline, .pos_ns = from, .end_ns = to};
	walk->interval = interval_find(timeline, from);
	walk->sample = sample_find(model, timeline, from);
	if (walk->sample)
		walk->sample--;
}

static void running_cpu(const struct fperf_walk *walk, struct fperf_piece *piece)
{
	const struct fperf_timeline *timeline = walk->timeline;
	const struct fperf_model *model = walk->model;

	if (walk->interval) {
		piece->cpu = model->offcpu[timeline->intervals[walk->interval - 1].record].cpu_in;
		piece->cpu_known = true;
	} else if (timeline->interval_count) {
		piece->cpu = model->offcpu[timeline->intervals[0].record].cpu_out;
		piece->cpu_known = true;
	}
}

/* Is the stretch of running around pos believed? Decided once per stretch. */
static bool stretch_unknown(struct fperf_walk *walk, uint64_t stretch_end)
{
	const struct fperf_timeline *timeline = walk->timeline;
	const struct fperf_model *model = walk->model;
	uint64_t begin = walk->interval ? timeline->intervals[walk->interval - 1].in_ns : timeline->from_ns;
	size_t sample;

	if (walk->known_to > walk->pos_ns)
		return walk->unknown_to > walk->pos_ns;
	walk->known_to = stretch_end;
	if (!model->sched_lossy && timeline->interval_count)
		return false;
	if (stretch_end - begin <
		    SILENT_PERIODS * model->sample_period_ns * fperf_model__hits_per_sample(model, begin) &&
	    timeline->interval_count)
		return false;
	sample = sample_find(model, timeline, begin);
	if (sample < timeline->sample_count &&
	    model->samples[timeline->samples[sample]].time_ns < stretch_end)
		return false;
	walk->unknown_to = stretch_end;
	return true;
}

/* The piece of running that starts at pos and has one stack; `limit` is the end of the stretch. */
static void running_piece(struct fperf_walk *walk, uint64_t limit, struct fperf_piece *piece)
{
	const struct fperf_timeline *timeline = walk->timeline;
	struct fperf_model *model = walk->model;
	const struct fperf_rec_sample *sample, *next;
	uint64_t clock = cpu_clock(timeline, walk->pos_ns, walk->interval), end;

	piece->interval = FPERF_NO_RECORD;
	piece->state = FPERF_STATE_USER;
	piece->to_ns = limit;
	running_cpu(walk, piece);
	if (!timeline->sample_count)
		return;
	while (walk->sample && cell_end(timeline, walk->sample - 1) > clock)
		walk->sample--;
	while (cell_end(timeline, walk->sample) <= clock)
		walk->sample++;
	sample = &model->samples[timeline->samples[walk->sample]];
	end = cell_end(timeline, walk->sample);
	while (end != UINT64_MAX &&
	       end - clock < limit - walk->pos_ns) { /* cells of the same stack are one */
		next = &model->samples[timeline->samples[walk->sample + 1]];
		if (next->stack != sample->stack || next->kernel != sample->kernel)
			break;
		end = cell_end(timeline, ++walk->sample);
	}
	if (end != UINT64_MAX && end - clock < limit - walk->pos_ns)
		piece->to_ns = walk->pos_ns + (end - clock);
	piece->state = sample->kernel ? FPERF_STATE_KERNEL : FPERF_STATE_USER;
	piece->stack = fperf_model__stack(model, sample->stack, timeline->process);
}

static void off_piece(struct fperf_walk *walk, struct fperf_piece *piece)
{
	const struct fperf_timeline *timeline = walk->timeline;
	const struct fperf_interval *interval = &timeline->intervals[walk->interval];
	struct fperf_model *model = walk->model;
	uint64_t wake = fperf_timeline__wake_ns(model, interval), to = interval->in_ns;

	piece->interval = (uint32_t)walk->interval;
	piece->state = (uint8_t)fperf_timeline__interval_state(model, timeline, walk->interval);
	if (piece->state != FPERF_STATE_PREEMPTED) {
		if (walk->pos_ns < wake)
			to = wake;
		else
			piece->state = FPERF_STATE_RUNNABLE;
	}
	piece->to_ns = to < walk->end_ns ? to : walk->end_ns;
	piece->stack = fperf_model__interval_stack(model, timeline, walk->interval);
	if (piece->state == FPERF_STATE_PREEMPTED && !model->stacks[piece->stack].user) {
		struct fperf_piece before = {0}; /* it was interrupted in what it was sampled in */
		uint64_t pos = walk->pos_ns;

		walk->pos_ns = interval->out_ns;
		running_piece(walk, interval->out_ns + 1, &before);
		walk->pos_ns = pos;
		piece->stack = before.stack;
	}
}

/* Without scheduler records: the time before each sample that it stands for; nothing is known of the rest. */
static void sampled_piece(struct fperf_walk *walk, struct fperf_piece *piece)
{
	const struct fperf_timeline *timeline = walk->timeline;
	struct fperf_model *model = walk->model;
	size_t index = sample_find(model, timeline, walk->pos_ns + 1);
	const struct fperf_rec_sample *sample;
	uint64_t weight, begin;

	piece->interval = FPERF_NO_RECORD;
	piece->state = FPERF_STATE_UNKNOWN;
	piece->to_ns = walk->end_ns;
	if (index >= timeline->sample_count)
		return;
	sample = &model->samples[timeline->samples[index]];
	weight = fperf_timeline__sample_weight(model, timeline, index);
	begin = sample->time_ns > weight ? sample->time_ns - weight : 0;
	if (begin > walk->pos_ns) {
		piece->to_ns = begin < walk->end_ns ? begin : walk->end_ns;
		return;
	}
	piece->to_ns = sample->time_ns < walk->end_ns ? sample->time_ns : walk->end_ns;
	piece->state = sample->kernel ? FPERF_STATE_KERNEL : FPERF_STATE_USER;
	piece->stack = fperf_model__stack(model, sample->stack, timeline->process);
	piece->cpu = sample->cpu;
	piece->cpu_known = true;
}

bool fperf_walk__next(struct fperf_walk *walk, struct fperf_piece *piece)
{
	const struct fperf_timeline *timeline = walk->timeline;
	uint64_t limit = walk->end_ns;

	if (walk->pos_ns >= walk->end_ns)
		return false;
	*piece = (struct fperf_piece){.timeline = timeline, .from_ns = walk->pos_ns};
	if (!walk->model->has_sched) {
		sampled_piece(walk, piece);
		walk->pos_ns = piece->to_ns;
		return true;
	}
	while (walk->interval < timeline->interval_count &&
	       timeline->intervals[walk->interval].in_ns <= walk->pos_ns)
		walk->interval++;
	if (walk->interval < timeline->interval_count &&
	    timeline->intervals[walk->interval].out_ns <= walk->pos_ns) {
		off_piece(walk, piece);
	} else {
		uint64_t stretch_end = walk->interval < timeline->interval_count
					       ? timeline->intervals[walk->interval].out_ns
					       : timeline->to_ns;

		if (stretch_end < limit)
			limit = stretch_end;
		if (stretch_unknown(walk, stretch_end)) {
			piece->interval = FPERF_NO_RECORD;
			piece->state = FPERF_STATE_UNKNOWN;
			piece->to_ns = limit;
		} else {
			running_piece(walk, limit, piece);
		}
	}
	walk->pos_ns = piece->to_ns;
	return true;
}

/* ---- what a piece means ---- */

static const uint8_t state_cause[FPERF_STATES + 1] = {
	[FPERF_STATE_USER] = FPERF_CAUSE_CPU,		[FPERF_STATE_KERNEL] = FPERF_CAUSE_CPU,
	[FPERF_STATE_RUNNABLE] = FPERF_CAUSE_RUN_QUEUE, [FPERF_STATE_PREEMPTED] = FPERF_CAUSE_PREEMPTED,
	[FPERF_STATE_LOCK] = FPERF_CAUSE_LOCK,		[FPERF_STATE_IO] = FPERF_CAUSE_IO,
	[FPERF_STATE_FAULT] = FPERF_CAUSE_FAULT,	[FPERF_STATE_GPU] = FPERF_CAUSE_GPU,
	[FPERF_STATE_SLEEP] = FPERF_CAUSE_SLEEP,	[FPERF_STATE_EVENT] = FPERF_CAUSE_EVENT,
	[FPERF_STATE_OTHER] = FPERF_CAUSE_UNKNOWN,	[FPERF_STATE_UNKNOWN] = FPERF_CAUSE_UNKNOWN,
};

enum fperf_cause fperf_piece__cause(const struct fperf_model *model, const struct fperf_piece *piece)
{
	const struct fperf_stack_info *stack = &model->stacks[piece->stack];

	if (piece->state == FPERF_STATE_KERNEL && stack->fault)
		return FPERF_CAUSE_FAULT;
	if (piece->state == FPERF_STATE_KERNEL && stack->kernel_io)
		return FPERF_CAUSE_IO;
	return state_cause[piece->state];
}

uint32_t fperf_piece__by(const struct fperf_model *model, const struct fperf_piece *piece)
{
	const struct fperf_rec_offcpu *record;

	if (piece->interval == FPERF_NO_RECORD)
		return 0;
	record = &model->offcpu[piece->timeline->intervals[piece->interval].record];
	switch (piece->state) {
	case FPERF_STATE_RUNNABLE:
		return record->prev;
	case FPERF_STATE_PREEMPTED:
		return record->next;
	case FPERF_STATE_LOCK:
	case FPERF_STATE_EVENT:
	case FPERF_STATE_OTHER:
		return record->flags & FPERF_OFFCPU_WAKER_IRQ ? 0 : record->waker;
	default:
		return 0;
	}
}
