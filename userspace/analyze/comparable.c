/* What but the build may explain a difference: the device, how it was recorded, what was recorded. */
#include "analyze/change.h"
#include "base/vec.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Clocks, temperatures, losses and broken stacks that differ by more than this are said. */
#define CLOCK_DIFFERENCE       0.05 /* of the base's mean */
#define TEMPERATURE_DIFFERENCE 10.0 /* degrees */
#define LOSS_DIFFERENCE	       0.05 /* of all samples */
#define STACKS_DIFFERENCE      0.1  /* of all stacks */

static int __attribute__((format(printf, 3, 4)))
warn(struct fperf_diff *diff, bool serious, const char *format, ...)
{
	struct fperf_diff_warning *warning =
		fperf_vec__push(&diff->warnings, &diff->warning_count, &diff->warning_capacity);
	va_list args;

	if (!warning)
		return -ENOMEM;
	warning->serious = serious;
	va_start(args, format);
	vsnprintf(warning->text, sizeof(warning->text), format, args);
	va_end(args);
	return 0;
}

/* ---- what has to be equal ---- */

static const struct text_field {
	size_t offset;
	const char *what;
	bool serious;
} text_fields[] = {
	{offsetof(struct fperf_digest, model), "the device", true},
	{offsetof(struct fperf_digest, arch), "the architecture", true},
	{offsetof(struct fperf_digest, marker), "the frame marker", true},
	{offsetof(struct fperf_digest, target), "the program's name", false},
	{offsetof(struct fperf_digest, kernel), "the kernel", false},
};

static const char *field_of(const struct fperf_digest *digest, const struct text_field *field)
{
	return (const char *)digest + field->offset;
}

static bool side_has(const struct fperf_side *side, const struct text_field *field, const char *value)
{
	for (size_t i = 0; i < side->count; i++)
		if (!strcmp(field_of(side->runs[i], field), value))
			return true;
	return false;
}

/* A value of one side that the other does not have; NULL: the sides have the same values. */
static const char *only_here(const struct fperf_side *side, const struct fperf_side *other,
			     const struct text_field *field)
{
	for (size_t i = 0; i < side->count; i++)
		if (!side_has(other, field, field_of(side->runs[i], field)))
			return field_of(side->runs[i], field);
	return NULL;
}

static const char *said(const char *value)
{
	return *value ? value : "not recorded";
}

static int texts_check(struct fperf_diff *diff)
{
	int failed = 0;

	for (size_t i = 0; i < sizeof(text_fields) / sizeof(text_fields[0]) && !failed; i++) {
		const struct text_field *field = &text_fields[i];
		const char *base = only_here(&diff->base, &diff->new_side, field);
		const char *new_value = only_here(&diff->new_side, &diff->base, field);

		if (!base && !new_value)
			continue;
		if (!base)
			base = field_of(diff->base.runs[0], field);
		if (!new_value)
			new_value = field_of(diff->new_side.runs[0], field);
		failed = warn(diff, field->serious, "%s differs: %s in base, %s in new", field->what,
			      said(base), said(new_value));
	}
	return failed;
}

static const struct number_field {
	size_t offset;
	const char *what;
	bool serious;
} number_fields[] = {
	{offsetof(struct fperf_digest, cpus), "the number of CPUs", true},
	{offsetof(struct fperf_digest, level), "the level of detail", true},
	{offsetof(struct fperf_digest, frequency_hz), "the sampling rate (Hz)", false},
};

static uint32_t number_of(const struct fperf_digest *digest, const struct number_field *field)
{
	uint32_t value;

	memcpy(&value, (const char *)digest + field->offset, sizeof(value));
	return value;
}

static int numbers_check(struct fperf_diff *diff)
{
	int failed = 0;

	for (size_t i = 0; i < sizeof(number_fields) / sizeof(number_fields[0]) && !failed; i++) {
		const struct number_field *field = &number_fields[i];
		uint32_t first = number_of(diff->base.runs[0], field), other = first;

		for (size_t k = 1; k < diff->base.count && other == first; k++)
			other = number_of(diff->base.runs[k], field);
		for (size_t k = 0; k < diff->new_side.count && other == first; k++)
			other = number_of(diff->new_side.runs[k], field);
		if (other != first)
			failed = warn(diff, field->serious, "%s is not the same in all runs: %u and %u",
				      field->what, first, other);
	}
	return failed;
}

/* ---- what has to be alike ---- */

static double mean_of(const struct fperf_side *side, size_t offset)
{
	double sum = 0, value;
	size_t count = 0;

	for (size_t i = 0; i < side->count; i++) {
		memcpy(&value, (const char *)side->runs[i] + offset, sizeof(value));
		if (value < 0)
			continue;
		sum += value;
		count++;
	}
	return count ? sum / (double)count : NAN;
}

