#include "output/export_firefox.h"

#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int fperf_firefox_tables__init(struct fperf_firefox_tables *tables, const struct fperf_export *export)
{
	*tables = (struct fperf_firefox_tables){.export = export};
	tables->strings = fperf_strtab__new();
	tables->frame_index = fperf_strtab__new();
	return tables->strings && tables->frame_index ? 0 : -ENOMEM;
}

void fperf_firefox_tables__free(struct fperf_firefox_tables *tables)
{
	fperf_strtab__free(tables->strings);
	fperf_strtab__free(tables->frame_index);
	free(tables->functions);
	free(tables->frames);
	free(tables->stacks);
	free(tables->libraries);
	free(tables->sources);
	fperf_map__free(&tables->function_index);
	fperf_map__free(&tables->library_index);
	fperf_map__free(&tables->source_index);
	fperf_map__free(&tables->stack_index);
	fperf_map__free(&tables->known);
	free(tables->scratch.functions);
}

uint32_t fperf_firefox_tables__string(struct fperf_firefox_tables *tables, const char *text)
{
	return fperf_strtab__intern(tables->strings, text, strlen(text));
}

/* Index of `value` in a list, appended if new. */
static int list_index(struct fperf_map *map, uint32_t **list, size_t *count, size_t *capacity, uint32_t value,
		      int32_t *index)
{
	uint64_t known;
	uint32_t *slot;

	if (fperf_map__get(map, value, &known)) {
		*index = (int32_t)known;
		return 0;
	}
	slot = fperf_vec__push(list, count, capacity);
	if (!slot || fperf_map__set(map, value, *count - 1))
		return -ENOMEM;
	*slot = value;
	*index = (int32_t)*count - 1;
	return 0;
}

static int function_index(struct fperf_firefox_tables *tables, const char *name, int32_t library,
			  const char *file, uint32_t *index)
{
	uint32_t string = fperf_firefox_tables__string(tables, name);
	uint64_t key = (uint64_t)string << 32 | (uint32_t)(library + 1), known;
	struct fperf_firefox_function *function;

	if (fperf_map__get(&tables->function_index, key, &known)) {
		*index = (uint32_t)known;
		return 0;
	}
	function = fperf_vec__push(&tables->functions, &tables->function_count, &tables->function_capacity);
	if (!function || fperf_map__set(&tables->function_index, key, tables->function_count - 1))
		return -ENOMEM;
	*function = (struct fperf_firefox_function){
		.name = string, .library = library, .source = FPERF_FIREFOX_NONE};
	*index = (uint32_t)tables->function_count - 1;
	if (*file && list_index(&tables->source_index, &tables->sources, &tables->source_count,
				&tables->source_capacity, fperf_firefox_tables__string(tables, file),
				&function->source))
		return -ENOMEM;
	return 0;
}

/* Index of a stack frame with these contents. */
static int frame_index(struct fperf_firefox_tables *tables, const struct fperf_firefox_frame *wanted,
		       uint32_t *index)
{
	uint32_t known = fperf_strtab__count(tables->frame_index);
	uint32_t id = fperf_strtab__intern(tables->frame_index, wanted, sizeof(*wanted));
	struct fperf_firefox_frame *frame;

	if (!id)
		return -ENOMEM;
	*index = id - 1;
	if (id < known)
		return 0;
	frame = fperf_vec__push(&tables->frames, &tables->frame_count, &tables->frame_capacity);
	if (!frame)
		return -ENOMEM;
	*frame = *wanted;
	return 0;
}

static int stack_push(struct fperf_firefox_tables *tables, uint32_t frame, int32_t *stack)
{
	uint64_t key = (uint64_t)(uint32_t)(*stack + 1) << 32 | frame, known;
	struct fperf_firefox_stack *entry;

	if (fperf_map__get(&tables->stack_index, key, &known)) {
		*stack = (int32_t)known;
		return 0;
	}
	if (tables->stack_count >= INT32_MAX)
		return -ENOMEM;
	entry = fperf_vec__push(&tables->stacks, &tables->stack_count, &tables->stack_capacity);
	if (!entry || fperf_map__set(&tables->stack_index, key, tables->stack_count - 1))
		return -ENOMEM;
	*entry = (struct fperf_firefox_stack){.frame = frame, .parent = *stack};
	*stack = (int32_t)tables->stack_count - 1;
	return 0;
}

