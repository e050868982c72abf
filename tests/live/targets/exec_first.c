/* Spins a second in fn_a, then becomes the program next to it named exec_second (same pid, other image). */
#include "spin.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

NOINLINE uint64_t fn_a(void)
{
	return spin_ns(1000000000ull);
}

int main(int argc, char **argv)
{
	char path[4096];
	char *slash;

	(void)argc;
	fn_a();
	snprintf(path, sizeof(path), "%s", argv[0]);
	slash = strrchr(path, '/');
	snprintf(slash ? slash + 1 : path, 16, "exec_second");
	execl(path, "exec_second", NULL);
	perror("exec_second");
	return 1;
}
