#include "output/diff_output.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define UNIT_MS 1e6

/* Parts that are a smaller share of the whole difference are not named. */
#define PART_SHARE 0.05

static struct fperf_diff_words __attribute__((format(printf, 1, 2))) words(const char *format, ...)
{
	struct fperf_diff_words made;
	va_list args;

	va_start(args, format);
	vsnprintf(made.text, sizeof(made.text), format, args);
	va_end(args);
	return made;
}

static const struct unit_look {
	double divisor;
	const char *word;
} looks[FPERF_UNITS] = {
	[FPERF_UNIT_NS] = {UNIT_MS, "ms"},  [FPERF_UNIT_FPS] = {1, "fps"},
	[FPERF_UNIT_PER_MIN] = {1, "/min"}, [FPERF_UNIT_NS_PER_MIN] = {UNIT_MS, "ms/min"},
	[FPERF_UNIT_KHZ] = {1000, "MHz"},
};

/* Three digits that matter. */
static int decimals(double value)
{
	double size = fabs(value);

	return size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 || size < 0.00005 ? 2 : 3;
}

static const char *minus(double value)
{
	return value < 0 ? "−" : "";
}

struct fperf_diff_words fperf_diff_words__value(enum fperf_unit unit, double value)
{
	double shown = value / looks[unit].divisor;

	if (!isfinite(value))
		return words("–");
	return words("%s%.*f %s", minus(shown), decimals(shown), fabs(shown), looks[unit].word);
}

struct fperf_diff_words fperf_diff_words__difference(enum fperf_unit unit, double value)
{
	double shown = value / looks[unit].divisor;

	if (!isfinite(value))
		return words("–");
	return words("%s%.*f %s", shown < 0 ? "−" : "+", decimals(shown), fabs(shown), looks[unit].word);
}

struct fperf_diff_words fperf_diff_words__percent(double difference, double base)
{
	double percent = 100 * difference / fabs(base);

	if (!isfinite(percent))
		return words("%s", "");
	return words("%s%.*f %%", percent < 0 ? "−" : "+", fabs(percent) >= 9.995 ? 0 : 1, fabs(percent));
}

struct fperf_diff_words fperf_diff_words__interval(enum fperf_unit unit, const struct fperf_change *change)
{
	double low = change->low / looks[unit].divisor, high = change->high / looks[unit].divisor;
	double size = fabs(low) > fabs(high) ? low : high;

	if (!isfinite(low) || !isfinite(high))
		return words("–");
	return words("%s%.*f … %s%.*f", low < 0 ? "−" : "+", decimals(size), fabs(low), high < 0 ? "−" : "+",
		     decimals(size), fabs(high));
}

struct fperf_diff_words fperf_diff_words__result(const struct fperf_change *change)
{
	static const char *const plain[] = {"worse", "better", "no difference", "cannot tell"};

	if (change->result != FPERF_CHANGE_CANNOT_TELL)
		return words("%s", plain[change->result]);
	if (change->base_runs < 2 || change->new_runs < 2)
		return words("one run cannot tell");
	if (!change->runs_needed)
		return words("cannot tell");
	return words("cannot tell: needs %u runs", change->runs_needed);
}

/* The primary figures with a result, the surest first. */
static const struct fperf_metric_change *leading(const struct fperf_diff *diff,
						 enum fperf_change_result result)
{
	const struct fperf_metric_change *best = NULL;

	for (size_t i = 0; i < diff->metric_count; i++) {
		const struct fperf_metric_change *metric = &diff->metrics[i];

		if (fperf_metric__info(metric->metric)->family != FPERF_FAMILY_PRIMARY ||
		    metric->change.result != result)
			continue;
		if (!best || metric->change.p < best->change.p)
			best = metric;
	}
	return best;
}

struct fperf_diff_words fperf_diff_words__answer(const struct fperf_diff *diff)
{
	const struct fperf_metric_change *metric = leading(diff, diff->result);
	const struct fperf_metric_info *info = metric ? fperf_metric__info(metric->metric) : NULL;

