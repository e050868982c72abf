/* What the difference of a percentile is made of. The parts of each run add up to its percentile, so the
 * differences of their means add up to the difference of the percentiles' means. */
#include "analyze/change.h"
#include "base/vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sums {
	struct fperf_strtab *keys;
	struct fperf_part_change *items; /* by key - 1 */
	size_t count, capacity;
};

struct part_key {
	uint32_t cause, thread, function, module, by;
};

static struct fperf_part_change *part_at(struct sums *sums, const struct fperf_part *part,
					 const struct fperf_strtab *names)
{
	struct part_key key = {(uint32_t)part->cause, part->thread, part->function, part->module, part->by};
	uint32_t id = fperf_strtab__intern(sums->keys, &key, sizeof(key));
	struct fperf_part_change *slot;

	if (!id)
		return NULL;
	if (id <= sums->count)
		return &sums->items[id - 1];
	slot = fperf_vec__push(&sums->items, &sums->count, &sums->capacity);
	if (slot)
		*slot = (struct fperf_part_change){
			.cause = part->cause,
			.thread = fperf_strtab__get(names, part->thread, NULL),
			.function = fperf_strtab__get(names, part->function, NULL),
			.module = fperf_strtab__get(names, part->module, NULL),
			.by = fperf_strtab__get(names, part->by, NULL),
		};
	return slot;
}

/* Adds the mean of a side's runs that have parts; returns how many these are, or -ENOMEM. */
static int side_add(struct sums *sums, const struct fperf_side *side, bool is_new,
		    struct fperf_attribution *attribution, const struct fperf_strtab *names)
{
	enum fperf_profile profile = attribution->profile;
	int runs = 0;

	for (size_t i = 0; i < side->count; i++)
		runs += side->runs[i]->profile_ns[profile] > 0;
	for (size_t i = 0; i < side->count && runs; i++) {
		const struct fperf_digest *digest = side->runs[i];

		if (!(digest->profile_ns[profile] > 0))
			continue;
		*(is_new ? &attribution->new_ns : &attribution->base_ns) +=
			digest->profile_ns[profile] / runs;
		for (size_t k = 0; k < digest->part_count; k++) {
			struct fperf_part_change *part = part_at(sums, &digest->parts[k], names);

			if (!part)
				return -ENOMEM;
			*(is_new ? &part->new_ns : &part->base_ns) += digest->parts[k].ns[profile] / runs;
		}
	}
	return runs;
}

static int compare_parts(const void *a, const void *b)
{
	const struct fperf_part_change *x = a, *y = b;
	double x_size = fabs(x->new_ns - x->base_ns), y_size = fabs(y->new_ns - y->base_ns);
	int order;

	if (x_size < y_size || x_size > y_size)
		return x_size > y_size ? -1 : 1;
	if (x->cause != y->cause)
		return (int)x->cause - (int)y->cause;
	order = strcmp(x->thread, y->thread);
	if (!order)
		order = strcmp(x->function, y->function);
	return order ? order : strcmp(x->by, y->by);
}

static int attribution_make(struct fperf_diff *diff, enum fperf_profile profile, struct fperf_strtab *names)
{
	struct fperf_attribution *attribution = &diff->attributions[diff->attribution_count];
	struct sums sums = {.keys = fperf_strtab__new()};
	int base_runs, new_runs = 0;

	*attribution = (struct fperf_attribution){.profile = profile};
	base_runs = sums.keys ? side_add(&sums, &diff->base, false, attribution, names) : -ENOMEM;
	if (base_runs > 0)
		new_runs = side_add(&sums, &diff->new_side, true, attribution, names);
	fperf_strtab__free(sums.keys);
	if (base_runs <= 0 || new_runs <= 0) {
		free(sums.items);
		return base_runs < 0 || new_runs < 0 ? -ENOMEM : 0;
	}
	if (sums.count)
		qsort(sums.items, sums.count, sizeof(*sums.items), compare_parts);
	attribution->parts = sums.items;
	attribution->count = sums.count;
	diff->attribution_count++;
	return 0;
}

int fperf_diff__attributions(struct fperf_diff *diff, struct fperf_strtab *names)
{
	int failed = 0;

	for (int profile = 0; profile < FPERF_PROFILES && !failed; profile++)
		failed = attribution_make(diff, (enum fperf_profile)profile, names);
	return failed;
}
