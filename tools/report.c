/* frameperf report */
#include "load.h"
#include "options.h"

#include "analyze/analysis.h"
#include "base/vec.h"
#include "frameperf/meta.h"
#include "output/output.h"
#include "symbolize/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRAME_MAX 4000000000u

/* Slow frames whose chain and ledger a page holds: more would make it large and nobody looks at them. */
#define PAGE_WORST 1000

struct report_config {
	const char *format;
	bool explain;
	const char *page; /* file to write a page to; NULL: the report goes to stdout */
	int64_t frame;	  /* -1: all */
	uint32_t worst;
	uint64_t budget_ns;
	const char **symbol_dirs;
	size_t symbol_dir_count, symbol_dir_capacity;
};

static int set_json(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct report_config *)config)->format = "json";
	return 0;
}

static int set_html(void *config, const char *argument, struct fperf_error *err)
{
	struct report_config *report = config;

	if (!argument[0])
		return fperf_error__set(err, -EINVAL, "the page needs a file name");
	report->format = "html";
	report->page = argument;
	return 0;
}

static int set_explain(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct report_config *)config)->explain = true;
	return 0;
}

static int set_frame(void *config, const char *argument, struct fperf_error *err)
{
	uint32_t frame;
	int ret = fperf_value__u32(argument, 0, FRAME_MAX, &frame, err);

	if (!ret)
		((struct report_config *)config)->frame = frame;
	return ret;
}

static int set_worst(void *config, const char *argument, struct fperf_error *err)
{
	return fperf_value__u32(argument, 1, FRAME_MAX, &((struct report_config *)config)->worst, err);
}

static int set_budget(void *config, const char *argument, struct fperf_error *err)
{
	return fperf_value__milliseconds(argument, &((struct report_config *)config)->budget_ns, err);
}

static int set_symbols(void *config, const char *argument, struct fperf_error *err)
{
	struct report_config *report = config;
	struct stat status;
	const char **slot;

	if (stat(argument, &status) || !S_ISDIR(status.st_mode))
		return fperf_error__set(err, -EINVAL, "'%s' is no directory", argument);
	slot = fperf_vec__push(&report->symbol_dirs, &report->symbol_dir_count, &report->symbol_dir_capacity);
	if (!slot)
		return fperf_error__no_memory(err, "the list of symbol directories");
	*slot = argument;
	return 0;
}

static void report_config_free(void *config)
{
	free(((struct report_config *)config)->symbol_dirs);
}

/* Writes to stdout, or the page to its file; a page that could not be written whole is removed, unless what
 * was written to is no ordinary file. */
static int report_put(const struct report_config *config, const struct fperf_output_ops *format,
		      const struct fperf_report *report, struct fperf_error *err)
{
	struct stat status;
	FILE *file;
	int ret;

	if (!config->page)
		return format->write(report, stdout, err);
	file = fopen(config->page, "we");
	if (!file)
		return fperf_error__set_errno(err, -errno, "cannot create '%s'", config->page);
	ret = format->write(report, file, err);
	if (fclose(file) && !ret)
		ret = fperf_error__set_errno(err, -errno, "cannot write '%s'", config->page);
	if (ret && !stat(config->page, &status) && S_ISREG(status.st_mode))
		unlink(config->page);
	return ret;
}

