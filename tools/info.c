/* frameperf info */
#include "load.h"
#include "options.h"

#include "analyze/broken.h"
#include "analyze/results.h"
#include "frameperf/meta.h"
#include "output/names.h"
#include "output/output.h"
#include "output/paint.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LABEL	    14 /* columns of what a line begins with */
#define BROKEN_ROWS 5

struct info_config {
	char unused;
};

static __attribute__((format(printf, 3, 4))) void line(const struct fperf_paint *paint, const char *label,
						       const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int size;

	va_start(args, format);
	size = vasprintf(&text, format, args);
	va_end(args);
	if (size < 0)
		return;
	fperf_paint__put(paint, FPERF_STYLE_DIM, "%-*s", LABEL, label);
	fperf_paint__paragraph(paint, FPERF_STYLE_PLAIN, LABEL, LABEL, text);
	free(text);
}

static const char *meta(const struct fperf_session *session, const char *key)
{
	const char *value = fperf_session__meta(session, key);

	return value && value[0] ? value : "–";
}

static void when(const struct fperf_session *session, char *text, size_t size)
{
	uint64_t start = fperf_session__meta_u64(session, FPERF_META_START_NS, 0);
	const char *offset = fperf_session__meta(session, FPERF_META_REALTIME_OFFSET);
	int64_t wall = (int64_t)start;
	time_t seconds;
	struct tm local;

	snprintf(text, size, "–");
	if (!start || !offset || __builtin_add_overflow(wall, strtoll(offset, NULL, 10), &wall))
		return;
	seconds = (time_t)(wall / 1000000000);
	if (localtime_r(&seconds, &local))
		strftime(text, size, "%Y-%m-%d %H:%M:%S", &local);
}

static void show_identity(const struct fperf_paint *paint, const char *path,
			  const struct fperf_session *session, const struct fperf_session_damage *damage)
{
	uint64_t start = fperf_session__meta_u64(session, FPERF_META_START_NS, 0);
	uint64_t end = fperf_session__meta_u64(session, FPERF_META_END_NS, 0);
	struct stat file = {0};
	char date[64];

	stat(path, &file);
	when(session, date, sizeof(date));
	line(paint, "session", "%s, %s, format %d, id %s", path,
	     fperf_words__bytes((uint64_t)file.st_size).text, FPERF_SESSION_FORMAT,
	     meta(session, FPERF_META_SESSION_ID));
	line(paint, "target", "%s (pid %s), %s", meta(session, FPERF_META_TARGET_NAME),
	     meta(session, FPERF_META_TARGET_PID), meta(session, FPERF_META_TARGET_EXE));
	line(paint, "host", "Linux %s %s, %s × %s", meta(session, FPERF_META_HOST_KERNEL),
	     meta(session, FPERF_META_HOST_ARCH), meta(session, FPERF_META_HOST_CPUS),
	     meta(session, FPERF_META_HOST_MODEL));
	line(paint, "recorded", "%s, %s (%s)", date,
	     end > start ? fperf_words__duration(end - start).text : "length not known",
	     meta(session, FPERF_META_END_REASON));
	line(paint, "asked for", "%s Hz, level %s, frame %s, unwind %s",
	     meta(session, FPERF_META_CONFIG_FREQUENCY), meta(session, FPERF_META_LEVEL),
	     meta(session, FPERF_META_CONFIG_FRAME), meta(session, FPERF_META_CONFIG_UNWIND));
	line(paint, "recorder", "frameperf %s; CPU %s, memory %s at most, BPF %s",
	     meta(session, FPERF_META_RECORDER),
	     fperf_session__meta(session, FPERF_META_RECORDER_CPU_NS)
		     ? fperf_words__duration(fperf_session__meta_u64(session, FPERF_META_RECORDER_CPU_NS, 0))
			       .text
		     : "–",
	     fperf_session__meta(session, FPERF_META_RECORDER_MAX_RSS)
		     ? fperf_words__bytes(fperf_session__meta_u64(session, FPERF_META_RECORDER_MAX_RSS, 0))
			       .text
		     : "–",
	     fperf_session__meta(session, FPERF_META_BPF_NS)
		     ? fperf_words__duration(fperf_session__meta_u64(session, FPERF_META_BPF_NS, 0)).text
		     : "–");
	line(paint, "whole", "%s", fperf_report__damaged(damage) ? "no; `frameperf check` says more" : "yes");
}

static void show_labels(const struct fperf_paint *paint, const struct fperf_session *session)
{
	size_t count = 0, prefix = strlen(FPERF_META_LABEL_PREFIX);
	const struct fperf_rec_meta *metas = fperf_session__records(session, FPERF_RECORD_META, &count);

	for (size_t i = 0; i < count; i++) {
		const char *key = fperf_session__string(session, metas[i].key, NULL);

		if (!strncmp(key, FPERF_META_LABEL_PREFIX, prefix))
			line(paint, "label", "%s=%s", key + prefix,
			     fperf_session__string(session, metas[i].value, NULL));
	}
}

