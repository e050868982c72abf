/* power POOL FUNCTION: how often comparisons of runs drawn from a pool raise false alarms, hold the truth in
 * their intervals, find what is slower, and name FUNCTION first. POOL holds sessions KIND-NUMBER.fperf; those
 * of kind "a" are the base, every other kind is a build that is slower in a known way. Writes Markdown. */
#include "analyze/diff.h"
#include "analyze/random.h"
#include "base/vec.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPARISONS 200
#define KINDS_MAX   32
#define RUNS_MAX    256

struct kind {
	char name[64];
	const struct fperf_digest *runs[RUNS_MAX];
	size_t count;
};

struct pool {
	struct fperf_strtab *names;
	struct kind kinds[KINDS_MAX]; /* the first is "a" */
	size_t count;
	const char *function;
	uint64_t budget_ns;
};

static void die(const char *what, const struct fperf_error *err)
{
	fprintf(stderr, "power: %s: %s\n", what, err->text);
	exit(1);
}

static struct fperf_session *load(const char *path)
{
	struct fperf_session_damage damage;
	struct fperf_session *session = NULL;
	struct fperf_error err = {0};

	if (fperf_session__load(path, 0, &session, &damage, &err) < 0)
		die(path, &err);
	return session;
}

static const struct fperf_digest *digest(struct pool *pool, const char *path)
{
	struct fperf_symbolizer_options symbols = {.demangle = true};
	struct fperf_digest_options options = {.budget_ns = pool->budget_ns};
	struct fperf_session *session = load(path);
	struct fperf_symbolizer *symbolizer;
	struct fperf_digest *made = NULL;
	struct fperf_error err = {0};

	if (!pool->budget_ns && fperf_digest__budget(session, &options, &pool->budget_ns, &err))
		die(path, &err);
	options.budget_ns = pool->budget_ns;
	if (fperf_symbolizer__new(session, &symbols, &symbolizer, &err) < 0 ||
	    fperf_digest__make(session, symbolizer, &options, path, pool->names, &made, &err) < 0)
		die(path, &err);
	fperf_symbolizer__free(symbolizer);
	fperf_session__free(session);
	return made;
}

static struct kind *kind_at(struct pool *pool, const char *name, size_t size)
{
	for (size_t i = 0; i < pool->count; i++)
		if (strlen(pool->kinds[i].name) == size && !memcmp(pool->kinds[i].name, name, size))
			return &pool->kinds[i];
	if (pool->count == KINDS_MAX)
		exit(1);
	snprintf(pool->kinds[pool->count].name, sizeof(pool->kinds[0].name), "%.*s", (int)size, name);
	return &pool->kinds[pool->count++];
}