/* One function on top of *stack. `depth`: how many of the functions below are in the same stack frame. */
static int function_push(struct fperf_firefox_tables *tables, const struct fperf_export_function *of,
			 uint32_t depth, int32_t *stack)
{
	const struct fperf_rec_module *module =
		fperf_session__module(tables->export->session, of->frame->module);
	struct fperf_firefox_frame frame;
	uint32_t index;

	memset(&frame, 0, sizeof(frame)); /* compared as bytes */
	frame.library = FPERF_FIREFOX_NONE;
	frame.line = of->symbol->line;
	frame.depth = depth;
	frame.category =
		FPERF_FIREFOX_CATEGORY_STATE(of->frame->kernel ? FPERF_STATE_KERNEL : FPERF_STATE_USER);
	if (module && module->kind == FPERF_MODULE_ELF &&
	    list_index(&tables->library_index, &tables->libraries, &tables->library_count,
		       &tables->library_capacity, module->id, &frame.library))
		return -ENOMEM;
	if (frame.library >= 0)
		frame.address = of->frame->kind == FPERF_FRAME_RETURN && of->frame->offset
					? of->frame->offset - 1
					: of->frame->offset;
	if (function_index(tables, of->symbol->function, frame.library, of->symbol->file, &frame.function) ||
	    frame_index(tables, &frame, &index))
		return -ENOMEM;
	return stack_push(tables, index, stack);
}

/* The kind of a wait, as a leaf with a category of its own. */
static int wait_push(struct fperf_firefox_tables *tables, uint8_t state, int32_t *stack)
{
	struct fperf_firefox_frame frame;
	uint32_t index;
	char name[40];

	memset(&frame, 0, sizeof(frame));
	snprintf(name, sizeof(name), "[%s]", fperf_state__name((enum fperf_state)state));
	frame.library = FPERF_FIREFOX_NONE;
	frame.category = FPERF_FIREFOX_CATEGORY_STATE(state);
	if (function_index(tables, name, FPERF_FIREFOX_NONE, "", &frame.function) ||
	    frame_index(tables, &frame, &index))
		return -ENOMEM;
	return stack_push(tables, index, stack);
}

static int no_stack_push(struct fperf_firefox_tables *tables, int32_t *stack)
{
	struct fperf_firefox_frame frame;
	uint32_t index;

	memset(&frame, 0, sizeof(frame));
	frame.library = FPERF_FIREFOX_NONE;
	frame.category = FPERF_FIREFOX_CATEGORY_STATE(FPERF_STATE_USER);
	if (function_index(tables, FPERF_EXPORT_NO_STACK, FPERF_FIREFOX_NONE, "", &frame.function) ||
	    frame_index(tables, &frame, &index))
		return -ENOMEM;
	return stack_push(tables, index, stack);
}

int fperf_firefox_tables__stack(struct fperf_firefox_tables *tables, uint32_t stack, uint8_t state,
				int32_t *index)
{
	const struct fperf_export_stack *functions = &tables->scratch;
	bool waits = state != FPERF_STATE_USER && state != FPERF_STATE_KERNEL && state < FPERF_STATES;
	uint64_t key = (uint64_t)stack << 8 | (waits ? state : FPERF_STATE_USER), known;
	uint32_t depth = 0;
	int failed = 0;

	if (fperf_map__get(&tables->known, key, &known)) {
		*index = (int32_t)known;
		return 0;
	}
	*index = FPERF_FIREFOX_NONE;
	if (fperf_export__stack(tables->export, stack, &tables->scratch))
		return -ENOMEM;
	for (size_t i = functions->count; i > 0 && !failed; i--) {
		depth = i < functions->count &&
					functions->functions[i].frame == functions->functions[i - 1].frame
				? depth + 1
				: 0;
		failed = function_push(tables, &functions->functions[i - 1], depth, index);
	}
	if (!failed && !functions->count)
		failed = no_stack_push(tables, index);
	if (!failed && waits)
		failed = wait_push(tables, state, index);
	if (failed || fperf_map__set(&tables->known, key, (uint64_t)*index))
		return -ENOMEM;
	return 0;
}

/* ---- writing ---- */

/* A column: [ … ] of `count` values. */
#define COLUMN(json, name, count, put)                                                                       \
	do {                                                                                                 \
		fperf_json__key_begin(json, name, '[');                                                      \
		for (size_t i = 0; i < (count); i++)                                                         \
			put;                                                                                 \
		fperf_json__end(json, ']');                                                                  \
	} while (0)

static void positive_put(struct fperf_json *json, int64_t value)
{
	if (value > 0)
		fperf_json__int(json, value);
	else
		fperf_json__null(json);
}

