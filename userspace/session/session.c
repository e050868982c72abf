#include "session/session.h"

#include "base/vec.h"
#include "session/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)64 << 10)

struct fperf_session_block {
	struct fperf_session_block *next;
	size_t used, size;
	_Alignas(8) char data[];
};

struct fperf_session *fperf_session__new(void)
{
	struct fperf_session *session = calloc(1, sizeof(*session));

	if (session)
		session->limit = SIZE_MAX;
	return session;
}

void fperf_session_index__free(struct fperf_session_index *index)
{
	free(index->dense);
	fperf_map__free(&index->sparse);
	*index = (struct fperf_session_index){0};
}

void fperf_session__free(struct fperf_session *session)
{
	if (!session)
		return;
	for (size_t type = 0; type < FPERF_RECORD_TYPES; type++) {
		free(session->tables[type].data);
		fperf_session_index__free(&session->tables[type].index);
	}
	for (struct fperf_session_block *block = session->blocks, *next; block; block = next) {
		next = block->next;
		free(block);
	}
	free(session);
}

int fperf_session__account(struct fperf_session *session, size_t size, struct fperf_error *err)
{
	if (size > session->limit - session->used)
		return fperf_error__set(err, -EFBIG,
					"the session needs more than %zu MiB of memory: raise the limit, or "
					"record with a lower level or a shorter duration",
					session->limit >> 20);
	session->used += size;
	return 0;
}

/* Memory that lives as long as the session, aligned to 8 bytes. */
static int block_alloc(struct fperf_session *session, size_t size, void **memory, struct fperf_error *err)
{
	struct fperf_session_block *block = session->blocks;
	size_t room;
	int ret;

	if (size > SIZE_MAX - 8 - sizeof(*block))
		return fperf_error__no_memory(err, "a record");
	size = (size + 7) & ~(size_t)7;
	if (!block || size > block->size - block->used) {
		room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
		ret = fperf_session__account(session, sizeof(*block) + room, err);
		if (ret)
			return ret;
		block = malloc(sizeof(*block) + room);
		if (!block) {
			session->used -= sizeof(*block) + room;
			return fperf_error__no_memory(err, "session strings and stacks");
		}
		block->next = session->blocks;
		block->used = 0;
		block->size = room;
		session->blocks = block;
	}
	*memory = block->data + block->used;
	block->used += size;
	return 0;
}

/* Replaces the record's pointer to its bytes or stack frames by a copy that the session owns. */
static int tail_copy(struct fperf_session *session, uint8_t tail, void *record, struct fperf_error *err)
{
	struct fperf_rec_string *string = record;
	struct fperf_rec_stack *stack = record;
	void *memory = NULL;
	int ret = 0;

	if (tail == FPERF_TAIL_BYTES) {
		ret = block_alloc(session, (size_t)string->size + 1, &memory, err);
		if (ret)
			return ret;
		if (string->size)
			memcpy(memory, string->bytes, string->size);
		((char *)memory)[string->size] = '\0';
		string->bytes = memory;
	} else if (tail == FPERF_TAIL_FRAMES && stack->count) {
		size_t size = (size_t)stack->count * sizeof(*stack->frames);

		ret = block_alloc(session, size, &memory, err);
		if (ret)
			return ret;
		memcpy(memory, stack->frames, size);
		stack->frames = memory;
	} else if (tail == FPERF_TAIL_FRAMES) {
		stack->frames = NULL;
	}
	return ret;
}

static int table_grow(struct fperf_session *session, struct fperf_session_table *table, size_t size,
		      struct fperf_error *err)
{
	size_t before = table->capacity, more = before ? before : 16;
	int ret;

	if (table->count < table->capacity)
		return 0;
	if (table->count >= UINT32_MAX / 2)
		return fperf_error__set(err, -EFBIG, "the session holds more than %u records of one type",
					UINT32_MAX / 2);
	ret = fperf_session__account(session, more * size, err);
	if (ret)
		return ret;
	if (fperf_vec__grow(&table->data, &table->capacity, before + more, size)) {
		session->used -= more * size;
		return fperf_error__no_memory(err, "session records");
	}
	return 0;
}

