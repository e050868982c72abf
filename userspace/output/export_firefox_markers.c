/* Markers of the Firefox export. */
#include "output/export_firefox.h"

#include "base/vec.h"
#include "output/export_scopes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum marker_kind { MARKER_FRAME, MARKER_SLOW, MARKER_CHAIN, MARKER_SCOPE, MARKER_MARK, MARKER_KINDS };
enum { PHASE_INSTANT = 0, PHASE_INTERVAL = 1 };

struct schema_field {
	const char *key, *label, *format;
};

/* Fields without a key end the list. */
struct schema {
	const char *type, *label, *table_label;
	struct schema_field fields[8];
};

static const struct schema schemas[MARKER_KINDS] = {
	[MARKER_FRAME] = {"Frame",
			  "Frame {marker.data.number}",
			  "{marker.data.number}",
			  {{"number", "Number", "integer"}, {"active", "Active time", "milliseconds"}}},
	[MARKER_SLOW] = {"SlowFrame",
			 "Slow frame {marker.data.number}",
			 "{marker.data.number}: {marker.data.verdict}",
			 {{"number", "Number", "integer"},
			  {"verdict", "Verdict", "string"},
			  {"cause", "Cause", "string"},
			  {"thread", "Thread", "string"},
			  {"function", "Function", "string"},
			  {"excess", "Excess", "milliseconds"},
			  {"share", "Explained", "percentage"}}},
	[MARKER_CHAIN] = {"CriticalChain",
			  "{marker.data.state}",
			  "frame {marker.data.number}: {marker.data.state} {marker.data.function}",
			  {{"number", "Frame", "integer"},
			   {"state", "State", "string"},
			   {"function", "Function", "string"},
			   {"by", "Kept by", "string"}}},
	[MARKER_SCOPE] = {"Scope", "{marker.data.name}", "{marker.data.name}", {{"name", "Name", "string"}}},
	[MARKER_MARK] = {"Mark", "{marker.data.name}", "{marker.data.name}", {{"name", "Name", "string"}}},
};

void fperf_firefox__marker_schema(struct fperf_json *json)
{
	fperf_json__key_begin(json, "markerSchema", '[');
	for (int kind = 0; kind < MARKER_KINDS; kind++) {
		const struct schema *schema = &schemas[kind];

		fperf_json__begin(json, '{');
		fperf_json__key_text(json, "name", schema->type);
		fperf_json__key_text(json, "tooltipLabel", schema->label);
		fperf_json__key_text(json, "chartLabel", schema->label);
		fperf_json__key_text(json, "tableLabel", schema->table_label);
		fperf_json__key_begin(json, "display", '[');
		fperf_json__text(json, "marker-chart");
		fperf_json__text(json, "marker-table");
		if (kind != MARKER_CHAIN)
			fperf_json__text(json, "timeline-overview");
		fperf_json__end(json, ']');
		fperf_json__key_begin(json, "fields", '[');
		for (int field = 0; field < 8 && schema->fields[field].key; field++) {
			fperf_json__begin(json, '{');
			fperf_json__key_text(json, "key", schema->fields[field].key);
			fperf_json__key_text(json, "label", schema->fields[field].label);
			fperf_json__key_text(json, "format", schema->fields[field].format);
			fperf_json__end(json, '}');
		}
		fperf_json__end(json, ']');
		fperf_json__end(json, '}');
	}
	fperf_json__end(json, ']');
}

/* ---- collecting ---- */

struct markers {
	struct fperf_firefox_tables *tables;
	const struct fperf_timeline *timeline;
	struct fperf_scope *scopes;
	size_t scope_count;
	struct fperf_firefox_marker *items;
	size_t count, capacity;
};

static int marker_add(struct markers *markers, uint8_t kind, uint64_t from_ns, uint64_t to_ns, size_t index,
		      size_t link)
{
	struct fperf_firefox_marker *marker =
		fperf_vec__push(&markers->items, &markers->count, &markers->capacity);

	if (!marker)
		return -ENOMEM;
	*marker = (struct fperf_firefox_marker){
		.from_ns = from_ns, .to_ns = to_ns, .kind = kind, .index = index, .link = link};
	return 0;
}

