/* Signals that end a recording. The first asks for an orderly end, a later one ends the program at once. */
#ifndef FPERF_TOOLS_SIGNALS_H
#define FPERF_TOOLS_SIGNALS_H

#include <stdbool.h>
#include <signal.h>

/* For SIGINT, SIGTERM and SIGHUP, also where they were ignored; SIGPIPE is ignored. What they did before is
 * kept for fperf_signals__restore(), which a child calls before its exec. */
void fperf_signals__install(void);
void fperf_signals__restore(void);

/* SIGUSR2 is counted from now on, instead of ending the program; how often it came. */
void fperf_signals__count_triggers(void);
unsigned int fperf_signals__triggers(void);

/* The signal that asked for the end, 0 while none did. */
int fperf_signals__asked(void);

#endif
