/* Help texts and man pages, made from the commands' tables. */
#ifndef FPERF_TOOLS_HELP_H
#define FPERF_TOOLS_HELP_H

#include "options.h"

#include <stdio.h>

#define FPERF_COMMON_OPTIONS 3
#define FPERF_VERSION	     "0.1"

extern const struct fperf_option fperf_common_options[FPERF_COMMON_OPTIONS];

/* "[OPTION…] FILE"; for the usage line. */
const char *fperf_help__synopsis(const struct fperf_command *command);

void fperf_help__overview(FILE *stream);
void fperf_help__command(const struct fperf_command *command, FILE *stream);

/* Man pages in section 1, as roff with the man macros. NULL: the page of frameperf itself. */
void fperf_help__man(const struct fperf_command *command, FILE *stream);

#endif
