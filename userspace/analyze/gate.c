#include "analyze/gate.h"

#include "analyze/blocks.h"
#include "analyze/change.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIDENCE 0.95 /* one-sided */

static const char *const outcome_names[] = {"holds", "fails", "cannot_tell"};

const char *fperf_gate_outcome__name(enum fperf_gate_outcome outcome)
{
	return outcome_names[outcome];
}

/* ---- parsing ---- */

static const struct unit_word {
	const char *word;
	enum fperf_unit unit;
	double factor;
} unit_words[] = {
	{"ns", FPERF_UNIT_NS, 1},
	{"us", FPERF_UNIT_NS, 1e3},
	{"µs", FPERF_UNIT_NS, 1e3},
	{"ms", FPERF_UNIT_NS, 1e6},
	{"s", FPERF_UNIT_NS, 1e9},
	{"fps", FPERF_UNIT_FPS, 1},
	{"/min", FPERF_UNIT_PER_MIN, 1},
	{"/s", FPERF_UNIT_PER_MIN, 60},
	{"ms/min", FPERF_UNIT_NS_PER_MIN, 1e6},
	{"s/min", FPERF_UNIT_NS_PER_MIN, 1e9},
	{"kHz", FPERF_UNIT_KHZ, 1},
	{"MHz", FPERF_UNIT_KHZ, 1e3},
	{"GHz", FPERF_UNIT_KHZ, 1e6},
};

static const char *units_of(enum fperf_unit unit)
{
	static const char *const words[FPERF_UNITS] = {"us, ms or s", "fps", "/min", "ms/min or s/min",
						       "MHz or GHz"};

	return words[unit];
}

static int what_parse(const char *text, size_t size, struct fperf_gate *gate, struct fperf_error *err)
{
	size_t prefix = !strncmp(text, "func:", 5) ? 5 : !strncmp(text, "total:", 6) ? 6 : 0;

	if (prefix) {
		if (size <= prefix)
			return fperf_error__set(err, -EINVAL, "'%s' names no function", gate->text);
		gate->kind = prefix == 5 ? FPERF_GATE_FUNCTION : FPERF_GATE_FUNCTION_TOTAL;
		snprintf(gate->function, sizeof(gate->function), "%.*s", (int)(size - prefix), text + prefix);
		return 0;
	}
	gate->kind = FPERF_GATE_METRIC;
	if (!fperf_metric__find(text, size, &gate->metric))
		return fperf_error__set(
			err, -EINVAL,
			"'%.*s' is no figure: mean, p50, p90, p95, p99, worst, low_1pct, low_01pct, fps, "
			"hitches, jank, active, cpu, run_queue, run_queue_p99, frequency, lost_CAUSE, "
			"func:NAME or total:NAME",
			(int)size, text);
	return 0;
}

static enum fperf_unit unit_of(const struct fperf_gate *gate)
{
	return gate->kind == FPERF_GATE_METRIC ? fperf_metric__info(gate->metric)->unit : FPERF_UNIT_NS;
}

static int limit_parse(const char *text, struct fperf_gate *gate, struct fperf_error *err)
{
	enum fperf_unit unit = unit_of(gate);
	double number;
	char *end;

	gate->relative = *text == '+' || *text == '-';
	gate->factor = gate->relative ? 1 : 0;
	number = strtod(text, &end);
	if (end == text || end != text + strspn(text, "+-.0123456789") || !isfinite(number))
		return fperf_error__set(err, -EINVAL, "'%s' has no number after the comparison", gate->text);
	while (*end == ' ')
		end++;
	if (!strcmp(end, "%") && gate->relative) {
		gate->factor = 1 + number / 100;
		return 0;
	}
	if (!strcmp(end, "%"))
		return fperf_error__set(err, -EINVAL,
					"'%s': a share is relative to the base: write +%s or -%s", gate->text,
					text, text);
	for (size_t i = 0; i < sizeof(unit_words) / sizeof(unit_words[0]); i++)
		if (unit_words[i].unit == unit && !strcmp(end, unit_words[i].word)) {
			gate->limit = number * unit_words[i].factor;
			return 0;
		}
	return fperf_error__set(err, -EINVAL, "'%s': '%s' is no unit of this figure; it is given in %s%s",
				gate->text, end, units_of(unit), gate->relative ? " or %" : "");
}

