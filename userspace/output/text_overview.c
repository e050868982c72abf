#include "base/clock.h"
#include "frameperf/meta.h"
#include "output/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *meta_or(const struct fperf_session *session, const char *key, const char *fallback)
{
	const char *value = fperf_session__meta(session, key);

	return value && value[0] ? value : fallback;
}

static void title_lines(const struct fperf_report *report, const struct fperf_paint *paint)
{
	const struct fperf_session *session = report->session;
	const char *model = meta_or(session, FPERF_META_HOST_MODEL, "");
	char *line = NULL;

	if (asprintf(&line, "%s (pid %s) on Linux %s %s%s%s%s%s",
		     meta_or(session, FPERF_META_TARGET_NAME, "unknown target"),
		     meta_or(session, FPERF_META_TARGET_PID, "?"),
		     meta_or(session, FPERF_META_HOST_KERNEL, "?"),
		     meta_or(session, FPERF_META_HOST_ARCH, "?"), model[0] ? ", " : "",
		     model[0] ? meta_or(session, FPERF_META_HOST_CPUS, "") : "", model[0] ? " × " : "",
		     model) < 0)
		return;
	fperf_paint__paragraph(paint, FPERF_STYLE_TITLE, 0, 0, line);
	free(line);
}

static void when(const struct fperf_report *report, char *text, size_t size)
{
	const char *offset = fperf_session__meta(report->session, FPERF_META_REALTIME_OFFSET);
	int64_t wall = (int64_t)report->analysis->start_ns;
	struct tm local;
	time_t seconds;

	text[0] = '\0';
	if (!offset || __builtin_add_overflow(wall, strtoll(offset, NULL, 10), &wall))
		return;
	seconds = (time_t)(wall / (int64_t)FPERF_NS_PER_S);
	if (localtime_r(&seconds, &local))
		strftime(text, size, " on %Y-%m-%d at %H:%M:%S", &local);
}

static void recorded_line(const struct fperf_report *report, const struct fperf_paint *paint)
{
	const struct fperf_analysis *analysis = report->analysis;
	const struct fperf_frames_summary *frames = &analysis->summary;
	uint64_t duration = fperf_report__duration_ns(analysis);
	struct fperf_words length = fperf_words__duration(duration);
	char date[64], *line = NULL;
	int size;

	if (!duration)
		snprintf(length.text, sizeof(length.text), "an unknown time");

	when(report, date, sizeof(date));
	if (frames->count)
		size = asprintf(&line, "recorded for %s%s: %llu frames at %.1f fps (%s%s%s)", length.text,
				date, (unsigned long long)frames->count, frames->fps_mean,
				frames->marker ? frames->marker : "?",
				frames->surface && frames->surface[0] ? ", surface " : "",
				frames->surface ? frames->surface : "");
	else
		size = asprintf(&line, "recorded for %s%s: no frames", length.text, date);
	if (size < 0)
		return;
	fperf_paint__paragraph(paint, FPERF_STYLE_PLAIN, 0, 2, line);
	free(line);
}

static bool is_candidate(const struct fperf_rec_marker *marker)
{
	return marker->kind == FPERF_MARKER_FRAME && marker->note;
}

/* What became of the frame boundaries: those of the same fate in one paragraph, at the first of them. */
static void candidates(const struct fperf_session *session, const struct fperf_rec_marker *markers,
		       size_t count, size_t first, const struct fperf_paint *paint)
{
	char *line = NULL;
	size_t size = 0;
	FILE *stream;

	for (size_t i = 0; i < first; i++)
		if (is_candidate(&markers[i]) && markers[i].note == markers[first].note)
			return;
	stream = open_memstream(&line, &size);
	if (!stream)
		return;
	for (size_t i = first; i < count; i++) {
		const char *path = fperf_session__string(session, markers[i].path, NULL);
		const char *slash = strrchr(path, '/');

		if (is_candidate(&markers[i]) && markers[i].note == markers[first].note)
			fprintf(stream, "%s%s in %s", i == first ? "" : ", ",
				fperf_session__string(session, markers[i].name, NULL),
				slash ? slash + 1 : path);
	}
	fprintf(stream, ": %s", fperf_session__string(session, markers[first].note, NULL));
	if (fclose(stream) == 0) {
		fperf_paint__put(paint, FPERF_STYLE_DIM, "%13s", "");
		fperf_paint__paragraph(paint, FPERF_STYLE_DIM, 13, 15, line);
	}
	free(line);
}

