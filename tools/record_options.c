#include "record_options.h"

#include "base/vec.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define HZ_MAX	10000
#define SAFE_HZ 100
#define LEVEL	2 /* the highest one */

#define UNWIND_MEMORY_MAX_MIB 256 /* what the BPF maps have room for, see frameperf/unwind_row.h */

const struct fperf_record_config fperf_record_defaults = {
	.frequency_hz = 1000,
	.overhead_percent = 1,
	.level = LEVEL,
	.frame_text = "auto",
	.frame_auto = true,
	.unwind = FPERF_UNWIND_AUTO,
	.unwind_text = "auto",
	.flight = FPERF_FLIGHT_DEFAULTS,
};

void fperf_record_config__free(void *config)
{
	struct fperf_record_config *record = config;

	for (size_t i = 0; i < record->text_count; i++)
		free(record->texts[i]);
	free(record->texts);
	free(record->marks);
	free(record->scopes);
	free(record->labels);
	fperf_flight_config__free(&record->flight);
	fperf_pids__free(&record->pids);
}

/* A copy that lives as long as the config, and that may be cut into pieces. */
static char *keep(struct fperf_record_config *config, const char *text, struct fperf_error *err)
{
	char **slot = fperf_vec__push(&config->texts, &config->text_count, &config->text_capacity);

	if (slot)
		*slot = strdup(text);
	if (!slot || !*slot) {
		fperf_error__no_memory(err, "an option");
		return NULL;
	}
	return *slot;
}

static int set_pid(void *config, const char *argument, struct fperf_error *err)
{
	return fperf_pids__parse(&((struct fperf_record_config *)config)->pids, argument, err);
}

static int set_name(void *config, const char *argument, struct fperf_error *err)
{
	if (!argument[0])
		return fperf_error__set(err, -EINVAL, "the name is empty");
	((struct fperf_record_config *)config)->name = argument;
	return 0;
}

static int set_output(void *config, const char *argument, struct fperf_error *err)
{
	if (!argument[0])
		return fperf_error__set(err, -EINVAL, "the file name is empty");
	((struct fperf_record_config *)config)->output = argument;
	return 0;
}

static int set_duration(void *config, const char *argument, struct fperf_error *err)
{
	return fperf_value__seconds(argument, &((struct fperf_record_config *)config)->duration_ns, err);
}

static int set_max_size(void *config, const char *argument, struct fperf_error *err)
{
	return fperf_bounds__parse_size(argument, &((struct fperf_record_config *)config)->bounds.max_bytes,
					err);
}

static int set_max_duration(void *config, const char *argument, struct fperf_error *err)
{
	return fperf_value__seconds(argument, &((struct fperf_record_config *)config)->bounds.max_ns, err);
}

static int set_out_dir(void *config, const char *argument, struct fperf_error *err)
{
	if (!argument[0])
		return fperf_error__set(err, -EINVAL, "the directory's name is empty");
	((struct fperf_record_config *)config)->bounds.directory = argument;
	return 0;
}

static int set_keep(void *config, const char *argument, struct fperf_error *err)
{
	return fperf_bounds__parse_keep(&((struct fperf_record_config *)config)->bounds, argument, err);
}

int fperf_record_config__check_bounds(const struct fperf_record_config *config, struct fperf_error *err)
{
	if (config->bounds.keep && !config->bounds.directory)
		return fperf_error__set(err, -EINVAL, "--keep needs --out-dir: where sessions take turns");
	if (config->bounds.directory && config->output)
		return fperf_error__set(err, -EINVAL,
					"-o names a file and --out-dir a directory: give one of them");
	return 0;
}

static int set_frequency(void *config, const char *argument, struct fperf_error *err)
{
	return fperf_value__u32(argument, 1, HZ_MAX, &((struct fperf_record_config *)config)->frequency_hz,
				err);
}

static int set_level(void *config, const char *argument, struct fperf_error *err)
{
	return fperf_value__u32(argument, 0, LEVEL, &((struct fperf_record_config *)config)->level, err);
}

/* A path from the current directory becomes absolute; a mere file name stays, it is matched with any folder.
 */
static const char *absolute(struct fperf_record_config *config, const char *path, struct fperf_error *err)
{
	char whole[PATH_MAX];

	if (path[0] == '/' || !strchr(path, '/') || !realpath(path, whole))
		return path;
	return keep(config, whole, err);
}

