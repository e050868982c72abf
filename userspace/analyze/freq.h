/* Clock frequencies of the CPUs over time. For analyze/, and for outputs that show them. */
#ifndef FPERF_ANALYZE_FREQ_H
#define FPERF_ANALYZE_FREQ_H

#include "analyze/analysis.h"

struct fperf_freq_change {
	uint64_t time_ns;
	uint32_t khz;
};

struct fperf_freq_cpu {
	uint32_t min_khz, max_khz;	   /* of the hardware; 0: not known */
	struct fperf_freq_change *changes; /* ascending in time */
	size_t count, capacity;
};

struct fperf_freq {
	struct fperf_freq_cpu *cpus;
	size_t count, capacity; /* by CPU number */
	bool any;
};

int fperf_freq__build(struct fperf_freq *freq, const struct fperf_session *session, struct fperf_error *err);
void fperf_freq__free(struct fperf_freq *freq);

/* Clock cycles that pass on `cpu` in [from, to); false when the frequency is not known for all of it. */
bool fperf_freq__cycles(const struct fperf_freq *freq, uint16_t cpu, uint64_t from_ns, uint64_t to_ns,
			double *cycles);

/* Fills analysis->freq. */
int fperf_freq__summarise(const struct fperf_freq *freq, struct fperf_analysis *analysis,
			  struct fperf_error *err);

#endif
