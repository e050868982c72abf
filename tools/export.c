/* frameperf export */
#include "load.h"
#include "options.h"
#include "out_file.h"

#include "analyze/analysis.h"
#include "base/vec.h"
#include "frameperf/meta.h"
#include "output/export.h"
#include "symbolize/symbolize.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRAME_MAX 4000000000u

struct export_config {
	const struct fperf_export_ops *format;
	const char *output;
	struct fperf_export_options options;
	uint64_t budget_ns;
	const char **symbol_dirs;
	size_t symbol_dir_count, symbol_dir_capacity;
};

/* A name is the format, a number the end of the part to export: nobody has to remember which is which. */
static int set_to(void *config, const char *argument, struct fperf_error *err)
{
	struct export_config *export = config;
	const struct fperf_export_ops *format;
	char names[200] = "";
	size_t used = 0;

	if (isdigit((unsigned char)argument[0]) || argument[0] == '.')
		return fperf_value__seconds(argument, &export->options.to_ns, err);
	export->format = fperf_export__find(argument);
	if (export->format)
		return 0;
	for (size_t i = 0; (format = fperf_export__at(i)) && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 format->name);
	return fperf_error__set(err, -EINVAL, "there is no format '%s'; there are: %s", argument, names);
}

static int set_output(void *config, const char *argument, struct fperf_error *err)
{
	(void)err;
	((struct export_config *)config)->output = argument;
	return 0;
}

/* "slow", "N" or "A-B" */
static int set_frames(void *config, const char *argument, struct fperf_error *err)
{
	struct fperf_export_options *options = &((struct export_config *)config)->options;
	const char *dash = strchr(argument, '-');
	char first[16] = "";
	int ret;

	if (!strcmp(argument, "slow")) {
		options->frames = FPERF_FRAMES_SLOW;
		return 0;
	}
	if (dash && (size_t)(dash - argument) >= sizeof(first))
		return fperf_error__set(err, -EINVAL, "'%s' is none of slow, N and A-B", argument);
	snprintf(first, sizeof(first), "%.*s", dash ? (int)(dash - argument) : 15, argument);
	options->frames = FPERF_FRAMES_RANGE;
	ret = fperf_value__u32(first, 0, FRAME_MAX, &options->first_frame, err);
	options->last_frame = options->first_frame;
	if (!ret && dash)
		ret = fperf_value__u32(dash + 1, options->first_frame, FRAME_MAX, &options->last_frame, err);
	return ret;
}

static int set_slow_only(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	return set_frames(config, "slow", err);
}

static int set_from(void *config, const char *argument, struct fperf_error *err)
{
	uint64_t *from = &((struct export_config *)config)->options.from_ns;

	if (!strcmp(argument, "0"))
		return 0;
	return fperf_value__seconds(argument, from, err);
}

static int set_thread(void *config, const char *argument, struct fperf_error *err)
{
	(void)err;
	((struct export_config *)config)->options.thread = argument;
	return 0;
}

static int set_off_cpu(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct export_config *)config)->options.off_cpu = true;
	return 0;
}

static int set_table(void *config, const char *argument, struct fperf_error *err)
{
	bool functions = !strcmp(argument, "functions");

	if (!functions && strcmp(argument, "frames"))
		return fperf_error__set(err, -EINVAL, "'%s' is neither frames nor functions", argument);
	((struct export_config *)config)->options.functions = functions;
	return 0;
}

static int set_budget(void *config, const char *argument, struct fperf_error *err)
{
	return fperf_value__milliseconds(argument, &((struct export_config *)config)->budget_ns, err);
}

static int set_symbols(void *config, const char *argument, struct fperf_error *err)
{
	struct export_config *export = config;
	struct stat status;
	const char **slot;

	if (stat(argument, &status) || !S_ISDIR(status.st_mode))
		return fperf_error__set(err, -EINVAL, "'%s' is no directory", argument);
	slot = fperf_vec__push(&export->symbol_dirs, &export->symbol_dir_count, &export->symbol_dir_capacity);
	if (!slot)
		return fperf_error__no_memory(err, "the list of symbol directories");
	*slot = argument;
	return 0;
}

