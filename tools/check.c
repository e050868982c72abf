/* frameperf check */
#include "load.h"
#include "options.h"
#include "reduce.h"

#include "analyze/results.h"
#include "frameperf/records.h"
#include "output/output.h"
#include "output/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct check_config {
	bool repair;
	bool reduce;
	uint32_t level;
};

static int set_repair(void *config, const char *argument, struct fperf_error *err)
{
	(void)argument;
	(void)err;
	((struct check_config *)config)->repair = true;
	return 0;
}

static int set_level(void *config, const char *argument, struct fperf_error *err)
{
	struct check_config *check = config;

	check->reduce = true;
	return fperf_value__u32(argument, FPERF_LEVEL_SUMMARY, FPERF_LEVEL_TIMELINE, &check->level, err);
}

static uint64_t record_count(const struct fperf_session *session)
{
	uint64_t sum = 0;
	size_t count;

	for (unsigned int type = 1; type < FPERF_RECORD_TYPES; type++) {
		count = 0;
		fperf_session__records(session, type, &count);
		sum += count;
	}
	return sum;
}

/* The file's name may hold any bytes. */
static void print_name(const char *path)
{
	struct fperf_buf name;

	fperf_buf__init(&name, 4 * strlen(path) + 16);
	fperf_utf8__visible(&name, path, strlen(path));
	printf("%.*s: ", (int)name.size, name.size ? (const char *)name.data : "");
	fperf_buf__free(&name);
}

static void print_damage(const char *path, const struct fperf_session_damage *damage, uint64_t readable)
{
	print_name(path);
	printf("damaged\n");
	if (damage->first[0])
		printf("  first damage:     %s\n", damage->first);
	if (damage->chunks_bad)
		printf("  damaged chunks:   %" PRIu32 "\n", damage->chunks_bad);
	if (damage->bytes_skipped)
		printf("  bytes skipped:    %" PRIu64 "\n", damage->bytes_skipped);
	if (damage->records_dropped)
		printf("  records lost:     %" PRIu64 "\n", damage->records_dropped);
	for (uint32_t type = 1; type < FPERF_RECORD_TYPES; type++)
		if (damage->lost[type])
			printf("    %-16s%" PRIu64 "\n", fperf_session__type_name(type), damage->lost[type]);
	if (damage->tail_cut)
		printf("  the file ends inside a chunk\n");
	if (damage->no_end)
		printf("  the recording was not closed: the recorder was killed, or the file was cut\n");
	printf("  records readable: %" PRIu64 "\n", readable);
}

/* "game.fperf" becomes "game.repaired.fperf". */
static void copy_path(const char *path, const char *what, char *text, size_t size)
{
	size_t length = strlen(path), suffix = strlen(".fperf");

	if (length > suffix && !strcmp(path + length - suffix, ".fperf"))
		length -= suffix;
	snprintf(text, size, "%.*s.%s.fperf", (int)length, path, what);
}

static int repair(const struct fperf_session *session, const char *path, struct fperf_error *err)
{
	char copy[PATH_MAX];
	int ret;

	copy_path(path, "repaired", copy, sizeof(copy));
	ret = fperf_session__save(session, copy, err);
	if (ret)
		return fperf_error__wrap(err, "cannot write a repaired copy");
	printf("  repaired copy:    %s\n", copy);
	return 0;
}

static int reduce(const struct fperf_invocation *invocation, const struct fperf_session *session,
		  struct fperf_error *err)
{
	const struct check_config *config = invocation->config;
	const struct fperf_log log = fperf_console__log(invocation->console);
	const char *path = invocation->operands[0];
	char copy[PATH_MAX], what[16];
	int ret;

	if (fperf_results__level(session) < FPERF_LEVEL_EVENTS)
		return fperf_error__set(err, -EINVAL, "%s has level %" PRIu32 ": only level 2 can be reduced",
					path, fperf_results__level(session));
	snprintf(what, sizeof(what), "level%" PRIu32, config->level);
	copy_path(path, what, copy, sizeof(copy));
	ret = fperf_reduce__session(session, copy, config->level, &log, err);
	if (ret)
		return fperf_error__wrap(err, "cannot write a copy of level %" PRIu32, config->level);
	printf("  copy of level %" PRIu32 ":  %s\n", config->level, copy);
	return 0;
}

static int copies_write(const struct fperf_invocation *invocation, const struct fperf_session *session,
			struct fperf_error *err)
{
	const struct check_config *config = invocation->config;

	if (config->repair && repair(session, invocation->operands[0], err) < 0)
		return err->code;
	return config->reduce ? reduce(invocation, session, err) : 0;
}

static int check_run(const struct fperf_invocation *invocation)
{
	const char *path = invocation->operands[0];
	struct fperf_session_damage damage = {0};
	struct fperf_session *session = NULL;
	struct fperf_error err = {0};

	if (fperf_session__load(path, 0, &session, &damage, &err) < 0) {
		fperf_console__error(invocation->console, "%s", err.text);
		return FPERF_EXIT_FAILED;
	}
	if (fperf_report__damaged(&damage)) {
		print_damage(path, &damage, record_count(session));
	} else {
		print_name(path);
		printf("whole, %" PRIu64 " records\n", record_count(session));
	}
	if (damage.chunks_unknown)
		printf("  chunks of kinds that only a newer version knows: %" PRIu32 "\n",
		       damage.chunks_unknown);
	if (copies_write(invocation, session, &err) < 0) {
		fperf_console__error(invocation->console, "%s", err.text);
		fperf_session__free(session);
		return FPERF_EXIT_FAILED;
	}
	fperf_session__free(session);
	return fperf_load__status(&damage);
}

static const struct fperf_option options[] = {
	{.name = "repair",
	 .help = "write what is readable to a new file, which is whole: FILE.repaired.fperf",
	 .set = set_repair},
	{.name = "level",
	 .value = "0|1",
	 .help = "also write what this level of detail keeps of the session: FILE.level1.fperf. Names of "
		 "functions are looked up now.",
	 .set = set_level},
};

const struct fperf_command fperf_command_check = {
	.name = "check",
	.summary = "verify a session file",
	.operands = "FILE",
	.description =
		"Reads the whole session file, verifies the checksum of every chunk, and says "
		"exactly what is damaged and what is missing. Exit status 0: the file is whole; 4: it is "
		"damaged, and the other commands still use what is readable; 1: it is no session file or "
		"cannot be opened.",
	.examples = "frameperf check game.fperf\n"
		    "frameperf check --repair game.fperf",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.operands_min = 1,
	.operands_max = 1,
	.defaults = &(const struct check_config){0},
	.config_size = sizeof(struct check_config),
	.run = check_run,
};
