/* What is shown on tracks of its own: frames, critical chains with their arrows, marks, scopes, counters. */
#include "output/export_perfetto.h"

#include "output/export_scopes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { TRACK_ID = 1, TRACK_NAME, TRACK_PROCESS, TRACK_THREAD, TRACK_PARENT, TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID, THREAD_NAME = 5 };
enum { COUNTER_UNIT_NAME = 6 };
enum { EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_CATEGORY = 22, EVENT_NAME };
enum { EVENT_COUNTER = 30, EVENT_FLOW = 47, EVENT_FLOW_END };
enum { TYPE_BEGIN = 1, TYPE_END, TYPE_INSTANT, TYPE_COUNTER };
enum { ANNOTATION_INT = 4, ANNOTATION_TEXT = 6, ANNOTATION_NAME = 10 };

/* Kinds of tracks; with the id of what it is about it makes a track's own id. */
enum track_kind {
	TRACKS_PROCESS = 1,
	TRACKS_THREAD,
	TRACKS_FRAMES,
	TRACKS_CHAIN,
	TRACKS_SCOPES,
	TRACKS_COUNTERS
};

struct tracks {
	struct perfetto *perfetto;
	struct fperf_map described; /* ids of tracks that were written */
	bool cleared;		    /* the sequence was begun */
};

static uint64_t track_id(enum track_kind kind, uint64_t about)
{
	return (uint64_t)kind << 56 | about;
}

static size_t packet_begin(struct tracks *tracks, uint64_t time_ns)
{
	size_t begin = perfetto_packet__begin(tracks->perfetto, time_ns, PERFETTO_SEQUENCE_EVENTS);

	if (!tracks->cleared)
		fperf_protobuf__uint(&tracks->perfetto->out, PERFETTO_PACKET_FLAGS, PERFETTO_FLAG_CLEARED);
	tracks->cleared = true;
	return begin;
}

/* ---- tracks ---- */

/* Whether the track is new; it is described now. */
static bool is_new(struct tracks *tracks, uint64_t id)
{
	if (fperf_map__get(&tracks->described, id, NULL))
		return false;
	if (fperf_map__set(&tracks->described, id, 1))
		tracks->perfetto->failed = true;
	return true;
}

static size_t descriptor_begin(struct tracks *tracks, uint64_t id, uint64_t parent, size_t *packet)
{
	struct fperf_buf *out = &tracks->perfetto->out;
	size_t begin;

	*packet = packet_begin(tracks, tracks->perfetto->export->analysis->start_ns);
	begin = fperf_protobuf__begin(out, PERFETTO_PACKET_TRACK);
	fperf_protobuf__uint(out, TRACK_ID, id);
	if (parent)
		fperf_protobuf__uint(out, TRACK_PARENT, parent);
	return begin;
}

static void descriptor_end(struct tracks *tracks, size_t begin, size_t packet)
{
	fperf_protobuf__end(&tracks->perfetto->out, begin);
	perfetto_packet__end(tracks->perfetto, packet);
}

static uint64_t process_track(struct tracks *tracks, uint32_t process)
{
	const struct fperf_session *session = tracks->perfetto->export->session;
	const struct fperf_rec_process *record = fperf_session__process(session, process);
	struct fperf_buf *out = &tracks->perfetto->out;
	uint64_t id = track_id(TRACKS_PROCESS, record ? record->pid : 0);
	size_t packet, begin, fields;

	if (!is_new(tracks, id))
		return id;
	begin = descriptor_begin(tracks, id, 0, &packet);
	fields = fperf_protobuf__begin(out, TRACK_PROCESS);
	fperf_protobuf__uint(out, PROCESS_PID, record ? record->pid : 0);
	fperf_protobuf__text(out, PROCESS_NAME,
			     record ? fperf_session__string(session, record->name, NULL) : "");
	fperf_protobuf__end(out, fields);
	descriptor_end(tracks, begin, packet);
	return id;
}

