#include "live_kernel.h"

#include "base/vec.h"
#include "capture/kallsyms.h"

#include <stdlib.h>
#include <string.h>

/* Ids of strings of our own: far from those that the recorder gives out. */
#define FIRST_STRING 0xc0000000u

struct addresses {
	uint64_t *items;
	size_t count, capacity;
};

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Base of the kernel module with this id in `modules`; false when it is another kind of module. */
static bool kernel_base(const struct fperf_session *session, uint32_t id, uint64_t *base)
{
	const struct fperf_rec_module *modules;
	size_t count;

	modules = fperf_session__records(session, FPERF_RECORD_MODULE, &count);
	for (size_t i = 0; i < count; i++) {
		if (modules[i].id == id && modules[i].kind == FPERF_MODULE_KERNEL) {
			*base = modules[i].base;
			return true;
		}
	}
	return false;
}

static int gather(struct fperf_live_kernel *kernel, const struct fperf_session *session,
		  struct addresses *wanted, uint64_t *base)
{
	const struct fperf_rec_stack *stacks;
	size_t count;

	stacks = fperf_session__records(session, FPERF_RECORD_STACK, &count);
	for (size_t i = kernel->stacks; i < count; i++) {
		for (uint32_t f = 0; f < stacks[i].count && stacks[i].frames[f].kernel; f++) {
			const struct fperf_stack_frame *frame = &stacks[i].frames[f];
			uint64_t address, *slot;

			if (!*base && !kernel_base(session, frame->module, base))
				continue;
			address = *base + frame->offset - (frame->kind == FPERF_FRAME_RETURN);
			if (fperf_map__get(&kernel->named, address, NULL))
				continue;
			slot = fperf_vec__push(&wanted->items, &wanted->count, &wanted->capacity);
			if (!slot || fperf_map__set(&kernel->named, address, 1))
				return -1;
			*slot = address;
		}
	}
	kernel->stacks = count;
	return 0;
}

static int string_add(struct fperf_live_kernel *kernel, struct fperf_session *session, const char *text,
		      uint32_t *id, struct fperf_error *err)
{
	struct fperf_rec_string string = {.size = text ? (uint32_t)strlen(text) : 0, .bytes = text};

	*id = 0;
	if (!string.size)
		return 0;
	*id = string.id = FIRST_STRING + kernel->strings++;
	return fperf_session__add(session, FPERF_RECORD_STRING, &string, err);
}

static int symbols_add(struct fperf_live_kernel *kernel, struct fperf_session *session, uint64_t base,
		       const struct fperf_kallsyms_name *names, size_t count, struct fperf_error *err)
{
	int ret = 0;

	for (size_t i = 0; i < count && !ret; i++) {
		struct fperf_rec_kernel_symbol symbol = {.address = names[i].address - base,
							 .size = (uint32_t)names[i].size};

		if (!names[i].name)
			continue;
		ret = string_add(kernel, session, names[i].name, &symbol.name, err);
		if (!ret)
			ret = string_add(kernel, session, names[i].module, &symbol.module, err);
		if (!ret)
			ret = fperf_session__add(session, FPERF_RECORD_KERNEL_SYMBOL, &symbol, err);
	}
	return ret;
}

int fperf_live_kernel__name(struct fperf_live_kernel *kernel, struct fperf_session *session,
			    struct fperf_error *err)
{
	struct fperf_kallsyms_name *names = NULL;
	struct addresses wanted = {0};
	struct fperf_error unnamed;
	uint64_t base = 0;
	int ret = 0;

	if (gather(kernel, session, &wanted, &base))
		ret = fperf_error__no_memory(err, "the names of kernel functions");
	if (!ret && wanted.count) {
		names = calloc(wanted.count, sizeof(*names));
		if (!names)
			ret = fperf_error__no_memory(err, "the names of kernel functions");
	}
	if (names) {
		qsort(wanted.items, wanted.count, sizeof(*wanted.items), compare);
		if (!fperf_kallsyms__resolve(FPERF_KALLSYMS_PATH, FPERF_KALLSYMS_MODULE_PATH, wanted.items,
					     wanted.count, names, &unnamed))
			ret = symbols_add(kernel, session, base, names, wanted.count, err);
		fperf_kallsyms__free_names(names, wanted.count);
	}
	free(names);
	free(wanted.items);
	return ret;
}

void fperf_live_kernel__free(struct fperf_live_kernel *kernel)
{
	fperf_map__free(&kernel->named);
}
