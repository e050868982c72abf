#include "shapes.h"

#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile unsigned int sink;
static jmp_buf jump;

__attribute__((noinline)) static void work(unsigned int turns)
{
	for (unsigned int i = 0; i < turns; i++)
		sink += i * sink + 1;
}

__attribute__((noinline)) static unsigned int recurse(unsigned int depth)
{
	volatile unsigned int local[5] = {depth};

	if (!depth) {
		work(50);
		return local[0];
	}
	return recurse(depth - 1) + local[0];
}

__attribute__((noinline)) static void variable_frame(unsigned int size)
{
	volatile char *bytes = alloca(size);

	bytes[size - 1] = (char)sink;
	work(20);
	sink += (unsigned int)bytes[size - 1];
}

__attribute__((noinline)) static void large_frame(void)
{
	volatile char bytes[80000];

	bytes[0] = bytes[79999] = (char)sink;
	variable_frame(100 + sink % 64);
	sink += (unsigned int)bytes[0];
}

__attribute__((noinline)) static void huge_frame(void)
{
	volatile char bytes[700000];

	bytes[0] = bytes[699999] = (char)sink;
	work(20);
	sink += (unsigned int)bytes[0];
}

#if defined(__x86_64__)
__attribute__((noinline, force_align_arg_pointer)) static void realigned_frame(unsigned int size)
{
	volatile double lanes[4] __attribute__((aligned(64))) = {size};
	volatile char *bytes = alloca(size);

	bytes[0] = (char)lanes[1];
	recurse(3);
	sink += (unsigned int)lanes[0] + (unsigned int)bytes[0];
}
#else
static void realigned_frame(unsigned int size)
{
	variable_frame(size);
}
#endif

static int compare(const void *a, const void *b)
{
	work(1);
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static void callback_from_libc(void)
{
	int values[12];

	for (int i = 0; i < 12; i++)
		values[i] = (int)(sink * (unsigned int)(i + 7) % 101);
	qsort(values, 12, sizeof(values[0]), compare);
	sink += (unsigned int)values[0];
}

static void on_signal(int number)
{
	(void)number;
	recurse(2);
}

__attribute__((noinline)) static void signal_on_other_stack(void)
{
	static char stack[65536];
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

__attribute__((noinline, noreturn)) static void leave(void)
{
	recurse(2);
	longjmp(jump, 1);
}

/* The call of a function that never returns is its last instruction. */
__attribute__((noinline)) static void end_in_call(void)
{
	if (!setjmp(jump)) {
		work(3);
		leave();
	}
}

__attribute__((noinline)) static void many_arguments(int a, int b, int c, int d, int e, int f, int g, int h,
						     int i)
{
	char text[64];

	snprintf(text, sizeof(text), "%d %d %d %d %d %d %d %d %d", a, b, c, d, e, f, g, h, i);
	sink += (unsigned int)strtod(text, NULL);
}

void shapes_once(void)
{
	struct timespec now;
	void *block;

	recurse(30);
	variable_frame(1 + sink % 4000);
	large_frame();
	huge_frame();
	realigned_frame(1 + sink % 100);
	callback_from_libc();
	signal_on_other_stack();
	end_in_call();
	many_arguments(1, 2, 3, 4, 5, 6, 7, 8, 9);
	clock_gettime(CLOCK_MONOTONIC, &now);
	sink += (unsigned int)now.tv_nsec;
	block = malloc(1 + sink % 100000);
	if (block)
		memset(block, 1, 1 + sink % 10);
	free(block);
}