static void show_sources(const struct fperf_paint *paint, const struct fperf_session *session)
{
	fperf_paint__heading(paint, "Sources", "");
	for (unsigned int i = 0; i < FPERF_SOURCES; i++) {
		const struct fperf_rec_source *source = fperf_report__source(session, i);
		const char *state;

		if (!source)
			continue;
		state = source->state == FPERF_SOURCE_STATE_OFF ? "off"
								: fperf_source_state__key(source->state);
		fprintf(paint->stream, "  %-10s", fperf_source__key(i));
		fperf_paint__put(paint,
				 source->state == FPERF_SOURCE_STATE_FAILED ? FPERF_STYLE_BAD
									    : FPERF_STYLE_PLAIN,
				 "%-8s", state);
		fperf_paint__paragraph(paint, FPERF_STYLE_PLAIN, 20, 20,
				       fperf_session__string(session, source->reason, NULL));
	}
}

static void show_markers(const struct fperf_paint *paint, const struct fperf_session *session)
{
	size_t count = 0;
	const struct fperf_rec_marker *markers = fperf_session__records(session, FPERF_RECORD_MARKER, &count);

	if (!count)
		return;
	fperf_paint__heading(paint, "Marks", "");
	for (size_t i = 0; i < count; i++) {
		const char *note = fperf_session__string(session, markers[i].note, NULL);
		char *text = NULL;

		if (asprintf(&text, "%s (%s)%s%s%s", fperf_session__string(session, markers[i].name, NULL),
			     fperf_session__string(session, markers[i].path, NULL),
			     markers[i].chosen ? ", ends the frames" : "", note[0] ? ": " : "", note) < 0)
			continue;
		fputs("  ", paint->stream);
		fperf_paint__paragraph(paint, FPERF_STYLE_PLAIN, 2, 4, text);
		free(text);
	}
}

/* Where only results are kept. Returns the number of samples. */
static size_t samples_from_facts(const struct fperf_session *session, uint64_t outcomes[FPERF_STACK_OUTCOMES],
				 uint64_t *stacks)
{
	uint64_t samples;

	for (uint32_t i = FPERF_STACK_NONE + 1; i < FPERF_STACK_OUTCOMES; i++) {
		fperf_results__fact(session, FPERF_FACT_STACKS, i, &outcomes[i]);
		*stacks += outcomes[i];
	}
	fperf_results__fact(session, FPERF_FACT_SAMPLES, 0, &samples);
	return samples;
}

/* What recording was allowed to cost, and each step that it took to hold it. */
static void show_effort(const struct fperf_paint *paint, const struct fperf_session *session)
{
	uint64_t start_ns = fperf_session__meta_u64(session, FPERF_META_START_NS, 0);
	size_t count = 0;
	const struct fperf_rec_effort *steps = fperf_session__records(session, FPERF_RECORD_EFFORT, &count);

	if (!count)
		return;
	fperf_paint__heading(paint, "Effort", "");
	fprintf(paint->stream, "  budget %s %% of the time of %s CPUs, for BPF programs and recorder each\n",
		meta(session, FPERF_META_OVERHEAD_BUDGET), meta(session, FPERF_META_OVERHEAD_CPUS));
	fprintf(paint->stream, "  a sample costs %s ns, a switch %s ns (calibrated at the start)\n",
		meta(session, FPERF_META_OVERHEAD_SAMPLE), meta(session, FPERF_META_OVERHEAD_SWITCH));
	for (size_t i = 0; i < count; i++) {
		double at = steps[i].time_ns > start_ns ? (double)(steps[i].time_ns - start_ns) / 1e9 : 0;
		char *text = NULL;

		if (asprintf(&text, "%8.1f s  step %u: %s (%s)", at, steps[i].step,
			     fperf_session__string(session, steps[i].words, NULL),
			     fperf_effort_reason__words(steps[i].reason)) < 0)
			continue;
		fputs("  ", paint->stream);
		fperf_paint__paragraph(paint, FPERF_STYLE_PLAIN, 2, 14, text);
		free(text);
	}
}

/* Which modules break stacks. */
static void show_broken(const struct fperf_paint *paint, const struct fperf_session *session)
{
	struct fperf_broken rows[BROKEN_ROWS];
	size_t count = fperf_broken__list(session, rows, BROKEN_ROWS);

	if (count)
		fputs("  broken stacks of samples and waits:\n", paint->stream);
	for (size_t i = 0; i < count; i++) {
		const struct fperf_rec_module *module = fperf_session__module(session, rows[i].module);
		const char *advice = fperf_outcome__advice(rows[i].outcome);
		char *text = NULL;

		if (asprintf(&text, "%8s  in %s: %s%s%s", fperf_words__share(rows[i].share).text,
			     module ? fperf_session__string(session, module->path, NULL) : "no module",
			     fperf_outcome__words(rows[i].outcome), advice ? "; " : "",
			     advice ? advice : "") < 0)
			continue;
		fputs("  ", paint->stream);
		fperf_paint__paragraph(paint, FPERF_STYLE_PLAIN, 2, 12, text);
		free(text);
	}
}

