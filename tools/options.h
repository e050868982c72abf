/* One table per command: parsing, `--help`, `frameperf help` and the man page all come from it. */
#ifndef FPERF_TOOLS_OPTIONS_H
#define FPERF_TOOLS_OPTIONS_H

#include "base/error.h"
#include "console.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fperf_exit {
	FPERF_EXIT_OK = 0,
	FPERF_EXIT_FAILED = 1,
	FPERF_EXIT_USAGE = 2,
	FPERF_EXIT_GATE = 3,
	FPERF_EXIT_DAMAGED = 4,
};

struct fperf_option {
	char letter;	   /* 0: long form only */
	const char *name;  /* long form without the dashes */
	const char *value; /* what its argument is called in help; NULL: it takes none. "FILE…": it takes all
			    * words up to the next option, `set` for each */
	const char *help;
	/* Takes the argument (NULL when there is none) into the command's config. On failure `err` says what
	 * is wrong with the argument; the caller adds which option it was. */
	int (*set)(void *config, const char *argument, struct fperf_error *err);
};

/* What a command gets to work with. Operands point into argv. */
struct fperf_invocation {
	const void *config;
	char *const *operands; /* NULL-terminated */
	size_t operand_count;
	struct fperf_console *console;
};

struct fperf_command {
	const char *name;
	const char *summary;	 /* one line, for lists and the man page's title */
	const char *operands;	 /* how they are written in the usage line: "FILE" */
	const char *description; /* paragraphs, separated by an empty line */
	const char *examples;	 /* lines, each a command; NULL: none */
	const struct fperf_option *options;
	size_t option_count;
	size_t operands_min, operands_max;
	bool command_line;    /* operands are a command of their own: they come after `--` only */
	const void *defaults; /* the config before options are read */
	size_t config_size;
	void (*config_free)(void *config);		       /* may be NULL */
	int (*run)(const struct fperf_invocation *invocation); /* returns the exit status */
};

/* All commands, in the order of the help; ends with a NULL. */
extern const struct fperf_command *const fperf_commands[];

const struct fperf_command *fperf_command__find(const char *name);

/* Parses argv (without the program's and the command's name), runs the command, returns the exit status. */
int fperf_command__main(const struct fperf_command *command, int argc, char **argv);

/* The nearest of `count` names, NULL when none is near. */
const char *fperf_nearest(const char *typed, const char *const *names, size_t count);

/* Values. Each fails with a text that says what was expected. */
int fperf_value__u32(const char *text, uint32_t min, uint32_t max, uint32_t *value, struct fperf_error *err);
int fperf_value__seconds(const char *text, uint64_t *ns, struct fperf_error *err); /* "1.5", more than 0 */
int fperf_value__milliseconds(const char *text, uint64_t *ns,
			      struct fperf_error *err); /* "16.7", more than 0 */

#endif
