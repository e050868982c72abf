/* Damaged files: each costs at most its own module its lines and inlined functions. */
#include "fixture.h"
#include "symbolize/dwarf_worker.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(symbolize_damage, .init = fixture_enter, .fini = fixture_leave, .timeout = 120);

static const char source[] =
	"#include <stdlib.h>\nvolatile int sink;\n"
	"static inline __attribute__((always_inline)) int part(int x)\n{\n\treturn sink * x;\n}\n"
	"__attribute__((noinline)) int work(int x)\n{\n\treturn part(x) + sink;\n}\n"
	"struct node { struct node *next; int value[4]; };\n"
	"__attribute__((noinline)) int walk(struct node *n)\n{\n\tint sum = 0;\n"
	"\tfor (; n; n = n->next)\n\t\tsum += part(n->value[sink & 3]);\n\treturn sum;\n}\n"
	"int main(int c, char **v)\n{\n\t(void)v;\n\treturn work(c) + walk(NULL);\n}\n";

struct image {
	uint8_t *data;
	size_t size;
};

static struct image image_read(const char *name)
{
	struct image image = {0};
	FILE *file = fopen(name, "r");

	cr_assert(file);
	fseek(file, 0, SEEK_END);
	image.size = (size_t)ftell(file);
	rewind(file);
	image.data = malloc(image.size);
	cr_assert_eq(fread(image.data, 1, image.size, file), image.size);
	fclose(file);
	return image;
}

static void image_write(const char *name, const struct image *image)
{
	FILE *file = fopen(name, "w");

	cr_assert(file);
	cr_assert_eq(fwrite(image->data, 1, image->size, file), image->size);
	fclose(file);
}

/* Where the section lies in the file. */
static bool section_find(const struct image *image, const char *name, size_t *start, size_t *size)
{
	struct fperf_elf_section section;
	struct fperf_error err = {0};
	struct fperf_elf *elf;
	bool found;

	cr_assert_eq(fperf_elf__open_memory(image->data, image->size, "image", &elf, &err), 0, "%s",
		     err.text);
	found = fperf_elf__section(elf, name, &section);
	if (found) {
		*start = (size_t)(section.data - image->data);
		*size = section.size;
	}
	fperf_elf__close(elf);
	return found;
}

/* Forking takes ten times as long with the shadow memory of the address sanitizer. */
#ifdef __SANITIZE_ADDRESS__
#define ROUNDS 150u
#else
#define ROUNDS 1000u
#endif

struct seen {
	unsigned found;
};

static void found(void *context, size_t index, const struct fperf_dwarf_entry *entries, size_t count)
{
	struct seen *seen = context;

	cr_assert_lt(index, 64);
	cr_assert(count && count <= FPERF_DWARF_DEPTH);
	for (size_t i = 0; i < count; i++)
		cr_assert(entries[i].function && entries[i].file);
	seen->found++;
}

static unsigned random_next(unsigned *state)
{
	*state = *state * 1103515245 + 12345;
	return *state >> 8;
}

static void damage(struct image *image, const char *section, unsigned *state)
{
	size_t start, size;
	unsigned count = 1 + random_next(state) % 8;

	if (!section_find(image, section, &start, &size) || !size)
		return;
	for (unsigned i = 0; i < count; i++) {
		uint8_t *byte = &image->data[start + random_next(state) % size];

		switch (random_next(state) % 4) {
		case 0:
			*byte ^= (uint8_t)(1u << random_next(state) % 8);
			break;
		case 1:
			*byte = 0xff;
			break;
		case 2:
			*byte = 0x80;
			break;
		default:
			*byte = (uint8_t)random_next(state);
		}
	}
}

/* A few thousand damaged copies of the debug information of gcc and clang. Whatever libdw does with them,
 * this process lives on and gets answers within bounds. */
Test(symbolize_damage, flipped_bytes)
{
	static const char *const sections[] = {".debug_info",	  ".debug_abbrev", ".debug_line",
					       ".debug_rnglists", ".debug_ranges", ".debug_str",
					       ".debug_line_str", ".debug_addr",   ".debug_str_offsets"};
	static const char *const programs[] = {"gcc5", "gcc4", "clang5"};
	unsigned state = 42, runs = 0, unharmed = 0, failed = 0;
	uint64_t addresses[64];

	fixture_write("game.c", source);
	fixture_run("gcc -g -gdwarf-5 -O2 game.c -o gcc5 && gcc -g -gdwarf-4 -O2 game.c -o gcc4");
	if (fixture_has("clang"))
		fixture_run("clang -g -gdwarf-5 -O2 game.c -o clang5");
	else
		fixture_run("cp gcc5 clang5");
	for (size_t p = 0; p < 3; p++) {
		struct image whole = image_read(programs[p]),
			     copy = {.size = whole.size, .data = malloc(whole.size)};
		uint64_t work = fixture_address(programs[p], "work"),
			 walk = fixture_address(programs[p], "walk");

		for (unsigned i = 0; i < 64; i++)
			addresses[i] = (i % 2 ? work : walk) + i / 2;
		for (unsigned round = 0; round < ROUNDS; round++) {
			struct seen seen = {0};
			struct fperf_dwarf_job job = {.addresses = addresses,
						      .count = 64,
						      .context = &seen,
						      .found = found,
						      .step_seconds = 2};
			struct fperf_error err = {0};
			struct fperf_elf *elf;
			int result;

			memcpy(copy.data, whole.data, whole.size);
			damage(&copy, sections[round % (sizeof(sections) / sizeof(*sections))], &state);
			cr_assert_eq(fperf_elf__open_memory(copy.data, copy.size, "damaged", &elf, &err), 0,
				     "%s", err.text);
			job.elf = elf;
			result = fperf_dwarf_worker__run(&job, &err);
			cr_assert_leq(result, 0);
			failed += result < 0;
			unharmed += seen.found > 20;
			runs++;
			fperf_elf__close(elf);
		}
		free(whole.data);
		free(copy.data);
	}
	cr_expect_eq(runs, 3 * ROUNDS);
	cr_expect_lt(failed, runs / 4);
	cr_expect_gt(unharmed, runs / 4, "most bytes matter to few names");
}

