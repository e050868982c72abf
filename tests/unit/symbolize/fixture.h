/* Programs that are compiled while the tests run, and sessions made by hand that refer to them. */
#ifndef FPERF_TESTS_SYMBOLIZE_FIXTURE_H
#define FPERF_TESTS_SYMBOLIZE_FIXTURE_H

#include "elf/elf_file.h"
#include "session/session.h"
#include "symbolize/symbolize.h"

#include <stddef.h>
#include <stdint.h>

/* A temporary directory, which becomes the current one; removed by fixture_leave. */
void fixture_enter(void);
void fixture_leave(void);
const char *fixture_dir(void);

void fixture_write(const char *name, const char *text);

/* Runs a shell command; the test fails if it does. */
void fixture_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Is the tool there? Tests of what a machine lacks are skipped. */
bool fixture_has(const char *tool);

/* File offset, address and size of a function. */
uint64_t fixture_offset(const char *file, const char *function);
uint64_t fixture_address(const char *file, const char *function);
uint64_t fixture_size(const char *file, const char *function);

uint64_t fixture_to_offset(const char *file, uint64_t address);

/* A session under construction. */
struct fixture_session {
	struct fperf_session *session;
	uint32_t strings, modules, stacks, processes;
};

struct fixture_session fixture_session_new(void);
uint32_t fixture_string(struct fixture_session *fixture, const char *text);
/* Identity as a recorder would take it from the file. `path` is what the session says, `file` is what is
 * read. */
uint32_t fixture_module(struct fixture_session *fixture, const char *path, const char *file);
uint32_t fixture_module_record(struct fixture_session *fixture, struct fperf_rec_module module,
			       const char *path);
/* As a recorder computes it for files without build ID. */
uint64_t fixture_content_hash(const char *file);
uint32_t fixture_process(struct fixture_session *fixture, const char *exe);
void fixture_stack(struct fixture_session *fixture, const struct fperf_stack_frame *frames, uint32_t count);
void fixture_seal(struct fixture_session *fixture);

/* Options for one directory of symbols ("" for none), without files of the system unless `system`. */
struct fperf_symbolizer *fixture_symbolizer(const struct fixture_session *fixture, const char *symbols,
					    bool system);

/* "function file:line < function file:line …", innermost first; file without directory. In static memory. */
const char *fixture_names(struct fperf_symbolizer *symbolizer, uint32_t module, uint64_t offset,
			  enum fperf_frame_kind kind);
/* Only the outermost function. */
const char *fixture_function(struct fperf_symbolizer *symbolizer, uint32_t module, uint64_t offset);

/* One module in a session, symbolized with the given options, and one address: for most tests that is all. In
 * static memory. */
const char *fixture_one(const char *path, const char *identity_file, uint64_t offset, const char *symbols,
			bool system);

#endif
