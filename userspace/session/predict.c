#include "session/predict.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

/* Lists are chained through `next`, an index into the nodes + 1. The map holds head << 32 | length. */
struct fperf_recent_node {
	uint64_t value;
	uint32_t next;
};

static const bool needs[][3] = {
	[FPERF_PREDICT_NONE] = {false, false, false},	  [FPERF_PREDICT_ZERO] = {false, false, false},
	[FPERF_PREDICT_PREVIOUS] = {false, false, false}, [FPERF_PREDICT_COLUMN] = {true, false, false},
	[FPERF_PREDICT_KEYED] = {true, true, false},	  [FPERF_PREDICT_MENTION] = {true, true, true},
	[FPERF_PREDICT_HANDOVER] = {true, true, true},	  [FPERF_PREDICT_RECENT] = {false, true, true},
};

int fperf_predict__init(struct fperf_predict *predict, const struct fperf_schema_field *own,
			uint8_t predictor, const uint8_t columns[3], const void *records)
{
	const struct fperf_schema_field *fields[3] = {NULL};

	*predict =
		(struct fperf_predict){.predictor = predictor, .own = own, .records = records, .before = -1};
	if (predictor >= sizeof(needs) / sizeof(needs[0]))
		return -ENOTSUP;
	for (size_t i = 0; i < 3; i++) {
		if (!needs[predictor][i])
			continue;
		fields[i] = fperf_schema__column(own->type, columns[i]);
		if (!fields[i])
			return -ENOTSUP;
		if (fields[i]->kind != FPERF_FIELD_INTEGER)
			return -EBADMSG;
	}
	predict->value = fields[0];
	predict->key = fields[1];
	predict->match = fields[2];
	predict->size = fperf_schema__type(own->type)->size;
	return 0;
}

void fperf_predict__free(struct fperf_predict *predict)
{
	fperf_map__free(&predict->last);
	free(predict->nodes);
	*predict = (struct fperf_predict){0};
}

static uint64_t load(const struct fperf_predict *predict, const struct fperf_schema_field *field,
		     uint64_t index)
{
	return fperf_schema__load(predict->records + index * predict->size, field->offset, field->width);
}

uint64_t fperf_predict__expect(const struct fperf_predict *predict, uint32_t index)
{
	uint64_t found = (uint64_t)predict->before;
	bool known;

	switch (predict->predictor) {
	case FPERF_PREDICT_PREVIOUS:
		return predict->before < 0 ? 0 : load(predict, predict->own, found);
	case FPERF_PREDICT_COLUMN:
		return load(predict, predict->value, index);
	case FPERF_PREDICT_KEYED:
	case FPERF_PREDICT_MENTION:
	case FPERF_PREDICT_HANDOVER:
		known = fperf_map__get(&predict->last, load(predict, predict->key, index), &found);
		if (predict->before < 0)
			return 0;
		if (predict->predictor == FPERF_PREDICT_HANDOVER &&
		    (!known || load(predict, predict->match, found) != load(predict, predict->key, index)))
			return 0;
		return load(predict, predict->value, found);
	default:
		return 0;
	}
}

int fperf_predict__learn(struct fperf_predict *predict, uint32_t index, bool present)
{
	int ret = 0;

	/* A column that predicts itself learns nothing from records that leave it out. */
	if (!present && (!predict->value || predict->value == predict->own))
		return 0;
	predict->before = index;
	if (predict->value && predict->key)
		ret = fperf_map__set(&predict->last, load(predict, predict->key, index), index);
	if (!ret && predict->match)
		ret = fperf_map__set(&predict->last, load(predict, predict->match, index), index);
	return ret;
}

/* The low 32 bits of both keys: enough to tell threads, states and system calls apart, and what does not tell
 * apart only predicts less well. */
static uint64_t list_key(const struct fperf_predict *predict, uint32_t index)
{
	return load(predict, predict->key, index) << 32 | (uint32_t)load(predict, predict->match, index);
}

/* Takes the node out of its place, behind `before` (0: it is the head), and puts it first. */
static void node_to_front(struct fperf_predict *predict, uint32_t *head, uint32_t before, uint32_t node)
{
	struct fperf_recent_node *nodes = predict->nodes;

	if (!before)
		return;
	nodes[before - 1].next = nodes[node - 1].next;
	nodes[node - 1].next = *head;
	*head = node;
}

static int node_add(struct fperf_predict *predict, uint32_t *head, uint64_t value)
{
	struct fperf_recent_node *node =
		fperf_vec__push(&predict->nodes, &predict->node_count, &predict->node_capacity);

	if (!node)
		return -ENOMEM;
	node->value = value;
	node->next = *head;
	*head = (uint32_t)predict->node_count;
	return 0;
}

int fperf_predict__rank(struct fperf_predict *predict, uint32_t index, uint64_t value, uint8_t *rank)
{
	uint64_t key = list_key(predict, index), list = 0;
	uint32_t head, length, before = 0, node, place = 1, before_last = 0;
	int ret = 0;

	fperf_map__get(&predict->last, key, &list);
	head = (uint32_t)(list >> 32);
	length = (uint32_t)list;
	for (node = head; node && predict->nodes[node - 1].value != value; place++) {
		before_last = before;
		before = node;
		node = predict->nodes[node - 1].next;
	}
	*rank = node ? (uint8_t)place : 0;
	if (node) {
		node_to_front(predict, &head, before, node);
	} else if (length == FPERF_RECENT_MAX) {
		predict->nodes[before - 1].value = value;
		node_to_front(predict, &head, before_last, before);
	} else {
		ret = node_add(predict, &head, value);
		length++;
	}
	return ret ? ret : fperf_map__set(&predict->last, key, (uint64_t)head << 32 | length);
}

int fperf_predict__ranked(struct fperf_predict *predict, uint32_t index, uint8_t rank, uint64_t *value)
{
	uint64_t key = list_key(predict, index), list = 0;
	uint32_t head, length, before = 0, node;

	fperf_map__get(&predict->last, key, &list);
	head = node = (uint32_t)(list >> 32);
	length = (uint32_t)list;
	if (!rank || rank > length)
		return -EBADMSG;
	for (uint8_t place = 1; place < rank; place++) {
		before = node;
		node = predict->nodes[node - 1].next;
	}
	*value = predict->nodes[node - 1].value;
	node_to_front(predict, &head, before, node);
	return fperf_map__set(&predict->last, key, (uint64_t)head << 32 | length);
}
