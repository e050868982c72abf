/* frameperf: the command table. */
#include "help.h"
#include "options.h"
#include "vulkan_present.h"

#include "capture/vulkan_ask.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

extern const struct fperf_command fperf_command_arm, fperf_command_record, fperf_command_report,
	fperf_command_diff, fperf_command_baseline, fperf_command_export, fperf_command_info,
	fperf_command_check, fperf_command_doctor, fperf_command_trigger, fperf_command_help;

const struct fperf_command *const fperf_commands[] = {
	&fperf_command_record,	&fperf_command_report, &fperf_command_diff,  &fperf_command_baseline,
	&fperf_command_export,	&fperf_command_info,   &fperf_command_check, &fperf_command_doctor,
	&fperf_command_trigger, &fperf_command_arm,    &fperf_command_help,  NULL,
};

struct help_config {
	bool man, names;
};

static int set_man(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct help_config *)config)->man = true;
	return 0;
}

static int set_names(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct help_config *)config)->names = true;
	return 0;
}

const struct fperf_command *fperf_command__find(const char *name)
{
	for (size_t i = 0; fperf_commands[i]; i++) {
		if (!strcmp(fperf_commands[i]->name, name))
			return fperf_commands[i];
	}
	return NULL;
}

static int unknown_command(const char *name)
{
	const char *names[16], *nearest;
	size_t count = 0;

	while (fperf_commands[count] && count < sizeof(names) / sizeof(names[0])) {
		names[count] = fperf_commands[count]->name;
		count++;
	}
	nearest = fperf_nearest(name, names, count);
	fprintf(stderr, "frameperf: there is no command '%s'%s%s%s (frameperf help lists them)\n", name,
		nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
	return FPERF_EXIT_USAGE;
}

static int help_run(const struct fperf_invocation *invocation)
{
	const struct help_config *config = invocation->config;
	const struct fperf_command *command = NULL;

	if (invocation->operand_count) {
		command = fperf_command__find(invocation->operands[0]);
		if (!command)
			return unknown_command(invocation->operands[0]);
	}
	if (config->names) {
		for (size_t i = 0; fperf_commands[i]; i++)
			puts(fperf_commands[i]->name);
	} else if (config->man) {
		fperf_help__man(command, stdout);
	} else if (command) {
		fperf_help__command(command, stdout);
	} else {
		fperf_help__overview(stdout);
	}
	return ferror(stdout) ? FPERF_EXIT_FAILED : FPERF_EXIT_OK;
}

static const struct fperf_option help_options[] = {
	{0, "man", NULL, "Write the man page in roff instead.", set_man},
	{0, "names", NULL, "Write only the commands' names, one a line.", set_names},
};

const struct fperf_command fperf_command_help = {
	.name = "help",
	.summary = "show what the commands do",
	.operands = "COMMAND",
	.description = "Shows the list of commands, or the help of one.",
	.options = help_options,
	.option_count = sizeof(help_options) / sizeof(help_options[0]),
	.operands_max = 1,
	.defaults = &(const struct help_config){0},
	.config_size = sizeof(struct help_config),
	.run = help_run,
};

int main(int argc, char **argv)
{
	const struct fperf_command *command;

	if (argc < 2) {
		fperf_help__overview(stderr);
		return FPERF_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("frameperf %s\n", FPERF_VERSION);
		return FPERF_EXIT_OK;
	}
	if (!strcmp(argv[1], FPERF_VULKAN_COMMAND))
		return fperf_vulkan_present__main(argc - 2, argv + 2);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		command = &fperf_command_help;
	else
		command = fperf_command__find(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	return fperf_command__main(command, argc - 2, argv + 2);
}
