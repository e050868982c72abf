#include "output/output.h"

#include <string.h>

static const struct fperf_output_ops *const formats[] = {&fperf_output_text, &fperf_output_json};

const struct fperf_output_ops *fperf_output__find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	}
	return NULL;
}

bool fperf_report__damaged(const struct fperf_session_damage *damage)
{
	return damage->chunks_bad || damage->bytes_skipped || damage->records_dropped || damage->tail_cut ||
	       damage->no_end;
}

const struct fperf_rec_source *fperf_report__source(const struct fperf_session *session,
						    enum fperf_source source)
{
	const struct fperf_rec_source *found = NULL, *records;
	size_t count = 0;

	records = fperf_session__records(session, FPERF_RECORD_SOURCE, &count);
	for (size_t i = 0; i < count; i++) {
		if (records[i].source == source)
			found = &records[i];
	}
	return found;
}
