#include "capture/frame_choice.h"

#include "base/clock.h"

#include <stdio.h>

#define ENOUGH_HITS   60
#define FEW_HITS      10
#define FEW_HITS_NS   (2 * FPERF_NS_PER_S)
#define MAX_RATE_HZ   20000ull
#define MIN_RATE_HITS 200ull /* before a rate is believed */

static double rate_hz(const struct fperf_frame_count *count)
{
	if (count->hits < 2 || count->last_ns <= count->first_ns)
		return 0;
	return (double)(count->hits - 1) * (double)FPERF_NS_PER_S /
	       (double)(count->last_ns - count->first_ns);
}

static bool is_too_fast(const struct fperf_frame_count *count)
{
	return count->hits >= MIN_RATE_HITS && rate_hz(count) > (double)MAX_RATE_HZ;
}

/* Fires for each of about as many frames, on the thread that presents. */
static bool keeps_up(const struct fperf_frame_count *count, const struct fperf_frame_count *busiest)
{
	return count->hits * 2 >= busiest->hits && count->tid == busiest->tid && !is_too_fast(count);
}

static size_t find_busiest(const struct fperf_frame_count *counts, size_t count)
{
	size_t busiest = FPERF_FRAME_NONE;

	for (size_t i = 0; i < count; i++) {
		if (!counts[i].hits || is_too_fast(&counts[i]))
			continue;
		if (busiest == FPERF_FRAME_NONE || counts[i].hits > counts[busiest].hits ||
		    (counts[i].hits == counts[busiest].hits && counts[i].rank < counts[busiest].rank))
			busiest = i;
	}
	return busiest;
}

size_t fperf_frame_choose(const struct fperf_frame_count *counts, size_t count, uint64_t now_ns, bool final)
{
	size_t busiest = find_busiest(counts, count), best = busiest;

	if (busiest == FPERF_FRAME_NONE)
		return FPERF_FRAME_NONE;
	if (!final && counts[busiest].hits < ENOUGH_HITS &&
	    (counts[busiest].hits < FEW_HITS || now_ns - counts[busiest].first_ns < FEW_HITS_NS))
		return FPERF_FRAME_NONE;
	for (size_t i = 0; i < count; i++) {
		if (!keeps_up(&counts[i], &counts[busiest]))
			continue;
		if (counts[i].rank < counts[best].rank ||
		    (counts[i].rank == counts[best].rank && counts[i].hits > counts[best].hits))
			best = i;
	}
	return best;
}

static size_t fired_count(const struct fperf_frame_count *counts, size_t count)
{
	size_t fired = 0;

	for (size_t i = 0; i < count; i++)
		fired += counts[i].hits != 0;
	return fired;
}

void fperf_frame_explain(const struct fperf_frame_count *counts, size_t count, size_t chosen, size_t index,
			 char *text, size_t size)
{
	const struct fperf_frame_count *it = &counts[index];
	size_t busiest = find_busiest(counts, count);

	if (!it->hits)
		snprintf(text, size, "never fired");
	else if (is_too_fast(it))
		snprintf(text, size, "fired %.0f times a second, faster than frames can be", rate_hz(it));
	else if (index == chosen && fired_count(counts, count) == 1)
		snprintf(text, size, "the only one that fires");
	else if (index == chosen)
		snprintf(text, size, "nearest to the driver of those that fire for each frame");
	else if (busiest != FPERF_FRAME_NONE && it->tid != counts[busiest].tid)
		snprintf(text, size, "fired on another thread than the one that presents most");
	else if (busiest != FPERF_FRAME_NONE && it->hits * 2 < counts[busiest].hits)
		snprintf(text, size, "fired %llu times while another fired %llu times",
			 (unsigned long long)it->hits, (unsigned long long)counts[busiest].hits);
	else
		snprintf(text, size, "fires for the same frames, further from the driver");
}
