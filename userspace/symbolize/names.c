#include "symbolize/names.h"

#include "base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK_SIZE 32 /* room for the mark of a name that was cut */

/* Suffixes that may follow a function's name, each perhaps with ".NUMBER" behind it: GCC's passes, Clang's
 * hot/cold splitting, unique internal names and ThinLTO. */
static const char *const clone_suffixes[] = {
	"cold", "part", "constprop", "isra",   "lto_priv", "localalias", "clone",
	"llvm", "hot",	"warm",	     "__part", "__uniq",   "unlikely",
};

static bool is_clone_suffix(const char *text, size_t size)
{
	size_t digits = 0;

	while (digits < size && text[digits] >= '0' && text[digits] <= '9')
		digits++;
	if (digits == size)
		return size > 0;
	for (size_t i = 0; i < sizeof(clone_suffixes) / sizeof(*clone_suffixes); i++)
		if (strlen(clone_suffixes[i]) == size && !memcmp(text, clone_suffixes[i], size))
			return true;
	return false;
}

size_t fperf_names__base_size(const char *name)
{
	size_t size = strlen(name), dot;
	const char *at;

	/* '?' begins a name of Microsoft's compiler, in which '@' is ordinary. */
	at = *name == '?' ? NULL : memchr(name, '@', size);
	if (at && at > name)
		size = (size_t)(at - name);
	for (;;) {
		dot = size;
		while (dot > 1 && name[dot - 1] != '.')
			dot--;
		/* name[dot - 1] is the last dot; before it something must remain. */
		if (dot <= 1 || !is_clone_suffix(name + dot, size - dot))
			return size;
		size = dot - 1;
	}
}

/* Length of the well-formed UTF-8 sequence at `text` (Unicode, table 3-7), 0 if there is none. */
static size_t utf8_size(const uint8_t *text, size_t left)
{
	uint8_t first = text[0], low = 0x80, high = 0xbf;
	size_t size;

	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (size > left)
		return 0;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;
	for (size_t i = 1; i < size; i++, low = 0x80, high = 0xbf)
		if (text[i] < low || text[i] > high)
			return 0;
	return size;
}

/* C0 and C1 control characters and DEL move cursors and break lines. */
static bool is_control(const uint8_t *text, size_t size)
{
	return size == 1 ? text[0] < 0x20 || text[0] == 0x7f : size == 2 && text[0] == 0xc2 && text[1] < 0xa0;
}

static uint64_t hash_bytes(const uint8_t *bytes, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return hash;
}

/* Length of the character at `text` and, in *shown, of what stands for it. */
static size_t character_size(const uint8_t *text, size_t left, size_t *shown)
{
	size_t size = utf8_size(text, left);

	*shown = size;
	if (size && !is_control(text, size))
		return size;
	size = size ? size : 1;
	*shown = 4 * size;
	return size;
}

/* How many bytes of the name can be shown within `max` bytes. */
static size_t fitting_size(const uint8_t *bytes, size_t size, size_t max)
{
	size_t pos = 0, used = 0, step, shown;

	for (; pos < size; pos += step, used += shown) {
		step = character_size(bytes + pos, size - pos, &shown);
		if (used + shown > max)
			break;
	}
	return pos;
}

char *fperf_names__printable(const char *name, size_t size)
{
	const uint8_t *bytes = (const uint8_t *)name;
	size_t fitting = fitting_size(bytes, size, FPERF_NAME_MAX), step, shown;
	struct fperf_buf out;

	fperf_buf__init(&out, FPERF_NAME_MAX + 1);
	if (fitting < size)
		fitting = fitting_size(bytes, size, FPERF_NAME_MAX - MARK_SIZE);
	for (size_t pos = 0; pos < fitting; pos += step) {
		step = character_size(bytes + pos, size - pos, &shown);
		if (shown == step)
			fperf_buf__append(&out, bytes + pos, step);
		for (size_t i = 0; shown != step && i < step; i++)
			fperf_buf__printf(&out, "\\x%02x", bytes[pos + i]);
	}
	if (fitting < size)
		fperf_buf__printf(&out, "…#%016llx", (unsigned long long)hash_bytes(bytes, size));
	fperf_buf__u8(&out, 0);
	if (out.failed)
		fperf_buf__free(&out);
	return (char *)out.data;
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Itanium C++ ABI: after "_ZN", qualifiers, then "St" for std:: or another standard abbreviation. */
static bool is_cplusplus_runtime(const char *mangled)
{
	const char *name = mangled + 2; /* behind "_Z" */

	if (*name == 'N') {
		name++;
		name += strspn(name, "rVKRO");
	}
	if (*name == 'S' && name[1] && strchr("tabsiod", name[1]))
		return true;
	if (starts_with(name, "nw") || starts_with(name, "na") || starts_with(name, "dl") ||
	    starts_with(name, "da")) /* operator new and delete */
		return mangled[2] != 'N';
	return starts_with(name, "9__gnu_cxx") || starts_with(name, "10__cxxabiv1") ||
	       starts_with(name, "11__gnu_debug") || starts_with(name, "14__gnu_parallel");
}

/* Rust: legacy names are paths like those of C++ ("_ZN4core3ptr…17h<hash>E"); in the new form the crate of a
 * path follows as "C" [disambiguator "s…_"] length name. */
static bool is_rust_runtime(const char *mangled)
{
	static const char *const crates[] = {"4core", "5alloc", "3std", "10std_detect", "9hashbrown"};
	const char *name = mangled;

	if (starts_with(mangled, "_ZN")) {
		name += 3;
		if (!strstr(mangled, "17h"))
			return false;
	} else if (starts_with(mangled, "_RN")) {
		name = strchr(mangled, 'C');
		if (!name)
			return false;
		name++;
		if (*name == 's' && strchr(name, '_'))
			name = strchr(name, '_') + 1;
	} else {
		return false;
	}
	for (size_t i = 0; i < sizeof(crates) / sizeof(*crates); i++)
		if (starts_with(name, crates[i]))
			return true;
	return false;
}

bool fperf_names__is_language_runtime(const char *mangled)
{
	if (starts_with(mangled, "_ZN") || starts_with(mangled, "_ZS") || starts_with(mangled, "_Zn") ||
	    starts_with(mangled, "_Zd"))
		return is_cplusplus_runtime(mangled) || is_rust_runtime(mangled);
	/* Put together from DWARF, where a function has no linkage name. */
	return starts_with(mangled, "std::") || starts_with(mangled, "__gnu_cxx::") ||
	       starts_with(mangled, "core::") || starts_with(mangled, "alloc::") || is_rust_runtime(mangled);
}
