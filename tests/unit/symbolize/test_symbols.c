/* Which of several symbols gives the name, and how far a symbol reaches. */
#include "fixture.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(symbolize_symbols, .init = fixture_enter, .fini = fixture_leave, .timeout = 60);

static const char *name_at(const char *file, uint64_t offset)
{
	static char text[1 << 16];
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", fixture_dir(), file);
	strcpy(text, fixture_one(path, file, offset, "", true));
	*strrchr(text, ' ') = '\0'; /* the line */
	return text;
}

Test(symbolize_symbols, half_stripped_fixed_program)
{
	char expected[64];

	fixture_write("g.c", "volatile int s;\n"
			     "__attribute__((noinline)) static int kept(int x) { s = x; return s + x; }\n"
			     "__attribute__((noinline)) static int gone(int x) { s ^= x; return s * x; }\n"
			     "int main(int c, char **v) { (void)v; return kept(c) + gone(c); }\n");
	fixture_run("gcc -O2 -no-pie g.c -o full && strip -N gone -o half full");
	cr_expect_str_eq(name_at("half", fixture_offset("full", "kept") + 4), "kept");
	cr_expect_str_eq(name_at("half", fixture_offset("full", "main") + 4), "main");
	/* All addresses of a function without a name count as one. */
	snprintf(expected, sizeof(expected), "half+0x%llx",
		 (unsigned long long)fixture_address("full", "gone"));
	cr_expect_str_eq(name_at("half", fixture_offset("full", "gone")), expected);
	cr_expect_str_eq(name_at("half", fixture_offset("full", "gone") + 5), expected);
}

Test(symbolize_symbols, sizeless_symbol_swallows_nothing)
{
	fixture_write("a.s", ".text\n"
			     ".globl label\nlabel:\n.cfi_startproc\nnop\nnop\nret\n.cfi_endproc\n"
			     ".globl next\nnext:\n.cfi_startproc\n.skip 0x300000, 0x90\nret\n.cfi_endproc\n"
			     ".globl bare\nbare:\n.skip 0x200000, 0x90\nret\n"
			     ".section .text.other,\"ax\"\n.globl other\nother:\nnop\nret\n");
	fixture_write("m.c", "int main(void) { return 0; }\n");
	fixture_run("gcc -z noexecstack a.s m.c -o full && strip -N next -o game full");
	cr_expect_str_eq(name_at("game", fixture_offset("full", "label") + 1), "label");
	cr_expect(strstr(name_at("game", fixture_offset("full", "next")), "game+0x"));
	cr_expect(strstr(name_at("game", fixture_offset("full", "next") + 0x100000), "game+0x"));
	cr_expect_str_eq(name_at("full", fixture_offset("full", "next") + 0x100000), "next");
	/* Without unwind data it ends somewhere near. */
	cr_expect_str_eq(name_at("game", fixture_offset("full", "bare") + 0x100), "bare");
	cr_expect(strstr(name_at("game", fixture_offset("full", "bare") + 0x100000), "game+0x"));
}

Test(symbolize_symbols, labels_inside_functions_do_not_count)
{
	fixture_write("a.s",
		      ".text\n.globl copy\n.type copy,@function\ncopy:\nnop\nnop\ncopy_loop:\nnop\nnop\nret\n"
		      ".size copy,.-copy\n");
	fixture_write("m.c", "int main(void) { return 0; }\n");
	fixture_run("gcc -z noexecstack a.s m.c -o game");
	cr_expect_str_eq(name_at("game", fixture_offset("game", "copy") + 3), "copy");
}

/* Rules: global before weak before local, shorter, alphabetical; the same on each run. */
Test(symbolize_symbols, aliases)
{
	fixture_write("a.s",
		      ".text\n"
		      ".weak a_weak\n.type a_weak,@function\n.globl strong_one\n.type strong_one,@function\n"
		      ".type a_local,@function\n.globl strong_two\n.type strong_two,@function\n"
		      "a_weak:\nstrong_two:\nstrong_one:\na_local:\nsizeless:\nnop\nnop\nret\n"
		      ".size a_weak,.-a_weak\n.size strong_one,.-strong_one\n.size strong_two,.-strong_two\n"
		      ".size a_local,.-a_local\n"
		      ".globl longer\n.type longer,@function\n.globl long\n.type long,@function\n"
		      "longer:\nlong:\nret\n.size longer,1\n.size long,1\n");
	fixture_write("m.c", "int main(void) { return 0; }\n");
	fixture_run("gcc -z noexecstack a.s m.c -o game");
	cr_expect_str_eq(name_at("game", fixture_offset("game", "strong_two")), "strong_one");
	cr_expect_str_eq(name_at("game", fixture_offset("game", "strong_two") + 1), "strong_one");
	cr_expect_str_eq(name_at("game", fixture_offset("game", "longer")), "long");
}

