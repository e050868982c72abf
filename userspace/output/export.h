/* Exports: what a session holds, in the formats of other tools. A format is one row in export.c and one file.
 */
#ifndef FPERF_OUTPUT_EXPORT_H
#define FPERF_OUTPUT_EXPORT_H

#include "analyze/timeline.h"
#include "base/error.h"
#include "session/session.h"
#include "symbolize/symbolize.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Which frames are asked for. */
enum fperf_frame_choice {
	FPERF_FRAMES_ALL,   /* and everything between and around them */
	FPERF_FRAMES_SLOW,  /* slow ones only */
	FPERF_FRAMES_RANGE, /* first_frame to last_frame */
};

/* What is exported, as the user says it. */
struct fperf_export_options {
	enum fperf_frame_choice frames;
	uint32_t first_frame, last_frame;
	uint64_t from_ns, to_ns; /* since the start of the recording; to_ns 0: until the end */
	const char *thread;	 /* name or number of threads; NULL: all threads of the target */
	bool off_cpu;	/* formats that show one kind of time: where threads waited, not where they ran */
	bool functions; /* formats that are tables: the functions, not the frames */
};

struct fperf_export_span {
	uint64_t from_ns, to_ns;
};

/* Everything an export is made from. */
struct fperf_export {
	const struct fperf_session *session; /* borrowed, like the two that follow */
	const struct fperf_analysis *analysis;
	struct fperf_symbolizer *symbolizer;
	struct fperf_export_options options;
	/* Parts of the recording that are exported, ascending and disjoint. */
	struct fperf_export_span *spans;
	size_t span_count;
	bool *threads; /* by index of the model's timelines: exported */
};

struct fperf_export_ops {
	const char *name;
	const char *extension; /* of the file, with its dot */
	bool text;	       /* may be shown on a terminal */
	/* Writes the whole export. Fails when out of memory or when the stream does. */
	int (*write)(const struct fperf_export *export, FILE *stream, struct fperf_error *err);
};

/* NULL when there is no format of that name. */
const struct fperf_export_ops *fperf_export__find(const char *name);

/* The formats in order; NULL for an index past the last. */
const struct fperf_export_ops *fperf_export__at(size_t index);

/* Works out spans and threads. Fails with -ENOENT when no frame or thread is meant: the text says what there
 * is. The caller frees with fperf_export__free(), also after a failure. */
int fperf_export__init(struct fperf_export *export, const struct fperf_session *session,
		       const struct fperf_analysis *analysis, struct fperf_symbolizer *symbolizer,
		       const struct fperf_export_options *options, struct fperf_error *err);
void fperf_export__free(struct fperf_export *export);

/* 0, or the stream's failure as an error about `what`; for the end of every write function. */
int fperf_export__stream_end(FILE *stream, const char *what, struct fperf_error *err);

/* Whether the whole frame lies in a span. */
bool fperf_export__has_frame(const struct fperf_export *export, const struct fperf_frame *frame);
bool fperf_export__has_time(const struct fperf_export *export, uint64_t time_ns);

/* Last name of a thread, for all of its time; "" if not known. */
const char *fperf_export__thread_name(const struct fperf_export *export,
				      const struct fperf_timeline *timeline);

/* ---- where threads ran: samples ---- */

struct fperf_export_sample {
	const struct fperf_timeline *timeline;
	const struct fperf_rec_sample *record;
	size_t index;	    /* among the thread's samples */
	uint64_t weight_ns; /* CPU time that it stands for: over all samples of a thread its CPU time */
	uint32_t stack;	    /* index into model->stacks; 0: was lost */
};

/* Visits the samples of one timeline in order of time. `visit` returns 0, or what the whole is to return. */
int fperf_export__samples(const struct fperf_export *export, size_t timeline,
			  int (*visit)(void *context, const struct fperf_export_sample *sample),
			  void *context);

/* ---- where threads waited, and all they did: pieces, clipped to the spans ---- */

int fperf_export__pieces(const struct fperf_export *export, size_t timeline,
			 int (*visit)(void *context, const struct fperf_piece *piece), void *context);

/* Off the CPU, and it is known that it was. */
bool fperf_export__waits(const struct fperf_piece *piece);

/* ---- stacks ---- */

/* One function of a stack. Where inlined functions are known, each is one. */
struct fperf_export_function {
	const struct fperf_symbol *symbol;
	const struct fperf_stack_frame *frame; /* that it is in */
};

struct fperf_export_stack {
	struct fperf_export_function *functions; /* leaf first */
	size_t count, capacity;
};

/* Replaces *stack by the functions of model->stacks[index]; empty when the stack was lost or has none.
 * 0 or -ENOMEM. Start with a zeroed struct; the caller frees stack->functions. */
int fperf_export__stack(const struct fperf_export *export, uint32_t index, struct fperf_export_stack *stack);

/* What stands for a stack that was not recorded or was lost. */
#define FPERF_EXPORT_NO_STACK "[no stack]"

extern const struct fperf_export_ops fperf_export_csv;
extern const struct fperf_export_ops fperf_export_firefox;
extern const struct fperf_export_ops fperf_export_folded;
extern const struct fperf_export_ops fperf_export_perfetto;
extern const struct fperf_export_ops fperf_export_pprof;
extern const struct fperf_export_ops fperf_export_speedscope;

#endif
