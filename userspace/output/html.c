/* `report --html`: one file that holds the page and its data, and needs nothing else. */
#include "output/html.h"

#include "base/vec.h"
#include "output/html_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers of the page ---- */

static uint32_t failed(struct html_page *page)
{
	page->build.failed = true;
	return 0;
}

int64_t html_page__us(const struct html_page *page, uint64_t time_ns)
{
	return ((int64_t)time_ns - (int64_t)page->start_ns + (time_ns < page->start_ns ? -500 : 500)) / 1000;
}

uint32_t html_page__thread(struct html_page *page, const struct fperf_thread_ref *thread)
{
	uint64_t number = json_array_size(page->threads);
	const struct fperf_timeline *timeline;
	json_t *entry;

	if (fperf_map__get(&page->thread_index, thread->thread, &number))
		return (uint32_t)number;
	if (fperf_map__set(&page->thread_index, thread->thread, number))
		return failed(page);
	timeline = fperf_model__timeline(page->model, thread->thread);
	entry = json_build__thread(&page->build, thread);
	json_build__set(&page->build, entry, "target",
			json_build__bool(&page->build, timeline && timeline->target));
	json_build__add(&page->build, page->threads, entry);
	return (uint32_t)number;
}

uint32_t html_page__thread_by_id(struct html_page *page, uint32_t thread)
{
	struct fperf_thread_ref ref;
	uint64_t number;

	if (fperf_map__get(&page->thread_index, thread, &number))
		return (uint32_t)number;
	ref = fperf_model__thread_ref(page->model, thread, UINT64_MAX);
	ref.thread = thread;
	return html_page__thread(page, &ref);
}

static uint32_t module_number(struct html_page *page, const char *module)
{
	uint64_t number = json_array_size(page->modules);

	if (fperf_map__get(&page->module_index, (uintptr_t)module, &number))
		return (uint32_t)number;
	json_build__add(&page->build, page->modules, json_build__text(&page->build, module));
	return fperf_map__set(&page->module_index, (uintptr_t)module, number) ? failed(page)
									      : (uint32_t)number;
}

static uint32_t function_add(struct html_page *page, const char *name, const char *module, unsigned int flags)
{
	uint32_t number = (uint32_t)json_array_size(page->functions);
	json_t *entry = json_build__array(&page->build);

	json_build__add(&page->build, entry, json_build__text(&page->build, name));
	json_build__add(&page->build, entry, json_build__u64(&page->build, module_number(page, module)));
	json_build__add(&page->build, entry, json_build__u64(&page->build, flags));
	json_build__add(&page->build, page->functions, entry);
	return number;
}

uint32_t html_page__function(struct html_page *page, const struct fperf_symbol *symbol)
{
	unsigned int flags =
		(symbol->own ? HTML_FUNCTION_OWN : 0) | (symbol->known ? 0 : HTML_FUNCTION_UNKNOWN);
	uint64_t number;

	if (fperf_map__get(&page->function_index, symbol->function_id, &number))
		return (uint32_t)number;
	if (!strcmp(symbol->module, "[kernel]"))
		flags |= HTML_FUNCTION_KERNEL;
	number = function_add(page, symbol->function, symbol->module, flags);
	if (fperf_map__set(&page->function_index, symbol->function_id, number) ||
	    fperf_map__set(&page->place_index, (uintptr_t)symbol->function, number))
		return failed(page);
	return (uint32_t)number;
}

uint32_t html_page__special(struct html_page *page, const char *name, uint32_t key)
{
	uint64_t number, id = (1ull << 32) + key; /* beyond all function ids */

	if (fperf_map__get(&page->function_index, id, &number))
		return (uint32_t)number;
	number = function_add(page, name, "", HTML_FUNCTION_SPECIAL);
	return fperf_map__set(&page->function_index, id, number) ? failed(page) : (uint32_t)number;
}

uint32_t html_page__place(struct html_page *page, const struct fperf_place *place)
{
	uint64_t number;

	if (!place->function)
		return 0;
	if (fperf_map__get(&page->place_index, (uintptr_t)place->function, &number))
		return (uint32_t)number + 1;
	number = function_add(page, place->function, place->module ? place->module : "", HTML_FUNCTION_OWN);
	return fperf_map__set(&page->place_index, (uintptr_t)place->function, number) ? failed(page)
										      : (uint32_t)number + 1;
}

void html_page__add_stack_time(struct html_page *page, const struct html_stack_time *time)
{
	uint64_t key = (uint64_t)time->state << 56 | (uint64_t)time->thread << 32 | time->stack, index;
	struct html_stack_time *slot;

	if (fperf_map__get(&page->stack_time_index, key, &index)) {
		slot = &page->stack_times[index];
		slot->ns += time->ns;
		slot->slow_ns += time->slow_ns;
		slot->count += time->count;
		return;
	}
	index = page->stack_time_count;
	slot = fperf_vec__push(&page->stack_times, &page->stack_time_count, &page->stack_time_capacity);
	if (!slot || fperf_map__set(&page->stack_time_index, key, index)) {
		failed(page);
		return;
	}
	*slot = *time;
}

