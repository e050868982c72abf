#include "help.h"

#include "output/paint.h"
#include "output/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTION_COLUMN 30

static const char overview[] = "frameperf records a game as it runs and says which frames were slow, and "
			       "why: the function that did more "
			       "work, the lock and who held it, the file read, the page fault, the task that "
			       "took the core, or the clock "
			       "that was slowed down. Nothing in the game has to be changed.";

struct exit_status {
	int status;
	const char *meaning;
};

static const struct exit_status exit_statuses[] = {
	{FPERF_EXIT_OK, "done"},
	{FPERF_EXIT_FAILED, "it failed; a message says what, where and what to do"},
	{FPERF_EXIT_USAGE, "wrong usage"},
	{FPERF_EXIT_GATE, "a gate did not hold (diff, baseline check)"},
	{FPERF_EXIT_DAMAGED, "the input is damaged; what could be read was shown"},
};

#define EXIT_STATUSES (sizeof(exit_statuses) / sizeof(exit_statuses[0]))

const char *fperf_help__synopsis(const struct fperf_command *command)
{
	static const char *const forms[2][2] = {{"[OPTION…]", "[OPTION…] FILE"},
						{"[OPTION…] [-- COMMAND…]", "[OPTION…] -- COMMAND…"}};

	if (!command->command_line && command->operands_max && !command->operands_min)
		return "[OPTION…] [COMMAND]";
	return forms[command->command_line][command->operands_min > 0];
}

static struct fperf_paint paint_for(FILE *stream)
{
	int fd = fileno(stream);

	return (struct fperf_paint){
		.stream = stream,
		.width = fperf_console__width(fd) > 100 ? 100 : fperf_console__width(fd),
		.colour = fperf_console__colour(fd),
	};
}

/* Calls back for each paragraph of a description. */
static void each_paragraph(const char *text, void (*visit)(void *context, const char *paragraph),
			   void *context)
{
	while (*text) {
		const char *end = strstr(text, "\n\n");
		size_t size = end ? (size_t)(end - text) : strlen(text);
		char *paragraph = strndup(text, size);

		if (paragraph)
			visit(context, paragraph);
		free(paragraph);
		text += size + (end ? 2 : 0);
	}
}

static void show_paragraph(void *context, const char *paragraph)
{
	const struct fperf_paint *paint = context;

	fputs("\n", paint->stream);
	fperf_paint__paragraph(paint, FPERF_STYLE_PLAIN, 0, 0, paragraph);
}

static void show_option(const struct fperf_paint *paint, const struct fperf_option *option)
{
	char form[128];
	int used;

	if (option->letter)
		used = snprintf(form, sizeof(form), "  -%c, --%s%s%s", option->letter, option->name,
				option->value ? " " : "", option->value ? option->value : "");
	else
		used = snprintf(form, sizeof(form), "      --%s%s%s", option->name, option->value ? " " : "",
				option->value ? option->value : "");
	used = (int)fperf_utf8__columns(form, (size_t)used);
	fputs(form, paint->stream);
	if (used + 2 > OPTION_COLUMN) {
		fputc('\n', paint->stream);
		used = 0;
	}
	fprintf(paint->stream, "%*s", OPTION_COLUMN - used, "");
	fperf_paint__paragraph(paint, FPERF_STYLE_PLAIN, OPTION_COLUMN, OPTION_COLUMN, option->help);
}

static void show_lines(FILE *stream, const char *lines)
{
	while (*lines) {
		size_t size = strcspn(lines, "\n");

		fprintf(stream, "  %.*s\n", (int)size, lines);
		lines += size + (lines[size] ? 1 : 0);
	}
}

void fperf_help__command(const struct fperf_command *command, FILE *stream)
{
	struct fperf_paint paint = paint_for(stream);

	fprintf(stream, "usage: frameperf %s %s\n", command->name, fperf_help__synopsis(command));
	each_paragraph(command->description, show_paragraph, &paint);
	fperf_paint__heading(&paint, "Options", "");
	for (size_t i = 0; i < command->option_count; i++)
		show_option(&paint, &command->options[i]);
	for (size_t i = 0; i < FPERF_COMMON_OPTIONS; i++)
		show_option(&paint, &fperf_common_options[i]);
	if (command->examples) {
		fperf_paint__heading(&paint, "Examples", "");
		show_lines(stream, command->examples);
	}
}