/* Debug information that is nothing but noise: ELF symbols stay, other modules do not notice. */
Test(symbolize_damage, only_the_damaged_module_degrades)
{
	struct fixture_session fixture = fixture_session_new();
	struct fperf_symbolizer *symbolizer;
	struct fperf_stack_frame frames[2] = {{.kind = FPERF_FRAME_PC}, {.kind = FPERF_FRAME_PC}};
	const struct fperf_module_names *modules;
	struct image image;
	char path[PATH_MAX];
	size_t start, size;

	fixture_write("game.c", source);
	fixture_run("gcc -g -O2 game.c -o whole && gcc -g -O2 -shared -fPIC game.c -o broken.so");
	image = image_read("broken.so");
	cr_assert(section_find(&image, ".debug_info", &start, &size));
	memset(image.data + start, 0xee, size);
	image_write("broken.so", &image);
	free(image.data);
	snprintf(path, sizeof(path), "%s/broken.so", fixture_dir());
	frames[0].module = fixture_module(&fixture, path, "broken.so");
	frames[0].offset = fixture_offset("broken.so", "work");
	snprintf(path, sizeof(path), "%s/whole", fixture_dir());
	frames[1].module = fixture_module(&fixture, path, "whole");
	frames[1].offset = fixture_offset("whole", "work");
	fixture_stack(&fixture, frames, 2);
	fixture_seal(&fixture);
	symbolizer = fixture_symbolizer(&fixture, "", true);
	cr_expect_str_eq(fixture_names(symbolizer, frames[0].module, frames[0].offset, FPERF_FRAME_PC),
			 "work :0");
	cr_expect_str_eq(fixture_names(symbolizer, frames[1].module, frames[1].offset, FPERF_FRAME_PC),
			 "part game.c:5 < work game.c:9");
	cr_assert_eq(fperf_symbolizer__modules(symbolizer, &modules), 2);
	cr_expect(*modules[0].problem);
	cr_expect_str_eq(modules[1].problem, "");
	cr_expect_eq(modules[0].known + modules[1].known, 2);
	fperf_symbolizer__free(symbolizer);
	fperf_session__free(fixture.session);
}

/* The whole way from file to name, with damage anywhere in the file. */
Test(symbolize_damage, damaged_anywhere)
{
	struct image whole;
	unsigned state = 7;

	fixture_write("game.c", source);
	fixture_run("gcc -g -O2 -Wl,--build-id=none game.c -o game");
	whole = image_read("game");
	for (unsigned round = 0; round < ROUNDS / 3; round++) {
		struct image copy = {.size = whole.size, .data = malloc(whole.size)};
		struct fixture_session fixture = fixture_session_new();
		struct fperf_rec_module record = {.kind = FPERF_MODULE_ELF};
		struct fperf_symbolizer *symbolizer;
		char path[PATH_MAX];
		uint32_t id;

		memcpy(copy.data, whole.data, whole.size);
		for (unsigned i = 0; i < 20; i++) {
			/* Headers first: that is where structure is. */
			size_t span = i % 2 ? 1024 : whole.size;

			copy.data[4 + random_next(&state) % (span - 4)] = (uint8_t)random_next(&state);
		}
		if (round % 5 == 0)
			copy.size = random_next(&state) % copy.size;
		image_write("damaged", &copy);
		snprintf(path, sizeof(path), "%s/damaged", fixture_dir());
		record.file_size = copy.size;
		record.build_id_size = 0;
		record.content_hash = fixture_content_hash("damaged");
		id = fixture_module_record(&fixture, record, path);
		fixture_seal(&fixture);
		symbolizer = fixture_symbolizer(&fixture, "", true);
		for (uint64_t offset = 0; offset < 0x3000; offset += 0x155)
			cr_assert(*fixture_function(symbolizer, id, offset));
		fperf_symbolizer__free(symbolizer);
		fperf_session__free(fixture.session);
		free(copy.data);
	}
	free(whole.data);
}
