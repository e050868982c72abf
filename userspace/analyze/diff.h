/* Comparison of runs: is the new build slower, by how much, how sure is that, where, and why. A pure function
 * of digests; the method is described in docs/diff.md. */
#ifndef FPERF_ANALYZE_DIFF_H
#define FPERF_ANALYZE_DIFF_H

#include "analyze/digest.h"
#include "analyze/metric.h"

enum fperf_change_result {
	FPERF_CHANGE_WORSE,
	FPERF_CHANGE_BETTER,
	FPERF_CHANGE_SAME,	  /* with confidence no difference that matters */
	FPERF_CHANGE_CANNOT_TELL, /* too few runs for how much they differ */
	FPERF_CHANGE_RESULTS
};

/* One figure on both sides. What is not known is NAN. */
struct fperf_change {
	size_t base_runs, new_runs;	      /* that have the figure */
	double base, new_value;		      /* means over the runs */
	double base_deviation, new_deviation; /* standard deviations of one run */
	double difference;		      /* new - base */
	double low, high;		      /* 95 % interval of the difference */
	bool within_run;  /* the interval is about these two runs only: there is no more than one on a side */
	double p;	  /* of "no difference" */
	double p_holm;	  /* the same, corrected for its family */
	double matters;	  /* a difference from here on is one */
	double tolerance; /* "same" says that a difference of this much is excluded */
	uint32_t runs_needed; /* on each side, to find such a difference four times in five; 0: not known */
	bool less_is_worse;
	enum fperf_change_result result;
};

struct fperf_metric_change {
	enum fperf_metric metric;
	struct fperf_change change;
};

enum fperf_presence { FPERF_PRESENCE_BOTH, FPERF_PRESENCE_NEW, FPERF_PRESENCE_VANISHED };

struct fperf_function_change {
	const char *function, *module; /* as they match */
	enum fperf_presence presence;
	struct fperf_change self, total; /* ns a frame */
};

struct fperf_thread_change {
	const char *name; /* pattern */
	enum fperf_presence presence;
	struct fperf_change cpu; /* ns a frame */
};

/* A part of the difference of a profile's frame time. */
struct fperf_part_change {
	enum fperf_cause cause;
	const char *thread, *function, *module, *by; /* "" when not known */
	double base_ns, new_ns;
};

/* All parts of a profile; their differences add up to new_ns - base_ns. */
struct fperf_attribution {
	enum fperf_profile profile;
	double base_ns, new_ns;
	struct fperf_part_change *parts; /* by the size of the difference */
	size_t count;
};

struct fperf_diff_warning {
	bool serious; /* may explain the difference: refused unless forced */
	char text[320];
};

struct fperf_side {
	const struct fperf_digest *const *runs; /* borrowed */
	size_t count;
};

struct fperf_diff_options {
	double min_effect; /* share of the base's value that matters; 0.01 is 1 % */
};

#define FPERF_TOLERANCE 0.03 /* share of the base's value that "same" excludes, if min_effect is not more */

struct fperf_diff {
	struct fperf_side base, new_side;
	const char *scene;		     /* "" when the sessions name none */
	bool same_sessions;		     /* both sides are the same recordings */
	enum fperf_change_result result;     /* of the primary family */
	bool mixed;			     /* some of it better, some worse */
	struct fperf_metric_change *metrics; /* those that both sides have */
	size_t metric_count;
	struct fperf_function_change *functions; /* surest and greatest first */
	size_t function_count;
	struct fperf_thread_change *threads;
	size_t thread_count;
	struct fperf_attribution attributions[FPERF_PROFILES];
	size_t attribution_count;
	struct fperf_diff_warning *warnings;
	size_t warning_count, warning_capacity;
};

/* Compares two sides of at least one run each. `names`: the string table of the digests. Digests and names
 * must outlive the result. */
int fperf_diff__make(const struct fperf_side *base, const struct fperf_side *new_side,
		     const struct fperf_diff_options *options, struct fperf_strtab *names,
		     struct fperf_diff **diff, struct fperf_error *err);
void fperf_diff__free(struct fperf_diff *diff);

const struct fperf_change *fperf_diff__metric(const struct fperf_diff *diff, enum fperf_metric metric);
const char *fperf_change_result__name(enum fperf_change_result result); /* "worse", "better", "same",
									    "cannot_tell" */
const char *fperf_profile__name(enum fperf_profile profile);		/* "mean", "p50", "p95", "p99" */
/* Whether a warning is serious. */
bool fperf_diff__refused(const struct fperf_diff *diff);

#endif