void fperf_help__overview(FILE *stream)
{
	struct fperf_paint paint = paint_for(stream);

	fprintf(stream, "usage: frameperf COMMAND [OPTION…]\n\n");
	fperf_paint__paragraph(&paint, FPERF_STYLE_PLAIN, 0, 0, overview);
	fperf_paint__heading(&paint, "Commands", "");
	for (size_t i = 0; fperf_commands[i]; i++) {
		fprintf(stream, "  %-9s ", fperf_commands[i]->name);
		fperf_paint__paragraph(&paint, FPERF_STYLE_PLAIN, 12, 12, fperf_commands[i]->summary);
	}
	fputc('\n', stream);
	fperf_paint__paragraph(&paint, FPERF_STYLE_PLAIN, 0, 0,
			       "`frameperf COMMAND --help` or `man frameperf-COMMAND` says more about one.");
	fperf_paint__heading(&paint, "Exit status", "");
	for (size_t i = 0; i < EXIT_STATUSES; i++)
		fprintf(stream, "  %d  %s\n", exit_statuses[i].status, exit_statuses[i].meaning);
}

/* Text for roff: backslashes, dashes, and lines that would be taken for requests. */
static void roff(FILE *stream, const char *text)
{
	bool line_start = true;

	for (; *text; text++) {
		if (line_start && (*text == '.' || *text == '\''))
			fputs("\\&", stream);
		if (*text == '\\')
			fputs("\\e", stream);
		else if (*text == '-')
			fputs("\\-", stream);
		else
			fputc(*text, stream);
		line_start = *text == '\n';
	}
}

static void man_paragraph(void *context, const char *paragraph)
{
	FILE *stream = context;

	fputs(".PP\n", stream);
	roff(stream, paragraph);
	fputc('\n', stream);
}

static void man_option(FILE *stream, const struct fperf_option *option)
{
	fputs(".TP\n\\fB", stream);
	if (option->letter)
		fprintf(stream, "\\-%c\\fR, \\fB", option->letter);
	fputs("\\-\\-", stream);
	roff(stream, option->name);
	fputs("\\fR", stream);
	if (option->value) {
		fputs(" \\fI", stream);
		roff(stream, option->value);
		fputs("\\fR", stream);
	}
	fputc('\n', stream);
	roff(stream, option->help);
	fputc('\n', stream);
}

static void man_head(FILE *stream, const char *name, const char *summary, const char *synopsis)
{
	fprintf(stream, ".TH \"%s\" 1 \"\" \"frameperf %s\" \"frameperf\"\n.SH NAME\n", name, FPERF_VERSION);
	roff(stream, name);
	fputs(" \\- ", stream);
	roff(stream, summary);
	fputs("\n.SH SYNOPSIS\n", stream);
	fputs(synopsis, stream);
	fputs("\n.SH DESCRIPTION\n", stream);
}

static void man_exit_status(FILE *stream)
{
	fputs(".SH EXIT STATUS\n", stream);
	for (size_t i = 0; i < EXIT_STATUSES; i++) {
		fprintf(stream, ".TP\n.B %d\n", exit_statuses[i].status);
		roff(stream, exit_statuses[i].meaning);
		fputc('\n', stream);
	}
}

static void man_see_also(FILE *stream, const struct fperf_command *self)
{
	fputs(".SH SEE ALSO\n", stream);
	if (self)
		fputs("\\fBframeperf\\fR(1)", stream);
	for (size_t i = 0; fperf_commands[i]; i++) {
		if (fperf_commands[i] != self)
			fprintf(stream, "%s\\fBframeperf\\-%s\\fR(1)", self || i ? ",\n" : "",
				fperf_commands[i]->name);
	}
	fputc('\n', stream);
}

static void man_command(const struct fperf_command *command, FILE *stream)
{
	char name[64], synopsis[160];

	snprintf(name, sizeof(name), "frameperf-%s", command->name);
	snprintf(synopsis, sizeof(synopsis), ".B frameperf %s\n%s", command->name,
		 fperf_help__synopsis(command));
	man_head(stream, name, command->summary, synopsis);
	each_paragraph(command->description, man_paragraph, stream);
	fputs(".SH OPTIONS\n", stream);
	for (size_t i = 0; i < command->option_count; i++)
		man_option(stream, &command->options[i]);
	for (size_t i = 0; i < FPERF_COMMON_OPTIONS; i++)
		man_option(stream, &fperf_common_options[i]);
	if (command->examples) {
		fputs(".SH EXAMPLES\n.nf\n", stream);
		roff(stream, command->examples);
		fputs("\n.fi\n", stream);
	}
	man_exit_status(stream);
	man_see_also(stream, command);
}

void fperf_help__man(const struct fperf_command *command, FILE *stream)
{
	if (command) {
		man_command(command, stream);
		return;
	}
	man_head(stream, "frameperf", "says which frames of a game were slow, and why",
		 ".B frameperf\nCOMMAND [OPTION…]");
	man_paragraph(stream, overview);
	fputs(".SH COMMANDS\n", stream);
	for (size_t i = 0; fperf_commands[i]; i++) {
		fprintf(stream, ".TP\n\\fBframeperf\\-%s\\fR(1)\n", fperf_commands[i]->name);
		roff(stream, fperf_commands[i]->summary);
		fputc('\n', stream);
	}
	man_exit_status(stream);
	man_see_also(stream, NULL);
}
