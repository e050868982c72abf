#include "analyze/metric.h"

#include <string.h>

#define MS 1e6

static const struct fperf_metric_info infos[FPERF_METRICS] = {
	[FPERF_METRIC_MEAN] = {"mean", "mean", FPERF_UNIT_NS, FPERF_FAMILY_PRIMARY, false, 0},
	[FPERF_METRIC_P50] = {"p50", "median", FPERF_UNIT_NS, FPERF_FAMILY_PRIMARY, false, 0},
	[FPERF_METRIC_P90] = {"p90", "90 %", FPERF_UNIT_NS, FPERF_FAMILY_SECONDARY, false, 0},
	[FPERF_METRIC_P95] = {"p95", "95 %", FPERF_UNIT_NS, FPERF_FAMILY_PRIMARY, false, 0},
	[FPERF_METRIC_P99] = {"p99", "99 %", FPERF_UNIT_NS, FPERF_FAMILY_PRIMARY, false, 0},
	[FPERF_METRIC_MAX] = {"max", "worst", FPERF_UNIT_NS, FPERF_FAMILY_SECONDARY, false, 0},
	[FPERF_METRIC_LOW_1PCT] = {"low_1pct", "1 % low", FPERF_UNIT_FPS, FPERF_FAMILY_SECONDARY, true, 0},
	[FPERF_METRIC_LOW_01PCT] = {"low_01pct", "0.1 % low", FPERF_UNIT_FPS, FPERF_FAMILY_SECONDARY, true,
				    0},
	[FPERF_METRIC_FPS] = {"fps", "frame rate", FPERF_UNIT_FPS, FPERF_FAMILY_SECONDARY, true, 0},
	[FPERF_METRIC_HITCHES] = {"hitches", "hitches", FPERF_UNIT_PER_MIN, FPERF_FAMILY_PRIMARY, false, 0.2},
	[FPERF_METRIC_JANK] = {"jank", "jank", FPERF_UNIT_PER_MIN, FPERF_FAMILY_SECONDARY, false, 0.2},
	[FPERF_METRIC_ACTIVE] = {"active", "active time", FPERF_UNIT_NS, FPERF_FAMILY_SECONDARY, false, 0},
	[FPERF_METRIC_CPU] = {"cpu", "CPU time", FPERF_UNIT_NS, FPERF_FAMILY_PRIMARY, false, 0},
	[FPERF_METRIC_RUN_QUEUE] = {"run_queue", "wait for a core, mean", FPERF_UNIT_NS,
				    FPERF_FAMILY_SECONDARY, false, 2000},
	[FPERF_METRIC_RUN_QUEUE_P99] = {"run_queue_p99", "wait for a core, 99 %", FPERF_UNIT_NS,
					FPERF_FAMILY_SECONDARY, false, 20000},
	[FPERF_METRIC_FREQUENCY] = {"frequency", "clock", FPERF_UNIT_KHZ, FPERF_FAMILY_SECONDARY, true, 0},
#define LOST(cause, name)                                                                                    \
	[FPERF_METRIC_LOST + (cause)] = {"lost_" name,	      "lost: " name, FPERF_UNIT_NS_PER_MIN,          \
					 FPERF_FAMILY_CAUSES, false,	     10 * MS}
	LOST(FPERF_CAUSE_CPU, "cpu"),
	LOST(FPERF_CAUSE_LOCK, "lock"),
	LOST(FPERF_CAUSE_IO, "io"),
	LOST(FPERF_CAUSE_FAULT, "fault"),
	LOST(FPERF_CAUSE_GPU, "gpu"),
	LOST(FPERF_CAUSE_SLEEP, "sleep"),
	LOST(FPERF_CAUSE_EVENT, "event"),
	LOST(FPERF_CAUSE_RUN_QUEUE, "run_queue"),
	LOST(FPERF_CAUSE_PREEMPTED, "preempted"),
	LOST(FPERF_CAUSE_FREQUENCY, "frequency"),
	LOST(FPERF_CAUSE_UNKNOWN, "unknown"),
#undef LOST
};

static const struct {
	const char *name;
	enum fperf_metric metric;
} other_names[] = {
	{"worst", FPERF_METRIC_MAX},
	{"median", FPERF_METRIC_P50},
	{"avg", FPERF_METRIC_MEAN},
	{"fps_mean", FPERF_METRIC_FPS},
	{"hitches_per_min", FPERF_METRIC_HITCHES},
	{"low_1pct_fps", FPERF_METRIC_LOW_1PCT},
	{"low_01pct_fps", FPERF_METRIC_LOW_01PCT},
};

const struct fperf_metric_info *fperf_metric__info(enum fperf_metric metric)
{
	return &infos[metric];
}

static bool equal(const char *name, const char *text, size_t size)
{
	return strlen(name) == size && !memcmp(name, text, size);
}

bool fperf_metric__find(const char *name, size_t size, enum fperf_metric *metric)
{
	for (int i = 0; i < FPERF_METRICS; i++)
		if (equal(infos[i].name, name, size)) {
			*metric = (enum fperf_metric)i;
			return true;
		}
	for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++)
		if (equal(other_names[i].name, name, size)) {
			*metric = other_names[i].metric;
			return true;
		}
	return false;
}

const char *fperf_unit__name(enum fperf_unit unit)
{
	static const char *const names[FPERF_UNITS] = {"ns", "fps", "per_min", "ns_per_min", "khz"};

	return names[unit];
}

const char *fperf_family__name(enum fperf_family family)
{
	static const char *const names[FPERF_FAMILIES] = {"primary", "secondary", "causes", "functions",
							  "threads"};

	return names[family];
}
