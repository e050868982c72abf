/* Separate debug information: found where it may lie, and used only when it is of the same build. */
#include "fixture.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char module[PATH_MAX]; /* absolute path of the stripped program "game" */
static char build_id[65];
static uint64_t hidden,
	inside; /* file offsets: start of a local function, and an address in its inlined part */

static const char source[] = "volatile int sink;\n"
			     "static inline __attribute__((always_inline)) int part(int x)\n"
			     "{\n"
			     "	return sink * x;\n"
			     "}\n"
			     "__attribute__((noinline)) static int hidden(int x)\n"
			     "{\n"
			     "	return part(x);\n"
			     "}\n"
			     "int main(int argc, char **argv)\n"
			     "{\n"
			     "	(void)argv;\n"
			     "	return hidden(argc);\n"
			     "}\n";

#define WITH_LINES "part game.c:4 < hidden game.c:8"

/* "full" is the program as linked, "game" the stripped one, "game.debug" what was stripped. */
static void build(const char *flags)
{
	struct fperf_error err = {0};
	uint8_t id[FPERF_BUILD_ID_MAX];
	struct fperf_elf *elf;
	size_t size;

	fixture_write("game.c", source);
	fixture_run("gcc -g -O2 %s game.c -o full", flags);
	fixture_run("objcopy --only-keep-debug full game.debug && strip -o game full");
	snprintf(module, sizeof(module), "%s/game", fixture_dir());
	hidden = fixture_offset("full", "hidden");
	inside = hidden;
	cr_assert_eq(fperf_elf__open("full", &elf, &err), 0, "%s", err.text);
	size = fperf_elf__build_id(elf, id);
	fperf_elf__close(elf);
	build_id[0] = '\0';
	for (size_t i = 0; i < size; i++)
		snprintf(build_id + 2 * i, 3, "%02x", id[i]);
}

static void enter(void)
{
	fixture_enter();
	build("-Wl,--build-id=sha1");
}

TestSuite(symbolize_files, .init = enter, .fini = fixture_leave, .timeout = 60);

static const char *names(const char *symbols, bool system)
{
	return fixture_one(module, "game", inside, symbols, system);
}

static bool is_unknown(const char *text)
{
	return !strncmp(text, "game+0x", 7);
}

Test(symbolize_files, stripped_without_debug_file_is_unknown)
{
	char expected[64];

	unlink("game.debug");
	unlink("full");
	snprintf(expected, sizeof(expected), "game+0x%llx :0", (unsigned long long)hidden);
	cr_expect_str_eq(names("", true), expected);
}

Test(symbolize_files, build_id_stores)
{
	static const char *const layouts[] = {
		"store/%.2s/%s.debug",
		"store/.build-id/%.2s/%s.debug",
		"store/usr/lib/debug/.build-id/%.2s/%s.debug",
		"store/%.2s/%s",
	};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(path, sizeof(path), layouts[i], build_id, build_id + 2);
#pragma GCC diagnostic pop
		fixture_run("mkdir -p $(dirname %s) && cp game.debug %s", path, path);
		cr_expect_str_eq(names("store", true), WITH_LINES, "%s", path);
		fixture_run("rm -r store");
	}
	fixture_run("mkdir -p store/%s && cp game.debug store/%s/debuginfo", build_id, build_id);
	cr_expect_str_eq(names("store", true), WITH_LINES);
}

Test(symbolize_files, file_names_with_equal_build_id)
{
	static const char *const places[] = {"game.debug", "game", "deep/down/game.dbg", "game-unstripped"};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		fixture_run("mkdir -p store/deep/down && cp full store/%s", places[i]);
		cr_expect_str_eq(names("store", true), WITH_LINES, "%s", places[i]);
		fixture_run("rm -r store");
	}
}

