/* A trace for Perfetto (ui.perfetto.dev): scheduling as the kernel's own events, frames and the rest as track
 * events, stacks as StackSample packets, which Perfetto has for any profiler since version 58. */
#include "output/export_perfetto.h"

#include "frameperf/meta.h"

#include <errno.h>
#include <stdlib.h>

#define PACKET_LIMIT (64u << 20)
#define FLUSH_BYTES  (64u << 10)
#define TRACE_PACKET 1

enum { CLOCKS_CLOCK = 1 };
enum { CLOCK_ID = 1, CLOCK_TIME };
enum { CLOCK_REAL = 1, CLOCK_MONO = 3, CLOCK_BOOT = 6 };
enum { SYSTEM_UTSNAME = 1, SYSTEM_CPUS = 8 };
enum { UTSNAME_SYSTEM = 1, UTSNAME_RELEASE = 3, UTSNAME_MACHINE = 4 };
enum { TREE_PROCESS = 1, TREE_THREAD };
enum { PROCESS_PID = 1, PROCESS_COMMAND = 3, PROCESS_COMMAND_IS_NAME = 9 };
enum { THREAD_TID = 1, THREAD_NAME, THREAD_PROCESS };

size_t perfetto_packet__begin(struct perfetto *perfetto, uint64_t time_ns, enum perfetto_sequence sequence)
{
	size_t begin = fperf_protobuf__begin(&perfetto->out, TRACE_PACKET);

	fperf_protobuf__uint(&perfetto->out, PERFETTO_PACKET_TIME, time_ns + perfetto->boot_offset);
	if (sequence)
		fperf_protobuf__uint(&perfetto->out, PERFETTO_PACKET_SEQUENCE, sequence);
	return begin;
}

void perfetto_packet__end(struct perfetto *perfetto, size_t begin)
{
	fperf_protobuf__end(&perfetto->out, begin);
	if (perfetto->out.size < FLUSH_BYTES && !perfetto->out.failed)
		return;
	perfetto->failed |= perfetto->out.failed;
	fwrite(perfetto->out.data, 1, perfetto->out.size, perfetto->stream);
	fperf_buf__clear(&perfetto->out);
}

uint32_t fperf_perfetto__tid(const struct perfetto *perfetto, uint32_t thread)
{
	const struct fperf_rec_thread *record = fperf_session__thread(perfetto->export->session, thread);

	return record ? record->tid : 0;
}

static void clock_put(struct perfetto *perfetto, uint32_t id, uint64_t time_ns)
{
	size_t begin = fperf_protobuf__begin(&perfetto->out, CLOCKS_CLOCK);

	fperf_protobuf__uint(&perfetto->out, CLOCK_ID, id);
	fperf_protobuf__uint(&perfetto->out, CLOCK_TIME, time_ns);
	fperf_protobuf__end(&perfetto->out, begin);
}

static void clocks_put(struct perfetto *perfetto)
{
	const struct fperf_session *session = perfetto->export->session;
	uint64_t start = perfetto->export->analysis->start_ns;
	uint64_t real = fperf_session__meta_u64(session, FPERF_META_REALTIME_OFFSET, 0);
	size_t packet = perfetto_packet__begin(perfetto, start, 0), begin;

	begin = fperf_protobuf__begin(&perfetto->out, PERFETTO_PACKET_CLOCKS);
	clock_put(perfetto, CLOCK_BOOT, start + perfetto->boot_offset);
	clock_put(perfetto, CLOCK_MONO, start);
	if (real)
		clock_put(perfetto, CLOCK_REAL, start + real);
	fperf_protobuf__end(&perfetto->out, begin);
	perfetto_packet__end(perfetto, packet);
}

