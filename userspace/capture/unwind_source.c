/* unwind: keeps the BPF unwinder's tables and mappings up to date, see bpf/unwind.h. */
#include "base/clock.h"
#include "base/map.h"
#include "capture/proc_files.h"
#include "capture/program.h"
#include "capture/sources.h"
#include "capture/unwind_check.h"
#include "capture/unwind_dumps.h"
#include "capture/unwind_processes.h"
#include "frameperf/meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Some 20 million rows, twenty times what the largest engines have. */
#define MEMORY_DEFAULT_MIB 192
#define CELLS_PER_MIB	   ((1u << 20) / sizeof(uint64_t))

/* Between two looks of libdw at a process's mappings, which cost some milliseconds each. */
#define RENEW_NS (FPERF_NS_PER_S / 20)

struct unwind_source {
	struct fperf_capture_context *context;
	struct fperf_unwind_maps maps;
	struct fperf_unwind_modules *modules;
	struct fperf_unwind_processes *processes;
	struct fperf_unwind_dumps *dumps;
	struct fperf_unwind_check check; /* FPERF_UNWIND_CHECK only */
	struct fperf_map images;	 /* pid → 1: has been seen with mappings */
	uint64_t polled_ns;
	struct fperf_unwind_modules_stats modules_stats; /* as of the last prepare */
};

/* The numbers are UNWIND_MODE_* of bpf/unwind_step.h. */
uint32_t fperf_unwind__bpf_mode(enum fperf_unwind_mode mode)
{
	switch (mode) {
	case FPERF_UNWIND_FP:
		return 1;
	case FPERF_UNWIND_TABLE:
		return 2;
	case FPERF_UNWIND_DUMP:
		return 3;
	case FPERF_UNWIND_CHECK:
		return 4;
	case FPERF_UNWIND_LEAF:
		return 5;
	default:
		return 0;
	}
}

/* The stack lies at the upper end of user space, whose size depends on the kernel (39, 42, 48 bits).
 * Signatures begin above. */
uint64_t fperf_unwind__address_mask(void)
{
#if defined(__aarch64__)
	uint64_t top = (uint64_t)(uintptr_t)__builtin_frame_address(0);

	return ~0ull >> __builtin_clzll(top);
#else
	return ~0ull;
#endif
}

static void source_free(struct unwind_source *source)
{
	fperf_unwind_dumps__free(source->dumps);
	fperf_unwind_processes__free(source->processes);
	fperf_unwind_modules__free(source->modules);
	fperf_unwind_maps__close(&source->maps);
	fperf_map__free(&source->images);
	free(source);
}

static const char *way_name(enum fperf_unwind_mode mode)
{
	switch (mode) {
	case FPERF_UNWIND_FP:
		return "in BPF, frame pointers only";
	case FPERF_UNWIND_TABLE:
		return "in BPF, tables from .eh_frame only";
	case FPERF_UNWIND_DUMP:
		return "copies of stacks, unwound by libdw";
	case FPERF_UNWIND_CHECK:
		return "in BPF, tables from .eh_frame, else frame pointers; compared with libdw";
	default:
		return "in BPF, tables from .eh_frame, else frame pointers; copies of stacks for the rest";
	}
}

static int unwind_start(struct fperf_capture_context *context, void **data, char *reason, size_t reason_size,
			struct fperf_error *err)
{
	enum fperf_unwind_mode mode = context->options->unwind;
	bool tables = mode != FPERF_UNWIND_FP && mode != FPERF_UNWIND_DUMP;
	uint32_t mib = context->options->unwind_memory_mib;
	struct unwind_source *source;
	int rc;

	if (mode == FPERF_UNWIND_LEAF) {
		snprintf(reason, reason_size, "--safe: innermost addresses only");
		return -ECANCELED;
	}
	source = calloc(1, sizeof(*source));
	if (!source)
		return fperf_error__no_memory(err, "the unwind source");
	source->context = context;
	rc = fperf_unwind_maps__open(context->shared, (mib ? mib : MEMORY_DEFAULT_MIB) * CELLS_PER_MIB,
				     &source->maps, err);
	if (rc) {
		free(source);
		return rc;
	}
	rc = fperf_unwind_modules__new(&source->maps, NULL, tables, context->log, &source->modules, err);
	rc = rc ? rc : fperf_unwind_processes__new(&source->maps, source->modules, &source->processes, err);
	rc = rc ? rc
		: fperf_unwind_dumps__new(source->processes, source->modules,
					  mode == FPERF_UNWIND_CHECK ? 0 : RENEW_NS, &source->dumps, err);
	if (rc) {
		source_free(source);
		return rc;
	}
	snprintf(reason, reason_size, "%s", way_name(mode));
	*data = source;
	context->unwind = source;
	return 0;
}

/* Dumps are unwound as they come, their result waits for the record that follows. */
int fperf_unwind__consume(struct fperf_capture_context *context, const void *record, size_t size,
			  struct fperf_error *err)
{
	const struct fperf_wire_header *header = record;
	const struct fperf_unwind_dump_stack *stack = NULL;
	struct unwind_source *source = context->unwind;

	if (header->type == FPERF_WIRE_STACK_DUMP) {
		if (source)
			fperf_unwind_dumps__take(source->dumps, record, size);
		return 0;
	}
	if (source && (header->type == FPERF_WIRE_SAMPLE || header->type == FPERF_WIRE_OUT_STACK))
		stack = fperf_unwind_dumps__find(source->dumps, header);
	if (stack && context->options->unwind == FPERF_UNWIND_CHECK)
		fperf_unwind_check__compare(&source->check, source->dumps, record, size);
	else if (stack)
		return fperf_aggregate__consume_with_stack(context->aggregate, record, size, stack->frames,
							   stack->count, stack->outcome, err);
	return fperf_aggregate__consume(context->aggregate, record, size, err);
}