static int frames_add(struct markers *markers)
{
	const struct fperf_export *export = markers->tables->export;
	const struct fperf_analysis *analysis = export->analysis;
	uint32_t thread = markers->timeline->thread->id;
	int failed = 0;

	for (size_t i = 0; i < analysis->frame_count && !failed; i++) {
		const struct fperf_frame *frame = &analysis->frames[i];

		if (frame->thread == thread && fperf_export__has_frame(export, frame))
			failed = marker_add(markers, MARKER_FRAME, frame->start_ns, frame->end_ns, i, 0);
	}
	for (size_t i = 0; i < analysis->slow_count && !failed; i++) {
		const struct fperf_slow_frame *slow = &analysis->slow[i];
		const struct fperf_frame *frame = &analysis->frames[slow->frame];

		if (!slow->has_verdict || !fperf_export__has_frame(export, frame))
			continue;
		if (frame->thread == thread)
			failed = marker_add(markers, MARKER_SLOW, frame->start_ns, frame->end_ns, i, 0);
		for (size_t k = 0; k < slow->chain_count && !failed; k++) {
			if (slow->chain[k].thread.thread == thread)
				failed = marker_add(markers, MARKER_CHAIN, slow->chain[k].from_ns,
						    slow->chain[k].to_ns, i, k);
		}
	}
	return failed;
}

static int marks_add(struct markers *markers)
{
	const struct fperf_export *export = markers->tables->export;
	const struct fperf_rec_mark *marks;
	size_t count;

	for (size_t i = 0; i < markers->scope_count; i++) {
		const struct fperf_scope *scope = &markers->scopes[i];

		if (scope->thread == markers->timeline->thread->id &&
		    fperf_export__has_time(export, scope->from_ns) &&
		    marker_add(markers, MARKER_SCOPE, scope->from_ns, scope->to_ns, i, 0))
			return -ENOMEM;
	}
	marks = fperf_session__records(export->session, FPERF_RECORD_MARK, &count);
	for (size_t i = 0; i < count; i++) {
		const struct fperf_rec_marker *marker =
			fperf_session__marker(export->session, marks[i].marker);

		if (marker && marker->kind == FPERF_MARKER_MARK &&
		    marks[i].thread == markers->timeline->thread->id &&
		    fperf_export__has_time(export, marks[i].time_ns) &&
		    marker_add(markers, MARKER_MARK, marks[i].time_ns, marks[i].time_ns, i, 0))
			return -ENOMEM;
	}
	return 0;
}

/* ---- writing ---- */

static const char *mark_name(const struct fperf_session *session, uint32_t marker)
{
	const struct fperf_rec_marker *record = fperf_session__marker(session, marker);

	return record ? fperf_session__string(session, record->name, NULL) : "";
}

static void verdict_put(struct fperf_json *json, const struct fperf_verdict *verdict)
{
	fperf_json__key_text(json, "verdict", verdict->text ? verdict->text : "");
	fperf_json__key_text(json, "cause", fperf_cause__name(verdict->cause));
	fperf_json__key_text(json, "thread", verdict->thread.name ? verdict->thread.name : "");
	if (verdict->place.function)
		fperf_json__key_text(json, "function", verdict->place.function);
	fperf_json__key(json, "excess");
	fperf_json__ms(json, verdict->excess_ns);
	fperf_json__key(json, "share");
	fprintf(json->stream, "%.4f", verdict->share >= 0 && verdict->share <= 1 ? verdict->share : 0);
	json->after_value = true;
}

static void link_put(struct fperf_json *json, const struct fperf_chain_link *link)
{
	fperf_json__key_text(json, "state", fperf_state__name(link->state));
	if (link->place.function)
		fperf_json__key_text(json, "function", link->place.function);
	if (link->by.thread)
		fperf_json__key_text(json, "by", link->by.name);
}

