#include "options.h"

#include "help.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 64

/* Understood by every command; not part of its config. */
struct common {
	bool quiet, verbose, help;
};

static int set_quiet(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct common *)config)->quiet = true;
	return 0;
}

static int set_verbose(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct common *)config)->verbose = true;
	return 0;
}

static int set_help(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct common *)config)->help = true;
	return 0;
}

const struct fperf_option fperf_common_options[FPERF_COMMON_OPTIONS] = {
	{'q', "quiet", NULL, "Say nothing on standard error but errors.", set_quiet},
	{'v', "verbose", NULL, "Say more.", set_verbose},
	{'h', "help", NULL, "Show this help and end.", set_help},
};

struct parser {
	const struct fperf_command *command;
	struct common common;
	void *config;
	char **operands;
	size_t operand_count;
	struct fperf_error *err;
};

static int distance(const char *a, const char *b)
{
	size_t a_size = strlen(a), b_size = strlen(b);
	int row[NAMES_MAX + 1];

	if (a_size > NAMES_MAX || b_size > NAMES_MAX)
		return NAMES_MAX;
	for (size_t j = 0; j <= b_size; j++)
		row[j] = (int)j;
	for (size_t i = 1; i <= a_size; i++) {
		int diagonal = row[0];

		row[0] = (int)i;
		for (size_t j = 1; j <= b_size; j++) {
			int change = diagonal + (a[i - 1] != b[j - 1]), best = row[j] + 1;

			diagonal = row[j];
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = change < best ? change : best;
		}
	}
	return row[b_size];
}

const char *fperf_nearest(const char *typed, const char *const *names, size_t count)
{
	int best = (int)strlen(typed) / 3 + 2;
	const char *nearest = NULL;

	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(typed);
		bool begins = size >= 2 && !strncmp(names[i], typed, size);
		int apart = begins ? 1 : distance(typed, names[i]);

		if (apart < best) {
			best = apart;
			nearest = names[i];
		}
	}
	return nearest;
}

/* The i-th of all options a command takes: its own, then the common ones. */
static const struct fperf_option *option_at(const struct fperf_command *command, size_t index, bool *common)
{
	*common = index >= command->option_count;
	if (!*common)
		return &command->options[index];
	index -= command->option_count;
	return index < FPERF_COMMON_OPTIONS ? &fperf_common_options[index] : NULL;
}

static int unknown_option(struct parser *parser, const char *typed)
{
	const char *names[NAMES_MAX], *nearest;
	const struct fperf_option *option;
	size_t count = 0;
	bool common;

	for (size_t i = 0; count < NAMES_MAX && (option = option_at(parser->command, i, &common)); i++)
		names[count++] = option->name;
	nearest = typed[1] == '-' ? fperf_nearest(typed + 2, names, count) : NULL;
	return fperf_error__set(parser->err, -EINVAL, "there is no option %s%s%s%s", typed,
				nearest ? "; did you mean --" : "", nearest ? nearest : "",
				nearest ? "?" : "");
}

static int apply(struct parser *parser, const struct fperf_option *option, bool common, const char *argument)
{
	int ret = option->set(common ? (void *)&parser->common : parser->config, argument, parser->err);

	if (ret < 0)
		return fperf_error__wrap(parser->err, "--%s", option->name);
	return 0;
}

/* The words after the first of an option that takes many. */
static int apply_rest(struct parser *parser, const struct fperf_option *option, char **argv, int argc,
		      int *at)
{
	size_t size = option->value ? strlen(option->value) : 0, dots = strlen("…");
	bool many = size > dots && !strcmp(option->value + size - dots, "…");
	int ret = 0;

	while (many && !ret && *at < argc && argv[*at][0] != '-')
		ret = apply(parser, option, false, argv[(*at)++]);
	return ret;
}

/* "--name", "--name=value", "--name value". Advances *at past what was used. */
static int parse_long(struct parser *parser, char **argv, int argc, int *at)
{
	const char *word = argv[*at] + 2, *equals = strchr(word, '=');
	size_t size = equals ? (size_t)(equals - word) : strlen(word);
	const struct fperf_option *option;
	const char *argument = equals ? equals + 1 : NULL;
	bool common;
	int ret;

	for (size_t i = 0; (option = option_at(parser->command, i, &common)); i++) {
		if (strlen(option->name) == size && !memcmp(option->name, word, size))
			break;
	}
	if (!option)
		return unknown_option(parser, argv[*at]);
	++*at;
	if (!option->value && argument)
		return fperf_error__set(parser->err, -EINVAL, "--%s takes no value", option->name);
	if (option->value && !argument) {
		if (*at >= argc)
			return fperf_error__set(parser->err, -EINVAL, "--%s needs a value: --%s %s",
						option->name, option->name, option->value);
		argument = argv[(*at)++];
	}
	ret = apply(parser, option, common, argument);
	return ret ? ret : apply_rest(parser, option, argv, argc, at);
}

