#include "rich_session.h"

#include "frameperf/meta.h"
#include "frameperf/wire.h"

#include <stdlib.h>
#include <string.h>

#define MS	   1000000ull
#define START	   (40ull * 86400 * 1000 * MS) /* up for 40 days */
#define CODE	   0x700000000000ull	       /* generated code; one function every 0x1000 bytes */
#define FUNCTIONS  12
#define LONG_NAME  100000
#define STACK_LOST 999

enum { MAIN = 1, WORKER, LOADER, SECOND, OUTSIDE }; /* threads */
enum { GAME = 1, KERNEL, JIT };			    /* modules */
enum { PRESENT = 1, MARK, BEGIN, END };		    /* markers */

struct rich {
	struct fperf_writer *writer;
	struct fperf_error *err;
	const char *names[FUNCTIONS], *thread, *mark, *scope;
	uint32_t stacks;
	int failed;
};

static const char *const plain_names[FUNCTIONS] = {"main_loop",	   "update_world",   "draw",	  "collide",
						   "load_texture", "wait_for_job",   "mix_audio", "path_find",
						   "spawn",	   "std::sort<int>", "fn_second", "present"};

static void add(struct rich *rich, enum fperf_record_type type, const void *record)
{
	if (!rich->failed && fperf_writer__add(rich->writer, type, record, rich->err) < 0)
		rich->failed = -1;
}

static void meta(struct rich *rich, const char *key, const char *value)
{
	if (!rich->failed && fperf_writer__meta(rich->writer, key, value, rich->err) < 0)
		rich->failed = -1;
}

static uint32_t text(struct rich *rich, const char *words)
{
	return fperf_writer__text(rich->writer, words);
}

static void head(struct rich *rich)
{
	static const uint8_t active[] = {FPERF_SOURCE_SAMPLE,  FPERF_SOURCE_SCHED,    FPERF_SOURCE_FREQ,
					 FPERF_SOURCE_FRAME,   FPERF_SOURCE_MARK,     FPERF_SOURCE_PROCESS,
					 FPERF_SOURCE_COUNTER, FPERF_SOURCE_KALLSYMS, FPERF_SOURCE_JIT};

	meta(rich, FPERF_META_SESSION_ID, "00112233445566778899aabbccddeeff");
	meta(rich, FPERF_META_LEVEL, "2");
	meta(rich, FPERF_META_HOST_KERNEL, "6.1.0");
	meta(rich, FPERF_META_HOST_ARCH, "x86_64");
	meta(rich, FPERF_META_HOST_CPUS, "2");
	meta(rich, FPERF_META_HOST_MODEL, "CPU, \"model\" 7");
	meta(rich, FPERF_META_START_NS, "3456000000000000");
	meta(rich, FPERF_META_END_NS, "3456001000000000");
	meta(rich, FPERF_META_END_REASON, "target ended");
	meta(rich, FPERF_META_REALTIME_OFFSET, "1700000000000000000");
	meta(rich, FPERF_META_TARGET_PID, "4242");
	meta(rich, FPERF_META_TARGET_NAME, rich->thread);
	meta(rich, FPERF_META_SAMPLE_PERIOD_NS, "1000000");
	for (size_t i = 0; i < sizeof(active); i++)
		add(rich, FPERF_RECORD_SOURCE,
		    &(struct fperf_rec_source){.source = active[i], .state = FPERF_SOURCE_STATE_ACTIVE});
}

