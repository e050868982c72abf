/* make_session KIND FILE: writes a session file of a known kind, for the tests of the command line.
 *   empty    closed properly, nothing was recorded
 *   hostile  names with escapes, quotes, newlines and bytes that are no UTF-8, wherever a name can be
 *   rich     every kind of record, for exports; rich-hostile: with names that break careless formats
 *   frames   60 frames of 10 ms, frame 40 takes 40 ms: its thread waits 30 ms for a lock
 *   run SEED PERCENT [SCENE [MODEL]]
 *            600 frames of about 10 ms, every 50th a hitch of 30 ms; a game that is so much slower than it
 *            might be, in one function; runs of another seed differ by chance
 */
#include "frameperf/meta.h"
#include "frameperf/wire.h"
#include "rich_session.h"
#include "session/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS    1000000ull
#define START (1000 * MS)

static struct fperf_error error;

static void check(int ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "make_session: %s\n", error.text);
	exit(1);
}

static void add(struct fperf_writer *writer, enum fperf_record_type type, const void *record)
{
	check(fperf_writer__add(writer, type, record, &error));
}

static void meta(struct fperf_writer *writer, const char *key, const char *value)
{
	check(fperf_writer__meta(writer, key, value, &error));
}

static void source(struct fperf_writer *writer, enum fperf_source which, enum fperf_source_state state,
		   const char *reason)
{
	add(writer, FPERF_RECORD_SOURCE,
	    &(struct fperf_rec_source){
		    .source = which, .state = state, .reason = fperf_writer__text(writer, reason)});
}

static void basics(struct fperf_writer *writer, const char *name)
{
	meta(writer, FPERF_META_SESSION_ID, "00112233445566778899aabbccddeeff");
	meta(writer, FPERF_META_LEVEL, "2");
	meta(writer, FPERF_META_HOST_KERNEL, "6.1.0");
	meta(writer, FPERF_META_HOST_ARCH, "x86_64");
	meta(writer, FPERF_META_HOST_CPUS, "2");
	meta(writer, FPERF_META_START_NS, "1000000000");
	meta(writer, FPERF_META_END_NS, "2000000000");
	meta(writer, FPERF_META_END_REASON, "target ended");
	meta(writer, FPERF_META_REALTIME_OFFSET, "1700000000000000000");
	meta(writer, FPERF_META_TARGET_PID, "4242");
	meta(writer, FPERF_META_TARGET_NAME, name);
	meta(writer, FPERF_META_SAMPLE_PERIOD_NS, "1000000");
	source(writer, FPERF_SOURCE_SAMPLE, FPERF_SOURCE_STATE_ACTIVE, "cpu-clock, 1000 Hz");
	source(writer, FPERF_SOURCE_SCHED, FPERF_SOURCE_STATE_ACTIVE, "");
	source(writer, FPERF_SOURCE_FREQ, FPERF_SOURCE_STATE_ABSENT, "no cpufreq driver");
}

static void task(struct fperf_writer *writer, uint32_t id, uint32_t tid, const char *name)
{
	add(writer, FPERF_RECORD_THREAD,
	    &(struct fperf_rec_thread){.id = id,
				       .process = 1,
				       .tid = tid,
				       .name = fperf_writer__text(writer, name),
				       .start_ns = 1});
}

static void process(struct fperf_writer *writer, const char *name, const char *path)
{
	add(writer, FPERF_RECORD_MODULE,
	    &(struct fperf_rec_module){
		    .id = 1, .path = fperf_writer__text(writer, path), .kind = FPERF_MODULE_ELF});
	add(writer, FPERF_RECORD_PROCESS,
	    &(struct fperf_rec_process){.id = 1,
					.pid = 4242,
					.name = fperf_writer__text(writer, name),
					.exe = fperf_writer__text(writer, path),
					.target = 1,
					.start_ns = 1});
	task(writer, 1, 4242, name);
}

static void marker(struct fperf_writer *writer, const char *name)
{
	source(writer, FPERF_SOURCE_FRAME, FPERF_SOURCE_STATE_ACTIVE, name);
	add(writer, FPERF_RECORD_MARKER,
	    &(struct fperf_rec_marker){.id = 1,
				       .kind = FPERF_MARKER_FRAME,
				       .surface_arg = 255,
				       .chosen = 1,
				       .name = fperf_writer__text(writer, name),
				       .path = fperf_writer__text(writer, "libGLX.so.0"),
				       .symbol = fperf_writer__text(writer, name)});
}

static void boundary(struct fperf_writer *writer, uint64_t time_ns)
{
	add(writer, FPERF_RECORD_MARK,
	    &(struct fperf_rec_mark){.time_ns = time_ns, .thread = 1, .marker = 1});
}

static void sample_in(struct fperf_writer *writer, uint64_t time_ns, uint32_t module, uint64_t offset,
		      uint64_t caller)
{
	static uint32_t stacks;
	const struct fperf_stack_frame frames[] = {
		{.module = module, .kind = FPERF_FRAME_PC, .offset = offset},
		{.module = module, .kind = FPERF_FRAME_RETURN, .offset = caller}};

	add(writer, FPERF_RECORD_STACK,
	    &(struct fperf_rec_stack){
		    .id = ++stacks, .outcome = FPERF_STACK_COMPLETE, .count = 2, .frames = frames});
	add(writer, FPERF_RECORD_SAMPLE,
	    &(struct fperf_rec_sample){.time_ns = time_ns, .thread = 1, .stack = stacks, .period = MS});
}

