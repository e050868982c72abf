#include "capture/kallsyms.h"

#include "base/vec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINES 4000000u /* about ten times what a kernel with everything built in has */

/* No function is this long: an address further from the symbol before it lies in something without a name. */
#define MAX_DISTANCE (256u << 10)

/* "ffffffff81000000 T name\t[module]"; proc(5). The strings point into the line. */
struct symbol_line {
	uint64_t address;
	char type;
	const char *name, *module;
};

static bool line_parse(char *line, struct symbol_line *symbol)
{
	char *end, *name, *module;

	symbol->address = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return false;
	symbol->type = end[1];
	name = end + 3;
	end = name + strcspn(name, " \t\n");
	module = end + strspn(end, " \t\n[");
	if (*end)
		*end = 0;
	module[strcspn(module, "]\n")] = 0;
	symbol->name = name;
	symbol->module = *module ? module : NULL;
	return *name != 0;
}

/* The next symbol of the file; false at its end. Lines that are too long or make no sense are passed over. */
static bool file_next(FILE *file, char *line, int size, unsigned *lines, struct symbol_line *symbol)
{
	while (fgets(line, size, file) && ++*lines < MAX_LINES) {
		bool whole = strchr(line, '\n') || feof(file);

		while (!whole) { /* the rest of it */
			char rest[256];

			if (!fgets(rest, sizeof(rest), file))
				break;
			whole = strchr(rest, '\n');
		}
		if (line_parse(line, symbol))
			return true;
	}
	return false;
}

static FILE *file_open(const char *path, struct fperf_error *err)
{
	FILE *file = fopen(path, "re");

	if (!file)
		fperf_error__set_errno(err, -errno, "%s: open", path);
	return file;
}

static int hidden(const char *path, struct fperf_error *err)
{
	return fperf_error__set(err, -EACCES,
				"%s shows zeros instead of addresses: run as root, and with "
				"'sysctl kernel.kptr_restrict=1' or 0",
				path);
}

int fperf_kallsyms__base(const char *path, uint64_t *stext, struct fperf_error *err)
{
	struct symbol_line symbol;
	unsigned lines = 0;
	bool found = false;
	char line[1024];
	FILE *file = file_open(path, err);

	if (!file)
		return err->code;
	while (!found && file_next(file, line, sizeof(line), &lines, &symbol))
		found = !strcmp(symbol.name, "_stext");
	fclose(file);
	if (!found)
		return fperf_error__set(err, -ENOENT, "%s: has no _stext%s", path,
					lines ? "" : ": it is empty (kernel built without CONFIG_KALLSYMS?)");
	if (!symbol.address)
		return hidden(path, err);
	*stext = symbol.address;
	return 0;
}

/* The symbols that lie between one asked address and the next: `at` is the last one at or below the address,
 * `next` the first one above the address before. */
struct slot {
	uint64_t at, next;
	char *name, *module;
	char type;
};

#define NO_SYMBOL UINT64_MAX

static bool is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/* Of several names for one address: a global one, then the shorter, then the first in the alphabet; so that
 * every run tells the same. */
static bool is_better(const struct symbol_line *symbol, const struct slot *slot)
{
	bool global = symbol->type == 'T', was_global = slot->type == 'T';
	size_t length = strlen(symbol->name), was = strlen(slot->name);

	if (global != was_global)
		return global;
	return length != was ? length < was : strcmp(symbol->name, slot->name) < 0;
}

