#include "analyze/verdict.h"

#include <errno.h>
#include <stdlib.h>

/* A verdict that explains less than this is none: the cause is unknown. */
#define SHARE_LIMIT (1.0 / 3)

/* Shorter waits for a core are not worth the search for who had it. */
#define RUNNER_MIN_NS 500000

/* Does a piece of the chain belong to the suspect? */
static bool piece_matches(const struct fperf_case *of, const struct fperf_suspect *suspect,
			  const struct fperf_piece *piece)
{
	uint64_t key = fperf_piece__key(of->model, piece);

	if (suspect->cause == FPERF_CAUSE_FAULT) /* handled on the core and waited for, wherever */
		return fperf_tally__cause(key) == FPERF_CAUSE_FAULT &&
		       fperf_tally__group(key) == suspect->group;
	return key == suspect->key;
}

static uint64_t largest_key(const struct fperf_tally *tally)
{
	const struct fperf_tally_entry *best = NULL;

	for (size_t i = 0; i < tally->count; i++)
		if (tally->items[i].key && (!best || tally->items[i].ns > best->ns))
			best = &tally->items[i];
	return best ? best->key : 0;
}

static int tally_push(struct fperf_tally *tally, uint64_t key, double ns)
{
	struct fperf_tally_entry entry = {.key = key, .ns = ns};
	struct fperf_tally one = {.items = &entry, .count = 1};

	return fperf_tally__add_tally(tally, &one, 1);
}

/* What of a matching piece is to be summed up; 0 counts for nothing. */
typedef uint64_t (*piece_property)(struct fperf_model *model, const struct fperf_piece *piece);

static uint64_t property_thread(struct fperf_model *model, const struct fperf_piece *piece)
{
	(void)model;
	return piece->timeline->thread->id;
}

static uint64_t property_by(struct fperf_model *model, const struct fperf_piece *piece)
{
	return fperf_piece__by(model, piece);
}

static uint64_t property_place(struct fperf_model *model, const struct fperf_piece *piece)
{
	const struct fperf_symbol *place = model->stacks[piece->stack].place;

	return place ? place->function_id : 0;
}

static uint64_t property_leaf(struct fperf_model *model, const struct fperf_piece *piece)
{
	const struct fperf_symbol *leaf = model->stacks[piece->stack].leaf;

	return leaf ? leaf->function_id : 0;
}

/* The pieces of the suspect that a question is about. */
struct selection {
	const struct fperf_case *of;
	const struct fperf_suspect *suspect;
	uint32_t thread;		  /* 0: of any */
	const struct fperf_symbol *under; /* with this own function on the stack; NULL: any */
};

static bool stack_has(const struct fperf_model *model, uint32_t stack, const struct fperf_symbol *function)
{
	const struct fperf_stack_info *info = &model->stacks[stack];

	for (uint32_t i = 0; i < info->own_count; i++)
		if (model->own_functions[info->own_first + i]->function_id == function->function_id)
			return true;
	return false;
}

static bool selected(const struct selection *selection, const struct fperf_piece *piece)
{
	if (selection->thread && piece->timeline->thread->id != selection->thread)
		return false;
	if (selection->under && !stack_has(selection->of->model, piece->stack, selection->under))
		return false;
	return piece_matches(selection->of, selection->suspect, piece);
}

/* The property's value with the most time among the selected pieces; 0: none. */
static int largest(const struct selection *selection, piece_property property, uint64_t *value)
{
	const struct fperf_pieces *chain = selection->of->chain;
	struct fperf_tally tally = {0};
	int failed = 0;

	for (size_t i = 0; i < chain->count && !failed; i++) {
		const struct fperf_piece *piece = &chain->items[i];

		if (selected(selection, piece))
			failed = tally_push(&tally, property(selection->of->model, piece),
					    (double)(piece->to_ns - piece->from_ns));
	}
	fperf_tally__sum_up(&tally);
	*value = largest_key(&tally);
	fperf_tally__free(&tally);
	return failed;
}

