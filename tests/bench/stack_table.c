/* Cost of interning a stack: `stack_table [STACKS]` prints ns per lookup of a 20-frame stack, when stacks
 * repeat as in a game (a few hot ones, a long tail), when all are in the second level, and while the table
 * grows.
 */
#include "aggregate/stack_table.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 20

static void stack_make(struct fperf_stack_frame frames[DEPTH], uint32_t number)
{
	memset(frames, 0, DEPTH * sizeof(*frames));
	for (uint32_t i = 0; i < DEPTH; i++) {
		frames[i].module = 1 + i % 4;
		frames[i].kind = i ? FPERF_FRAME_RETURN : FPERF_FRAME_PC;
		frames[i].offset = 0x21000 + i * 0x3170 + (i < 4 ? (number >> (8 * i) & 0xff) * 48 : 0);
	}
}

static uint64_t lookups(struct fperf_stack_table *table, const uint32_t *numbers, size_t count)
{
	struct fperf_stack_frame frames[DEPTH];
	uint64_t begin_ns, total_ns = 0;
	bool is_new;

	for (size_t i = 0; i < count; i++) {
		stack_make(frames, numbers[i]);
		begin_ns = fperf_clock__now_ns();
		fperf_stack_table__intern(table, FPERF_STACK_COMPLETE, frames, DEPTH, &is_new);
		total_ns += fperf_clock__now_ns() - begin_ns;
	}
	return total_ns;
}

static uint64_t clock_cost(size_t count)
{
	uint64_t begin_ns = fperf_clock__now_ns();

	for (size_t i = 0; i < count; i++)
		fperf_clock__now_ns();
	return (fperf_clock__now_ns() - begin_ns) / count;
}

static void round_run(struct fperf_stack_table *table, const char *name, const uint32_t *numbers,
		      size_t count)
{
	struct fperf_stack_table_stats before, after;
	uint64_t ns;

	fperf_stack_table__stats(table, &before);
	ns = lookups(table, numbers, count);
	fperf_stack_table__stats(table, &after);
	printf("%-28s %6.0f ns a stack, %5.1f %% found in the first level, %5.1f %% in the second\n", name,
	       (double)ns / (double)count - (double)clock_cost(100000),
	       100.0 * (double)(after.first_level_hits - before.first_level_hits) / (double)count,
	       100.0 * (double)(after.second_level_hits - before.second_level_hits) / (double)count);
}

int main(int argc, char **argv)
{
	size_t stacks = argc > 1 ? strtoul(argv[1], NULL, 10) : 50000, count = 1000000;
	struct fperf_stack_table_options options = {0};
	struct fperf_stack_table *table = fperf_stack_table__new(&options);
	struct fperf_stack_table_stats stats;
	uint32_t *numbers = malloc(count * sizeof(*numbers));

	if (!table || !numbers || !stacks || stacks > count)
		return 1;
	for (size_t i = 0; i < stacks; i++)
		numbers[i] = (uint32_t)i;
	round_run(table, "new, the table grows", numbers, stacks);
	srand(1);
	for (size_t i = 0; i < count; i++)
		numbers[i] = (uint32_t)((size_t)rand() % stacks);
	round_run(table, "all equally often", numbers, count);
	for (size_t i = 0; i < count; i++) {
		double share = (double)rand() / RAND_MAX;

		numbers[i] = (uint32_t)((double)(stacks - 1) * share * share * share * share);
	}
	round_run(table, "few often, many seldom", numbers, count);
	fperf_stack_table__stats(table, &stats);
	printf("%" PRIu64 " stacks in %" PRIu64
	       " slots, %.1f MiB, %.2f probes a lookup behind the first level\n",
	       stats.stacks, stats.second_level_slots, (double)stats.bytes / (1 << 20),
	       (double)stats.second_level_probes / (double)(stats.lookups - stats.first_level_hits));
	fperf_stack_table__free(table);
	free(numbers);
	return 0;
}
