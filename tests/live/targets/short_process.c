/* Starts COUNT children one after the other; each lives about 20 ms, spinning in short_work. */
#include "spin.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

NOINLINE uint64_t short_work(void)
{
	return spin_ns(20000000ull);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 10;

	if (argc > 1 && !strcmp(argv[1], "child")) {
		short_work();
		return 0;
	}
	for (int i = 0; i < count; i++) {
		pid_t child = fork();

		if (child == 0) {
			execl("/proc/self/exe", "short_process", "child", NULL);
			_exit(127);
		}
		waitpid(child, NULL, 0);
	}
	return 0;
}
