/* Functions and threads of both sides, by the names that match. */
#include "analyze/change.h"
#include "base/map.h"
#include "base/vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Functions and threads that have less than this share of the CPU time on both sides are not compared. */
#define SHARE_LIMIT 0.001

/* A new or vanished one has at least this share: less may have been missed by chance. */
#define PRESENCE_SHARE 0.005

/* One function or thread over all runs. */
struct entry {
	uint64_t key;
	double *self, *total; /* of each run: base, then new */
	bool *present;
};

struct entries {
	struct entry *items;
	size_t count, capacity;
	struct fperf_map index; /* key to index in items */
};

static void entries_free(struct entries *entries)
{
	for (size_t i = 0; i < entries->count; i++) {
		free(entries->items[i].self);
		free(entries->items[i].total);
		free(entries->items[i].present);
	}
	free(entries->items);
	fperf_map__free(&entries->index);
}

static struct entry *entry_at(struct entries *entries, uint64_t key, size_t runs)
{
	struct entry *entry;
	uint64_t index;

	if (fperf_map__get(&entries->index, key, &index))
		return &entries->items[index];
	entry = fperf_vec__push(&entries->items, &entries->count, &entries->capacity);
	if (!entry)
		return NULL;
	entry->key = key;
	entry->self = calloc(runs + 1, sizeof(*entry->self));
	entry->total = calloc(runs + 1, sizeof(*entry->total));
	entry->present = calloc(runs + 1, sizeof(*entry->present));
	if (!entry->self || !entry->total || !entry->present ||
	    fperf_map__set(&entries->index, key, entries->count - 1))
		return NULL;
	return entry;
}

static const struct fperf_digest *run_at(const struct fperf_diff *diff, size_t run)
{
	return run < diff->base.count ? diff->base.runs[run] : diff->new_side.runs[run - diff->base.count];
}

static int functions_gather(const struct fperf_diff *diff, struct entries *entries)
{
	size_t runs = diff->base.count + diff->new_side.count;

	for (size_t run = 0; run < runs; run++) {
		const struct fperf_digest *digest = run_at(diff, run);

		for (size_t i = 0; i < digest->function_count; i++) {
			const struct fperf_digest_function *function = &digest->functions[i];
			struct entry *entry = entry_at(
				entries, (uint64_t)function->function << 32 | function->module, runs);

			if (!entry)
				return -ENOMEM;
			entry->self[run] = function->self_ns;
			entry->total[run] = function->total_ns;
			entry->present[run] = true;
		}
	}
	return 0;
}

static int threads_gather(const struct fperf_diff *diff, struct entries *entries)
{
	size_t runs = diff->base.count + diff->new_side.count;

	for (size_t run = 0; run < runs; run++) {
		const struct fperf_digest *digest = run_at(diff, run);

		for (size_t i = 0; i < digest->thread_count; i++) {
			struct entry *entry = entry_at(entries, digest->threads[i].name, runs);

			if (!entry)
				return -ENOMEM;
			entry->self[run] = entry->total[run] = digest->threads[i].cpu_ns;
			entry->present[run] = digest->threads[i].cpu_ns > 0;
		}
	}
	return 0;
}

/* Runs that were sampled, in order: others say nothing of functions. */
static size_t sampled_values(const struct fperf_diff *diff, const double *of_runs, double *values,
			     size_t *base_count)
{
	size_t count = 0;

	*base_count = 0;
	for (size_t run = 0; run < diff->base.count + diff->new_side.count; run++) {
		if (!run_at(diff, run)->function_count)
			continue;
		values[count++] = of_runs[run];
		*base_count += run < diff->base.count;
	}
	return count;
}

/* Samples are counts: n of them stand for n ± sqrt(n) periods. */
static double sampling_variance(const struct fperf_diff *diff, size_t from, size_t to, const double *of_runs)
{
	double sum = 0, runs = 0;

	for (size_t run = from; run < to; run++) {
		const struct fperf_digest *digest = run_at(diff, run);
		double period = digest->sample_period_ns, frames = digest->frames;

		if (!digest->function_count || !(frames > 0))
			continue;
		sum += (of_runs[run] + period / frames / 2) * period / frames;
		runs++;
	}
	return runs > 0 ? sum / (runs * runs) : 0;
}

