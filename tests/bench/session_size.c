/* How large a session becomes, and what writing and reading it costs: ten made-up minutes of a game, 1000
 * samples and about 2000 off-CPU intervals a second, 3000 stacks of 20 stack frames. Prints a Markdown table
 * for docs/session-format.md.
 *
 *   session_size [FILE [TIME_GRAIN_NS [game|samples]]]
 *
 * "game": with threads, modules (whose files are not there) and 60 frames a second too, for `report`;
 * "samples": the same without switches.
 */
#include "base/clock.h"
#include "session/chunk.h"
#include "session/schema.h"
#include "session/session.h"
#include "session/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS	    4
#define THREADS	    12
#define STACKS	    3000
#define DEPTH	    20
#define SECONDS	    600
#define SAMPLE_NS   1000000ull
#define INTERVAL_NS 2000000ull /* mean time that a thread runs */
#define FLUSH_NS    (3 * FPERF_NS_PER_S)

struct bench {
	struct fperf_writer *writer;
	struct fperf_error err;
	uint64_t random;
	uint32_t known_stacks;
	uint64_t cpu_free[CPUS]; /* since when it runs what it runs */
	uint32_t running[CPUS];	 /* thread, 0: idle */
	uint64_t out[THREADS + 1];
	bool game, no_switches;
	uint64_t next_frame;
};

