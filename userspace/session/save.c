#include "session/session.h"

#include "frameperf/meta.h"
#include "session/store.h"
#include "session/writer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int in_compare(const void *a, const void *b)
{
	const struct fperf_rec_offcpu *left = *(const struct fperf_rec_offcpu *const *)a;
	const struct fperf_rec_offcpu *right = *(const struct fperf_rec_offcpu *const *)b;

	if (left->in_ns != right->in_ns)
		return left->in_ns < right->in_ns ? -1 : 1;
	return left < right ? -1 : left > right;
}

/* Off-CPU intervals in the order in which they ended, in which they are recorded and stored best. */
static int offcpu_save(const struct fperf_rec_offcpu *intervals, size_t count, struct fperf_writer *writer,
		       struct fperf_error *err)
{
	const struct fperf_rec_offcpu **order = malloc((count + 1) * sizeof(*order));
	int ret = order ? 0 : fperf_error__no_memory(err, "an order of intervals");

	for (size_t i = 0; !ret && i < count; i++)
		order[i] = &intervals[i];
	if (!ret)
		qsort(order, count, sizeof(*order), in_compare);
	for (size_t i = 0; !ret && i < count; i++)
		ret = fperf_writer__add(writer, FPERF_RECORD_OFFCPU, order[i], err);
	free(order);
	return ret;
}

static int table_save(const struct fperf_session *session, uint32_t type, struct fperf_writer *writer,
		      struct fperf_error *err)
{
	size_t count;
	const char *records = fperf_session__records(session, type, &count);
	int ret = 0;

	if (type == FPERF_RECORD_OFFCPU)
		return offcpu_save((const void *)records, count, writer, err);
	for (size_t i = 0; !ret && i < count; i++)
		ret = fperf_writer__add(writer, type, records + i * fperf_schema_types[type].size, err);
	return ret;
}

static uint32_t highest_string(const struct fperf_session *session)
{
	size_t count;
	const struct fperf_rec_string *strings = fperf_session__records(session, FPERF_RECORD_STRING, &count);
	uint32_t highest = 0;

	for (size_t i = 0; i < count; i++)
		highest = strings[i].id > highest ? strings[i].id : highest;
	return highest;
}

int fperf_session__save(const struct fperf_session *session, const char *path, struct fperf_error *err)
{
	const char *id = fperf_session__meta(session, FPERF_META_SESSION_ID);
	struct fperf_writer_options options = {.path = path,
					       .owner_uid = (uid_t)-1,
					       .owner_gid = (gid_t)-1,
					       .session_id = id && strlen(id) == 32 ? id : NULL,
					       .first_string = highest_string(session)};
	struct fperf_error late;
	struct fperf_writer *writer;
	int ret = fperf_writer__open(&options, &writer, err);

	if (ret)
		return ret;
	for (uint32_t type = 1; !ret && type < FPERF_RECORD_TYPES; type++)
		if (fperf_schema__type(type))
			ret = table_save(session, type, writer, err);
	if (fperf_writer__close(writer, &late) && !ret) {
		*err = late;
		ret = late.code;
	}
	if (ret)
		unlink(path);
	return ret;
}