static int change_of(const struct fperf_diff *diff, const struct fperf_diff_options *options,
		     const double *of_runs, double tolerance, double *values, struct fperf_change *change)
{
	size_t base_count, count = sampled_values(diff, of_runs, values, &base_count);
	size_t runs = diff->base.count + diff->new_side.count;
	struct fperf_figure figure = {
		.base = {values, base_count},
		.new_values = {values + base_count, count - base_count},
		.tolerance = tolerance,
		.least_variance = sampling_variance(diff, 0, diff->base.count, of_runs) +
				  sampling_variance(diff, diff->base.count, runs, of_runs),
	};

	return fperf_change__make(&figure, options, change);
}

static enum fperf_presence presence_of(const struct fperf_diff *diff, const struct entry *entry,
				       double limit_ns, const struct fperf_change *total)
{
	size_t in_base = 0, in_new = 0;

	for (size_t run = 0; run < diff->base.count + diff->new_side.count; run++)
		*(run < diff->base.count ? &in_base : &in_new) += entry->present[run];
	if (!in_base && in_new == total->new_runs && total->new_value >= limit_ns)
		return FPERF_PRESENCE_NEW;
	if (!in_new && in_base == total->base_runs && total->base >= limit_ns)
		return FPERF_PRESENCE_VANISHED;
	return FPERF_PRESENCE_BOTH;
}

/* Mean CPU time of a frame over the runs of both sides: what shares are of. */
static double cpu_of_frame(const struct fperf_diff *diff)
{
	double sum = 0;
	size_t runs = 0;

	for (size_t run = 0; run < diff->base.count + diff->new_side.count; run++) {
		const struct fperf_digest *digest = run_at(diff, run);

		if (!digest->known[FPERF_METRIC_CPU])
			continue;
		sum += digest->value[FPERF_METRIC_CPU];
		runs++;
	}
	return runs ? sum / (double)runs : 0;
}

/* How far the interval is from "no difference"; negative when it holds it. */
static double distance(const struct fperf_change *change)
{
	if (isnan(change->low))
		return 0;
	return change->low > 0 ? change->low : change->high < 0 ? -change->high : 0;
}

static int compare_changes(const struct fperf_change *x, const struct fperf_change *y)
{
	bool x_sure = x->result <= FPERF_CHANGE_BETTER, y_sure = y->result <= FPERF_CHANGE_BETTER;

	if (x_sure != y_sure)
		return x_sure ? -1 : 1;
	if (distance(x) < distance(y) || distance(x) > distance(y))
		return distance(x) > distance(y) ? -1 : 1;
	if (fabs(x->difference) < fabs(y->difference) || fabs(x->difference) > fabs(y->difference))
		return fabs(x->difference) > fabs(y->difference) ? -1 : 1;
	return 0;
}

static int compare_functions(const void *a, const void *b)
{
	const struct fperf_function_change *x = a, *y = b;
	int order = compare_changes(&x->self, &y->self);

	if (!order)
		order = strcmp(x->function, y->function);
	return order ? order : strcmp(x->module, y->module);
}

static int compare_threads(const void *a, const void *b)
{
	const struct fperf_thread_change *x = a, *y = b;
	int order = compare_changes(&x->cpu, &y->cpu);

	return order ? order : strcmp(x->name, y->name);
}

static int functions_judge(struct fperf_diff *diff)
{
	struct fperf_change **changes = calloc(diff->function_count + 1, sizeof(*changes));
	int failed = changes ? 0 : -ENOMEM;

	for (int total = 0; total < 2 && !failed; total++) {
		for (size_t i = 0; i < diff->function_count; i++)
			changes[i] = total ? &diff->functions[i].total : &diff->functions[i].self;
		failed = fperf_changes__judge(changes, diff->function_count, true);
	}
	free(changes);
	return failed;
}