static void modules(struct rich *rich)
{
	struct fperf_rec_module game = {
		.id = GAME, .path = text(rich, "/opt/a game/bin;game"), .build_id_size = 20};

	for (uint8_t i = 0; i < 20; i++)
		game.build_id[i] = (uint8_t)(i * 13 + 1);
	add(rich, FPERF_RECORD_MODULE, &game);
	add(rich, FPERF_RECORD_MODULE,
	    &(struct fperf_rec_module){.id = KERNEL,
				       .path = text(rich, "[kernel]"),
				       .kind = FPERF_MODULE_KERNEL,
				       .base = 0xffffffff81000000ull});
	add(rich, FPERF_RECORD_MODULE,
	    &(struct fperf_rec_module){.id = JIT, .path = text(rich, "[anon]"), .kind = FPERF_MODULE_ANON});
	for (uint32_t process = 1; process <= 2; process++)
		add(rich, FPERF_RECORD_MAPPING,
		    &(struct fperf_rec_mapping){.process = process,
						.module = GAME,
						.start = 0x555500001000ull,
						.end = 0x555500101000ull,
						.file_offset = 0x1000,
						.from_ns = START});
	add(rich, FPERF_RECORD_KERNEL_SYMBOL,
	    &(struct fperf_rec_kernel_symbol){
		    .address = 0x100, .size = 0x100, .name = text(rich, "futex_wait")});
	add(rich, FPERF_RECORD_KERNEL_SYMBOL,
	    &(struct fperf_rec_kernel_symbol){
		    .address = 0x200, .size = 0x100, .name = text(rich, "clear_page")});
	for (uint32_t process = 1; process <= 2; process++)
		for (uint32_t i = 0; i < FUNCTIONS; i++)
			add(rich, FPERF_RECORD_JIT_SYMBOL,
			    &(struct fperf_rec_jit_symbol){.process = process,
							   .address = CODE + i * 0x1000ull,
							   .size = 0x1000,
							   .name = text(rich, rich->names[i])});
}

static void task(struct rich *rich, uint32_t id, uint32_t process, uint32_t tid, const char *name,
		 uint64_t start)
{
	add(rich, FPERF_RECORD_THREAD,
	    &(struct fperf_rec_thread){
		    .id = id, .process = process, .tid = tid, .name = text(rich, name), .start_ns = start});
}

static void tasks(struct rich *rich)
{
	struct fperf_rec_process process = {.id = 1,
					    .pid = 4242,
					    .name = text(rich, rich->thread),
					    .exe = text(rich, "/opt/a game/bin;game"),
					    .target = 1,
					    .start_ns = START - MS};

	add(rich, FPERF_RECORD_PROCESS, &process);
	process.id = 2; /* the same, after exec */
	process.generation = 1;
	process.start_ns = START + 800 * MS;
	add(rich, FPERF_RECORD_PROCESS, &process);
	add(rich, FPERF_RECORD_PROCESS,
	    &(struct fperf_rec_process){.id = 3, .pid = 77, .name = text(rich, "assetd")});
	task(rich, MAIN, 1, 4242, rich->thread, START - MS);
	task(rich, WORKER, 1, 4243, "Worker 1", START - MS);
	task(rich, LOADER, 1, 4244, "starting", START + 50 * MS);
	task(rich, SECOND, 2, 4242, "second", START + 800 * MS);
	task(rich, OUTSIDE, 3, 77, "assetd", START - MS);
	add(rich, FPERF_RECORD_TASK_EVENT,
	    &(struct fperf_rec_task_event){
		    .time_ns = START + 60 * MS, .thread = LOADER, .name = text(rich, "Loader")});
	for (uint32_t thread = MAIN; thread <= LOADER; thread++)
		add(rich, FPERF_RECORD_TASK_EVENT,
		    &(struct fperf_rec_task_event){.time_ns = START + (thread == MAIN ? 800 : 780) * MS,
						   .thread = thread,
						   .event = FPERF_TASK_EXIT});
}

static void markers(struct rich *rich)
{
	struct fperf_rec_marker marker = {.id = PRESENT,
					  .kind = FPERF_MARKER_FRAME,
					  .surface_arg = 255,
					  .chosen = 1,
					  .name = text(rich, "glXSwapBuffers"),
					  .path = text(rich, "/usr/lib/libGLX.so.0"),
					  .symbol = text(rich, "glXSwapBuffers")};

	add(rich, FPERF_RECORD_MARKER, &marker);
	marker = (struct fperf_rec_marker){.id = MARK,
					   .kind = FPERF_MARKER_MARK,
					   .name = text(rich, rich->mark),
					   .path = text(rich, "/opt/[jit]"),
					   .symbol = text(rich, "spawn")};
	add(rich, FPERF_RECORD_MARKER, &marker);
	marker.id = BEGIN;
	marker.kind = FPERF_MARKER_SCOPE_BEGIN;
	marker.name = text(rich, rich->scope);
	marker.symbol = text(rich, "path_find");
	add(rich, FPERF_RECORD_MARKER, &marker);
	marker.id = END;
	marker.kind = FPERF_MARKER_SCOPE_END;
	marker.symbol = text(rich, "path_done");
	add(rich, FPERF_RECORD_MARKER, &marker);
}

