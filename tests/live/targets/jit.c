/* Compiles a function at run time, tells of it in /tmp/perf-PID.map in the styles that there are, and spins
 * in it. usage: jit SECONDS */
#include "spin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__aarch64__)
static const uint32_t code[] = {0x71000400, 0x54ffffe1, 0xd65f03c0}; /* subs w0, w0, 1; b.ne .-4; ret */
#else
static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, /* push %rbp; mov %rsp, %rbp */
			       0xff, 0xcf, 0x75, 0xfc, /* dec %edi; jne .-2 */
			       0x5d, 0xc3};	       /* pop %rbp; ret */
#endif

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	uint64_t end = clock_now_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	char *memory =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*spin)(uint32_t rounds);
	char path[64];
	FILE *map;

	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory, code, sizeof(code));
	__builtin___clear_cache(memory, memory + sizeof(code));
	*(void **)&spin = memory;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map)
		return 1;
	fprintf(map, "0x%lx 0x%zx void Game::spin(int, float) [inlined twice]\n", (unsigned long)memory,
		sizeof(code));
	fprintf(map, "this is no line of a map\n%lx 10 plain\n", (unsigned long)memory + 0x100);
	fprintf(map, "%lx 10 half", (unsigned long)memory + 0x200); /* the newline never comes */
	fflush(map);
	while (clock_now_ns(CLOCK_MONOTONIC) < end)
		spin(100000);
	unlink(path);
	return 0;
}
