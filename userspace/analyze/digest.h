/* What a comparison keeps of a session: small, and with names that match from build to build. */
#ifndef FPERF_ANALYZE_DIGEST_H
#define FPERF_ANALYZE_DIGEST_H

#include "analyze/analysis.h"
#include "base/strtab.h"

/* Figures of a run, each one number. Times are ns. */
enum fperf_metric {
	FPERF_METRIC_MEAN, /* of the frame times; so are the next */
	FPERF_METRIC_P50,
	FPERF_METRIC_P90,
	FPERF_METRIC_P95,
	FPERF_METRIC_P99,
	FPERF_METRIC_MAX,
	FPERF_METRIC_LOW_1PCT,	/* fps */
	FPERF_METRIC_LOW_01PCT, /* fps */
	FPERF_METRIC_FPS,
	FPERF_METRIC_HITCHES,	    /* slow frames a minute, by the budget that all runs share */
	FPERF_METRIC_JANK,	    /* a minute */
	FPERF_METRIC_ACTIVE,	    /* mean active time */
	FPERF_METRIC_CPU,	    /* CPU time of all threads of the target a frame */
	FPERF_METRIC_RUN_QUEUE,	    /* mean time from wake-up to running */
	FPERF_METRIC_RUN_QUEUE_P99, /* of the target's threads */
	FPERF_METRIC_FREQUENCY,	    /* mean clock of the CPUs, kHz */
	FPERF_METRIC_LOST,	    /* first of FPERF_CAUSES: lost to a cause in slow frames, ns a minute */
	FPERF_METRICS = FPERF_METRIC_LOST + FPERF_CAUSES
};

/* Where a part of the frame time went, in frames of a kind. */
enum fperf_profile {
	FPERF_PROFILE_MEAN, /* all frames */
	FPERF_PROFILE_P50,  /* the frames around the percentile */
	FPERF_PROFILE_P95,
	FPERF_PROFILE_P99,
	FPERF_PROFILES
};

/* One part of the critical chain: names are ids of the string table that all digests share. */
struct fperf_part {
	enum fperf_cause cause;
	uint32_t thread;	   /* pattern of its name */
	uint32_t function, module; /* 0: not known, or does not matter */
	uint32_t by;		   /* pattern of the name of who kept it waiting; 0: not known */
	double ns[FPERF_PROFILES]; /* mean a frame; the parts add up to the profile's frame time */
};

struct fperf_digest_function {
	uint32_t function, module;
	double self_ns, total_ns; /* mean a frame */
};

struct fperf_digest_thread {
	uint32_t name; /* pattern */
	uint32_t count;
	double cpu_ns; /* mean a frame, of all of them */
};

struct fperf_digest {
	char *path;
	char session[40], model[96], kernel[96], arch[24], scene[96], marker[256], build[96], target[64];
	uint32_t cpus, level, frequency_hz;
	double sample_period_ns; /* nominal */
	uint64_t duration_ns;	 /* of the recording */
	uint64_t trimmed_ns;	 /* left out at each end */
	int64_t started_unix_ns; /* 0: not known */
	double lost_share;	 /* of the samples; negative: not known, like the next ones */
	double complete_share;	 /* of the stacks */
	double mean_khz, below_max_share;
	double temperature; /* highest, degrees Celsius */
	bool throttled;	    /* the clock's limit went down while it ran */

	uint64_t *times; /* frame times in order of time */
	size_t frame_count;
	double frames;	/* how many there were: frame_count, or more where single ones were not kept */
	double seconds; /* of those frames */
	uint64_t budget_ns, wanted_budget_ns; /* used; given, 0: none was */
	double value[FPERF_METRICS];
	bool known[FPERF_METRICS];
	double profile_ns[FPERF_PROFILES]; /* frame time of a profile */

	struct fperf_part *parts;
	size_t part_count;
	struct fperf_digest_function *functions;
	size_t function_count;
	struct fperf_digest_thread *threads;
	size_t thread_count;
};

struct fperf_digest_options {
	uint64_t budget_ns; /* 0: chosen from the frames */
	uint64_t trim_ns;   /* at each end */
	bool trim_always;   /* else only if FPERF_TRIM_REST_NS are left */
	bool details;	    /* parts too: costs time */
};

#define FPERF_TRIM_REST_NS 20000000000ull

/* What of a session is compared: [*from_ns, *to_ns) after trimming; *trimmed_ns 0 when it is too short. */
void fperf_digest__window(const struct fperf_session *session, const struct fperf_digest_options *options,
			  uint64_t *from_ns, uint64_t *to_ns, uint64_t *trimmed_ns);

/* Analyses a session and keeps what is compared. `path` is copied. The caller frees *digest. */
int fperf_digest__make(const struct fperf_session *session, struct fperf_symbolizer *symbolizer,
		       const struct fperf_digest_options *options, const char *path,
		       struct fperf_strtab *names, struct fperf_digest **digest, struct fperf_error *err);
void fperf_digest__free(struct fperf_digest *digest);

/* The budget that the frames of a session would choose, within the window: without the rest of an analysis.
 * 0 when there are no frames. */
int fperf_digest__budget(const struct fperf_session *session, const struct fperf_digest_options *options,
			 uint64_t *budget_ns, struct fperf_error *err);

/* A figure from frame times alone (FPERF_METRIC_MEAN to FPERF_METRIC_JANK): `times` in order of time,
 * `sorted` the same ascending, lasting `seconds`. */
double fperf_digest__frame_metric(enum fperf_metric metric, const uint64_t *times, const uint64_t *sorted,
				  size_t count, double seconds, uint64_t budget_ns);

#endif
