#include "output/kept.h"

bool fperf_kept__find(const struct fperf_report *report, struct fperf_kept *kept)
{
	size_t gaps, facts, triggers;
	const struct fperf_rec_gap *gap = fperf_session__records(report->session, FPERF_RECORD_GAP, &gaps);
	const struct fperf_rec_summary *fact =
		fperf_session__records(report->session, FPERF_RECORD_SUMMARY, &facts);
	const struct fperf_rec_trigger *trigger =
		fperf_session__records(report->session, FPERF_RECORD_TRIGGER, &triggers);
	uint64_t *const fields[FPERF_FACTS] = {
		[FPERF_FACT_FRAMES_TIMED] = &kept->frames,    [FPERF_FACT_FRAMES_NS] = &kept->duration_ns,
		[FPERF_FACT_TIME_MEAN_NS] = &kept->time.mean, [FPERF_FACT_TIME_P50_NS] = &kept->time.p50,
		[FPERF_FACT_TIME_P90_NS] = &kept->time.p90,   [FPERF_FACT_TIME_P95_NS] = &kept->time.p95,
		[FPERF_FACT_TIME_P99_NS] = &kept->time.p99,   [FPERF_FACT_TIME_MAX_NS] = &kept->time.max,
	};

	*kept = (struct fperf_kept){.kept_ns = fperf_report__duration_ns(report->analysis)};
	if (!gaps || report->analysis->level != FPERF_LEVEL_EVENTS)
		return false;
	for (size_t i = 0; i < facts; i++)
		if (fact[i].fact < FPERF_FACTS && fields[fact[i].fact])
			*fields[fact[i].fact] = fact[i].value;
	for (size_t i = 0; i < triggers; i++)
		kept->worst += trigger[i].kind == FPERF_TRIGGER_WORST;
	for (size_t i = 0; i < gaps; i++) {
		uint64_t length = gap[i].to_ns > gap[i].from_ns ? gap[i].to_ns - gap[i].from_ns : 0;

		kept->kept_ns -= length < kept->kept_ns ? length : kept->kept_ns;
	}
	return true;
}