int fperf_session__add(struct fperf_session *session, enum fperf_record_type type, const void *record,
		       struct fperf_error *err)
{
	const struct fperf_schema_type *schema = fperf_schema__type(type);
	struct fperf_session_table *table;
	char *slot;
	int ret;

	if (!schema || type == FPERF_RECORD_END)
		return fperf_error__set(err, -EINVAL, "no record type has number %u", (unsigned int)type);
	table = &session->tables[type];
	ret = table_grow(session, table, schema->size, err);
	if (ret)
		return ret;
	slot = (char *)table->data + table->count * schema->size;
	memcpy(slot, record, schema->size);
	ret = tail_copy(session, schema->tail, slot, err);
	if (ret)
		return ret;
	table->count++;
	return 0;
}

const char *fperf_session__type_name(uint32_t type)
{
	return fperf_schema__type(type) ? fperf_schema__type(type)->name : NULL;
}

uint64_t fperf_session__stored_bytes(const struct fperf_session *session, enum fperf_record_type type)
{
	return fperf_schema__type(type) ? session->stored[type] : 0;
}

const void *fperf_session__records(const struct fperf_session *session, enum fperf_record_type type,
				   size_t *count)
{
	const struct fperf_session_table *table;

	*count = 0;
	if (!fperf_schema__type(type))
		return NULL;
	table = &session->tables[type];
	*count = table->count;
	return table->count ? table->data : NULL;
}

static const void *find(const struct fperf_session *session, enum fperf_record_type type, uint32_t id)
{
	const struct fperf_session_table *table = &session->tables[type];
	uint64_t position = 0;

	if (!id)
		return NULL;
	if (id < table->index.dense_count)
		position = table->index.dense[id];
	else
		fperf_map__get(&table->index.sparse, id, &position);
	return position ? (const char *)table->data + (position - 1) * fperf_schema_types[type].size : NULL;
}

const struct fperf_rec_module *fperf_session__module(const struct fperf_session *session, uint32_t id)
{
	return find(session, FPERF_RECORD_MODULE, id);
}

const struct fperf_rec_process *fperf_session__process(const struct fperf_session *session, uint32_t id)
{
	return find(session, FPERF_RECORD_PROCESS, id);
}

const struct fperf_rec_thread *fperf_session__thread(const struct fperf_session *session, uint32_t id)
{
	return find(session, FPERF_RECORD_THREAD, id);
}

const struct fperf_rec_stack *fperf_session__stack(const struct fperf_session *session, uint32_t id)
{
	return find(session, FPERF_RECORD_STACK, id);
}

const struct fperf_rec_marker *fperf_session__marker(const struct fperf_session *session, uint32_t id)
{
	return find(session, FPERF_RECORD_MARKER, id);
}

const struct fperf_rec_function *fperf_session__function(const struct fperf_session *session, uint32_t id)
{
	return find(session, FPERF_RECORD_FUNCTION, id);
}

const char *fperf_session__string(const struct fperf_session *session, uint32_t id, size_t *size)
{
	const struct fperf_rec_string *string = find(session, FPERF_RECORD_STRING, id);

	if (size)
		*size = string ? string->size : 0;
	return string ? string->bytes : "";
}

const char *fperf_session__meta(const struct fperf_session *session, const char *key)
{
	const struct fperf_session_table *table = &session->tables[FPERF_RECORD_META];
	const struct fperf_rec_meta *metas = table->data;
	size_t length = strlen(key), size;

	for (size_t i = table->count; i-- > 0;) {
		const char *name = fperf_session__string(session, metas[i].key, &size);

		if (size == length && !memcmp(name, key, size))
			return fperf_session__string(session, metas[i].value, NULL);
	}
	return NULL;
}

uint64_t fperf_session__meta_u64(const struct fperf_session *session, const char *key, uint64_t fallback)
{
	const char *text = fperf_session__meta(session, key);
	uint64_t value = 0;

	if (!text || !*text)
		return fallback;
	for (; *text; text++) {
		unsigned int digit = (unsigned int)(unsigned char)*text - '0';

		if (digit > 9 || value > (UINT64_MAX - digit) / 10)
			return fallback;
		value = value * 10 + digit;
	}
	return value;
}
