#include "analyze/student.h"

#include <math.h>

#define PI 3.14159265358979323846

/* The library's atan() differs in its last digit between machines; this one does not. Halves the angle until
 * the series of the arc tangent is short. */
static double arc_tangent(double x)
{
	double sum, power, square;
	int halvings = 0;

	while (x > 0.1) {
		x = x / (1 + sqrt(1 + x * x));
		halvings++;
	}
	square = x * x;
	power = sum = x;
	for (int i = 3; i < 23; i += 2) {
		power *= -square;
		sum += power / i;
	}
	while (halvings--)
		sum *= 2;
	return sum;
}

/* 1 + (first/second) c + (first (first + 2)) / (second (second + 2)) c^2 + …, `count` terms. */
static double term_sum(double cosine_square, double first, double second, uint32_t count)
{
	double sum = 0, term = 1;

	for (uint32_t i = 0; i < count; i++) {
		sum += term;
		term *= cosine_square * (first + 2 * i) / (second + 2 * i);
		if (term < 1e-18)
			break;
	}
	return sum;
}

double fperf_student__two_sided(double t, uint32_t df)
{
	double square = t * t, sine, cosine, inside;

	if (df > FPERF_STUDENT_MANY)
		df = FPERF_STUDENT_MANY;
	if (!(t > 0))
		return 1;
	if (isinf(square))
		return 0;
	sine = t / sqrt(df + square);
	cosine = sqrt(df / (df + square));
	if (df % 2) {
		inside = arc_tangent(t / sqrt(df));
		if (df > 1)
			inside += sine * cosine * term_sum(cosine * cosine, 2, 3, (df - 1) / 2);
		inside *= 2 / PI;
	} else {
		inside = sine * term_sum(cosine * cosine, 1, 2, df / 2);
	}
	return inside < 1 ? 1 - inside : 0;
}

double fperf_student__quantile(double p, uint32_t df)
{
	double tail = p < 0.5 ? 2 * p : 2 * (1 - p), low = 0, high = 1;

	while (fperf_student__two_sided(high, df) > tail && high < 1e12)
		high *= 2;
	for (int i = 0; i < 200; i++) {
		double middle = low + (high - low) / 2;

		if (high - low <= 1e-11 * high)
			break;
		if (fperf_student__two_sided(middle, df) > tail)
			low = middle;
		else
			high = middle;
	}
	return p < 0.5 ? -high : high;
}
