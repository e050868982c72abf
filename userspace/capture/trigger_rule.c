#include "capture/trigger_rule.h"

#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Longer than any game is watched for; keeps sums of times far from overflow. */
#define LONGEST_NS (3600 * FPERF_NS_PER_S)
#define MOST_COUNT 60 /* see HITCHES of trigger.c */

static int parse_time(const char *text, const char *whole, uint64_t *ns, struct fperf_error *err)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double value = text[0] >= '0' && text[0] <= '9' ? strtod(text, &end) : -1;

	for (size_t i = 0; value > 0 && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name))
			continue;
		value *= units[i].ns;
		if (!isfinite(value) || value < 1 || value > (double)LONGEST_NS)
			return fperf_error__set(err, -EINVAL, "'%s': %s is not between 1 ns and an hour",
						whole, text);
		*ns = (uint64_t)llround(value);
		return 0;
	}
	return fperf_error__set(
		err, -EINVAL, "'%s': '%s' is no time: a number with its unit is wanted, such as 33ms or 0.5s",
		whole, text);
}

static int take_time(const char *value, struct fperf_trigger_rule *rule, struct fperf_error *err)
{
	return parse_time(value, rule->text, &rule->limit, err);
}

static int take_rate(const char *value, struct fperf_trigger_rule *rule, struct fperf_error *err)
{
	char *end;
	long count = value[0] >= '0' && value[0] <= '9' ? strtol(value, &end, 10) : -1;

	if (count < 0 || *end != '/')
		return fperf_error__set(
			err, -EINVAL, "'%s': a number of hitches in a time is wanted, such as hitches>3/10s",
			rule->text);
	if (count > MOST_COUNT)
		return fperf_error__set(err, -EINVAL, "'%s': at most %d hitches can be counted", rule->text,
					MOST_COUNT);
	rule->limit = (uint64_t)count;
	return parse_time(end + 1, rule->text, &rule->window_ns, err);
}

static const struct kind {
	const char *name;
	const char *form; /* NULL: not a rule */
	bool named;	  /* its name is followed by ":NAME" */
	int (*take)(const char *value, struct fperf_trigger_rule *rule, struct fperf_error *err);
} kinds[FPERF_TRIGGER_KINDS] = {
	[FPERF_TRIGGER_FRAME] = {"frame", "frame>33ms", false, take_time},
	[FPERF_TRIGGER_STALL] = {"stall", "stall>250ms", false, take_time},
	[FPERF_TRIGGER_HITCHES] = {"hitches", "hitches>3/10s", false, take_rate},
	[FPERF_TRIGGER_MARK] = {"mark", "mark:NAME>5ms", true, take_time},
	[FPERF_TRIGGER_RUN_QUEUE] = {"run-queue", "run-queue>10ms", false, take_time},
	[FPERF_TRIGGER_SIGNAL] = {"signal", NULL, false, NULL},
	[FPERF_TRIGGER_COMMAND] = {"command", NULL, false, NULL},
	[FPERF_TRIGGER_WORST] = {"worst", NULL, false, NULL},
};

const char *fperf_trigger_kind__name(uint8_t kind)
{
	return kind < FPERF_TRIGGER_KINDS && kinds[kind].name ? kinds[kind].name : "unknown";
}

static int name_take(const char *from, size_t size, struct fperf_trigger_rule *rule, struct fperf_error *err)
{
	if (!size || size >= sizeof(rule->scope))
		return fperf_error__set(err, -EINVAL,
					"'%s': the name of a scope is wanted behind the colon, as in "
					"mark:physics>5ms",
					rule->text);
	memcpy(rule->scope, from, size);
	rule->scope[size] = '\0';
	return 0;
}

int fperf_trigger_rule__parse(const char *text, struct fperf_trigger_rule *rule, struct fperf_error *err)
{
	const char *sign = strrchr(text, '>'); /* names may hold it */
	size_t left = sign ? (size_t)(sign - text) : strlen(text);

	*rule = (struct fperf_trigger_rule){0};
	if (strlen(text) >= sizeof(rule->text))
		return fperf_error__set(err, -EINVAL, "a trigger of %zu characters is too long",
					strlen(text));
	strcpy(rule->text, text);
	for (uint8_t kind = 0; kind < FPERF_TRIGGER_KINDS; kind++) {
		const struct kind *row = &kinds[kind];
		size_t size = row->form ? strlen(row->name) : 0;

		if (!row->form || left < size || strncmp(text, row->name, size) ||
		    (row->named ? text[size] != ':' : left != size))
			continue;
		if (!sign)
			return fperf_error__set(err, -EINVAL, "'%s' has no limit: write it like %s", text,
						row->form);
		rule->kind = kind;
		if (row->named && name_take(text + size + 1, left - size - 1, rule, err))
			return err->code;
		return row->take(sign + 1, rule, err);
	}
	return fperf_error__set(err, -EINVAL,
				"'%s' is no trigger: there are frame>33ms, stall>250ms, hitches>3/10s, "
				"mark:NAME>5ms and run-queue>10ms",
				text);
}