Test(symbolize_symbols, ifunc_gives_the_implementation)
{
	fixture_write(
		"g.c",
		"static int fast(int x) { return x * 2; }\nstatic int slow(int x) { return x + x; }\n"
		"static int (*choose(void))(int) { return __builtin_cpu_supports(\"avx\") ? fast : slow; }\n"
		"int work(int x) __attribute__((ifunc(\"choose\")));\n"
		"int main(int c, char **v) { (void)v; return work(c); }\n");
	fixture_run("gcc -O1 g.c -o game");
	cr_expect_str_eq(name_at("game", fixture_offset("game", "fast")), "fast");
	cr_expect_str_eq(name_at("game", fixture_offset("game", "slow")), "slow");
	cr_expect_str_eq(name_at("game", fixture_offset("game", "choose")), "choose",
			 "the resolver is itself");
}

Test(symbolize_symbols, versions_are_not_part_of_names)
{
	fixture_write("l.c", "__asm__(\".symver old_f,f@V1\"); __asm__(\".symver new_f,f@@V2\");\n"
			     "int old_f(int x) { return x; }\nint new_f(int x) { return x + 1; }\n");
	fixture_write("map", "V1 { global: f; local: *; };\nV2 { global: f; } V1;\n");
	fixture_run("gcc -O1 -shared -fPIC -Wl,--version-script=map l.c -o full && strip -o l.so full");
	cr_expect_str_eq(name_at("l.so", fixture_offset("l.so", "f@V1")), "f");
	cr_expect_str_eq(name_at("l.so", fixture_offset("l.so", "f@V2")), "f");
	cr_expect_not(strchr(name_at("full", fixture_offset("l.so", "f@V2")), '@'));
}

/* The call that does not return is the last instruction: the return address belongs to the next function. */
Test(symbolize_symbols, return_address_behind_the_end)
{
	struct fixture_session fixture = fixture_session_new();
	struct fperf_symbolizer *symbolizer;
	char path[PATH_MAX];
	uint64_t end;
	uint32_t id;

	fixture_write(
		"a.s",
		".text\n.globl stops\n.type stops,@function\nstops:\nsub $8,%rsp\ncall leave\n.size "
		"stops,.-stops\n"
		".globl innocent\n.type innocent,@function\ninnocent:\nret\n.size innocent,.-innocent\n");
	fixture_write("m.c", "_Noreturn void leave(void) { for (;;); }\nint main(void) { return 0; }\n");
	fixture_run("gcc -z noexecstack a.s m.c -o game");
	snprintf(path, sizeof(path), "%s/game", fixture_dir());
	id = fixture_module(&fixture, path, "game");
	fixture_seal(&fixture);
	symbolizer = fixture_symbolizer(&fixture, "", true);
	end = fixture_offset("game", "stops") + fixture_size("game", "stops");
	cr_assert_eq(end, fixture_offset("game", "innocent"));
	cr_expect_str_eq(fixture_names(symbolizer, id, end, FPERF_FRAME_RETURN), "stops :0");
	cr_expect_str_eq(fixture_names(symbolizer, id, end, FPERF_FRAME_PC), "innocent :0");
	fperf_symbolizer__free(symbolizer);
	fperf_session__free(fixture.session);
}

