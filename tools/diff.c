/* frameperf diff */
#include "baseline_dir.h"
#include "diff_run.h"
#include "load.h"
#include "options.h"

#include "base/vec.h"
#include "output/diff_output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIM_NS	   5000000000ull
#define MIN_EFFECT 0.01

struct list {
	const char **items;
	size_t count, capacity;
};

struct diff_config {
	struct list base, new_files, symbol_dirs;
	struct fperf_gate *gates;
	size_t gate_count, gate_capacity;
	bool no_gate, json, force;
	const char *junit, *markdown, *scene, *baseline;
	uint64_t budget_ns, trim_ns;
	bool trim_given;
	double min_effect;
};

static int list_add(struct list *list, const char *item, struct fperf_error *err)
{
	const char **slot = fperf_vec__push(&list->items, &list->count, &list->capacity);

	if (!slot)
		return fperf_error__no_memory(err, "the list of files");
	*slot = item;
	return 0;
}

static int set_base(void *config, const char *argument, struct fperf_error *err)
{
	return list_add(&((struct diff_config *)config)->base, argument, err);
}

static int set_new(void *config, const char *argument, struct fperf_error *err)
{
	return list_add(&((struct diff_config *)config)->new_files, argument, err);
}

static int set_gate(void *config, const char *argument, struct fperf_error *err)
{
	struct diff_config *diff = config;
	struct fperf_gate gate, *slot;

	if (!strcmp(argument, "none")) {
		diff->no_gate = true;
		return 0;
	}
	if (fperf_gate__parse(argument, &gate, err) < 0)
		return err->code;
	slot = fperf_vec__push(&diff->gates, &diff->gate_count, &diff->gate_capacity);
	if (!slot)
		return fperf_error__no_memory(err, "the gates");
	*slot = gate;
	return 0;
}

static int set_json(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct diff_config *)config)->json = true;
	return 0;
}

static int set_force(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct diff_config *)config)->force = true;
	return 0;
}

static int set_junit(void *config, const char *argument, struct fperf_error *err)
{
	(void)err;
	((struct diff_config *)config)->junit = argument;
	return 0;
}

static int set_markdown(void *config, const char *argument, struct fperf_error *err)
{
	(void)err;
	((struct diff_config *)config)->markdown = argument;
	return 0;
}

static int set_baseline(void *config, const char *argument, struct fperf_error *err)
{
	(void)err;
	((struct diff_config *)config)->baseline = argument;
	return 0;
}

static int set_scene(void *config, const char *argument, struct fperf_error *err)
{
	(void)err;
	((struct diff_config *)config)->scene = argument;
	return 0;
}

static int set_budget(void *config, const char *argument, struct fperf_error *err)
{
	return fperf_value__milliseconds(argument, &((struct diff_config *)config)->budget_ns, err);
}

static int set_trim(void *config, const char *argument, struct fperf_error *err)
{
	struct diff_config *diff = config;

	diff->trim_given = true;
	diff->trim_ns = 0;
	return !strcmp(argument, "0") ? 0 : fperf_value__seconds(argument, &diff->trim_ns, err);
}

static int set_min_effect(void *config, const char *argument, struct fperf_error *err)
{
	double percent;
	char *end;

	percent = strtod(argument, &end);
	if (end == argument || (*end && strcmp(end, "%")) ||
	    strspn(argument, "0123456789.%") != strlen(argument) || !isfinite(percent) || percent > 1000)
		return fperf_error__set(err, -EINVAL, "'%s' is no share in percent, like 2 or 0.5%%",
					argument);
	((struct diff_config *)config)->min_effect = percent / 100;
	return 0;
}

static int set_symbols(void *config, const char *argument, struct fperf_error *err)
{
	struct stat status;

	if (stat(argument, &status) || !S_ISDIR(status.st_mode))
		return fperf_error__set(err, -EINVAL, "'%s' is no directory", argument);
	return list_add(&((struct diff_config *)config)->symbol_dirs, argument, err);
}

