/* frameperf doctor */
#include "capture/probe.h"
#include "options.h"

#include <jansson.h>

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define NAME_WIDTH 32

struct doctor_config {
	bool json;
};

static int set_json(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct doctor_config *)config)->json = true;
	return 0;
}

static void show_text(const struct fperf_probe_result *result)
{
	printf("%-*s %-8s %s\n", NAME_WIDTH, result->name, fperf_probe__state_name(result->state),
	       result->detail);
	if (result->state == FPERF_PROBE_WORKS)
		return;
	printf("%*s   lost: %s\n", NAME_WIDTH, "", result->lost);
	printf("%*s   what to do: %s\n", NAME_WIDTH, "", result->advice);
}

static json_t *to_json(const struct fperf_probe_result *result)
{
	bool works = result->state == FPERF_PROBE_WORKS;

	return json_pack("{s:s, s:s, s:b, s:s, s:s?, s:s?}", "name", result->name, "state",
			 fperf_probe__state_name(result->state), "required", result->required, "detail",
			 result->detail, "lost", works ? NULL : result->lost, "advice",
			 works ? NULL : result->advice);
}

/* One object: kernel, whether recording is possible, and a list of capabilities. */
static int show_json(json_t *list, bool possible)
{
	struct utsname host;
	json_t *root;
	int failed;

	uname(&host);
	root = json_pack("{s:s, s:s, s:s, s:b, s:o}", "schema", "frameperf.doctor/1", "kernel", host.release,
			 "arch", host.machine, "possible", possible, "capabilities", list);
	failed = !root || json_dumpf(root, stdout, JSON_INDENT(2)) || putchar('\n') == EOF;
	json_decref(root);
	return failed;
}

static int doctor_run(const struct fperf_invocation *invocation)
{
	const struct doctor_config *config = invocation->config;
	json_t *list = json_array();
	bool possible = true, failed = false;
	struct utsname host;

	uname(&host);
	if (!config->json)
		printf("Linux %s, %s\n\n", host.release, host.machine);
	for (size_t i = 0; i < fperf_probe__count(); i++) {
		struct fperf_probe_result result;

		fperf_probe__run(i, &result);
		if (result.required && result.state == FPERF_PROBE_MISSING)
			possible = false;
		if (config->json)
			failed = json_array_append_new(list, to_json(&result)) || failed;
		else
			show_text(&result);
	}
	if (config->json) {
		failed = show_json(list, possible) || failed;
	} else {
		json_decref(list);
		printf("\n%s\n", possible ? "Recording is possible here."
					  : "Recording is not possible here: see what is missing above.");
	}
	if (failed || ferror(stdout)) {
		fperf_console__error(invocation->console, "the result could not be written");
		return FPERF_EXIT_FAILED;
	}
	return possible ? FPERF_EXIT_OK : FPERF_EXIT_FAILED;
}

static const struct fperf_option doctor_options[] = {
	{0, "json", NULL, "Write one JSON object instead of text.", set_json},
};

const struct fperf_command fperf_command_doctor = {
	.name = "doctor",
	.summary = "say what this device and kernel allow",
	.description =
		"Tries each capability that recording uses, by really using it, and says for each one that "
		"is "
		"missing what is lost without it and what to do. Exit status 0: recording is possible; "
		"1: it is not.",
	.examples = "sudo frameperf doctor",
	.options = doctor_options,
	.option_count = sizeof(doctor_options) / sizeof(doctor_options[0]),
	.defaults = &(const struct doctor_config){0},
	.config_size = sizeof(struct doctor_config),
	.run = doctor_run,
};
