#include "analyze/broken.h"

#include "frameperf/records.h"

size_t fperf_broken__list(const struct fperf_session *session, struct fperf_broken *rows, size_t limit)
{
	size_t records = 0, count = 0;
	const struct fperf_rec_unwind_failure *failures =
		fperf_session__records(session, FPERF_RECORD_UNWIND_FAILURE, &records);
	double all = 0;

	for (size_t i = 0; i < records; i++) {
		size_t at = count < limit ? count++ : limit;

		all += (double)failures[i].count;
		for (; at && failures[i].count > rows[at - 1].count; at--)
			if (at < limit)
				rows[at] = rows[at - 1];
		if (at < limit)
			rows[at] = (struct fperf_broken){.module = failures[i].module,
							 .outcome = failures[i].outcome,
							 .count = failures[i].count};
	}
	for (size_t i = 0; i < count; i++)
		rows[i].share = all > 0 ? (double)rows[i].count / all : 0;
	return count;
}