/* Analyses and writes; every error has its text in `err`. */
static int report_write(const struct fperf_invocation *invocation, const struct fperf_session *session,
			const struct fperf_session_damage *damage, struct fperf_error *err)
{
	const struct report_config *config = invocation->config;
	const struct fperf_log log = fperf_console__log(invocation->console);
	const struct fperf_output_ops *format = fperf_output__find(config->format);
	bool text = format == &fperf_output_text, html = format == &fperf_output_html;
	struct fperf_symbolizer_options symbolizer_options = {
		.symbol_dirs = (const char *const *)config->symbol_dirs,
		.symbol_dir_count = config->symbol_dir_count,
		.demangle = true,
		.lines = true,
		.cache = true,
		.log = &log,
	};
	struct fperf_analysis_options options = {
		.budget_ns = config->budget_ns,
		/* the overview shows neither chains nor ledgers */
		.worst = text			      ? 1
			 : html && config->worst == 0 ? PAGE_WORST
						      : config->worst,
		.frame = config->frame,
		/* where there are no events to see it from */
		.per_frame = html && fperf_session__meta_u64(session, FPERF_META_LEVEL, FPERF_LEVEL_EVENTS) <
					     FPERF_LEVEL_EVENTS,
	};
	struct fperf_report report = {
		.path = invocation->operands[0],
		.session = session,
		.damage = damage,
		.frame = config->frame,
		.worst = config->worst,
		.width = fperf_console__width(STDOUT_FILENO),
		.colour = fperf_console__colour(STDOUT_FILENO),
	};
	struct fperf_symbolizer *symbolizer = NULL;
	struct fperf_explanation *explanation = NULL;
	struct fperf_analysis *analysis = NULL;
	int ret;

	ret = fperf_symbolizer__new(session, &symbolizer_options, &symbolizer, err);
	if (ret < 0)
		goto out;
	ret = fperf_analysis__run(session, symbolizer, &options, &analysis, err);
	if (ret < 0)
		goto out;
	report.symbolizer = symbolizer;
	report.analysis = analysis;
	ret = config->explain ? fperf_explain(analysis, &explanation, err) : 0;
	if (ret < 0)
		goto out;
	report.explanation = explanation;
	ret = report_put(config, format, &report, err);
out:
	fperf_explanation__free(explanation);
	fperf_analysis__free(analysis);
	fperf_symbolizer__free(symbolizer);
	return ret;
}

static int report_run(const struct fperf_invocation *invocation)
{
	struct fperf_session *session = NULL;
	struct fperf_session_damage damage;
	struct fperf_error err = {0};
	int status = FPERF_EXIT_FAILED;

	if (fperf_load(invocation->operands[0], invocation->console, &session, &damage) < 0)
		return FPERF_EXIT_FAILED;
	if (report_write(invocation, session, &damage, &err) < 0)
		fperf_console__error(invocation->console, "%s: %s", invocation->operands[0], err.text);
	else
		status = fperf_load__status(&damage);
	fperf_session__free(session);
	return status;
}

static const struct fperf_option report_options[] = {
	{'j', "json", NULL,
	 "Write one JSON object (schema frameperf.report/1) instead of text. Times are integers in "
	 "nanoseconds; what was not "
	 "measured is null.",
	 set_json},
	{0, "html", "OUT",
	 "Write a page for a browser into this file: timeline, frames, flame graphs, threads. It needs no "
	 "network and no server.",
	 set_html},
	{'f', "frame", "N", "Show one frame in detail: its critical chain and the ledger of every thread.",
	 set_frame},
	{'e', "explain", NULL,
	 "Say what slow frames have more of than ordinary ones: functions, waits, tasks on the core, CPUs, "
	 "clocks, "
	 "marks, moments. Only what chance does not explain.",
	 set_explain},
	{'w', "worst", "N",
	 "Show the N worst frames. The default is 10. In JSON, give only these chain and ledger.", set_worst},
	{'b', "budget", "MS",
	 "Frames that take longer than this many milliseconds are slow, for example 16.7. By default the "
	 "budget is chosen "
	 "from the frames themselves.",
	 set_budget},
	{0, "symbols", "DIR",
	 "Look for debug symbols in this directory first, by build ID and by file name. May be given more "
	 "than once.",
	 set_symbols},
};

const struct fperf_command fperf_command_report = {
	.name = "report",
	.summary = "say which frames of a session were slow, and why",
	.operands = "FILE",
	.description = "Reads a session file and says how the frames did, which were slow, and for each of "
		       "these the cause: the thread, "
		       "the function, the milliseconds, and who kept it waiting.\n\n"
		       "It needs neither root nor the machine on which the session was recorded. Names of "
		       "functions come from the "
		       "modules themselves, from debug symbols in the system's usual directories, and from "
		       "--symbols.",
	.examples = "frameperf report game.fperf\nframeperf report game.fperf --frame 1841\n"
		    "frameperf report game.fperf --html game.html\n"
		    "frameperf report game.fperf --json | jq '.causes'",
	.options = report_options,
	.option_count = sizeof(report_options) / sizeof(report_options[0]),
	.operands_min = 1,
	.operands_max = 1,
	.defaults = &(const struct report_config){.format = "text", .frame = -1},
	.config_size = sizeof(struct report_config),
	.config_free = report_config_free,
	.run = report_run,
};
