/* make_game SECONDS FILE: a made-up session of a game at 60 frames a second, for the tests of the page:
 * eleven threads of which about one core is busy, so that 1000 Hz gives about 1000 samples a second, some
 * 2000 off-CPU intervals a second, 3000 stacks, two clusters of CPUs, memory, temperature and power, and a
 * slow frame every few seconds. The same SECONDS give the same session.
 */
#include "frameperf/meta.h"
#include "frameperf/wire.h"
#include "session/writer.h"

#include <stdio.h>
#include <stdlib.h>

#define US	  1000ull
#define MS	  1000000ull
#define SECOND	  1000000000ull
#define START	  (1000 * SECOND)
#define FRAME	  (16667 * US)
#define STACKS	  3000
#define DEPTH	  20
#define WORKERS	  6
#define SYS_FUTEX 202
#define STATE_D	  2u

enum { RENDER = 1, LOGIC, AUDIO, LOADER, SCRIPT, WORKER, THREADS = WORKER + WORKERS - 1, STRANGER };

static const char *const names[] = {"",		"RenderThread", "GameThread", "Audio",
				    "Loader",	"Script",	"Worker 0",   "Worker 1",
				    "Worker 2", "Worker 3",	"Worker 4",   "Worker 5"};

enum fault { FAULT_NONE, FAULT_LOCK, FAULT_IO, FAULT_CPU, FAULT_PREEMPTED, FAULTS };

struct game {
	struct fperf_writer *writer;
	struct fperf_error err;
	uint64_t random;
	uint64_t out_ns[THREADS + 1];	 /* since when a thread is off the core; 0: never ran */
	uint64_t to_sample[THREADS + 1]; /* CPU time until its next sample */
	uint32_t stacks;
};

