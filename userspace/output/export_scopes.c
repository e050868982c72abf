#include "output/export_scopes.h"

#include "base/map.h"
#include "base/vec.h"

#include <stdlib.h>

struct open_scope {
	uint64_t from_ns;
	uint32_t marker;
	size_t outer; /* the one that was innermost before, plus one */
};

struct scope_search {
	struct open_scope *opened;
	size_t opened_count, opened_capacity, capacity;
	struct fperf_map innermost; /* thread << 32 | name to index in opened, plus one */
};

static int scope_open(struct scope_search *search, const struct fperf_rec_mark *mark, uint64_t key)
{
	struct open_scope *scope =
		fperf_vec__push(&search->opened, &search->opened_count, &search->opened_capacity);
	uint64_t outer = 0;

	if (!scope)
		return -1;
	fperf_map__get(&search->innermost, key, &outer);
	*scope = (struct open_scope){.from_ns = mark->time_ns, .marker = mark->marker, .outer = outer};
	return fperf_map__set(&search->innermost, key, search->opened_count);
}

static int scope_close(struct scope_search *search, const struct fperf_rec_mark *mark, uint64_t key,
		       struct fperf_scope **scopes, size_t *count)
{
	const struct open_scope *begin;
	struct fperf_scope *scope;
	uint64_t index;

	if (!fperf_map__get(&search->innermost, key, &index) || !index)
		return 0;
	begin = &search->opened[index - 1];
	scope = fperf_vec__push(scopes, count, &search->capacity);
	if (!scope)
		return -1;
	*scope = (struct fperf_scope){.from_ns = begin->from_ns,
				      .to_ns = mark->time_ns,
				      .thread = mark->thread,
				      .marker = begin->marker};
	return fperf_map__set(&search->innermost, key, begin->outer);
}

int fperf_scopes__find(const struct fperf_session *session, struct fperf_scope **scopes, size_t *count,
		       struct fperf_error *err)
{
	struct scope_search search = {0};
	const struct fperf_rec_mark *marks;
	size_t mark_count;
	int failed = 0;

	*scopes = NULL;
	*count = 0;
	marks = fperf_session__records(session, FPERF_RECORD_MARK, &mark_count);
	for (size_t i = 0; i < mark_count && !failed; i++) {
		const struct fperf_rec_marker *marker = fperf_session__marker(session, marks[i].marker);
		uint64_t key;

		if (!marker)
			continue;
		key = (uint64_t)marks[i].thread << 32 | marker->name;
		if (marker->kind == FPERF_MARKER_SCOPE_BEGIN)
			failed = scope_open(&search, &marks[i], key);
		else if (marker->kind == FPERF_MARKER_SCOPE_END)
			failed = scope_close(&search, &marks[i], key, scopes, count);
	}
	free(search.opened);
	fperf_map__free(&search.innermost);
	if (!failed)
		return 0;
	free(*scopes);
	*scopes = NULL;
	*count = 0;
	return fperf_error__no_memory(err, "the scopes");
}
