/* The words for sources, losses and stack outcomes, as reports and scripts see them. */
#ifndef FPERF_OUTPUT_NAMES_H
#define FPERF_OUTPUT_NAMES_H

#include "frameperf/reasons.h"
#include "frameperf/records.h"

/* Keys: short, stable, e.g. "sample", "ring_full". "unknown" for a number of a newer version. */
const char *fperf_source__key(unsigned int source);
const char *
fperf_source_state__key(unsigned int state); /* "active", "absent" (also switched off) or "failed" */
const char *fperf_loss__key(unsigned int reason);
const char *fperf_outcome__key(unsigned int outcome);
const char *fperf_record_type__key(unsigned int type);

/* For people, to go into a sentence: "the recorder was too slow (ring full)". */
const char *fperf_loss__words(unsigned int reason);
const char *fperf_outcome__words(unsigned int outcome);
const char *fperf_outcome__advice(unsigned int outcome); /* what can be done; NULL: nothing */

const char *fperf_effort_reason__key(unsigned int reason);   /* "bpf", "recorder", "low_fps", ... */
const char *fperf_effort_reason__words(unsigned int reason); /* "the BPF programs took more than allowed" */

/* "stall": what kind of trigger; "unknown" for a number that is none. */
const char *fperf_trigger__key(unsigned int kind);

#endif
