/* Names from every way to lay out a program: the address goes through the program headers. */
#include "fixture.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void enter(void)
{
	fixture_enter();
}

TestSuite(symbolize_layouts, .init = enter, .fini = fixture_leave, .timeout = 60);

static const char program[] = "#include <stdlib.h>\n"
			      "volatile int sink;\n"
			      "static inline __attribute__((always_inline)) int innermost(int x)\n"
			      "{\n"
			      "	sink = x;\n"
			      "	return x * sink;\n"
			      "}\n"
			      "static inline __attribute__((always_inline)) int middle(int x)\n"
			      "{\n"
			      "	return innermost(x + 1) + sink;\n"
			      "}\n"
			      "__attribute__((noinline)) int outer(int x)\n"
			      "{\n"
			      "	int y = sink;\n"
			      "	y += middle(x);\n"
			      "	return y + sink;\n"
			      "}\n"
			      "__attribute__((noinline)) static int hidden(int x)\n"
			      "{\n"
			      "	sink++;\n"
			      "	return sink * x;\n"
			      "}\n"
			      "__attribute__((noinline, cold)) int rare(int x)\n"
			      "{\n"
			      "	sink--;\n"
			      "	return sink + x;\n"
			      "}\n"
			      "int main(int argc, char **argv)\n"
			      "{\n"
			      "	(void)argv;\n"
			      "	return outer(argc) + hidden(argc) + (argc > 5 ? rare(argc) : 0);\n"
			      "}\n";

/* Every address of the named functions, against what addr2line says. */
static void compare_with_addr2line(const char *file)
{
	static const char *const functions[] = {"outer", "hidden", "rare", "main"};
	struct fixture_session fixture = fixture_session_new();
	char path[PATH_MAX];
	struct fperf_symbolizer *symbolizer;
	uint32_t module;
	size_t compared = 0, inlined = 0;

	snprintf(path, sizeof(path), "%s/%s", fixture_dir(), file);
	module = fixture_module(&fixture, path, file);
	fixture_seal(&fixture);
	symbolizer = fixture_symbolizer(&fixture, "", true);
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		uint64_t offset = fixture_offset(file, functions[i]),
			 address = fixture_address(file, functions[i]);
		char command[PATH_MAX + 128], expected[4096] = "", line[1024];
		FILE *pipe;

		for (unsigned at = 0; at < fixture_size(file, functions[i]); at += 3) {
			const char *names;
			size_t used = 0;

			snprintf(command, sizeof(command), "addr2line -i -f -e %s 0x%llx", path,
				 (unsigned long long)(address + at));
			pipe = popen(command, "r");
			cr_assert(pipe);
			for (int n = 0; fgets(line, sizeof(line), pipe); n++) {
				char *slash = strrchr(line, '/'), *text = slash ? slash + 1 : line;

				text[strcspn(text, " \n")] = '\0';
				used += (size_t)snprintf(expected + used, sizeof(expected) - used, "%s%s",
							 n % 2 ? " "
							 : n   ? " < "
							       : "",
							 text);
			}
			pclose(pipe);
			names = fixture_names(symbolizer, module, offset + at, FPERF_FRAME_PC);
			cr_expect_str_eq(names, expected, "%s, %s + %u: \"%s\", but addr2line says \"%s\"",
					 file, functions[i], at, names, expected);
			inlined += strchr(names, '<') ? 1 : 0;
			compared++;
		}
	}
	cr_assert_gt(compared, 20, "%s", file);
	cr_assert_gt(inlined, 2, "%s", file);
	fperf_symbolizer__free(symbolizer);
	fperf_session__free(fixture.session);
}

Test(symbolize_layouts, executables)
{
	fixture_write("game.c", program);
	fixture_run("gcc -g -O2 -pie -fPIE game.c -o pie");
	compare_with_addr2line("pie");
	fixture_run("gcc -g -O2 -no-pie game.c -o fixed");
	compare_with_addr2line("fixed");
	fixture_run("gcc -g -O2 -static game.c -o static");
	compare_with_addr2line("static");
	fixture_run("gcc -g -O2 -static-pie game.c -o static-pie");
	compare_with_addr2line("static-pie");
	fixture_run("gcc -g -O2 -Wl,-z,noseparate-code game.c -o one-segment");
	compare_with_addr2line("one-segment");
	fixture_run("gcc -g -O2 -ffunction-sections -Wl,-z,separate-code game.c -o separate");
	compare_with_addr2line("separate");
}

Test(symbolize_layouts, libraries)
{
	fixture_write("game.c", program);
	fixture_run("gcc -g -O2 -shared -fPIC game.c -o plain.so");
	compare_with_addr2line("plain.so");
	fixture_run("gcc -g -O2 -shared -fPIC -Wl,-Ttext-segment=0x10000000 game.c -o high.so");
	compare_with_addr2line("high.so");
}

Test(symbolize_layouts, other_linkers)
{
	fixture_write("game.c", program);
	if (fixture_has("clang") && fixture_has("ld.lld")) {
		fixture_run("clang -g -O2 -fuse-ld=lld game.c -o lld");
		compare_with_addr2line("lld");
		fixture_run(
			"clang -g -gdwarf-4 -O2 -fuse-ld=lld -shared -fPIC -Wl,-z,separate-loadable-segments "
			"game.c -o lld.so");
		compare_with_addr2line("lld.so");
		fixture_run("clang -g -gdwarf-5 -O2 -fuse-ld=lld -no-pie game.c -o lld5");
		compare_with_addr2line("lld5");
	}
	if (fixture_has("ld.gold")) {
		fixture_run("gcc -g -O2 -fuse-ld=gold game.c -o gold");
		compare_with_addr2line("gold");
	}
}