static uint64_t thread_track(struct tracks *tracks, const struct fperf_timeline *timeline)
{
	struct fperf_buf *out = &tracks->perfetto->out;
	uint64_t id = track_id(TRACKS_THREAD, timeline->thread->tid);
	uint64_t parent = process_track(tracks, timeline->process);
	size_t packet, begin, fields;

	if (!is_new(tracks, id))
		return id;
	begin = descriptor_begin(tracks, id, parent, &packet);
	fields = fperf_protobuf__begin(out, TRACK_THREAD);
	fperf_protobuf__uint(out, THREAD_PID, timeline->pid);
	fperf_protobuf__uint(out, THREAD_TID, timeline->thread->tid);
	fperf_protobuf__text(out, THREAD_NAME, fperf_export__thread_name(tracks->perfetto->export, timeline));
	fperf_protobuf__end(out, fields);
	descriptor_end(tracks, begin, packet);
	return id;
}

/* A track with a name, below another one. `unit`: it is a counter; NULL: it has slices. */
static uint64_t named_track(struct tracks *tracks, uint64_t id, uint64_t parent, const char *name,
			    const char *unit)
{
	struct fperf_buf *out = &tracks->perfetto->out;
	size_t packet, begin, fields;

	if (!is_new(tracks, id))
		return id;
	begin = descriptor_begin(tracks, id, parent, &packet);
	fperf_protobuf__text(out, TRACK_NAME, name);
	if (unit) {
		fields = fperf_protobuf__begin(out, TRACK_COUNTER);
		fperf_protobuf__text(out, COUNTER_UNIT_NAME, unit);
		fperf_protobuf__end(out, fields);
	}
	descriptor_end(tracks, begin, packet);
	return id;
}

/* ---- events ---- */

static size_t event_begin(struct tracks *tracks, uint64_t time_ns, uint64_t track, uint32_t type,
			  size_t *packet)
{
	struct fperf_buf *out = &tracks->perfetto->out;
	size_t begin;

	*packet = packet_begin(tracks, time_ns);
	begin = fperf_protobuf__begin(out, PERFETTO_PACKET_EVENT);
	fperf_protobuf__uint(out, EVENT_TYPE, type);
	fperf_protobuf__uint(out, EVENT_TRACK, track);
	return begin;
}

static void event_end(struct tracks *tracks, size_t begin, size_t packet)
{
	fperf_protobuf__end(&tracks->perfetto->out, begin);
	perfetto_packet__end(tracks->perfetto, packet);
}

static void end_put(struct tracks *tracks, uint64_t time_ns, uint64_t track)
{
	size_t packet, begin = event_begin(tracks, time_ns, track, TYPE_END, &packet);

	event_end(tracks, begin, packet);
}

static void annotate_text(struct tracks *tracks, const char *name, const char *text)
{
	struct fperf_buf *out = &tracks->perfetto->out;
	size_t begin;

	if (!text)
		return;
	begin = fperf_protobuf__begin(out, EVENT_ANNOTATION);
	fperf_protobuf__text(out, ANNOTATION_NAME, name);
	fperf_protobuf__text(out, ANNOTATION_TEXT, text);
	fperf_protobuf__end(out, begin);
}

static void annotate_int(struct tracks *tracks, const char *name, uint64_t value)
{
	struct fperf_buf *out = &tracks->perfetto->out;
	size_t begin = fperf_protobuf__begin(out, EVENT_ANNOTATION);

	fperf_protobuf__text(out, ANNOTATION_NAME, name);
	fperf_protobuf__int(out, ANNOTATION_INT, (int64_t)value);
	fperf_protobuf__end(out, begin);
}

static void name_put(struct tracks *tracks, const char *category, const char *name)
{
	fperf_protobuf__text(&tracks->perfetto->out, EVENT_CATEGORY, category);
	fperf_protobuf__text(&tracks->perfetto->out, EVENT_NAME, name);
}

/* ---- frames ---- */

static void verdict_put(struct tracks *tracks, const struct fperf_verdict *verdict)
{
	annotate_text(tracks, "verdict", verdict->text);
	annotate_text(tracks, "cause", fperf_cause__name(verdict->cause));
	annotate_text(tracks, "thread", verdict->thread.name);
	annotate_text(tracks, "function", verdict->place.function);
	annotate_text(tracks, "module", verdict->place.module);
	annotate_int(tracks, "excess_ns", verdict->excess_ns);
}

