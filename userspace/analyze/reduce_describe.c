/* What describes a recording, as far as levels 1 and 0 keep it. */
#include "analyze/reduce_internal.h"

#include "analyze/results.h"
#include "base/buf.h"
#include "frameperf/meta.h"

#include <string.h>

#define RECORD_LIMIT (1u << 20)

/* What level 0 says about a session beyond its sums; the rest would not fit a small file. */
static const char *const summary_keys[] = {
	FPERF_META_LEVEL,	FPERF_META_RECORDER,   FPERF_META_HOST_KERNEL,	   FPERF_META_HOST_ARCH,
	FPERF_META_HOST_CPUS,	FPERF_META_HOST_MODEL, FPERF_META_TARGET_PID,	   FPERF_META_TARGET_NAME,
	FPERF_META_START_NS,	FPERF_META_END_NS,     FPERF_META_END_REASON,	   FPERF_META_REALTIME_OFFSET,
	FPERF_META_MEMORY_PEAK, FPERF_META_BPF_NS,     FPERF_META_RECORDER_CPU_NS,
};

static bool key_kept(const struct fperf_reducer *reducer, const char *key)
{
	if (!strcmp(key, FPERF_META_SESSION_ID) || !strcmp(key, FPERF_META_LEVEL))
		return false; /* its own, written by the writer and below */
	if (reducer->level != FPERF_LEVEL_SUMMARY)
		return true;
	if (!strncmp(key, FPERF_META_LABEL_PREFIX, strlen(FPERF_META_LABEL_PREFIX)))
		return true;
	for (size_t i = 0; i < sizeof(summary_keys) / sizeof(summary_keys[0]); i++)
		if (!strcmp(key, summary_keys[i]))
			return true;
	return false;
}

/* True once for each different content. */
static bool is_new(struct fperf_reducer *reducer, uint32_t type, const void *bytes, size_t size)
{
	uint32_t known = fperf_strtab__count(reducer->described), id;
	struct fperf_buf key;

	fperf_buf__init(&key, RECORD_LIMIT);
	fperf_buf__append(&key, &type, sizeof(type));
	fperf_buf__append(&key, bytes, size);
	id = key.failed ? 0 : fperf_strtab__intern(reducer->described, key.data, key.size);
	fperf_buf__free(&key);
	return !id || id >= known;
}

static int meta_write(struct fperf_reducer *reducer, const char *key, const char *value,
		      struct fperf_error *err)
{
	struct fperf_rec_meta record = {.key = fperf_reducer__text(reducer, key),
					.value = fperf_reducer__text(reducer, value)};

	return is_new(reducer, FPERF_RECORD_META, &record, sizeof(record))
		       ? fperf_reducer__add(reducer, FPERF_RECORD_META, &record, err)
		       : 0;
}

static int metas_write(struct fperf_reducer *reducer, const struct fperf_session *session,
		       struct fperf_error *err)
{
	const struct fperf_rec_meta *metas;
	size_t count;

	if (meta_write(reducer, FPERF_META_LEVEL, reducer->level ? "1" : "0", err))
		return err->code;
	metas = fperf_session__records(session, FPERF_RECORD_META, &count);
	for (size_t i = 0; i < count; i++) {
		const char *key = fperf_session__string(session, metas[i].key, NULL);

		if (key_kept(reducer, key) &&
		    meta_write(reducer, key, fperf_session__string(session, metas[i].value, NULL), err))
			return err->code;
	}
	return 0;
}

static int fact_write(struct fperf_reducer *reducer, enum fperf_fact fact, uint32_t index, uint64_t value,
		      struct fperf_error *err)
{
	struct fperf_rec_summary record = {.fact = (uint16_t)fact, .index = index, .value = value};

	return fperf_reducer__add(reducer, FPERF_RECORD_SUMMARY, &record, err);
}

/* Reasons are long: level 0 keeps the states. */
static int sources_write(struct fperf_reducer *reducer, const struct fperf_session *session,
			 struct fperf_error *err)
{
	const struct fperf_rec_source *sources;
	size_t count;

