#include "live.h"

#include "base/clock.h"
#include "frameperf/meta.h"
#include "live_kernel.h"
#include "live_output.h"
#include "session/schema.h"
#include "session/session.h"
#include "symbolize/symbolize.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEFAULT_MEMORY ((size_t)128 << 20)

/* A window is looked at when it is this long, or when it takes a quarter of the memory. */
#define WINDOW_NS (8 * FPERF_NS_PER_S)

/* Frames are compared with their neighbours: how much before and after them is kept for that. */
#define AROUND_NS (2 * FPERF_NS_PER_S)

/* How often the sums are written. */
#define SUMS_NS (16 * FPERF_NS_PER_S)

#define LOW_PRIORITY 10 /* not so low that windows pile up on a machine that is busy throughout */

struct fperf_live {
	struct fperf_live_output output;
	struct fperf_log log;
	size_t memory;

	/* Of the recording thread. */
	struct fperf_session *filling;
	uint64_t begun_ns;		   /* when filling began */
	uint64_t lost[FPERF_RECORD_TYPES]; /* records for which there was no memory */

	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock; /* of what is below */
	pthread_cond_t wake;
	struct fperf_session *handed; /* waits to be looked at; NULL: none */
	bool idle, last, ended;
	struct fperf_error error; /* of the worker; code 0: none */

	/* Of the worker. */
	struct fperf_session *window;
	struct fperf_symbolizer *symbolizer;
	struct fperf_live_kernel kernel;
	uint64_t from_ns; /* frames that end until then are done */
	uint64_t sums_ns;
};

/* ---- the worker ---- */

static int merge(struct fperf_live *live, const struct fperf_session *batch, struct fperf_error *err)
{
	int ret = 0;

	for (uint32_t type = 1; type < FPERF_RECORD_TYPES && !ret; type++) {
		const struct fperf_schema_type *schema = fperf_schema__type(type);
		const char *records;
		size_t count;

		if (!schema)
			continue;
		records = fperf_session__records(batch, type, &count);
		for (size_t i = 0; i < count && !ret; i++)
			ret = fperf_session__add(live->window, type, records + i * schema->size, err);
	}
	return ret;
}

/* First and last moment of the samples, intervals and marks in the window. */
static void span(const struct fperf_session *session, uint64_t *first_ns, uint64_t *last_ns)
{
	static const uint8_t types[] = {FPERF_RECORD_SAMPLE, FPERF_RECORD_OFFCPU, FPERF_RECORD_MARK};

	*first_ns = UINT64_MAX;
	*last_ns = 0;
	for (size_t i = 0; i < sizeof(types); i++) {
		const struct fperf_schema_type *schema = fperf_schema__type(types[i]);
		const char *records;
		size_t count;

		records = fperf_session__records(session, types[i], &count);
		for (size_t k = 0; k < count; k++) {
			uint64_t from = fperf_schema__load(records + k * schema->size, schema->time, 8);
			uint64_t until = fperf_schema__load(records + k * schema->size, schema->until, 8);

			*first_ns = from < *first_ns ? from : *first_ns;
			*last_ns = until > *last_ns ? until : *last_ns;
		}
	}
}

static int symbolizer_ready(struct fperf_live *live, struct fperf_error *err)
{
	const struct fperf_symbolizer_options options = {.demangle = true, .log = &live->log};

	return live->symbolizer ? fperf_symbolizer__refresh(live->symbolizer, err)
				: fperf_symbolizer__new(live->window, &options, &live->symbolizer, err);
}

