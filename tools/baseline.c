/* frameperf baseline */
#include "baseline_dir.h"
#include "diff_run.h"
#include "load.h"
#include "options.h"

#include "output/diff_output.h"
#include "output/output.h"
#include "output/paint.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIM_NS	     5000000000ull
#define RUNS_ENOUGH  3
#define NOISY	     0.1 /* share by which runs of a calm device differ at most */
#define OPERANDS_MAX 4096

struct baseline_config {
	bool force;
};

static int set_force(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct baseline_config *)config)->force = true;
	return 0;
}

static struct fperf_paint paint_for_results(void)
{
	return (struct fperf_paint){.stream = stdout,
				    .width = fperf_console__width(STDOUT_FILENO),
				    .colour = fperf_console__colour(STDOUT_FILENO)};
}

/* ---- add ---- */

static int add_one(const struct fperf_invocation *invocation, const char *dir, const char *path,
		   struct fperf_error *err)
{
	const struct baseline_config *config = invocation->config;
	struct fperf_session_damage damage;
	struct fperf_session *session;
	char copied[PATH_MAX];

	if (fperf_load(path, invocation->console, &session, &damage) < 0)
		return fperf_error__set(err, -EINVAL, "%s cannot be read", path);
	if (fperf_report__damaged(&damage) && !config->force)
		fperf_error__set(err, -EINVAL, "%s is damaged: no reference (--force takes it all the same)",
				 path);
	else if (!fperf_baseline__add(dir, path, session, copied, err))
		printf("%s\n", copied);
	fperf_session__free(session);
	return err->code;
}

static int run_add(const struct fperf_invocation *invocation, struct fperf_error *err)
{
	if (invocation->operand_count < 3)
		return fperf_error__set(err, -EINVAL, "FILE is missing: frameperf baseline add DIR FILE…");
	for (size_t i = 2; i < invocation->operand_count && !err->code; i++)
		add_one(invocation, invocation->operands[1], invocation->operands[i], err);
	return err->code;
}

/* ---- list ---- */

/* The entries of the device and scene that begin at `from`. */
static size_t group_end(const struct fperf_baseline_list *list, size_t from)
{
	size_t to = from;

	while (to < list->count && !strcmp(list->items[to].place.device, list->items[from].place.device) &&
	       !strcmp(list->items[to].place.scene, list->items[from].place.scene))
		to++;
	return to;
}

static int run_list(const struct fperf_baseline_list *list)
{
	static const struct fperf_table_column columns[] = {
		{"device", false, true}, {"scene", false, true}, {"runs", true, false}};
	struct fperf_paint paint = paint_for_results();
	struct fperf_table *table = fperf_table__new(columns, 3);

	for (size_t from = 0, to; from < list->count; from = to) {
		to = group_end(list, from);
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", list->items[from].place.device);
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", list->items[from].place.scene);
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%zu", to - from);
	}
	fperf_table__render(table, &paint, 0);
	fperf_table__free(table);
	return 0;
}

/* ---- check ---- */

/* Standard deviation of one run by the mean of all; negative when not known. */
static double noise_of(const struct fperf_diff *diff, enum fperf_metric metric)
{
	const struct fperf_change *change = fperf_diff__metric(diff, metric);

	return change && isfinite(change->base_deviation) && change->base > 0
		       ? change->base_deviation / change->base
		       : -1;
}

static void group_say(const struct fperf_baseline_entry *first, const struct fperf_diff *diff,
		      const struct fperf_paint *paint)
{
	double mean = noise_of(diff, FPERF_METRIC_MEAN), p99 = noise_of(diff, FPERF_METRIC_P99);
	size_t runs = diff->base.count;

	fperf_paint__put(paint, FPERF_STYLE_PLAIN,
			 "%s  %s  %zu run%s; from run to run the mean differs by %s, "
			 "the 99 %% by %s\n",
			 first->place.device, first->place.scene, runs, runs == 1 ? "" : "s",
			 fperf_words__share(mean).text, fperf_words__share(p99).text);
	if (runs < RUNS_ENOUGH)
		fperf_paint__put(paint, FPERF_STYLE_WARN, "  ! fewer than %d runs: add more\n", RUNS_ENOUGH);
	if (mean > NOISY)
		fperf_paint__put(paint, FPERF_STYLE_WARN,
				 "  ! these runs differ much: small changes will not be found\n");
	for (size_t i = 0; i < diff->warning_count; i++)
		if (!strstr(diff->warnings[i].text, "no news of itself"))
			fperf_paint__put(paint, FPERF_STYLE_WARN, "  ! %s\n", diff->warnings[i].text);
}