static struct fperf_place place_of(const struct fperf_symbol *symbol)
{
	return symbol ? (struct fperf_place){symbol->function, symbol->module} : (struct fperf_place){0};
}

/* Symbols of the stack of the selected pieces, found again by id. */
static int places_fill(const struct selection *selection, const struct fperf_symbol *cpu_place,
		       struct fperf_verdict *verdict)
{
	const struct fperf_model *model = selection->of->model;
	const struct fperf_pieces *chain = selection->of->chain;
	struct selection under = *selection;
	uint64_t place, leaf;

	under.under = cpu_place;
	if (largest(selection, property_place, &place) || largest(&under, property_leaf, &leaf))
		return -ENOMEM;
	verdict->place = place_of(cpu_place);
	for (size_t i = 0; i < chain->count; i++) {
		const struct fperf_stack_info *stack = &model->stacks[chain->items[i].stack];

		if (!cpu_place && place && stack->place && stack->place->function_id == place)
			verdict->place = place_of(stack->place);
		if (leaf && stack->leaf && stack->leaf->function_id == leaf)
			verdict->leaf = place_of(stack->leaf);
	}
	return 0;
}

/* The thread of the target that ran on `cpu` for more than half of [from, to); 0: none. */
static uint32_t runner_find(struct fperf_model *model, uint16_t cpu, uint64_t from_ns, uint64_t to_ns,
			    const struct fperf_timeline *waiting)
{
	for (size_t i = 0; i < model->timeline_count; i++) {
		const struct fperf_timeline *timeline = &model->timelines[i];
		struct fperf_piece piece;
		struct fperf_walk walk;
		uint64_t ran = 0;

		if (timeline == waiting || !timeline->target || timeline->to_ns <= from_ns ||
		    timeline->from_ns >= to_ns)
			continue;
		fperf_walk__start(&walk, model, timeline, from_ns, to_ns);
		while (fperf_walk__next(&walk, &piece))
			if (piece.interval == FPERF_NO_RECORD && piece.state != FPERF_STATE_UNKNOWN &&
			    piece.cpu_known && piece.cpu == cpu)
				ran += piece.to_ns - piece.from_ns;
		if (ran > (to_ns - from_ns) / 2)
			return timeline->thread->id;
	}
	return 0;
}

/* Who had the core while the thread could have run. The record knows the task next to the wait only, which
 * may have run for an instant; a thread of the target that ran there for most of it is the better answer. */
static uint64_t property_runner(struct fperf_model *model, const struct fperf_piece *piece)
{
	const struct fperf_rec_offcpu *record =
		&model->offcpu[piece->timeline->intervals[piece->interval].record];
	uint32_t runner = 0;

	if (piece->to_ns - piece->from_ns >= RUNNER_MIN_NS)
		runner = runner_find(model, record->cpu_in, piece->from_ns, piece->to_ns, piece->timeline);
	return runner ? runner : fperf_piece__by(model, piece);
}

/* Where the thread that kept it waiting spent most of that wait. One that had the core can only have been
 * running; one that held a lock or was to answer may have waited itself. */
static int by_function_find(const struct selection *selection, piece_property property, uint32_t by,
			    struct fperf_verdict *verdict)
{
	struct fperf_model *model = selection->of->model;
	const struct fperf_timeline *timeline = fperf_model__timeline(model, by);
	const struct fperf_pieces *chain = selection->of->chain;
	struct fperf_pieces pieces = {0};
	struct fperf_tally tally = {0};
	uint64_t best;
	int failed = 0;

	for (size_t i = 0; timeline && i < chain->count && !failed; i++)
		if (selected(selection, &chain->items[i]) && property(model, &chain->items[i]) == by)
			failed = fperf_pieces__of_thread(model, timeline, chain->items[i].from_ns,
							 chain->items[i].to_ns, &pieces);
	for (size_t i = 0; i < pieces.count && !failed; i++)
		failed = tally_push(&tally, property_place(model, &pieces.items[i]),
				    (double)(pieces.items[i].to_ns - pieces.items[i].from_ns));
	fperf_tally__sum_up(&tally);
	best = largest_key(&tally);
	for (size_t i = 0; i < pieces.count && best; i++) {
		const struct fperf_symbol *place = model->stacks[pieces.items[i].stack].place;

		if (place && place->function_id == best) {
			verdict->by_function = place->function;
			verdict->by_module = place->module;
			break;
		}
	}
	free(pieces.items);
	fperf_tally__free(&tally);
	return failed;
}

