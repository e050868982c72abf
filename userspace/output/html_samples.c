/* Samples and stacks of the report page. */
#include "output/html.h"

#include "base/vec.h"
#include "output/names.h"

#include <errno.h>
#include <stdlib.h>

/* Unit of the times and weights of samples, as a power of two in ns: 16 us. */
#define SAMPLE_SHIFT 14

/* Stacks by how often they are used, so that frequent ones have short numbers. */
struct ranks {
	uint32_t *order; /* rank to stack */
	uint32_t *rank;	 /* stack to rank, from 0 */
	uint64_t *uses;
	size_t count, used;
};

static int compare_uses(const void *a, const void *b, void *uses)
{
	uint64_t x = ((const uint64_t *)uses)[*(const uint32_t *)a];
	uint64_t y = ((const uint64_t *)uses)[*(const uint32_t *)b];

	if (x != y)
		return x > y ? -1 : 1;
	return (*(const uint32_t *)a > *(const uint32_t *)b) - (*(const uint32_t *)a < *(const uint32_t *)b);
}

static uint32_t sample_stack(const struct html_page *page, const struct fperf_timeline *timeline,
			     size_t index)
{
	return fperf_model__stack(page->model, page->model->samples[timeline->samples[index]].stack,
				  timeline->process);
}

/* CPU time by thread and stack, and how often each stack is used. Slow frames as in analyze/hot.c. */
static void times_add(struct html_page *page, const struct fperf_timeline *timeline)
{
	const struct fperf_analysis *analysis = page->analysis;
	struct html_stack_time time = {.state = FPERF_STATE_USER};
	size_t frame = 0;

	time.thread = html_page__thread_by_id(page, timeline->thread->id);
	for (size_t i = 0; i < timeline->sample_count; i++) {
		const struct fperf_rec_sample *sample = &page->model->samples[timeline->samples[i]];

		while (frame < analysis->frame_count && analysis->frames[frame].end_ns <= sample->time_ns)
			frame++;
		time.ns = fperf_timeline__sample_weight(page->model, timeline, i);
		time.slow_ns = frame < analysis->frame_count && analysis->frames[frame].slow &&
					       analysis->frames[frame].start_ns <= sample->time_ns
				       ? time.ns
				       : 0;
		time.stack = sample_stack(page, timeline, i);
		time.count = 1;
		html_page__add_stack_time(page, &time);
	}
}

static int ranks_make(struct html_page *page, struct ranks *ranks)
{
	ranks->count = page->model->stack_count + 1;
	ranks->order = calloc(ranks->count, sizeof(*ranks->order));
	ranks->rank = calloc(ranks->count, sizeof(*ranks->rank));
	ranks->uses = calloc(ranks->count, sizeof(*ranks->uses));
	if (!ranks->order || !ranks->rank || !ranks->uses)
		return -ENOMEM;
	for (size_t i = 0; i < page->stack_time_count; i++)
		ranks->uses[page->stack_times[i].stack] += page->stack_times[i].count;
	for (size_t i = 0; i < ranks->count; i++)
		if (ranks->uses[i])
			ranks->order[ranks->used++] = (uint32_t)i;
	qsort_r(ranks->order, ranks->used, sizeof(*ranks->order), compare_uses, ranks->uses);
	for (size_t i = 0; i < ranks->used; i++)
		ranks->rank[ranks->order[i]] = (uint32_t)i;
	return 0;
}

static void ranks_free(struct ranks *ranks)
{
	free(ranks->order);
	free(ranks->rank);
	free(ranks->uses);
}

/* ---- the tree ---- */

/* Nodes as they are numbered: from 1; 0 is the root. */
struct tree {
	uint32_t *parents, *functions; /* function << 1 | inlined */
	size_t count, parent_capacity, function_capacity;
};

