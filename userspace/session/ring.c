#include "session/ring.h"

#include "base/vec.h"
#include "session/schema.h"

#include <stdlib.h>
#include <string.h>

#define EPOCHS_PER_SPAN	  4 /* what an epoch may hold: dictionaries that are kept too long are a part of it */
#define SEGMENTS_PER_RING 8 /* at least: one segment is never larger than this part */

struct piece {
	struct fperf_chunk_header header;
	uint8_t *payload;
};

struct segment {
	struct segment *next;
	struct piece *pieces; /* in the order of writing */
	size_t count, capacity;
	uint64_t from_ns, to_ns; /* to_ns 0: no event in it */
	size_t bytes, event_bytes;
	uint32_t pins;
	bool emptied; /* its events were dropped */
};

struct epoch {
	struct epoch *next;
	struct segment *first, *last; /* the last of the last epoch is open */
	uint64_t number, from_ns;
	size_t written, announced; /* bytes; what was said again at its begin */
	bool begun;		   /* the first flush is done */
};

struct fperf_ring {
	struct fperf_ring_options options;
	struct epoch *first, *last;
	uint64_t youngest_ns;
	struct fperf_ring_stats stats;
};

static bool is_event(uint16_t type)
{
	const struct fperf_schema_type *schema = fperf_schema__type(type);

	return schema && schema->time != FPERF_SCHEMA_NO_OFFSET;
}

static bool describes_recording(uint16_t type)
{
	return type == FPERF_RECORD_META || type == FPERF_RECORD_SOURCE || type == FPERF_RECORD_MARKER ||
	       type == FPERF_RECORD_KERNEL_SYMBOL || type == FPERF_RECORD_END;
}

static void segment_free(struct fperf_ring *ring, struct segment *segment)
{
	ring->stats.bytes -= segment->bytes;
	for (size_t i = 0; i < segment->count; i++)
		free(segment->pieces[i].payload);
	free(segment->pieces);
	free(segment);
	ring->stats.segments--;
}

static void epoch_free(struct fperf_ring *ring, struct epoch *epoch)
{
	for (struct segment *segment = epoch->first, *next; segment; segment = next) {
		next = segment->next;
		segment_free(ring, segment);
	}
	free(epoch);
	ring->stats.epochs--;
}

void fperf_ring__free(struct fperf_ring *ring)
{
	if (!ring)
		return;
	for (struct epoch *epoch = ring->first, *next; epoch; epoch = next) {
		next = epoch->next;
		epoch_free(ring, epoch);
	}
	free(ring);
}

static int segment_begin(struct fperf_ring *ring, struct fperf_error *err)
{
	struct segment *segment = calloc(1, sizeof(*segment));
	struct epoch *epoch = ring->last;

	if (!segment)
		return fperf_error__no_memory(err, "a part of the ring of chunks");
	segment->from_ns = ring->youngest_ns;
	if (epoch->last)
		epoch->last->next = segment;
	else
		epoch->first = segment;
	epoch->last = segment;
	ring->stats.segments++;
	return 0;
}

int fperf_ring__begin_epoch(struct fperf_ring *ring, struct fperf_error *err)
{
	struct epoch *epoch = calloc(1, sizeof(*epoch));

	if (!epoch)
		return fperf_error__no_memory(err, "the ring of chunks");
	epoch->number = ring->last ? ring->last->number + 1 : 0;
	epoch->from_ns = ring->youngest_ns;
	if (ring->last)
		ring->last->next = epoch;
	else
		ring->first = epoch;
	ring->last = epoch;
	ring->stats.epochs++;
	return segment_begin(ring, err);
}

int fperf_ring__new(const struct fperf_ring_options *options, struct fperf_ring **result,
		    struct fperf_error *err)
{
	struct fperf_ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return fperf_error__no_memory(err, "the ring of chunks");
	ring->options = *options;
	if (ring->options.bytes < FPERF_RING_MIN_BYTES)
		ring->options.bytes = FPERF_RING_MIN_BYTES;
	if (fperf_ring__begin_epoch(ring, err)) {
		fperf_ring__free(ring);
		return err->code;
	}
	*result = ring;
	return 0;
}

/* Frees the events of a segment; its dictionaries are needed as long as its epoch has others. */
static void events_drop(struct fperf_ring *ring, struct segment *segment)
{
	size_t kept = 0;

	for (size_t i = 0; i < segment->count; i++) {
		struct piece *piece = &segment->pieces[i];
		size_t bytes = piece->header.stored_size + sizeof(*piece);

		if (!is_event(piece->header.type)) {
			segment->pieces[kept++] = *piece;
			continue;
		}
		ring->stats.dropped += piece->header.count;
		ring->stats.bytes -= bytes;
		segment->bytes -= bytes;
		free(piece->payload);
	}
	segment->count = kept;
	segment->event_bytes = 0;
	segment->emptied = true;
}

