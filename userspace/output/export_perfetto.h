/* Perfetto's trace format, as far as the export writes it; shared by its files. Message and field numbers are
 * those of github.com/google/perfetto, protos/perfetto/trace, as of version 58. */
#ifndef FPERF_OUTPUT_EXPORT_PERFETTO_H
#define FPERF_OUTPUT_EXPORT_PERFETTO_H

#include "base/buf.h"
#include "base/map.h"
#include "base/strtab.h"
#include "output/export.h"
#include "output/protobuf.h"

enum perfetto_packet { /* fields of message TracePacket */
		       PERFETTO_PACKET_FTRACE = 1,
		       PERFETTO_PACKET_PROCESS_TREE = 2,
		       PERFETTO_PACKET_CLOCKS = 6,
		       PERFETTO_PACKET_TIME = 8,
		       PERFETTO_PACKET_SEQUENCE = 10,
		       PERFETTO_PACKET_EVENT = 11,
		       PERFETTO_PACKET_INTERNED = 12,
		       PERFETTO_PACKET_FLAGS = 13,
		       PERFETTO_PACKET_SYSTEM = 45,
		       PERFETTO_PACKET_DEFAULTS = 59,
		       PERFETTO_PACKET_TRACK = 60,
		       PERFETTO_PACKET_STACK_SAMPLE = 135,
};

enum { PERFETTO_FLAG_CLEARED = 1, PERFETTO_FLAG_NEEDS_STATE = 2 };

/* Packets of one sequence share interned data. */
enum perfetto_sequence {
	PERFETTO_SEQUENCE_EVENTS = 1, /* tracks and what is on them */
	PERFETTO_SEQUENCE_CPU,	      /* samples */
	PERFETTO_SEQUENCE_WAITS,      /* waits with their stacks */
};

struct perfetto {
	const struct fperf_export *export;
	FILE *stream;
	struct fperf_buf out;
	uint64_t boot_offset; /* added to every time: the trace's clock is CLOCK_BOOTTIME */
	bool failed;	      /* out of memory; failures of the stream show there */
};

/* Around the fields of one packet in perfetto->out. A sequence of 0: none. */
size_t perfetto_packet__begin(struct perfetto *perfetto, uint64_t time_ns, enum perfetto_sequence sequence);
void perfetto_packet__end(struct perfetto *perfetto, size_t begin);

/* The parts of a trace. 0 or -ENOMEM. */
int fperf_perfetto__sched(struct perfetto *perfetto);  /* switches, wakers, clocks of CPUs */
int fperf_perfetto__tracks(struct perfetto *perfetto); /* frames, chains, marks, scopes, counters */
int fperf_perfetto__stacks(struct perfetto *perfetto); /* samples and waits */

/* Numbers of threads in the trace, 0: idle or not known. */
uint32_t fperf_perfetto__tid(const struct perfetto *perfetto, uint32_t thread);

#endif