static uint32_t node_of(struct html_page *page, struct tree *tree, uint32_t parent, uint32_t function,
			bool inlined)
{
	uint64_t key = (uint64_t)parent << 32 | (function << 1 | inlined), node;

	if (fperf_map__get(&page->node_index, key, &node))
		return (uint32_t)node;
	node = tree->count + 1;
	if (fperf_vec__grow((void **)&tree->parents, &tree->parent_capacity, node, sizeof(*tree->parents)) ||
	    fperf_vec__grow((void **)&tree->functions, &tree->function_capacity, node,
			    sizeof(*tree->functions)) ||
	    fperf_map__set(&page->node_index, key, node)) {
		page->build.failed = true;
		return 0;
	}
	tree->parents[tree->count] = parent;
	tree->functions[tree->count++] = function << 1 | inlined;
	return (uint32_t)node;
}

/* Root first; a stack that does not reach the thread's start hangs below a node that says why. */
static uint32_t stack_node(struct html_page *page, struct tree *tree, uint32_t index)
{
	const struct fperf_stack_info *info = &page->model->stacks[index];
	const struct fperf_rec_stack *record = fperf_session__stack(page->report->session, info->stack);
	uint32_t node = 0;

	if (!record || !record->count)
		return node_of(page, tree, 0, html_page__special(page, "no stack", FPERF_STACK_OUTCOMES), 0);
	if (record->outcome != FPERF_STACK_COMPLETE && record->outcome != FPERF_STACK_TRUNCATED)
		node = node_of(page, tree, 0,
			       html_page__special(page, fperf_outcome__words(record->outcome),
						  record->outcome % FPERF_STACK_OUTCOMES),
			       0);
	for (uint32_t i = record->count; i-- > 0;) {
		const struct fperf_symbol *const *symbols;
		size_t count;

		if (record->frames[i].kind == FPERF_FRAME_GAP) {
			node = node_of(page, tree, node,
				       html_page__special(page, "… middle of the stack not recorded",
							  FPERF_STACK_OUTCOMES + 1),
				       0);
			continue;
		}
		count = fperf_symbolizer__resolve(page->symbolizer, &record->frames[i], info->process,
						  &symbols);
		while (count-- > 0)
			node = node_of(page, tree, node, html_page__function(page, symbols[count]),
				       symbols[count]->inlined);
	}
	return node;
}

static int tree_fill(struct html_page *page, const struct ranks *ranks)
{
	struct fperf_html_block *block = &page->core;
	struct tree tree = {0};

	fperf_html_block__column(block, "stack_node", FPERF_HTML_DELTA);
	for (size_t i = 0; i < ranks->used; i++)
		fperf_html_block__put(block, stack_node(page, &tree, ranks->order[i]));
	fperf_html_block__column(block, "node_parent", FPERF_HTML_DELTA);
	for (size_t i = 0; i < tree.count; i++)
		fperf_html_block__put(block, tree.parents[i]);
	fperf_html_block__column(block, "node_function", FPERF_HTML_PLAIN);
	for (size_t i = 0; i < tree.count; i++)
		fperf_html_block__put(block, tree.functions[i]);
	free(tree.parents);
	free(tree.functions);
	return page->build.failed ? -ENOMEM : 0;
}

/* ---- columns ---- */