/* Takes the frames that end until `to_ns` out of the window. */
static int window_take(struct fperf_live *live, uint64_t to_ns, struct fperf_error *err)
{
	uint64_t budget = fperf_live_output__budget(&live->output);
	struct fperf_analysis_options options = {
		.frame = -1,
		.worst = 1,
		.per_frame = true,
		.budget_ns = budget,
		.sums_from_ns = live->from_ns,
		.sums_to_ns = to_ns,
		.window_ns = live->from_ns > AROUND_NS ? live->from_ns - AROUND_NS : 1,
	};
	struct fperf_analysis *analysis = NULL;
	int ret = symbolizer_ready(live, err);

	if (!ret)
		ret = fperf_analysis__run(live->window, live->symbolizer, &options, &analysis, err);
	if (!ret) {
		analysis->summary.budget_chosen = true;
		ret = fperf_live_output__window(&live->output, analysis, live->from_ns, to_ns, err);
	}
	fperf_analysis__free(analysis);
	return ret;
}

static int look(struct fperf_live *live, bool last, struct fperf_error *err)
{
	uint64_t first_ns, newest_ns, to_ns;
	int ret = fperf_live_kernel__name(&live->kernel, live->window, err);

	if (!ret)
		ret = fperf_session__seal(live->window, err);
	if (ret)
		return ret;
	span(live->window, &first_ns, &newest_ns);
	if (!live->from_ns && newest_ns)
		live->from_ns = fperf_session__meta_u64(live->window, FPERF_META_START_NS, first_ns);
	to_ns = last ? newest_ns + 1 : newest_ns - AROUND_NS;
	if (newest_ns && to_ns > live->from_ns && (last || newest_ns > AROUND_NS)) {
		ret = window_take(live, to_ns, err);
		live->from_ns = to_ns;
		fperf_session__forget(live->window, to_ns > AROUND_NS ? to_ns - AROUND_NS : 0);
	}
	if (!ret && (last || newest_ns >= live->sums_ns)) {
		ret = fperf_live_output__sums(&live->output, live->window, newest_ns, err);
		live->sums_ns = newest_ns + SUMS_NS;
	}
	return ret ? ret : fperf_live_output__flush(&live->output, last, err);
}

static void *work(void *self)
{
	struct fperf_live *live = self;
	struct fperf_error err = {0};
	bool last = false;

	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), LOW_PRIORITY);
	pthread_mutex_lock(&live->lock);
	while (!last) {
		struct fperf_session *batch;
		int ret;

		while (!live->handed && !live->last)
			pthread_cond_wait(&live->wake, &live->lock);
		batch = live->handed;
		live->handed = NULL;
		last = live->last;
		live->idle = false;
		pthread_mutex_unlock(&live->lock);
		ret = batch ? merge(live, batch, &err) : 0;
		fperf_session__free(batch);
		if (!ret)
			ret = look(live, last, &err);
		pthread_mutex_lock(&live->lock);
		live->idle = true;
		if (ret && !live->error.code)
			live->error = err;
	}
	pthread_mutex_unlock(&live->lock);
	return NULL;
}

/* ---- the recording thread ---- */

static int batch_begin(struct fperf_live *live, struct fperf_error *err)
{
	live->filling = fperf_session__new();
	if (!live->filling)
		return fperf_error__no_memory(err, "a window of the recording");
	fperf_session__set_limit(live->filling, live->memory / 2);
	live->begun_ns = fperf_clock__now_ns();
	return 0;
}

/* Says what the last batch had no room for. */
static int losses_add(struct fperf_live *live, struct fperf_error *err)
{
	int ret = 0;

	for (uint32_t type = 1; type < FPERF_RECORD_TYPES && !ret; type++) {
		struct fperf_rec_loss loss = {.time_ns = live->begun_ns, .reason = FPERF_LOSS_MEMORY};

		if (!live->lost[type])
			continue;
		loss.source = fperf_schema__type(type)->source;
		loss.count = live->lost[type];
		ret = fperf_session__add(live->filling, FPERF_RECORD_LOSS, &loss, err);
		live->lost[type] = ret ? live->lost[type] : 0;
	}
	return ret;
}

