/* The shared tables of a Firefox profile: strings, functions, stack frames, stacks, libraries. Shared by the
 * files of the Firefox export. Format: processed profile, version 70 (github.com/firefox-devtools/profiler,
 * src/types/profile.ts, docs-developer/CHANGELOG-formats.md). */
#ifndef FPERF_OUTPUT_EXPORT_FIREFOX_H
#define FPERF_OUTPUT_EXPORT_FIREFOX_H

#include "base/map.h"
#include "base/strtab.h"
#include "output/export.h"
#include "output/json_stream.h"

#define FPERF_FIREFOX_VERSION 70
#define FPERF_FIREFOX_NONE    (-1)

/* Categories: other, then one for each state of a thread. */
#define FPERF_FIREFOX_CATEGORY_OTHER	    0
#define FPERF_FIREFOX_CATEGORY_STATE(state) ((uint32_t)(state) + 1)

struct fperf_firefox_function {
	uint32_t name; /* string */
	int32_t library;
	int32_t source;
};

struct fperf_firefox_frame {
	uint32_t function, category, line, depth; /* line 0: not known; depth of inlining */
	int32_t library;
	uint64_t address; /* in the library's file; only with one */
};

struct fperf_firefox_stack {
	uint32_t frame;
	int32_t parent;
};

struct fperf_firefox_tables {
	const struct fperf_export *export;
	struct fperf_strtab *strings;
	struct fperf_firefox_function *functions;
	struct fperf_firefox_frame *frames;
	struct fperf_firefox_stack *stacks;
	uint32_t *libraries; /* module ids */
	uint32_t *sources;   /* strings */
	size_t function_count, function_capacity, frame_count, frame_capacity, stack_count, stack_capacity;
	size_t library_count, library_capacity, source_count, source_capacity;
	struct fperf_map function_index; /* name << 32 | library + 1 to index */
	struct fperf_map library_index, source_index;
	struct fperf_map stack_index;	  /* (parent + 1) << 32 | frame to index */
	struct fperf_strtab *frame_index; /* contents, as bytes, to index plus one */
	struct fperf_map known;		  /* model's stack << 8 | state to index of stack plus one */
	struct fperf_export_stack scratch;
};

int fperf_firefox_tables__init(struct fperf_firefox_tables *tables, const struct fperf_export *export);
void fperf_firefox_tables__free(struct fperf_firefox_tables *tables);

uint32_t fperf_firefox_tables__string(struct fperf_firefox_tables *tables, const char *text);

/* Index of a stack of the model in a state (FPERF_STATES: the functions alone); waits have the kind of wait
 * as their leaf. FPERF_FIREFOX_NONE: none. Fails with -ENOMEM. */
int fperf_firefox_tables__stack(struct fperf_firefox_tables *tables, uint32_t stack, uint8_t state,
				int32_t *index);

/* "libs" and "shared", after all threads. */
void fperf_firefox_tables__put(struct fperf_firefox_tables *tables, struct fperf_json *json);

/* meta.categories */
void fperf_firefox__categories(struct fperf_json *json);

/* Markers of one thread: frames, verdicts and critical chains, marks and scopes; and meta.markerSchema. Times
 * are since the start of the recording. */
struct fperf_firefox_marker {
	uint64_t from_ns, to_ns; /* equal: a moment */
	uint8_t kind;
	size_t index; /* of the frame, slow frame, scope or mark */
	size_t link;  /* of the chain */
};

void fperf_firefox__marker_schema(struct fperf_json *json);
int fperf_firefox__markers(struct fperf_firefox_tables *tables, struct fperf_json *json,
			   const struct fperf_timeline *timeline, struct fperf_error *err);

#endif