static void index_put(struct fperf_json *json, int32_t index)
{
	if (index >= 0)
		fperf_json__int(json, index);
	else
		fperf_json__null(json);
}

static void stacks_put(const struct fperf_firefox_tables *tables, struct fperf_json *json)
{
	fperf_json__key_begin(json, "stackTable", '{');
	COLUMN(json, "frame", tables->stack_count, fperf_json__int(json, tables->stacks[i].frame));
	COLUMN(json, "prefixOffset", tables->stack_count,
	       fperf_json__int(json,
			       tables->stacks[i].parent < 0 ? 0 : (int64_t)i - tables->stacks[i].parent));
	fperf_json__key_int(json, "length", (int64_t)tables->stack_count);
	fperf_json__end(json, '}');
}

static void frames_put(const struct fperf_firefox_tables *tables, struct fperf_json *json)
{
	const struct fperf_firefox_frame *frames = tables->frames;
	size_t count = tables->frame_count;

	fperf_json__key_begin(json, "frameTable", '{');
	COLUMN(json, "address", count,
	       fperf_json__int(json, frames[i].library >= 0 && frames[i].address <= INT32_MAX
					     ? (int64_t)frames[i].address
					     : -1));
	COLUMN(json, "lib", count, fperf_json__int(json, frames[i].library));
	COLUMN(json, "inlineDepth", count, fperf_json__int(json, frames[i].depth));
	COLUMN(json, "category", count, fperf_json__int(json, frames[i].category));
	COLUMN(json, "subcategory", count, fperf_json__int(json, 0));
	COLUMN(json, "func", count, fperf_json__int(json, frames[i].function));
	COLUMN(json, "nativeSymbol", count, fperf_json__null(json));
	COLUMN(json, "innerWindowID", count, fperf_json__null(json));
	COLUMN(json, "line", count, positive_put(json, frames[i].line));
	COLUMN(json, "column", count, fperf_json__null(json));
	COLUMN(json, "originalLocation", count, fperf_json__null(json));
	fperf_json__key_int(json, "length", (int64_t)count);
	fperf_json__end(json, '}');
}

static void functions_put(const struct fperf_firefox_tables *tables, struct fperf_json *json)
{
	const struct fperf_firefox_function *functions = tables->functions;
	size_t count = tables->function_count;

	fperf_json__key_begin(json, "funcTable", '{');
	COLUMN(json, "name", count, fperf_json__int(json, functions[i].name));
	COLUMN(json, "isJS", count, fperf_json__bool(json, false));
	COLUMN(json, "relevantForJS", count, fperf_json__bool(json, false));
	COLUMN(json, "resource", count, fperf_json__int(json, functions[i].library));
	COLUMN(json, "source", count, index_put(json, functions[i].source));
	COLUMN(json, "lineNumber", count, fperf_json__null(json));
	COLUMN(json, "columnNumber", count, fperf_json__null(json));
	COLUMN(json, "originalLocation", count, fperf_json__null(json));
	fperf_json__key_int(json, "length", (int64_t)count);
	fperf_json__end(json, '}');
}

static const char *library_path(const struct fperf_firefox_tables *tables, size_t library)
{
	const struct fperf_session *session = tables->export->session;
	const struct fperf_rec_module *module = fperf_session__module(session, tables->libraries[library]);

	return fperf_session__string(session, module->path, NULL);
}

static const char *library_name(const struct fperf_firefox_tables *tables, size_t library)
{
	const char *path = library_path(tables, library), *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* One resource for each library, of the same number. */
static void resources_put(struct fperf_firefox_tables *tables, struct fperf_json *json)
{
	size_t count = tables->library_count;

	fperf_json__key_begin(json, "resourceTable", '{');
	COLUMN(json, "name", count,
	       fperf_json__int(json, fperf_firefox_tables__string(tables, library_name(tables, i))));
	COLUMN(json, "host", count, fperf_json__null(json));
	COLUMN(json, "type", count, fperf_json__int(json, 1)); /* library */
	fperf_json__key_int(json, "length", (int64_t)count);
	fperf_json__end(json, '}');
}

static void sources_put(const struct fperf_firefox_tables *tables, struct fperf_json *json)
{
	size_t count = tables->source_count;

	fperf_json__key_begin(json, "sources", '{');
	COLUMN(json, "id", count, fperf_json__null(json));
	COLUMN(json, "filename", count, fperf_json__int(json, tables->sources[i]));
	COLUMN(json, "startLine", count, fperf_json__int(json, 1));
	COLUMN(json, "startColumn", count, fperf_json__int(json, 1));
	COLUMN(json, "sourceMapURL", count, fperf_json__null(json));
	COLUMN(json, "content", count, fperf_json__null(json));
	fperf_json__key_int(json, "length", (int64_t)count);
	fperf_json__end(json, '}');
}

static void empty_put(struct fperf_json *json, const char *name, const char *const *columns)
{
	fperf_json__key_begin(json, name, '{');
	for (; *columns; columns++) {
		fperf_json__key_begin(json, *columns, '[');
		fperf_json__end(json, ']');
	}
	fperf_json__key_int(json, "length", 0);
	fperf_json__end(json, '}');
}

/* Breakpad's form of a build ID: its first 16 bytes as a little-endian GUID, and an age of 0. */
static void breakpad_id(const struct fperf_rec_module *module, char text[40])
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

	for (size_t i = 0; i < 16; i++)
		snprintf(text + 2 * i, 3, "%02X",
			 order[i] < module->build_id_size ? module->build_id[order[i]] : 0);
	strcpy(text + 32, "0");
}

