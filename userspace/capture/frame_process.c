#include "capture/frame_process.h"

#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>

struct fperf_frame_process_site {
	struct fperf_frame_count total;
	uint64_t ignored; /* hits before everything was compared */
	bool considered;  /* had fired when the choice was made */
};

void fperf_frame_process__init(struct fperf_frame_process *process, uint32_t pid)
{
	*process = (struct fperf_frame_process){
		.pid = pid, .chosen = FPERF_FRAME_NONE, .previous = FPERF_FRAME_NONE};
}

void fperf_frame_process__free(struct fperf_frame_process *process)
{
	free(process->sites);
	fperf_frame_process__init(process, process->pid);
}

void fperf_frame_process__count(struct fperf_frame_process *process, size_t site, uint32_t marker,
				uint8_t rank, const struct fperf_mark_hits *hits)
{
	while (process->site_count <= site)
		if (!fperf_vec__push(&process->sites, &process->site_count, &process->site_capacity))
			return;
	process->sites[site].total = (struct fperf_frame_count){
		.marker = marker,
		.rank = rank,
		.tid = hits->tid,
		.hits = hits->count,
		.first_ns = hits->first_ns,
		.last_ns = hits->last_ns,
	};
}

/* Hits since the last time that everything was a candidate; NULL when out of memory. */
static struct fperf_frame_count *counts_make(const struct fperf_frame_process *process)
{
	struct fperf_frame_count *counts =
		calloc(process->site_count ? process->site_count : 1, sizeof(*counts));

	for (size_t i = 0; counts && i < process->site_count; i++) {
		const struct fperf_frame_process_site *site = &process->sites[i];

		counts[i] = site->total;
		counts[i].hits -= site->ignored < site->total.hits ? site->ignored : site->total.hits;
		if (counts[i].first_ns < process->since_ns)
			counts[i].first_ns = process->since_ns;
	}
	return counts;
}

bool fperf_frame_process__choose(struct fperf_frame_process *process, uint64_t now_ns, bool final)
{
	struct fperf_frame_count *counts;

	if (process->chosen != FPERF_FRAME_NONE)
		return false;
	counts = counts_make(process);
	if (!counts)
		return false;
	process->chosen = fperf_frame_choose(counts, process->site_count, now_ns, final);
	free(counts);
	for (size_t i = 0; i < process->site_count; i++)
		process->sites[i].considered = process->sites[i].total.hits > 0;
	return process->chosen != FPERF_FRAME_NONE;
}

void fperf_frame_process__reopen(struct fperf_frame_process *process, uint64_t now_ns)
{
	if (process->chosen != FPERF_FRAME_NONE)
		process->previous = process->chosen;
	process->chosen = FPERF_FRAME_NONE;
	process->since_ns = now_ns;
	for (size_t i = 0; i < process->site_count; i++)
		process->sites[i].ignored = process->sites[i].total.hits;
}

bool fperf_frame_process__is_silent(const struct fperf_frame_process *process, uint64_t now_ns,
				    uint64_t silent_ns)
{
	uint64_t last_ns;

	if (process->chosen == FPERF_FRAME_NONE)
		return false;
	last_ns = process->sites[process->chosen].total.last_ns;
	return now_ns > last_ns && now_ns - last_ns > silent_ns;
}

bool fperf_frame_process__has_newcomer(const struct fperf_frame_process *process)
{
	if (process->chosen == FPERF_FRAME_NONE)
		return false;
	for (size_t i = 0; i < process->site_count; i++)
		if (process->sites[i].total.hits && !process->sites[i].considered)
			return true;
	return false;
}

bool fperf_frame_process__has_fired(const struct fperf_frame_process *process, size_t site)
{
	return site < process->site_count && process->sites[site].total.hits;
}

uint64_t fperf_frame_process__frames(const struct fperf_frame_process *process)
{
	return process->chosen < process->site_count ? process->sites[process->chosen].total.hits : 0;
}

void fperf_frame_process__explain(const struct fperf_frame_process *process, size_t site, char *text,
				  size_t size)
{
	struct fperf_frame_count *counts;

	if (site >= process->site_count) {
		snprintf(text, size, "never fired");
		return;
	}
	counts = counts_make(process);
	if (counts)
		fperf_frame_explain(counts, process->site_count, process->chosen, site, text, size);
	else
		snprintf(text, size, "out of memory");
	free(counts);
}
