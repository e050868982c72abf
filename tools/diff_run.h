/* From session files to comparisons: what `diff` and `baseline check` share. */
#ifndef FPERF_TOOLS_DIFF_RUN_H
#define FPERF_TOOLS_DIFF_RUN_H

#include "console.h"

#include "analyze/gate.h"

struct fperf_diff_files {
	const char **base, **new_files; /* paths */
	size_t base_count, new_count;
	const char *scene; /* compare only this one; NULL: all */
	const char *const *symbol_dirs;
	size_t symbol_dir_count;
	struct fperf_digest_options digest; /* a budget of 0 is chosen from the base */
	struct fperf_diff_options diff;
};

/* Everything that a comparison is made of; zeroed at first. */
struct fperf_diff_run {
	struct fperf_strtab *names;
	struct fperf_digest **base, **new_runs; /* by scene, then as given */
	size_t base_count, new_count;
	uint64_t budget_ns;
	bool damaged; /* a file was; what was readable is used */
	struct fperf_diff **diffs;
	size_t diff_count;
};

/* Reads, digests and compares. Scenes that one side lacks are said on the console and left out; if none is
 * left, that is an error. The caller frees with fperf_diff_run__free() in any case. */
int fperf_diff_run__make(struct fperf_diff_run *run, const struct fperf_diff_files *files,
			 struct fperf_console *console, struct fperf_error *err);
void fperf_diff_run__free(struct fperf_diff_run *run);

#endif