void html_page__add_pair(struct html_page *page, uint8_t state, uint32_t thread, uint32_t by, uint64_t ns)
{
	uint64_t key = (uint64_t)state << 56 | (uint64_t)thread << 32 | by, index;
	struct html_pair *slot;

	if (!fperf_map__get(&page->pair_index, key, &index)) {
		index = page->pair_count;
		slot = fperf_vec__push(&page->pairs, &page->pair_count, &page->pair_capacity);
		if (!slot || fperf_map__set(&page->pair_index, key, index)) {
			failed(page);
			return;
		}
		*slot = (struct html_pair){.state = state, .thread = thread, .by = by};
	}
	page->pairs[index].count++;
	page->pairs[index].ns += ns;
}

/* ---- making it ---- */

/* The report as `report --json` has it, but for what the page has in columns: chains and ledgers of frames,
 * and, where there are samples, functions. */
static void report_add(struct html_page *page)
{
	json_t *report = fperf_json__report(&page->build, page->report), *frame;
	size_t index;

	json_array_foreach(json_object_get(report, "slow_frames"), index, frame)
	{
		json_object_del(frame, "chain");
		json_object_del(frame, "ledger");
	}
	if (page->analysis->holds.events) {
		json_object_del(report, "hot");
		json_object_del(report, "hot_slow");
	}
	json_build__set(&page->build, page->core.head, "report", report);
}

static int page_init(struct html_page *page, const struct fperf_report *report, struct fperf_error *err)
{
	const struct fperf_analysis *analysis = report->analysis;
	size_t frames = analysis->frame_count + 1;

	page->report = report;
	page->analysis = analysis;
	page->model = analysis->model;
	page->symbolizer = analysis->model->symbolizer;
	page->start_ns = analysis->start_ns;
	page->end_ns = analysis->start_ns + fperf_report__duration_ns(analysis);
	fperf_html_block__init(&page->core, &page->build);
	fperf_html_block__init(&page->lanes, &page->build);
	fperf_html_block__init(&page->samples, &page->build);
	fperf_html_block__init(&page->frames, &page->build);
	page->threads = json_build__array(&page->build);
	page->functions = json_build__array(&page->build);
	page->modules = json_build__array(&page->build);
	json_build__set(&page->build, page->core.head, "threads", page->threads);
	json_build__set(&page->build, page->core.head, "functions", page->functions);
	json_build__set(&page->build, page->core.head, "modules", page->modules);
	for (size_t i = 0; i < analysis->thread_count; i++) /* those of the target come first */
		html_page__thread(page, &analysis->threads[i].thread);
	page->target_threads = analysis->thread_count;
	page->frame_shares = calloc(frames, sizeof(*page->frame_shares));
	page->frame_states = calloc(frames, sizeof(*page->frame_states));
	page->usual = calloc((analysis->slow_count + 1) * (page->target_threads + 1) * HTML_STATES,
			     sizeof(*page->usual));
	if (!page->frame_shares || !page->frame_states || !page->usual)
		return -ENOMEM;
	/* a session without events has frames, but nobody compared them yet */
	if (!analysis->baseline->ordinary)
		return fperf_baseline__init(analysis->baseline, analysis->model, analysis, err);
	return 0;
}

static void page_free(struct html_page *page)
{
	struct fperf_map *const maps[] = {&page->thread_index, &page->function_index, &page->place_index,
					  &page->module_index, &page->node_index,     &page->stack_time_index,
					  &page->pair_index};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		fperf_map__free(maps[i]);
	fperf_html_block__free(&page->core);
	fperf_html_block__free(&page->lanes);
	fperf_html_block__free(&page->samples);
	fperf_html_block__free(&page->frames);
	free(page->stack_times);
	free(page->pairs);
	free(page->wait_stacks);
	free(page->windows);
	free(page->frame_shares);
	free(page->frame_states);
	free(page->usual);
}

static int blocks_write(struct html_page *page, FILE *stream, struct fperf_error *err)
{
	if (fperf_html_block__write(&page->core, "core", stream, err) ||
	    fperf_html_block__write(&page->lanes, "lanes", stream, err) ||
	    fperf_html_block__write(&page->samples, "samples", stream, err) ||
	    fperf_html_block__write(&page->frames, "frames", stream, err))
		return err->code;
	return 0;
}

static int html_write(const struct fperf_report *report, FILE *stream, struct fperf_error *err)
{
	const struct fperf_html_page frame = fperf_html_page();
	struct html_page page = {0};
	int ret;

	if (!frame.before_size)
		return fperf_error__set(
			err, -ENOENT,
			"this frameperf was built without its page, because Node.js was missing "
			"or could not fetch what the page is made of; install nodejs and npm "
			"(18 or later), run `make page` to see what it says, then `make`");
	ret = page_init(&page, report, err);
	if (!ret)
		ret = html_threads__fill(&page);
	if (!ret)
		ret = html_samples__fill(&page);
	if (!ret)
		ret = html_frames__fill(&page);
	if (!ret)
		ret = html_series__fill(&page);
	if (!ret)
		report_add(&page);
	if (ret) {
		ret = fperf_error__no_memory(err, "the page");
	} else {
		fwrite(frame.before, 1, frame.before_size, stream);
		ret = blocks_write(&page, stream, err);
	}
	if (!ret) {
		fwrite(frame.after, 1, frame.after_size, stream);
		if (fflush(stream) || ferror(stream))
			ret = fperf_error__set_errno(err, errno ? -errno : -EIO, "cannot write the page");
	}
	page_free(&page);
	return ret;
}

const struct fperf_output_ops fperf_output_html = {.name = "html", .write = html_write};
