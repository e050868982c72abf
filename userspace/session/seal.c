/* What happens to a session after its last record: replaced records go, events are put in order, ids get
 * their indexes. */
#include "session/session.h"

#include "session/store.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct sort_item {
	uint64_t key[FPERF_SCHEMA_KEYS];
	uint32_t position;
};

static int key_compare(const struct sort_item *a, const struct sort_item *b)
{
	for (size_t i = 0; i < FPERF_SCHEMA_KEYS; i++)
		if (a->key[i] != b->key[i])
			return a->key[i] < b->key[i] ? -1 : 1;
	return 0;
}

static int item_compare(const void *a, const void *b)
{
	const struct sort_item *left = a, *right = b;
	int order = key_compare(left, right);

	if (order)
		return order;
	return left->position < right->position ? -1 : left->position > right->position;
}

static void item_load(struct sort_item *item, const struct fperf_schema_type *schema, const void *record)
{
	memset(item->key, 0, sizeof(item->key));
	if (schema->time != FPERF_SCHEMA_NO_OFFSET)
		item->key[0] = fperf_schema__load(record, schema->time, 8);
	else
		for (size_t i = 0; i < schema->keys; i++)
			item->key[i] = fperf_schema__load(record, schema->key[i], schema->key_width[i]);
}

/* Most tables are in order already; `strictly`: and no two are equal. */
static bool table_in_order(const struct fperf_session_table *table, const struct fperf_schema_type *schema,
			   bool strictly)
{
	struct sort_item before, item;

	for (size_t i = 0; i < table->count; i++) {
		item_load(&item, schema, (const char *)table->data + i * schema->size);
		if (i && key_compare(&before, &item) > (strictly ? -1 : 0))
			return false;
		before = item;
	}
	return true;
}

static struct sort_item *items_sorted(const struct fperf_session_table *table,
				      const struct fperf_schema_type *schema)
{
	struct sort_item *items = malloc(table->count * sizeof(*items));

	if (!items)
		return NULL;
	for (size_t i = 0; i < table->count; i++) {
		item_load(&items[i], schema, (const char *)table->data + i * schema->size);
		items[i].position = (uint32_t)i;
	}
	qsort(items, table->count, sizeof(*items), item_compare);
	return items;
}

/* Events in order of time; equal times keep the order in which they were added. */
static int table_sort(struct fperf_session_table *table, const struct fperf_schema_type *schema,
		      struct fperf_error *err)
{
	struct sort_item *items;
	char *sorted;

	if (table_in_order(table, schema, false))
		return 0;
	items = items_sorted(table, schema);
	sorted = malloc(table->count * schema->size);
	if (!items || !sorted) {
		free(items);
		free(sorted);
		return fperf_error__no_memory(err, "sorting of session events");
	}
	for (size_t i = 0; i < table->count; i++)
		memcpy(sorted + i * schema->size,
		       (const char *)table->data + (size_t)items[i].position * schema->size, schema->size);
	free(table->data);
	table->data = sorted;
	table->capacity = table->count;
	free(items);
	return 0;
}

/* Of records with equal keys the last is kept, at the place of the first. */
static int table_replace(struct fperf_session_table *table, const struct fperf_schema_type *schema,
			 struct fperf_error *err)
{
	char *data = table->data;
	struct sort_item *items;
	size_t kept = 0;
	bool *gone;

	if (table_in_order(table, schema, true))
		return 0;
	items = items_sorted(table, schema);
	gone = calloc(table->count, sizeof(*gone));
	if (!items || !gone) {
		free(items);
		free(gone);
		return fperf_error__no_memory(err, "indexing of session records");
	}
	for (size_t i = 0, last; i < table->count; i = last + 1) {
		for (last = i; last + 1 < table->count && !key_compare(&items[i], &items[last + 1]); last++)
			gone[items[last + 1].position] = true;
		if (last != i)
			memcpy(data + (size_t)items[i].position * schema->size,
			       data + (size_t)items[last].position * schema->size, schema->size);
	}
	for (size_t i = 0; i < table->count; i++) {
		if (gone[i])
			continue;
		if (kept != i)
			memcpy(data + kept * schema->size, data + i * schema->size, schema->size);
		kept++;
	}
	table->count = kept;
	free(items);
	free(gone);
	return 0;
}

/* Memory that sorting takes for a while counts as well. */
static int table_order(struct fperf_session *session, struct fperf_session_table *table,
		       const struct fperf_schema_type *schema, struct fperf_error *err)
{
	size_t meanwhile = table->count * (schema->size + sizeof(struct sort_item)), capacity;
	int ret = fperf_session__account(session, meanwhile, err);

	if (ret)
		return ret;
	capacity = table->capacity;
	ret = schema->time != FPERF_SCHEMA_NO_OFFSET ? table_sort(table, schema, err)
						     : table_replace(table, schema, err);
	session->used -= meanwhile + (capacity - table->capacity) * schema->size;
	return ret;
}

static int table_index(struct fperf_session_table *table, const struct fperf_schema_type *schema,
		       struct fperf_error *err)
{
	struct fperf_session_index *index = &table->index;
	uint64_t largest = 0, id;

	fperf_session_index__free(index);
	for (size_t i = 0; i < table->count; i++) {
		id = fperf_schema__load((const char *)table->data + i * schema->size, schema->id, 4);
		largest = id > largest ? id : largest;
	}
	if (largest < (uint64_t)table->count * 4 + 1024) {
		index->dense = calloc(largest + 1, sizeof(*index->dense));
		if (!index->dense)
			return fperf_error__no_memory(err, "an index of session records");
		index->dense_count = largest + 1;
	}
	for (size_t i = 0; i < table->count; i++) {
		id = fperf_schema__load((const char *)table->data + i * schema->size, schema->id, 4);
		if (index->dense)
			index->dense[id] = (uint32_t)i + 1;
		else if (fperf_map__set(&index->sparse, id, i + 1))
			return fperf_error__no_memory(err, "an index of session records");
	}
	return 0;
}

int fperf_session__seal(struct fperf_session *session, struct fperf_error *err)
{
	int ret = 0;

	for (uint32_t type = 1; !ret && type < FPERF_RECORD_TYPES; type++) {
		const struct fperf_schema_type *schema = fperf_schema__type(type);
		struct fperf_session_table *table = &session->tables[type];

		if (!schema || !table->count)
			continue;
		if (schema->time != FPERF_SCHEMA_NO_OFFSET || schema->keys)
			ret = table_order(session, table, schema, err);
		if (!ret && schema->id != FPERF_SCHEMA_NO_OFFSET)
			ret = table_index(table, schema, err);
	}
	return ret;
}
