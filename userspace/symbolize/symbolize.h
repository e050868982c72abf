/* Names for stack frames of a session, on any machine: functions, inlined functions, file and line. */
#ifndef FPERF_SYMBOLIZE_SYMBOLIZE_H
#define FPERF_SYMBOLIZE_SYMBOLIZE_H

#include "base/error.h"
#include "base/log.h"
#include "session/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_symbolizer;

struct fperf_symbolizer_options {
	const char *const *symbol_dirs; /* --symbols; searched first: by build ID (aa/bbbb….debug,
					 * usr/lib/debug layout), then by file name with equal build ID */
	size_t symbol_dir_count;
	bool no_system_files;	/* tests: look only into symbol_dirs */
	bool demangle;		/* C++ and Rust */
	bool lines;		/* read DWARF for inlined functions and lines; false: ELF symbols only */
	bool cache;		/* keep what DWARF says on disk: symbolize/name_cache.h */
	const char *cache_path; /* the directory for it; NULL: the usual place */
	const struct fperf_log *log;
};

/* One name. Strings belong to the symbolizer. */
struct fperf_symbol {
	const char *function; /* demangled; "module+0xoffset" when unknown; never NULL */
	const char *module;   /* file name of the module ("libc.so.6", "[kernel]", "[vdso]", "[jit]",
				 "[unknown]") */
	const char *file;     /* "" when unknown */
	uint32_t line;	      /* 0 when unknown */
	uint32_t function_id; /* equal for equal (function, module) pairs: dense, from 1; key for aggregation
			       */
	uint32_t module_id;   /* module record; 0: none */
	bool known;	      /* false: the module+0xoffset form */
	bool inlined;	      /* inlined into the symbol that follows */
	bool own; /* belongs to the target's own modules: not the kernel, libc and its family, the dynamic
		   * loader, the vDSO, libstdc++/libgcc, graphics drivers, SDL, JIT of a driver, or a file in
		   * the system's library directories; the program file itself always is own */
};

int fperf_symbolizer__new(const struct fperf_session *session, const struct fperf_symbolizer_options *options,
			  struct fperf_symbolizer **symbolizer, struct fperf_error *err);
void fperf_symbolizer__free(struct fperf_symbolizer *symbolizer);

/* After records were added to the session: takes in new modules and names. What was resolved stays so. */
int fperf_symbolizer__refresh(struct fperf_symbolizer *symbolizer, struct fperf_error *err);

/* The names of one stack frame, innermost inlined function first; always at least one. `process` is the
 * session-wide process id (for JIT names), 0 if not known. Results are cached; `*symbols` stays valid until
 * the free. Return addresses are looked up at address - 1, interrupted pcs as they are. Broken debug
 * information of one module degrades that module only. Returns the number of symbols. */
size_t fperf_symbolizer__resolve(struct fperf_symbolizer *symbolizer, const struct fperf_stack_frame *frame,
				 uint32_t process, const struct fperf_symbol *const **symbols);

/* How each module was resolved, for `info -v` and the report's advice. */
struct fperf_module_names {
	uint32_t module;
	uint64_t known, unknown; /* stack frames asked for, by outcome */
	const char *source;	 /* file the names came from, "" if none */
	const char *problem;	 /* what went wrong or is missing, "" if nothing */
};

size_t fperf_symbolizer__modules(const struct fperf_symbolizer *symbolizer,
				 const struct fperf_module_names **modules);

/* Demangles C++ and Rust names within bounds (input length, output length, recursion); on any trouble the
 * name itself. Returns a malloc()ed string, NULL when out of memory. */
char *fperf_demangle(const char *name);

#endif
