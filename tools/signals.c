#include "signals.h"

#include "base/clock.h"

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* One end is often asked for by two signals, such as SIGTERM and SIGHUP from a service manager. */
#define TOGETHER_NS (200 * FPERF_NS_PER_MS)

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

#define ENDING (sizeof(ending) / sizeof(ending[0]))

static struct sigaction before[ENDING], pipe_before;
static volatile sig_atomic_t asked, triggers;
static volatile uint64_t asked_ns; /* written and read by the handlers only, which exclude each other */

static void on_signal(int number)
{
	uint64_t now = fperf_clock__now_ns();

	if (!asked) {
		asked = number;
		asked_ns = now;
	} else if (now - asked_ns > TOGETHER_NS) {
		_exit(128 + number);
	}
}

static void on_trigger(int number)
{
	(void)number;
	triggers++;
}

void fperf_signals__count_triggers(void)
{
	struct sigaction action = {.sa_handler = on_trigger, .sa_flags = SA_RESTART};

	sigemptyset(&action.sa_mask);
	sigaction(SIGUSR2, &action, NULL);
}

unsigned int fperf_signals__triggers(void)
{
	return (unsigned int)triggers;
}

void fperf_signals__install(void)
{
	struct sigaction action = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < ENDING; i++)
		sigaddset(&action.sa_mask, ending[i]);
	for (size_t i = 0; i < ENDING; i++)
		sigaction(ending[i], &action, &before[i]);
	sigaction(SIGPIPE, &ignore, &pipe_before);
}

void fperf_signals__restore(void)
{
	for (size_t i = 0; i < ENDING; i++)
		sigaction(ending[i], &before[i], NULL);
	sigaction(SIGPIPE, &pipe_before, NULL);
}

int fperf_signals__asked(void)
{
	return asked;
}
