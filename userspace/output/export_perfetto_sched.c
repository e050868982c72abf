/* Who ran where, as the kernel's sched_switch and sched_waking events. The session knows the target's threads
 * only: what else a CPU ran is shown where both neighbours name it, and is idle otherwise. */
#include "output/export_perfetto.h"

#include "base/vec.h"
#include "frameperf/wire.h"

#include <errno.h>
#include <stdlib.h>

#define BUNDLE_EVENTS 512

enum { BUNDLE_CPU = 1, BUNDLE_EVENT };
enum { EVENT_TIME = 1, EVENT_PID, EVENT_SWITCH = 4, EVENT_FLAGS = 5, EVENT_FREQUENCY = 11 };
enum { EVENT_BLOCKED_REASON = 18, EVENT_WAKING = 20 };
enum { SWITCH_PREV_NAME = 1, SWITCH_PREV, SWITCH_PREV_PRIORITY, SWITCH_PREV_STATE };
enum { SWITCH_NEXT_NAME = 5, SWITCH_NEXT, SWITCH_NEXT_PRIORITY };
enum { WAKING_NAME = 1, WAKING_TID, WAKING_PRIORITY, WAKING_SUCCESS, WAKING_CPU };
enum { REASON_TID = 1, REASON_IO = 3 };
enum { FREQUENCY_KHZ = 1, FREQUENCY_CPU };

#define PRIORITY 120  /* of an ordinary task; the session does not have it */
#define IRQ_FLAG 0x08 /* common_flags: in an interrupt */

/* prev_state of sched_switch, since Linux 4.14 */
#define STATE_RUNNABLE	0
#define STATE_DEAD	0x10
#define STATE_IDLE	0x80 /* stands for time that is not exported */
#define STATE_PREEMPTED 0x100
#define STATE_REPORTED	0x7f

enum sched_kind { SCHED_OUT, SCHED_WAKE, SCHED_REASON, SCHED_IN, SCHED_FREQUENCY }; /* order at equal times */

struct sched_event {
	uint64_t time_ns;
	uint32_t thread; /* that leaves, is woken, comes; kHz for a frequency */
	uint32_t other;	 /* who comes, wakes, leaves: thread id, 0: not known */
	uint16_t cpu, state;
	uint8_t kind;
	bool irq; /* woken by an interrupt */
};

struct sched {
	struct perfetto *perfetto;
	struct sched_event *events;
	size_t count, capacity;
	/* The stretch of running at hand. */
	uint64_t from_ns, to_ns;
	uint32_t thread;
	uint16_t cpu;
	bool running;
	uint32_t interval; /* that was met last */
	uint32_t prev;	   /* who had the core before the stretch to come */
};

static int event_add(struct sched *sched, struct sched_event event)
{
	struct sched_event *slot = fperf_vec__push(&sched->events, &sched->count, &sched->capacity);

	if (!slot)
		return -ENOMEM;
	*slot = event;
	return 0;
}

/* ---- from pieces to events ---- */

static uint16_t state_left(const struct fperf_piece *piece, const struct fperf_rec_offcpu *record)
{
	if (!record)
		return STATE_IDLE;
	if (record->flags & FPERF_OFFCPU_EXITED)
		return STATE_DEAD;
	if (piece->state == FPERF_STATE_PREEMPTED)
		return STATE_PREEMPTED;
	/* the lowest bit alone: what a task waits for; the others say how */
	return (uint16_t)(record->state & STATE_REPORTED & -record->state);
}

/* Ends the stretch; `piece` and `record` say how, NULL: it is only not exported further. */
static int stretch_end(struct sched *sched, const struct fperf_piece *piece,
		       const struct fperf_rec_offcpu *record)
{
	struct sched_event out = {.time_ns = sched->to_ns,
				  .thread = sched->thread,
				  .other = record ? record->next : 0,
				  .cpu = sched->cpu,
				  .state = state_left(piece, record),
				  .kind = SCHED_OUT};

	if (!sched->running)
		return 0;
	sched->running = false;
	if (event_add(sched, out))
		return -ENOMEM;
	if (!record || !(record->flags & FPERF_OFFCPU_IOWAIT))
		return 0;
	out.kind = SCHED_REASON;
	return event_add(sched, out);
}

