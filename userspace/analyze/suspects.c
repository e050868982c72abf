/* What a slow frame has more of than its ordinary neighbours. */
#include "analyze/verdict.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

/* Groups of threads that hold less of the chain than this cannot be the cause. */
#define MINOR_SHARE 0.02

/* A clock this much slower than usual is worth naming. */
#define SLOWER_CLOCK 0.95

/* A function that holds this much of the excess is its place. */
#define PLACE_SHARE 0.65

/* Start and main function of a program, or of a thread. */
#define ROOT_DEPTH 1
#define FAIR_SHARE 0.25

/* ---- windows: everything a group of threads did in a frame, on the chain or not ---- */

static int window_pieces(const struct fperf_case *of, uint32_t group, const struct fperf_frame *frame,
			 struct fperf_pieces *pieces)
{
	const struct fperf_group *threads = &of->model->groups[group];

	pieces->count = 0;
	for (size_t i = 0; i < threads->count; i++) {
		const struct fperf_timeline *timeline = &of->model->timelines[threads->timelines[i]];

		if (timeline->to_ns <= frame->start_ns || timeline->from_ns >= frame->end_ns)
			continue;
		if (fperf_pieces__of_thread(of->model, timeline, frame->start_ns, frame->end_ns, pieces))
			return -ENOMEM;
	}
	return 0;
}

/* The slow frame's window, and the mean of the neighbours' windows. */
static int windows_tally(const struct fperf_case *of, uint32_t group, struct fperf_tally *slow,
			 struct fperf_tally *usual)
{
	struct fperf_pieces pieces = {0};
	int failed = window_pieces(of, group, of->frame, &pieces) ||
		     fperf_tally__add_pieces(slow, of->model, &pieces, 1);

	for (size_t i = 0; i < of->neighbours.count && !failed; i++) {
		const struct fperf_frame *frame =
			fperf_baseline__frame(of->baseline, of->neighbours.first + i);

		failed = window_pieces(of, group, frame, &pieces) ||
			 fperf_tally__add_pieces(usual, of->model, &pieces,
						 1.0 / (double)of->neighbours.count);
	}
	free(pieces.items);
	return failed ? -ENOMEM : 0;
}

/* ---- comparison ---- */

static double cause_sum(const struct fperf_tally *tally, enum fperf_cause cause, uint32_t group)
{
	double sum = 0;

	for (size_t i = 0; i < tally->count; i++)
		if (fperf_tally__cause(tally->items[i].key) == cause &&
		    fperf_tally__group(tally->items[i].key) == group)
			sum += tally->items[i].ns;
	return sum;
}

/* Two views of one frame and of its neighbours: the chain says what the frame waited for, the window what
 * the threads did that they do not do ordinarily. A thread that works in the shadow of another every frame
 * comes into the chain of a slow one with all of its work; only what it did more than usual is to blame. */
struct views {
	struct fperf_tally chain, usual_chain;
	struct fperf_tally window, usual_window; /* of the group being compared */
	bool has_window;
};

