/* The critical chain of a frame, the pieces it is made of, and what they add up to. Internal to analyze/. */
#ifndef FPERF_ANALYZE_CHAIN_H
#define FPERF_ANALYZE_CHAIN_H

#include "analyze/timeline.h"

struct fperf_pieces {
	struct fperf_piece *items;
	size_t count, capacity;
};

/* Replaces what is in `chain` by the critical chain of one frame: disjoint pieces that fill it, in order of
 * time. Starts at the presenting thread and, where it waited for another thread of its process, goes on with
 * that thread. 0 or -ENOMEM. */
int fperf_chain__build(struct fperf_model *model, const struct fperf_frame *frame,
		       struct fperf_pieces *chain);

/* Pieces of one thread between two times; appended. 0 or -ENOMEM. */
int fperf_pieces__of_thread(struct fperf_model *model, const struct fperf_timeline *timeline,
			    uint64_t from_ns, uint64_t to_ns, struct fperf_pieces *pieces);

/* The chain as the analysis hands it out: neighbours that look the same are one link. The caller frees
 * *links. 0 or -ENOMEM. */
int fperf_chain__links(const struct fperf_model *model, const struct fperf_pieces *chain,
		       struct fperf_chain_link **links, size_t *count);

/* Time by cause, group of threads and place. Sorted by key. */
struct fperf_tally_entry {
	uint64_t key;
	double ns;
};

struct fperf_tally {
	struct fperf_tally_entry *items;
	size_t count, capacity;
};

/* Place: function id of the innermost own function, 0 when there is none or it does not matter. */
uint64_t fperf_tally__key(enum fperf_cause cause, uint32_t group, uint32_t place);
enum fperf_cause fperf_tally__cause(uint64_t key);
uint32_t fperf_tally__group(uint64_t key);
uint32_t fperf_tally__place(uint64_t key);

/* Key of one piece. The place does not enter for running, run queue and preemption: there it is found later,
 * by samples. */
uint64_t fperf_piece__key(const struct fperf_model *model, const struct fperf_piece *piece);

/* Adds pieces times `factor`, then sorts and sums equal keys. 0 or -ENOMEM. */
int fperf_tally__add_pieces(struct fperf_tally *tally, const struct fperf_model *model,
			    const struct fperf_pieces *pieces, double factor);
int fperf_tally__add_tally(struct fperf_tally *tally, const struct fperf_tally *other, double factor);
void fperf_tally__sum_up(struct fperf_tally *tally);
double fperf_tally__get(const struct fperf_tally *tally, uint64_t key); /* after sum_up */
void fperf_tally__clear(struct fperf_tally *tally);
void fperf_tally__free(struct fperf_tally *tally);

#endif
