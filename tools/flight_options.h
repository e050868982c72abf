/* The options of `frameperf record` that make it lie in wait. */
#ifndef FPERF_TOOLS_FLIGHT_OPTIONS_H
#define FPERF_TOOLS_FLIGHT_OPTIONS_H

#include "base/clock.h"
#include "base/error.h"
#include "capture/trigger_rule.h"

#include <stddef.h>
#include <stdint.h>

struct fperf_flight_config {
	uint64_t span_ns; /* --flight; 0: none, everything is written */
	size_t bytes;
	struct fperf_trigger_rule *rules;
	size_t rule_count, rule_capacity;
	uint64_t pre_ns, post_ns; /* pre_ns 0: as much as there is */
	uint64_t cooldown_ns;
	uint32_t limit; /* sessions; 0: no limit */
	uint32_t worst; /* --keep-worst; 0: none */
};

#define FPERF_FLIGHT_DEFAULTS                                                                                \
	{                                                                                                    \
		.bytes = (size_t)2 << 20, .post_ns = 2 * FPERF_NS_PER_S, .cooldown_ns = 30 * FPERF_NS_PER_S, \
		.limit = 20,                                                                                 \
	}

void fperf_flight_config__free(struct fperf_flight_config *config);

/* The arguments of the options; `err` as with all options. */
int fperf_flight_config__set_flight(struct fperf_flight_config *config, const char *argument,
				    struct fperf_error *err);
int fperf_flight_config__add_trigger(struct fperf_flight_config *config, const char *argument,
				     struct fperf_error *err);
int fperf_flight_config__set_pre(struct fperf_flight_config *config, const char *argument,
				 struct fperf_error *err);
int fperf_flight_config__set_post(struct fperf_flight_config *config, const char *argument,
				  struct fperf_error *err);
int fperf_flight_config__set_cooldown(struct fperf_flight_config *config, const char *argument,
				      struct fperf_error *err);
int fperf_flight_config__set_limit(struct fperf_flight_config *config, const char *argument,
				   struct fperf_error *err);

int fperf_flight_config__set_worst(struct fperf_flight_config *config, const char *argument,
				   struct fperf_error *err);

/* After all options. `scopes` are the names of the scopes that are recorded: a rule on another one could
 * never come true. */
int fperf_flight_config__check(const struct fperf_flight_config *config, const char *const *scopes,
			       size_t scope_count, struct fperf_error *err);

#endif
