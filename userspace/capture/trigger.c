#include "capture/trigger.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SURFACES 16 /* the one that ended a frame longest ago makes room */
#define SCOPES	 64 /* open at a time, over all threads */
#define WAITING	 8
#define HITCHES	 64
#define FRAMES	 63 /* whose median says what is usual */
#define FEW	 15 /* fewer say nothing */
#define IN_ROW	 5  /* a stall is also so many frames, each of that part of the time */
#define KNOWN	 3  /* frame times before a surface counts as one that moves */

/* How much longer than usual a frame may take, as in the analysis. */
#define FLOOR_NS (2 * FPERF_NS_PER_MS)

struct surface {
	uint32_t pid, tid; /* tid: that ended the last frame */
	uint64_t id;
	uint64_t last_ns; /* 0: a free entry */
	uint64_t times[FRAMES];
	uint32_t frames; /* frame times seen */
};

/* What one rule knows of one surface. */
struct progress {
	uint32_t in_row;
	uint64_t row_ns; /* since when */
	bool stalled;	 /* and has been told */
};

struct watch {
	struct fperf_trigger_rule rule;
	struct progress progress[SURFACES];
	uint64_t hitches[HITCHES];
	uint32_t hitch_count;
};

struct scope {
	uint32_t pid, tid;
	uint64_t since_ns; /* 0: free */
	char name[FPERF_TRIGGER_NAME];
};

struct fperf_triggers {
	struct watch *watches;
	size_t count;
	bool scopes_wanted;
	struct surface surfaces[SURFACES];
	struct scope scopes[SCOPES];
	struct fperf_frame_listener listener; /* frame NULL: none */
	struct fperf_trigger_event waiting[WAITING];
	size_t first, used;
};

int fperf_triggers__new(const struct fperf_trigger_rule *rules, size_t count, struct fperf_triggers **result,
			struct fperf_error *err)
{
	struct fperf_triggers *triggers = calloc(1, sizeof(*triggers));

	if (triggers)
		triggers->watches = calloc(count ? count : 1, sizeof(*triggers->watches));
	if (!triggers || !triggers->watches) {
		free(triggers);
		return fperf_error__no_memory(err, "the triggers");
	}
	triggers->count = count;
	for (size_t i = 0; i < count; i++) {
		triggers->watches[i].rule = rules[i];
		triggers->scopes_wanted = triggers->scopes_wanted || rules[i].kind == FPERF_TRIGGER_MARK;
	}
	*result = triggers;
	return 0;
}

void fperf_triggers__free(struct fperf_triggers *triggers)
{
	if (!triggers)
		return;
	free(triggers->watches);
	free(triggers);
}

