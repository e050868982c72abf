/* depth STACK_FRAMES [KIB]: spins below so many stack frames, each of a function of its own as long as there
 * are enough (64), and meanwhile walks through KIB of memory, so that caches hold what they hold in a game:
 * little that is not the program's own. To be built without frame pointers, as games are. */
#include <stdint.h>
#include <stdlib.h>

static volatile uint64_t sink;
static uint64_t *memory;
static uint64_t words;

__attribute__((noinline)) static int leaf(void)
{
	uint64_t at = 1, sum = 0;

	for (;;) {
		for (int i = 0; i < 1000; i++) {
			at = at * 6364136223846793005ull + 1442695040888963407ull;
			if (words)
				sum += memory[(at >> 33) % words]++;
		}
		sink += sum;
	}
	return 0;
}

typedef int step(int depth);
static step *const steps[64];

/* Stack frames of 40 to 200 bytes. */
#define STEP(a, b)                                                                                           \
	__attribute__((noinline)) static int step_##a##b(int depth)                                          \
	{                                                                                                    \
		volatile char pad[16 + (a * 8 + b) % 11 * 16];                                               \
                                                                                                             \
		pad[0] = (char)depth;                                                                        \
		return (depth > 1 ? steps[(a * 8 + b + 1) % 64](depth - 1) : leaf()) + pad[0];               \
	}
#define NAME(a, b) step_##a##b,
#define ROW(F, a)  F(a, 0) F(a, 1) F(a, 2) F(a, 3) F(a, 4) F(a, 5) F(a, 6) F(a, 7)
#define EACH(F)	   ROW(F, 0) ROW(F, 1) ROW(F, 2) ROW(F, 3) ROW(F, 4) ROW(F, 5) ROW(F, 6) ROW(F, 7)

EACH(STEP)
static step *const steps[64] = {EACH(NAME)};

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 20;

	words = argc > 2 ? strtoull(argv[2], NULL, 10) * 1024 / sizeof(*memory) : 0;
	memory = calloc(words + 1, sizeof(*memory));
	return memory && depth > 0 ? steps[0](depth) & 1 : 1;
}
