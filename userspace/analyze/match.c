#include "analyze/match.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Suffixes of GCC and clang; each may be followed by ".number". */
static const char *const clone_suffixes[] = {
	"part",	      "constprop", "isra",   "cold", "llvm",	 "lto_priv", "clone",
	"localalias", "resolver",  "__uniq", "hot",  "unlikely", "ipa-cp",   "simdclone",
};

static bool all_digits(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!isdigit((unsigned char)text[i]))
			return false;
	return size > 0;
}

static bool is_clone_suffix(const char *text, size_t size)
{
	for (size_t i = 0; i < sizeof(clone_suffixes) / sizeof(clone_suffixes[0]); i++)
		if (strlen(clone_suffixes[i]) == size && !memcmp(clone_suffixes[i], text, size))
			return true;
	return false;
}

/* Where the last ".word" or ".word.number" that a compiler appended begins; `size` if there is none. */
static size_t clone_begin(const char *name, size_t size)
{
	size_t dot = size, end = size;

	while (dot && name[dot - 1] != '.')
		dot--;
	if (dot < 2)
		return size;
	if (all_digits(name + dot, size - dot)) {
		end = dot - 1;
		for (dot = end; dot && name[dot - 1] != '.';)
			dot--;
		if (dot < 2)
			return size;
	}
	return is_clone_suffix(name + dot, end - dot) ? dot - 1 : size;
}

/* "…::h0123456789abcdef" */
static size_t without_rust_hash(const char *name, size_t size)
{
	if (size < 20 || memcmp(name + size - 19, "::h", 3))
		return size;
	for (size_t i = size - 16; i < size; i++)
		if (!isxdigit((unsigned char)name[i]))
			return size;
	return size - 19;
}

static bool is_nameless(const char *function, const char *module)
{
	size_t size = strlen(module);

	return (!strncmp(function, module, size) && !strncmp(function + size, "+0x", 3)) ||
	       !strncmp(function, "0x", 2) || !*function;
}

void fperf_match__function(const char *function, const char *module, char *name, size_t size)
{
	const char *clone = strstr(function, " [clone ");
	size_t length = clone ? (size_t)(clone - function) : strlen(function), before;

	if (is_nameless(function, module)) {
		snprintf(name, size, "(no name)");
		return;
	}
	do {
		before = length;
		length = clone_begin(function, length);
	} while (length < before);
	length = without_rust_hash(function, length);
	snprintf(name, size, "%.*s", (int)(length < size ? length : size), function);
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void fperf_match__module(const char *module, const char *exe, char *name, size_t size)
{
	const char *file = file_name(module), *shared = strstr(file, ".so.");
	size_t length = strlen(file);

	if (*exe && !strcmp(file, file_name(exe))) {
		snprintf(name, size, "(program)");
		return;
	}
	if (shared && strspn(shared + 4, "0123456789.") == strlen(shared + 4))
		length = (size_t)(shared + 3 - file);
	snprintf(name, size, "%.*s", (int)(length < size ? length : size), file);
}

void fperf_match__thread(const char *thread, char *name, size_t size)
{
	size_t used = 0;

	for (; *thread && used + 1 < size; thread++) {
		bool digit = isdigit((unsigned char)*thread);

		if (digit && used && name[used - 1] == '#')
			continue;
		name[used++] = digit ? '#' : *thread;
	}
	if (size)
		name[used] = '\0';
}