static void pool_load(struct pool *pool, const char *folder)
{
	char pattern[4096];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/*-*.fperf", folder);
	if (glob(pattern, 0, NULL, &found)) {
		fprintf(stderr, "power: no sessions in %s\n", folder);
		exit(1);
	}
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *name = strrchr(found.gl_pathv[i], '/') + 1;
		struct kind *kind = kind_at(pool, name, strcspn(name, "-"));
		const struct fperf_digest *made;

		if (kind->count == RUNS_MAX)
			continue;
		made = digest(pool, found.gl_pathv[i]);
		if (made->frame_count)
			kind->runs[kind->count++] = made;
	}
	globfree(&found);
}

/* Draws `count` different runs of a kind, none of those that are already in `taken`. */
static void draw(const struct kind *kind, struct fperf_random *random, size_t count, bool *taken,
		 const struct fperf_digest **drawn)
{
	for (size_t i = 0; i < count;) {
		size_t at = fperf_random__below(random, (uint32_t)kind->count);

		if (taken[at])
			continue;
		taken[at] = true;
		drawn[i++] = kind->runs[at];
	}
}

struct tally {
	size_t alarms, better, function_found, function_first, function_false, covered[FPERF_METRICS],
		compared[FPERF_METRICS], cause_found;
};

static void tally_add(const struct pool *pool, const struct fperf_diff *diff, struct tally *tally)
{
	bool wrong = false;

	tally->alarms += diff->result == FPERF_CHANGE_WORSE;
	tally->better += diff->result == FPERF_CHANGE_BETTER;
	for (size_t i = 0; i < diff->metric_count; i++) {
		const struct fperf_change *change = &diff->metrics[i].change;

		if (isnan(change->low))
			continue;
		tally->compared[diff->metrics[i].metric]++;
		tally->covered[diff->metrics[i].metric] += change->low <= 0 && change->high >= 0;
	}
	for (size_t i = 0; i < diff->function_count; i++) {
		const struct fperf_function_change *function = &diff->functions[i];
		bool found = function->self.result == FPERF_CHANGE_WORSE ||
			     function->total.result == FPERF_CHANGE_WORSE;

		if (strcmp(function->function, pool->function)) {
			wrong |= function->self.result <= FPERF_CHANGE_BETTER;
			continue;
		}
		tally->function_found += found;
		tally->function_first += found && i == 0;
	}
	tally->function_false += wrong;
	tally->cause_found += fperf_diff__metric(diff, FPERF_METRIC_HITCHES)->result == FPERF_CHANGE_WORSE;
}

static bool compare_many(const struct pool *pool, const struct kind *other, size_t runs, struct tally *tally)
{
	struct fperf_diff_options options = {.min_effect = 0.01};
	struct fperf_random random = {.state = 7 + runs};
	const struct kind *base = &pool->kinds[0];
	bool same = other == base;

	*tally = (struct tally){0};
	if (base->count < runs * (same ? 2 : 1) || other->count < runs)
		return false;
	for (int i = 0; i < COMPARISONS; i++) {
		const struct fperf_digest *drawn[2][RUNS_MAX];
		bool taken[2][RUNS_MAX] = {{false}};
		struct fperf_error err = {0};
		struct fperf_side sides[2];
		struct fperf_diff *diff;

		draw(base, &random, runs, taken[0], drawn[0]);
		draw(other, &random, runs, taken[same ? 0 : 1], drawn[1]);
		for (int side = 0; side < 2; side++)
			sides[side] = (struct fperf_side){drawn[side], runs};
		if (fperf_diff__make(&sides[0], &sides[1], &options, pool->names, &diff, &err) < 0)
			die("compare", &err);
		tally_add(pool, diff, tally);
		fperf_diff__free(diff);
	}
	return true;
}

static double percent(size_t part, size_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void equal_builds(const struct pool *pool)
{
	static const enum fperf_metric shown[] = {FPERF_METRIC_MEAN, FPERF_METRIC_P50,	   FPERF_METRIC_P95,
						  FPERF_METRIC_P99,  FPERF_METRIC_HITCHES, FPERF_METRIC_CPU};
	static const size_t sizes[] = {3, 5, 8, 10, 20};

	printf("\n%d comparisons of equal builds, drawn from %zu runs:\n\n"
	       "| runs a side | alarms | \"faster\" | any function |",
	       COMPARISONS, pool->kinds[0].count);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		printf(" %s |", fperf_metric__info(shown[i])->name);
	printf("\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct tally tally;

		if (!compare_many(pool, &pool->kinds[0], sizes[i], &tally))
			continue;
		printf("| %zu | %.1f %% | %.1f %% | %.1f %% |", sizes[i], percent(tally.alarms, COMPARISONS),
		       percent(tally.better, COMPARISONS), percent(tally.function_false, COMPARISONS));
		for (size_t k = 0; k < sizeof(shown) / sizeof(shown[0]); k++)
			printf(" %.1f %% |", percent(tally.covered[shown[k]], tally.compared[shown[k]]));
		putchar('\n');
	}
	puts("\nThe last six columns: how often the 95 % interval of the figure holds the truth, 0.");
}

static void slower_builds(const struct pool *pool)
{
	static const size_t sizes[] = {3, 5, 8, 10, 14};

	printf("\n%d comparisons with each slower build:\n\n"
	       "| build | runs a side | alarm | hitches worse | %s found | … and named first | another "
	       "function |\n"
	       "|---|--:|--:|--:|--:|--:|--:|\n",
	       COMPARISONS, pool->function);
	for (size_t kind = 1; kind < pool->count; kind++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct tally tally;

			if (!compare_many(pool, &pool->kinds[kind], sizes[i], &tally))
				continue;
			printf("| %s | %zu | %.0f %% | %.0f %% | %.0f %% | %.0f %% | %.1f %% |\n",
			       pool->kinds[kind].name, sizes[i], percent(tally.alarms, COMPARISONS),
			       percent(tally.cause_found, COMPARISONS),
			       percent(tally.function_found, COMPARISONS),
			       percent(tally.function_first, COMPARISONS),
			       percent(tally.function_false, COMPARISONS));
		}
}

int main(int argc, char **argv)
{
	static struct pool pool;

	if (argc != 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	pool.names = fperf_strtab__new();
	pool.function = argv[2];
	snprintf(pool.kinds[pool.count++].name, sizeof(pool.kinds[0].name), "a");
	pool_load(&pool, argv[1]);
	equal_builds(&pool);
	slower_builds(&pool);
	return 0;
}