static void diff_config_free(void *config)
{
	struct diff_config *diff = config;

	free(diff->base.items);
	free(diff->new_files.items);
	free(diff->symbol_dirs.items);
	free(diff->gates);
}

/* ---- writing ---- */

static int file_write(const struct fperf_diff_output_ops *format, const struct fperf_diff_report *report,
		      const char *path, struct fperf_error *err)
{
	FILE *stream = fopen(path, "we");

	if (!stream)
		return fperf_error__set_errno(err, -errno, "cannot write %s", path);
	if (format->write(report, stream, err) < 0)
		fperf_error__wrap(err, "%s", path);
	if (fclose(stream) && !err->code)
		fperf_error__set_errno(err, -errno, "cannot write %s", path);
	return err->code;
}

static int all_write(const struct diff_config *config, const struct fperf_diff_report *report,
		     struct fperf_error *err)
{
	if (config->junit && file_write(&fperf_diff_junit, report, config->junit, err))
		return err->code;
	if (config->markdown && file_write(&fperf_diff_markdown, report, config->markdown, err))
		return err->code;
	return (config->json ? &fperf_diff_json : &fperf_diff_text)->write(report, stdout, err);
}

/* One line for each gate that does not hold, so that a log shows them whatever else is written where. */
static void failures_say(const struct fperf_diff_report *report, struct fperf_console *console)
{
	for (size_t i = 0; i < report->gate_count; i++)
		for (size_t k = 0; k < report->diff_count; k++) {
			const struct fperf_gate_result *result = fperf_diff_report__result(report, i, k);
			const char *scene = report->diffs[k]->scene;

			if (result->outcome != FPERF_GATE_HOLDS)
				fperf_console__error(console, "gate %s%s%s %s", report->gates[i].text,
						     *scene ? " in " : "", scene,
						     fperf_diff_words__gate(&report->gates[i], result).text);
		}
}

static int gates_judge(const struct fperf_diff_report *report, const struct fperf_strtab *names,
		       struct fperf_gate_result *results, struct fperf_error *err)
{
	for (size_t i = 0; i < report->gate_count; i++)
		for (size_t k = 0; k < report->diff_count; k++)
			if (fperf_gate__judge(&report->gates[i], report->diffs[k], names,
					      &results[i * report->diff_count + k]))
				return fperf_error__no_memory(err, "the gates");
	return 0;
}

/* Serious warnings stop a comparison that nobody forced: an answer would be taken for one. */
static int refusal_check(const struct diff_config *config, const struct fperf_diff_run *run,
			 struct fperf_error *err)
{
	for (size_t i = 0; i < run->diff_count && !config->force; i++)
		for (size_t k = 0; k < run->diffs[i]->warning_count; k++)
			if (run->diffs[i]->warnings[k].serious)
				return fperf_error__set(err, -EINVAL,
							"not comparable: %s (--force compares all the same)",
							run->diffs[i]->warnings[k].text);
	return 0;
}

/* Judges and writes; *status gets the exit status. */
static int diff_report(const struct fperf_invocation *invocation, const struct fperf_diff_run *run,
		       int *status, struct fperf_error *err)
{
	const struct diff_config *config = invocation->config;
	struct fperf_gate default_gate;
	struct fperf_gate_result *results;
	struct fperf_diff_report report = {
		.diffs = (const struct fperf_diff *const *)run->diffs,
		.diff_count = run->diff_count,
		.gates = config->gates,
		.gate_count = config->gate_count,
		.budget_ns = run->budget_ns,
		.trim_ns = config->trim_ns,
		.min_effect = config->min_effect,
		.forced = config->force,
		.width = fperf_console__width(STDOUT_FILENO),
		.colour = fperf_console__colour(STDOUT_FILENO),
	};

	fperf_gate__default(&default_gate);
	if (!config->gate_count && !config->no_gate) {
		report.gates = &default_gate;
		report.gate_count = 1;
	}
	results = calloc(report.gate_count * report.diff_count + 1, sizeof(*results));
	if (!results)
		return fperf_error__no_memory(err, "the gates");
	report.results = results;
	if (!gates_judge(&report, run->names, results, err) && !all_write(config, &report, err)) {
		bool hold = fperf_diff_report__gates_hold(&report);

		*status = !hold ? FPERF_EXIT_GATE : run->damaged ? FPERF_EXIT_DAMAGED : FPERF_EXIT_OK;
		failures_say(&report, invocation->console);
	}
	free(results);
	return err->code;
}

