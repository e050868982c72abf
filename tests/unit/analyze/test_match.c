/* Names that have to match from build to build, and gates. */
#include "analyze/gate.h"
#include "analyze/match.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static void function_is(const char *function, const char *wanted)
{
	char name[256];

	fperf_match__function(function, "libgame.so", name, sizeof(name));
	cr_assert_str_eq(name, wanted, "%s", function);
}

Test(match, clones_of_a_function_are_that_function)
{
	static const char *const clones[] = {
		"step",
		"step.part.0",
		"step.constprop.0",
		"step.isra.0",
		"step.cold",
		"step.part.0.cold",
		"step.llvm.1234567890",
		"step.constprop.12.isra.3",
		"step.lto_priv.0",
		"step.localalias",
		"step.cold.17",
	};

	for (size_t i = 0; i < sizeof(clones) / sizeof(clones[0]); i++)
		function_is(clones[i], "step");
	function_is("Game::step(int) [clone .constprop.0] [clone .cold]", "Game::step(int)");
	function_is("game::step::h0123456789abcdef", "game::step");
}

Test(match, other_names_stay)
{
	function_is("memcpy.avx", "memcpy.avx");
	function_is("a.b.c", "a.b.c");
	function_is(".cold", ".cold");
	function_is("step.3", "step.3");
	function_is("step.", "step.");
	function_is("partial", "partial");
	function_is("cold", "cold");
	function_is("operator<(A const&, B...)", "operator<(A const&, B...)");
	function_is("x::h01234567", "x::h01234567");
	function_is("libgame.so+0x1234", "(no name)");
	function_is("libgame.so_init", "libgame.so_init");
}

Test(match, modules_by_role_and_name)
{
	char name[64];

	fperf_match__module("game-v2", "/opt/game/game-v2", name, sizeof(name));
	cr_assert_str_eq(name, "(program)");
	fperf_match__module("libm.so.6", "/opt/game/game-v2", name, sizeof(name));
	cr_assert_str_eq(name, "libm.so");
	fperf_match__module("libSDL2-2.0.so.0.2600.5", "", name, sizeof(name));
	cr_assert_str_eq(name, "libSDL2-2.0.so");
	fperf_match__module("libgame.so.debug", "", name, sizeof(name));
	cr_assert_str_eq(name, "libgame.so.debug");
	fperf_match__module("[kernel]", "", name, sizeof(name));
	cr_assert_str_eq(name, "[kernel]");
}

Test(match, threads_by_pattern_and_names_of_any_length)
{
	char name[16];

	fperf_match__thread("Worker 12", name, sizeof(name));
	cr_assert_str_eq(name, "Worker #");
	fperf_match__thread("0123456789 a very long name 42", name, sizeof(name));
	cr_assert_str_eq(name, "# a very long n");
	fperf_match__function("a_very_long_name_of_a_function", "m", name, sizeof(name));
	cr_assert_str_eq(name, "a_very_long_nam");
	fperf_match__function("", "m", name, sizeof(name));
	cr_assert_str_eq(name, "(no name)");
}

static struct fperf_gate gate(const char *text)
{
	struct fperf_error err = {0};
	struct fperf_gate parsed;

	cr_assert_eq(fperf_gate__parse(text, &parsed, &err), 0, "%s: %s", text, err.text);
	return parsed;
}

Test(gate, rules_are_read)
{
	struct fperf_gate rule = gate("p99<=+3%");

	cr_assert(rule.kind == FPERF_GATE_METRIC && rule.metric == FPERF_METRIC_P99 && rule.relative);
	cr_assert(fabs(rule.factor - 1.03) < 1e-12 && rule.limit == 0 && !rule.at_least);
	rule = gate("hitches<=6/min");
	cr_assert(rule.metric == FPERF_METRIC_HITCHES && !rule.relative && rule.limit == 6 &&
		  rule.factor == 0);
	rule = gate("worst<=100ms");
	cr_assert(rule.metric == FPERF_METRIC_MAX && rule.limit == 100e6);
	rule = gate("low_01pct >= 30 fps");
	cr_assert(rule.metric == FPERF_METRIC_LOW_01PCT && rule.at_least && rule.limit == 30);
	rule = gate("func:Game::update<=+0.2ms");
	cr_assert(rule.kind == FPERF_GATE_FUNCTION && rule.relative && rule.factor == 1);
	cr_assert(fabs(rule.limit - 200000) < 1e-6);
	cr_assert_str_eq(rule.function, "Game::update");
	rule = gate("fps>=-2%");
	cr_assert(rule.at_least && fabs(rule.factor - 0.98) < 1e-12);
	cr_assert_eq(gate("default").kind, FPERF_GATE_DEFAULT);
	cr_assert_eq(gate("total:f<=5us").kind, FPERF_GATE_FUNCTION_TOTAL);
}

Test(gate, nonsense_is_refused_with_a_reason)
{
	static const char *const bad[] = {
		"",	      "p99",	     "p99<=",	 "p99<=3%",    "p99<=+3",	    "p98<=+3%",
		"p99<+3%",    "func:<=1ms",  "<=3ms",	 "p99<=3fps",  "fps>=3ms",	    "p99<=ms",
		"p99<=+nan%", "p99<=inf ms", "p99==3ms", "hitches<=6", "low_1pct>=30 /min", "worst<=0x10ms",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fperf_error err = {0};
		struct fperf_gate parsed;

		cr_assert_lt(fperf_gate__parse(bad[i], &parsed, &err), 0, "'%s' was taken", bad[i]);
		cr_assert(err.text[0]);
	}
}