static void export_config_free(void *config)
{
	free(((struct export_config *)config)->symbol_dirs);
}

/* What this session cannot give, so that an export with little in it does not look broken. */
static void say_what_lacks(const struct fperf_export *export, struct fperf_console *console)
{
	uint64_t level = fperf_session__meta_u64(export->session, FPERF_META_LEVEL, 2);
	size_t samples, intervals;

	fperf_session__records(export->session, FPERF_RECORD_SAMPLE, &samples);
	fperf_session__records(export->session, FPERF_RECORD_OFFCPU, &intervals);
	if (level == 0 && !samples && !intervals) {
		fperf_console__note(console, "a session of level 0 keeps statistics only: it has no frames, "
					     "stacks and threads to export (frameperf report shows what it "
					     "has)");
		return;
	}
	if (level == 1 && !samples && !intervals) {
		fperf_console__note(console,
				    "a session of level 1 keeps results: it has frames, verdicts and "
				    "functions (--to csv --table functions) to export, but neither "
				    "stacks nor what threads did over time");
		return;
	}
	if (!samples)
		fperf_console__note(console, "the session has no samples, so the export shows no functions "
					     "(frameperf info says why)");
	if (!intervals)
		fperf_console__note(console, "the session has no scheduler records, so the export does not "
					     "show where threads waited (frameperf info says why)");
	if (!export->analysis->frame_count)
		fperf_console__note(console, "the session has no frames (frameperf info says why)");
}

static int export_write(const struct fperf_invocation *invocation, const struct fperf_session *session,
			struct fperf_out_file *file, struct fperf_error *err)
{
	const struct export_config *config = invocation->config;
	const struct fperf_log log = fperf_console__log(invocation->console);
	struct fperf_symbolizer_options symbolizer_options = {
		.symbol_dirs = (const char *const *)config->symbol_dirs,
		.symbol_dir_count = config->symbol_dir_count,
		.demangle = true,
		.lines = true,
		.cache = true,
		.log = &log,
	};
	struct fperf_analysis_options options = {.budget_ns = config->budget_ns, .frame = -1};
	struct fperf_symbolizer *symbolizer = NULL;
	struct fperf_analysis *analysis = NULL;
	struct fperf_export export = {0};
	int ret;

	ret = fperf_symbolizer__new(session, &symbolizer_options, &symbolizer, err);
	if (!ret)
		ret = fperf_analysis__run(session, symbolizer, &options, &analysis, err);
	if (!ret)
		ret = fperf_export__init(&export, session, analysis, symbolizer, &config->options, err);
	if (!ret) {
		say_what_lacks(&export, invocation->console);
		ret = config->format->write(&export, file->stream, err);
	}
	fperf_export__free(&export);
	fperf_analysis__free(analysis);
	fperf_symbolizer__free(symbolizer);
	return ret;
}

/* Where it goes: -o, else standard output unless that is a terminal, else a file beside the session's name.
 * The caller frees. */
static char *output_path(const struct export_config *config, const char *session)
{
	const char *slash = strrchr(session, '/'), *name = slash ? slash + 1 : session;
	size_t size = strlen(name);
	char *path;

	if (config->output)
		return strdup(config->output);
	if (!isatty(STDOUT_FILENO))
		return strdup("-");
	if (size > 6 && !strcmp(name + size - 6, ".fperf"))
		size -= 6;
	if (asprintf(&path, "%.*s%s%s", (int)size, name, config->options.functions ? "-functions" : "",
		     config->format->extension) < 0)
		return NULL;
	return path;
}

static int export_file(const struct fperf_invocation *invocation, const struct fperf_session *session,
		       const char *path, struct fperf_error *err)
{
	struct fperf_out_file file;

	if (fperf_out_file__open(&file, path, err))
		return err->code;
	if (export_write(invocation, session, &file, err)) {
		fperf_out_file__discard(&file);
		return err->code;
	}
	if (fperf_out_file__keep(&file, err))
		return err->code;
	if (strcmp(path, "-"))
		fperf_console__note(invocation->console, "%s: %s", path,
				    ((const struct export_config *)invocation->config)->format->name);
	return 0;
}

