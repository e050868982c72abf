/* Waits a second, opens the library named by its argument, spins 300 ms in its plugin_work, closes it. */
#include "spin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	void *library;
	uint64_t (*work)(uint64_t);

	sleep(1);
	library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!library) {
		fprintf(stderr, "late_library: %s\n", dlerror());
		return 1;
	}
	work = (uint64_t(*)(uint64_t))dlsym(library, "plugin_work");
	work(300000000ull);
	dlclose(library);
	return 0;
}