Test(symbolize_files, other_builds_are_never_used)
{
	fixture_run("mkdir store && sed 's/sink \\* x/sink + x/' game.c >other.c");
	fixture_run("gcc -g -O2 -Wl,--build-id=sha1 other.c -o store/game");
	fixture_run("mkdir -p store/%.2s && cp store/game store/%.2s/%s.debug", build_id, build_id,
		    build_id + 2);
	cr_expect(is_unknown(names("store", true)));
	/* Rebuilt since the recording: the file at the module's path is another one. */
	fixture_run("cp game kept && cp store/game game && rm -r store");
	cr_expect(is_unknown(fixture_one(module, "kept", inside, "", true)));
	/* Neither build ID nor content tells what was recorded. */
	fixture_run("cp full game");
	{
		struct fixture_session fixture = fixture_session_new();
		uint32_t id = fixture_module_record(&fixture, (struct fperf_rec_module){0}, module);
		struct fperf_symbolizer *symbolizer;
		const struct fperf_module_names *modules;

		fixture_seal(&fixture);
		symbolizer = fixture_symbolizer(&fixture, "", true);
		cr_expect(is_unknown(fixture_names(symbolizer, id, inside, FPERF_FRAME_PC)));
		cr_assert_eq(fperf_symbolizer__modules(symbolizer, &modules), 1);
		cr_expect_eq(modules[0].unknown, 1);
		cr_expect(strstr(modules[0].problem, "neither build ID nor content hash"));
		fperf_symbolizer__free(symbolizer);
		fperf_session__free(fixture.session);
	}
}

Test(symbolize_files, zero_build_id_matches_nothing)
{
	struct fixture_session fixture = fixture_session_new();
	struct fperf_symbolizer *symbolizer;
	struct fperf_rec_module record = {0};
	uint32_t id;

	build("-Wl,--build-id=none");
	fixture_run("cp full game");
	id = fixture_module_record(&fixture, record, module);
	fixture_seal(&fixture);
	symbolizer = fixture_symbolizer(&fixture, "", true);
	cr_expect(is_unknown(fixture_names(symbolizer, id, inside, FPERF_FRAME_PC)));
	fperf_symbolizer__free(symbolizer);
	fperf_session__free(fixture.session);
}

Test(symbolize_files, content_hash_where_there_is_no_build_id)
{
	build("-Wl,--build-id=none");
	fixture_run("cp full game");
	cr_expect_str_eq(names("", true), WITH_LINES);
	/* One byte more, and it is another file. */
	fixture_run("cp full before && echo x >>game");
	cr_expect(is_unknown(fixture_one(module, "before", inside, "", true)));
}

Test(symbolize_files, debug_link)
{
	fixture_run("objcopy --add-gnu-debuglink=game.debug game");
	cr_expect_str_eq(names("", true), WITH_LINES, "beside the module");
	fixture_run("mkdir .debug && mv game.debug .debug/");
	cr_expect_str_eq(names("", true), WITH_LINES, "in .debug");
	fixture_run("mkdir -p store/deep && mv .debug/game.debug store/deep/");
	cr_expect_str_eq(names("store", true), WITH_LINES, "in a symbol directory");
	/* Stale in the first places, right in the last: the search goes on. */
	fixture_run(
		"cp store/deep/game.debug game.debug && echo stale >>game.debug && cp game.debug .debug/");
	cr_expect_str_eq(names("store", true), WITH_LINES);
	fixture_run("rm -r store");
	cr_expect(is_unknown(names("", true)), "only stale ones are left");
}

Test(symbolize_files, debug_link_without_build_id)
{
	build("-Wl,--build-id=none");
	fixture_run("objcopy --add-gnu-debuglink=game.debug game");
	cr_expect_str_eq(names("", true), WITH_LINES);
	fixture_run("echo stale >>game.debug");
	cr_expect(is_unknown(names("", true)));
}

Test(symbolize_files, debug_link_to_itself)
{
	/* The link is made while another file has the name, so the module is looked at as its own debug file.
	 */
	fixture_run("mkdir other && cp game.debug other/game && objcopy --add-gnu-debuglink=other/game game");
	cr_expect(is_unknown(names("", true)));
	fixture_run("mkdir .debug && cp other/game .debug/game");
	cr_expect_str_eq(names("", true), WITH_LINES);
}

