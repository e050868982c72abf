#include "session/frames.h"

#include "base/map.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Nodes are numbered from 1 in the order in which they were made; 0 is the root, the empty stack. */
struct call_tree {
	struct fperf_map children; /* parent << 32 | frame: node */
	uint64_t *steps;
	uint64_t *refs;
	size_t count, step_capacity, ref_capacity;
};

static int frame_compare(const void *a, const void *b)
{
	const struct fperf_stack_frame *left = a, *right = b;

	if (left->module != right->module)
		return left->module < right->module ? -1 : 1;
	if (left->offset != right->offset)
		return left->offset < right->offset ? -1 : 1;
	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	return left->kernel < right->kernel ? -1 : left->kernel > right->kernel;
}

/* Every different stack frame once, sorted. The caller frees *frames. */
static int frames_collect(const struct fperf_rec_stack *stacks, size_t count,
			  struct fperf_stack_frame **frames, size_t *frame_count)
{
	struct fperf_stack_frame *all;
	size_t total = 0, kept = 0;

	for (size_t i = 0; i < count; i++)
		total += stacks[i].count;
	all = malloc((total + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	total = 0;
	for (size_t i = 0; i < count; i++) {
		if (stacks[i].count)
			memcpy(all + total, stacks[i].frames, stacks[i].count * sizeof(*all));
		total += stacks[i].count;
	}
	qsort(all, total, sizeof(*all), frame_compare);
	for (size_t i = 0; i < total; i++)
		if (!kept || frame_compare(&all[kept - 1], &all[i]))
			all[kept++] = all[i];
	*frames = all;
	*frame_count = kept;
	return 0;
}

/* The node of `frame` called from `parent`, made if it is new; 0 when out of memory. */
static uint64_t tree_child(struct call_tree *tree, uint64_t parent, uint64_t frame)
{
	uint64_t node;

	if (fperf_map__get(&tree->children, parent << 32 | frame, &node))
		return node;
	node = tree->count + 1;
	if (fperf_vec__grow((void **)&tree->steps, &tree->step_capacity, node, sizeof(*tree->steps)) ||
	    fperf_vec__grow((void **)&tree->refs, &tree->ref_capacity, node, sizeof(*tree->refs)) ||
	    fperf_map__set(&tree->children, parent << 32 | frame, node))
		return 0;
	tree->steps[tree->count] = node - parent;
	tree->refs[tree->count] = frame;
	tree->count++;
	return node;
}

/* leaves[i] becomes the difference between the leaf nodes of stack i and of the stack before. */
static int tree_build(struct call_tree *tree, const struct fperf_rec_stack *stacks, size_t count,
		      const struct fperf_stack_frame *frames, size_t frame_count, uint64_t *leaves)
{
	uint64_t before = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t node = 0;

		for (uint32_t depth = stacks[i].count; depth-- > 0;) {
			const struct fperf_stack_frame *found =
				bsearch(&stacks[i].frames[depth], frames, frame_count, sizeof(*frames),
					frame_compare);

			node = tree_child(tree, node, (uint64_t)(found - frames));
			if (!node)
				return -ENOMEM;
		}
		leaves[i] = node - before;
		before = node;
	}
	return 0;
}

static void frames_put_table(struct fperf_payload *payload, const struct fperf_stack_frame *frames,
			     size_t count)
{
	uint64_t *values = fperf_payload__values(payload, count);

	if (!values)
		return;
	for (size_t i = 0; i < count; i++)
		values[i] = frames[i].module - (i ? frames[i - 1].module : 0);
	fperf_ints__put(payload, values, count);
	for (size_t i = 0; i < count; i++)
		values[i] = frames[i].kind | (uint64_t)frames[i].kernel << 8;
	fperf_ints__put(payload, values, count);
	for (size_t i = 0; i < count; i++)
		values[i] = frames[i].offset - (i ? frames[i - 1].offset : 0);
	fperf_ints__put_signed(payload, values, count);
}

int fperf_frames__put(struct fperf_payload *payload, const struct fperf_rec_stack *stacks, size_t count)
{
	struct fperf_stack_frame *frames = NULL;
	struct call_tree tree = {0};
	uint64_t *leaves = malloc((count + 1) * sizeof(*leaves));
	size_t frame_count = 0;
	int ret = leaves ? frames_collect(stacks, count, &frames, &frame_count) : -ENOMEM;

	if (!ret)
		ret = tree_build(&tree, stacks, count, frames, frame_count, leaves);
	if (!ret) {
		fperf_buf__u32(&payload->bytes, (uint32_t)frame_count);
		fperf_buf__u32(&payload->bytes, (uint32_t)tree.count);
		frames_put_table(payload, frames, frame_count);
		fperf_ints__put(payload, tree.steps, tree.count);
		fperf_ints__put(payload, tree.refs, tree.count);
		fperf_ints__put_signed(payload, leaves, count);
	}
	fperf_map__free(&tree.children);
	free(tree.steps);
	free(tree.refs);
	free(leaves);
	free(frames);
	return ret;
}

void fperf_frames__free(struct fperf_frames *column)
{
	free(column->frames);
	free(column->depths);
	free(column->leaves);
	*column = (struct fperf_frames){0};
}

static int table_take(struct fperf_frames *column, struct fperf_reader *reader, uint32_t count)
{
	struct fperf_ints modules, kinds, offsets;
	uint32_t module = 0;
	uint64_t offset = 0;

	if (!fperf_ints__take(reader, count, &modules) || !fperf_ints__take(reader, count, &kinds) ||
	    !fperf_ints__take(reader, count, &offsets))
		return -EBADMSG;
	column->frames = calloc((size_t)count + 1, sizeof(*column->frames));
	if (!column->frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t kind = fperf_ints__get(&kinds, i);

		module += (uint32_t)fperf_ints__get(&modules, i);
		offset += fperf_ints__get_signed(&offsets, i);
		column->frames[i] = (struct fperf_stack_frame){.module = module,
							       .kind = (uint8_t)kind,
							       .kernel = (uint8_t)(kind >> 8),
							       .offset = offset};
	}
	return 0;
}

/* Parents come before their children, so that walking towards the root always ends. */
static int tree_take(struct fperf_frames *column, struct fperf_reader *reader, uint32_t nodes,
		     uint32_t frames)
{
	if (!fperf_ints__take(reader, nodes, &column->steps) ||
	    !fperf_ints__take(reader, nodes, &column->refs))
		return -EBADMSG;
	column->depths = calloc((size_t)nodes + 1, sizeof(*column->depths));
	if (!column->depths)
		return -ENOMEM;
	for (uint32_t node = 1; node <= nodes; node++) {
		uint64_t step = fperf_ints__get(&column->steps, node - 1);

		if (!step || step > node || fperf_ints__get(&column->refs, node - 1) >= frames ||
		    column->depths[node - step] >= FPERF_STACK_MAX_FRAMES)
			return -EBADMSG;
		column->depths[node] = column->depths[node - step] + 1;
	}
	return 0;
}

static int leaves_take(struct fperf_frames *column, struct fperf_reader *reader, uint32_t nodes, size_t count)
{
	struct fperf_ints leaves;
	uint64_t leaf = 0;

	if (!fperf_ints__take(reader, count, &leaves))
		return -EBADMSG;
	column->leaves = calloc(count + 1, sizeof(*column->leaves));
	if (!column->leaves)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		leaf += fperf_ints__get_signed(&leaves, i);
		if (leaf > nodes)
			return -EBADMSG;
		column->leaves[i] = (uint32_t)leaf;
	}
	return 0;
}

int fperf_frames__take(struct fperf_frames *column, struct fperf_reader *reader, size_t count)
{
	uint32_t frames = fperf_reader__u32(reader), nodes = fperf_reader__u32(reader);
	int ret;

	*column = (struct fperf_frames){0};
	if (reader->failed)
		return -EBADMSG;
	ret = table_take(column, reader, frames);
	if (!ret)
		ret = tree_take(column, reader, nodes, frames);
	if (!ret)
		ret = leaves_take(column, reader, nodes, count);
	if (ret)
		fperf_frames__free(column);
	return ret;
}

uint32_t fperf_frames__get(const struct fperf_frames *column, size_t stack, struct fperf_stack_frame *frames)
{
	uint32_t node = column->leaves[stack], count = column->depths[node];

	for (uint32_t i = 0; i < count; i++) {
		frames[i] = column->frames[fperf_ints__get(&column->refs, node - 1)];
		node -= (uint32_t)fperf_ints__get(&column->steps, node - 1);
	}
	return count;
}
