#include "output/export_pprof.h"

#include "output/protobuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TABLES_LIMIT ((size_t)1 << 30)

enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE, MAPPING_BUILD_ID };
enum { MAPPING_HAS_FUNCTIONS = 7, MAPPING_HAS_INLINES = 10 };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

/* What tells two locations apart. */
struct place {
	uint64_t address;
	uint32_t process, module;
	uint32_t kind; /* 0: a lost stack */
	uint32_t zero; /* no padding: places are compared as bytes */
};

int fperf_pprof_tables__init(struct fperf_pprof_tables *tables, const struct fperf_export *export)
{
	const struct fperf_rec_mapping *mappings;
	size_t count;

	*tables = (struct fperf_pprof_tables){.export = export};
	fperf_buf__init(&tables->out, TABLES_LIMIT);
	tables->strings = fperf_strtab__new();
	tables->locations = fperf_strtab__new();
	mappings = fperf_session__records(export->session, FPERF_RECORD_MAPPING, &count);
	tables->next_mapping = calloc(count + 1, sizeof(*tables->next_mapping));
	if (!tables->strings || !tables->locations || !tables->next_mapping)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		uint64_t key = (uint64_t)mappings[i].process << 32 | mappings[i].module, next = 0;

		fperf_map__get(&tables->first_mapping, key, &next);
		tables->next_mapping[i] = (uint32_t)next;
		if (fperf_map__set(&tables->first_mapping, key, i + 1))
			return -ENOMEM;
	}
	return 0;
}

void fperf_pprof_tables__free(struct fperf_pprof_tables *tables)
{
	fperf_strtab__free(tables->strings);
	fperf_strtab__free(tables->locations);
	fperf_map__free(&tables->functions);
	fperf_map__free(&tables->mappings);
	fperf_map__free(&tables->first_mapping);
	free(tables->next_mapping);
	fperf_buf__free(&tables->out);
}

uint32_t fperf_pprof_tables__string(struct fperf_pprof_tables *tables, const char *text)
{
	return fperf_strtab__intern(tables->strings, text, strlen(text));
}

/* ---- mappings ---- */

/* Of a process, or, where the session has none, one that has all of a module. */
static uint32_t mapping_add(struct fperf_pprof_tables *tables, uint64_t key,
			    const struct fperf_rec_mapping *record, const struct fperf_rec_module *module)
{
	struct fperf_buf *out = &tables->out;
	char build_id[2 * FPERF_BUILD_ID_MAX + 1] = "";
	uint64_t id = tables->mappings.used + 1;
	size_t begin;

	for (size_t i = 0; i < module->build_id_size && i < FPERF_BUILD_ID_MAX; i++)
		snprintf(build_id + 2 * i, 3, "%02x", module->build_id[i]);
	begin = fperf_protobuf__begin(out, FPERF_PPROF_MAPPING);
	fperf_protobuf__uint(out, MAPPING_ID, id);
	fperf_protobuf__uint(out, MAPPING_START, record ? record->start : module->base);
	fperf_protobuf__uint(out, MAPPING_LIMIT, record ? record->end : UINT64_MAX);
	fperf_protobuf__uint(out, MAPPING_OFFSET, record ? record->file_offset : 0);
	fperf_protobuf__uint(out, MAPPING_FILE,
			     fperf_pprof_tables__string(tables, fperf_session__string(tables->export->session,
										      module->path, NULL)));
	fperf_protobuf__uint(out, MAPPING_BUILD_ID, fperf_pprof_tables__string(tables, build_id));
	fperf_protobuf__uint(out, MAPPING_HAS_FUNCTIONS, 1); /* readers need not look for symbols */
	fperf_protobuf__uint(out, MAPPING_HAS_INLINES, 1);
	fperf_protobuf__end(out, begin);
	return fperf_map__set(&tables->mappings, key, id) ? 0 : (uint32_t)id;
}

/* The mapping of the process that has the stack frame, and its address there. 0: in no module. */
static uint32_t mapping_of(struct fperf_pprof_tables *tables, const struct fperf_stack_frame *frame,
			   uint32_t process, uint64_t offset, uint64_t *address)
{
	const struct fperf_session *session = tables->export->session;
	const struct fperf_rec_module *module = fperf_session__module(session, frame->module);
	const struct fperf_rec_mapping *mappings, *found = NULL;
	uint64_t index = 0, id, key;
	size_t count;

	*address = offset;
	if (!module)
		return 0;
	mappings = fperf_session__records(session, FPERF_RECORD_MAPPING, &count);
	fperf_map__get(&tables->first_mapping, (uint64_t)process << 32 | frame->module, &index);
	for (; index && !found; index = found ? index : tables->next_mapping[index - 1]) {
		const struct fperf_rec_mapping *mapping = &mappings[index - 1];

		if (offset >= mapping->file_offset &&
		    offset - mapping->file_offset < mapping->end - mapping->start)
			found = mapping;
	}
	if (found && module->kind == FPERF_MODULE_ELF)
		*address = found->start + (offset - found->file_offset);
	else
		found = NULL;
	if (module->kind == FPERF_MODULE_KERNEL)
		*address = module->base + offset;
	key = found ? (uint64_t)(found - mappings) << 1 : (uint64_t)frame->module << 1 | 1;
	if (fperf_map__get(&tables->mappings, key, &id))
		return (uint32_t)id;
	return mapping_add(tables, key, found, module);
}

