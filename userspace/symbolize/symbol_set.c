#include "symbolize/symbol_set.h"

#include "base/vec.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SIZELESS_MAX                                                                                         \
	0x10000u /* bytes; longer functions without size and without unwind data do not occur                \
		  */

void fperf_symbol_set__free(struct fperf_symbol_set *set)
{
	free(set->candidates);
	*set = (struct fperf_symbol_set){0};
}

/* Labels that compilers and assemblers leave behind, and the mapping symbols of arm64 ("$x", "$d.12"). */
static bool is_noise(const struct fperf_elf_symbol *symbol)
{
	const char *name = symbol->name;

	if (name[0] == '$' && (name[1] == 'x' || name[1] == 'd') && (!name[2] || name[2] == '.'))
		return true;
	return symbol->type == STT_NOTYPE && name[0] == '.' && name[1] == 'L';
}

static void symbol_take(void *context, const struct fperf_elf_symbol *symbol)
{
	struct fperf_symbol_set *set = context;
	struct fperf_symbol_candidate *candidate;

	if (set->failed || is_noise(symbol))
		return;
	candidate = fperf_vec__push(&set->candidates, &set->count, &set->capacity);
	if (!candidate) {
		set->failed = true;
		return;
	}
	*candidate = (struct fperf_symbol_candidate){
		.name = symbol->name,
		.start = symbol->address + set->bias,
		.size = symbol->size,
		.limit = symbol->limit + set->bias,
		.type = symbol->type,
		.binding = symbol->binding,
	};
	if (candidate->limit < candidate->start)
		set->count--;
}

void fperf_symbol_set__add(struct fperf_symbol_set *set, const struct fperf_elf *elf,
			   enum fperf_elf_symbols which, uint64_t bias)
{
	set->bias = bias;
	fperf_elf__visit_symbols(elf, which, symbol_take, set);
}

static int type_rank(const struct fperf_symbol_candidate *candidate)
{
	return candidate->type == STT_FUNC ? 2 : candidate->type == STT_GNU_IFUNC ? 1 : 0;
}

static int binding_rank(const struct fperf_symbol_candidate *candidate)
{
	switch (candidate->binding) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return 2;
	case STB_WEAK:
		return 1;
	default:
		return 0;
	}
}

/* By address, and at one address the worst first: the range that is added last wins. */
static int candidate_compare(const void *a, const void *b)
{
	const struct fperf_symbol_candidate *left = a, *right = b;
	size_t left_length, right_length;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (type_rank(left) != type_rank(right))
		return type_rank(left) - type_rank(right);
	if (!left->size != !right->size)
		return left->size ? 1 : -1;
	if (binding_rank(left) != binding_rank(right))
		return binding_rank(left) - binding_rank(right);
	left_length = strlen(left->name);
	right_length = strlen(right->name);
	if (left_length != right_length)
		return left_length > right_length ? -1 : 1;
	return strcmp(right->name, left->name);
}

/* End of a symbol without a size; `next` is where the next symbol begins. */
static uint64_t sizeless_end(const struct fperf_symbol_candidate *candidate, uint64_t next,
			     const struct fperf_fde_index *fdes)
{
	uint64_t end = candidate->limit < next ? candidate->limit : next, start, bound;

	if (!fperf_fde_index__find(fdes, candidate->start, &start, &bound)) {
		bound = candidate->start + SIZELESS_MAX;
		if (end > bound)
			end = bound;
		bound = fperf_fde_index__next(fdes, candidate->start);
	}
	return end < bound ? end : bound;
}

/* Gives every symbol without a size its end, as `limit`. Backwards, so that the next symbol is known. */
static void sizeless_bound(struct fperf_symbol_set *set, const struct fperf_fde_index *fdes)
{
	uint64_t next = UINT64_MAX, here = UINT64_MAX;

	for (size_t i = set->count; i-- > 0;) {
		struct fperf_symbol_candidate *candidate = &set->candidates[i];

		if (candidate->start != here) {
			next = here;
			here = candidate->start;
		}
		if (!candidate->size)
			candidate->limit = sizeless_end(candidate, next, fdes);
	}
}

static bool has_sized_alias(const struct fperf_symbol_set *set, size_t index)
{
	for (size_t i = index + 1; i < set->count; i++) {
		if (set->candidates[i].start != set->candidates[index].start)
			return false;
		if (set->candidates[i].size)
			return true;
	}
	return false;
}

int fperf_symbol_set__build(struct fperf_symbol_set *set, const struct fperf_fde_index *fdes,
			    struct fperf_range_table *table)
{
	uint64_t sized_end = 0; /* furthest end of the symbols with a size that began so far */
	bool failed = set->failed;

	if (set->count)
		qsort(set->candidates, set->count, sizeof(*set->candidates), candidate_compare);
	sizeless_bound(set, fdes);
	for (size_t i = 0; !failed && i < set->count; i++) {
		const struct fperf_symbol_candidate *candidate = &set->candidates[i];
		struct fperf_range range = {candidate->start, candidate->limit, candidate->name, NULL};

		/* A label inside a function, or a second name of one. */
		if (!candidate->size && (candidate->start < sized_end || has_sized_alias(set, i)))
			continue;
		if (candidate->size && candidate->size < candidate->limit - candidate->start)
			range.end = candidate->start + candidate->size;
		if (candidate->size && range.end > sized_end)
			sized_end = range.end;
		failed = fperf_range_table__add(table, &range) != 0;
	}
	fperf_symbol_set__free(set);
	if (failed || fperf_range_table__seal(table)) {
		fperf_range_table__free(table);
		return -ENOMEM;
	}
	return 0;
}
