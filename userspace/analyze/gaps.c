#include "analyze/gaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TASK_PARKED 64u /* a state that no wait of a game has */
#define MOST_BYTES  ((size_t)256 << 20)
#define MOST_GAPS   4096 /* more than any recorder writes; a damaged file must not cost more than that */

static const struct fperf_rec_gap *gaps_of(const struct fperf_session *session, size_t *count)
{
	const struct fperf_rec_gap *gaps = fperf_session__records(session, FPERF_RECORD_GAP, count);

	*count = *count < MOST_GAPS ? *count : MOST_GAPS;
	return gaps;
}

uint64_t fperf_gaps__between(const struct fperf_session *session, uint64_t from_ns, uint64_t to_ns)
{
	size_t count;
	const struct fperf_rec_gap *gaps = gaps_of(session, &count);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t begin = gaps[i].from_ns > from_ns ? gaps[i].from_ns : from_ns;
		uint64_t end = gaps[i].to_ns < to_ns ? gaps[i].to_ns : to_ns;

		sum += end > begin ? end - begin : 0;
	}
	return sum;
}

static int out_compare(const void *a, const void *b)
{
	const struct fperf_rec_offcpu *left = a, *right = b;

	if (left->out_ns != right->out_ns)
		return left->out_ns < right->out_ns ? -1 : 1;
	return left->in_ns < right->in_ns ? -1 : left->in_ns > right->in_ns;
}

int fperf_gaps__fill(struct fperf_model *model)
{
	size_t gap_count, thread_count, all;
	const struct fperf_rec_gap *gaps = gaps_of(model->session, &gap_count);
	const struct fperf_rec_thread *threads =
		fperf_session__records(model->session, FPERF_RECORD_THREAD, &thread_count);

	if (!gap_count || !model->offcpu_count)
		return 0;
	if (thread_count > MOST_BYTES / sizeof(*model->own_offcpu) / gap_count)
		return -ENOMEM;
	all = model->offcpu_count + thread_count * gap_count;
	model->own_offcpu = malloc(all * sizeof(*model->own_offcpu));
	if (!model->own_offcpu)
		return -ENOMEM;
	memcpy(model->own_offcpu, model->offcpu, model->offcpu_count * sizeof(*model->own_offcpu));
	for (size_t i = 0; i < thread_count; i++)
		for (size_t at = 0; at < gap_count; at++)
			model->own_offcpu[model->offcpu_count++] =
				(struct fperf_rec_offcpu){.thread = threads[i].id,
							  .out_ns = gaps[at].from_ns,
							  .in_ns = gaps[at].to_ns,
							  .state = TASK_PARKED,
							  .syscall = -1};
	qsort(model->own_offcpu, all, sizeof(*model->own_offcpu), out_compare);
	model->offcpu = model->own_offcpu;
	return 0;
}
