/* What opens the report of a flight recorder's session: the trigger, and where every thread was. */
#include "output/text.h"

#include "analyze/incident.h"
#include "output/kept.h"
#include "output/names.h"

#include <stdlib.h>

#define MOST_THREADS 24

static void trigger_lines(const struct fperf_report *report, const struct fperf_paint *paint,
			  const struct fperf_incident *incident)
{
	const struct fperf_incident_trigger *trigger = &incident->trigger;
	const struct fperf_rec_trigger *record = trigger->record;
	uint64_t start_ns = report->analysis->start_ns;
	char *line = NULL;

	if (asprintf(&line, "%s%s%s (trigger %u, %s%s%s, %.2f s after the begin of what was kept)",
		     trigger->reason, trigger->thread.thread ? ": " : "",
		     trigger->thread.thread ? fperf_text__thread(&trigger->thread).text : "", record->number,
		     fperf_trigger__key(record->kind), *trigger->rule ? " " : "", trigger->rule,
		     record->time_ns > start_ns ? (double)(record->time_ns - start_ns) / 1e9 : 0) >= 0) {
		fperf_paint__put(paint, FPERF_STYLE_BAD, "  ");
		fperf_paint__paragraph(paint, FPERF_STYLE_BAD, 2, 2, line);
		free(line);
	}
	if (incident->text) {
		fperf_paint__put(paint, FPERF_STYLE_PLAIN, "  ");
		fperf_paint__paragraph(paint, FPERF_STYLE_PLAIN, 2, 2, incident->text);
	}
	if (incident->further_count)
		fperf_paint__put(paint, FPERF_STYLE_DIM, "  and %zu more until the session was written\n",
				 incident->further_count);
}

static const char *state_words(const struct fperf_incident_thread *thread)
{
	static const char *const waits[FPERF_STATES] = {
		[FPERF_STATE_LOCK] = "waits: lock",   [FPERF_STATE_IO] = "waits: io",
		[FPERF_STATE_FAULT] = "waits: fault", [FPERF_STATE_GPU] = "waits: gpu",
		[FPERF_STATE_SLEEP] = "sleeps",	      [FPERF_STATE_EVENT] = "waits: event",
	};

	switch (thread->record->state) {
	case FPERF_SNAPSHOT_RUNS:
		return "runs";
	case FPERF_SNAPSHOT_READY:
		return "ready";
	default:
		return waits[thread->state] ? waits[thread->state] : "waits";
	}
}

static void thread_row(struct fperf_table *table, const struct fperf_incident_thread *thread)
{
	const struct fperf_place *place = thread->place.function ? &thread->place : &thread->leaf;

	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", fperf_text__thread(&thread->thread).text);
	fperf_table__cell(table, FPERF_STYLE_DIM, "%u", thread->thread.tid);
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", state_words(thread));
	fperf_table__cell(table, FPERF_STYLE_DIM, "%s",
			  thread->waited_ns ? fperf_words__duration(thread->waited_ns).text : "");
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", place->function ? place->function : "–");
	fperf_table__cell(table, FPERF_STYLE_DIM, "%s",
			  thread->owner.thread ? fperf_text__thread(&thread->owner).text : "");
}

static void threads_table(const struct fperf_paint *paint, const struct fperf_incident *incident)
{
	static const struct fperf_table_column columns[] = {
		{"thread", false, true}, {"tid", true, false}, {"state", false, false},
		{"for", true, false},	 {"in", false, true},  {"held by", false, true}};
	struct fperf_table *table = fperf_table__new(columns, sizeof(columns) / sizeof(columns[0]));
	size_t shown = 0;

	fperf_paint__heading(paint, "At that moment", "every thread of the target");
	for (size_t i = 0; i < incident->chain_count; i++, shown++)
		thread_row(table, incident->chain[i]);
	for (size_t i = 0; i < incident->thread_count && shown < MOST_THREADS; i++) {
		bool is_shown = false;

		for (size_t at = 0; at < incident->chain_count; at++)
			is_shown = is_shown || incident->chain[at] == &incident->threads[i];
		if (is_shown)
			continue;
		thread_row(table, &incident->threads[i]);
		shown++;
	}
	fperf_table__render(table, paint, 2);
	fperf_table__free(table);
	if (shown < incident->thread_count)
		fperf_paint__put(paint, FPERF_STYLE_DIM, "  and %zu more threads (--json has them)\n",
				 incident->thread_count - shown);
}

static void kept_lines(const struct fperf_report *report, const struct fperf_paint *paint)
{
	struct fperf_kept kept;
	char *line = NULL;

	if (!fperf_kept__find(report, &kept))
		return;
	fperf_paint__heading(paint, "The whole recording",
			     "what is above and below is of the part that was kept");
	if (kept.frames &&
	    asprintf(&line,
		     "%llu frames in %s: p50 %s, p90 %s, p99 %s, max %s ms. Kept in full: the %zu worst "
		     "and what was around them, %s.",
		     (unsigned long long)kept.frames, fperf_words__duration(kept.duration_ns).text,
		     fperf_words__ms(kept.time.p50).text, fperf_words__ms(kept.time.p90).text,
		     fperf_words__ms(kept.time.p99).text, fperf_words__ms(kept.time.max).text, kept.worst,
		     fperf_words__duration(kept.kept_ns).text) >= 0) {
		fperf_paint__put(paint, FPERF_STYLE_PLAIN, "  ");
		fperf_paint__paragraph(paint, FPERF_STYLE_PLAIN, 2, 2, line);
		free(line);
	}
}

int fperf_text__incident(const struct fperf_report *report, const struct fperf_paint *paint,
			 struct fperf_error *err)
{
	struct fperf_incident *incident;
	int ret = fperf_incident__find(report->analysis, &incident, err);

	kept_lines(report, paint);
	if (ret || !incident)
		return ret;
	fperf_paint__heading(paint, "What happened", "");
	trigger_lines(report, paint, incident);
	if (incident->thread_count)
		threads_table(paint, incident);
	fperf_incident__free(incident);
	return 0;
}