Test(symbolize_files, debug_link_of_any_length)
{
	static const char *const links[] = {"a.dbg", "ab.dbg", "abc.dbg", "abcd.dbg"};

	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		fixture_run("strip -o game full && cp game.debug %s && objcopy --add-gnu-debuglink=%s game",
			    links[i], links[i]);
		cr_expect_str_eq(names("", true), WITH_LINES, "%s", links[i]);
	}
}

/* Names from the profiled program lead nowhere outside. */
Test(symbolize_files, hostile_debug_links)
{
	static const char *const links[] = {"../game.debug", "/etc/passwd", "..", ".", "", "sub/../../x"};

	fixture_run("mkdir deep");
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		char path[PATH_MAX];

		fixture_run("rm -f .debug link; printf '%s\\0\\0\\0\\0\\0\\0\\0\\0\\0' >link", links[i]);
		fixture_run("objcopy --add-section .gnu_debuglink=link game deep/game");
		snprintf(path, sizeof(path), "%s/deep/game", fixture_dir());
		cr_expect(is_unknown(fixture_one(path, "deep/game", inside, "", true)), "%s", links[i]);
	}
}

Test(symbolize_files, hostile_module_paths)
{
	static const char *const paths[] = {
		"../game", "a/../../game", "..", "/../../etc/passwd", "game\n;\"x", " ", "/"};

	fixture_run("mkdir store && cp full outside");
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		const char *text = fixture_one(paths[i], "outside", inside, "store", true);

		cr_expect(strstr(text, "+0x"), "%s gives %s", paths[i], text);
		cr_expect_not(strchr(text, '\n'));
	}
}

Test(symbolize_files, compressed_debug_sections)
{
	fixture_run("objcopy --compress-debug-sections=zlib full game");
	cr_expect_str_eq(names("", true), WITH_LINES, "zlib");
	fixture_run("objcopy --compress-debug-sections=zlib-gnu full game");
	cr_expect_str_eq(names("", true), WITH_LINES, "zlib-gnu");
	fixture_run("objcopy --only-keep-debug game game.debug && strip -o game full");
	fixture_run("objcopy --add-gnu-debuglink=game.debug game");
	cr_expect_str_eq(names("", true), WITH_LINES, "zlib-gnu, separate");
}

/* Whether libdw can expand it depends on how it was built; the function's name never does. */
Test(symbolize_files, zstd_debug_sections)
{
	struct fixture_session fixture;
	struct fperf_symbolizer *symbolizer;
	const struct fperf_module_names *modules;
	uint32_t id;

	if (system("objcopy --compress-debug-sections=zstd full game 2>/dev/null"))
		cr_skip("objcopy without zstd");
	fixture = fixture_session_new();
	id = fixture_module(&fixture, module, "game");
	fixture_seal(&fixture);
	symbolizer = fixture_symbolizer(&fixture, "", true);
	cr_expect_str_eq(fixture_function(symbolizer, id, inside), "hidden");
	cr_assert_eq(fperf_symbolizer__modules(symbolizer, &modules), 1);
	if (strcmp(fixture_names(symbolizer, id, inside, FPERF_FRAME_PC), WITH_LINES) != 0)
		cr_expect(strstr(modules[0].problem, "zstd"), "%s", modules[0].problem);
	fperf_symbolizer__free(symbolizer);
	fperf_session__free(fixture.session);
}

Test(symbolize_files, mini_debug_info)
{
	fixture_run("objcopy -S --remove-section .comment --keep-symbol=hidden full mini");
	fixture_run("nm full >/dev/null && objcopy --only-keep-debug --strip-debug full mini");
	fixture_run("xz -k mini && objcopy --add-section .gnu_debugdata=mini.xz game");
	unlink("game.debug");
	cr_expect_str_eq(names("", true), "hidden :0");
	/* Damaged: no names from it, nothing else happens. */
	fixture_run("head -c 200 mini.xz >cut && objcopy --update-section .gnu_debugdata=cut game");
	cr_expect(is_unknown(names("", true)));
}