struct image_check {
	struct fperf_map ranges; /* start → end */
};

static void image_visit(void *context, const struct fperf_proc_mapping *mapping)
{
	struct image_check *check = context;

	fperf_map__set(&check->ranges, mapping->start, mapping->end);
}

static bool image_holds(void *context, uint64_t start, uint64_t end)
{
	struct image_check *check = context;
	uint64_t known;

	return fperf_map__get(&check->ranges, start, &known) && known == end;
}

/* The first time there is nothing to do. Later it means an exec: what is no longer mapped was the image
 * before. */
static void unwind_on_process(void *data, uint32_t pid)
{
	struct unwind_source *source = data;
	struct image_check check = {0};
	struct fperf_error gone;

	if (fperf_map__get(&source->images, pid, NULL) &&
	    !fperf_proc__mappings(pid, image_visit, &check, &gone) && check.ranges.used)
		fperf_unwind_processes__keep(source->processes, pid, image_holds, &check);
	fperf_map__free(&check.ranges);
	fperf_map__set(&source->images, pid, 1);
	fperf_unwind_processes__renew(source->processes, pid);
	fperf_unwind_processes__flush(source->processes, fperf_clock__now_ns());
}

static void unwind_on_fork(void *data, uint32_t parent, uint32_t child)
{
	struct unwind_source *source = data;

	fperf_unwind_processes__fork(source->processes, parent, child);
}

static void unwind_on_exit(void *data, uint32_t pid)
{
	struct unwind_source *source = data;

	fperf_map__remove(&source->images, pid);
	fperf_unwind_dumps__exit(source->dumps, pid);
	fperf_unwind_processes__exit(source->processes, pid);
}

static void unwind_on_mapping(void *data, const struct fperf_capture_mapping *mapping)
{
	struct unwind_source *source = data;

	fperf_unwind_processes__map(source->processes, mapping);
}

static void unwind_poll(void *data, uint64_t now_ns)
{
	struct unwind_source *source = data;

	fperf_unwind_processes__flush(source->processes, now_ns);
	if (now_ns - source->polled_ns < FPERF_NS_PER_S)
		return;
	source->polled_ns = now_ns;
	fperf_unwind_modules__poll(source->modules, now_ns);
}

/* The other thread of the modules may hold their lock while a copy is made. */
static void unwind_prepare(void *data)
{
	struct unwind_source *source = data;

	fperf_unwind_modules__stats(source->modules, &source->modules_stats);
}

static void unwind_describe(void *data, uint64_t end_ns)
{
	struct unwind_source *source = data;
	const struct fperf_unwind_modules_stats modules = source->modules_stats;
	struct fperf_writer *writer = source->context->writer;
	struct fperf_unwind_processes_stats processes;
	struct fperf_unwind_stats stats;
	struct fperf_error ignored; /* sticky in the writer */

	(void)end_ns;
	fperf_unwind_processes__stats(source->processes, &processes);
	fperf_unwind_maps__stats(&source->maps, &stats);
	fperf_writer__meta_u64(writer, FPERF_META_UNWIND_STACKS, stats.stacks, &ignored);
	fperf_writer__meta_u64(writer, FPERF_META_UNWIND_FRAMES, stats.frames, &ignored);
	fperf_writer__meta_u64(writer, FPERF_META_UNWIND_CACHE_MISSES, stats.misses, &ignored);
	fperf_writer__meta_u64(writer, FPERF_META_UNWIND_DUMPS, fperf_unwind_dumps__count(source->dumps),
			       &ignored);
	fperf_writer__meta_u64(writer, FPERF_META_UNWIND_ROWS, modules.rows, &ignored);
	fperf_writer__meta_u64(writer, FPERF_META_UNWIND_TABLE_BYTES, modules.cells * 8, &ignored);
	fperf_writer__meta_u64(writer, FPERF_META_UNWIND_BUILT, modules.built, &ignored);
	fperf_writer__meta_u64(writer, FPERF_META_UNWIND_FROM_CACHE, modules.from_cache, &ignored);
	fperf_writer__meta_u64(writer, FPERF_META_UNWIND_WITHOUT_ROWS, modules.without_rows, &ignored);
	fperf_writer__meta_u64(writer, FPERF_META_UNWIND_EVICTED, modules.evicted, &ignored);
	fperf_writer__meta_u64(writer, FPERF_META_UNWIND_NO_ROOM, processes.no_room, &ignored);
	if (source->context->options->unwind == FPERF_UNWIND_CHECK)
		fperf_unwind_check__write(&source->check, writer);
}

static void unwind_stop(void *data, uint64_t end_ns)
{
	struct unwind_source *source = data;

	unwind_prepare(source);
	unwind_describe(source, end_ns);
	source->context->unwind = NULL;
	source_free(source);
}

const struct fperf_capture_source_ops fperf_source_unwind = {
	.source = FPERF_SOURCE_UNWIND,
	.name = "unwind",
	.start = unwind_start,
	.on_process = unwind_on_process,
	.on_fork = unwind_on_fork,
	.on_exit = unwind_on_exit,
	.on_mapping = unwind_on_mapping,
	.poll = unwind_poll,
	.prepare = unwind_prepare,
	.describe = unwind_describe,
	.stop = unwind_stop,
};