static uint64_t next_random(struct game *game, uint64_t below) /* splitmix64 */
{
	uint64_t z = (game->random += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (z ^ (z >> 31)) % below;
}

static void add(struct game *game, enum fperf_record_type type, const void *record)
{
	if (!fperf_writer__add(game->writer, type, record, &game->err))
		return;
	fprintf(stderr, "make_game: %s\n", game->err.text);
	exit(1);
}

/* Stacks of a thread share their root side; low numbers are the frequent ones. */
static uint32_t stack_of(struct game *game, uint32_t thread)
{
	uint32_t most = 1 + (uint32_t)next_random(game, STACKS / THREADS);
	uint32_t wanted = (uint32_t)next_random(game, most) * THREADS + thread;
	struct fperf_stack_frame frames[DEPTH] = {{0}};

	while (game->stacks < wanted) {
		uint32_t id = ++game->stacks, kind = id / THREADS, depth = 6 + id % (DEPTH - 5);

		for (uint32_t at = 0; at < depth; at++) {
			uint32_t up = depth - 1 - at, spread = up < 3 ? up : kind >> (DEPTH - up) / 2;

			frames[at] = (struct fperf_stack_frame){
				.module = 1 + (at < 3 ? (id + at) % 4 : 0),
				.kind = at ? FPERF_FRAME_RETURN : FPERF_FRAME_PC,
				.offset = 0x1000 + ((id % THREADS * 64 + up) * 4096 + spread % 61 * 16)};
		}
		add(game, FPERF_RECORD_STACK,
		    &(struct fperf_rec_stack){.id = id,
					      .outcome = id % 23 ? FPERF_STACK_COMPLETE : FPERF_STACK_NO_ROW,
					      .count = depth,
					      .frames = frames});
	}
	return wanted;
}

/* The thread gets on a core: the off-CPU interval that ends. */
static void switch_in(struct game *game, uint32_t thread, uint64_t now, uint32_t waker, enum fault fault)
{
	struct fperf_rec_offcpu interval = {
		.out_ns = game->out_ns[thread],
		.in_ns = now,
		.thread = thread,
		.state = 1,
		.syscall = SYS_FUTEX,
		.args = {0x7f0000001000 + thread * 64, 0x80, fault == FAULT_LOCK ? 2 : 0},
		.cpu_in = (uint16_t)(thread % 4),
		.cpu_out = (uint16_t)(thread % 4),
		.waker = waker,
		.prev = next_random(game, 4) ? 0 : STRANGER,
		.stack = stack_of(game, thread),
	};

	if (!game->out_ns[thread])
		return;
	interval.wake_ns = now - 2 * US - next_random(game, next_random(game, 50) ? 40 * US : 400 * US);
	if (fault == FAULT_IO) {
		interval.state = STATE_D;
		interval.flags = FPERF_OFFCPU_IOWAIT;
		interval.syscall = 0;
		interval.waker = 0;
	} else if (fault == FAULT_PREEMPTED) {
		interval.state = 0;
		interval.flags = FPERF_OFFCPU_PREEMPTED;
		interval.wake_ns = 0;
		interval.syscall = -1;
		interval.next = STRANGER;
		interval.waker = 0;
	}
	if (interval.wake_ns && interval.wake_ns < interval.out_ns)
		interval.wake_ns = interval.out_ns;
	add(game, FPERF_RECORD_OFFCPU, &interval);
}

/* The thread runs for a while. */
static void run(struct game *game, uint32_t thread, uint64_t from, uint64_t to, uint32_t waker,
		enum fault fault)
{
	uint64_t at = from;

	if (from <= game->out_ns[thread])
		from = game->out_ns[thread] + 5 * US;
	if (to <= from)
		return;
	switch_in(game, thread, from, waker, fault);
	for (at = from + game->to_sample[thread]; at < to; at += MS + next_random(game, 12 * US)) {
		add(game, FPERF_RECORD_SAMPLE,
		    &(struct fperf_rec_sample){.time_ns = at,
					       .thread = thread,
					       .stack = stack_of(game, thread),
					       .cpu = (uint16_t)(thread % 4),
					       .kernel = next_random(game, 12) == 0,
					       .period = MS});
	}
	game->to_sample[thread] = at - to;
	game->out_ns[thread] = to;
}

/* One frame that begins now; returns when it ends. */
static uint64_t frame(struct game *game, uint64_t now, enum fault fault)
{
	uint64_t logic = now + 100 * US, render = logic + 3 * MS + next_random(game, 2 * MS), end;
	uint64_t wait = fault == FAULT_NONE ? 0 : 12 * MS + next_random(game, 45 * MS);

	run(game, LOGIC, logic, render, RENDER, FAULT_NONE);
	for (uint32_t i = 0; i < WORKERS; i++)
		if (next_random(game, 3))
			run(game, WORKER + i, logic + 500 * US + i * 90 * US,
			    logic + 900 * US + next_random(game, 1600 * US), LOGIC, FAULT_NONE);
	run(game, AUDIO, now + 2 * MS, now + 2 * MS + 150 * US + next_random(game, 200 * US), 0, FAULT_NONE);
	if (!next_random(game, 6))
		run(game, LOADER, now + 4 * MS, now + 5 * MS + next_random(game, 2 * MS), LOGIC, FAULT_NONE);
	run(game, SCRIPT, render - MS, render + next_random(game, 900 * US), LOGIC, FAULT_NONE);
	run(game, RENDER, render, render + 2 * MS, LOGIC, FAULT_NONE);
	if (fault == FAULT_CPU)
		run(game, RENDER, render + 2100 * US, render + 2 * MS + wait, LOGIC, FAULT_NONE);
	else if (fault == FAULT_LOCK)
		run(game, WORKER, render + 2 * MS, render + 2 * MS + wait - 100 * US, LOGIC, FAULT_NONE);
	render += 2 * MS + wait;
	run(game, RENDER, render + 50 * US, render + 3 * MS + next_random(game, 800 * US), WORKER, fault);
	end = now + FRAME + next_random(game, 300 * US) - 150 * US;
	end = wait && end < render + 4 * MS ? render + 4 * MS : end;
	run(game, RENDER, end - 60 * US, end + 20 * US, 0, FAULT_NONE);
	add(game, FPERF_RECORD_MARK, &(struct fperf_rec_mark){.time_ns = end, .thread = RENDER, .marker = 1});
	return end;
}

static void counter(struct game *game, uint64_t now, enum fperf_counter which, uint32_t index, int64_t value)
{
	add(game, FPERF_RECORD_COUNTER,
	    &(struct fperf_rec_counter){.time_ns = now, .counter = which, .index = index, .value = value});
}

/* What the machine says about itself twice a second. */
static void machine(struct game *game, uint64_t now)
{
	for (uint32_t cpu = 0; cpu < 8; cpu++)
		add(game, FPERF_RECORD_FREQ,
		    &(struct fperf_rec_freq){.time_ns = now,
					     .cpu = (uint16_t)cpu,
					     .kind = FPERF_FREQ_CURRENT,
					     .khz = (cpu < 4 ? 600000 : 900000) +
						    (uint32_t)next_random(game, 5) *
							    (cpu < 4 ? 300000 : 480000)});
	counter(game, now, FPERF_COUNTER_RSS, 1, (int64_t)((now - START) / 4000 + (700 << 20)));
	counter(game, now, FPERF_COUNTER_TEMPERATURE, 0, (int64_t)(41000 + next_random(game, 9000)));
	counter(game, now, FPERF_COUNTER_POWER, 0, (int64_t)(2800000 + next_random(game, 1500000)));
}

/* ---- what does not change ---- */

static void meta(struct game *game, const char *key, const char *value)
{
	if (fperf_writer__meta(game->writer, key, value, &game->err) < 0)
		exit(1);
}

static void sources(struct game *game)
{
	static const uint8_t active[] = {FPERF_SOURCE_SAMPLE, FPERF_SOURCE_SCHED,   FPERF_SOURCE_FREQ,
					 FPERF_SOURCE_FRAME,  FPERF_SOURCE_PROCESS, FPERF_SOURCE_COUNTER};

	for (size_t i = 0; i < sizeof(active); i++)
		add(game, FPERF_RECORD_SOURCE,
		    &(struct fperf_rec_source){.source = active[i], .state = FPERF_SOURCE_STATE_ACTIVE});
}

static void metas(struct game *game, uint64_t seconds)
{
	char end[32];

	snprintf(end, sizeof(end), "%llu", START + seconds * SECOND);
	meta(game, FPERF_META_LEVEL, "2");
	meta(game, FPERF_META_HOST_KERNEL, "6.1.0");
	meta(game, FPERF_META_HOST_ARCH, "x86_64");
	meta(game, FPERF_META_HOST_CPUS, "8");
	meta(game, FPERF_META_START_NS, "1000000000000");
	meta(game, FPERF_META_END_NS, end);
	meta(game, FPERF_META_END_REASON, "duration");
	meta(game, FPERF_META_REALTIME_OFFSET, "1700000000000000000");
	meta(game, FPERF_META_TARGET_PID, "4000");
	meta(game, FPERF_META_TARGET_NAME, "made-up game");
	meta(game, FPERF_META_SAMPLE_PERIOD_NS, "1000000");
}

static void tasks(struct game *game)
{
	static const char *const modules[] = {"/opt/game/game", "/opt/game/libengine.so",
					      "/usr/lib/libc.so.6", "/usr/lib/libGLX_driver.so"};

	for (uint32_t i = 0; i < 4; i++)
		add(game, FPERF_RECORD_MODULE,
		    &(struct fperf_rec_module){.id = i + 1,
					       .path = fperf_writer__text(game->writer, modules[i]),
					       .kind = FPERF_MODULE_ELF});
	for (uint32_t i = 0; i < 2; i++)
		add(game, FPERF_RECORD_PROCESS,
		    &(struct fperf_rec_process){
			    .id = i + 1,
			    .pid = 4000 + i * 1000,
			    .name = fperf_writer__text(game->writer, i ? "indexer" : "game"),
			    .exe = fperf_writer__text(game->writer, modules[0]),
			    .target = !i,
			    .start_ns = 1});
	for (uint32_t i = 1; i <= STRANGER; i++)
		add(game, FPERF_RECORD_THREAD,
		    &(struct fperf_rec_thread){
			    .id = i,
			    .process = i == STRANGER ? 2 : 1,
			    .tid = i == STRANGER ? 5000 : 3999 + i,
			    .name = fperf_writer__text(game->writer, i == STRANGER ? "indexer" : names[i]),
			    .start_ns = 1});
	for (uint32_t cpu = 0; cpu < 8; cpu++)
		add(game, FPERF_RECORD_FREQ,
		    &(struct fperf_rec_freq){.time_ns = START,
					     .cpu = (uint16_t)cpu,
					     .kind = FPERF_FREQ_HARDWARE,
					     .min_khz = cpu < 4 ? 600000 : 900000,
					     .max_khz = cpu < 4 ? 1800000 : 2820000});
	add(game, FPERF_RECORD_MARKER,
	    &(struct fperf_rec_marker){.id = 1,
				       .kind = FPERF_MARKER_FRAME,
				       .surface_arg = 255,
				       .chosen = 1,
				       .name = fperf_writer__text(game->writer, "glXSwapBuffers"),
				       .path = fperf_writer__text(game->writer, "libGLX.so.0"),
				       .symbol = fperf_writer__text(game->writer, "glXSwapBuffers")});
}

int main(int argc, char **argv)
{
	struct fperf_writer_options options = {.owner_uid = (uid_t)-1,
					       .owner_gid = (gid_t)-1,
					       .session_id = "00112233445566778899aabbccddeeff"};
	struct game game = {.random = 1};
	uint64_t seconds = argc == 3 ? strtoull(argv[1], NULL, 10) : 0, now = START + MS, asked = START;

	if (!seconds) {
		fprintf(stderr, "usage: make_game SECONDS FILE\n");
		return 2;
	}
	options.path = argv[2];
	if (fperf_writer__open(&options, &game.writer, &game.err)) {
		fprintf(stderr, "make_game: %s\n", game.err.text);
		return 1;
	}
	metas(&game, seconds);
	sources(&game);
	tasks(&game);
	while (now < START + seconds * SECOND - 200 * MS) {
		enum fault fault = next_random(&game, 240) ? FAULT_NONE : 1 + next_random(&game, FAULTS - 1);

		if (now >= asked) {
			machine(&game, now);
			asked += SECOND / 2;
		}
		now = frame(&game, now, fault);
	}
	if (fperf_writer__close(game.writer, &game.err)) {
		fprintf(stderr, "make_game: %s\n", game.err.text);
		return 1;
	}
	return 0;
}