static int compare_stack_times(const void *a, const void *b)
{
	const struct html_stack_time *x = a, *y = b;

	if (x->state != y->state)
		return (int)x->state - (int)y->state;
	if (x->thread != y->thread)
		return x->thread > y->thread ? 1 : -1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* Sorted, so that most columns hardly change from row to row; `stack` is a rank by now. */
static void stack_times_fill(struct html_page *page)
{
	static const struct {
		const char *name;
		enum fperf_html_coding coding;
	} columns[] = {{"time_state", FPERF_HTML_DELTA},   {"time_thread", FPERF_HTML_DELTA},
		       {"time_stack", FPERF_HTML_DELTA},   {"time_ns", FPERF_HTML_PLAIN},
		       {"time_slow_ns", FPERF_HTML_PLAIN}, {"time_count", FPERF_HTML_PLAIN}};

	if (page->stack_time_count)
		qsort(page->stack_times, page->stack_time_count, sizeof(*page->stack_times),
		      compare_stack_times);
	for (size_t column = 0; column < sizeof(columns) / sizeof(columns[0]); column++) {
		fperf_html_block__column(&page->core, columns[column].name, columns[column].coding);
		for (size_t i = 0; i < page->stack_time_count; i++) {
			const struct html_stack_time *time = &page->stack_times[i];
			const uint64_t values[] = {time->state, time->thread,  time->stack,
						   time->ns,	time->slow_ns, time->count};

			fperf_html_block__put(&page->core, (int64_t)values[column]);
		}
	}
}

static void samples_column(struct html_page *page, const struct ranks *ranks, int column)
{
	for (size_t i = 0; i < page->model->timeline_count; i++) {
		const struct fperf_timeline *timeline = &page->model->timelines[i];
		int64_t last = 0;

		for (size_t k = 0; timeline->target && k < timeline->sample_count; k++) {
			const struct fperf_rec_sample *sample = &page->model->samples[timeline->samples[k]];
			int64_t time = (int64_t)(sample->time_ns - page->start_ns) >> SAMPLE_SHIFT;

			if (column == 0)
				fperf_html_block__put(&page->samples, time - last);
			else if (column == 1)
				fperf_html_block__put(
					&page->samples,
					(int64_t)((fperf_timeline__sample_weight(page->model, timeline, k) +
						   (1u << (SAMPLE_SHIFT - 1))) >>
						  SAMPLE_SHIFT));
			else
				fperf_html_block__put(&page->samples,
						      ranks->rank[sample_stack(page, timeline, k)]);
			last = time;
		}
	}
}

static void samples_fill(struct html_page *page, const struct ranks *ranks)
{
	struct fperf_html_block *block = &page->samples;

	json_build__set(&page->build, block->head, "unit_ns",
			json_build__u64(&page->build, 1u << SAMPLE_SHIFT));
	fperf_html_block__column(block, "thread", FPERF_HTML_PLAIN);
	for (size_t i = 0; i < page->model->timeline_count; i++)
		if (page->model->timelines[i].target && page->model->timelines[i].sample_count)
			fperf_html_block__put(
				block, html_page__thread_by_id(page, page->model->timelines[i].thread->id));
	fperf_html_block__column(block, "count", FPERF_HTML_PLAIN);
	for (size_t i = 0; i < page->model->timeline_count; i++)
		if (page->model->timelines[i].target && page->model->timelines[i].sample_count)
			fperf_html_block__put(block, (int64_t)page->model->timelines[i].sample_count);
	fperf_html_block__column(block, "time", FPERF_HTML_PLAIN);
	samples_column(page, ranks, 0);
	fperf_html_block__column(block, "weight", FPERF_HTML_PLAIN);
	samples_column(page, ranks, 1);
	fperf_html_block__column(block, "stack", FPERF_HTML_PLAIN);
	samples_column(page, ranks, 2);
}

static void wait_stacks_fill(struct html_page *page, const struct ranks *ranks)
{
	fperf_html_block__column(&page->lanes, "piece_stack", FPERF_HTML_PLAIN);
	for (size_t i = 0; i < page->wait_count; i++)
		fperf_html_block__put(&page->lanes, ranks->rank[page->wait_stacks[i]]);
}

int html_samples__fill(struct html_page *page)
{
	struct ranks ranks = {0};
	int failed;

	for (size_t i = 0; i < page->model->timeline_count; i++)
		if (page->model->timelines[i].target)
			times_add(page, &page->model->timelines[i]);
	failed = page->build.failed ? -ENOMEM : ranks_make(page, &ranks);
	if (!failed)
		failed = tree_fill(page, &ranks);
	if (!failed) {
		for (size_t i = 0; i < page->stack_time_count; i++)
			page->stack_times[i].stack = ranks.rank[page->stack_times[i].stack];
		stack_times_fill(page);
		wait_stacks_fill(page, &ranks);
		samples_fill(page, &ranks);
	}
	ranks_free(&ranks);
	return failed;
}
