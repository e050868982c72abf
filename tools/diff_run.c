#include "diff_run.h"

#include "load.h"

#include "output/output.h"
#include "base/vec.h"
#include "frameperf/meta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_budgets(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int session_load(struct fperf_diff_run *run, const char *path, struct fperf_console *console,
			struct fperf_session **session, struct fperf_error *err)
{
	struct fperf_session_damage damage;

	if (fperf_load(path, console, session, &damage) < 0)
		return fperf_error__set(err, -EINVAL, "%s cannot be read", path);
	run->damaged |= fperf_report__damaged(&damage);
	return 0;
}

/* All runs are held against one budget, so that a slower build cannot move it: the middle one of those that
 * the base's runs choose. */
static int budget_choose(struct fperf_diff_run *run, const struct fperf_diff_files *files,
			 struct fperf_console *console, struct fperf_error *err)
{
	struct fperf_console quiet = *console;
	uint64_t *budgets = calloc(files->base_count + 1, sizeof(*budgets));
	size_t count = 0;

	run->budget_ns = files->digest.budget_ns;
	if (!budgets)
		return fperf_error__no_memory(err, "the budgets");
	quiet.quiet = true; /* the second reading says it */
	for (size_t i = 0; i < files->base_count && !run->budget_ns && !err->code; i++) {
		struct fperf_session *session = NULL;

		if (session_load(run, files->base[i], &quiet, &session, err))
			break;
		if (!fperf_digest__budget(session, &files->digest, &budgets[count], err) && budgets[count])
			count++;
		fperf_session__free(session);
	}
	qsort(budgets, count, sizeof(*budgets), compare_budgets);
	if (count)
		run->budget_ns = budgets[(count - 1) / 2];
	free(budgets);
	return err->code;
}

static int digest_make(struct fperf_diff_run *run, const struct fperf_diff_files *files, const char *path,
		       struct fperf_console *console, struct fperf_digest **digest, struct fperf_error *err)
{
	const struct fperf_log log = fperf_console__log(console);
	struct fperf_symbolizer_options symbols = {
		.symbol_dirs = files->symbol_dirs,
		.symbol_dir_count = files->symbol_dir_count,
		.demangle = true,
		.lines = true,
		.cache = true,
		.log = &log,
	};
	struct fperf_digest_options options = files->digest;
	struct fperf_symbolizer *symbolizer = NULL;
	struct fperf_session *session = NULL;

	options.budget_ns = run->budget_ns;
	if (session_load(run, path, console, &session, err))
		return err->code;
	if (!fperf_symbolizer__new(session, &symbols, &symbolizer, err) &&
	    fperf_digest__make(session, symbolizer, &options, path, run->names, digest, err))
		fperf_error__wrap(err, "%s", path);
	fperf_symbolizer__free(symbolizer);
	fperf_session__free(session);
	return err->code;
}

static int digests_make(struct fperf_diff_run *run, const struct fperf_diff_files *files, bool is_new,
			struct fperf_console *console, struct fperf_error *err)
{
	struct fperf_digest ***runs = is_new ? &run->new_runs : &run->base;
	size_t *count = is_new ? &run->new_count : &run->base_count;
	const char **paths = is_new ? files->new_files : files->base;
	size_t wanted = is_new ? files->new_count : files->base_count;

	*runs = calloc(wanted + 1, sizeof(**runs));
	if (!*runs)
		return fperf_error__no_memory(err, "the digests of the sessions");
	for (size_t i = 0; i < wanted; i++) {
		struct fperf_digest *digest = NULL;

		fperf_console__progress(console, "reading %s (%zu of %zu)", paths[i], i + 1, wanted);
		if (digest_make(run, files, paths[i], console, &digest, err))
			break;
		if (files->scene && strcmp(files->scene, digest->scene)) {
			fperf_digest__free(digest);
			continue;
		}
		if (!digest->known[FPERF_METRIC_MEAN]) {
			fperf_error__set(err, -ENODATA,
					 "%s has no frames to compare (frameperf report says why)", paths[i]);
			fperf_digest__free(digest);
			break;
		}
		(*runs)[(*count)++] = digest;
	}
	fperf_console__progress_end(console);
	return err->code;
}

/* ---- scenes ---- */

struct placed {
	struct fperf_digest *digest;
	size_t place;
};