int fperf_gate__parse(const char *text, struct fperf_gate *gate, struct fperf_error *err)
{
	const char *comparison = strstr(text, "<="), *at_least = strstr(text, ">=");
	size_t size;

	*gate = (struct fperf_gate){.at_least = false};
	if (strlen(text) >= sizeof(gate->text))
		return fperf_error__set(err, -EINVAL, "a gate of more than %zu bytes",
					sizeof(gate->text) - 1);
	snprintf(gate->text, sizeof(gate->text), "%s", text);
	if (!strcmp(text, "default")) {
		gate->kind = FPERF_GATE_DEFAULT;
		return 0;
	}
	if (at_least && (!comparison || at_least < comparison)) {
		comparison = at_least;
		gate->at_least = true;
	}
	if (!comparison)
		return fperf_error__set(
			err, -EINVAL,
			"'%s' is no gate: write FIGURE<=LIMIT or FIGURE>=LIMIT, like p99<=+3%% "
			"or low_1pct>=30fps",
			text);
	size = (size_t)(comparison - text);
	while (size && text[size - 1] == ' ')
		size--;
	comparison += 2;
	while (*comparison == ' ')
		comparison++;
	if (what_parse(text, size, gate, err))
		return err->code;
	return limit_parse(comparison, gate, err);
}

void fperf_gate__default(struct fperf_gate *gate)
{
	*gate = (struct fperf_gate){.text = "default", .kind = FPERF_GATE_DEFAULT};
}

/* ---- judging ---- */

/* "update" is the function that the gate calls so: by its whole name, or without its arguments. */
static bool function_matches(const char *function, const char *wanted)
{
	size_t size = strlen(wanted);

	return !strncmp(function, wanted, size) && (!function[size] || function[size] == '(');
}

static double function_value(const struct fperf_digest *digest, const struct fperf_gate *gate,
			     const struct fperf_strtab *names, bool *found)
{
	double sum = 0;

	for (size_t i = 0; i < digest->function_count; i++) {
		const struct fperf_digest_function *function = &digest->functions[i];

		if (!function_matches(fperf_strtab__get(names, function->function, NULL), gate->function))
			continue;
		sum += gate->kind == FPERF_GATE_FUNCTION ? function->self_ns : function->total_ns;
		*found = true;
	}
	return sum;
}

static size_t gather(const struct fperf_side *side, const struct fperf_gate *gate,
		     const struct fperf_strtab *names, double *values, bool *found)
{
	size_t count = 0;

	for (size_t i = 0; i < side->count; i++) {
		const struct fperf_digest *digest = side->runs[i];

		if (gate->kind != FPERF_GATE_METRIC && digest->function_count) {
			values[count++] = function_value(digest, gate, names, found);
		} else if (gate->kind == FPERF_GATE_METRIC && digest->known[gate->metric]) {
			values[count++] = digest->value[gate->metric];
			*found = true;
		}
	}
	return count;
}

/* The upper bound of a rate of which `events` were seen, one-sided at 95 %: Wilson and Hilferty's
 * approximation of the exact (chi-squared) one. */
static double rate_bound(double events, double minutes)
{
	double n = events + 1, root = 1 - 1 / (9 * n) + 1.6448536269514722 / (3 * sqrt(n));

	return n * root * root * root / minutes;
}

/* One new run: what its frames alone leave open. */
static int single_bound(const struct fperf_gate *gate, const struct fperf_digest *digest, double *bound)
{
	const double level = gate->at_least ? 1 - CONFIDENCE : CONFIDENCE;
	double bounds[1][FPERF_BLOCKS_METRICS];

	*bound = NAN;
	if (gate->kind != FPERF_GATE_METRIC || gate->metric >= (int)FPERF_BLOCKS_METRICS ||
	    !digest->frame_count)
		return 0;
	if (fperf_blocks__bounds(NULL, digest, &level, 1, 0, bounds))
		return -ENOMEM;
	*bound = bounds[0][gate->metric];
	return 0;
}

static int bound_find(const struct fperf_gate *gate, const struct fperf_diff *diff,
		      const struct fperf_values *base, const struct fperf_values *new_values, double *bound)
{
	struct fperf_contrast contrast;
	double least =
		gate->kind == FPERF_GATE_METRIC
			? fperf_diff__count_variance(&diff->base, &diff->new_side, gate->metric, gate->factor)
			: 0;

	if (gate->relative && diff->same_sessions) {
		*bound = fperf_values__mean(new_values) - gate->factor * fperf_values__mean(base);
		return 0;
	}
	if (!gate->relative && new_values->count == 1)
		return single_bound(gate, diff->new_side.runs[0], bound);
	if (fperf_contrast__make(base, new_values, gate->factor, least, true, &contrast))
		return -ENOMEM;
	*bound = fperf_contrast__bound(&contrast, gate->at_least ? 1 - CONFIDENCE : CONFIDENCE);
	fperf_contrast__free(&contrast);
	return 0;
}