static void mark(struct rich *rich, uint64_t time, uint32_t thread, uint32_t marker)
{
	add(rich, FPERF_RECORD_MARK,
	    &(struct fperf_rec_mark){
		    .time_ns = time, .thread = thread, .marker = marker, .cpu = thread != MAIN});
}

/* Leaf first: `kernel` (0: none), then `leaf`, which main_loop calls. */
static uint32_t stack(struct rich *rich, uint64_t kernel, uint32_t leaf, int gap)
{
	struct fperf_stack_frame frames[5];
	uint32_t count = 0;

	if (kernel)
		frames[count++] = (struct fperf_stack_frame){
			.module = KERNEL, .kind = FPERF_FRAME_PC, .kernel = 1, .offset = kernel};
	frames[count] = (struct fperf_stack_frame){.module = JIT,
						   .kind = count ? FPERF_FRAME_RETURN : FPERF_FRAME_PC};
	frames[count++].offset = CODE + leaf * 0x1000 + 0x80;
	if (gap)
		frames[count++] = (struct fperf_stack_frame){.kind = FPERF_FRAME_GAP};
	frames[count++] =
		(struct fperf_stack_frame){.module = JIT, .kind = FPERF_FRAME_RETURN, .offset = CODE + 0x40};
	frames[count++] =
		(struct fperf_stack_frame){.module = GAME, .kind = FPERF_FRAME_RETURN, .offset = 0x2345};
	add(rich, FPERF_RECORD_STACK,
	    &(struct fperf_rec_stack){.id = ++rich->stacks,
				      .outcome = gap ? FPERF_STACK_TRUNCATED : FPERF_STACK_COMPLETE,
				      .count = count,
				      .frames = frames});
	return rich->stacks;
}

static void sample(struct rich *rich, uint64_t time, uint32_t thread, uint32_t id, int kernel)
{
	add(rich, FPERF_RECORD_SAMPLE,
	    &(struct fperf_rec_sample){.time_ns = time,
				       .thread = thread,
				       .stack = id,
				       .cpu = thread != MAIN && thread != SECOND,
				       .kernel = (uint8_t)kernel,
				       .period = MS});
}

static void off(struct rich *rich, struct fperf_rec_offcpu interval, uint64_t out, uint64_t wake, uint64_t in)
{
	interval.out_ns = START + out;
	interval.wake_ns = wake ? START + wake : 0;
	interval.in_ns = START + in;
	interval.cpu_out = interval.cpu_in = interval.thread != MAIN && interval.thread != SECOND;
	add(rich, FPERF_RECORD_OFFCPU, &interval);
}

/* 40 frames of 10 ms, of which 2 ms are slept; frame 20 takes 40 ms: 30 ms are a lock. */
static void main_thread(struct rich *rich)
{
	uint32_t work[3], wait = stack(rich, 0x180, 5, 0), clear = stack(rich, 0x280, 2, 0);
	uint64_t now = 100 * MS;

	for (uint32_t i = 0; i < 3; i++)
		work[i] = stack(rich, 0, i + 1, i == 2);
	mark(rich, START + now, MAIN, PRESENT);
	for (int frame = 0; frame < 40; frame++) {
		uint64_t end = now + (frame == 20 ? 40 : 10) * MS;

		sample(rich, START + now + 1 * MS, MAIN, work[0], 0);
		sample(rich, START + now + 3 * MS, MAIN, frame == 7 ? STACK_LOST : work[1], 0);
		sample(rich, START + now + 5 * MS, MAIN, frame % 2 ? work[2] : clear, frame % 2 == 0);
		if (frame == 20)
			off(rich,
			    (struct fperf_rec_offcpu){.thread = MAIN,
						      .state = 1,
						      .syscall = 202,
						      .args = {0x1000, 0x80, 2},
						      .waker = WORKER,
						      .stack = wait},
			    now + 6 * MS, now + 36 * MS, now + 36 * MS + 1500);
		off(rich, (struct fperf_rec_offcpu){.thread = MAIN, .state = 1, .syscall = 230}, end - 2 * MS,
		    end - MS / 2, end - MS / 4);
		now = end;
		mark(rich, START + now, MAIN, PRESENT);
	}
}

