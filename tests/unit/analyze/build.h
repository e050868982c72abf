/* A small language to build sessions in memory: who ran when, in which function, and who waited for whom.
 * Times are milliseconds from the start of the recording unless a name says otherwise. */
#ifndef TEST_ANALYZE_BUILD_H
#define TEST_ANALYZE_BUILD_H

#include "analyze/analysis.h"
#include "frameperf/meta.h"
#include "frameperf/wire.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPOCH_NS  5000000000ull
#define PERIOD_NS 1000000ull

enum { KERNEL_MODULE = 1, JIT_MODULE = 2, FRAME_MARKER = 1, GAME_PID = 100, HELPER_PID = 200 };
enum { SYS_READ = 0, SYS_POLL = 7, SYS_NANOSLEEP = 230, SYS_FUTEX = 202 };

struct world {
	struct fperf_session *session;
	struct fperf_symbolizer *symbolizer;
	struct fperf_analysis *analysis;
	uint32_t strings, stacks, threads, processes, functions;
	char *texts[512];
	char *stack_texts[512];
	uint32_t function_process[512];
	uint32_t function_text[512];
	double end_ms;
};

static inline void world_add(struct world *world, enum fperf_record_type type, const void *record)
{
	struct fperf_error err = {0};

	cr_assert_eq(fperf_session__add(world->session, type, record, &err), 0, "%s", err.text);
}

static inline uint64_t at(double ms)
{
	return EPOCH_NS + (uint64_t)(ms * 1e6 + 0.5);
}

/* Interned: equal texts have equal ids. */
static inline uint32_t text(struct world *world, const char *bytes)
{
	struct fperf_rec_string string = {.size = (uint32_t)strlen(bytes), .bytes = bytes};

	if (!*bytes)
		return 0;
	for (uint32_t i = 0; i < world->strings; i++)
		if (!strcmp(world->texts[i], bytes))
			return i + 1;
	cr_assert_lt(world->strings, 512);
	world->texts[world->strings++] = strdup(bytes);
	string.id = world->strings;
	world_add(world, FPERF_RECORD_STRING, &string);
	return string.id;
}

static inline void meta(struct world *world, const char *key, const char *value)
{
	struct fperf_rec_meta record = {.key = text(world, key), .value = text(world, value)};

	world_add(world, FPERF_RECORD_META, &record);
}

static inline void meta_ms(struct world *world, const char *key, double ms)
{
	char value[32];

	snprintf(value, sizeof(value), "%llu", (unsigned long long)at(ms));
	meta(world, key, value);
}

static inline uint32_t process(struct world *world, uint32_t pid, const char *name, bool target)
{
	struct fperf_rec_process record = {
		.id = ++world->processes,
		.pid = pid,
		.name = text(world, name),
		.target = target,
		.start_ns = EPOCH_NS,
	};

	world_add(world, FPERF_RECORD_PROCESS, &record);
	return record.id;
}

static inline uint32_t thread(struct world *world, uint32_t of_process, uint32_t tid, const char *name)
{
	struct fperf_rec_thread record = {
		.id = ++world->threads,
		.process = of_process,
		.tid = tid,
		.name = text(world, name),
		.start_ns = EPOCH_NS,
	};

	world_add(world, FPERF_RECORD_THREAD, &record);
	return record.id;
}

/* An empty world of `end_ms`: process 1 is the game; marker 1 is its frame boundary. */
static inline void world_new(struct world *world, double end_ms)
{
	struct fperf_rec_module kernel = {.id = KERNEL_MODULE, .kind = FPERF_MODULE_KERNEL},
				jit = {.id = JIT_MODULE, .kind = FPERF_MODULE_ANON};
	struct fperf_rec_marker marker = {.id = FRAME_MARKER, .chosen = 1, .surface_arg = 0};
	struct fperf_rec_source sched = {.source = FPERF_SOURCE_SCHED, .state = FPERF_SOURCE_STATE_ACTIVE};

	*world = (struct world){.session = fperf_session__new(), .end_ms = end_ms};
	cr_assert(world->session);
	meta(world, FPERF_META_HOST_ARCH, "x86_64");
	meta(world, FPERF_META_SAMPLE_PERIOD_NS, "1000000");
	meta_ms(world, FPERF_META_START_NS, 0);
	meta_ms(world, FPERF_META_END_NS, end_ms);
	kernel.path = text(world, "[kernel]");
	kernel.base = 0xffffffff81000000ull;
	jit.path = text(world, "[anon]");
	marker.path = text(world, "/usr/lib/libGLX.so.0");
	marker.symbol = text(world, "glXSwapBuffers");
	world_add(world, FPERF_RECORD_MODULE, &kernel);
	world_add(world, FPERF_RECORD_MODULE, &jit);
	world_add(world, FPERF_RECORD_MARKER, &marker);
	world_add(world, FPERF_RECORD_SOURCE, &sched);
	process(world, GAME_PID, "game", true);
}

/* Address of a function, new or known; those of the kernel belong to process 0. */
static inline uint64_t function(struct world *world, uint32_t of_process, const char *name)
{
	uint32_t id = text(world, name);

	for (uint32_t i = 0; i < world->functions; i++)
		if (world->function_process[i] == of_process && world->function_text[i] == id)
			return 0x10000 + i * 0x1000ull + 0x10;
	cr_assert_lt(world->functions, 512);
	world->function_process[world->functions] = of_process;
	world->function_text[world->functions] = id;
	if (of_process) {
		struct fperf_rec_jit_symbol symbol = {
			.process = of_process,
			.address = 0x10000 + world->functions * 0x1000ull,
			.size = 0x1000,
			.name = id,
		};
		world_add(world, FPERF_RECORD_JIT_SYMBOL, &symbol);
	} else {
		struct fperf_rec_kernel_symbol symbol = {
			.address = 0x10000 + world->functions * 0x1000ull,
			.size = 0x1000,
			.name = id,
		};
		world_add(world, FPERF_RECORD_KERNEL_SYMBOL, &symbol);
	}
	return 0x10000 + world->functions++ * 0x1000ull + 0x10;
}

