/* What is known of the frame boundaries of one process. */
#ifndef FPERF_CAPTURE_FRAME_PROCESS_H
#define FPERF_CAPTURE_FRAME_PROCESS_H

#include "capture/frame_choice.h"
#include "frameperf/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_frame_process_site;

struct fperf_frame_process {
	uint32_t pid;
	size_t chosen;	 /* index of a site, FPERF_FRAME_NONE: not yet */
	size_t previous; /* the same before the choice was taken back */
	struct fperf_frame_process_site *sites;
	size_t site_count, site_capacity;
	uint64_t since_ns; /* hits are compared from here on */
};

void fperf_frame_process__init(struct fperf_frame_process *process, uint32_t pid);
void fperf_frame_process__free(struct fperf_frame_process *process);

/* Takes over how often a site was hit so far. */
void fperf_frame_process__count(struct fperf_frame_process *process, size_t site, uint32_t marker,
				uint8_t rank, const struct fperf_mark_hits *hits);

/* Chooses if nothing is chosen yet and there are enough hits; true when a choice was made. */
bool fperf_frame_process__choose(struct fperf_frame_process *process, uint64_t now_ns, bool final);

/* Takes the choice back; only hits from now on will count. */
void fperf_frame_process__reopen(struct fperf_frame_process *process, uint64_t now_ns);

/* The chosen site has not fired for so long. */
bool fperf_frame_process__is_silent(const struct fperf_frame_process *process, uint64_t now_ns,
				    uint64_t silent_ns);

/* A site fires that had not fired when the choice was made. */
bool fperf_frame_process__has_newcomer(const struct fperf_frame_process *process);

bool fperf_frame_process__has_fired(const struct fperf_frame_process *process, size_t site);

/* Hits of the chosen site so far; 0 when nothing is chosen. */
uint64_t fperf_frame_process__frames(const struct fperf_frame_process *process);

/* Why the site was chosen or not, as fperf_frame_explain(). */
void fperf_frame_process__explain(const struct fperf_frame_process *process, size_t site, char *text,
				  size_t size);

#endif