static void frames_put(struct tracks *tracks)
{
	const struct fperf_analysis *analysis = tracks->perfetto->export->analysis;
	size_t slow = 0;

	for (size_t i = 0; i < analysis->frame_count; i++) {
		const struct fperf_frame *frame = &analysis->frames[i];
		const struct fperf_timeline *timeline = fperf_model__timeline(analysis->model, frame->thread);
		size_t packet, begin;
		uint64_t track;
		char name[40];

		while (slow < analysis->slow_count && analysis->slow[slow].frame < i)
			slow++;
		if (!fperf_export__has_frame(tracks->perfetto->export, frame))
			continue;
		track = named_track(tracks, track_id(TRACKS_FRAMES, 0),
				    timeline ? process_track(tracks, timeline->process) : 0, "Frames", NULL);
		snprintf(name, sizeof(name), "%s %zu", frame->slow ? "Slow frame" : "Frame", i);
		begin = event_begin(tracks, frame->start_ns, track, TYPE_BEGIN, &packet);
		name_put(tracks, frame->slow ? "slow_frame" : "frame", name);
		annotate_int(tracks, "active_ns", frame->active_ns);
		if (slow < analysis->slow_count && analysis->slow[slow].frame == i &&
		    analysis->slow[slow].has_verdict)
			verdict_put(tracks, &analysis->slow[slow].verdict);
		event_end(tracks, begin, packet);
		end_put(tracks, frame->end_ns, track);
	}
}

/* ---- critical chains ---- */

static void link_put(struct tracks *tracks, const struct fperf_chain_link *link, uint64_t track,
		     uint64_t flow, bool from_before, bool to_next)
{
	struct fperf_buf *out = &tracks->perfetto->out;
	size_t packet, begin = event_begin(tracks, link->from_ns, track, TYPE_BEGIN, &packet);
	char *name;

	if (asprintf(&name, "%s%s%s", fperf_state__name(link->state), link->place.function ? " in " : "",
		     link->place.function ? link->place.function : "") < 0) {
		tracks->perfetto->failed = true;
		name = NULL;
	}
	name_put(tracks, "critical_chain", name ? name : "");
	free(name);
	if (to_next)
		fperf_protobuf__fixed64(out, EVENT_FLOW, flow);
	if (from_before)
		fperf_protobuf__fixed64(out, EVENT_FLOW_END, flow - 1);
	annotate_text(tracks, "module", link->place.module);
	if (link->by.thread)
		annotate_text(tracks, "by", link->by.name);
	event_end(tracks, begin, packet);
	end_put(tracks, link->to_ns, track);
}

/* Arrows go from each piece of a chain to the next one where the thread changes. */
static void chain_put(struct tracks *tracks, const struct fperf_slow_frame *slow, uint64_t *flow)
{
	const struct fperf_model *model = tracks->perfetto->export->analysis->model;

	for (size_t i = 0; i < slow->chain_count; i++, (*flow)++) {
		const struct fperf_chain_link *link = &slow->chain[i];
		const struct fperf_timeline *timeline = fperf_model__timeline(model, link->thread.thread);
		uint64_t track;

		if (!timeline)
			continue;
		track = named_track(tracks, track_id(TRACKS_CHAIN, timeline->thread->tid),
				    thread_track(tracks, timeline), "Critical chain", NULL);
		link_put(tracks, link, track, *flow,
			 i > 0 && link[-1].thread.thread != link->thread.thread &&
				 fperf_model__timeline(model, link[-1].thread.thread),
			 i + 1 < slow->chain_count && link[1].thread.thread != link->thread.thread &&
				 fperf_model__timeline(model, link[1].thread.thread));
	}
}

static void chains_put(struct tracks *tracks)
{
	const struct fperf_analysis *analysis = tracks->perfetto->export->analysis;
	uint64_t flow = 1;

	for (size_t i = 0; i < analysis->slow_count; i++) {
		if (fperf_export__has_frame(tracks->perfetto->export,
					    &analysis->frames[analysis->slow[i].frame]))
			chain_put(tracks, &analysis->slow[i], &flow);
		flow++;
	}
}

/* ---- marks, scopes, counters ---- */

