#include "symbolize/record_names.h"

#include <errno.h>
#include <stdbool.h>

/* Only symbols that stacks refer to are recorded, so the next record does not bound one without a size. */
#define KERNEL_SIZELESS_MAX 0x4000u
#define GENERATIONS_MAX	    16 /* forks up to the process that compiled the code */

static int kernel_add(const struct fperf_session *session, const struct fperf_rec_kernel_symbol *symbol,
		      uint64_t base, struct fperf_range_table *table)
{
	struct fperf_range range = {
		.start = symbol->address + base,
		.name = fperf_session__string(session, symbol->name, NULL),
		.group = symbol->module ? fperf_session__string(session, symbol->module, NULL) : NULL,
	};

	range.end = range.start + (symbol->size ? symbol->size : KERNEL_SIZELESS_MAX);
	if (range.end < range.start)
		range.end = UINT64_MAX;
	return *range.name ? fperf_range_table__add(table, &range) : 0;
}

int fperf_record_names__kernel(const struct fperf_session *session, uint64_t base,
			       struct fperf_range_table *table)
{
	size_t count;
	const struct fperf_rec_kernel_symbol *symbols =
		fperf_session__records(session, FPERF_RECORD_KERNEL_SYMBOL, &count);

	/* Those without a size first: the later ones win. */
	for (int sized = 0; symbols && sized <= 1; sized++)
		for (size_t i = 0; i < count; i++)
			if (!symbols[i].size == !sized && kernel_add(session, &symbols[i], base, table)) {
				fperf_range_table__free(table);
				return -ENOMEM;
			}
	return fperf_range_table__seal(table);
}

static bool jit_add(const struct fperf_session *session, uint32_t process, struct fperf_range_table *table,
		    bool *failed)
{
	size_t count;
	const struct fperf_rec_jit_symbol *symbols =
		fperf_session__records(session, FPERF_RECORD_JIT_SYMBOL, &count);
	bool any = false;

	for (size_t i = 0; symbols && i < count; i++) {
		struct fperf_range range = {
			.start = symbols[i].address,
			.end = symbols[i].address + symbols[i].size,
			.name = fperf_session__string(session, symbols[i].name, NULL),
		};

		if (symbols[i].process != process || !*range.name)
			continue;
		any = true;
		if (fperf_range_table__add(table, &range))
			*failed = true;
	}
	return any;
}

int fperf_record_names__jit(const struct fperf_session *session, uint32_t process,
			    struct fperf_range_table *table)
{
	bool failed = false;

	for (int i = 0; i < GENERATIONS_MAX && process; i++) {
		const struct fperf_rec_process *record;

		if (jit_add(session, process, table, &failed))
			break;
		record = fperf_session__process(session, process);
		process = record && !record->generation ? record->parent : 0;
	}
	if (failed) {
		fperf_range_table__free(table);
		return -ENOMEM;
	}
	return fperf_range_table__seal(table);
}