static int export_run(const struct fperf_invocation *invocation)
{
	const struct export_config *config = invocation->config;
	struct fperf_session *session = NULL;
	struct fperf_session_damage damage;
	struct fperf_error err = {0};
	int status = FPERF_EXIT_FAILED;
	char *path;

	if (!config->format) {
		fperf_console__error(invocation->console, "--to FORMAT is missing: say what to export to");
		return FPERF_EXIT_USAGE;
	}
	if (fperf_load(invocation->operands[0], invocation->console, &session, &damage) < 0)
		return FPERF_EXIT_FAILED;
	path = output_path(config, invocation->operands[0]);
	if (!path)
		fperf_console__error(invocation->console, "out of memory");
	else if (export_file(invocation, session, path, &err))
		fperf_console__error(invocation->console, "%s: %s", invocation->operands[0], err.text);
	else
		status = fperf_load__status(&damage);
	free(path);
	fperf_session__free(session);
	return status;
}

static const struct fperf_option export_options[] = {
	{'t', "to", "FORMAT",
	 "The format. perfetto: a trace for ui.perfetto.dev with thread states, wakers, frames, marks, "
	 "clocks, "
	 "stacks and critical chains. firefox: a profile for profiler.firefox.com with frames and verdicts "
	 "as "
	 "markers. pprof: for `pprof`, CPU time and waiting by kind. speedscope: for speedscope.app, one "
	 "profile a thread. folded: for flamegraph.pl and its like, in nanoseconds. csv: the frames as "
	 "MangoHud logs them, or the functions (--table). Given once more with a number: only what "
	 "happened earlier than so many seconds after the start of the recording.",
	 set_to},
	{'o', "output", "OUT",
	 "Write to this file; - is standard output. Without it the export goes to standard output, or, if "
	 "that is a terminal, to a file that is called after the session.",
	 set_output},
	{'f', "frames", "FRAMES",
	 "Only what happened in these frames: slow, one frame (1841), or from one to another (1800-1900).",
	 set_frames},
	{0, "slow-only", NULL, "The same as --frames slow.", set_slow_only},
	{0, "from", "SECONDS", "Only what happened later than this after the start of the recording.",
	 set_from},
	{0, "thread", "NAME", "Only threads of this name, or the one with this number. Frames stay.",
	 set_thread},
	{0, "off-cpu", NULL,
	 "folded and speedscope: where threads waited, with the kind of wait as the last function, instead "
	 "of "
	 "where they ran. The other formats always have both.",
	 set_off_cpu},
	{0, "table", "TABLE", "csv: which table, frames (the default) or functions.", set_table},
	{'b', "budget", "MS", "Frames that take longer than this many milliseconds are slow, as for report.",
	 set_budget},
	{0, "symbols", "DIR",
	 "Look for debug symbols in this directory first, by build ID and by file name. May be given more "
	 "than once.",
	 set_symbols},
};

const struct fperf_command fperf_command_export = {
	.name = "export",
	.summary = "give a session to the tools that people already use",
	.operands = "FILE",
	.description = "Writes what a session holds in the format of another tool. Sums are those of report: "
		       "CPU time is that of the scheduler's records, spread over the samples, and the time "
		       "of a wait is exact.\n\n"
		       "A session of level 1 has frames, verdicts and functions to export, but no stacks and "
		       "nothing of threads over time; one of level 0 has statistics only.",
	.examples = "frameperf export game.fperf --to perfetto -o game.pftrace\n"
		    "frameperf export game.fperf --to csv -o game.csv\n"
		    "frameperf export game.fperf --to folded --slow-only",
	.options = export_options,
	.option_count = sizeof(export_options) / sizeof(export_options[0]),
	.operands_min = 1,
	.operands_max = 1,
	.defaults = &(const struct export_config){0},
	.config_size = sizeof(struct export_config),
	.config_free = export_config_free,
	.run = export_run,
};