static int conditions_check(struct fperf_diff *diff)
{
	size_t khz = offsetof(struct fperf_digest, mean_khz),
	       heat = offsetof(struct fperf_digest, temperature);
	size_t lost = offsetof(struct fperf_digest, lost_share);
	size_t stacks = offsetof(struct fperf_digest, complete_share);
	double base = mean_of(&diff->base, khz), other = mean_of(&diff->new_side, khz);
	int failed = 0;

	if (fabs(other - base) > CLOCK_DIFFERENCE * base)
		failed |= warn(diff, true, "the mean clock differs: %.0f MHz in base, %.0f MHz in new",
			       base / 1000, other / 1000);
	base = mean_of(&diff->base, heat);
	other = mean_of(&diff->new_side, heat);
	if (fabs(other - base) > TEMPERATURE_DIFFERENCE)
		failed |= warn(diff, false, "the temperature differs: up to %.0f °C in base, %.0f °C in new",
			       base, other);
	base = mean_of(&diff->base, lost);
	other = mean_of(&diff->new_side, lost);
	if (fabs(other - base) > LOSS_DIFFERENCE)
		failed |= warn(diff, false,
			       "the share of lost samples differs: %.1f %% in base, %.1f %% in new",
			       base * 100, other * 100);
	base = mean_of(&diff->base, stacks);
	other = mean_of(&diff->new_side, stacks);
	if (fabs(other - base) > STACKS_DIFFERENCE)
		failed |= warn(diff, false,
			       "the share of whole stacks differs (functions' totals suffer, their own "
			       "times do not): %.0f %% in base, %.0f %% in new",
			       base * 100, other * 100);
	return failed ? -ENOMEM : 0;
}

static size_t throttled_count(const struct fperf_side *side)
{
	size_t count = 0;

	for (size_t i = 0; i < side->count; i++)
		count += side->runs[i]->throttled;
	return count;
}

static int throttling_check(struct fperf_diff *diff)
{
	size_t base = throttled_count(&diff->base), other = throttled_count(&diff->new_side);

	if (base * diff->new_side.count == other * diff->base.count)
		return 0;
	return warn(diff, true,
		    "the clock's limit was lowered (heat, power) in %zu of %zu base and %zu of %zu new runs",
		    base, diff->base.count, other, diff->new_side.count);
}

/* ---- order, length, identity ---- */

static int order_check(struct fperf_diff *diff)
{
	int64_t base_last = INT64_MIN, new_first = INT64_MAX, base_first = INT64_MAX, new_last = INT64_MIN;

	if (diff->base.count < 2 || diff->new_side.count < 2)
		return 0;
	for (size_t i = 0; i < diff->base.count; i++) {
		int64_t started = diff->base.runs[i]->started_unix_ns;

		if (!started)
			return 0;
		base_last = started > base_last ? started : base_last;
		base_first = started < base_first ? started : base_first;
	}
	for (size_t i = 0; i < diff->new_side.count; i++) {
		int64_t started = diff->new_side.runs[i]->started_unix_ns;

		if (!started)
			return 0;
		new_first = started < new_first ? started : new_first;
		new_last = started > new_last ? started : new_last;
	}
	if (base_last < new_first || new_last < base_first)
		return warn(diff, false,
			    "all runs of one side were recorded before those of the other: a machine that "
			    "warmed up in between looks like a slower build; alternate the builds");
	return 0;
}

static int trim_check(struct fperf_diff *diff)
{
	size_t trimmed = 0, all = diff->base.count + diff->new_side.count;

	for (size_t i = 0; i < diff->base.count; i++)
		trimmed += diff->base.runs[i]->trimmed_ns > 0;
	for (size_t i = 0; i < diff->new_side.count; i++)
		trimmed += diff->new_side.runs[i]->trimmed_ns > 0;
	if (trimmed && trimmed < all)
		return warn(diff, false, "%zu of %zu runs are too short to leave out their ends",
			    all - trimmed, all);
	return 0;
}

/* Whether both sides are the same recordings: then there is nothing to be sure of. */
static int identity_check(struct fperf_diff *diff)
{
	size_t shared = 0;

	for (size_t i = 0; i < diff->new_side.count; i++)
		for (size_t k = 0; k < diff->base.count; k++)
			if (*diff->base.runs[k]->session &&
			    !strcmp(diff->base.runs[k]->session, diff->new_side.runs[i]->session)) {
				shared++;
				break;
			}
	diff->same_sessions = shared == diff->new_side.count && shared == diff->base.count;
	if (!shared)
		return 0;
	return warn(diff, false,
		    "%zu of %zu new runs are also among the base runs: a recording is no news of itself",
		    shared, diff->new_side.count);
}

int fperf_diff__comparable(struct fperf_diff *diff)
{
	if (texts_check(diff) || numbers_check(diff) || conditions_check(diff) || throttling_check(diff) ||
	    order_check(diff) || trim_check(diff) || identity_check(diff))
		return -ENOMEM;
	return 0;
}