static void marks_put(struct tracks *tracks)
{
	const struct fperf_export *export = tracks->perfetto->export;
	const struct fperf_rec_mark *marks;
	size_t count;

	marks = fperf_session__records(export->session, FPERF_RECORD_MARK, &count);
	for (size_t i = 0; i < count; i++) {
		const struct fperf_rec_marker *marker =
			fperf_session__marker(export->session, marks[i].marker);
		const struct fperf_timeline *timeline =
			fperf_model__timeline(export->analysis->model, marks[i].thread);
		size_t packet, begin;
		uint64_t track;

		if (!marker || marker->kind != FPERF_MARKER_MARK || !timeline ||
		    !fperf_export__has_time(export, marks[i].time_ns))
			continue;
		track = thread_track(tracks, timeline);
		begin = event_begin(tracks, marks[i].time_ns, track, TYPE_INSTANT, &packet);
		name_put(tracks, "mark", fperf_session__string(export->session, marker->name, NULL));
		event_end(tracks, begin, packet);
	}
}

/* One track for each thread and name: scopes of other names may overlap them. */
static int scopes_put(struct tracks *tracks)
{
	const struct fperf_export *export = tracks->perfetto->export;
	struct fperf_error ignored = {0}; /* out of memory: there is nothing else to say */
	struct fperf_scope *scopes;
	size_t count;

	if (fperf_scopes__find(export->session, &scopes, &count, &ignored))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct fperf_timeline *timeline =
			fperf_model__timeline(export->analysis->model, scopes[i].thread);
		const struct fperf_rec_marker *marker =
			fperf_session__marker(export->session, scopes[i].marker);
		size_t packet, begin;
		const char *name;
		uint64_t track;

		if (!timeline || !fperf_export__has_time(export, scopes[i].from_ns))
			continue;
		name = fperf_session__string(export->session, marker->name, NULL);
		track = named_track(tracks,
				    track_id(TRACKS_SCOPES, (uint64_t)timeline->thread->tid << 24 |
								    (marker->name & 0xffffff)),
				    thread_track(tracks, timeline), name, NULL);
		begin = event_begin(tracks, scopes[i].from_ns, track, TYPE_BEGIN, &packet);
		name_put(tracks, "scope", name);
		event_end(tracks, begin, packet);
		end_put(tracks, scopes[i].to_ns, track);
	}
	free(scopes);
	return 0;
}

static uint64_t counter_track(struct tracks *tracks, const struct fperf_rec_counter *counter)
{
	uint64_t id = track_id(TRACKS_COUNTERS, (uint64_t)counter->counter << 32 | counter->index);
	char name[40];

	switch (counter->counter) {
	case FPERF_COUNTER_RSS:
		return named_track(tracks, id, process_track(tracks, counter->index), "Memory (RSS)", "B");
	case FPERF_COUNTER_TEMPERATURE:
		snprintf(name, sizeof(name), "Temperature of zone %" PRIu32, counter->index);
		return named_track(tracks, id, 0, name, "m°C");
	case FPERF_COUNTER_POWER:
		snprintf(name, sizeof(name), "Power %" PRIu32, counter->index);
		return named_track(tracks, id, 0, name, "µW");
	default:
		return 0; /* of a newer version */
	}
}

static void counters_put(struct tracks *tracks)
{
	const struct fperf_export *export = tracks->perfetto->export;
	const struct fperf_rec_counter *counters;
	size_t count;

	counters = fperf_session__records(export->session, FPERF_RECORD_COUNTER, &count);
	for (size_t i = 0; i < count; i++) {
		size_t packet, begin;
		uint64_t track;

		if (!fperf_export__has_time(export, counters[i].time_ns))
			continue;
		track = counter_track(tracks, &counters[i]);
		if (!track)
			continue;
		begin = event_begin(tracks, counters[i].time_ns, track, TYPE_COUNTER, &packet);
		fperf_protobuf__int(&tracks->perfetto->out, EVENT_COUNTER, counters[i].value);
		event_end(tracks, begin, packet);
	}
}

int fperf_perfetto__tracks(struct perfetto *perfetto)
{
	struct tracks tracks = {.perfetto = perfetto};
	int failed;

	frames_put(&tracks);
	chains_put(&tracks);
	marks_put(&tracks);
	counters_put(&tracks);
	failed = scopes_put(&tracks);
	fperf_map__free(&tracks.described);
	return failed;
}