void fperf_triggers__listen(struct fperf_triggers *triggers, const struct fperf_frame_listener *listener)
{
	triggers->listener = *listener;
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* The event to fill in the reason of; NULL when too many wait. */
static struct fperf_trigger_event *fire(struct fperf_triggers *triggers, const struct watch *watch,
					uint64_t time_ns, uint64_t since_ns, uint64_t value)
{
	struct fperf_trigger_event *event;

	if (triggers->used == WAITING)
		return NULL;
	event = &triggers->waiting[(triggers->first + triggers->used++) % WAITING];
	*event = (struct fperf_trigger_event){.kind = watch->rule.kind,
					      .time_ns = time_ns,
					      .since_ns = since_ns,
					      .value = value,
					      .limit = watch->rule.limit};
	strcpy(event->rule, watch->rule.text);
	return event;
}

static void of_thread(struct fperf_trigger_event *event, uint32_t pid, uint32_t tid)
{
	event->pid = pid;
	event->tid = tid;
}

bool fperf_triggers__next(struct fperf_triggers *triggers, struct fperf_trigger_event *event)
{
	if (!triggers->used)
		return false;
	*event = triggers->waiting[triggers->first];
	triggers->first = (triggers->first + 1) % WAITING;
	triggers->used--;
	return true;
}

static void watch_frame(struct fperf_triggers *triggers, struct watch *watch, const struct surface *surface,
			uint64_t time_ns, uint64_t took)
{
	struct fperf_trigger_event *event;

	if (took <= watch->rule.limit)
		return;
	event = fire(triggers, watch, time_ns, surface->last_ns, took);
	if (!event)
		return;
	of_thread(event, surface->pid, surface->tid);
	snprintf(event->reason, sizeof(event->reason), "a frame took %.1f ms, more than %.1f ms", ms(took),
		 ms(watch->rule.limit));
}

/* Five slow frames in a row are as good as a stall: nothing moves as it should. */
static void watch_row(struct fperf_triggers *triggers, struct watch *watch, const struct surface *surface,
		      uint64_t time_ns, uint64_t took)
{
	struct progress *progress = &watch->progress[surface - triggers->surfaces];
	uint64_t part = watch->rule.limit / IN_ROW;
	struct fperf_trigger_event *event;

	if (progress->stalled || took <= part) {
		progress->stalled = false;
		progress->in_row = 0;
		return;
	}
	if (!progress->in_row++)
		progress->row_ns = surface->last_ns;
	if (progress->in_row < IN_ROW)
		return;
	progress->in_row = 0;
	event = fire(triggers, watch, time_ns, progress->row_ns, time_ns - progress->row_ns);
	if (!event)
		return;
	of_thread(event, surface->pid, surface->tid);
	snprintf(event->reason, sizeof(event->reason), "%d frames in a row took more than %.1f ms each",
		 IN_ROW, ms(part));
}

/* A window that was closed does not stall: the process goes on with another. */
static bool is_gone(const struct fperf_triggers *triggers, const struct surface *surface, uint64_t limit)
{
	for (size_t i = 0; i < SURFACES; i++)
		if (triggers->surfaces[i].pid == surface->pid && triggers->surfaces[i].frames >= KNOWN &&
		    triggers->surfaces[i].last_ns > surface->last_ns + limit / 2)
			return true;
	return false;
}

static void watch_stall(struct fperf_triggers *triggers, struct watch *watch, const struct surface *surface,
			uint64_t time_ns)
{
	struct progress *progress = &watch->progress[surface - triggers->surfaces];
	struct fperf_trigger_event *event;

	if (progress->stalled || surface->frames < KNOWN || time_ns <= surface->last_ns ||
	    time_ns - surface->last_ns <= watch->rule.limit || is_gone(triggers, surface, watch->rule.limit))
		return;
	progress->stalled = true;
	event = fire(triggers, watch, time_ns, surface->last_ns, time_ns - surface->last_ns);
	if (!event)
		return;
	of_thread(event, surface->pid, surface->tid);
	snprintf(event->reason, sizeof(event->reason), "no frame has ended for %.1f ms, more than %.1f ms",
		 ms(time_ns - surface->last_ns), ms(watch->rule.limit));
}

static int time_compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Longer than half as long again as usual. */
static bool is_hitch(const struct surface *surface, uint64_t took)
{
	uint32_t count = surface->frames < FRAMES ? surface->frames : FRAMES;
	uint64_t sorted[FRAMES], usual;

	if (count < FEW)
		return false;
	memcpy(sorted, surface->times, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), time_compare);
	usual = sorted[count / 2];
	return took > usual + usual / 2 && took > usual + FLOOR_NS;
}

static void watch_hitches(struct fperf_triggers *triggers, struct watch *watch, const struct surface *surface,
			  uint64_t time_ns, uint64_t took)
{
	const struct fperf_trigger_rule *rule = &watch->rule;
	struct fperf_trigger_event *event;
	uint64_t first;

	if (!is_hitch(surface, took))
		return;
	watch->hitches[watch->hitch_count++ % HITCHES] = time_ns;
	if (watch->hitch_count <= rule->limit)
		return;
	first = watch->hitches[(watch->hitch_count - 1 - rule->limit) % HITCHES];
	if (time_ns - first > rule->window_ns)
		return;
	watch->hitch_count = 0;
	event = fire(triggers, watch, time_ns, first, rule->limit + 1);
	if (!event)
		return;
	of_thread(event, surface->pid, surface->tid);
	snprintf(event->reason, sizeof(event->reason), "%" PRIu64 " frames were slow within %.1f s",
		 rule->limit + 1, (double)(time_ns - first) / 1e9);
}