static void libraries_put(const struct fperf_firefox_tables *tables, struct fperf_json *json)
{
	char id[40], code_id[2 * FPERF_BUILD_ID_MAX + 1];

	fperf_json__key_begin(json, "libs", '[');
	for (size_t i = 0; i < tables->library_count; i++) {
		const struct fperf_rec_module *module =
			fperf_session__module(tables->export->session, tables->libraries[i]);

		breakpad_id(module, id);
		code_id[0] = '\0';
		for (size_t byte = 0; byte < module->build_id_size && byte < FPERF_BUILD_ID_MAX; byte++)
			snprintf(code_id + 2 * byte, 3, "%02x", module->build_id[byte]);
		fperf_json__begin(json, '{');
		fperf_json__key_text(json, "arch", "");
		fperf_json__key_text(json, "name", library_name(tables, i));
		fperf_json__key_text(json, "path", library_path(tables, i));
		fperf_json__key_text(json, "debugName", library_name(tables, i));
		fperf_json__key_text(json, "debugPath", library_path(tables, i));
		fperf_json__key_text(json, "breakpadId", id);
		if (*code_id)
			fperf_json__key_text(json, "codeId", code_id);
		else
			fperf_json__key_null(json, "codeId");
		fperf_json__end(json, '}');
	}
	fperf_json__end(json, ']');
}

void fperf_firefox_tables__put(struct fperf_firefox_tables *tables, struct fperf_json *json)
{
	static const char *const symbols[] = {"libIndex", "address", "name", "functionSize", NULL};
	static const char *const locations[] = {"source", "line", "column", NULL};

	libraries_put(tables, json);
	fperf_json__key_begin(json, "shared", '{');
	stacks_put(tables, json);
	frames_put(tables, json);
	functions_put(tables, json);
	resources_put(tables, json); /* adds strings */
	empty_put(json, "nativeSymbols", symbols);
	sources_put(tables, json);
	empty_put(json, "sourceLocationTable", locations);
	COLUMN(json, "stringArray", fperf_strtab__count(tables->strings),
	       fperf_json__text(json, fperf_strtab__get(tables->strings, (uint32_t)i, NULL)));
	fperf_json__end(json, '}');
}

void fperf_firefox__categories(struct fperf_json *json)
{
	static const char *const colours[FPERF_STATES] = {
		[FPERF_STATE_USER] = "yellow",	      [FPERF_STATE_KERNEL] = "orange",
		[FPERF_STATE_RUNNABLE] = "lightblue", [FPERF_STATE_PREEMPTED] = "magenta",
		[FPERF_STATE_LOCK] = "red",	      [FPERF_STATE_IO] = "green",
		[FPERF_STATE_FAULT] = "brown",	      [FPERF_STATE_GPU] = "purple",
		[FPERF_STATE_SLEEP] = "transparent",  [FPERF_STATE_EVENT] = "transparent",
		[FPERF_STATE_OTHER] = "darkgrey",
	};

	fperf_json__key_begin(json, "categories", '[');
	for (int category = 0; category <= FPERF_STATES; category++) {
		fperf_json__begin(json, '{');
		fperf_json__key_text(json, "name",
				     category ? fperf_state__name((enum fperf_state)(category - 1))
					      : "Other");
		fperf_json__key_text(json, "color", category ? colours[category - 1] : "grey");
		fperf_json__key_begin(json, "subcategories", '[');
		fperf_json__text(json, "Other");
		fperf_json__end(json, ']');
		fperf_json__end(json, '}');
	}
	fperf_json__end(json, ']');
}