static int hand_over(struct fperf_live *live, bool last, struct fperf_error *err)
{
	int ret;

	pthread_mutex_lock(&live->lock);
	live->handed = live->filling;
	live->last = last;
	live->filling = NULL;
	ret = live->error.code;
	if (ret)
		*err = live->error;
	pthread_cond_signal(&live->wake);
	pthread_mutex_unlock(&live->lock);
	if (last)
		return ret;
	if (batch_begin(live, err) || losses_add(live, err))
		return err->code;
	return ret;
}

static int record_take(void *self, uint32_t type, const void *record, struct fperf_error *err)
{
	struct fperf_live *live = self;
	int ret = fperf_session__add(live->filling, type, record, err);

	if (ret != -EFBIG && ret != -ENOMEM)
		return ret;
	live->lost[type]++;
	return 0;
}

static bool worker_is_idle(struct fperf_live *live)
{
	bool idle;

	pthread_mutex_lock(&live->lock);
	idle = live->idle && !live->handed;
	pthread_mutex_unlock(&live->lock);
	return idle;
}

static int flushed(void *self, struct fperf_error *err)
{
	struct fperf_live *live = self;
	bool due = fperf_clock__now_ns() - live->begun_ns >= WINDOW_NS ||
		   fperf_session__bytes(live->filling) >= live->memory / 4;

	return due && worker_is_idle(live) ? hand_over(live, false, err) : 0;
}

static void live_free(struct fperf_live *live)
{
	fperf_symbolizer__free(live->symbolizer);
	fperf_session__free(live->window);
	fperf_session__free(live->filling);
	fperf_session__free(live->handed);
	fperf_live_kernel__free(&live->kernel);
	pthread_cond_destroy(&live->wake);
	pthread_mutex_destroy(&live->lock);
	free(live);
}

static int live_close(void *self, struct fperf_error *err)
{
	struct fperf_live *live = self;
	struct fperf_error late = {0};
	int ret = 0;

	if (live->has_thread) {
		while (!worker_is_idle(live)) /* the slot is taken until then */
			usleep(1000);
		losses_add(live, &late);
		hand_over(live, true, &late);
		pthread_join(live->thread, NULL);
	}
	if (live->error.code) {
		*err = live->error;
		ret = err->code;
	}
	if (fperf_live_output__close(&live->output, &late) && !ret) {
		*err = late;
		ret = late.code;
	}
	live_free(live);
	return ret;
}

static uint64_t live_bytes(const void *self)
{
	const struct fperf_live *live = self;

	return fperf_live_output__bytes(&live->output);
}

static const struct fperf_sink_ops live_ops = {
	.record = record_take,
	.flushed = flushed,
	.close = live_close,
	.bytes = live_bytes,
};

int fperf_live__open(const struct fperf_live_options *options, struct fperf_sink *sink,
		     struct fperf_error *err)
{
	struct fperf_live *live = calloc(1, sizeof(*live));
	struct fperf_error late;
	int ret;

	if (!live)
		return fperf_error__no_memory(err, "the recording");
	live->memory = options->memory ? options->memory : DEFAULT_MEMORY;
	live->log = *options->log;
	live->idle = true;
	pthread_mutex_init(&live->lock, NULL);
	pthread_cond_init(&live->wake, NULL);
	live->window = fperf_session__new();
	ret = live->window ? batch_begin(live, err) : fperf_error__no_memory(err, "the recording");
	if (!ret)
		ret = fperf_live_output__open(&live->output, options, err);
	if (ret) {
		live_free(live);
		return ret;
	}
	fperf_session__set_limit(live->window, live->memory);
	ret = pthread_create(&live->thread, NULL, work, live);
	if (ret) {
		fperf_error__set_errno(err, -ret, "cannot start the thread that looks at windows");
		fperf_live_output__close(&live->output, &late);
		unlink(options->path);
		live_free(live);
		return err->code;
	}
	live->has_thread = true;
	*sink = (struct fperf_sink){.ops = &live_ops, .self = live, .name = options->path};
	return 0;
}