static int compare_scenes(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int order = strcmp(x->digest->scene, y->digest->scene);

	return order ? order : (x->place > y->place) - (x->place < y->place);
}

static int scenes_sort(struct fperf_digest **runs, size_t count, struct fperf_error *err)
{
	struct placed *placed = calloc(count + 1, sizeof(*placed));

	if (!placed)
		return fperf_error__no_memory(err, "the scenes");
	for (size_t i = 0; i < count; i++)
		placed[i] = (struct placed){.digest = runs[i], .place = i};
	qsort(placed, count, sizeof(*placed), compare_scenes);
	for (size_t i = 0; i < count; i++)
		runs[i] = placed[i].digest;
	free(placed);
	return 0;
}

/* The runs of the scene that begins at `from`. */
static struct fperf_side scene_at(struct fperf_digest *const *runs, size_t count, size_t from)
{
	size_t to = from;

	while (to < count && !strcmp(runs[to]->scene, runs[from]->scene))
		to++;
	return (struct fperf_side){.runs = (const struct fperf_digest *const *)runs + from,
				   .count = to - from};
}

static int scene_compare(struct fperf_diff_run *run, const struct fperf_diff_files *files,
			 const struct fperf_side *base, const struct fperf_side *new_side,
			 struct fperf_error *err)
{
	size_t capacity = run->diff_count;
	struct fperf_diff **slot = fperf_vec__push(&run->diffs, &run->diff_count, &capacity);

	if (!slot)
		return fperf_error__no_memory(err, "the comparison");
	return fperf_diff__make(base, new_side, &files->diff, run->names, slot, err);
}

static void scene_skip(struct fperf_console *console, const struct fperf_side *side, const char *other)
{
	fperf_console__note(console, "warning: no %s run has the scene '%s' of %s: it is not compared", other,
			    side->runs[0]->scene, side->runs[0]->path);
}

/* Like with like: the scenes of both sides, in order of their names. */
static int scenes_compare(struct fperf_diff_run *run, const struct fperf_diff_files *files,
			  struct fperf_console *console, struct fperf_error *err)
{
	size_t at_base = 0, at_new = 0;

	if (scenes_sort(run->base, run->base_count, err) || scenes_sort(run->new_runs, run->new_count, err))
		return err->code;
	while (at_base < run->base_count || at_new < run->new_count) {
		bool has_base = at_base < run->base_count, has_new = at_new < run->new_count;
		int order = !has_new	? -1
			    : !has_base ? 1
					: strcmp(run->base[at_base]->scene, run->new_runs[at_new]->scene);
		struct fperf_side base = {0}, new_side = {0};

		if (order <= 0)
			base = scene_at(run->base, run->base_count, at_base);
		if (order >= 0)
			new_side = scene_at(run->new_runs, run->new_count, at_new);
		at_base += base.count;
		at_new += new_side.count;
		if (order)
			scene_skip(console, order < 0 ? &base : &new_side, order < 0 ? "new" : "base");
		else if (scene_compare(run, files, &base, &new_side, err))
			return err->code;
	}
	if (!run->diff_count)
		return fperf_error__set(err, -EINVAL, "base and new have no scene in common");
	return 0;
}

int fperf_diff_run__make(struct fperf_diff_run *run, const struct fperf_diff_files *files,
			 struct fperf_console *console, struct fperf_error *err)
{
	run->names = fperf_strtab__new();
	if (!run->names)
		return fperf_error__no_memory(err, "the names");
	if (budget_choose(run, files, console, err) || digests_make(run, files, false, console, err) ||
	    digests_make(run, files, true, console, err))
		return err->code;
	if (!run->base_count || !run->new_count)
		return fperf_error__set(err, -EINVAL, "no %s run has the scene '%s'",
					run->base_count ? "new" : "base", files->scene);
	return scenes_compare(run, files, console, err);
}

void fperf_diff_run__free(struct fperf_diff_run *run)
{
	for (size_t i = 0; i < run->diff_count; i++)
		fperf_diff__free(run->diffs[i]);
	for (size_t i = 0; i < run->base_count; i++)
		fperf_digest__free(run->base[i]);
	for (size_t i = 0; i < run->new_count; i++)
		fperf_digest__free(run->new_runs[i]);
	free(run->diffs);
	free(run->base);
	free(run->new_runs);
	fperf_strtab__free(run->names);
	*run = (struct fperf_diff_run){0};
}