/* "-a", "-abc", "-dVALUE", "-d VALUE". */
static int parse_short(struct parser *parser, char **argv, int argc, int *at)
{
	const char *letter = argv[(*at)++] + 1;

	for (; *letter; letter++) {
		const struct fperf_option *option;
		const char *argument = NULL;
		bool common;
		int ret;

		for (size_t i = 0; (option = option_at(parser->command, i, &common)); i++) {
			if (option->letter == *letter)
				break;
		}
		if (!option)
			return unknown_option(parser, (char[]){'-', *letter, '\0'});
		if (option->value) {
			argument = letter[1] ? letter + 1 : *at < argc ? argv[(*at)++] : NULL;
			if (!argument)
				return fperf_error__set(parser->err, -EINVAL, "-%c needs a value: -%c %s",
							*letter, *letter, option->value);
		}
		ret = apply(parser, option, common, argument);
		if (ret < 0)
			return ret;
		if (argument)
			return apply_rest(parser, option, argv, argc, at);
	}
	return 0;
}

/* Options and operands may come in any order; after "--" everything is an operand. Operands are moved to the
 * front of argv. */
static int parse(struct parser *parser, int argc, char **argv)
{
	const struct fperf_command *command = parser->command;
	int at = 0, ret;

	parser->operands = argv;
	while (at < argc) {
		char *word = argv[at];

		if (!strcmp(word, "--")) {
			for (at++; at < argc; at++)
				argv[parser->operand_count++] = argv[at];
			break;
		}
		if (word[0] == '-' && word[1]) {
			ret = word[1] == '-' ? parse_long(parser, argv, argc, &at)
					     : parse_short(parser, argv, argc, &at);
			if (ret < 0)
				return ret;
			continue;
		}
		if (command->command_line)
			return fperf_error__set(parser->err, -EINVAL,
						"a command to run comes after `--`: frameperf %s … -- %s",
						command->name, word);
		argv[parser->operand_count++] = word;
		at++;
	}
	argv[parser->operand_count] = NULL;
	if (parser->common.help)
		return 0;
	if (parser->operand_count < command->operands_min)
		return fperf_error__set(parser->err, -EINVAL, "%s is missing", command->operands);
	if (parser->operand_count > command->operands_max)
		return fperf_error__set(parser->err, -EINVAL, "'%s' is one too many: it takes %s",
					argv[command->operands_max],
					command->operands_max ? command->operands : "no operands");
	return 0;
}

int fperf_command__main(const struct fperf_command *command, int argc, char **argv)
{
	struct fperf_error err = {0};
	struct parser parser = {.command = command, .err = &err};
	struct fperf_console console = {0};
	char name[64];
	int status;

	snprintf(name, sizeof(name), "frameperf %s", command->name);
	console.command = name;
	parser.config = malloc(command->config_size);
	if (!parser.config) {
		fperf_console__error(&console, "out of memory");
		return FPERF_EXIT_FAILED;
	}
	memcpy(parser.config, command->defaults, command->config_size);
	if (parse(&parser, argc, argv) < 0) {
		fperf_console__error(&console, "%s", err.text);
		fprintf(stderr, "usage: frameperf %s %s (frameperf %s --help says more)\n", command->name,
			fperf_help__synopsis(command), command->name);
		status = err.code == -ENOMEM ? FPERF_EXIT_FAILED : FPERF_EXIT_USAGE;
	} else if (parser.common.help) {
		fperf_help__command(command, stdout);
		status = FPERF_EXIT_OK;
	} else {
		console.quiet = parser.common.quiet;
		console.verbose = parser.common.verbose;
		status = command->run(&(struct fperf_invocation){
			.config = parser.config,
			.operands = parser.operands,
			.operand_count = parser.operand_count,
			.console = &console,
		});
	}
	if (command->config_free)
		command->config_free(parser.config);
	free(parser.config);
	return status;
}

int fperf_value__u32(const char *text, uint32_t min, uint32_t max, uint32_t *value, struct fperf_error *err)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || number < min || number > max)
		return fperf_error__set(err, -EINVAL, "'%s' is no number from %u to %u", text, min, max);
	*value = (uint32_t)number;
	return 0;
}

static int decimal(const char *text, const char *unit, double scale, uint64_t *ns, struct fperf_error *err)
{
	double number;
	char *end;

	number = strtod(text, &end);
	if (end == text || *end || strspn(text, "0123456789.") != strlen(text) || !isfinite(number) ||
	    number * scale < 1 || number * scale > 9e18)
		return fperf_error__set(err, -EINVAL, "'%s' is no number of %s above 0", text, unit);
	*ns = (uint64_t)(number * scale + 0.5);
	return 0;
}

int fperf_value__seconds(const char *text, uint64_t *ns, struct fperf_error *err)
{
	return decimal(text, "seconds", 1e9, ns, err);
}

int fperf_value__milliseconds(const char *text, uint64_t *ns, struct fperf_error *err)
{
	return decimal(text, "milliseconds", 1e6, ns, err);
}