static void watch_scope(struct fperf_triggers *triggers, struct watch *watch, const struct scope *scope,
			uint64_t time_ns)
{
	uint64_t took = time_ns - scope->since_ns;
	struct fperf_trigger_event *event;

	if (took <= watch->rule.limit || strcmp(watch->rule.scope, scope->name))
		return;
	event = fire(triggers, watch, time_ns, scope->since_ns, took);
	if (!event)
		return;
	of_thread(event, scope->pid, scope->tid);
	snprintf(event->reason, sizeof(event->reason), "%.60s took %.1f ms, more than %.1f ms", scope->name,
		 ms(took), ms(watch->rule.limit));
}

static void watch_run_queue(struct fperf_triggers *triggers, struct watch *watch, uint32_t pid, uint32_t tid,
			    uint64_t wake_ns, uint64_t in_ns)
{
	struct fperf_trigger_event *event;

	if (in_ns - wake_ns <= watch->rule.limit)
		return;
	event = fire(triggers, watch, in_ns, wake_ns, in_ns - wake_ns);
	if (!event)
		return;
	of_thread(event, pid, tid);
	snprintf(event->reason, sizeof(event->reason),
		 "a thread waited %.1f ms for a core after it was woken, more than %.1f ms",
		 ms(in_ns - wake_ns), ms(watch->rule.limit));
}

/* What each kind of rule looks at. */
static const struct {
	void (*frame)(struct fperf_triggers *triggers, struct watch *watch, const struct surface *surface,
		      uint64_t time_ns, uint64_t took);
	void (*until)(struct fperf_triggers *triggers, struct watch *watch, const struct surface *surface,
		      uint64_t time_ns);
	void (*scope)(struct fperf_triggers *triggers, struct watch *watch, const struct scope *scope,
		      uint64_t time_ns);
	void (*run_queue)(struct fperf_triggers *triggers, struct watch *watch, uint32_t pid, uint32_t tid,
			  uint64_t wake_ns, uint64_t in_ns);
} kinds[FPERF_TRIGGER_KINDS] = {
	[FPERF_TRIGGER_FRAME] = {.frame = watch_frame},
	[FPERF_TRIGGER_STALL] = {.frame = watch_row, .until = watch_stall},
	[FPERF_TRIGGER_HITCHES] = {.frame = watch_hitches},
	[FPERF_TRIGGER_MARK] = {.scope = watch_scope},
	[FPERF_TRIGGER_RUN_QUEUE] = {.run_queue = watch_run_queue},
};

static void surface_reset(struct fperf_triggers *triggers, struct surface *surface)
{
	*surface = (struct surface){0};
	for (size_t i = 0; i < triggers->count; i++)
		triggers->watches[i].progress[surface - triggers->surfaces] = (struct progress){0};
}

static struct surface *surface_get(struct fperf_triggers *triggers, uint32_t pid, uint64_t id)
{
	struct surface *oldest = triggers->surfaces;

	for (size_t i = 0; i < SURFACES; i++) {
		struct surface *surface = &triggers->surfaces[i];

		if (surface->last_ns && surface->pid == pid && surface->id == id)
			return surface;
		if (surface->last_ns < oldest->last_ns)
			oldest = surface;
	}
	surface_reset(triggers, oldest);
	oldest->pid = pid;
	oldest->id = id;
	return oldest;
}

void fperf_triggers__frame(struct fperf_triggers *triggers, uint32_t pid, uint32_t tid, uint64_t id,
			   uint64_t time_ns)
{
	struct surface *surface = surface_get(triggers, pid, id);
	uint64_t took;

	surface->tid = tid;
	if (!surface->last_ns || time_ns <= surface->last_ns) {
		surface->last_ns = time_ns;
		return;
	}
	took = time_ns - surface->last_ns;
	if (triggers->listener.frame && surface->frames >= FEW)
		triggers->listener.frame(triggers->listener.context, pid, tid, surface->last_ns, time_ns);
	for (size_t i = 0; i < triggers->count; i++)
		if (kinds[triggers->watches[i].rule.kind].frame)
			kinds[triggers->watches[i].rule.kind].frame(triggers, &triggers->watches[i], surface,
								    time_ns, took);
	surface->times[surface->frames++ % FRAMES] = took;
	if (surface->frames >= 2 * FRAMES)
		surface->frames -= FRAMES; /* of which only "enough" matters, and the place */
	surface->last_ns = time_ns;
}