static void data_put(const struct markers *markers, struct fperf_json *json,
		     const struct fperf_firefox_marker *marker)
{
	const struct fperf_export *export = markers->tables->export;
	const struct fperf_analysis *analysis = export->analysis;
	const struct fperf_slow_frame *slow;
	const struct fperf_rec_mark *marks;
	size_t count;

	fperf_json__begin(json, '{');
	fperf_json__key_text(json, "type", schemas[marker->kind].type);
	switch ((enum marker_kind)marker->kind) {
	case MARKER_FRAME:
		fperf_json__key_int(json, "number", (int64_t)marker->index);
		fperf_json__key(json, "active");
		fperf_json__ms(json, analysis->frames[marker->index].active_ns);
		break;
	case MARKER_SLOW:
		slow = &analysis->slow[marker->index];
		fperf_json__key_int(json, "number", slow->frame);
		verdict_put(json, &slow->verdict);
		break;
	case MARKER_CHAIN:
		slow = &analysis->slow[marker->index];
		fperf_json__key_int(json, "number", slow->frame);
		link_put(json, &slow->chain[marker->link]);
		break;
	case MARKER_SCOPE:
		fperf_json__key_text(json, "name",
				     mark_name(export->session, markers->scopes[marker->index].marker));
		break;
	default:
		marks = fperf_session__records(export->session, FPERF_RECORD_MARK, &count);
		fperf_json__key_text(json, "name", mark_name(export->session, marks[marker->index].marker));
	}
	fperf_json__end(json, '}');
}

static const char *marker_name(enum marker_kind kind)
{
	static const char *const names[MARKER_KINDS] = {
		[MARKER_FRAME] = "Frame", [MARKER_SLOW] = "Slow frame", [MARKER_CHAIN] = "Critical chain",
		[MARKER_SCOPE] = "Scope", [MARKER_MARK] = "Mark",
	};

	return names[kind];
}

static void columns_put(const struct markers *markers, struct fperf_json *json)
{
	uint64_t start = markers->tables->export->analysis->start_ns;

	fperf_json__key_begin(json, "markers", '{');
	fperf_json__key_begin(json, "data", '[');
	for (size_t i = 0; i < markers->count; i++)
		data_put(markers, json, &markers->items[i]);
	fperf_json__end(json, ']');
	fperf_json__key_begin(json, "name", '[');
	for (size_t i = 0; i < markers->count; i++)
		fperf_json__int(json, fperf_firefox_tables__string(markers->tables,
								   marker_name(markers->items[i].kind)));
	fperf_json__end(json, ']');
	fperf_json__key_begin(json, "startTime", '[');
	for (size_t i = 0; i < markers->count; i++)
		fperf_json__ms(json,
			       markers->items[i].from_ns > start ? markers->items[i].from_ns - start : 0);
	fperf_json__end(json, ']');
	fperf_json__key_begin(json, "endTime", '[');
	for (size_t i = 0; i < markers->count; i++) {
		if (markers->items[i].kind == MARKER_MARK)
			fperf_json__null(json);
		else
			fperf_json__ms(json,
				       markers->items[i].to_ns > start ? markers->items[i].to_ns - start : 0);
	}
	fperf_json__end(json, ']');
	fperf_json__key_begin(json, "phase", '[');
	for (size_t i = 0; i < markers->count; i++)
		fperf_json__int(json, markers->items[i].kind == MARKER_MARK ? PHASE_INSTANT : PHASE_INTERVAL);
	fperf_json__end(json, ']');
	fperf_json__key_begin(json, "category", '[');
	for (size_t i = 0; i < markers->count; i++)
		fperf_json__int(json, FPERF_FIREFOX_CATEGORY_OTHER);
	fperf_json__end(json, ']');
	fperf_json__key_int(json, "length", (int64_t)markers->count);
	fperf_json__end(json, '}');
}

int fperf_firefox__markers(struct fperf_firefox_tables *tables, struct fperf_json *json,
			   const struct fperf_timeline *timeline, struct fperf_error *err)
{
	struct markers markers = {.tables = tables, .timeline = timeline};
	int failed;

	if (fperf_scopes__find(tables->export->session, &markers.scopes, &markers.scope_count, err))
		return err->code;
	failed = frames_add(&markers) || marks_add(&markers);
	if (!failed)
		columns_put(&markers, json);
	free(markers.scopes);
	free(markers.items);
	return failed ? fperf_error__no_memory(err, "the markers") : 0;
}