static uint64_t next_random(struct bench *bench) /* splitmix64 */
{
	uint64_t z = (bench->random += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Exponentially distributed around a mean. */
static uint64_t next_delay(struct bench *bench, double mean)
{
	double uniform = (double)((next_random(bench) >> 11) + 1) / 9007199254740993.0;

	return (uint64_t)(-mean * log(uniform)) + 1;
}

static void add(struct bench *bench, enum fperf_record_type type, const void *record)
{
	if (!fperf_writer__add(bench->writer, type, record, &bench->err))
		return;
	fprintf(stderr, "session_size: %s\n", bench->err.text);
	exit(1);
}

/* Stacks are seen the more often the lower their number; each shares all but its leaf side with a neighbour.
 */
static uint32_t stack_of(struct bench *bench, uint32_t thread)
{
	uint32_t wanted = (uint32_t)next_delay(bench, STACKS / 12.0) * THREADS % STACKS + thread;
	struct fperf_stack_frame frames[DEPTH] = {{0}};

	wanted = wanted % STACKS + 1;
	while (bench->known_stacks < wanted) {
		uint32_t id = ++bench->known_stacks;

		for (uint32_t at = 0; at < DEPTH; at++) {
			uint64_t spread = id >> (at < 12 ? at : 12);

			frames[at] = (struct fperf_stack_frame){
				.module = 1 + (at + id) % 3 * (at < 4),
				.kind = at ? FPERF_FRAME_RETURN : FPERF_FRAME_PC,
				.offset = 0x10000 + (spread * 2654435761u % 0x400000) + at * 64};
			frames[at].module += !frames[at].module;
		}
		add(bench, FPERF_RECORD_STACK,
		    &(struct fperf_rec_stack){
			    .id = id, .outcome = FPERF_STACK_COMPLETE, .count = DEPTH, .frames = frames});
	}
	return wanted;
}

/* On one CPU: what runs is switched out, another thread is switched in. */
static void hand_over(struct bench *bench, uint32_t cpu, uint64_t now)
{
	uint32_t out = bench->running[cpu], in = 0;
	struct fperf_rec_offcpu interval;

	for (int tries = 0; !in && tries < 4; tries++) {
		in = 1 + (uint32_t)(next_random(bench) % THREADS);
		for (uint32_t other = 0; other < CPUS; other++)
			in = bench->running[other] == in ? 0 : in;
	}
	if (out)
		bench->out[out] = now;
	bench->running[cpu] = in;
	if (!in || !bench->out[in])
		return;
	interval = (struct fperf_rec_offcpu){
		.out_ns = bench->out[in],
		.wake_ns = next_random(bench) % 3 ? now - next_delay(bench, 15000) : 0,
		.in_ns = now,
		.thread = in,
		.syscall = -1,
		.cpu_in = (uint16_t)cpu,
		.cpu_out = (uint16_t)cpu,
		.prev = out,
		.next = 1 + (uint32_t)(next_random(bench) % THREADS),
	};
	if (interval.wake_ns) {
		interval.state = 1;
		interval.syscall = 202;
		interval.args[0] = 0x7f0000001000 + in % 5 * 64;
		interval.waker = 1 + (in + 1) % THREADS;
	} else {
		interval.flags = 1;
	}
	interval.wake_ns = interval.wake_ns < interval.out_ns ? 0 : interval.wake_ns;
	if (bench->no_switches)
		return;
	interval.stack = stack_of(bench, in);
	add(bench, FPERF_RECORD_OFFCPU, &interval);
}

static void game_add(struct bench *bench)
{
	struct fperf_rec_thread thread = {.process = 1};
	struct fperf_rec_module module = {0};
	char name[40];

	for (module.id = 1; module.id <= 4; module.id++) {
		snprintf(name, sizeof(name), "/nowhere/module%u.so", module.id);
		module.path = fperf_writer__text(bench->writer, name);
		add(bench, FPERF_RECORD_MODULE, &module);
	}
	add(bench, FPERF_RECORD_PROCESS,
	    &(struct fperf_rec_process){
		    .id = 1, .pid = 100, .name = fperf_writer__text(bench->writer, "game"), .target = 1});
	for (thread.id = 1; thread.id <= THREADS; thread.id++) {
		snprintf(name, sizeof(name), "thread%u", thread.id);
		thread.tid = 99 + thread.id;
		thread.name = fperf_writer__text(bench->writer, name);
		add(bench, FPERF_RECORD_THREAD, &thread);
	}
	add(bench, FPERF_RECORD_MARKER,
	    &(struct fperf_rec_marker){.id = 1,
				       .surface_arg = 255,
				       .chosen = 1,
				       .name = fperf_writer__text(bench->writer, "present"),
				       .path = fperf_writer__text(bench->writer, "/nowhere/module1.so")});
}

/* Every 120th frame takes 40 ms, the others between 15 and 17. */
static void frame_add(struct bench *bench, uint64_t now)
{
	if (!bench->game || now < bench->next_frame)
		return;
	add(bench, FPERF_RECORD_MARK, &(struct fperf_rec_mark){.time_ns = now, .thread = 1, .marker = 1});
	bench->next_frame =
		now + (next_random(bench) % 120 ? 15000000 + next_random(bench) % 2000000 : 40000000);
}

static void record_all(struct bench *bench)
{
	uint64_t start = 1000000000000ull, next_flush = start + FLUSH_NS, sample = 0;
	uint64_t next_switch[CPUS];

	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		next_switch[cpu] = start + next_delay(bench, INTERVAL_NS);
	while (sample < SECONDS * FPERF_NS_PER_S / SAMPLE_NS) {
		uint64_t now = start + sample * SAMPLE_NS + next_delay(bench, 3000);
		uint32_t cpu = (uint32_t)(sample % CPUS), thread = bench->running[cpu];

		for (uint32_t other = 0; other < CPUS; other++) {
			while (next_switch[other] < now) {
				hand_over(bench, other, next_switch[other]);
				next_switch[other] += next_delay(bench, INTERVAL_NS);
			}
		}
		thread = bench->running[cpu] ? bench->running[cpu] : 1;
		frame_add(bench, now);
		add(bench, FPERF_RECORD_SAMPLE,
		    &(struct fperf_rec_sample){.time_ns = now,
					       .thread = thread,
					       .stack = stack_of(bench, thread),
					       .cpu = (uint16_t)cpu,
					       .kernel = next_random(bench) % 10 == 0,
					       .period = SAMPLE_NS});
		sample++;
		if (now > next_flush) {
			fperf_writer__flush(bench->writer, false, &bench->err);
			next_flush += FLUSH_NS;
		}
	}
}

static void table_print(const char *path)
{
	uint64_t chunks[FPERF_RECORD_TYPES] = {0}, records[FPERF_RECORD_TYPES] = {0};
	uint64_t raw[FPERF_RECORD_TYPES] = {0}, stored[FPERF_RECORD_TYPES] = {0};
	uint8_t bytes[FPERF_CHUNK_HEADER_SIZE];
	struct fperf_chunk_header header;
	FILE *file = fopen(path, "rb");

	if (!file)
		return;
	fseek(file, FPERF_FILE_HEADER_SIZE, SEEK_SET);
	while (fread(bytes, sizeof(bytes), 1, file) == 1 && fperf_chunk_header__unpack(&header, bytes)) {
		chunks[header.type]++;
		records[header.type] += header.count;
		raw[header.type] += header.raw_size;
		stored[header.type] += header.stored_size + sizeof(bytes);
		fseek(file, header.stored_size, SEEK_CUR);
	}
	fclose(file);
	printf("| type | records | chunks | raw bytes | bytes in the file | per record "
	       "|\n|---|---|---|---|---|---|\n");
	for (uint32_t type = 1; type < FPERF_RECORD_TYPES; type++)
		if (records[type])
			printf("| %s | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %.2f |\n",
			       fperf_session__type_name(type), records[type], chunks[type], raw[type],
			       stored[type], (double)stored[type] / (double)records[type]);
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "/tmp/session_size.fperf";
	struct fperf_writer_options options = {.path = path,
					       .owner_uid = (uid_t)-1,
					       .owner_gid = (gid_t)-1,
					       .time_grain_ns =
						       argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0};
	struct bench bench = {
		.random = 1, .game = argc > 3, .no_switches = argc > 3 && !strcmp(argv[3], "samples")};
	struct fperf_session_damage damage;
	struct fperf_writer_stats stats;
	struct fperf_session *session;
	uint64_t before = fperf_clock__process_cpu_ns(), written, read;

	if (fperf_writer__open(&options, &bench.writer, &bench.err)) {
		fprintf(stderr, "session_size: %s\n", bench.err.text);
		return 1;
	}
	if (bench.game)
		game_add(&bench);
	record_all(&bench);
	fperf_writer__flush(bench.writer, false, &bench.err);
	fperf_writer__stats(bench.writer, &stats);
	if (fperf_writer__close(bench.writer, &bench.err)) {
		fprintf(stderr, "session_size: %s\n", bench.err.text);
		return 1;
	}
	written = fperf_clock__process_cpu_ns();
	if (fperf_session__load(path, 0, &session, &damage, &bench.err)) {
		fprintf(stderr, "session_size: %s\n", bench.err.text);
		return 1;
	}
	read = fperf_clock__process_cpu_ns();
	fperf_session__free(session);
	table_print(path);
	printf("\n%" PRIu64 " bytes; writing %.0f ns, reading %.0f ns of CPU time per record\n",
	       stats.file_bytes,
	       (double)(written - before) /
		       (double)(stats.records[FPERF_RECORD_SAMPLE] + stats.records[FPERF_RECORD_OFFCPU]),
	       (double)(read - written) /
		       (double)(stats.records[FPERF_RECORD_SAMPLE] + stats.records[FPERF_RECORD_OFFCPU]));

	return damage.first[0] != '\0';
}