/* GCC moves cold code to another section, under a name of its own; with and without debug information. */
Test(symbolize_symbols, fragments_belong_to_their_function)
{
	fixture_write("g.c",
		      "volatile int s;\nint work(int x)\n{\n\tif (__builtin_expect(x > 1000, 0)) {\n"
		      "\t\tfor (int i = 0; i < 100; i++)\n\t\t\ts += i * x;\n\t\t__builtin_trap();\n\t}\n"
		      "\treturn s + x;\n}\nint main(int c, char **v) { (void)v; return work(c); }\n");
	fixture_run("gcc -O2 -fno-inline -freorder-blocks-and-partition g.c -o game");
	fixture_run("nm game | grep -q 'work.cold'");
	cr_expect_str_eq(name_at("game", fixture_offset("game", "work.cold")), "work");
	fixture_run("gcc -g -O2 -fno-inline -freorder-blocks-and-partition g.c -o game");
	cr_expect_str_eq(fixture_one("/nowhere/game", "game", 0, "", false), "game+0x0 :0");
	cr_expect(!strncmp(name_at("game", fixture_offset("game", "work.cold")), "work", 4));
	cr_expect(strncmp(name_at("game", fixture_offset("game", "work.cold")), "work.", 5) != 0);
}

Test(symbolize_symbols, hostile_names)
{
	static char long_name[100001];
	const char *text;

	memset(long_name, 'n', sizeof(long_name) - 1);
	fixture_write(
		"a.s",
		".text\n.globl \"semi;colon \\\"quoted\\\"\"\n.type \"semi;colon \\\"quoted\\\"\",@function\n"
		"\"semi;colon \\\"quoted\\\"\":\nret\n.size \"semi;colon \\\"quoted\\\"\",1\n");
	fixture_write("m.c", "int main(void) { return 0; }\n");
	fixture_run(
		"{ printf '.text\\n.globl %%s\\n.type %%s,@function\\n%%s:\\nret\\n.size %%s,1\\n' L L L L |"
		" sed s/L/$(head -c 100000 /dev/zero | tr '\\0' n)/; } >long.s");
	fixture_run("gcc -z noexecstack a.s long.s m.c -o game");
	text = name_at("game", fixture_offset("game", "semi;colon \"quoted\""));
	cr_expect_str_eq(text, "semi;colon \"quoted\"");
	text = name_at("game", fixture_offset("game", long_name));
	cr_expect_lt(strlen(text), 5000);
	cr_expect(strstr(text, "nnnn…#"));
	/* objcopy can put any byte into a name. */
	fixture_run("objcopy --redefine-sym main=\"$(printf 'new\\nline\\033[2J\\377')\" game odd");
	cr_expect_str_eq(name_at("odd", fixture_offset("game", "main")), "new\\x0aline\\x1b[2J\\xff");
}

Test(symbolize_symbols, languages)
{
	fixture_write("g.cc",
		      "#include <vector>\n#include <algorithm>\nvolatile int s;\nnamespace game {\n"
		      "struct World {\n\tint state;\n\tWorld(int v) : state(v) { s = v; }\n"
		      "\t__attribute__((noinline)) int update(float dt) { s += (int)dt; return state; }\n};\n"
		      "namespace {\n__attribute__((noinline)) int secret(int x) { s = x; return s; }\n}\n"
		      "__attribute__((noinline)) int sort_them(std::vector<int> &v)\n{\n"
		      "\tstd::sort(v.begin(), v.end(), [](int a, int b) { return a * s < b * s; });\n"
		      "\treturn v[0];\n}\n__attribute__((noinline)) int make(int x) { World w(x); return "
		      "w.update(1); }\n}\n"
		      "int main(int c, char **) { std::vector<int> v(c + 3); return game::sort_them(v) + "
		      "game::make(c) + game::secret(c); }\n");
	fixture_run("g++ -g -O1 g.cc -o game");
	cr_expect(strstr(name_at("game", fixture_offset("game", "_ZN4game5World6updateEf")),
			 "game::World::update(float)"));
	cr_expect(strstr(name_at("game", fixture_offset("game", "_ZN4game12_GLOBAL__N_16secretEi")),
			 "game::(anonymous namespace)::secret(int)"));
	cr_expect(strstr(name_at("game", fixture_offset("game", "_ZN4game4makeEi")), "game::make(int)"));
	fixture_run("strip -d -o plain game");
	cr_expect_str_eq(name_at("plain", fixture_offset("game", "_ZN4game4makeEi")), "game::make(int)");
}

