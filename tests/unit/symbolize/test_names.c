#include "symbolize/names.h"
#include "symbolize/own.h"
#include "symbolize/range_table.h"
#include "symbolize/symbolize.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

TestSuite(symbolize_names, .timeout = 60);

Test(symbolize_names, clone_suffixes)
{
	static const char *const cases[][2] = {
		{"work", "work"},
		{"work.cold", "work"},
		{"work.part.0", "work"},
		{"work.constprop.1.isra.0.cold", "work"},
		{"work.llvm.8589934592", "work"},
		{"work.lto_priv.0", "work"},
		{"work.123", "work"},
		{"work.__uniq.123456.llvm.99", "work"},
		{"_ZN4game4workEv.cold", "_ZN4game4workEv"},
		{"work@@GLIBC_2.2.5", "work"},
		{"work@V1", "work"},
		{"work.cold@V1", "work"},
		{"?work@@YAXXZ", "?work@@YAXXZ"},
		{"work.other", "work.other"},
		{"work.cold.other", "work.cold.other"},
		{"work.coldish", "work.coldish"},
		{".cold", ".cold"},
		{"@", "@"},
		{"", ""},
		{"a.", "a."},
		{"1.2", "1"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect_eq(fperf_names__base_size(cases[i][0]), strlen(cases[i][1]), "%s", cases[i][0]);
}

static void expect_printable(const char *name, const char *expected)
{
	char *text = fperf_names__printable(name, strlen(name));

	cr_expect_str_eq(text, expected);
	free(text);
}

Test(symbolize_names, printable)
{
	static char first[20000], second[20000];
	char *a, *b;

	expect_printable("plain ;\"'<>", "plain ;\"'<>");
	expect_printable("", "");
	expect_printable("a\nb\t\x7f", "a\\x0ab\\x09\\x7f");
	expect_printable("größe 名前 🎮", "größe 名前 🎮");
	expect_printable("\xc3(\xff\xed\xa0\x80\xc0\x80", "\\xc3(\\xff\\xed\\xa0\\x80\\xc0\\x80");
	expect_printable("\xc2\x9b", "\\xc2\\x9b"); /* a control character in UTF-8 */
	memset(first, 'x', sizeof(first) - 1);
	memset(second, 'x', sizeof(second) - 1);
	second[sizeof(second) - 2] = 'y';
	a = fperf_names__printable(first, strlen(first));
	b = fperf_names__printable(second, strlen(second));
	cr_expect_leq(strlen(a), FPERF_NAME_MAX);
	cr_expect_str_neq(a, b, "names that differ stay different when they are cut");
	free(a);
	free(b);
	first[FPERF_NAME_MAX] = '\0';
	expect_printable(first, first);
}

static void expect_demangled(const char *name, const char *expected)
{
	char *text = fperf_demangle(name);

	cr_expect_str_eq(text, expected);
	free(text);
}

Test(symbolize_names, demangle)
{
	expect_demangled("main", "main");
	expect_demangled("", "");
	expect_demangled("_Z", "_Z");
	expect_demangled("_ZN4game5World6updateEf", "game::World::update(float)");
	expect_demangled("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place");
	expect_demangled("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	expect_demangled("Int", "Int");
	expect_demangled("_ZSt4sortIPiEvT_S1_", "std::sort<int*>(int*, int*)"); /* no return type in front */
	expect_demangled("_ZN4game5WorldD1Ev", "game::World::~World()");
	expect_demangled("_ZZN4game3fooEvENKUlvE_clEv", "game::foo()::{lambda()#1}::operator()() const");
}

/* "prefix" + "piece" × count + "suffix" */
static char *repeated(const char *prefix, const char *piece, size_t count, const char *suffix)
{
	size_t size = strlen(piece);
	char *text = malloc(strlen(prefix) + size * count + strlen(suffix) + 1), *at = stpcpy(text, prefix);

	for (size_t i = 0; i < count; i++)
		at = stpcpy(at, piece);
	strcpy(at, suffix);
	return text;
}

Test(symbolize_names, long_templates_are_demangled)
{
	char *name = repeated("_Z1fI", "1aIiE", 600, "Evv"), *text = fperf_demangle(name);

	cr_expect_eq(strncmp(text, "f<a<int>, a<int>", 16), 0, "%.40s", text);
	free(text);
	free(name);
}

Test(symbolize_names, hostile_mangled_names)
{
	static const char *const prefixes[] = {"_Z",	     "_Z1f",   "_Z1fI", "_ZN", "_R",
					       "_RINvC1a1b", "_Z1fIX", "_ZZ",	"_ZTI"};
	static const char *const pieces[] = {"P",   "1aI", "N",	 "Z",  "L",  "F",    "M", "R", "T",
					     "S",   "cv",  "pl", "sz", "Dp", "DpT_", "J", "K", "A_",
					     "U1a", "I",   "X",	 "S_", "T_", "B_",   "_", "9", "St"};
	static const size_t counts[] = {10, 500, 1000, 5400, 16000, 200000};

	for (size_t p = 0; p < sizeof(prefixes) / sizeof(*prefixes); p++)
		for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
			for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
				char *name = repeated(prefixes[p], pieces[i], counts[c], "i"),
				     *text = fperf_demangle(name);

				cr_assert(text);
				cr_expect_leq(strlen(text), strlen(name) > 65536 ? strlen(name) : 65536);
				free(text);
				free(name);
			}
}

/* Each level holds the one before twice: 2^n characters. */
Test(symbolize_names, exponential_names)
{
	struct rusage usage;
	char name[2000] = "_Z1fI1aIiiE", *text;

	for (int i = 0; i < 34; i++) {
		char level[32], digit = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i];

		/* Of "1aI..E" the name and the whole are candidates for substitution. */
		if (i == 0)
			strcpy(level, "S_IS0_S0_E");
		else
			snprintf(level, sizeof(level), "S_IS%c_S%c_E", digit, digit);
		strcat(name, level);
	}
	strcat(name, "Evv");
	text = fperf_demangle(name);
	cr_expect_leq(strlen(text), 65536);
	free(text);
	cr_assert_eq(getrusage(RUSAGE_SELF, &usage), 0);
	cr_expect_lt(usage.ru_utime.tv_sec, 20);
}

Test(symbolize_names, language_runtime)
{
	static const char *const runtime[] = {
		"_ZNSt6vectorIiSaIiEE9push_backEOi",
		"_ZSt4sortIPiEvT_S1_",
		"_ZNKSt6vectorIiSaIiEE4sizeEv",
		"_Znwm",
		"_ZdlPv",
		"_ZN9__gnu_cxx13new_allocatorIiE8allocateEmPKv",
		"_ZNSt3__16vectorIiE3fooEv",
		"_ZNSs6appendEPKc",
		"_ZN4core3ptr13drop_in_place17h0123456789abcdefE",
		"_RNvNtCs1234_4core3ptr4read",
	};
	static const char *const own[] = {
		"main",
		"update",
		"_ZN4game5World6updateEf",
		"_ZN4core5World6updateEf",
		"_ZZN4game3fooEvENKUlvE_clEv",
		"_RNvCs1234_7mycrate3foo",
		"_Z4fillRSt6vectorIiSaIiEE",
		"_ZN5stuff4workEv",
		"_Zx",
		"_Z",
		"",
		"std",
	};

	for (size_t i = 0; i < sizeof(runtime) / sizeof(*runtime); i++)
		cr_expect(fperf_names__is_language_runtime(runtime[i]), "%s", runtime[i]);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		cr_expect_not(fperf_names__is_language_runtime(own[i]), "%s", own[i]);
}

Test(symbolize_names, own_modules)
{
	static const char *const programs[] = {"/usr/games/quake", "/usr/lib/racer/racer-bin",
					       "/nix/store/abc-game-1/bin/game"};
	static const char *const own[] = {
		"/usr/games/quake",
		"/usr/lib/racer/racer-bin",
		"/usr/lib/racer/libracer.so",
		"/usr/lib/x86_64-linux-gnu/racer/libracer.so.1",
		"/opt/game/libengine.so",
		"/home/me/.steam/steam/steamapps/common/Game/Game.x86_64",
		"/home/me/.steam/steam/steamapps/common/Proton 3.16/game dir/libgame.so",
		"/home/me/.steam/steam/steamapps/common/Game/UnityPlayer.so",
		"/app/bin/game",
		"/tmp/build/libgame.so",
		"/data/app/com.example.game/base.apk",
		"/data/app/com.example.game/lib/arm64/libUE4.so",
		"/usr/share/games/thing/libthing.so",
		"/nix/store/abc-game-1/lib/libgame.so",
		"/mnt/wine/drive_c/Game/game.exe",
		"/mnt/wine/drive_c/Game/engine.dll",
		"/opt/game/libcore.so",
		"/opt/game/libmath.so",
		"/memfd:packed",
	};
	static const char *const others[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libc-2.31.so",
		"/lib64/ld-linux-x86-64.so.2",
		"/usr/lib/libfoo.so",
		"/usr/lib64/libfoo.so.3",
		"/usr/lib/x86_64-linux-gnu/libIrrlicht.so.1.8",
		"/usr/lib/x86_64-linux-gnu/dri/swrast_dri.so",
		"/usr/lib/x86_64-linux-gnu/gallium-pipe/pipe_swrast.so",
		"/usr/lib/x86_64-linux-gnu/pulseaudio/libpulsecommon-16.1.so",
		"/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so",
		"/opt/game/libSDL2-2.0.so.0",
		"/opt/game/lib/libstdc++.so.6.0.30",
		"/opt/game/libc++_shared.so",
		"/opt/amdgpu/lib/libdrm_amdgpu.so.1",
		"/run/host/usr/lib/libGLX_mesa.so.0",
		"/run/host/usr/lib/libfoo.so",
		"/usr/lib/pressure-vessel/overrides/lib/x86_64-linux-gnu/libfoo.so",
		"/home/me/.steam/ubuntu12_64/gameoverlayrenderer.so",
		"/home/me/.local/share/Steam/ubuntu12_32/steam-runtime/usr/lib/libfoo.so.1",
		"/home/me/.steam/steamapps/common/SteamLinuxRuntime_sniper/files/libfoo.so",
		"/system/lib64/libgui.so",
		"/vendor/lib64/egl/libGLESv2_adreno.so",
		"/apex/com.android.runtime/lib64/bionic/libc.so",
		"/nix/store/def-glibc-2.38/lib/libfoo.so",
		"/usr/lib/wine/wine64-preloader",
		"/home/me/Proton 8.0/dist/lib64/wine/x86_64-unix/ntdll.so",
		"/mnt/wine/drive_c/windows/system32/kernel32.dll",
		"/mnt/wine/drive_c/Game/d3d11.dll",
		"[vdso]",
		"//anon",
		"",
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		cr_expect(fperf_own__path(own[i], programs, 3), "%s", own[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		cr_expect_not(fperf_own__path(others[i], programs, 3), "%s", others[i]);
	cr_expect(fperf_own__jit_name("LuaJIT: trace 12"));
	cr_expect_not(fperf_own__jit_name("fs_variant_partial"));
}

/* Every address of a sealed table, against the definition: the last added range that holds it. */
Test(symbolize_names, overlapping_ranges)
{
	static const char *const names[8] = {"0", "1", "2", "3", "4", "5", "6", "7"};
	unsigned random = 1;

	for (int round = 0; round < 2000; round++) {
		struct fperf_range_table table = {0};
		struct fperf_range added[8];

		for (int i = 0; i < 8; i++) {
			random = random * 1103515245 + 12345;
			added[i] = (struct fperf_range){.start = random >> 16 & 31, .name = names[i]};
			random = random * 1103515245 + 12345;
			added[i].end = added[i].start + (random >> 16 & 15);
			cr_assert_eq(fperf_range_table__add(&table, &added[i]), 0);
		}
		cr_assert_eq(fperf_range_table__seal(&table), 0);
		for (uint64_t at = 0; at < 50; at++) {
			const struct fperf_range *found = fperf_range_table__find(&table, at);
			const char *expected = NULL;

			for (int i = 0; i < 8; i++)
				if (at >= added[i].start && at < added[i].end)
					expected = names[i];
			cr_assert_eq(found ? found->name : NULL, expected, "round %d, address %d", round,
				     (int)at);
		}
		fperf_range_table__free(&table);
	}
}
