#include "base/vec.h"
#include "capture/kallsyms.h"
#include "capture/sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct kallsyms {
	struct fperf_capture_context *context;
	uint64_t base;
	uint64_t *addresses;
	size_t count, capacity;
};

static int kallsyms_start(struct fperf_capture_context *context, void **state, char *reason,
			  size_t reason_size, struct fperf_error *err)
{
	struct kallsyms *kallsyms;
	uint64_t base;
	int result = fperf_kallsyms__base(FPERF_KALLSYMS_PATH, &base, err);

	if (result == -ENOENT) {
		snprintf(reason, reason_size, "%s", err->text);
		return -ENODEV;
	}
	if (result)
		return result;
	kallsyms = calloc(1, sizeof(*kallsyms));
	if (!kallsyms)
		return fperf_error__no_memory(err, "kernel symbols");
	kallsyms->context = context;
	kallsyms->base = base;
	*state = kallsyms;
	snprintf(reason, reason_size, "%s", FPERF_KALLSYMS_PATH);
	return 0;
}

static void address_take(void *state, uint64_t address)
{
	struct kallsyms *kallsyms = state;
	uint64_t *place = fperf_vec__push(&kallsyms->addresses, &kallsyms->count, &kallsyms->capacity);

	if (place)
		*place = address;
}

static int address_compare(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return first < second ? -1 : first > second;
}

static void addresses_sort(struct kallsyms *kallsyms)
{
	size_t kept = 0;

	if (!kallsyms->count)
		return;
	qsort(kallsyms->addresses, kallsyms->count, sizeof(kallsyms->addresses[0]), address_compare);
	for (size_t i = 1; i < kallsyms->count; i++)
		if (kallsyms->addresses[i] != kallsyms->addresses[kept])
			kallsyms->addresses[++kept] = kallsyms->addresses[i];
	kallsyms->count = kept + 1;
}

static int names_write(const struct kallsyms *kallsyms, const struct fperf_kallsyms_name *names,
		       struct fperf_error *err)
{
	struct fperf_writer *writer = kallsyms->context->writer;
	uint64_t last = 0;

	for (size_t i = 0; i < kallsyms->count; i++) {
		struct fperf_rec_kernel_symbol symbol;
		int result;

		if (!names[i].name || names[i].address == last)
			continue;
		last = names[i].address;
		symbol = (struct fperf_rec_kernel_symbol){
			.address = names[i].address - kallsyms->base,
			.size = (uint32_t)names[i].size,
			.name = fperf_writer__text(writer, names[i].name),
			.module = fperf_writer__text(writer, names[i].module),
		};
		result = fperf_writer__add(writer, FPERF_RECORD_KERNEL_SYMBOL, &symbol, err);
		if (result)
			return result;
	}
	return 0;
}

static void kallsyms_describe(void *state, uint64_t end_ns)
{
	struct kallsyms *kallsyms = state;
	struct fperf_kallsyms_name *names;
	struct fperf_error err;
	int result = 0;

	(void)end_ns;
	fperf_aggregate__kernel_addresses(kallsyms->context->aggregate, address_take, kallsyms);
	addresses_sort(kallsyms);
	names = calloc(kallsyms->count ? kallsyms->count : 1, sizeof(*names));
	if (!names) {
		result = fperf_error__no_memory(&err, "kernel symbols");
	} else if (kallsyms->count) {
		result = fperf_kallsyms__resolve(FPERF_KALLSYMS_PATH, FPERF_KALLSYMS_MODULE_PATH,
						 kallsyms->addresses, kallsyms->count, names, &err);
		if (!result)
			result = names_write(kallsyms, names, &err);
		fperf_kallsyms__free_names(names, kallsyms->count);
	}
	if (result)
		fperf_log__write(kallsyms->context->log, FPERF_LOG_WARNING,
				 "kernel functions stay without names: %s", err.text);
	free(names);
}

static void kallsyms_stop(void *state, uint64_t end_ns)
{
	struct kallsyms *kallsyms = state;

	kallsyms_describe(kallsyms, end_ns);
	free(kallsyms->addresses);
	free(kallsyms);
}

/* At stop, names all kernel addresses that stacks refer to. */
const struct fperf_capture_source_ops fperf_source_kallsyms = {
	.source = FPERF_SOURCE_KALLSYMS,
	.name = "kallsyms",
	.start = kallsyms_start,
	.describe = kallsyms_describe,
	.stop = kallsyms_stop,
};
