/* What a value of a column is expected to be, from what comes before it in its chunk: the same computation
 * for writer and reader. */
#ifndef FPERF_SESSION_PREDICT_H
#define FPERF_SESSION_PREDICT_H

#include "base/map.h"
#include "session/schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPERF_RECENT_MAX 255

struct fperf_recent_node;

struct fperf_predict {
	uint8_t predictor; /* enum fperf_predictor */
	const struct fperf_schema_field *own;
	const struct fperf_schema_field *value, *key, *match; /* NULL where the predictor needs none */
	const char *records;
	uint16_t size;			 /* of a record */
	int64_t before;			 /* index of the last record learned, -1: none */
	struct fperf_map last;		 /* key: index of the last record learned with it; RECENT: its list */
	struct fperf_recent_node *nodes; /* RECENT: of all lists */
	size_t node_count, node_capacity;
};

/* `columns` are the ids of value, key and match. 0, -ENOTSUP (a predictor or column that this version does
 * not know) or -EBADMSG (a column that cannot be referred to). */
int fperf_predict__init(struct fperf_predict *predict, const struct fperf_schema_field *own,
			uint8_t predictor, const uint8_t columns[3], const void *records);
void fperf_predict__free(struct fperf_predict *predict);

uint64_t fperf_predict__expect(const struct fperf_predict *predict, uint32_t index);

/* To be called for each record in order, once its value is there; `present`: it is not left out of a sparse
 * column. 0 or -ENOMEM. */
int fperf_predict__learn(struct fperf_predict *predict, uint32_t index, bool present);

/* FPERF_PREDICT_RECENT keeps the last FPERF_RECENT_MAX different values of each pair of key and match. The
 * rank of `value` in the list of the record's key, 1 for the last one; 0: it is not there. It is the last one
 * from now on. 0 or -ENOMEM. */
int fperf_predict__rank(struct fperf_predict *predict, uint32_t index, uint64_t value, uint8_t *rank);

/* The value that has this rank, which makes it the last one; -EBADMSG when the list is not that long. */
int fperf_predict__ranked(struct fperf_predict *predict, uint32_t index, uint8_t rank, uint64_t *value);

#endif
