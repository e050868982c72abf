/* frameperf trigger */
#include "control.h"
#include "options.h"
#include "target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MOST_RECORDERS 64

struct trigger_config {
	struct fperf_pids pids;
	bool all;
};

static int set_pid(void *config, const char *argument, struct fperf_error *err)
{
	return fperf_pids__parse(&((struct trigger_config *)config)->pids, argument, err);
}

static int set_all(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct trigger_config *)config)->all = true;
	return 0;
}

static void config_free(void *config)
{
	fperf_pids__free(&((struct trigger_config *)config)->pids);
}

static bool is_meant(const struct trigger_config *config, const struct fperf_recorder *recorder)
{
	bool meant = config->all;

	for (size_t i = 0; !meant && i < config->pids.count; i++)
		meant = config->pids.pids[i] == recorder->pid || config->pids.pids[i] == recorder->target;
	return meant;
}

static int trigger_run(const struct fperf_invocation *invocation)
{
	const struct trigger_config *config = invocation->config;
	struct fperf_recorder recorders[MOST_RECORDERS];
	char answer[FPERF_CONTROL_ANSWER];
	size_t count = 0, meant = 0, began = 0;
	struct fperf_error err;

	if (!config->all == !config->pids.count) {
		fperf_console__error(invocation->console, "which recorder? Say -p PID or --all");
		return FPERF_EXIT_USAGE;
	}
	if (fperf_recorders__find(recorders, MOST_RECORDERS, &count, &err)) {
		fperf_console__error(invocation->console, "%s", err.text);
		return FPERF_EXIT_FAILED;
	}
	for (size_t i = 0; i < count; i++) {
		struct fperf_recorder *recorder = &recorders[i];

		if (is_meant(config, recorder)) {
			meant++;
			if (fperf_recorder__trigger(recorder, answer, &err)) {
				fperf_console__error(invocation->console, "%s", err.text);
			} else {
				printf("recorder %d (%s, pid %d): %s\n", (int)recorder->pid, recorder->name,
				       (int)recorder->target, answer);
				began += !strncmp(answer, "session ", strlen("session "));
			}
		}
		fperf_recorder__close(recorder);
	}
	if (!meant)
		fperf_console__error(invocation->console,
				     config->all
					     ? "no recorder lies in wait that you may reach: start one with "
					       "frameperf record --flight"
					     : "no recorder that lies in wait has this pid, or records it");
	return meant && began == meant ? FPERF_EXIT_OK : FPERF_EXIT_FAILED;
}

static const struct fperf_option options[] = {
	{'p', "pid", "PID[,PID…]", "The recorder with this pid, or that records the process with this pid.",
	 set_pid},
	{0, "all", NULL, "All recorders that lie in wait.", set_all},
};

const struct fperf_command fperf_command_trigger = {
	.name = "trigger",
	.summary = "make a recorder that lies in wait write its session",
	.operands = NULL,
	.description =
		"Asks recorders that were started with frameperf record --flight to write what they have "
		"in memory, as if one of their triggers had fired; sending them SIGUSR2 does the same. "
		"Root may ask any recorder, users those that they have started by sudo. Exit status 0: "
		"all of them will write; 1: there is none, or one refused because it cools down or has "
		"written all the sessions that it may.",
	.examples = "frameperf trigger --all\nframeperf trigger -p $(pidof MyGame)",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.defaults = &(const struct trigger_config){.all = false},
	.config_size = sizeof(struct trigger_config),
	.config_free = config_free,
	.run = trigger_run,
};