	if (diff->same_sessions)
		return words("Both sides are the same recordings: no difference");
	if (diff->base.count < 2 || diff->new_side.count < 2)
		return words("One run cannot tell the builds apart: how much runs differ is not known. "
			     "Record at least 3 of each, in turns");
	if (diff->result == FPERF_CHANGE_SAME)
		return words("No difference: none of %.0f %% or more in frame times, hitches and CPU time",
			     FPERF_TOLERANCE * 100);
	if (!metric || diff->result == FPERF_CHANGE_CANNOT_TELL)
		return words("Cannot tell: runs of one build differ too much, and no difference stands out");
	return words("The new build is %s%s: %s %s (%s)",
		     diff->result == FPERF_CHANGE_WORSE ? "slower" : "faster",
		     diff->mixed ? " in part, faster in part" : "", info->title,
		     fperf_diff_words__difference(info->unit, metric->change.difference).text,
		     fperf_diff_words__percent(metric->change.difference, metric->change.base).text);
}

struct fperf_diff_words fperf_diff_words__part(const struct fperf_part_change *part)
{
	static const char *const causes[FPERF_CAUSES] = {
		[FPERF_CAUSE_CPU] = "running",
		[FPERF_CAUSE_LOCK] = "waiting for a lock",
		[FPERF_CAUSE_IO] = "waiting for I/O",
		[FPERF_CAUSE_FAULT] = "in page faults",
		[FPERF_CAUSE_GPU] = "waiting for the GPU",
		[FPERF_CAUSE_SLEEP] = "sleeping",
		[FPERF_CAUSE_EVENT] = "waiting for an event",
		[FPERF_CAUSE_RUN_QUEUE] = "runnable",
		[FPERF_CAUSE_PREEMPTED] = "preempted",
		[FPERF_CAUSE_FREQUENCY] = "at a slower clock",
		[FPERF_CAUSE_UNKNOWN] = "in an unknown state",
	};
	bool core = part->cause == FPERF_CAUSE_RUN_QUEUE || part->cause == FPERF_CAUSE_PREEMPTED;
	char place[96] = "", by[48] = "";

	if (*part->function)
		snprintf(place, sizeof(place), " in %.80s%s", part->function,
			 strchr(part->function, '(') ? "" : "()");
	if (*part->by)
		snprintf(by, sizeof(by), " %s %.32s", core ? "behind" : "for", part->by);
	return words("%s%s%s, %s", causes[part->cause], place, by, *part->thread ? part->thread : "a thread");
}

size_t fperf_diff_words__named_parts(const struct fperf_attribution *attribution, size_t limit)
{
	double whole = fabs(attribution->new_ns - attribution->base_ns);
	size_t named = 0;

	while (named < attribution->count && named < limit &&
	       fabs(attribution->parts[named].new_ns - attribution->parts[named].base_ns) >=
		       PART_SHARE * whole &&
	       attribution->parts[named].new_ns - attribution->parts[named].base_ns != 0)
		named++;
	return named;
}

struct fperf_diff_words fperf_diff_words__gate(const struct fperf_gate *gate,
					       const struct fperf_gate_result *result)
{
	static const char *const outcomes[] = {"holds", "does not hold", "cannot be told to hold"};

	if (gate->kind == FPERF_GATE_DEFAULT)
		return words("%s", result->outcome == FPERF_GATE_HOLDS ? "holds: nothing is surely worse"
								       : result->text);
	if (!isfinite(result->value))
		return words("%s: %s", outcomes[result->outcome], result->text);
	if (!isfinite(result->bound))
		return words("%s: %s where %s is allowed; %s", outcomes[result->outcome],
			     fperf_diff_words__value(result->unit, result->value).text,
			     fperf_diff_words__value(result->unit, result->limit).text, result->text);
	return words("%s: %s, with 95 %% confidence %s %s; the limit is %s", outcomes[result->outcome],
		     fperf_diff_words__value(result->unit, result->value).text,
		     gate->at_least ? "at least" : "at most",
		     fperf_diff_words__value(result->unit, result->bound).text,
		     fperf_diff_words__value(result->unit, result->limit).text);
}

const struct fperf_gate_result *fperf_diff_report__result(const struct fperf_diff_report *report, size_t gate,
							  size_t diff)
{
	return &report->results[gate * report->diff_count + diff];
}

bool fperf_diff_report__gates_hold(const struct fperf_diff_report *report)
{
	for (size_t i = 0; i < report->gate_count * report->diff_count; i++)
		if (report->results[i].outcome != FPERF_GATE_HOLDS)
			return false;
	return true;
}