void fperf_triggers__until(struct fperf_triggers *triggers, uint64_t time_ns)
{
	for (size_t i = 0; i < triggers->count; i++) {
		struct watch *watch = &triggers->watches[i];

		for (size_t at = 0; kinds[watch->rule.kind].until && at < SURFACES; at++)
			if (triggers->surfaces[at].last_ns)
				kinds[watch->rule.kind].until(triggers, watch, &triggers->surfaces[at],
							      time_ns);
	}
}

static struct scope *scope_find(struct fperf_triggers *triggers, uint32_t tid, const char *name)
{
	for (size_t i = 0; i < SCOPES; i++)
		if (triggers->scopes[i].since_ns && triggers->scopes[i].tid == tid &&
		    !strcmp(triggers->scopes[i].name, name))
			return &triggers->scopes[i];
	return NULL;
}

static void scope_begin(struct fperf_triggers *triggers, uint32_t pid, uint32_t tid, const char *name,
			uint64_t time_ns)
{
	struct scope *place = scope_find(triggers, tid, name);

	/* One that begins anew was left by another way than its end; of more than fit, the oldest was. */
	for (size_t i = 0; !place && i < SCOPES; i++)
		if (!triggers->scopes[i].since_ns)
			place = &triggers->scopes[i];
	if (!place)
		place = triggers->scopes;
	for (size_t i = 0; place->since_ns && i < SCOPES; i++)
		if (triggers->scopes[i].since_ns < place->since_ns && place->tid != tid)
			place = &triggers->scopes[i];
	*place = (struct scope){.pid = pid, .tid = tid, .since_ns = time_ns};
	snprintf(place->name, sizeof(place->name), "%s", name);
}

void fperf_triggers__scope(struct fperf_triggers *triggers, uint32_t pid, uint32_t tid, const char *name,
			   bool end, uint64_t time_ns)
{
	struct scope *scope;

	if (!triggers->scopes_wanted)
		return;
	if (!end) {
		scope_begin(triggers, pid, tid, name, time_ns);
		return;
	}
	scope = scope_find(triggers, tid, name);
	if (!scope || time_ns < scope->since_ns)
		return;
	for (size_t i = 0; i < triggers->count; i++)
		if (kinds[triggers->watches[i].rule.kind].scope)
			kinds[triggers->watches[i].rule.kind].scope(triggers, &triggers->watches[i], scope,
								    time_ns);
	scope->since_ns = 0;
}

void fperf_triggers__run_queue(struct fperf_triggers *triggers, uint32_t pid, uint32_t tid, uint64_t wake_ns,
			       uint64_t in_ns)
{
	if (!wake_ns || in_ns <= wake_ns)
		return;
	for (size_t i = 0; i < triggers->count; i++)
		if (kinds[triggers->watches[i].rule.kind].run_queue)
			kinds[triggers->watches[i].rule.kind].run_queue(triggers, &triggers->watches[i], pid,
									tid, wake_ns, in_ns);
}

void fperf_triggers__forget_frames(struct fperf_triggers *triggers, uint32_t pid)
{
	for (size_t i = 0; i < SURFACES; i++)
		if (triggers->surfaces[i].last_ns && triggers->surfaces[i].pid == pid)
			surface_reset(triggers, &triggers->surfaces[i]);
}

void fperf_triggers__exit(struct fperf_triggers *triggers, uint32_t pid)
{
	fperf_triggers__forget_frames(triggers, pid);
	for (size_t i = 0; i < SCOPES; i++)
		if (triggers->scopes[i].pid == pid)
			triggers->scopes[i].since_ns = 0;
}