/* How the stacks of samples and of waits ended. */
static void show_quality(const struct fperf_paint *paint, const struct fperf_session *session)
{
	uint64_t outcomes[FPERF_STACK_OUTCOMES] = {0}, stacks = 0;
	uint64_t lost[FPERF_SOURCES][FPERF_LOSS_REASONS] = {0};
	size_t samples = 0;
	const struct fperf_rec_sample *sample =
		fperf_session__records(session, FPERF_RECORD_SAMPLE, &samples);

	fperf_paint__heading(paint, "Quality", "");
	if (fperf_results__level(session) < FPERF_LEVEL_EVENTS)
		samples = samples_from_facts(session, outcomes, &stacks);
	for (size_t i = 0; sample && i < samples; i++) {
		const struct fperf_rec_stack *stack = fperf_session__stack(session, sample[i].stack);

		if (!stack || stack->outcome >= FPERF_STACK_OUTCOMES || stack->outcome == FPERF_STACK_NONE)
			continue;
		outcomes[stack->outcome]++;
		stacks++;
	}
	if (stacks || fperf_results__level(session) != FPERF_LEVEL_SUMMARY)
		fprintf(paint->stream, "  %zu samples, %llu with a user stack\n", samples,
			(unsigned long long)stacks);
	else
		fprintf(paint->stream, "  %zu samples\n", samples);
	for (unsigned int i = 0; i < FPERF_STACK_OUTCOMES; i++) {
		if (outcomes[i])
			fprintf(paint->stream, "  %8s  %s\n",
				fperf_words__share((double)outcomes[i] / (double)stacks).text,
				fperf_outcome__words(i));
	}
	show_broken(paint, session);
	fperf_results__lost(session, lost);
	for (unsigned int source = 0; source < FPERF_SOURCES; source++) {
		for (unsigned int reason = 0; reason < FPERF_LOSS_REASONS; reason++) {
			if (lost[source][reason])
				fprintf(paint->stream, "  lost: %s: %llu events: %s\n",
					fperf_source__key(source), (unsigned long long)lost[source][reason],
					fperf_loss__words(reason));
		}
	}
}

static void show_records(const struct fperf_paint *paint, const struct fperf_session *session)
{
	static const struct fperf_table_column columns[] = {
		{.title = "records"},
		{.title = "count", .right = true},
		{.title = "bytes", .right = true},
		{.title = "each", .right = true},
	};
	struct fperf_table *table = fperf_table__new(columns, sizeof(columns) / sizeof(columns[0]));

	fputc('\n', paint->stream);
	for (unsigned int type = 1; type < FPERF_RECORD_TYPES; type++) {
		size_t count = 0;

		fperf_session__records(session, type, &count);
		if (!count)
			continue;
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", fperf_record_type__key(type));
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%zu", count);
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%llu",
				  (unsigned long long)fperf_session__stored_bytes(session, type));
		fperf_table__cell(table, FPERF_STYLE_DIM, "%.1f",
				  (double)fperf_session__stored_bytes(session, type) / (double)count);
	}
	fperf_table__render(table, paint, 2);
	fperf_table__free(table);
}

/* How the recorder's stack table did. */
static void show_stack_table(const struct fperf_paint *paint, const struct fperf_session *session)
{
	double lookups = (double)fperf_session__meta_u64(session, FPERF_META_STACK_LOOKUPS, 0);
	double first = (double)fperf_session__meta_u64(session, FPERF_META_FIRST_LEVEL_HITS, 0);
	double second = (double)fperf_session__meta_u64(session, FPERF_META_SECOND_LEVEL_HITS, 0);

	if (lookups <= 0)
		return;
	fperf_paint__heading(paint, "Stack table", "");
	fprintf(paint->stream, "  %.0f lookups of %s different stacks\n", lookups,
		meta(session, FPERF_META_STACKS));
	fprintf(paint->stream, "  first level   %s hits\n", fperf_words__share(first / lookups).text);
	fprintf(paint->stream, "  second level  %s of the rest, %s slots, %s probes, %s hash collisions\n",
		fperf_words__share(lookups > first ? second / (lookups - first) : -1).text,
		meta(session, FPERF_META_SECOND_LEVEL_SLOTS), meta(session, FPERF_META_SECOND_LEVEL_PROBES),
		meta(session, FPERF_META_HASH_COLLISIONS));
	if (fperf_session__meta_u64(session, FPERF_META_STACKS_LOST, 0))
		fprintf(paint->stream, "  %s stacks lost: the table was at its limit\n",
			meta(session, FPERF_META_STACKS_LOST));
}

