#include "flight_options.h"

#include "base/vec.h"
#include "options.h"
#include "session/ring.h"
#include "worst.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SPAN_NS (30 * FPERF_NS_PER_S)
#define DEFAULT_BYTES	((size_t)2 << 20)
#define MOST_BYTES	((size_t)1 << 30)
#define MOST_RULES	32
#define MOST_SESSIONS	1000000
#define MOST_WORST	1000

void fperf_flight_config__free(struct fperf_flight_config *config)
{
	free(config->rules);
	config->rules = NULL;
}

static int take_bytes(const char *text, size_t *bytes, struct fperf_error *err)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} units[] = {{"", 1}, {"K", 1u << 10}, {"k", 1u << 10}, {"M", 1u << 20}, {"G", 1u << 30}};
	uint64_t value = 0;
	char *end = NULL;

	errno = 0;
	if (text[0] >= '0' && text[0] <= '9')
		value = strtoull(text, &end, 10);
	for (size_t i = 0; end && !errno && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name))
			continue;
		if (value > MOST_BYTES / units[i].bytes || value * units[i].bytes < FPERF_RING_MIN_BYTES)
			break;
		*bytes = (size_t)(value * units[i].bytes);
		return 0;
	}
	return fperf_error__set(err, -EINVAL, "'%s' is no size between 256K and 1G, such as 4M", text);
}

int fperf_flight_config__set_flight(struct fperf_flight_config *config, const char *argument,
				    struct fperf_error *err)
{
	const char *comma = strchr(argument, ',');
	char seconds[32];

	config->bytes = DEFAULT_BYTES;
	if (comma && take_bytes(comma + 1, &config->bytes, err))
		return err->code;
	snprintf(seconds, sizeof(seconds), "%.*s", (int)(comma ? comma - argument : (long)strlen(argument)),
		 argument);
	return fperf_value__seconds(seconds, &config->span_ns, err);
}

int fperf_flight_config__add_trigger(struct fperf_flight_config *config, const char *argument,
				     struct fperf_error *err)
{
	struct fperf_trigger_rule rule, *place;
	int ret = fperf_trigger_rule__parse(argument, &rule, err);

	if (ret)
		return ret;
	if (config->rule_count >= MOST_RULES)
		return fperf_error__set(err, -EINVAL, "more than %d triggers are too many", MOST_RULES);
	place = fperf_vec__push(&config->rules, &config->rule_count, &config->rule_capacity);
	if (!place)
		return fperf_error__no_memory(err, "the triggers");
	*place = rule;
	if (!config->span_ns)
		config->span_ns = DEFAULT_SPAN_NS;
	return 0;
}

int fperf_flight_config__set_pre(struct fperf_flight_config *config, const char *argument,
				 struct fperf_error *err)
{
	return fperf_value__seconds(argument, &config->pre_ns, err);
}

static int seconds_or_none(const char *argument, uint64_t *ns, struct fperf_error *err)
{
	*ns = 0;
	return strcmp(argument, "0") ? fperf_value__seconds(argument, ns, err) : 0;
}

int fperf_flight_config__set_post(struct fperf_flight_config *config, const char *argument,
				  struct fperf_error *err)
{
	return seconds_or_none(argument, &config->post_ns, err);
}

int fperf_flight_config__set_cooldown(struct fperf_flight_config *config, const char *argument,
				      struct fperf_error *err)
{
	return seconds_or_none(argument, &config->cooldown_ns, err);
}

int fperf_flight_config__set_limit(struct fperf_flight_config *config, const char *argument,
				   struct fperf_error *err)
{
	return fperf_value__u32(argument, 1, MOST_SESSIONS, &config->limit, err);
}

int fperf_flight_config__set_worst(struct fperf_flight_config *config, const char *argument,
				   struct fperf_error *err)
{
	return fperf_value__u32(argument, 1, MOST_WORST, &config->worst, err);
}

int fperf_flight_config__check(const struct fperf_flight_config *config, const char *const *scopes,
			       size_t scope_count, struct fperf_error *err)
{
	for (size_t i = 0; i < config->rule_count; i++) {
		const struct fperf_trigger_rule *rule = &config->rules[i];
		bool known = rule->kind != FPERF_TRIGGER_MARK;

		for (size_t at = 0; !known && at < scope_count; at++)
			known = !strcmp(rule->scope, scopes[at]);
		if (!known)
			return fperf_error__set(err, -EINVAL,
						"--trigger '%s': there is no scope of that name: add --scope "
						"PATH:BEGIN,PATH:END=%s",
						rule->text, rule->scope);
	}
	if (config->worst && config->span_ns)
		return fperf_error__set(
			err, -EINVAL,
			"--keep-worst and --flight or --trigger are two things: one session with "
			"the worst frames of all, or one for each trigger");
	if (config->pre_ns && config->pre_ns > (config->worst ? FPERF_WORST_SPAN_NS : config->span_ns))
		return fperf_error__set(err, -EINVAL, "--pre of %.1f s is more than is kept, which is %.1f s",
					(double)config->pre_ns / 1e9,
					(double)(config->worst ? FPERF_WORST_SPAN_NS : config->span_ns) /
						1e9);
	return 0;
}