/* The worker on the other CPU: a wait of each kind, one after the other. */
static void worker_thread(struct rich *rich)
{
	const struct fperf_rec_offcpu waits[] = {
		{.thread = WORKER, .state = 1, .syscall = 202, .args = {0x2000, 0x80, 2}, .waker = MAIN},
		{.thread = WORKER, .state = 1, .syscall = 7, .waker = OUTSIDE},
		{.thread = WORKER, .state = 2, .syscall = 0, .flags = FPERF_OFFCPU_IOWAIT},
		{.thread = WORKER, .state = 2, .syscall = -1},
		{.thread = WORKER,
		 .state = 0,
		 .syscall = -1,
		 .flags = FPERF_OFFCPU_PREEMPTED,
		 .next = OUTSIDE,
		 .prev = OUTSIDE},
		{.thread = WORKER, .state = 1, .syscall = 35},
	};
	uint32_t work = stack(rich, 0, 7, 0), wait = stack(rich, 0, 8, 0);
	uint64_t now = 10 * MS;

	for (int round = 0; round < 60; round++) {
		struct fperf_rec_offcpu interval = waits[round % 6];

		interval.stack = wait;
		mark(rich, START + now + MS / 2, WORKER, BEGIN);
		mark(rich, START + now + MS, WORKER, BEGIN);
		sample(rich, START + now + 2 * MS, WORKER, work, 0);
		mark(rich, START + now + 2 * MS + 300, WORKER, END);
		mark(rich, START + now + 3 * MS, WORKER, END);
		mark(rich, START + now + 3 * MS + 100, WORKER, MARK);
		off(rich, interval, now + 4 * MS, interval.state ? now + 9 * MS : 0,
		    now + 9 * MS + 100 * (uint64_t)round);
		now += 12 * MS;
	}
	mark(rich, START + now, WORKER, BEGIN); /* never ends */
}

static void others(struct rich *rich)
{
	uint32_t second = stack(rich, 0, 10, 0);

	for (uint64_t time = 801; time < 990; time += 3)
		sample(rich, START + time * MS, SECOND, second, 0);
	off(rich, (struct fperf_rec_offcpu){.thread = SECOND, .state = 1, .syscall = 230}, 950 * MS, 960 * MS,
	    960 * MS);
	off(rich, (struct fperf_rec_offcpu){.thread = LOADER, .state = 1, .syscall = 7, .waker = MAIN},
	    51 * MS, 0, 780 * MS);
	for (uint32_t i = 0; i < 20; i++) {
		add(rich, FPERF_RECORD_FREQ,
		    &(struct fperf_rec_freq){.time_ns = START + i * 50 * MS,
					     .cpu = (uint16_t)(i % 2),
					     .khz = 1000000 + i * 100000,
					     .min_khz = 500000,
					     .max_khz = 3000000});
		add(rich, FPERF_RECORD_COUNTER,
		    &(struct fperf_rec_counter){.time_ns = START + i * 50 * MS,
						.counter = i % 3,
						.index = i % 3 == FPERF_COUNTER_RSS,
						.value = (int64_t)(i + 1) << 20});
	}
}

int rich_session_write(struct fperf_writer *writer, int hostile, struct fperf_error *err)
{
	struct rich rich = {
		.writer = writer, .err = err, .thread = "Main", .mark = "spawned", .scope = "path"};
	char *longest = calloc(1, LONG_NAME + 1);

	memcpy(rich.names, plain_names, sizeof(rich.names));
	if (longest && hostile) {
		for (size_t i = 0; i < LONG_NAME; i++)
			longest[i] = "Template<int, "[i % 14];
		rich.names[1] = "a;b c\td";
		rich.names[2] = "operator\"\" _kg(\\)";
		rich.names[3] = "line\nbreak\r\x1b[2J";
		rich.names[5] = "\xff\xfe not UTF-8 \xe2\x80\xae";
		rich.names[7] = longest;
		rich.names[8] = "foo<(E)0>::bar, </script> 123";
		rich.names[10] = "=1+1";
		rich.thread = "ma;in\n\"\xff";
		rich.mark = "mark\";\n\xc0";
		rich.scope = "=scope,\t'\"";
	}
	head(&rich);
	modules(&rich);
	tasks(&rich);
	markers(&rich);
	main_thread(&rich);
	worker_thread(&rich);
	others(&rich);
	free(longest);
	return longest ? rich.failed : -1;
}