/* A stack of the process: names leaf first, "kernel functions|user functions", separated by spaces; names
 * that begin with '?' are addresses in no module. */
static inline uint32_t stack_of(struct world *world, uint32_t of_process, const char *names)
{
	struct fperf_stack_frame frames[64] = {0};
	struct fperf_rec_stack record = {.outcome = FPERF_STACK_COMPLETE, .frames = frames};
	char keyed[512], copy[512], *rest = copy, *name;
	bool kernel = strchr(names, '|') != NULL;

	snprintf(keyed, sizeof(keyed), "%u:%s", of_process, names);
	for (uint32_t i = 0; i < world->stacks; i++)
		if (!strcmp(world->stack_texts[i], keyed))
			return i + 1;
	snprintf(copy, sizeof(copy), "%s", names);
	while ((name = strsep(&rest, " |"))) {
		bool last = rest && names[rest - copy - 1] == '|';

		if (*name) {
			struct fperf_stack_frame *frame = &frames[record.count++];

			cr_assert_lt(record.count, 64);
			frame->kernel = kernel;
			frame->kind = FPERF_FRAME_PC;
			frame->module = *name == '?' ? 0 : kernel ? KERNEL_MODULE : JIT_MODULE;
			frame->offset = *name == '?' ? 0x99 : function(world, kernel ? 0 : of_process, name);
		}
		if (last)
			kernel = false;
	}
	cr_assert_lt(world->stacks, 512);
	world->stack_texts[world->stacks++] = strdup(keyed);
	record.id = world->stacks;
	world_add(world, FPERF_RECORD_STACK, &record);
	return record.id;
}

static inline uint32_t stack(struct world *world, const char *names)
{
	return stack_of(world, 1, names);
}

static inline void mark_at(struct world *world, double ms, uint32_t by_thread, uint64_t surface)
{
	struct fperf_rec_mark record = {
		.time_ns = at(ms), .thread = by_thread, .marker = FRAME_MARKER, .args = {surface}};

	world_add(world, FPERF_RECORD_MARK, &record);
}

static inline void mark(struct world *world, double ms, uint32_t by_thread)
{
	mark_at(world, ms, by_thread, 0);
}

/* Samples in the middle of every period of [from, to), in a stack whose name may hold kernel functions. */
static inline void ran(struct world *world, uint32_t of_thread, double from, double to, uint32_t in_stack,
		       bool kernel)
{
	for (double ms = from + 0.5; ms < to; ms += 1) {
		struct fperf_rec_sample record = {
			.time_ns = at(ms),
			.thread = of_thread,
			.stack = in_stack,
			.kernel = kernel,
			.period = PERIOD_NS,
		};
		world_add(world, FPERF_RECORD_SAMPLE, &record);
	}
}

/* What an off-CPU interval may have besides its times. Zero: blocked interruptibly, in no system call. */
struct why {
	uint32_t state, flags, waker, next, prev, stack;
	int32_t syscall; /* 0: none (read is FAKE_READ) */
	uint64_t args[3];
	bool runnable;
};

#define FAKE_READ 1000

/* `wake` < 0: not woken. */
static inline void off(struct world *world, uint32_t of_thread, double out, double wake, double in,
		       const struct why *why)
{
	struct fperf_rec_offcpu record = {
		.out_ns = at(out),
		.wake_ns = wake < 0 ? 0 : at(wake),
		.in_ns = at(in),
		.thread = of_thread,
		.flags = why->flags,
		.state = why->runnable ? 0
			 : why->state  ? why->state
				       : 1,
		.syscall = why->syscall == FAKE_READ ? SYS_READ
			   : why->syscall	     ? why->syscall
						     : -1,
		.args = {why->args[0], why->args[1], why->args[2]},
		.next = why->next,
		.prev = why->prev,
		.waker = why->waker,
		.stack = why->stack,
	};

	world_add(world, FPERF_RECORD_OFFCPU, &record);
}

static inline const struct fperf_analysis *analyze(struct world *world,
						   const struct fperf_analysis_options *options)
{
	static const struct fperf_analysis_options defaults = {.frame = -1};
	struct fperf_symbolizer_options names = {.no_system_files = true};
	struct fperf_error err = {0};

	cr_assert_eq(fperf_session__seal(world->session, &err), 0, "%s", err.text);
	cr_assert_eq(fperf_symbolizer__new(world->session, &names, &world->symbolizer, &err), 0, "%s",
		     err.text);
	cr_assert_eq(fperf_analysis__run(world->session, world->symbolizer, options ? options : &defaults,
					 &world->analysis, &err),
		     0, "%s", err.text);
	return world->analysis;
}

static inline void world_free(struct world *world)
{
	fperf_analysis__free(world->analysis);
	fperf_symbolizer__free(world->symbolizer);
	fperf_session__free(world->session);
	for (uint32_t i = 0; i < world->strings; i++)
		free(world->texts[i]);
	for (uint32_t i = 0; i < world->stacks; i++)
		free(world->stack_texts[i]);
}

#endif