static int suspect_describe(const struct fperf_case *of, const struct fperf_suspect *suspect,
			    struct fperf_verdict *verdict)
{
	struct selection selection = {.of = of, .suspect = suspect};
	const struct fperf_symbol *cpu_place = NULL;
	bool core = suspect->cause == FPERF_CAUSE_RUN_QUEUE || suspect->cause == FPERF_CAUSE_PREEMPTED;
	piece_property who = core ? property_runner : property_by;
	uint64_t thread, by;

	if ((suspect->cause == FPERF_CAUSE_CPU || suspect->cause == FPERF_CAUSE_FREQUENCY) &&
	    fperf_suspects__cpu_place(of, suspect->group, &cpu_place))
		return -ENOMEM;
	if (largest(&selection, property_thread, &thread))
		return -ENOMEM;
	selection.thread = (uint32_t)thread;
	verdict->thread = fperf_model__thread_ref(of->model, selection.thread, of->frame->end_ns);
	if (places_fill(&selection, cpu_place, verdict) || largest(&selection, who, &by))
		return -ENOMEM;
	verdict->by = fperf_model__thread_ref(of->model, (uint32_t)by, of->frame->end_ns);
	verdict->has_by = verdict->by.thread != 0;
	return verdict->has_by ? by_function_find(&selection, who, (uint32_t)by, verdict) : 0;
}

/* Of how much longer than its neighbours did the frame take? Under a limiter a frame that the work made late
 * may not be longer by all of that work: the limiter gave up its waiting first. */
static double frame_excess(const struct fperf_case *of)
{
	double excess = (double)(of->frame->end_ns - of->frame->start_ns) - of->neighbours.mean_time_ns;

	return excess > 0 ? excess : 0;
}

int fperf_verdict__find(const struct fperf_case *of, struct fperf_verdict *verdict, struct fperf_error *err)
{
	struct fperf_suspect unknown = {.cause = FPERF_CAUSE_UNKNOWN};
	const struct fperf_suspect *best = &unknown;
	struct fperf_suspects suspects = {0};
	double whole = frame_excess(of), explained;
	int failed = 0;

	*verdict = (struct fperf_verdict){.cause = FPERF_CAUSE_UNKNOWN};
	if (of->neighbours.count)
		failed = fperf_suspects__find(of, &suspects);
	for (size_t i = 0; i < suspects.count; i++)
		if (suspects.items[i].excess_ns > best->excess_ns)
			best = &suspects.items[i];
	/* without the cause the frame would have been shorter by this much, and no more */
	explained = best->excess_ns < whole ? best->excess_ns : whole;
	verdict->share = whole > 0 ? explained / whole : 0;
	verdict->excess_ns = (uint64_t)explained;
	if (!failed && best->cause != FPERF_CAUSE_UNKNOWN && verdict->share >= SHARE_LIMIT) {
		verdict->cause = best->cause;
		failed = suspect_describe(of, best, verdict);
	}
	if (!verdict->thread.thread)
		verdict->thread = fperf_model__thread_ref(of->model, of->frame->thread, of->frame->end_ns);
	verdict->suspect = best->cause;
	verdict->cause_ns = (uint64_t)best->excess_ns;
	verdict->frame_excess_ns = (uint64_t)whole;
	verdict->slow_khz = (uint32_t)best->slow_khz;
	verdict->usual_khz = (uint32_t)best->usual_khz;
	verdict->text = fperf_verdict__text(verdict);
	free(suspects.items);
	return failed ? fperf_error__no_memory(err, "the verdict of a frame") : 0;
}