static int stretch_begin(struct sched *sched, const struct fperf_piece *piece)
{
	const struct fperf_model *model = sched->perfetto->export->analysis->model;
	const struct fperf_timeline *timeline = piece->timeline;
	uint16_t cpu = piece->cpu;

	if (sched->running && sched->to_ns == piece->from_ns) {
		sched->to_ns = piece->to_ns;
		return 0;
	}
	if (stretch_end(sched, piece, NULL))
		return -ENOMEM;
	if (!piece->cpu_known && timeline->sample_count)
		cpu = model->samples[timeline->samples[0]].cpu;
	sched->running = true;
	sched->thread = timeline->thread->id;
	sched->cpu = cpu;
	sched->from_ns = piece->from_ns;
	sched->to_ns = piece->to_ns;
	return event_add(sched, (struct sched_event){.time_ns = piece->from_ns,
						     .thread = sched->thread,
						     .other = sched->prev,
						     .cpu = cpu,
						     .kind = SCHED_IN});
}

static int waits(struct sched *sched, const struct fperf_piece *piece)
{
	const struct fperf_export *export = sched->perfetto->export;
	const struct fperf_model *model = export->analysis->model;
	const struct fperf_interval *interval = &piece->timeline->intervals[piece->interval];
	const struct fperf_rec_offcpu *record = &model->offcpu[interval->record];
	uint64_t wake = fperf_timeline__wake_ns(model, interval);

	if (sched->interval == piece->interval)
		return 0;
	sched->interval = piece->interval;
	sched->prev = record->prev;
	if (stretch_end(sched, piece, record))
		return -ENOMEM;
	if (piece->state == FPERF_STATE_PREEMPTED || !record->wake_ns ||
	    !fperf_export__has_time(export, wake))
		return 0;
	return event_add(sched, (struct sched_event){.time_ns = wake,
						     .thread = piece->timeline->thread->id,
						     .other = record->waker,
						     .cpu = record->cpu_in,
						     .kind = SCHED_WAKE,
						     .irq = record->flags & FPERF_OFFCPU_WAKER_IRQ});
}

static int piece_take(void *context, const struct fperf_piece *piece)
{
	struct sched *sched = context;

	if (piece->state == FPERF_STATE_USER || piece->state == FPERF_STATE_KERNEL)
		return stretch_begin(sched, piece);
	if (piece->interval != FPERF_NO_RECORD)
		return waits(sched, piece);
	return stretch_end(sched, piece, NULL);
}

static int frequencies_add(struct sched *sched)
{
	const struct fperf_export *export = sched->perfetto->export;
	const struct fperf_rec_freq *freqs;
	size_t count;

	freqs = fperf_session__records(export->session, FPERF_RECORD_FREQ, &count);
	for (size_t i = 0; i < count; i++) {
		if (freqs[i].khz && fperf_export__has_time(export, freqs[i].time_ns) &&
		    event_add(sched, (struct sched_event){.time_ns = freqs[i].time_ns,
							  .thread = freqs[i].khz,
							  .cpu = freqs[i].cpu,
							  .kind = SCHED_FREQUENCY}))
			return -ENOMEM;
	}
	return 0;
}

