/* libFuzzer: any bytes as a function's name. Demangling stays within its bounds and gives a name. */
#include "symbolize/names.h"
#include "symbolize/symbolize.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 3), *demangled, *printable;

	/* Most bytes are no mangled name; with these two in front they are one at least for a while. */
	require(name != NULL);
	memcpy(name, "_Z", 2);
	memcpy(name + 2, data, size);
	name[size + 2] = '\0';
	if (size && data[0] == 'R')
		memmove(name + 1, name + 2, size + 1);
	require(fperf_names__base_size(name) <= strlen(name));
	fperf_names__is_language_runtime(name);
	demangled = fperf_demangle(name);
	require(demangled && (strlen(demangled) <= 65536 || !strcmp(demangled, name)));
	printable = fperf_names__printable(demangled, strlen(demangled));
	require(printable && strlen(printable) <= FPERF_NAME_MAX);
	for (const char *at = printable; *at; at++)
		require((unsigned char)*at >= 0x20 && *at != 0x7f);
	free(printable);
	free(demangled);
	free(name);
	return 0;
}
