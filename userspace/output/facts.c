#include "output/output.h"

#include "analyze/results.h"

/* No recording is longer than ten years. */
#define LONGEST_NS (10ull * 366 * 86400 * 1000000000)

bool fperf_report__damaged(const struct fperf_session_damage *damage)
{
	return damage->chunks_bad || damage->bytes_skipped || damage->records_dropped || damage->tail_cut ||
	       damage->no_end;
}

/* Sources of which level 0 keeps the state and nothing else. */
#define BARE(which)                                                                                          \
	[which] = {{.source = (which), .state = FPERF_SOURCE_STATE_ABSENT},                                  \
		   {.source = (which), .state = FPERF_SOURCE_STATE_ACTIVE},                                  \
		   {.source = (which), .state = FPERF_SOURCE_STATE_FAILED},                                  \
		   {.source = (which), .state = FPERF_SOURCE_STATE_OFF}}
#define BARE_STATES (FPERF_SOURCE_STATE_OFF + 1)

static const struct fperf_rec_source *bare_source(const struct fperf_session *session,
						  enum fperf_source source)
{
	static const struct fperf_rec_source bare[FPERF_SOURCES][BARE_STATES] = {
		BARE(FPERF_SOURCE_SAMPLE),  BARE(FPERF_SOURCE_SCHED),	BARE(FPERF_SOURCE_FREQ),
		BARE(FPERF_SOURCE_FRAME),   BARE(FPERF_SOURCE_MARK),	BARE(FPERF_SOURCE_PROCESS),
		BARE(FPERF_SOURCE_MAPPING), BARE(FPERF_SOURCE_UNWIND),	BARE(FPERF_SOURCE_KALLSYMS),
		BARE(FPERF_SOURCE_GPU),	    BARE(FPERF_SOURCE_COUNTER), BARE(FPERF_SOURCE_JIT),
	};
	uint64_t state;

	if (!fperf_results__fact(session, FPERF_FACT_SOURCE, source, &state) || state >= BARE_STATES)
		return NULL;
	return &bare[source][state];
}

const struct fperf_rec_source *fperf_report__source(const struct fperf_session *session,
						    enum fperf_source source)
{
	const struct fperf_rec_source *found = NULL, *records;
	size_t count = 0;

	records = fperf_session__records(session, FPERF_RECORD_SOURCE, &count);
	for (size_t i = 0; i < count; i++) {
		if (records[i].source == source)
			found = &records[i];
	}
	return found ? found : bare_source(session, source);
}

uint64_t fperf_report__duration_ns(const struct fperf_analysis *analysis)
{
	uint64_t duration = analysis->end_ns - analysis->start_ns;

	return analysis->end_ns > analysis->start_ns && duration <= LONGEST_NS ? duration : 0;
}
