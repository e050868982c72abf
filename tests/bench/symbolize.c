/* symbolize FILE COUNT [elf]: how long the names of COUNT functions of FILE take, each asked for in its
 * middle, and how long they take when they are known. "elf": without DWARF. See symbolize.sh. */
#include "base/clock.h"
#include "elf/elf_file.h"
#include "session/session.h"
#include "symbolize/symbolize.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARM_ROUNDS  20
#define STACK_FRAMES 20

struct functions {
	const struct fperf_elf *elf;
	uint64_t *offsets;
	size_t count, capacity;
};

static void function_take(void *context, const struct fperf_elf_symbol *symbol)
{
	struct functions *functions = context;
	uint64_t offset;

	if (symbol->type != STT_FUNC || symbol->size < 8 ||
	    !fperf_elf__address_to_offset(functions->elf, symbol->address + symbol->size / 2, &offset))
		return;
	if (functions->count == functions->capacity) {
		functions->capacity = functions->capacity ? functions->capacity * 2 : 1024;
		functions->offsets =
			realloc(functions->offsets, functions->capacity * sizeof(*functions->offsets));
		if (!functions->offsets)
			abort();
	}
	functions->offsets[functions->count++] = offset;
}

static void check(int result, const struct fperf_error *err)
{
	if (result) {
		fprintf(stderr, "%s\n", err->text);
		exit(1);
	}
}

static struct fperf_session *session_make(const char *path, const struct fperf_elf *elf,
					  const struct fperf_stack_frame *frames, size_t count)
{
	struct fperf_session *session = fperf_session__new();
	struct fperf_rec_string string = {.id = 1, .size = (uint32_t)strlen(path), .bytes = path};
	struct fperf_rec_module module = {.id = 1, .path = 1};
	struct fperf_error err = {0};

	module.build_id_size = (uint8_t)fperf_elf__build_id(elf, module.build_id);
	check(fperf_session__add(session, FPERF_RECORD_STRING, &string, &err), &err);
	check(fperf_session__add(session, FPERF_RECORD_MODULE, &module, &err), &err);
	for (size_t i = 0; i < count; i += STACK_FRAMES) {
		struct fperf_rec_stack stack = {.id = (uint32_t)(i / STACK_FRAMES + 1), .frames = frames + i};

		stack.count = (uint32_t)(count - i < STACK_FRAMES ? count - i : STACK_FRAMES);
		check(fperf_session__add(session, FPERF_RECORD_STACK, &stack, &err), &err);
	}
	check(fperf_session__seal(session, &err), &err);
	return session;
}

static void measure(struct fperf_session *session, const struct fperf_stack_frame *frames, size_t count,
		    bool lines)
{
	struct fperf_symbolizer_options options = {.demangle = true, .lines = lines};
	const struct fperf_symbol *const *symbols;
	const struct fperf_module_names *modules;
	size_t known = 0, inlined = 0, with_line = 0;
	struct fperf_symbolizer *symbolizer;
	struct fperf_error err = {0};
	uint64_t start, cold, warm;

	check(fperf_symbolizer__new(session, &options, &symbolizer, &err), &err);
	start = fperf_clock__now_ns();
	for (size_t i = 0; i < count; i++) {
		size_t depth = fperf_symbolizer__resolve(symbolizer, &frames[i], 0, &symbols);

		known += symbols[depth - 1]->known;
		inlined += depth > 1;
		with_line += symbols[0]->line > 0;
	}
	cold = fperf_clock__now_ns();
	for (int round = 0; round < WARM_ROUNDS; round++)
		for (size_t i = 0; i < count; i++)
			fperf_symbolizer__resolve(symbolizer, &frames[i], 0, &symbols);
	warm = fperf_clock__now_ns();
	fperf_symbolizer__modules(symbolizer, &modules);
	printf("%zu addresses: cold %.3f s, then %.0f ns each; %zu known, %zu with inlined functions, %zu "
	       "with line%s%s\n",
	       count, (double)(cold - start) / 1e9, (double)(warm - cold) / WARM_ROUNDS / (double)count,
	       known, inlined, with_line, *modules[0].problem ? "; " : "", modules[0].problem);
	fperf_symbolizer__free(symbolizer);
}

int main(int argc, char **argv)
{
	struct functions functions = {0};
	struct fperf_stack_frame *frames;
	struct fperf_session *session;
	struct fperf_error err = {0};
	struct fperf_elf *elf;
	size_t count;

	if (argc < 3) {
		fprintf(stderr, "usage: %s FILE COUNT [elf]\n", argv[0]);
		return 2;
	}
	check(fperf_elf__open(argv[1], &elf, &err), &err);
	functions.elf = elf;
	fperf_elf__visit_symbols(elf, FPERF_ELF_SYMTAB, function_take, &functions);
	count = strtoul(argv[2], NULL, 10);
	if (count > functions.count)
		count = functions.count;
	frames = calloc(count + 1, sizeof(*frames));
	srand(1);
	for (size_t i = 0; frames && i < count; i++) { /* a random choice, each once */
		size_t other = i + (size_t)rand() % (functions.count - i);
		uint64_t offset = functions.offsets[other];

		functions.offsets[other] = functions.offsets[i];
		frames[i] = (struct fperf_stack_frame){.module = 1, .kind = FPERF_FRAME_PC, .offset = offset};
	}
	session = session_make(argv[1], elf, frames, count);
	measure(session, frames, count, argc < 4);
	fperf_session__free(session);
	fperf_elf__close(elf);
	free(functions.offsets);
	free(frames);
	return 0;
}