static bool is_open(const struct fperf_ring *ring, const struct segment *segment)
{
	return segment == ring->last->last;
}

/* Epochs without events are of no use to anybody, unless more is to come. */
static void epochs_drop(struct fperf_ring *ring)
{
	struct epoch **link = &ring->first;

	while (*link && *link != ring->last) {
		struct epoch *epoch = *link;
		const struct segment *segment = epoch->first;

		while (segment && segment->emptied)
			segment = segment->next;
		if (segment) {
			link = &epoch->next;
			continue;
		}
		*link = epoch->next;
		epoch_free(ring, epoch);
	}
}

/* Bytes that could make room. Where something is pinned, the dictionaries of its epoch could not. */
static size_t loose_bytes(const struct fperf_ring *ring)
{
	size_t loose = 0;

	for (const struct epoch *epoch = ring->first; epoch; epoch = epoch->next) {
		size_t all = 0, events = 0;
		bool pinned = false;

		for (const struct segment *segment = epoch->first; segment; segment = segment->next) {
			pinned = pinned || segment->pins;
			all += segment->bytes;
			if (!segment->pins)
				events += segment->event_bytes;
		}
		loose += pinned ? events : all;
	}
	return loose;
}

static struct segment *oldest_loose(const struct fperf_ring *ring)
{
	for (const struct epoch *epoch = ring->first; epoch; epoch = epoch->next)
		for (struct segment *segment = epoch->first; segment; segment = segment->next)
			if (!segment->emptied && !segment->pins && !is_open(ring, segment))
				return segment;
	return NULL;
}

static void trim(struct fperf_ring *ring)
{
	size_t loose = loose_bytes(ring);
	struct segment *oldest;

	while ((oldest = oldest_loose(ring))) {
		if (loose <= ring->options.bytes &&
		    (!ring->options.span_ns || oldest->to_ns + ring->options.span_ns >= ring->youngest_ns))
			break;
		events_drop(ring, oldest);
		epochs_drop(ring);
		loose = loose_bytes(ring);
	}
	if (loose > ring->stats.most_bytes)
		ring->stats.most_bytes = loose;
}

static void times_take(struct fperf_ring *ring, struct segment *segment,
		       const struct fperf_chunk_header *header)
{
	if (!header->last_ns)
		return;
	if (!segment->from_ns)
		segment->from_ns = header->first_ns;
	if (!ring->last->from_ns)
		ring->last->from_ns = header->first_ns;
	if (header->last_ns > segment->to_ns)
		segment->to_ns = header->last_ns;
	if (header->last_ns > ring->youngest_ns)
		ring->youngest_ns = header->last_ns;
}

static int ring_chunk(void *self, const struct fperf_chunk_header *header, const uint8_t *bytes, size_t size,
		      bool last, struct fperf_error *err)
{
	struct fperf_ring *ring = self;
	struct segment *segment = ring->last->last;
	struct piece *piece;
	uint8_t *payload;

	(void)size;
	(void)last;
	if (describes_recording(header->type))
		return 0;
	payload = malloc(header->stored_size ? header->stored_size : 1);
	piece = payload ? fperf_vec__push(&segment->pieces, &segment->count, &segment->capacity) : NULL;
	if (!piece) {
		free(payload);
		return fperf_error__no_memory(err, "the ring of chunks");
	}
	memcpy(payload, bytes + FPERF_CHUNK_HEADER_SIZE, header->stored_size);
	*piece = (struct piece){.header = *header, .payload = payload};
	segment->bytes += header->stored_size + sizeof(*piece);
	if (is_event(header->type))
		segment->event_bytes += header->stored_size + sizeof(*piece);
	ring->last->written += header->stored_size + sizeof(*piece);
	ring->stats.bytes += header->stored_size + sizeof(*piece);
	times_take(ring, segment, header);
	trim(ring);
	if (segment->event_bytes > ring->options.bytes / SEGMENTS_PER_RING)
		return segment_begin(ring, err);
	return 0;
}

static int ring_flushed(void *self, struct fperf_error *err)
{
	struct fperf_ring *ring = self;
	struct epoch *epoch = ring->last;

	if (!epoch->begun)
		epoch->announced = epoch->written;
	epoch->begun = true;
	trim(ring);
	return epoch->last->count ? segment_begin(ring, err) : 0;
}