Test(symbolize_files, debug_file_alone_with_mappings)
{
	struct fixture_session fixture = fixture_session_new();
	uint32_t id = fixture_module(&fixture, "/opt/game/game", "game");
	uint32_t process = fixture_process(&fixture, "/opt/game/game");
	struct fperf_rec_mapping mapping = {.process = process, .module = id};
	struct fperf_symbolizer *symbolizer;
	struct fperf_error err = {0};

	mapping.file_offset = hidden & ~0xfffull;
	mapping.start = 0x555555554000 + mapping.file_offset;
	mapping.end = mapping.start + 0x1000;
	cr_assert_eq(fperf_session__add(fixture.session, FPERF_RECORD_MAPPING, &mapping, &err), 0, "%s",
		     err.text);
	fixture_seal(&fixture);
	fixture_run("mkdir store && mv game.debug store/ && rm game full");
	symbolizer = fixture_symbolizer(&fixture, "store", false);
	cr_expect_str_eq(fixture_names(symbolizer, id, inside, FPERF_FRAME_PC), WITH_LINES);
	fperf_symbolizer__free(symbolizer);
	fperf_session__free(fixture.session);
}

/* The debug file was made before the program was moved to other addresses. */
Test(symbolize_files, debug_file_at_other_addresses)
{
	build("-shared -fPIC -Wl,--build-id=0xabcdef0123456789");
	fixture_run("cp game.debug kept.debug");
	build("-shared -fPIC -Wl,--build-id=0xabcdef0123456789 -Wl,-Ttext-segment=0x40000000");
	fixture_run("mv kept.debug game.debug && objcopy --add-gnu-debuglink=game.debug game");
	cr_expect_str_eq(names("", true), WITH_LINES);
}

Test(symbolize_files, without_aranges)
{
	fixture_run("objcopy -R .debug_aranges full game");
	cr_expect_str_eq(names("", true), WITH_LINES);
}

Test(symbolize_files, split_dwarf)
{
	fixture_run("gcc -g -O2 -gsplit-dwarf game.c -o game");
	inside = fixture_offset("game", "hidden");
	cr_expect_str_eq(names("", true), WITH_LINES);
	fixture_run("rm -f *.dwo");
	cr_expect_str_eq(names("", true), "hidden game.c:4", "lines are in the program itself");
}

Test(symbolize_files, link_time_optimisation)
{
	fixture_write("part.c", "extern volatile int sink;\nint far_away(int x)\n{\n\treturn sink * x;\n}\n");
	fixture_write("main.c",
		      "volatile int sink;\nint far_away(int);\n__attribute__((noinline)) int "
		      "caller(int x)\n{\n\treturn far_away(x);\n}\nint main(int c, char **v)\n{\n\t(void)v;\n"
		      "\treturn caller(c);\n}\n");
	fixture_run("gcc -g -O2 -flto -fno-ipa-cp main.c part.c -o game");
	inside = fixture_offset("game", "caller");
	cr_expect_str_eq(names("", true), "far_away part.c:4 < caller main.c:5");
}

Test(symbolize_files, paths_with_spaces_and_worse)
{
	static const char *const dirs[] = {"Proton 3.16", "line\nbreak", "it's;\"quoted\"", "game (deleted)"};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		char path[PATH_MAX];

		cr_assert_eq(mkdir(dirs[i], 0755), 0);
		snprintf(path, sizeof(path), "%s/%s/game", fixture_dir(), dirs[i]);
		cr_assert_eq(link("full", path), 0);
		cr_expect_str_eq(fixture_one(path, "full", inside, "", true), WITH_LINES, "%s", dirs[i]);
	}
}
