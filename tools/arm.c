/* frameperf arm */
#include "arm_config.h"
#include "arm_state.h"
#include "arm_watch.h"
#include "options.h"

#include "output/paint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_CONFIG "/etc/frameperf/arm.conf"

struct arm_config {
	bool status, json, check;
};

static int set_status(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct arm_config *)config)->status = true;
	return 0;
}

static int set_json(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct arm_config *)config)->json = true;
	return 0;
}

static int set_check(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct arm_config *)config)->check = true;
	return 0;
}

static long long number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

static void show_target(const char *section, const json_t *target, bool running)
{
	const json_t *recording = json_object_get(target, "recording");
	const char *state = text(target, "state");

	if (!running)
		state = "not armed";
	printf("  %-20s %s", section, state);
	if (running && recording)
		printf(": process %lld, for %lld of %g s, into %s.fperf", number(recording, "game"),
		       (long long)time(NULL) - number(recording, "since"),
		       json_number_value(json_object_get(target, "window_s")), text(recording, "path"));
	printf("; today %lld of %lld sessions, %s\n", number(target, "sessions"), number(target, "quota"),
	       fperf_words__bytes((uint64_t)number(target, "bytes")).text);
	if (text(target, "last")[0])
		printf("  %-20s last: %s.fperf\n", "", text(target, "last"));
}

static void show_status(const json_t *state, bool running)
{
	const char *section;
	json_t *target;

	if (!running)
		printf("nothing is armed: no watcher runs, and nothing is attached\n");
	else
		printf("armed: process %lld, configuration %s\n", number(state, "pid"),
		       text(state, "config"));
	if (running && text(state, "config_error")[0])
		printf("  the file is refused, what was read before it counts: %s\n",
		       text(state, "config_error"));
	if (running)
		printf("  waits: %s\n", strcmp(text(state, "waits_by"), "kernel")
						? "looks for processes every 2 s"
						: "the kernel tells of processes that begin");
	json_object_foreach(json_object_get(state, "targets"), section, target)
		show_target(section, target, running);
}

static int status_run(const struct arm_config *config, const char *path)
{
	char *directory = fperf_arm_config__state(path);
	bool running = false;
	json_t *state = directory ? fperf_arm_state__peek(directory, &running) : NULL;

	free(directory);
	if (config->json) {
		if (!state)
			state = json_object();
		json_object_set_new(state, "running", json_boolean(running));
		json_dumpf(state, stdout, JSON_INDENT(2) | JSON_SORT_KEYS);
		putchar('\n');
	} else {
		show_status(state, running);
	}
	json_decref(state);
	return fflush(stdout) || ferror(stdout) ? FPERF_EXIT_FAILED : FPERF_EXIT_OK;
}

static int arm_run(const struct fperf_invocation *invocation)
{
	const struct arm_config *config = invocation->config;
	const char *path = invocation->operand_count ? invocation->operands[0] : DEFAULT_CONFIG;
	struct fperf_arm_config file;
	struct fperf_error err;
	int rc;

	if (config->status)
		return status_run(config, path);
	if (config->check) {
		rc = fperf_arm_config__load(path, &file, &err);
		if (!rc)
			printf("%s: %zu targets\n", path, file.target_count);
		if (!rc)
			fperf_arm_config__free(&file);
	} else {
		rc = fperf_arm_watch(path, invocation->console, &err);
	}
	if (rc < 0)
		fperf_console__error(invocation->console, "%s", err.text);
	return rc < 0 ? FPERF_EXIT_FAILED : FPERF_EXIT_OK;
}

static const struct fperf_option arm_options[] = {
	{0, "status", NULL,
	 "Show what the watcher does, which targets it waits for and what they used today.", set_status},
	{0, "json", NULL, "With --status: as JSON.", set_json},
	{0, "check", NULL, "Only read the configuration, and say what is wrong with it.", set_check},
};

const struct fperf_command fperf_command_arm = {
	.name = "arm",
	.summary = "lie in wait for games and record them when they appear",
	.operands = "CONFIG",
	.description = "Waits for the games that a configuration names, without sampling and at next to no "
		       "cost; records "
		       "each that appears for a time (its window), and waits again. How often a day is "
		       "bounded. A change of "
		       "the file counts at once; one that is wrong is refused with its line, and what was "
		       "read before "
		       "stays. Needs root. Ends with SIGTERM or Ctrl-C.\n\n"
		       "CONFIG is an INI file, by default " DEFAULT_CONFIG ":\n\n"
		       "    [arm]\n    output = /var/lib/frameperf/sessions\n\n"
		       "    [target mygame]\n    name = MyGame\n    window = 30s\n    quota = 20\n    "
		       "trigger = frame>50ms\n\n"
		       "A target has a name (of the process or its program file) or an exe (the program "
		       "file's whole path), or "
		       "both; a window (30s), a quota of sessions (20) and a quota-size (1G) a day, an "
		       "output directory of its "
		       "own, and every option of `frameperf record` as a key: level, trigger, frequency, "
		       "overhead, label, … "
		       "Where a trigger is given, the last seconds are kept in memory and only what triggers "
		       "is written.",
	.examples = "frameperf arm /etc/frameperf/arm.conf\nframeperf arm --check arm.conf\nframeperf arm "
		    "--status",
	.options = arm_options,
	.option_count = sizeof(arm_options) / sizeof(arm_options[0]),
	.operands_max = 1,
	.defaults = &(const struct arm_config){0},
	.config_size = sizeof(struct arm_config),
	.run = arm_run,
};