	sources = fperf_session__records(session, FPERF_RECORD_SOURCE, &count);
	for (size_t i = 0; i < count; i++) {
		struct fperf_rec_source record;

		if (reducer->level == FPERF_LEVEL_SUMMARY) {
			if (fact_write(reducer, FPERF_FACT_SOURCE, sources[i].source, sources[i].state, err))
				return err->code;
			continue;
		}
		memset(&record, 0, sizeof(record)); /* padding too: records are compared as bytes */
		record.source = sources[i].source;
		record.state = sources[i].state;
		record.reason =
			fperf_reducer__text(reducer, fperf_session__string(session, sources[i].reason, NULL));
		if (is_new(reducer, FPERF_RECORD_SOURCE, &record, sizeof(record)) &&
		    fperf_reducer__add(reducer, FPERF_RECORD_SOURCE, &record, err))
			return err->code;
	}
	return 0;
}

static int markers_write(struct fperf_reducer *reducer, const struct fperf_session *session,
			 struct fperf_error *err)
{
	const struct fperf_rec_marker *markers;
	size_t count;

	markers = fperf_session__records(session, FPERF_RECORD_MARKER, &count);
	for (size_t i = 0; i < count; i++) {
		struct fperf_rec_marker record = markers[i];

		if (record.kind != FPERF_MARKER_FRAME)
			continue;
		record.name = fperf_reducer__text(reducer, fperf_session__string(session, record.name, NULL));
		record.path = fperf_reducer__text(reducer, fperf_session__string(session, record.path, NULL));
		record.symbol =
			fperf_reducer__text(reducer, fperf_session__string(session, record.symbol, NULL));
		record.note = fperf_reducer__text(reducer, fperf_session__string(session, record.note, NULL));
		if (is_new(reducer, FPERF_RECORD_MARKER, &record, sizeof(record)) &&
		    fperf_reducer__add(reducer, FPERF_RECORD_MARKER, &record, err))
			return err->code;
	}
	return 0;
}

/* Losses of each source and reason so far, less what was said of them before. */
static int losses_write(struct fperf_reducer *reducer, const struct fperf_session *session, uint64_t now_ns,
			struct fperf_error *err)
{
	uint64_t sums[FPERF_SOURCES][FPERF_LOSS_REASONS] = {0};
	int ret = 0;

	fperf_results__lost(session, sums);
	for (uint8_t source = 0; source < FPERF_SOURCES; source++) {
		for (uint8_t reason = 0; reason < FPERF_LOSS_REASONS && !ret; reason++) {
			uint64_t *said = &reducer->losses_said[source][reason], sum = sums[source][reason];
			struct fperf_rec_loss record = {
				.time_ns = now_ns, .source = source, .reason = reason, .count = sum - *said};

			if (sum <= *said)
				continue;
			*said = sum;
			if (reducer->level == FPERF_LEVEL_SUMMARY)
				ret = fact_write(reducer, FPERF_FACT_LOST, source * 256u + reason, sum, err);
			else
				ret = fperf_reducer__add(reducer, FPERF_RECORD_LOSS, &record, err);
		}
	}
	return ret;
}

/* Each step that recording took to cost less; in a summary without its words. */
static int efforts_write(struct fperf_reducer *reducer, const struct fperf_session *session,
			 struct fperf_error *err)
{
	bool summary = reducer->level == FPERF_LEVEL_SUMMARY;
	const struct fperf_rec_effort *efforts;
	size_t count;

	efforts = fperf_session__records(session, FPERF_RECORD_EFFORT, &count);
	for (size_t i = 0; i < count; i++) {
		struct fperf_rec_effort record = efforts[i];

		if (record.time_ns <= reducer->effort_said_ns ||
		    (summary && record.reason == FPERF_EFFORT_START))
			continue;
		reducer->effort_said_ns = record.time_ns;
		record.words = summary ? 0
				       : fperf_reducer__text(
						 reducer, fperf_session__string(session, record.words, NULL));
		if (fperf_reducer__add(reducer, FPERF_RECORD_EFFORT, &record, err))
			return err->code;
	}
	return 0;
}

int fperf_reducer__describe(struct fperf_reducer *reducer, const struct fperf_session *session,
			    uint64_t now_ns, struct fperf_error *err)
{
	if (metas_write(reducer, session, err) || sources_write(reducer, session, err) ||
	    losses_write(reducer, session, now_ns, err) || efforts_write(reducer, session, err))
		return err->code;
	return reducer->level == FPERF_LEVEL_SUMMARY ? 0 : markers_write(reducer, session, err);
}
