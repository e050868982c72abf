/* Calls caller_scope_begin, caller_mark(1, 2, 3) and caller_scope_end COUNT times, and prints how often. Two
 * functions share the name caller_local. usage: caller COUNT */
#include "spin.h"

#include <stdio.h>
#include <stdlib.h>

void caller_scope_begin(void);
void caller_scope_end(void);
void caller_mark(uint64_t first, uint64_t second, uint64_t third);

NOINLINE void caller_scope_begin(void)
{
	__asm__ volatile("");
}

NOINLINE void caller_scope_end(void)
{
	__asm__ volatile("");
}

NOINLINE void caller_mark(uint64_t first, uint64_t second, uint64_t third)
{
	__asm__ volatile("" : : "r"(first), "r"(second), "r"(third));
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 100;

	for (int i = 0; i < count; i++) {
		caller_scope_begin();
		spin_ns(100000);
		caller_mark(1, 2, 3);
		caller_scope_end();
	}
	printf("%d\n", count);
	return 0;
}