static int compare_events(const void *a, const void *b)
{
	const struct sched_event *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

/* ---- writing ---- */

/* One CPU, event by event. */
struct cpu_writer {
	struct sched *sched;
	size_t packet, bundle, events; /* events: in the bundle at hand */
	uint32_t current;	       /* thread id; 0: idle or not known */
	uint32_t early;		       /* thread id; came before the current one had left */
};

static const char *thread_name(const struct sched *sched, uint32_t thread, uint64_t time_ns)
{
	if (!thread)
		return "swapper";
	return fperf_model__thread_ref(sched->perfetto->export->analysis->model, thread, time_ns).name;
}

static size_t event_begin(struct cpu_writer *writer, const struct sched_event *event, uint32_t pid)
{
	struct perfetto *perfetto = writer->sched->perfetto;
	size_t begin;

	if (!writer->events) {
		writer->packet = fperf_protobuf__begin(&perfetto->out, 1);
		writer->bundle = fperf_protobuf__begin(&perfetto->out, PERFETTO_PACKET_FTRACE);
		fperf_protobuf__uint(&perfetto->out, BUNDLE_CPU, event->cpu);
	}
	writer->events++;
	begin = fperf_protobuf__begin(&perfetto->out, BUNDLE_EVENT);
	fperf_protobuf__uint(&perfetto->out, EVENT_TIME, event->time_ns + perfetto->boot_offset);
	fperf_protobuf__uint(&perfetto->out, EVENT_PID, pid);
	return begin;
}

static void bundle_end(struct cpu_writer *writer)
{
	if (!writer->events)
		return;
	writer->events = 0;
	fperf_protobuf__end(&writer->sched->perfetto->out, writer->bundle);
	perfetto_packet__end(writer->sched->perfetto, writer->packet);
}

static void event_end(struct cpu_writer *writer, size_t begin)
{
	fperf_protobuf__end(&writer->sched->perfetto->out, begin);
	if (writer->events == BUNDLE_EVENTS)
		bundle_end(writer);
}

static void switch_put(struct cpu_writer *writer, const struct sched_event *event, uint32_t next,
		       uint16_t state)
{
	struct perfetto *perfetto = writer->sched->perfetto;
	uint32_t prev_tid = fperf_perfetto__tid(perfetto, writer->current);
	uint32_t next_tid = fperf_perfetto__tid(perfetto, next), prev = writer->current;
	struct fperf_buf *out = &perfetto->out;
	size_t begin, fields;

	writer->current = next;
	if (prev_tid == next_tid) /* went on after an exec */
		return;
	begin = event_begin(writer, event, prev_tid);
	fields = fperf_protobuf__begin(out, EVENT_SWITCH);
	fperf_protobuf__text(out, SWITCH_PREV_NAME, thread_name(writer->sched, prev, event->time_ns));
	fperf_protobuf__uint(out, SWITCH_PREV, prev_tid);
	fperf_protobuf__uint(out, SWITCH_PREV_PRIORITY, PRIORITY);
	fperf_protobuf__uint(out, SWITCH_PREV_STATE, state);
	fperf_protobuf__text(out, SWITCH_NEXT_NAME, thread_name(writer->sched, next, event->time_ns));
	fperf_protobuf__uint(out, SWITCH_NEXT, next_tid);
	fperf_protobuf__uint(out, SWITCH_NEXT_PRIORITY, PRIORITY);
	fperf_protobuf__end(out, fields);
	event_end(writer, begin);
}

static bool is_target(const struct sched *sched, uint32_t thread)
{
	const struct fperf_timeline *timeline =
		fperf_model__timeline(sched->perfetto->export->analysis->model, thread);

	return timeline && timeline->target;
}

/* The event by which the next thread comes to the CPU that one leaves; NULL: none does. */
static const struct sched_event *next_in(const struct sched_event *event, const struct sched_event *end)
{
	for (const struct sched_event *later = event + 1; later < end && later->cpu == event->cpu; later++) {
		if (later->kind == SCHED_IN)
			return later;
	}
	return NULL;
}

/* Who has the CPU after a thread leaves it: the one that comes at the same moment, or the task of which is
 * known that it was there meanwhile. */
static uint32_t next_of(const struct sched_event *event, const struct sched_event *end)
{
	const struct sched_event *in = next_in(event, end);

	return in && in->time_ns == event->time_ns ? in->thread : event->other;
}

static void waking_put(struct cpu_writer *writer, const struct sched_event *event)
{
	struct perfetto *perfetto = writer->sched->perfetto;
	size_t begin = event_begin(writer, event, fperf_perfetto__tid(perfetto, event->other)), fields;
	struct fperf_buf *out = &perfetto->out;

	if (event->irq)
		fperf_protobuf__uint(out, EVENT_FLAGS, IRQ_FLAG);
	fields = fperf_protobuf__begin(out, EVENT_WAKING);
	fperf_protobuf__text(out, WAKING_NAME, thread_name(writer->sched, event->thread, event->time_ns));
	fperf_protobuf__uint(out, WAKING_TID, fperf_perfetto__tid(perfetto, event->thread));
	fperf_protobuf__uint(out, WAKING_PRIORITY, PRIORITY);
	fperf_protobuf__uint(out, WAKING_SUCCESS, 1);
	fperf_protobuf__uint(out, WAKING_CPU, event->cpu);
	fperf_protobuf__end(out, fields);
	event_end(writer, begin);
}

static void reason_put(struct cpu_writer *writer, const struct sched_event *event)
{
	struct fperf_buf *out = &writer->sched->perfetto->out;
	size_t begin = event_begin(writer, event, 0), fields;

	fields = fperf_protobuf__begin(out, EVENT_BLOCKED_REASON);
	fperf_protobuf__uint(out, REASON_TID, fperf_perfetto__tid(writer->sched->perfetto, event->thread));
	fperf_protobuf__uint(out, REASON_IO, 1);
	fperf_protobuf__end(out, fields);
	event_end(writer, begin);
}

static void frequency_put(struct cpu_writer *writer, const struct sched_event *event)
{
	struct fperf_buf *out = &writer->sched->perfetto->out;
	size_t begin = event_begin(writer, event, 0), fields;

	fields = fperf_protobuf__begin(out, EVENT_FREQUENCY);
	fperf_protobuf__uint(out, FREQUENCY_KHZ, event->thread);
	fperf_protobuf__uint(out, FREQUENCY_CPU, event->cpu);
	fperf_protobuf__end(out, fields);
	event_end(writer, begin);
}

/* When a thread left was seen by the recorder; when one came is worked out, within microseconds, where the
 * kernel hid that switch. So a thread that seems to come too early comes when the other one leaves. */
static void came(struct cpu_writer *writer, const struct sched_event *event)
{
	if (!writer->current || !is_target(writer->sched, writer->current))
		switch_put(writer, event, event->thread, STATE_RUNNABLE);
	else if (writer->current != event->thread)
		writer->early = event->thread;
}

static void left(struct cpu_writer *writer, const struct sched_event *event, const struct sched_event *end)
{
	uint32_t next = writer->early ? writer->early : next_of(event, end);

	if (writer->current == event->thread) {
		switch_put(writer, event, next, event->state);
		writer->early = 0;
	} else if (writer->early == event->thread) {
		writer->early = 0; /* both cannot have run */
	}
}

static void event_put(struct cpu_writer *writer, const struct sched_event *event,
		      const struct sched_event *end)
{
	switch ((enum sched_kind)event->kind) {
	case SCHED_OUT:
		left(writer, event, end);
		break;
	case SCHED_IN:
		came(writer, event);
		break;
	case SCHED_WAKE:
		waking_put(writer, event);
		break;
	case SCHED_REASON:
		reason_put(writer, event);
		break;
	default:
		frequency_put(writer, event);
	}
}

/* ---- tasks outside of the target ---- */

/* That a task had a CPU between two threads of the target. */
struct claim {
	uint64_t from_ns, to_ns;
	struct sched_event *event;
};

static int compare_claims(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->event->other != y->event->other)
		return x->event->other < y->event->other ? -1 : 1;
	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* Keeps the task that a thread left the CPU to where the next thread found it there, and where no other CPU
 * has it at that time: nobody saw it move. */
static int outside_resolve(struct sched *sched)
{
	struct claim *claims = calloc(sched->count + 1, sizeof(*claims));
	const struct sched_event *end = sched->events + sched->count, *in;
	uint64_t busy_to = 0;
	size_t count = 0;

	if (!claims)
		return -ENOMEM;
	for (size_t i = 0; i < sched->count; i++) {
		struct sched_event *event = &sched->events[i];

		if (event->kind != SCHED_OUT)
			continue;
		in = next_in(event, end);
		if (event->other && in && in->other == event->other && !is_target(sched, event->other))
			claims[count++] = (struct claim){event->time_ns, in->time_ns, event};
		else
			event->other = 0;
	}
	if (count)
		qsort(claims, count, sizeof(*claims), compare_claims);
	for (size_t i = 0; i < count; i++) {
		bool same = i && claims[i].event->other == claims[i - 1].event->other;

		busy_to = same ? busy_to : 0;
		if (claims[i].from_ns < busy_to)
			claims[i].to_ns = 0; /* not shown; it stays in the list to be compared with */
		else
			busy_to = claims[i].to_ns;
	}
	for (size_t i = 0; i < count; i++)
		claims[i].event->other = claims[i].to_ns ? claims[i].event->other : 0;
	free(claims);
	return 0;
}

int fperf_perfetto__sched(struct perfetto *perfetto)
{
	const struct fperf_model *model = perfetto->export->analysis->model;
	struct sched sched = {.perfetto = perfetto};
	struct cpu_writer writer = {.sched = &sched};
	int failed = frequencies_add(&sched);

	for (size_t i = 0; model->has_sched && i < model->timeline_count && !failed; i++) {
		sched.interval = FPERF_NO_RECORD;
		sched.prev = 0;
		failed = fperf_export__pieces(perfetto->export, i, piece_take, &sched);
		if (!failed)
			failed = stretch_end(&sched, NULL, NULL);
	}
	if (!failed && sched.count)
		qsort(sched.events, sched.count, sizeof(*sched.events), compare_events);
	if (!failed)
		failed = outside_resolve(&sched);
	for (size_t i = 0; !failed && i < sched.count; i++) {
		if (i && sched.events[i].cpu != sched.events[i - 1].cpu) {
			bundle_end(&writer);
			writer.current = writer.early = 0;
		}
		event_put(&writer, &sched.events[i], sched.events + sched.count);
	}
	bundle_end(&writer);
	free(sched.events);
	return failed ? -ENOMEM : 0;
}