static uint64_t ring_bytes(const void *self)
{
	return ((const struct fperf_ring *)self)->stats.bytes;
}

struct fperf_sink fperf_ring__sink(struct fperf_ring *ring)
{
	static const struct fperf_sink_ops ops = {
		.chunk = ring_chunk, .flushed = ring_flushed, .bytes = ring_bytes};

	return (struct fperf_sink){.ops = &ops, .self = ring, .name = "the ring of chunks"};
}

bool fperf_ring__wants_epoch(const struct fperf_ring *ring)
{
	const struct epoch *epoch = ring->last;

	if (!epoch->begun || !epoch->from_ns)
		return false;
	if (epoch->written - epoch->announced > ring->options.bytes / EPOCHS_PER_SPAN)
		return true;
	return ring->options.span_ns &&
	       ring->youngest_ns - epoch->from_ns > ring->options.span_ns / EPOCHS_PER_SPAN;
}

uint64_t fperf_ring__first_epoch(const struct fperf_ring *ring)
{
	return ring->first->number;
}

uint64_t fperf_ring__epoch(const struct fperf_ring *ring)
{
	return ring->last->number;
}

static size_t pins_change(struct fperf_ring *ring, uint64_t from_ns, uint64_t to_ns, int change)
{
	size_t found = 0;

	for (struct epoch *epoch = ring->first; epoch; epoch = epoch->next)
		for (struct segment *segment = epoch->first; segment; segment = segment->next) {
			if (segment->emptied || is_open(ring, segment) || segment->to_ns < from_ns ||
			    segment->from_ns > to_ns || (change < 0 && !segment->pins))
				continue;
			segment->pins += (uint32_t)change;
			found++;
		}
	return found;
}

size_t fperf_ring__pin(struct fperf_ring *ring, uint64_t from_ns, uint64_t to_ns)
{
	return pins_change(ring, from_ns, to_ns, 1);
}

void fperf_ring__unpin(struct fperf_ring *ring, uint64_t from_ns, uint64_t to_ns)
{
	pins_change(ring, from_ns, to_ns, -1);
	trim(ring);
}

static bool is_wanted(const struct segment *segment, uint64_t from_ns, bool pinned_only)
{
	return !segment->emptied && segment->to_ns >= from_ns && (!pinned_only || segment->pins);
}

void fperf_ring__stretches(const struct fperf_ring *ring, uint64_t from_ns, bool pinned_only,
			   void (*visit)(void *context, uint64_t from_ns, uint64_t to_ns), void *context)
{
	uint64_t begin = 0, end = 0;
	bool open = false;

	for (const struct epoch *epoch = ring->first; epoch; epoch = epoch->next)
		for (const struct segment *segment = epoch->first; segment; segment = segment->next) {
			if (!segment->to_ns && !segment->emptied)
				continue; /* nothing happened in it */
			if (!is_wanted(segment, from_ns, pinned_only)) {
				if (open)
					visit(context, begin, end);
				open = false;
				continue;
			}
			if (!open)
				begin = segment->from_ns;
			open = true;
			end = segment->to_ns > end ? segment->to_ns : end;
		}
	if (open)
		visit(context, begin, end);
}

static int segment_write(const struct segment *segment, bool events, struct fperf_writer *to,
			 struct fperf_error *err)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < segment->count; i++) {
		const struct piece *piece = &segment->pieces[i];

		if (events || !is_event(piece->header.type))
			ret = fperf_writer__copy(to, &piece->header, piece->payload, err);
	}
	return ret;
}

int fperf_ring__write(const struct fperf_ring *ring, struct fperf_writer *to, uint64_t from_ns,
		      bool pinned_only, struct fperf_error *err)
{
	int ret = 0;

	for (const struct epoch *epoch = ring->first; epoch; epoch = epoch->next) {
		const struct segment *segment = epoch->first;

		while (segment && !is_wanted(segment, from_ns, pinned_only))
			segment = segment->next;
		if (!segment)
			continue;
		for (segment = epoch->first; !ret && segment; segment = segment->next)
			ret = segment_write(segment, is_wanted(segment, from_ns, pinned_only), to, err);
	}
	return ret;
}

void fperf_ring__stats(const struct fperf_ring *ring, struct fperf_ring_stats *stats)
{
	*stats = ring->stats;
	stats->pinned_bytes = ring->stats.bytes - loose_bytes(ring);
}
