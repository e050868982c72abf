/* What a flight recorder's session is about: the trigger, and every thread at the moment it fired. */
#ifndef FPERF_ANALYZE_INCIDENT_H
#define FPERF_ANALYZE_INCIDENT_H

#include "analyze/analysis.h"

struct fperf_incident_trigger {
	const struct fperf_rec_trigger *record;
	const char *rule, *reason;	/* "" where there is none */
	struct fperf_thread_ref thread; /* thread 0: about none */
};

/* A thread at that moment. */
struct fperf_incident_thread {
	struct fperf_thread_ref thread;
	const struct fperf_rec_snapshot *record;
	enum fperf_state state;	  /* RUNNABLE also for threads that were put aside; USER for any that ran */
	struct fperf_place place; /* innermost own function */
	struct fperf_place leaf;
	struct fperf_thread_ref owner; /* holds the lock that it waits for; thread 0: not known, or no lock */
	struct fperf_thread_ref waker; /* woke it in the end; thread 0: nobody did while that was recorded, or
					  not known */
	uint64_t waited_ns;	       /* so far; 0: it ran, or not known */
};

/* From the thread that should have made progress to the one that kept it: each waits for the next. */
#define FPERF_INCIDENT_CHAIN 8

struct fperf_incident {
	struct fperf_incident_trigger trigger;	/* because of which the session was written */
	struct fperf_incident_trigger *further; /* that fired until it was */
	size_t further_count;
	struct fperf_incident_thread *threads; /* of the target, in the order of their ids */
	size_t thread_count;
	const struct fperf_incident_thread
		*chain[FPERF_INCIDENT_CHAIN]; /* of a stall; empty where there is none */
	size_t chain_count;
	char *text; /* of a stall: one sentence; NULL: none */
};

/* NULL in *incident when the session was not written by a trigger. Owned by the caller; the analysis must
 * outlive it. */
int fperf_incident__find(const struct fperf_analysis *analysis, struct fperf_incident **incident,
			 struct fperf_error *err);
void fperf_incident__free(struct fperf_incident *incident); /* NULL is fine */

#endif
