/* frameperf check */
#include "load.h"
#include "options.h"

#include "frameperf/records.h"
#include "output/output.h"
#include "output/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct check_config {
	char unused;
};

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
	fperf_session__free(session);
	return fperf_load__status(&damage);
}

const struct fperf_command fperf_command_check = {
	.name = "check",
	.summary = "verify a session file",
	.operands = "FILE",
	.description = "Reads the whole session file, verifies the checksum of every chunk and what records "
		       "refer to, and says "
		       "exactly what is damaged. Exit status 0: the file is whole; 4: it is damaged, and the "
		       "other commands "
		       "still use what is readable; 1: it is no session file or cannot be opened.",
	.examples = "frameperf check game.fperf",
	.operands_min = 1,
	.operands_max = 1,
	.defaults = &(const struct check_config){0},
	.config_size = sizeof(struct check_config),
	.run = check_run,
};
