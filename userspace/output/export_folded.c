/* Folded stacks, as Brendan Gregg's FlameGraph and its many readers take them: one line for each stack, the
 * thread's name and the functions from the root on, separated by ';', then a space and nanoseconds. What
 * would break a line is written out (\n, \x1b), a ';' in a name becomes ':'. */
#include "output/export.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "output/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINE_LIMIT (16u << 20)

struct folded {
	const struct fperf_export *export;
	struct fperf_map times; /* stack << 8 | state to ns, of the thread at hand */
	struct fperf_strtab *lines;
	uint64_t *ns; /* by id of the line */
	size_t ns_capacity;
	struct fperf_export_stack stack;
	struct fperf_buf line;
};

static int time_add(struct folded *folded, uint32_t stack, uint8_t state, uint64_t ns)
{
	uint64_t key = (uint64_t)stack << 8 | state, sum = 0;

	fperf_map__get(&folded->times, key, &sum);
	return fperf_map__set(&folded->times, key, sum + ns);
}

static int sample_take(void *context, const struct fperf_export_sample *sample)
{
	return time_add(context, sample->stack, FPERF_STATE_USER, sample->weight_ns);
}

static int piece_take(void *context, const struct fperf_piece *piece)
{
	if (!fperf_export__waits(piece))
		return 0;
	return time_add(context, piece->stack, piece->state, piece->to_ns - piece->from_ns);
}

static void name_put(struct fperf_buf *line, const char *name)
{
	size_t before = line->size;

	if (before)
		fperf_buf__u8(line, ';');
	before = line->size;
	fperf_utf8__visible(line, name, strlen(name));
	for (size_t i = before; i < line->size; i++) {
		if (line->data[i] == ';')
			line->data[i] = ':';
	}
}

/* The text of one stack, without its number. */
static int line_make(struct folded *folded, const char *thread, uint32_t stack, uint8_t state)
{
	char kind[40];

	if (fperf_export__stack(folded->export, stack, &folded->stack))
		return -ENOMEM;
	fperf_buf__clear(&folded->line);
	name_put(&folded->line, *thread ? thread : "[no name]");
	for (size_t i = folded->stack.count; i > 0; i--)
		name_put(&folded->line, folded->stack.functions[i - 1].symbol->function);
	if (!folded->stack.count)
		name_put(&folded->line, FPERF_EXPORT_NO_STACK);
	if (folded->export->options.off_cpu) {
		snprintf(kind, sizeof(kind), "[%s]", fperf_state__name(state));
		name_put(&folded->line, kind);
	}
	return folded->line.failed ? -ENOMEM : 0;
}

/* Stacks with the same names are one line. */
static int lines_add(struct folded *folded, const char *thread)
{
	uint64_t key, ns;
	size_t cursor = 0;

	while (fperf_map__next(&folded->times, &cursor, &key, &ns)) {
		uint32_t id;

		if (!ns)
			continue;
		if (line_make(folded, thread, (uint32_t)(key >> 8), (uint8_t)key))
			return -ENOMEM;
		id = fperf_strtab__intern(folded->lines, folded->line.data, folded->line.size);
		if (!id ||
		    fperf_vec__grow((void **)&folded->ns, &folded->ns_capacity, id + 1u, sizeof(*folded->ns)))
			return -ENOMEM;
		folded->ns[id] += ns;
	}
	fperf_map__free(&folded->times);
	folded->times = (struct fperf_map){0};
	return 0;
}

static int folded_collect(struct folded *folded)
{
	const struct fperf_export *export = folded->export;
	const struct fperf_model *model = export->analysis->model;

	for (size_t i = 0; i < model->timeline_count; i++) {
		int ret = export->options.off_cpu ? fperf_export__pieces(export, i, piece_take, folded)
						  : fperf_export__samples(export, i, sample_take, folded);

		if (ret || lines_add(folded, fperf_export__thread_name(export, &model->timelines[i])))
			return -ENOMEM;
	}
	return 0;
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int folded_print(const struct folded *folded, FILE *stream)
{
	uint32_t count = fperf_strtab__count(folded->lines);
	const char **order = calloc(count, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++)
		order[i - 1] = fperf_strtab__get(folded->lines, i, NULL);
	qsort(order, count - 1, sizeof(*order), compare_text);
	for (uint32_t i = 0; i + 1 < count; i++) {
		uint32_t id = fperf_strtab__intern(folded->lines, order[i], strlen(order[i]));

		fprintf(stream, "%s %" PRIu64 "\n", order[i], folded->ns[id]);
	}
	free(order);
	return 0;
}

static int folded_write(const struct fperf_export *export, FILE *stream, struct fperf_error *err)
{
	struct folded folded = {.export = export, .lines = fperf_strtab__new()};
	int failed;

	fperf_buf__init(&folded.line, LINE_LIMIT);
	failed = !folded.lines || folded_collect(&folded) || folded_print(&folded, stream);
	fperf_map__free(&folded.times);
	fperf_strtab__free(folded.lines);
	fperf_buf__free(&folded.line);
	free(folded.stack.functions);
	free(folded.ns);
	if (failed)
		return fperf_error__no_memory(err, "the folded stacks");
	return fperf_export__stream_end(stream, "the folded stacks", err);
}

const struct fperf_export_ops fperf_export_folded = {
	.name = "folded", .extension = ".folded", .text = true, .write = folded_write};
