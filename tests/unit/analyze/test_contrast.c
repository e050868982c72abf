/* The statistics against published values, and their coverage in simulation. */
#include "analyze/contrast.h"
#include "analyze/random.h"
#include "analyze/student.h"

#include <criterion/criterion.h>
#include <math.h>

static void near(double value, double wanted, double tolerance, const char *what)
{
	cr_assert(fabs(value - wanted) <= tolerance, "%s: %.10g instead of %.10g", what, value, wanted);
}

/* Vectors of the SplitMix64 reference program, seed 1234567. */
Test(contrast, random_numbers_are_those_of_the_reference)
{
	struct fperf_random random = {.state = 1234567};

	cr_assert_eq(fperf_random__next(&random), 6457827717110365317ull);
	cr_assert_eq(fperf_random__next(&random), 3203168211198807973ull);
	cr_assert_eq(fperf_random__next(&random), 9817491932198370423ull);
}

Test(contrast, random_numbers_below_a_limit_are_even)
{
	struct fperf_random random = {.state = 1};
	int counts[6] = {0};

	for (int i = 0; i < 60000; i++)
		counts[fperf_random__below(&random, 6)]++;
	for (int i = 0; i < 6; i++)
		cr_assert(counts[i] > 9600 && counts[i] < 10400, "%d came %d times", i, counts[i]);
}