static void system_put(struct perfetto *perfetto)
{
	const struct fperf_session *session = perfetto->export->session;
	const char *release = fperf_session__meta(session, FPERF_META_HOST_KERNEL);
	const char *machine = fperf_session__meta(session, FPERF_META_HOST_ARCH);
	uint64_t cpus = fperf_session__meta_u64(session, FPERF_META_HOST_CPUS, 0);
	size_t packet = perfetto_packet__begin(perfetto, perfetto->export->analysis->start_ns, 0);
	size_t system = fperf_protobuf__begin(&perfetto->out, PERFETTO_PACKET_SYSTEM), name;

	name = fperf_protobuf__begin(&perfetto->out, SYSTEM_UTSNAME);
	fperf_protobuf__text(&perfetto->out, UTSNAME_SYSTEM, "Linux");
	fperf_protobuf__text(&perfetto->out, UTSNAME_RELEASE, release ? release : "");
	fperf_protobuf__text(&perfetto->out, UTSNAME_MACHINE, machine ? machine : "");
	fperf_protobuf__end(&perfetto->out, name);
	if (cpus)
		fperf_protobuf__uint(&perfetto->out, SYSTEM_CPUS, cpus);
	fperf_protobuf__end(&perfetto->out, system);
	perfetto_packet__end(perfetto, packet);
}

/* All processes and threads, also those that are only met as wakers. */
static void processes_put(struct perfetto *perfetto)
{
	const struct fperf_session *session = perfetto->export->session;
	const struct fperf_model *model = perfetto->export->analysis->model;
	const struct fperf_rec_process *processes;
	const struct fperf_rec_thread *threads;
	size_t packet, tree, begin, count;

	packet = perfetto_packet__begin(perfetto, perfetto->export->analysis->start_ns, 0);
	tree = fperf_protobuf__begin(&perfetto->out, PERFETTO_PACKET_PROCESS_TREE);
	processes = fperf_session__records(session, FPERF_RECORD_PROCESS, &count);
	for (size_t i = 0; i < count; i++) {
		begin = fperf_protobuf__begin(&perfetto->out, TREE_PROCESS);
		fperf_protobuf__uint(&perfetto->out, PROCESS_PID, processes[i].pid);
		fperf_protobuf__text(&perfetto->out, PROCESS_COMMAND,
				     fperf_session__string(session, processes[i].name, NULL));
		fperf_protobuf__uint(&perfetto->out, PROCESS_COMMAND_IS_NAME, 1);
		fperf_protobuf__end(&perfetto->out, begin);
	}
	threads = fperf_session__records(session, FPERF_RECORD_THREAD, &count);
	for (size_t i = 0; i < count; i++) {
		struct fperf_thread_ref ref = fperf_model__thread_ref(model, threads[i].id, UINT64_MAX);

		if (!ref.thread)
			continue;
		begin = fperf_protobuf__begin(&perfetto->out, TREE_THREAD);
		fperf_protobuf__uint(&perfetto->out, THREAD_TID, ref.tid);
		fperf_protobuf__text(&perfetto->out, THREAD_NAME, ref.name);
		fperf_protobuf__uint(&perfetto->out, THREAD_PROCESS, ref.pid);
		fperf_protobuf__end(&perfetto->out, begin);
	}
	fperf_protobuf__end(&perfetto->out, tree);
	perfetto_packet__end(perfetto, packet);
}

static int perfetto_write(const struct fperf_export *export, FILE *stream, struct fperf_error *err)
{
	struct perfetto perfetto = {
		.export = export,
		.stream = stream,
		.boot_offset = fperf_session__meta_u64(export->session, FPERF_META_BOOTTIME_OFFSET, 0),
	};
	int failed;

	fperf_buf__init(&perfetto.out, PACKET_LIMIT);
	clocks_put(&perfetto);
	system_put(&perfetto);
	processes_put(&perfetto);
	failed = fperf_perfetto__sched(&perfetto) || fperf_perfetto__tracks(&perfetto) ||
		 fperf_perfetto__stacks(&perfetto);
	failed = failed || perfetto.failed || perfetto.out.failed;
	if (perfetto.out.size && !failed)
		fwrite(perfetto.out.data, 1, perfetto.out.size, stream);
	fperf_buf__free(&perfetto.out);
	if (failed)
		return fperf_error__no_memory(err, "the Perfetto trace");
	return fperf_export__stream_end(stream, "the Perfetto trace", err);
}

const struct fperf_export_ops fperf_export_perfetto = {
	.name = "perfetto", .extension = ".pftrace", .write = perfetto_write};
