#include "session/session.h"

#include "session/store.h"

#include <string.h>

static const uint8_t forgotten[] = {FPERF_RECORD_SAMPLE, FPERF_RECORD_OFFCPU, FPERF_RECORD_MARK,
				    FPERF_RECORD_COUNTER};

static void table_forget(struct fperf_session *session, uint32_t type, uint64_t before_ns)
{
	const struct fperf_schema_type *schema = fperf_schema__type(type);
	struct fperf_session_table *table = &session->tables[type];
	char *data = table->data;
	size_t kept = 0;

	for (size_t i = 0; i < table->count; i++) {
		const char *record = data + i * schema->size;

		if (fperf_schema__load(record, schema->until, 8) < before_ns)
			continue;
		if (kept != i)
			memcpy(data + kept * schema->size, record, schema->size);
		kept++;
	}
	table->count = kept;
}

/* Clocks in order of time: one stays as long as no later one before `before_ns` takes its place. */
static void clocks_forget(struct fperf_session_table *table, uint64_t before_ns)
{
	struct fperf_rec_freq *clocks = table->data;
	struct fperf_map last = {0}; /* (CPU, kind) to index + 1 */
	size_t kept = 0;

	for (size_t i = 0; i < table->count && clocks[i].time_ns < before_ns; i++)
		if (fperf_map__set(&last, (uint64_t)clocks[i].cpu << 8 | clocks[i].kind, i + 1))
			goto out; /* out of memory: all stay */
	for (size_t i = 0; i < table->count; i++) {
		uint64_t at = 0;

		fperf_map__get(&last, (uint64_t)clocks[i].cpu << 8 | clocks[i].kind, &at);
		if (clocks[i].time_ns < before_ns && at != i + 1)
			continue;
		clocks[kept++] = clocks[i];
	}
	table->count = kept;
out:
	fperf_map__free(&last);
}

void fperf_session__forget(struct fperf_session *session, uint64_t before_ns)
{
	for (size_t i = 0; i < sizeof(forgotten); i++)
		table_forget(session, forgotten[i], before_ns);
	clocks_forget(&session->tables[FPERF_RECORD_FREQ], before_ns);
}

size_t fperf_session__bytes(const struct fperf_session *session)
{
	return session->used;
}

void fperf_session__set_limit(struct fperf_session *session, size_t bytes)
{
	session->limit = bytes;
}