/* Why there are no frames: what the frame source said, and what became of each candidate. */
static void no_frames(const struct fperf_report *report, const struct fperf_paint *paint)
{
	const struct fperf_session *session = report->session;
	const struct fperf_rec_source *source = fperf_report__source(session, FPERF_SOURCE_FRAME);
	const char *reason = source ? fperf_session__string(session, source->reason, NULL) : "";
	const struct fperf_rec_marker *markers;
	size_t count = 0;

	fputc('\n', paint->stream);
	fperf_paint__put(paint, FPERF_STYLE_WARN, "  no frames: ");
	fperf_paint__paragraph(paint, FPERF_STYLE_PLAIN, 13, 13,
			       reason[0] ? reason : "no frame boundary was seen while recording");
	markers = fperf_session__records(session, FPERF_RECORD_MARKER, &count);
	for (size_t i = 0; i < count && !report->analysis->frame_count; i++)
		if (is_candidate(&markers[i]))
			candidates(session, markers, count, i, paint);
	fperf_paint__put(paint, FPERF_STYLE_DIM, "%13s", "");
	fperf_paint__paragraph(paint, FPERF_STYLE_DIM, 13, 13,
			       "If the game shows frames in another way, name the function that ends one: "
			       "frameperf record --frame PATH:SYMBOL");
}

/* The worst frame time in each column of time, so that no hitch is averaged away. */
static void strip(const struct fperf_report *report, const struct fperf_paint *paint)
{
	const struct fperf_analysis *analysis = report->analysis;
	unsigned int columns = paint->width - 16 < 100 ? paint->width - 16 : 100;
	uint64_t first = analysis->frames[0].start_ns;
	uint64_t span = analysis->frames[analysis->frame_count - 1].end_ns - first;
	uint64_t top = analysis->summary.time.max, worst[100] = {0};

	if (!span || !top || analysis->frame_count < columns)
		return;
	for (size_t i = 0; i < analysis->frame_count; i++) {
		const struct fperf_frame *frame = &analysis->frames[i];
		double part = (double)(frame->end_ns - first) / (double)span;
		unsigned int column = part >= 1 ? columns - 1 : (unsigned int)(part * columns);
		uint64_t time = frame->end_ns - frame->start_ns;

		if (time > worst[column])
			worst[column] = time;
	}
	fputs("\n  ", paint->stream);
	for (unsigned int i = 0; i < columns; i++)
		fperf_paint__put(paint,
				 worst[i] > analysis->summary.budget_ns && analysis->summary.budget_ns
					 ? FPERF_STYLE_BAD
					 : FPERF_STYLE_ACCENT,
				 "%s", fperf_paint__height((double)worst[i] / (double)top));
	fperf_paint__put(paint, FPERF_STYLE_DIM, " %s ms\n", fperf_words__ms(top).text);
	fperf_paint__put(paint, FPERF_STYLE_DIM, "  worst frame time of every %s\n",
			 fperf_words__duration(span / columns).text);
}

static void usage_line(const struct fperf_report *report, const struct fperf_paint *paint)
{
	const struct fperf_analysis *analysis = report->analysis;
	uint64_t duration = fperf_report__duration_ns(analysis);

	if (!analysis->cpu_ns || !duration)
		return;
	fprintf(paint->stream, "  CPU time     %s, %.2f cores", fperf_words__duration(analysis->cpu_ns).text,
		(double)analysis->cpu_ns / (double)duration);
	if (analysis->memory_peak_bytes)
		fprintf(paint->stream, "; memory %s at most",
			fperf_words__bytes(analysis->memory_peak_bytes).text);
	fputc('\n', paint->stream);
}

static void frame_lines(const struct fperf_report *report, const struct fperf_paint *paint)
{
	const struct fperf_frames_summary *frames = &report->analysis->summary;
	const struct fperf_time_stats *time = &frames->time;

	fprintf(paint->stream, "\n  frame time   p50 %s   p90 %s   p95 %s   p99 %s   max %s ms\n",
		fperf_words__ms(time->p50).text, fperf_words__ms(time->p90).text,
		fperf_words__ms(time->p95).text, fperf_words__ms(time->p99).text,
		fperf_words__ms(time->max).text);
	fprintf(paint->stream, "  lows         1 %% %.1f fps   0.1 %% %.1f fps\n", frames->low_1pct_fps,
		frames->low_01pct_fps);
	fprintf(paint->stream, "  slow frames  ");
	fperf_paint__put(paint, frames->slow ? FPERF_STYLE_BAD : FPERF_STYLE_PLAIN, "%llu",
			 (unsigned long long)frames->slow);
	fprintf(paint->stream, " of %llu", (unsigned long long)frames->count);
	if (frames->budget_ns)
		fprintf(paint->stream, " over the budget of %s ms", fperf_words__ms(frames->budget_ns).text);
	if (frames->slow)
		fprintf(paint->stream, ", %.1f a minute", frames->hitches_per_min);
	if (frames->jank || frames->big_jank)
		fprintf(paint->stream, "; jank %llu, big jank %llu", (unsigned long long)frames->jank,
			(unsigned long long)frames->big_jank);
	fputc('\n', paint->stream);
	usage_line(report, paint);
	if (report->analysis->frame_count)
		strip(report, paint);
}

void fperf_text__overview(const struct fperf_report *report, const struct fperf_paint *paint)
{
	title_lines(report, paint);
	recorded_line(report, paint);
	if (report->analysis->summary.count)
		frame_lines(report, paint);
	else
		no_frames(report, paint);
}
