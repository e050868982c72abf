/* A run explained against itself: what slow frames have more of than ordinary ones, function, wait, task,
 * CPU, clock, mark or moment, with protection against finding what is not there. See docs/diff.md. */
#ifndef FPERF_ANALYZE_EXPLAIN_H
#define FPERF_ANALYZE_EXPLAIN_H

#include "analyze/analysis.h"

enum fperf_finding_kind {
	FPERF_FINDING_FUNCTION,	 /* more CPU time in it */
	FPERF_FINDING_BLOCKED,	 /* more waiting in it */
	FPERF_FINDING_TASK,	 /* kept from a core by it */
	FPERF_FINDING_CAUSE,	 /* more of a cause, in no place or by no task that stands out */
	FPERF_FINDING_CPU,	 /* more of the work was done on one CPU */
	FPERF_FINDING_CLUSTER,	 /* on CPUs of one greatest clock */
	FPERF_FINDING_FREQUENCY, /* at a slower clock */
	FPERF_FINDING_MARK,	 /* a mark or scope of the user falls into them */
	FPERF_FINDING_PERIOD,	 /* they come at equal distances */
	FPERF_FINDING_KINDS
};

struct fperf_finding {
	enum fperf_finding_kind kind;
	enum fperf_cause cause; /* of FUNCTION, BLOCKED, TASK, CAUSE */
	const char *name;	/* of the function, task or mark; "" if there is none */
	const char *module;	/* "" if there is none */
	uint32_t cpu;		/* number; CLUSTER: the greatest clock in kHz */
	double slow, ordinary;	/* mean a frame: ns on the critical chain; CPU and CLUSTER: share of the
				   running time; FREQUENCY: kHz; MARK: marks; PERIOD: 0 */
	double effect; /* 0..1: of the time that slow frames took longer, the share that lies here; CPU and
			  CLUSTER: of the running time that ordinary frames leave to the others, the share
			  that slow ones do not; FREQUENCY, MARK: slow_with - ordinary_with; PERIOD: share in
			  step */
	double slow_with, ordinary_with; /* shares of the slow and of the ordinary frames that have it */
	double p;			 /* corrected for everything that was looked at */
	uint64_t period_ns, phase_ns;	 /* PERIOD: distance, and the first one after the recording's start */
};

struct fperf_explanation {
	struct fperf_finding *items; /* by effect, greatest first */
	size_t count;
	size_t slow, ordinary; /* frames that were compared */
	double excess_ns;      /* that slow frames took longer, mean */
	size_t looked_at;      /* things that were compared */
};

/* Explains an analysis that has events; an analysis without gives an explanation without findings. The caller
 * frees. Strings belong to the session and the symbolizer. */
int fperf_explain(const struct fperf_analysis *analysis, struct fperf_explanation **explanation,
		  struct fperf_error *err);
void fperf_explanation__free(struct fperf_explanation *explanation);

const char *fperf_finding_kind__name(enum fperf_finding_kind kind);

#endif