/* Cuts "PATH:SYMBOL" in place. Paths may hold colons, symbols don't. */
static int cut_mark(struct fperf_record_config *config, char *text, struct fperf_capture_mark *mark,
		    struct fperf_error *err)
{
	char *colon = strrchr(text, ':');

	if (!colon || colon == text || !colon[1])
		return fperf_error__set(
			err, -EINVAL,
			"'%s' is not of the form PATH:SYMBOL, such as libGLX.so.0:glXSwapBuffers or "
			"/opt/game/bin/game:+0x1a2b0",
			text);
	*colon = '\0';
	*mark = (struct fperf_capture_mark){
		.path = absolute(config, text, err),
		.symbol = colon + 1,
		.name = colon + 1,
	};
	if (!mark->path)
		return err->code;
	if (colon[1] == '+') {
		char *end;

		errno = 0;
		strtoull(colon + 2, &end, 16);
		if (strncmp(colon + 2, "0x", 2) || !colon[4] || *end || errno)
			return fperf_error__set(err, -EINVAL, "'%s' is no file offset such as +0x1a2b0",
						colon + 1);
	}
	return 0;
}

/* Cuts "…=NAME" in place; NULL when there is no name. Symbols hold no "=", so the name begins after the last.
 */
static char *cut_name(char *text)
{
	char *colon = strrchr(text, ':'), *equals = strrchr(text, '=');

	if (!equals || (colon && equals < colon))
		return NULL;
	*equals = '\0';
	return equals + 1;
}

static int set_frame(void *config, const char *argument, struct fperf_error *err)
{
	struct fperf_record_config *record = config;
	char *text;

	record->frame_text = argument;
	record->frame = (struct fperf_capture_mark){0};
	record->frame_auto = !strcmp(argument, "auto");
	if (record->frame_auto || !strcmp(argument, "off"))
		return 0;
	text = keep(record, argument, err);
	return text ? cut_mark(record, text, &record->frame, err) : err->code;
}

static int set_mark(void *config, const char *argument, struct fperf_error *err)
{
	struct fperf_record_config *record = config;
	char *text = keep(record, argument, err), *name;
	struct fperf_capture_mark mark, *slot;
	int ret;

	if (!text)
		return err->code;
	name = cut_name(text);
	ret = cut_mark(record, text, &mark, err);
	if (ret < 0)
		return ret;
	if (name && !name[0])
		return fperf_error__set(err, -EINVAL, "the name after '=' is empty");
	if (name)
		mark.name = name;
	slot = fperf_vec__push(&record->marks, &record->mark_count, &record->mark_capacity);
	if (!slot)
		return fperf_error__no_memory(err, "the list of marks");
	*slot = mark;
	return 0;
}

static int set_scope(void *config, const char *argument, struct fperf_error *err)
{
	struct fperf_record_config *record = config;
	char *text = keep(record, argument, err), *name, *comma;
	struct fperf_capture_scope scope, *slot;
	int ret;

	if (!text)
		return err->code;
	name = cut_name(text);
	comma = strrchr(text, ',');
	if (!name || !name[0] || !comma)
		return fperf_error__set(err, -EINVAL,
					"'%s' is not of the form PATH:BEGIN,PATH:END=NAME, such as "
					"game:physics_begin,game:physics_end=physics",
					argument);
	*comma = '\0';
	ret = cut_mark(record, text, &scope.begin, err);
	if (ret >= 0)
		ret = cut_mark(record, comma + 1, &scope.end, err);
	if (ret < 0)
		return ret;
	scope.begin.name = scope.end.name = name;
	slot = fperf_vec__push(&record->scopes, &record->scope_count, &record->scope_capacity);
	if (!slot)
		return fperf_error__no_memory(err, "the list of scopes");
	*slot = scope;
	return 0;
}

static int set_overhead(void *config, const char *argument, struct fperf_error *err)
{
	struct fperf_record_config *record = config;
	double percent;
	char *end;

	record->overhead_percent = 0;
	if (!strcmp(argument, "off"))
		return 0;
	errno = 0;
	percent = strtod(argument, &end);
	if (end == argument || *end || errno || !(percent >= 0.01 && percent <= 100))
		return fperf_error__set(err, -EINVAL, "'%s' is neither a percentage from 0.01 to 100 nor off",
					argument);
	record->overhead_percent = percent;
	return 0;
}