/* The standard library compiled into the game is not the game's own code; the function that uses it is. */
Test(symbolize_symbols, own_skips_the_language_runtime)
{
	struct fixture_session fixture = fixture_session_new();
	struct fperf_symbolizer *symbolizer;
	struct fperf_stack_frame frame = {.kind = FPERF_FRAME_PC};
	const struct fperf_symbol *const *symbols;
	size_t count;
	char path[PATH_MAX];

	fixture_write("g.cc", "#include <vector>\n__attribute__((noinline)) void fill(std::vector<int> &v) "
			      "{ v.push_back(1); v.push_back(2); }\n"
			      "int main() { std::vector<int> v; fill(v); return (int)v.size(); }\n");
	fixture_run("g++ -g -O0 g.cc -o game");
	snprintf(path, sizeof(path), "%s/game", fixture_dir());
	frame.module = fixture_module(&fixture, path, "game");
	fixture_seal(&fixture);
	symbolizer = fixture_symbolizer(&fixture, "", true);
	frame.offset = fixture_offset("game", "_Z4fillRSt6vectorIiSaIiEE");
	count = fperf_symbolizer__resolve(symbolizer, &frame, 0, &symbols);
	cr_expect(symbols[count - 1]->own);
	frame.offset = fixture_offset("game", "_ZNSt6vectorIiSaIiEE9push_backEOi");
	count = fperf_symbolizer__resolve(symbolizer, &frame, 0, &symbols);
	cr_expect(strstr(symbols[count - 1]->function, "push_back"));
	cr_expect_not(symbols[count - 1]->own);
	fperf_symbolizer__free(symbolizer);
	fperf_session__free(fixture.session);
}

/* Every stub that objdump knows in "full" has its name in the stripped "game". Returns how many there are. */
static unsigned compare_stubs(const char *objdump, const char *way)
{
	unsigned count = 0;
	char line[512];
	FILE *pipe;

	snprintf(line, sizeof(line), "%s -d -j .plt -j .plt.sec -j .plt.got full 2>/dev/null | grep '@plt>:'",
		 objdump);
	pipe = popen(line, "r");
	cr_assert(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		char *name = strchr(line, '<') + 1;
		uint64_t address = strtoull(line, NULL, 16);

		*strchr(name, '>') = '\0';
		if (strstr(name, "*ABS*"))
			continue;
		cr_expect_str_eq(name_at("game", fixture_to_offset("game", address)), name, "%s", way);
		count++;
	}
	pclose(pipe);
	return count;
}

Test(symbolize_symbols, stubs_of_other_modules)
{
	static const char *const ways[] = {"-Wl,-z,lazy", "-Wl,-z,now",
					   "-fcf-protection=full -Wl,-z,ibtplt -Wl,-z,lazy",
					   "-fuse-ld=lld -Wl,-z,lazy"};

	fixture_write("g.c", "#include <stdlib.h>\n#include <string.h>\n#include <stdio.h>\n"
			     "void *volatile p = (void *)puts;\nint main(int c, char **v) { puts(v[0]); "
			     "return (int)strlen(v[c - 1]) "
			     "+ atoi(v[0]) + abs(rand()); }\n");
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (strstr(ways[i], "lld") && !fixture_has("ld.lld"))
			continue;
		fixture_run("gcc -O1 -fno-builtin -fno-pie -no-pie %s g.c -o full && strip -o game full",
			    ways[i]);
		cr_expect_geq(compare_stubs("objdump", ways[i]), 3, "%s", ways[i]);
	}
}

Test(symbolize_symbols, arm64)
{
	if (!fixture_has("aarch64-linux-gnu-gcc"))
		cr_skip("no cross compiler");
	fixture_write("g.c", "int near(int), far(int);\n__attribute__((noinline)) static int hidden(int x) { "
			     "return near(x) * 3; }\n"
			     "int shown(int x) { return hidden(x) + far(x); }\n");
	fixture_run("aarch64-linux-gnu-gcc -g -O2 -shared -nostdlib -fPIC g.c -o full && "
		    "aarch64-linux-gnu-strip -o game full");
	cr_expect_eq(compare_stubs("aarch64-linux-gnu-objdump", "arm64"), 2);
	cr_expect_str_eq(name_at("full", fixture_offset("full", "hidden")), "hidden");
	cr_expect_str_eq(name_at("game", fixture_offset("full", "shown")), "shown");
}