/* How the unwinder of the BPF programs did. */
static void show_unwinding(const struct fperf_paint *paint, const struct fperf_session *session)
{
	double stacks = (double)fperf_session__meta_u64(session, FPERF_META_UNWIND_STACKS, 0);
	double frames = (double)fperf_session__meta_u64(session, FPERF_META_UNWIND_FRAMES, 0);
	double misses = (double)fperf_session__meta_u64(session, FPERF_META_UNWIND_CACHE_MISSES, 0);
	double bytes = (double)fperf_session__meta_u64(session, FPERF_META_UNWIND_TABLE_BYTES, 0);

	if (stacks <= 0)
		return;
	fperf_paint__heading(paint, "Unwinding", "");
	fprintf(paint->stream, "  %.0f stacks of %.1f stack frames; %s of the rules found in the cache\n",
		stacks, frames / stacks, fperf_words__share(frames > 0 ? 1 - misses / frames : -1).text);
	fprintf(paint->stream,
		"  tables        %s rows in %.1f MiB; %s compiled, %s from disk, %s dropped for memory\n",
		meta(session, FPERF_META_UNWIND_ROWS), bytes / (1 << 20),
		meta(session, FPERF_META_UNWIND_BUILT), meta(session, FPERF_META_UNWIND_FROM_CACHE),
		meta(session, FPERF_META_UNWIND_EVICTED));
	fprintf(paint->stream,
		"  others        %s modules without unwind information, %s stacks copied for libdw\n",
		meta(session, FPERF_META_UNWIND_WITHOUT_ROWS), meta(session, FPERF_META_UNWIND_DUMPS));
}

static void show_modules(const struct fperf_paint *paint, const struct fperf_session *session)
{
	static const struct fperf_table_column columns[] = {
		{.title = "module", .elastic = true},
		{.title = "build ID", .elastic = true},
		{.title = ""},
	};
	size_t count = 0;
	const struct fperf_rec_module *modules = fperf_session__records(session, FPERF_RECORD_MODULE, &count);
	struct fperf_table *table;

	if (!count)
		return;
	fperf_paint__heading(paint, "Modules", "");
	table = fperf_table__new(columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++) {
		char id[2 * FPERF_BUILD_ID_MAX + 1] = "";

		for (unsigned int byte = 0; byte < modules[i].build_id_size && byte < FPERF_BUILD_ID_MAX;
		     byte++)
			snprintf(id + 2 * byte, 3, "%02x", modules[i].build_id[byte]);
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s",
				  fperf_session__string(session, modules[i].path, NULL));
		fperf_table__cell(table, FPERF_STYLE_DIM, "%s", id[0] ? id : "none");
		fperf_table__cell(table, FPERF_STYLE_WARN, "%s",
				  modules[i].deleted ? "replaced or deleted" : "");
	}
	fperf_table__render(table, paint, 2);
	fperf_table__free(table);
}

static int info_run(const struct fperf_invocation *invocation)
{
	struct fperf_paint paint = {
		.stream = stdout,
		.width = fperf_console__width(STDOUT_FILENO),
		.colour = fperf_console__colour(STDOUT_FILENO),
	};
	struct fperf_session *session = NULL;
	struct fperf_session_damage damage;

	if (fperf_load(invocation->operands[0], invocation->console, &session, &damage) < 0)
		return FPERF_EXIT_FAILED;
	show_identity(&paint, invocation->operands[0], session, &damage);
	show_labels(&paint, session);
	show_sources(&paint, session);
	show_markers(&paint, session);
	show_quality(&paint, session);
	show_effort(&paint, session);
	show_records(&paint, session);
	if (invocation->console->verbose) {
		show_stack_table(&paint, session);
		show_unwinding(&paint, session);
		show_modules(&paint, session);
	}
	fperf_session__free(session);
	return fflush(stdout) || ferror(stdout) ? FPERF_EXIT_FAILED : fperf_load__status(&damage);
}

const struct fperf_command fperf_command_info = {
	.name = "info",
	.summary = "show what is in a session: target, host, sources, quality, sizes",
	.operands = "FILE",
	.description = "Shows what was recorded, where, and how well, without analysing it. With -v also how "
		       "the recorder's stack table and unwinder did, and every module with its build ID.",
	.examples = "frameperf info game.fperf\nframeperf info -v game.fperf",
	.operands_min = 1,
	.operands_max = 1,
	.defaults = &(const struct info_config){0},
	.config_size = sizeof(struct info_config),
	.run = info_run,
};