int fperf_diff__functions(struct fperf_diff *diff, const struct fperf_diff_options *options,
			  struct fperf_strtab *names)
{
	double cpu_ns = cpu_of_frame(diff), *values;
	struct entries entries = {0};
	size_t capacity = 0;
	int failed = functions_gather(diff, &entries);

	values = calloc(diff->base.count + diff->new_side.count + 1, sizeof(*values));
	failed = failed || !values ? -ENOMEM : 0;
	for (size_t i = 0; i < entries.count && !failed; i++) {
		struct fperf_function_change change, *slot;

		failed = change_of(diff, options, entries.items[i].self, cpu_ns * SHARE_LIMIT, values,
				   &change.self) ||
			 change_of(diff, options, entries.items[i].total, cpu_ns * SHARE_LIMIT, values,
				   &change.total);
		if (failed || !change.total.base_runs || !change.total.new_runs ||
		    (change.total.base < cpu_ns * SHARE_LIMIT &&
		     change.total.new_value < cpu_ns * SHARE_LIMIT))
			continue;
		change.function = fperf_strtab__get(names, (uint32_t)(entries.items[i].key >> 32), NULL);
		change.module = fperf_strtab__get(names, (uint32_t)entries.items[i].key, NULL);
		change.presence =
			presence_of(diff, &entries.items[i], cpu_ns * PRESENCE_SHARE, &change.total);
		slot = fperf_vec__push(&diff->functions, &diff->function_count, &capacity);
		if (slot)
			*slot = change;
		failed = !slot;
	}
	free(values);
	entries_free(&entries);
	if (failed || functions_judge(diff))
		return -ENOMEM;
	if (diff->function_count)
		qsort(diff->functions, diff->function_count, sizeof(*diff->functions), compare_functions);
	return 0;
}

static int threads_judge(struct fperf_diff *diff)
{
	struct fperf_change **changes = calloc(diff->thread_count + 1, sizeof(*changes));
	int failed = changes ? 0 : -ENOMEM;

	for (size_t i = 0; i < diff->thread_count && !failed; i++)
		changes[i] = &diff->threads[i].cpu;
	if (!failed)
		failed = fperf_changes__judge(changes, diff->thread_count, true);
	free(changes);
	return failed;
}

int fperf_diff__threads(struct fperf_diff *diff, const struct fperf_diff_options *options,
			struct fperf_strtab *names)
{
	double cpu_ns = cpu_of_frame(diff), *values;
	struct entries entries = {0};
	size_t capacity = 0;
	int failed = threads_gather(diff, &entries);

	values = calloc(diff->base.count + diff->new_side.count + 1, sizeof(*values));
	failed = failed || !values ? -ENOMEM : 0;
	for (size_t i = 0; i < entries.count && !failed; i++) {
		struct fperf_thread_change change, *slot;

		failed = change_of(diff, options, entries.items[i].self, cpu_ns * SHARE_LIMIT, values,
				   &change.cpu);
		if (failed || !change.cpu.base_runs || !change.cpu.new_runs ||
		    (change.cpu.base < cpu_ns * SHARE_LIMIT && change.cpu.new_value < cpu_ns * SHARE_LIMIT))
			continue;
		change.name = fperf_strtab__get(names, (uint32_t)entries.items[i].key, NULL);
		change.presence = presence_of(diff, &entries.items[i], cpu_ns * PRESENCE_SHARE, &change.cpu);
		slot = fperf_vec__push(&diff->threads, &diff->thread_count, &capacity);
		if (slot)
			*slot = change;
		failed = !slot;
	}
	free(values);
	entries_free(&entries);
	if (failed || threads_judge(diff))
		return -ENOMEM;
	if (diff->thread_count)
		qsort(diff->threads, diff->thread_count, sizeof(*diff->threads), compare_threads);
	return 0;
}