/* A group against itself: whether its runs can be read and are of one kind. */
static int group_check(const struct fperf_baseline_list *list, size_t from, size_t to,
		       struct fperf_console *console, bool *damaged, struct fperf_error *err)
{
	const char **paths = calloc(to - from + 1, sizeof(*paths));
	struct fperf_paint paint = paint_for_results();
	struct fperf_diff_run run = {0};
	struct fperf_diff_files files = {
		.base = paths,
		.base_count = to - from,
		.new_files = paths,
		.new_count = to - from,
		.digest = {.trim_ns = TRIM_NS},
		.diff = {.min_effect = 0.01},
	};

	if (!paths)
		return fperf_error__no_memory(err, "the list of baselines");
	for (size_t i = from; i < to; i++)
		paths[i - from] = list->items[i].path;
	if (!fperf_diff_run__make(&run, &files, console, err))
		for (size_t i = 0; i < run.diff_count; i++)
			group_say(&list->items[from], run.diffs[i], &paint);
	*damaged |= run.damaged;
	fperf_diff_run__free(&run);
	free(paths);
	return err->code;
}

static int run_check(const struct fperf_baseline_list *list, struct fperf_console *console, bool *damaged,
		     struct fperf_error *err)
{
	int failed = 0;

	for (size_t from = 0, to; from < list->count; from = to) {
		struct fperf_error why = {0};

		to = group_end(list, from);
		if (group_check(list, from, to, console, damaged, &why) < 0) {
			fperf_console__error(console, "%s %s: %s", list->items[from].place.device,
					     list->items[from].place.scene, why.text);
			failed++;
		}
	}
	return failed ? fperf_error__set(err, -EINVAL, "%d of the baselines cannot be used", failed) : 0;
}

static int baseline_run(const struct fperf_invocation *invocation)
{
	const char *verb = invocation->operands[0], *dir = invocation->operands[1];
	struct fperf_baseline_list list = {0};
	struct fperf_error err = {0};
	bool damaged = false;

	if (!strcmp(verb, "add")) {
		run_add(invocation, &err);
	} else if (strcmp(verb, "list") && strcmp(verb, "check")) {
		fperf_console__error(invocation->console, "'%s' is none of add, list, check", verb);
		return FPERF_EXIT_USAGE;
	} else if (invocation->operand_count > 2) {
		fperf_console__error(invocation->console, "'%s' is one too many", invocation->operands[2]);
		return FPERF_EXIT_USAGE;
	} else if (!fperf_baseline_list__read(&list, dir, NULL, &err)) {
		if (!list.count)
			fperf_console__note(invocation->console, "there are no baselines in %s", dir);
		else if (!strcmp(verb, "list"))
			run_list(&list);
		else
			run_check(&list, invocation->console, &damaged, &err);
	}
	fperf_baseline_list__free(&list);
	if (err.code) {
		fperf_console__error(invocation->console, "%s", err.text);
		return FPERF_EXIT_FAILED;
	}
	return damaged ? FPERF_EXIT_DAMAGED : FPERF_EXIT_OK;
}

static const struct fperf_option baseline_options[] = {
	{0, "force", NULL, "Add a session although it is damaged.", set_force},
};

const struct fperf_command fperf_command_baseline = {
	.name = "baseline",
	.summary = "keep reference sessions for diff --baseline, by device and scene",
	.operands = "add|list|check DIR",
	.description = "add DIR FILE… copies sessions into the folder, where they are kept by device class "
		       "(model and "
		       "architecture) and scene (--label scene=NAME of record). frameperf diff --baseline "
		       "DIR picks from "
		       "it what is of the same device and scene as the new sessions.\n\n"
		       "list DIR shows what is there. check DIR reads every session, says how much runs of "
		       "one device "
		       "and scene differ, and whether they are of one kind.",
	.examples = "frameperf baseline add base/ a*.fperf\nframeperf baseline check base/\n"
		    "frameperf diff --baseline base/ --new b*.fperf",
	.options = baseline_options,
	.option_count = sizeof(baseline_options) / sizeof(baseline_options[0]),
	.operands_min = 2,
	.operands_max = OPERANDS_MAX,
	.defaults = &(const struct baseline_config){0},
	.config_size = sizeof(struct baseline_config),
	.run = baseline_run,
};
