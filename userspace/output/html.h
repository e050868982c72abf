/* The report page: what its parts share while they are made. Internal to output/html*.c. How the page reads
 * it: userspace/output/page/src/model.ts. */
#ifndef FPERF_OUTPUT_HTML_H
#define FPERF_OUTPUT_HTML_H

#include "analyze/baseline.h"
#include "analyze/freq.h"
#include "analyze/timeline.h"
#include "base/map.h"
#include "output/html_block.h"
#include "output/output.h"

/* States as the page numbers them: those of the ledger, then these. */
#define HTML_STATE_UNKNOWN FPERF_STATES	      /* nothing is known */
#define HTML_STATE_ABSENT  (FPERF_STATES + 1) /* the thread did not exist */
#define HTML_STATES	   (FPERF_STATES + 2)

/* Functions that are none: why a stack does not reach the thread's start, a missing middle, no stack at all.
 */
enum html_function_flag {
	HTML_FUNCTION_KERNEL = 1,
	HTML_FUNCTION_OWN = 2,
	HTML_FUNCTION_UNKNOWN = 4, /* module+0xoffset */
	HTML_FUNCTION_SPECIAL = 8,
};

/* CPU or waiting time of one thread with one stack in one state. */
struct html_stack_time {
	uint32_t thread; /* of the page */
	uint32_t stack;	 /* index into model->stacks */
	uint8_t state;
	uint64_t ns, slow_ns, count; /* in slow frames; samples or intervals */
};

/* How often one thread put aside, kept waiting or woke another. */
struct html_pair {
	uint8_t state;	     /* of the first while it waited */
	uint32_t thread, by; /* of the page; by: 0 none known, else 1 more */
	uint64_t count, ns;
};

/* A part of the recording that is shown piece by piece. */
struct html_window {
	uint64_t from_ns, to_ns;
};

struct html_page {
	const struct fperf_report *report;
	const struct fperf_analysis *analysis;
	struct fperf_model *model;
	struct fperf_symbolizer *symbolizer;
	uint64_t start_ns, end_ns;
	struct json_build build;
	struct fperf_html_block core, lanes, samples, frames;

	json_t *threads, *functions, *modules; /* borrowed from core.head */
	struct fperf_map thread_index;	       /* session-wide id to number of the page */
	struct fperf_map function_index;       /* function_id to number of the page */
	struct fperf_map place_index;	       /* address of the function's name to number of the page */
	struct fperf_map module_index;	       /* address of the module's name to number of the page */
	struct fperf_map node_index;	       /* parent << 32 | function << 1 | inlined to node */
	uint32_t node_count;

	struct html_stack_time *stack_times;
	size_t stack_time_count, stack_time_capacity;
	struct fperf_map stack_time_index;
	struct html_pair *pairs;
	size_t pair_count, pair_capacity;
	struct fperf_map pair_index;

	uint32_t *wait_stacks; /* of the pieces that are waits, in their order: indexes into model->stacks */
	size_t wait_count, wait_capacity;

	struct html_window *windows; /* ascending, disjoint */
	size_t window_count, window_capacity;
	uint8_t (*frame_shares)[HTML_STATES]; /* per frame: states of the presenting thread */
	float (*frame_states)[HTML_STATES];   /* per frame: ns of the thread at hand */
	float *usual; /* [slow frame][thread of the page][state], ns: mean of the ordinary neighbours */
	size_t target_threads;
};

/* Numbers of the page. Out of memory: 0, and build.failed is set. */
uint32_t html_page__thread(struct html_page *page, const struct fperf_thread_ref *thread);
uint32_t html_page__thread_by_id(struct html_page *page, uint32_t thread);
uint32_t html_page__function(struct html_page *page, const struct fperf_symbol *symbol);
uint32_t html_page__special(struct html_page *page, const char *name, uint32_t key);
uint32_t html_page__place(struct html_page *page, const struct fperf_place *place); /* 0: none, else 1 more */

/* ns since the start of the recording, in us. */
int64_t html_page__us(const struct html_page *page, uint64_t time_ns);

void html_page__add_stack_time(struct html_page *page, const struct html_stack_time *time);
void html_page__add_pair(struct html_page *page, uint8_t state, uint32_t thread, uint32_t by, uint64_t ns);

/* Fill their blocks; in this order. 0 or -ENOMEM. */
int html_threads__fill(struct html_page *page); /* lanes, waiting times, pairs; what frames need */
int html_samples__fill(struct html_page *page); /* samples, stacks, functions */
int html_frames__fill(struct html_page *page);	/* all frames, and the details of slow ones */
int html_series__fill(struct html_page *page);	/* clocks and counters */

#endif