/* ---- functions and locations ---- */

static uint32_t function_of(struct fperf_pprof_tables *tables, uint32_t function_id, const char *name,
			    const char *file)
{
	uint32_t file_string = fperf_pprof_tables__string(tables, file);
	uint64_t key = (uint64_t)function_id << 32 | file_string, id;
	uint32_t name_string;
	size_t begin;

	if (fperf_map__get(&tables->functions, key, &id))
		return (uint32_t)id;
	id = tables->functions.used + 1;
	name_string = fperf_pprof_tables__string(tables, name);
	begin = fperf_protobuf__begin(&tables->out, FPERF_PPROF_FUNCTION);
	fperf_protobuf__uint(&tables->out, FUNCTION_ID, id);
	fperf_protobuf__uint(&tables->out, FUNCTION_NAME, name_string);
	fperf_protobuf__uint(&tables->out, FUNCTION_SYSTEM_NAME, name_string);
	fperf_protobuf__uint(&tables->out, FUNCTION_FILE, file_string);
	fperf_protobuf__end(&tables->out, begin);
	return fperf_map__set(&tables->functions, key, id) ? 0 : (uint32_t)id;
}

static void line_put(struct fperf_pprof_tables *tables, uint32_t function, uint32_t line)
{
	size_t begin = fperf_protobuf__begin(&tables->out, LOCATION_LINE);

	fperf_protobuf__uint(&tables->out, LINE_FUNCTION, function);
	if (line)
		fperf_protobuf__uint(&tables->out, LINE_LINE, line);
	fperf_protobuf__end(&tables->out, begin);
}

static int location_put(struct fperf_pprof_tables *tables, uint32_t id, const struct fperf_stack_frame *frame,
			uint32_t process, uint64_t offset)
{
	const struct fperf_symbol *const *symbols = NULL;
	size_t count = 0, begin;
	uint64_t address = 0;
	uint32_t mapping = 0, *functions;
	bool failed = false;

	if (frame) {
		count = fperf_symbolizer__resolve(tables->export->symbolizer, frame, process, &symbols);
		mapping = mapping_of(tables, frame, process, offset, &address);
	}
	functions = calloc(count + 1, sizeof(*functions));
	if (!functions)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) /* before the location: messages do not nest in each other here */
		functions[i] =
			function_of(tables, symbols[i]->function_id, symbols[i]->function, symbols[i]->file);
	if (!frame)
		functions[0] = function_of(tables, 0, FPERF_EXPORT_NO_STACK, "");
	begin = fperf_protobuf__begin(&tables->out, FPERF_PPROF_LOCATION);
	fperf_protobuf__uint(&tables->out, LOCATION_ID, id);
	if (mapping)
		fperf_protobuf__uint(&tables->out, LOCATION_MAPPING, mapping);
	fperf_protobuf__uint(&tables->out, LOCATION_ADDRESS, address);
	for (size_t i = 0; i < (frame ? count : 1); i++) {
		line_put(tables, functions[i], frame ? symbols[i]->line : 0);
		failed = failed || !functions[i];
	}
	fperf_protobuf__end(&tables->out, begin);
	free(functions);
	return failed ? -ENOMEM : 0;
}

uint32_t fperf_pprof_tables__location(struct fperf_pprof_tables *tables,
				      const struct fperf_stack_frame *frame, uint32_t process)
{
	uint32_t known = fperf_strtab__count(tables->locations), id;
	struct place place = {0};

	if (frame) {
		/* The instruction itself: what is called returns behind it. */
		place.address = frame->kind == FPERF_FRAME_RETURN && frame->offset ? frame->offset - 1
										   : frame->offset;
		place.process = process;
		place.module = frame->module;
		place.kind = frame->kind == FPERF_FRAME_GAP ? 2 : 1;
	}
	id = fperf_strtab__intern(tables->locations, &place, sizeof(place));
	if (id < known || !id)
		return id;
	return location_put(tables, id, frame, process, place.address) ? 0 : id;
}