static void views_free(struct views *views)
{
	fperf_tally__free(&views->chain);
	fperf_tally__free(&views->usual_chain);
	fperf_tally__free(&views->window);
	fperf_tally__free(&views->usual_window);
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

static double key_excess(const struct views *views, uint64_t key)
{
	double excess = fperf_tally__get(&views->chain, key) - fperf_tally__get(&views->usual_chain, key);

	if (!views->has_window)
		return excess;
	return least(excess,
		     fperf_tally__get(&views->window, key) - fperf_tally__get(&views->usual_window, key));
}

static double cause_excess(const struct views *views, enum fperf_cause cause, uint32_t group)
{
	double excess = cause_sum(&views->chain, cause, group) - cause_sum(&views->usual_chain, cause, group);

	if (!views->has_window)
		return excess;
	return least(excess,
		     cause_sum(&views->window, cause, group) - cause_sum(&views->usual_window, cause, group));
}

/* Waits are measured one by one, so what grew counts by place: a pacing sleep that shrank because a fault
 * took its time must not hide another sleep. A wait whose place is not known counts only as far as the cause
 * grew as a whole. */
static bool counts_by_place(enum fperf_cause cause)
{
	return cause == FPERF_CAUSE_LOCK || cause == FPERF_CAUSE_IO || cause == FPERF_CAUSE_GPU ||
	       cause == FPERF_CAUSE_SLEEP || cause == FPERF_CAUSE_EVENT;
}

static int suspect_add(struct fperf_suspects *suspects, const struct fperf_suspect *suspect)
{
	struct fperf_suspect *slot;

	if (suspect->excess_ns <= 0)
		return 0;
	slot = fperf_vec__push(&suspects->items, &suspects->count, &suspects->capacity);
	if (!slot)
		return -ENOMEM;
	*slot = *suspect;
	return 0;
}

static struct fperf_suspect cause_compare(const struct views *views, enum fperf_cause cause, uint32_t group)
{
	struct fperf_suspect suspect = {.cause = cause, .group = group};
	double whole = cause_excess(views, cause, group), by_place = 0;

	suspect.key = fperf_tally__key(cause, group, 0);
	for (size_t i = 0; i < views->chain.count; i++) {
		uint64_t key = views->chain.items[i].key;
		double excess;

		if (fperf_tally__cause(key) != cause || fperf_tally__group(key) != group)
			continue;
		excess = key_excess(views, key);
		if (!fperf_tally__place(key))
			excess = least(excess, whole);
		if (excess <= 0)
			continue;
		by_place += excess;
		if (excess > suspect.place_excess_ns) {
			suspect.place_excess_ns = excess;
			suspect.key = key;
		}
	}
	suspect.excess_ns = counts_by_place(cause) ? by_place : whole;
	return suspect;
}

/* ---- frequency ---- */

struct clocked {
	double ns, cycles; /* running time whose frequency is known, and its cycles */
};

static int clock_of_frame(const struct fperf_case *of, uint32_t group, const struct fperf_frame *frame,
			  struct clocked *clocked)
{
	struct fperf_pieces pieces = {0};
	int failed = window_pieces(of, group, frame, &pieces);
	double cycles;

	for (size_t i = 0; i < pieces.count && !failed; i++) {
		const struct fperf_piece *piece = &pieces.items[i];

		if (piece->state != FPERF_STATE_USER && piece->state != FPERF_STATE_KERNEL)
			continue;
		if (!piece->cpu_known ||
		    !fperf_freq__cycles(of->freq, piece->cpu, piece->from_ns, piece->to_ns, &cycles))
			continue;
		clocked->ns += (double)(piece->to_ns - piece->from_ns);
		clocked->cycles += cycles;
	}
	free(pieces.items);
	return failed;
}

/* The part of the CPU excess that the usual clock would have saved: running time × (1 − clock / usual
 * clock). It moves from the CPU suspect to a frequency suspect. */
static int frequency_split(const struct fperf_case *of, struct fperf_suspect *cpu,
			   struct fperf_suspect *frequency)
{
	struct clocked slow = {0}, usual = {0};
	double lost;

	if (!of->freq->any || cpu->excess_ns <= 0)
		return 0;
	if (clock_of_frame(of, cpu->group, of->frame, &slow))
		return -ENOMEM;
	for (size_t i = 0; i < of->neighbours.count; i++)
		if (clock_of_frame(of, cpu->group,
				   fperf_baseline__frame(of->baseline, of->neighbours.first + i), &usual))
			return -ENOMEM;
	if (slow.ns <= 0 || usual.ns <= 0)
		return 0;
	frequency->slow_khz = slow.cycles / slow.ns * 1e6;
	frequency->usual_khz = usual.cycles / usual.ns * 1e6;
	if (frequency->slow_khz > SLOWER_CLOCK * frequency->usual_khz)
		return 0;
	lost = least(slow.ns * (1 - frequency->slow_khz / frequency->usual_khz), cpu->excess_ns);
	frequency->excess_ns = lost;
	cpu->excess_ns -= lost;
	return 0;
}

/* ---- all of it ---- */

static int group_compare(const struct fperf_case *of, struct views *views, uint32_t group,
			 struct fperf_suspects *suspects)
{
	const struct fperf_timeline *presenting = fperf_model__timeline(of->model, of->frame->thread);

	views->has_window = !presenting || presenting->group != group;
	fperf_tally__clear(&views->window);
	fperf_tally__clear(&views->usual_window);
	if (views->has_window && windows_tally(of, group, &views->window, &views->usual_window))
		return -ENOMEM;
	for (int cause = 0; cause < FPERF_CAUSES; cause++) {
		struct fperf_suspect suspect = cause_compare(views, (enum fperf_cause)cause, group);
		struct fperf_suspect frequency = {.cause = FPERF_CAUSE_FREQUENCY, .group = group};

		frequency.key = fperf_tally__key(FPERF_CAUSE_CPU, group, 0);
		if (cause == FPERF_CAUSE_CPU && frequency_split(of, &suspect, &frequency))
			return -ENOMEM;
		if (suspect_add(suspects, &suspect) || suspect_add(suspects, &frequency))
			return -ENOMEM;
	}
	return 0;
}

static double group_sum(const struct fperf_tally *tally, uint32_t group)
{
	double sum = 0;

	for (size_t i = 0; i < tally->count; i++)
		sum += fperf_tally__group(tally->items[i].key) == group ? tally->items[i].ns : 0;
	return sum;
}

/* Is entry `index` the first of its group? Chains hold few groups and keys. */
static bool first_of_group(const struct fperf_tally *tally, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (fperf_tally__group(tally->items[i].key) == fperf_tally__group(tally->items[index].key))
			return false;
	return true;
}

int fperf_suspects__find(const struct fperf_case *of, struct fperf_suspects *suspects)
{
	double minor = MINOR_SHARE * (double)(of->frame->end_ns - of->frame->start_ns);
	struct views views = {0};
	int failed;

	failed = fperf_tally__add_pieces(&views.chain, of->model, of->chain, 1) ||
		 fperf_baseline__chains(of->baseline, &of->neighbours, &views.usual_chain);
	for (size_t i = 0; i < views.chain.count && !failed; i++) {
		uint32_t group = fperf_tally__group(views.chain.items[i].key);

		if (first_of_group(&views.chain, i) && group_sum(&views.chain, group) >= minor)
			failed = group_compare(of, &views, group, suspects);
	}
	views_free(&views);
	return failed ? -ENOMEM : 0;
}

/* ---- place of CPU time ---- */

/* Running time by stack (index into model->stacks): the slow frame's minus the neighbours' mean. */
static int stacks_compare(const struct fperf_case *of, uint32_t group, struct fperf_tally *excess)
{
	struct fperf_pieces pieces = {0};
	int failed = 0;

	for (size_t i = 0; i <= of->neighbours.count && !failed; i++) {
		bool slow = i == of->neighbours.count;
		const struct fperf_frame *frame =
			slow ? of->frame : fperf_baseline__frame(of->baseline, of->neighbours.first + i);
		double factor = slow ? 1 : -1.0 / (double)of->neighbours.count;

		failed = window_pieces(of, group, frame, &pieces);
		for (size_t k = 0; k < pieces.count && !failed; k++) {
			const struct fperf_piece *piece = &pieces.items[k];
			struct fperf_tally_entry entry = {.key = piece->stack};
			struct fperf_tally one = {.items = &entry, .count = 1};

			entry.ns = (double)(piece->to_ns - piece->from_ns) * factor;
			if (fperf_piece__cause(of->model, piece) == FPERF_CAUSE_CPU)
				failed = fperf_tally__add_tally(excess, &one, 1);
		}
	}
	free(pieces.items);
	fperf_tally__sum_up(excess);
	return failed ? -ENOMEM : 0;
}

struct function_excess {
	const struct fperf_symbol *symbol;
	double self_ns, total_ns; /* more than usual: as innermost own function, and anywhere on the stack */
	uint32_t depth;		  /* greatest distance from the root */
};

struct function_excesses {
	struct function_excess *items;
	size_t count, capacity;
	struct fperf_map by_id; /* function id to index */
};

static struct function_excess *function_at(struct function_excesses *functions,
					   const struct fperf_symbol *symbol)
{
	struct function_excess *function;
	uint64_t index;

	if (fperf_map__get(&functions->by_id, symbol->function_id, &index))
		return &functions->items[index];
	function = fperf_vec__push(&functions->items, &functions->count, &functions->capacity);
	if (!function || fperf_map__set(&functions->by_id, symbol->function_id, functions->count - 1))
		return NULL;
	function->symbol = symbol;
	return function;
}

static int stack_spread(const struct fperf_model *model, const struct fperf_tally_entry *entry,
			struct function_excesses *functions)
{
	const struct fperf_stack_info *stack = &model->stacks[entry->key];
	struct function_excess *function;

	for (uint32_t i = 0; i < stack->own_count; i++) {
		function = function_at(functions, model->own_functions[stack->own_first + i]);
		if (!function)
			return -ENOMEM;
		function->total_ns += entry->ns;
		if (i > function->depth)
			function->depth = i;
	}
	function = stack->place ? function_at(functions, stack->place) : NULL;
	if (stack->place && !function)
		return -ENOMEM;
	if (function)
		function->self_ns += entry->ns;
	return 0;
}

/* The deepest function under which most of the excess lies. When that is no deeper than where a thread begins
 * (start and main function), it says nothing: rather the one with the greatest excess of its own, if that is
 * a fair part. */
static const struct fperf_symbol *function_choose(const struct function_excesses *functions, double whole)
{
	const struct function_excess *deepest = NULL, *own = NULL;

	for (size_t i = 0; i < functions->count; i++) {
		const struct function_excess *function = &functions->items[i];

		if (!own || function->self_ns > own->self_ns)
			own = function;
		if (function->total_ns >= PLACE_SHARE * whole &&
		    (!deepest || function->depth > deepest->depth))
			deepest = function;
	}
	if (deepest && deepest->depth <= ROOT_DEPTH && own->self_ns >= FAIR_SHARE * whole)
		return own->symbol;
	if (deepest)
		return deepest->symbol;
	return own && own->self_ns > 0 ? own->symbol : NULL;
}

int fperf_suspects__cpu_place(const struct fperf_case *of, uint32_t group, const struct fperf_symbol **place)
{
	struct function_excesses functions = {0};
	struct fperf_tally excess = {0};
	double whole = 0;
	int failed = stacks_compare(of, group, &excess);

	for (size_t i = 0; i < excess.count && !failed; i++) {
		whole += excess.items[i].ns;
		failed = stack_spread(of->model, &excess.items[i], &functions);
	}
	*place = failed ? NULL : function_choose(&functions, whole);
	free(functions.items);
	fperf_map__free(&functions.by_id);
	fperf_tally__free(&excess);
	return failed ? -ENOMEM : 0;
}