static int set_unwind(void *config, const char *argument, struct fperf_error *err)
{
	static const char *const names[] = {
		[FPERF_UNWIND_AUTO] = "auto", [FPERF_UNWIND_FP] = "fp",	      [FPERF_UNWIND_TABLE] = "table",
		[FPERF_UNWIND_DUMP] = "dump", [FPERF_UNWIND_CHECK] = "check",
	};
	struct fperf_record_config *record = config;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(argument, names[i])) {
			record->unwind = (enum fperf_unwind_mode)i;
			record->unwind_text = names[i];
			return 0;
		}
	}
	return fperf_error__set(err, -EINVAL, "'%s' is none of auto, fp, table, dump, check", argument);
}

static int set_unwind_memory(void *config, const char *argument, struct fperf_error *err)
{
	return fperf_value__u32(argument, 1, UNWIND_MEMORY_MAX_MIB,
				&((struct fperf_record_config *)config)->unwind_memory_mib, err);
}

static int set_label(void *config, const char *argument, struct fperf_error *err)
{
	struct fperf_record_config *record = config;
	char *text = keep(record, argument, err), *equals;
	struct fperf_label *slot;

	if (!text)
		return err->code;
	equals = strchr(text, '=');
	if (!equals || equals == text)
		return fperf_error__set(err, -EINVAL, "'%s' is not of the form KEY=VALUE", argument);
	*equals = '\0';
	slot = fperf_vec__push(&record->labels, &record->label_count, &record->label_capacity);
	if (!slot)
		return fperf_error__no_memory(err, "the list of labels");
	*slot = (struct fperf_label){.key = text, .value = equals + 1};
	return 0;
}

#define FLIGHT_OPTION(name, call)                                                                            \
	static int name(void *config, const char *argument, struct fperf_error *err)                         \
	{                                                                                                    \
		return call(&((struct fperf_record_config *)config)->flight, argument, err);                 \
	}

FLIGHT_OPTION(set_flight, fperf_flight_config__set_flight)
FLIGHT_OPTION(add_trigger, fperf_flight_config__add_trigger)
FLIGHT_OPTION(set_pre, fperf_flight_config__set_pre)
FLIGHT_OPTION(set_post, fperf_flight_config__set_post)
FLIGHT_OPTION(set_cooldown, fperf_flight_config__set_cooldown)
FLIGHT_OPTION(set_limit, fperf_flight_config__set_limit)
FLIGHT_OPTION(set_worst, fperf_flight_config__set_worst)

static int set_safe(void *config, const char *argument, struct fperf_error *err)
{
	struct fperf_record_config *record = config;

	(void)argument;
	(void)err;
	record->safe = true;
	record->frequency_hz = record->frequency_hz < SAFE_HZ ? record->frequency_hz : SAFE_HZ;
	record->unwind = FPERF_UNWIND_LEAF;
	record->unwind_text = "leaf";
	record->frame_auto = false;
	record->frame_text = "off";
	return 0;
}

int fperf_record_config__check_safe(const struct fperf_record_config *config, struct fperf_error *err)
{
	if (!config->safe ||
	    (config->frequency_hz <= SAFE_HZ && config->unwind == FPERF_UNWIND_LEAF && !config->frame_auto &&
	     !config->frame.path && !config->mark_count && !config->scope_count))
		return 0;
	return fperf_error__set(
		err, -EINVAL,
		"--safe takes %d samples/s, innermost addresses only, and puts no probe on the "
		"game: it cannot go together with a higher -F, --unwind, --frame, --mark or "
		"--scope",
		SAFE_HZ);
}

static int set_as_root(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct fperf_record_config *)config)->as_root = true;
	return 0;
}

