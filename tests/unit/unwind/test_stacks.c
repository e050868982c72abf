/* Whole stacks of live processes against libdw's, instruction by instruction. */
#include "shapes.h"
#include "stop_compare.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)

static void totals_check(const char *what, const struct stop_totals *totals)
{
	if (getenv("VERBOSE"))
		fprintf(stderr,
			"%s: %llu stops, %.1f stack frames each: %llu equal, %llu shorter (%s), %llu beyond "
			"libdw\n",
			what, (unsigned long long)totals->stops,
			totals->stops ? (double)totals->frames / (double)totals->stops : 0,
			(unsigned long long)totals->equal, (unsigned long long)totals->shorter,
			totals->first_short, (unsigned long long)totals->libdw_short);
	cr_expect_gt(totals->equal * 2, totals->stops, "%s: only %llu of %llu stacks whole", what,
		     (unsigned long long)totals->equal, (unsigned long long)totals->stops);
	cr_expect_eq(totals->wrong, 0, "%s: %llu of %llu stacks wrong (ours, libdw's), first:\n%s", what,
		     (unsigned long long)totals->wrong, (unsigned long long)totals->stops,
		     totals->first_wrong);
	cr_expect_leq(totals->shorter * 100, totals->stops, "%s: %llu of %llu stacks too short, first: %s",
		      what, (unsigned long long)totals->shorter, (unsigned long long)totals->stops,
		      totals->first_short);
}

Test(unwind, stacks_of_hard_shapes_equal_libdw, .timeout = 120)
{
	struct stop_totals totals = {0};
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		shapes_once(); /* binds the functions of libc */
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		for (;;)
			shapes_once();
	}
	cr_assert_gt(pid, 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSTOPPED(status));
	stop_compare(pid, 12000, 3, 300, &totals);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	totals_check("hard shapes", &totals);
}

static void program_run(char *command)
{
	char *arguments[32], *rest = NULL;
	int count = 0, null = open("/dev/null", O_RDWR);

	for (char *word = strtok_r(command, " ", &rest); word && count < 31;
	     word = strtok_r(NULL, " ", &rest))
		arguments[count++] = word;
	arguments[count] = NULL;
	dup2(null, 1);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	execv(arguments[0], arguments);
	_exit(127);
}

/* Set FPERF_UNWIND_PROGRAMS to commands, separated by ';', to try other programs. Their start is skipped: it
 * is the loader's, before libraries are there. */
Test(unwind, stacks_of_given_programs_equal_libdw, .timeout = 600)
{
	const char *given = getenv("FPERF_UNWIND_PROGRAMS");
	char *commands = strdup(given ? given : ""), *rest = NULL;

	for (char *command = strtok_r(commands, ";", &rest); command; command = strtok_r(NULL, ";", &rest)) {
		struct stop_totals totals = {0};
		char *name = strdup(command);
		pid_t pid = fork();
		int status;

		if (pid == 0)
			program_run(command);
		waitpid(pid, &status, 0);
		ptrace(PTRACE_CONT, pid, NULL, NULL);
		usleep(200000);
		kill(pid, SIGSTOP);
		while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) != SIGSTOP)
			ptrace(PTRACE_CONT, pid, NULL, WSTOPSIG(status));
		if (WIFSTOPPED(status))
			stop_compare(pid, 6000, 2, 300, &totals);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		totals_check(name, &totals);
		free(name);
	}
	free(commands);
}

#endif
