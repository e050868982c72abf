#include "output/output.h"

/* No recording is longer than ten years. */
#define LONGEST_NS (10ull * 366 * 86400 * 1000000000)

bool fperf_report__damaged(const struct fperf_session_damage *damage)
{
	return damage->chunks_bad || damage->bytes_skipped || damage->records_dropped || damage->tail_cut ||
	       damage->no_end;
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
	return found;
}

uint64_t fperf_report__duration_ns(const struct fperf_analysis *analysis)
{
	uint64_t duration = analysis->end_ns - analysis->start_ns;

	return analysis->end_ns > analysis->start_ns && duration <= LONGEST_NS ? duration : 0;
}