/* ---- baselines ---- */

static bool list_has(const struct fperf_baseline_list *list, const struct fperf_baseline_place *place)
{
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i].place.device, place->device) &&
		    !strcmp(list->items[i].place.scene, place->scene))
			return true;
	return false;
}

/* What the folder holds for the device and scene of one new session; once for all that have the same. */
static int baseline_pick(const char *dir, const char *path, struct fperf_console *console,
			 struct fperf_baseline_list *list, struct fperf_error *err)
{
	struct fperf_console quiet = *console;
	struct fperf_session_damage damage;
	struct fperf_baseline_place place;
	struct fperf_session *session;

	quiet.quiet = true; /* the reading that follows says what is damaged */
	if (fperf_load(path, &quiet, &session, &damage) < 0)
		return fperf_error__set(err, -EINVAL, "%s cannot be read", path);
	fperf_baseline_place__of(session, &place);
	fperf_session__free(session);
	if (list_has(list, &place) || fperf_baseline_list__read(list, dir, &place, err))
		return err->code;
	if (!list_has(list, &place))
		return fperf_error__set(
			err, -ENOENT,
			"%s has no baseline for scene %s on %s: frameperf baseline add %s FILE…", dir,
			place.scene, place.device, dir);
	return 0;
}

/* Fills files->base; the caller frees it and the list. */
static int baselines_pick(const struct diff_config *config, struct fperf_console *console,
			  struct fperf_baseline_list *list, struct fperf_diff_files *files,
			  struct fperf_error *err)
{
	for (size_t i = 0; i < files->new_count && !err->code; i++)
		baseline_pick(config->baseline, files->new_files[i], console, list, err);
	files->base = calloc(list->count + 1, sizeof(*files->base));
	if (!files->base)
		return fperf_error__no_memory(err, "the list of files");
	for (size_t i = 0; i < list->count; i++)
		files->base[i] = list->items[i].path;
	files->base_count = list->count;
	return err->code;
}

static int diff_run(const struct fperf_invocation *invocation)
{
	const struct diff_config *config = invocation->config;
	struct fperf_diff_files files = {
		.base = config->base.items,
		.base_count = config->base.count,
		.new_files = config->new_files.items,
		.new_count = config->new_files.count,
		.scene = config->scene,
		.symbol_dirs = (const char *const *)config->symbol_dirs.items,
		.symbol_dir_count = config->symbol_dirs.count,
		.digest = {.budget_ns = config->budget_ns,
			   .trim_ns = config->trim_ns,
			   .trim_always = config->trim_given,
			   .details = true},
		.diff = {.min_effect = config->min_effect},
	};
	struct fperf_baseline_list list = {0};
	struct fperf_diff_run run = {0};
	struct fperf_error err = {0};
	int status = FPERF_EXIT_FAILED;

	if (config->baseline && files.base_count) {
		fperf_console__error(invocation->console, "give either --base or --baseline");
		return FPERF_EXIT_USAGE;
	}
	if ((!files.base_count && !config->baseline) || !files.new_count) {
		fperf_console__error(invocation->console, "%s is missing: --base FILE… --new FILE…",
				     files.base_count || config->baseline ? "--new" : "--base");
		return FPERF_EXIT_USAGE;
	}
	if (config->baseline)
		baselines_pick(config, invocation->console, &list, &files, &err);
	if (err.code || fperf_diff_run__make(&run, &files, invocation->console, &err) < 0 ||
	    refusal_check(config, &run, &err) < 0 || diff_report(invocation, &run, &status, &err) < 0) {
		fperf_console__error(invocation->console, "%s", err.text);
		status = FPERF_EXIT_FAILED;
	}
	fperf_diff_run__free(&run);
	if (config->baseline)
		free(files.base);
	fperf_baseline_list__free(&list);
	return status;
}