/* First asked address that is not below `address`. */
static size_t lower_bound(const uint64_t *addresses, size_t count, uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addresses[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int slot_note(struct slot *slot, const struct symbol_line *symbol, struct fperf_error *err)
{
	char *name, *module;

	if (symbol->address < slot->next)
		slot->next = symbol->address;
	if (slot->name &&
	    (symbol->address < slot->at || (symbol->address == slot->at && !is_better(symbol, slot))))
		return 0;
	name = strdup(symbol->name);
	module = symbol->module ? strdup(symbol->module) : NULL;
	if (!name || (symbol->module && !module)) {
		free(name);
		free(module);
		return fperf_error__no_memory(err, "a kernel symbol");
	}
	free(slot->name);
	free(slot->module);
	slot->at = symbol->address;
	slot->name = name;
	slot->module = module;
	slot->type = symbol->type;
	return 0;
}

/* Slots are one more than addresses: the last takes what lies above all of them. */
static int slots_fill(FILE *file, const char *path, const uint64_t *addresses, size_t count,
		      struct slot *slots, struct fperf_error *err)
{
	struct symbol_line symbol;
	unsigned lines = 0;
	char line[1024];
	bool any = false;

	while (file_next(file, line, sizeof(line), &lines, &symbol)) {
		int result;

		any = any || symbol.address;
		if (!symbol.address || !is_text(symbol.type))
			continue;
		result = slot_note(&slots[lower_bound(addresses, count, symbol.address)], &symbol, err);
		if (result)
			return result;
	}
	return any ? 0 : hidden(path, err);
}

struct module_range {
	char name[64];
	uint64_t start, end;
};

struct module_ranges {
	struct module_range *array;
	size_t count, capacity;
};

/* "name size users by state 0xaddress": one line of /proc/modules. Not there when the kernel has no modules.
 */
static void modules_read(const char *path, struct module_ranges *ranges)
{
	char line[4096];
	FILE *file = fopen(path, "re");

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		unsigned long long size, start;
		struct module_range *range;
		char name[64];

		if (sscanf(line, "%63s %llu %*s %*s %*s %llx", name, &size, &start) != 3)
			continue;
		range = fperf_vec__push(&ranges->array, &ranges->count, &ranges->capacity);
		if (!range)
			break;
		memcpy(range->name, name, sizeof(name));
		range->start = start;
		range->end = start + size;
	}
	fclose(file);
}

/* Beyond the end of its module, an address has no name: the next thing in memory may be anything. */
static bool within_module(const struct module_ranges *ranges, const char *module, uint64_t address)
{
	for (size_t i = 0; module && i < ranges->count; i++)
		if (!strcmp(ranges->array[i].name, module))
			return address < ranges->array[i].end;
	return true;
}

static int names_take(const struct slot *slots, const struct module_ranges *ranges, const uint64_t *addresses,
		      size_t count, struct fperf_kallsyms_name *names, struct fperf_error *err)
{
	const struct slot *at = NULL;
	uint64_t next = NO_SYMBOL;

	for (size_t i = count; i-- > 0;) { /* the next symbol: the first of any slot further up */
		if (slots[i + 1].next < next)
			next = slots[i + 1].next;
		names[i].size = next;
	}
	for (size_t i = 0; i < count; i++) {
		next = names[i].size;
		names[i].size = 0;
		if (slots[i].name)
			at = &slots[i];
		if (!at || addresses[i] - at->at >= MAX_DISTANCE ||
		    !within_module(ranges, at->module, addresses[i]))
			continue;
		names[i].address = at->at;
		names[i].size = next != NO_SYMBOL && next - at->at < MAX_DISTANCE ? next - at->at : 0;
		names[i].name = strdup(at->name);
		names[i].module = at->module ? strdup(at->module) : NULL;
		if (!names[i].name || (at->module && !names[i].module))
			return fperf_error__no_memory(err, "kernel symbols");
	}
	return 0;
}

int fperf_kallsyms__resolve(const char *path, const char *modules_path, const uint64_t *addresses,
			    size_t count, struct fperf_kallsyms_name *names, struct fperf_error *err)
{
	struct module_ranges ranges = {0};
	struct slot *slots = calloc(count + 1, sizeof(*slots));
	FILE *file = NULL;
	int result;

	memset(names, 0, count * sizeof(*names));
	if (!slots)
		return fperf_error__no_memory(err, "kernel symbols");
	for (size_t i = 0; i <= count; i++)
		slots[i].next = NO_SYMBOL;
	file = file_open(path, err);
	if (!file) {
		result = err->code;
	} else {
		result = slots_fill(file, path, addresses, count, slots, err);
		fclose(file);
	}
	if (!result) {
		modules_read(modules_path, &ranges);
		result = names_take(slots, &ranges, addresses, count, names, err);
	}
	for (size_t i = 0; i <= count; i++) {
		free(slots[i].name);
		free(slots[i].module);
	}
	free(slots);
	free(ranges.array);
	return result;
}

void fperf_kallsyms__free_names(struct fperf_kallsyms_name *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(names[i].name);
		free(names[i].module);
	}
}