const struct fperf_option fperf_record_options[FPERF_RECORD_OPTIONS] = {
	{'p', "pid", "PID[,PID…]", "Record these processes, which run already.", set_pid},
	{'n', "name", "NAME",
	 "Record the processes of this name: that of the process or of its program file. Waits until there "
	 "is one.",
	 set_name},
	{'o', "output", "FILE",
	 "Write the session here. The default is frameperf-NAME-YYYYMMDD-HHMMSS.fperf in the current "
	 "directory.",
	 set_output},
	{'d', "duration", "SECONDS",
	 "End the recording after this time. A COMMAND that still runs then goes on.", set_duration},
	{0, "max-size", "SIZE",
	 "No session file becomes larger than this, for example 64M. The recording ends then, or goes on in "
	 "the next "
	 "file of --out-dir.",
	 set_max_size},
	{0, "max-duration", "SECONDS",
	 "No session file holds more time than this. The recording ends then, or goes on in the next file of "
	 "--out-dir.",
	 set_max_duration},
	{0, "out-dir", "DIR",
	 "Write sessions into this directory, under names of their own, one after the other where --max-size "
	 "or "
	 "--max-duration bound them.",
	 set_out_dir},
	{0, "keep", "N[,SIZE]",
	 "Keep the last N sessions of --out-dir, and no more than SIZE of them all; the oldest are removed. "
	 "Nothing is "
	 "removed that frameperf did not write there.",
	 set_keep},
	{'F', "frequency", "HZ", "Samples a second for each running thread, 1 to 10000. The default is 1000.",
	 set_frequency},
	{0, "level", "LEVEL",
	 "How much is kept. 2, the default: everything. 1: each frame with its verdict and ledger, and hot "
	 "functions; for "
	 "long runs, about 1 MB for ten minutes at 60 fps. 0: sums over the recording, less than 1 KB.",
	 set_level},
	{0, "frame", "auto|PATH:SYMBOL|off",
	 "What ends a frame: a function of the game or of a library, entered once per frame, by its name or "
	 "as +0xOFFSET in "
	 "the file. By default the usual ones are tried and the right one is kept.",
	 set_frame},
	{0, "mark", "PATH:SYMBOL[=NAME]", "Note each call of this function. May be given more than once.",
	 set_mark},
	{0, "scope", "PATH:BEGIN,PATH:END=NAME",
	 "Note the time between the calls of two functions. May be given more than once.", set_scope},
	{0, "unwind", "auto|fp|table|dump|check",
	 "How the callers of a function are found: by frame pointers, by tables made from the modules' "
	 "unwind information, or "
	 "from copies of the stack. By default the best way for each module. With check every stack is also "
	 "compared with what libdw makes of a copy of it, which is slow; the counts are in the session.",
	 set_unwind},
	{0, "unwind-memory", "MIB",
	 "All unwind tables together take no more memory than this, 1 to 256. The default is 192. Beyond it, "
	 "the table that was unused for longest goes, and comes back when it is wanted.",
	 set_unwind_memory},
	{0, "flight", "SECONDS[,SIZE]",
	 "Lie in wait: keep the last seconds in memory (2M at most, or SIZE) and write a session only when a "
	 "trigger fires, when SIGUSR2 comes, or when frameperf trigger asks for it.",
	 set_flight},
	{0, "trigger", "RULE",
	 "Write a session when this happens; may be given more than once, and implies --flight 30. "
	 "'frame>33ms': a frame took longer. 'stall>250ms': no frame has ended for longer, while that lasts, "
	 "or five in a row took a fifth of it each. 'hitches>3/10s': more slow frames than that in the time. "
	 "'mark:NAME>5ms': the --scope of that name took longer. 'run-queue>10ms': a thread that was woken "
	 "waited longer for a core.",
	 add_trigger},
	{0, "pre", "SECONDS", "Of what is kept, write only so much before the trigger.", set_pre},
	{0, "post", "SECONDS",
	 "Go on for so long after a trigger before the session is written. The default is 2.", set_post},
	{0, "cool-down", "SECONDS", "After a trigger, pass by others for so long. The default is 30.",
	 set_cooldown},
	{0, "trigger-limit", "NUMBER", "Write so many sessions at most. The default is 20.", set_limit},
	{0, "overhead", "PERCENT|off",
	 "What recording may cost: the BPF programs, which run in the game's time, and the recorder beside "
	 "it, "
	 "each at most this share of the CPU time of the machine (of up to four CPUs). Where more is needed, "
	 "recording gives up samples first, then stacks of waits, step by step, and takes them up again "
	 "later; it also eases off when the game falls below 25 frames a second. The default is 1.",
	 set_overhead},
	{0, "safe", NULL,
	 "Record the least that still tells something, for what bears no more: 100 samples a second, the "
	 "innermost address only, and the waits; no probes in the game, so no frames.",
	 set_safe},
	{0, "keep-worst", "NUMBER",
	 "For recordings of hours: keep in full only that many worst frames, each with what came before it "
	 "(a second, or --pre) and the ordinary frames in there; of the others the figures that are true for "
	 "all.",
	 set_worst},
	{0, "label", "KEY=VALUE",
	 "Keep this with the session, for example scene=harbour. May be given more than once.", set_label},
	{0, "as-root", NULL,
	 "Run COMMAND as root under sudo. By default it runs as the user who called sudo.", set_as_root},
};