/* Rare events: the bound is not below what their count alone says. */
static void rare_events_widen(const struct fperf_gate *gate, const struct fperf_diff *diff, double *bound)
{
	double minutes = 0, events = 0, least;

	if (gate->kind != FPERF_GATE_METRIC || gate->relative || gate->at_least ||
	    (gate->metric != FPERF_METRIC_HITCHES && gate->metric != FPERF_METRIC_JANK))
		return;
	for (size_t i = 0; i < diff->new_side.count; i++) {
		minutes += diff->new_side.runs[i]->seconds / 60;
		events += diff->new_side.runs[i]->value[gate->metric] * diff->new_side.runs[i]->seconds / 60;
	}
	least = minutes > 0 ? rate_bound(events, minutes) : NAN;
	if (!(*bound >= least))
		*bound = least;
}

/* The greatest of the values is over the limit of a gate on the worst frame: that needs no confidence. */
static bool worst_exceeds(const struct fperf_gate *gate, const struct fperf_values *values)
{
	if (gate->kind != FPERF_GATE_METRIC || gate->metric != FPERF_METRIC_MAX || gate->relative ||
	    gate->at_least)
		return false;
	for (size_t i = 0; i < values->count; i++)
		if (values->items[i] > gate->limit)
			return true;
	return false;
}

static void decide(const struct fperf_gate *gate, const struct fperf_values *values,
		   struct fperf_gate_result *result)
{
	double sign = gate->at_least ? -1 : 1;
	double value = sign * (result->value - result->limit), bound = sign * (result->bound - result->limit);

	if (worst_exceeds(gate, values)) {
		for (size_t i = 0; i < values->count; i++)
			if (values->items[i] > result->value)
				result->value = values->items[i];
		result->outcome = FPERF_GATE_FAILS;
	} else if (bound <= 0) {
		result->outcome = FPERF_GATE_HOLDS;
	} else {
		result->outcome = isnan(bound) || value <= 0 ? FPERF_GATE_CANNOT_TELL : FPERF_GATE_FAILS;
	}
}

static int figure_judge(const struct fperf_gate *gate, const struct fperf_diff *diff,
			const struct fperf_strtab *names, struct fperf_gate_result *result)
{
	double *buffer = calloc(diff->base.count + diff->new_side.count + 1, sizeof(*buffer));
	struct fperf_values base = {.items = buffer}, new_values;
	bool found = false;
	double bound = NAN, of_base;
	int failed = buffer ? 0 : -ENOMEM;

	if (failed)
		return failed;
	base.count = gather(&diff->base, gate, names, buffer, &found);
	new_values = (struct fperf_values){.items = buffer + base.count};
	new_values.count = gather(&diff->new_side, gate, names, buffer + base.count, &found);
	result->outcome = FPERF_GATE_CANNOT_TELL;
	if (!found || !new_values.count || (gate->relative && !base.count)) {
		snprintf(result->text, sizeof(result->text),
			 gate->kind == FPERF_GATE_METRIC ? "not measured in these sessions"
							 : "no function of that name in any run");
	} else {
		failed = bound_find(gate, diff, &base, &new_values, &bound);
		if (!failed) {
			of_base = gate->relative ? gate->factor * fperf_values__mean(&base) : 0;
			rare_events_widen(gate, diff, &bound);
			result->limit = of_base + gate->limit;
			result->value = fperf_values__mean(&new_values);
			result->bound = bound + of_base;
			decide(gate, &new_values, result);
			if (isnan(bound))
				snprintf(result->text, sizeof(result->text),
					 "one run on a side says nothing of how much runs differ: record at "
					 "least 3 on each side");
		}
	}
	free(buffer);
	return failed;
}

static void default_judge(const struct fperf_diff *diff, struct fperf_gate_result *result)
{
	size_t used = 0;

	result->outcome = FPERF_GATE_HOLDS;
	for (size_t i = 0; i < diff->metric_count; i++) {
		const struct fperf_metric_info *info = fperf_metric__info(diff->metrics[i].metric);

		if (info->family != FPERF_FAMILY_PRIMARY ||
		    diff->metrics[i].change.result != FPERF_CHANGE_WORSE)
			continue;
		result->outcome = FPERF_GATE_FAILS;
		if (used < sizeof(result->text))
			used += (size_t)snprintf(result->text + used, sizeof(result->text) - used, "%s%s",
						 used ? ", " : "worse: ", info->name);
	}
}

int fperf_gate__judge(const struct fperf_gate *gate, const struct fperf_diff *diff,
		      const struct fperf_strtab *names, struct fperf_gate_result *result)
{
	*result = (struct fperf_gate_result){.value = NAN, .bound = NAN, .limit = NAN, .unit = unit_of(gate)};
	if (gate->kind == FPERF_GATE_DEFAULT) {
		default_judge(diff, result);
		return 0;
	}
	return figure_judge(gate, diff, names, result);
}