/* Quantiles of Student's t as every table has them. */
Test(contrast, student_quantiles_match_the_tables)
{
	static const struct {
		double p;
		uint32_t df;
		double t;
	} table[] = {
		{0.975, 1, 12.7062047},	   {0.975, 2, 4.3026527},  {0.975, 3, 3.1824463},
		{0.975, 4, 2.7764451},	   {0.975, 5, 2.5705818},  {0.975, 8, 2.3060041},
		{0.975, 10, 2.2281389},	   {0.975, 30, 2.0422725}, {0.95, 4, 2.1318468},
		{0.95, 9, 1.8331129},	   {0.995, 6, 3.7074280},  {0.9995, 7, 5.4078825},
		{0.8, 12, 0.8726093},	   {0.025, 5, -2.5705818}, {0.5, 7, 0},
		{0.975, 20000, 1.9600827},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		near(fperf_student__quantile(table[i].p, table[i].df), table[i].t, 2e-6, "quantile");
}

Test(contrast, student_tails_and_quantiles_are_inverse)
{
	for (uint32_t df = 1; df < 60; df++)
		for (double p = 0.51; p < 1; p += 0.07)
			near(fperf_student__two_sided(fperf_student__quantile(p, df), df), 2 * (1 - p), 1e-10,
			     "tail");
	cr_assert_eq(fperf_student__two_sided(0, 3), 1);
	cr_assert_lt(fperf_student__two_sided(1e200, 3), 1e-100);
}

/* R: t.test(extra ~ group, data = sleep); Student's sleep data of 1908: t = -1.8608, df = 17.776,
 * p = 0.07939, 95 % interval -3.3654832 to 0.2054832. Ours rounds df down to 17, and with ten runs the
 * resamples may only widen it. */
Test(contrast, welch_on_the_sleep_data)
{
	static const double first[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
	static const double second[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
	struct fperf_values base = {first, 10}, new_values = {second, 10};
	struct fperf_contrast contrast;

	cr_assert_eq(fperf_contrast__make(&base, &new_values, 1, 0, true, &contrast), 0);
	near(contrast.estimate, 1.58, 1e-12, "difference");
	near(contrast.estimate / contrast.error, 1.8608, 5e-5, "t");
	cr_assert_eq(contrast.df, 17);
	cr_assert(fperf_contrast__p(&contrast) >= 0.07939 && fperf_contrast__p(&contrast) < 0.12);
	cr_assert(fperf_contrast__bound(&contrast, 0.025) <= -0.2054832);
	cr_assert(fperf_contrast__bound(&contrast, 0.975) >= 3.3654832);
	cr_assert(fperf_contrast__bound(&contrast, 0.975) < 4.2);
	fperf_contrast__free(&contrast);
	base.count = new_values.count =
		5; /* scipy.stats.ttest_ind(equal_var=False): p 0.0838449 at df 7.9… */
	cr_assert_eq(fperf_contrast__make(&base, &new_values, 1, 0, true, &contrast), 0);
	cr_assert_null(contrast.t);
	near(contrast.estimate, 1.24, 1e-12, "difference");
	fperf_contrast__free(&contrast);
}

/* Published example: p-values .01 .04 .03 .005 become .03 .06 .06 .02 (R: p.adjust(method = "holm")). */
Test(contrast, holm_matches_p_adjust)
{
	static const double p[] = {0.01, 0.04, 0.03, 0.005}, wanted[] = {0.03, 0.06, 0.06, 0.02};
	static const double even[] = {2, 2, 2, 2}, uneven[] = {1, 1, 8, 1};
	double adjusted[4], weighted[4];

	cr_assert_eq(fperf_holm(p, NULL, 4, adjusted), 0);
	cr_assert_eq(fperf_holm(p, even, 4, weighted), 0);
	for (int i = 0; i < 4; i++) {
		near(adjusted[i], wanted[i], 1e-12, "holm");
		near(weighted[i], wanted[i], 1e-12, "equal weights");
	}
	cr_assert_eq(fperf_holm(p, uneven, 4, weighted), 0);
	near(weighted[2], 0.04125, 1e-12, "the heaviest first: 0.03 / 8 * 11");
	near(weighted[3], 0.04125, 1e-12, "never below one that came before");
	near(weighted[0], 0.04125, 1e-12, "0.01 * 2 is less than that");
	near(weighted[1], 0.04125, 1e-12, "and so is 0.04");
}

Test(contrast, one_run_on_a_side_is_not_known)
{
	static const double one[] = {5}, three[] = {1, 2, 3};
	struct fperf_values base = {three, 3}, new_values = {one, 1};
	struct fperf_contrast contrast;

	cr_assert_eq(fperf_contrast__make(&base, &new_values, 1, 0, true, &contrast), 0);
	cr_assert_not(contrast.known);
	near(contrast.estimate, 3, 0, "difference");
	cr_assert(isnan(fperf_contrast__bound(&contrast, 0.95)));
	cr_assert_eq(fperf_contrast__p(&contrast), 1);
	cr_assert_eq(fperf_contrast__make(&new_values, &base, 0, 0, true, &contrast), 0);
	cr_assert(contrast.known, "a bound on the new side alone needs no base");
}

Test(contrast, equal_values_are_certain_unless_counts_say_otherwise)
{
	static const double zeros[] = {0, 0, 0}, ones[] = {1, 1, 1};
	struct fperf_values base = {zeros, 3}, new_values = {ones, 3};
	struct fperf_contrast contrast;

	cr_assert_eq(fperf_contrast__make(&base, &new_values, 1, 0, true, &contrast), 0);
	cr_assert_eq(fperf_contrast__p(&contrast), 0);
	cr_assert_eq(fperf_contrast__make(&base, &base, 1, 0, true, &contrast), 0);
	cr_assert_eq(fperf_contrast__p(&contrast), 1);
	cr_assert_eq(fperf_contrast__make(&base, &new_values, 1, 0.8, true, &contrast), 0);
	cr_assert_gt(fperf_contrast__p(&contrast), 0.2);
	near(contrast.error, sqrt(0.8), 1e-12, "error");
}

/* R: power.t.test(delta = 1, sd = 1, power = 0.8) gives n = 16.71; delta = 0.5 gives 63.77. */
Test(contrast, runs_needed_match_power_t_test)
{
	uint32_t one = fperf_runs_needed(1, 1), half = fperf_runs_needed(1, 0.5);

	cr_assert(one >= 17 && one <= 18, "%u", one);
	cr_assert(half >= 64 && half <= 65, "%u", half);
	cr_assert_eq(fperf_runs_needed(1, 0), 0);
	cr_assert_eq(fperf_runs_needed(0, 1), 2);
}

/* ---- coverage ---- */

static double uniform(struct fperf_random *random)
{
	return ((double)(fperf_random__next(random) >> 11) + 0.5) / 9007199254740992.0;
}

enum shape { NORMAL, LOGNORMAL, EXPONENTIAL, SHAPES };

static double draw(struct fperf_random *random, enum shape shape)
{
	double normal = sqrt(-2 * log(uniform(random))) * cos(6.283185307179586 * uniform(random));

	return shape == NORMAL ? normal : shape == LOGNORMAL ? exp(0.5 * normal) : -log(uniform(random));
}

/* How often the 95 % interval of equal sides holds 0. */
static double coverage(enum shape shape, size_t runs, int trials)
{
	struct fperf_random random = {.state = 42 + runs};
	double first[32], second[32];
	int covered = 0;

	for (int trial = 0; trial < trials; trial++) {
		struct fperf_values base = {first, runs}, new_values = {second, runs};
		struct fperf_contrast contrast;

		for (size_t i = 0; i < runs; i++) {
			first[i] = draw(&random, shape);
			second[i] = draw(&random, shape);
		}
		cr_assert_eq(fperf_contrast__make(&base, &new_values, 1, 0, true, &contrast), 0);
		covered += fperf_contrast__bound(&contrast, 0.025) <= 0 &&
			   fperf_contrast__bound(&contrast, 0.975) >= 0;
		fperf_contrast__free(&contrast);
	}
	return (double)covered / trials;
}

Test(contrast, intervals_hold_what_they_promise)
{
	static const size_t runs[] = {3, 4, 5, 8, 12, 20};

	for (int shape = 0; shape < SHAPES; shape++)
		for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
			double share = coverage((enum shape)shape, runs[i], runs[i] < 8 ? 4000 : 600);

			cr_assert(share >= 0.93 && share <= 0.995, "shape %d, %zu runs: %.3f", shape, runs[i],
				  share);
		}
}
