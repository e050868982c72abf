/* The parent spins in parent_work, a child forked without exec in child_work and leaves by _exit at once. */
#include "spin.h"

#include <sys/wait.h>
#include <unistd.h>

NOINLINE uint64_t parent_work(void)
{
	return spin_ns(500000000ull);
}

NOINLINE uint64_t child_work(void)
{
	return spin_ns(500000000ull);
}

int main(void)
{
	pid_t child = fork();

	if (child == 0) {
		child_work();
		_exit(0);
	}
	parent_work();
	waitpid(child, NULL, 0);
	return 0;
}
