/* What reduced records refer to: threads, processes, modules, functions. Each is written once. */
#include "analyze/reduce_internal.h"

#include "analyze/model.h"
#include "base/buf.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define KEY_LIMIT (64u << 10)

static uint32_t retold(struct fperf_reducer *reducer, const struct fperf_session *session, uint32_t string)
{
	size_t size;
	const char *bytes = fperf_session__string(session, string, &size);

	return reducer->sink.text(reducer->sink.self, bytes, size);
}

/* True when this name was not said of this id. */
static int is_news(struct fperf_map *said, uint32_t id, uint32_t name, bool *news)
{
	uint64_t before;

	*news = !fperf_map__get(said, id, &before) || before != name;
	return *news ? fperf_map__set(said, id, name) : 0;
}

static int process_write(struct fperf_reducer *reducer, const struct fperf_session *session, uint32_t id,
			 struct fperf_error *err)
{
	const struct fperf_rec_process *process = fperf_session__process(session, id);
	struct fperf_rec_process copy;
	bool news;

	if (!process)
		return 0;
	copy = *process;
	copy.name = retold(reducer, session, process->name);
	copy.exe = retold(reducer, session, process->exe);
	if (is_news(&reducer->processes_said, id, copy.name, &news))
		return fperf_error__no_memory(err, "the processes");
	return news ? fperf_reducer__add(reducer, FPERF_RECORD_PROCESS, &copy, err) : 0;
}

int fperf_reducer__thread(struct fperf_reducer *reducer, const struct fperf_analysis *analysis, uint32_t id,
			  struct fperf_error *err)
{
	const struct fperf_rec_thread *thread = fperf_session__thread(analysis->session, id);
	struct fperf_rec_thread copy;
	bool news;

	if (!thread || reducer->level == FPERF_LEVEL_SUMMARY)
		return 0;
	copy = *thread;
	copy.name =
		fperf_reducer__text(reducer, fperf_model__thread_ref(analysis->model, id, UINT64_MAX).name);
	if (is_news(&reducer->threads_said, id, copy.name, &news))
		return fperf_error__no_memory(err, "the threads");
	if (!news)
		return 0;
	if (process_write(reducer, analysis->session, thread->process, err))
		return err->code;
	return fperf_reducer__add(reducer, FPERF_RECORD_THREAD, &copy, err);
}

/* ---- functions ---- */

static uint64_t pair_key(const char *function, const char *module)
{
	return (uint64_t)(uintptr_t)function * 0x9e3779b97f4a7c15ull ^ (uint64_t)(uintptr_t)module;
}

static int stack_search(struct fperf_reduced_names *names, const struct fperf_stack_info *info)
{
	const struct fperf_model *model = names->analysis->model;
	const struct fperf_rec_stack *stack = fperf_session__stack(model->session, info->stack);
	const struct fperf_symbol *const *symbols;

	for (uint32_t i = 0; stack && i < stack->count; i++) {
		size_t count;

		if (stack->frames[i].kind == FPERF_FRAME_GAP)
			continue;
		count = fperf_symbolizer__resolve(model->symbolizer, &stack->frames[i], info->process,
						  &symbols);
		for (size_t k = 0; k < count; k++) {
			uint64_t key = pair_key(symbols[k]->function, symbols[k]->module);
			struct fperf_stack_frame *slot;

			if (fperf_map__get(&names->frames, key, NULL))
				continue;
			slot = fperf_vec__push(&names->found, &names->found_count, &names->found_capacity);
			if (!slot || fperf_map__set(&names->frames, key, names->found_count - 1))
				return -1;
			*slot = stack->frames[i];
			slot->reserved = symbols[k]->known;
		}
	}
	return 0;
}

/* A stack frame of each function of the window; only looked for when a function is new. */
static int frames_search(struct fperf_reduced_names *names)
{
	const struct fperf_model *model = names->analysis->model;

	if (names->searched)
		return 0;
	names->searched = true;
	for (size_t i = 1; i < model->stack_count; i++)
		if (stack_search(names, &model->stacks[i]))
			return -1;
	return 0;
}

static int module_write(struct fperf_reducer *reducer, const struct fperf_session *session, uint32_t id,
			struct fperf_error *err)
{
	const struct fperf_rec_module *module = fperf_session__module(session, id);
	struct fperf_rec_module copy;
	bool news;

	if (!module)
		return 0;
	copy = *module;
	copy.path = retold(reducer, session, module->path);
	if (is_news(&reducer->modules_said, id, copy.path, &news))
		return fperf_error__no_memory(err, "the modules");
	return news ? fperf_reducer__add(reducer, FPERF_RECORD_MODULE, &copy, err) : 0;
}

static int function_write(struct fperf_reduced_names *names, const struct fperf_place *place, uint32_t id,
			  struct fperf_error *err)
{
	struct fperf_reducer *reducer = names->reducer;
	const char *module = place->module ? place->module : "";
	struct fperf_rec_function record = {.id = id};
	uint64_t at;

	if (frames_search(names))
		return fperf_error__no_memory(err, "the functions");
	record.name = fperf_reducer__text(reducer, place->function);
	record.module_name = fperf_reducer__text(reducer, module);
	if (fperf_map__get(&names->frames, pair_key(place->function, place->module), &at)) {
		const struct fperf_stack_frame *frame = &names->found[at];

		record.module = frame->module;
		record.kind = frame->kind;
		record.kernel = frame->kernel;
		record.offset = frame->offset;
		record.known = frame->reserved != 0;
		if (module_write(reducer, names->analysis->session, frame->module, err))
			return err->code;
	}
	return fperf_reducer__add(reducer, FPERF_RECORD_FUNCTION, &record, err);
}

int fperf_reduced_names__id(struct fperf_reduced_names *names, const struct fperf_place *place, uint32_t *id,
			    struct fperf_error *err)
{
	struct fperf_strtab *functions = names->reducer->functions;
	uint32_t known = fperf_strtab__count(functions);
	struct fperf_buf key;

	*id = 0;
	if (!place->function)
		return 0;
	fperf_buf__init(&key, KEY_LIMIT);
	fperf_buf__append(&key, place->function, strlen(place->function) + 1);
	if (place->module)
		fperf_buf__append(&key, place->module, strlen(place->module));
	if (!key.failed)
		*id = fperf_strtab__intern(functions, key.data, key.size);
	fperf_buf__free(&key);
	return *id >= known ? function_write(names, place, *id, err) : 0;
}

void fperf_reduced_names__free(struct fperf_reduced_names *names)
{
	fperf_map__free(&names->frames);
	free(names->found);
}