static const struct fperf_option diff_options[] = {
	{'b', "base", "FILE…", "Sessions of the build to compare with: three or more.", set_base},
	{'n', "new", "FILE…", "Sessions of the build in question.", set_new},
	{0, "baseline", "DIR",
	 "Take as base what this folder holds for the device and scene of the new sessions (frameperf "
	 "baseline "
	 "add).",
	 set_baseline},
	{'g', "gate", "RULE",
	 "What has to hold, with confidence: p99<=+3%, hitches<=6/min, worst<=100ms, low_01pct>=30fps, "
	 "func:NAME<=+0.2ms. May be given more than once. With + or - the limit is relative to the base. "
	 "Without "
	 "any gate, no primary figure may be worse; none: no gate at all.",
	 set_gate},
	{'j', "json", NULL, "Write one JSON object (schema frameperf.diff/1) instead of text.", set_json},
	{0, "junit", "OUT", "Also write the gates as JUnit XML.", set_junit},
	{0, "markdown", "OUT", "Also write a summary in Markdown, for a pull request.", set_markdown},
	{0, "force", NULL,
	 "Compare even if device, clocks, level or frame marker differ so much that they may explain the "
	 "difference.",
	 set_force},
	{0, "min-effect", "PERCENT",
	 "Differences of less than this share of the base do not count. The default is 1.", set_min_effect},
	{0, "trim", "SECONDS",
	 "Leave out this much at both ends of each run: warm-up and tear-down. The default is 5, for runs "
	 "that "
	 "leave 20 seconds between; 0: nothing.",
	 set_trim},
	{0, "budget", "MS",
	 "Frames that take longer are hitches. By default it is chosen from the base's frames, and is the "
	 "same "
	 "for all runs.",
	 set_budget},
	{0, "scene", "NAME", "Compare only sessions recorded with --label scene=NAME.", set_scene},
	{0, "symbols", "DIR", "Look for debug symbols in this directory first. May be given more than once.",
	 set_symbols},
};

const struct fperf_command fperf_command_diff = {
	.name = "diff",
	.summary = "compare two builds by their sessions: slower, by how much, how sure, where and why",
	.operands = "",
	.description =
		"Compares runs of two builds. The run is the unit: figures are worked out for each run, and "
		"the "
		"difference comes with an interval that says how sure it is. It says what is worse, what is "
		"better, what makes no difference, and what these runs cannot tell, with the number of runs "
		"that "
		"could.\n\n"
		"Record several runs of each build, in turns, so that a machine that warms up does not look "
		"like a "
		"slower build. Sessions with --label scene=NAME are compared scene by scene.\n\n"
		"Ends with status 3 when a gate does not hold. A gate that the runs leave open does not hold "
		"either.",
	.examples = "frameperf diff --base a*.fperf --new b*.fperf\n"
		    "frameperf diff --base a* --new b* --gate 'p99<=+3%'\n"
		    "frameperf diff --base a* --new b* --junit gates.xml",
	.options = diff_options,
	.option_count = sizeof(diff_options) / sizeof(diff_options[0]),
	.defaults = &(const struct diff_config){.trim_ns = TRIM_NS, .min_effect = MIN_EFFECT},
	.config_size = sizeof(struct diff_config),
	.config_free = diff_config_free,
	.run = diff_run,
};
