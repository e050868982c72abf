/* Student's t distribution for whole degrees of freedom, by arithmetic that every machine rounds alike.
 * Internal to analyze/. */
#ifndef FPERF_ANALYZE_STUDENT_H
#define FPERF_ANALYZE_STUDENT_H

#include <stdint.h>

/* Degrees of freedom from here on count as infinitely many: the normal distribution, but for 1e-5. */
#define FPERF_STUDENT_MANY 20000

/* P(|T| > t), for t >= 0 and df >= 1. Exact but for rounding: the finite sums of Abramowitz and Stegun,
 * Handbook of Mathematical Functions, 26.7.3 and 26.7.4. */
double fperf_student__two_sided(double t, uint32_t df);

/* t with P(T <= t) = p, for 0 < p < 1. */
double fperf_student__quantile(double p, uint32_t df);

#endif