static void sample(struct fperf_writer *writer, uint64_t time_ns, uint64_t offset)
{
	sample_in(writer, time_ns, 1, offset, 0x100);
}

static void frames(struct fperf_writer *writer)
{
	uint64_t now = START + 10 * MS;

	boundary(writer, now);
	for (int i = 0; i < 60; i++) {
		uint64_t time = i == 40 ? 40 * MS : 10 * MS;

		if (i == 40)
			add(writer, FPERF_RECORD_OFFCPU,
			    &(struct fperf_rec_offcpu){.out_ns = now + 4 * MS,
						       .wake_ns = now + 34 * MS,
						       .in_ns = now + 34 * MS + 1000,
						       .thread = 1,
						       .state = 1,
						       .syscall = 202,
						       .args = {0x1000, 0x80, 2},
						       .waker = 2});
		sample(writer, now + 2 * MS, 0x1000 + (uint64_t)i % 3 * 64);
		now += time;
		boundary(writer, now);
	}
}

/* Even in -1..1. */
static double chance(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(int32_t)(*state >> 32) / 2147483648.0;
}

/* A run of a game: its thread runs all the time, three quarters of it in update(), which is the one that gets
 * slower. */
static void run(struct fperf_writer *writer, uint64_t seed, double percent)
{
	static const char *const functions[] = {"update", "draw", "main"};
	double slower = 1 + percent / 100, luck;
	uint64_t now = START + 10 * MS;
	char id[40], end[32];

	snprintf(id, sizeof(id), "%016llx%016llx", (unsigned long long)seed,
		 (unsigned long long)(percent * 1000));
	meta(writer, FPERF_META_SESSION_ID, id);
	seed = seed * 2862933555777941757ull + 3037000493ull;
	luck = 1 + 0.01 * chance(&seed);
	add(writer, FPERF_RECORD_MODULE,
	    &(struct fperf_rec_module){
		    .id = 2, .path = fperf_writer__text(writer, "[anon]"), .kind = FPERF_MODULE_ANON});
	for (uint64_t i = 0; i < 3; i++)
		add(writer, FPERF_RECORD_JIT_SYMBOL,
		    &(struct fperf_rec_jit_symbol){.process = 1,
						   .address = 0x1000 + 0x1000 * i,
						   .size = 0x1000,
						   .name = fperf_writer__text(writer, functions[i])});
	boundary(writer, now);
	for (int i = 0; i < 600; i++) {
		double ms = i % 50 == 25 ? 30 : 10 + chance(&seed);
		uint64_t time = (uint64_t)(ms * luck * (0.25 + 0.75 * slower) * 1e6);

		for (uint64_t at = 0; at + MS <= time; at += MS)
			sample_in(writer, now + at, 2, (double)at < (double)time * 0.25 ? 0x2000 : 0x1000,
				  0x3010);
		now += time;
		boundary(writer, now);
	}
	snprintf(end, sizeof(end), "%llu", (unsigned long long)now);
	meta(writer, FPERF_META_END_NS, end);
}

static void run_write(struct fperf_writer *writer, int argc, char **argv)
{
	basics(writer, "game");
	meta(writer, FPERF_META_HOST_MODEL, argc > 6 ? argv[6] : "Board");
	if (argc > 5)
		meta(writer, "label.scene", argv[5]);
	process(writer, "game", "/opt/game");
	marker(writer, "glXSwapBuffers");
	run(writer, strtoull(argv[3], NULL, 10), strtod(argv[4], NULL));
}

int main(int argc, char **argv)
{
	static const char hostile[] = "evil\x1b[2J\"';\n\xff\xe2\x80\xae,{}";
	struct fperf_writer_options options = {.owner_uid = (uid_t)-1, .owner_gid = (gid_t)-1};
	struct fperf_writer *writer = NULL;
	const char *name;

	if (argc < 3 || (strcmp(argv[1], "run") == 0 ? argc < 5 : argc != 3))
		return 2;
	options.path = argv[2];
	name = strcmp(argv[1], "hostile") ? "game" : hostile;
	check(fperf_writer__open(&options, &writer, &error));
	if (!strcmp(argv[1], "run")) {
		run_write(writer, argc, argv);
	} else if (!strcmp(argv[1], "empty")) {
		source(writer, FPERF_SOURCE_SAMPLE, FPERF_SOURCE_STATE_FAILED,
		       "perf_event_open: not permitted");
	} else if (!strncmp(argv[1], "rich", 4)) {
		check(rich_session_write(writer, !strcmp(argv[1], "rich-hostile"), &error));
	} else {
		basics(writer, name);
		process(writer, name,
			strcmp(argv[1], "hostile") ? "/opt/game" : "/opt/evil\x1b[2J\n\xff\"game");
		task(writer, 2, 4243, strcmp(argv[1], "hostile") ? "Worker" : "w\x07orker\xc0\xaf\t");
		marker(writer, strcmp(argv[1], "hostile") ? "glXSwapBuffers" : "swap\r\n\x1b]0;x\x07\xff");
		frames(writer);
	}
	if (!strcmp(argv[1], "hostile"))
		meta(writer, "label.sce\"ne\xff", hostile);
	check(fperf_writer__close(writer, &error));
	return 0;
}
