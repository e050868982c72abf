/* Prints what a session holds of markers, names from perf maps and clocks, for tests that count them: lines
 * of words separated by tabs. */
#include "session/session.h"

#include <inttypes.h>
#include <stdio.h>

static void show_markers(const struct fperf_session *session)
{
	static const char *const kinds[] = {"frame", "mark", "begin", "end"};
	size_t count, mark_count;
	const struct fperf_rec_marker *markers = fperf_session__records(session, FPERF_RECORD_MARKER, &count);
	const struct fperf_rec_mark *marks = fperf_session__records(session, FPERF_RECORD_MARK, &mark_count);

	for (size_t i = 0; i < count; i++) {
		uint64_t hits = 0, sum = 0;

		if (fperf_session__marker(session, markers[i].id) != &markers[i])
			continue; /* an earlier record of the same marker */
		for (size_t m = 0; m < mark_count; m++)
			if (marks[m].marker == markers[i].id) {
				hits++;
				sum += marks[m].args[0] + 2 * marks[m].args[1] + 3 * marks[m].args[2];
			}
		printf("marker\t%s\t%s\t%s\t%" PRIu64 "\t%u\t%" PRIu64 "\t%s\n", kinds[markers[i].kind & 3],
		       fperf_session__string(session, markers[i].name, NULL),
		       fperf_session__string(session, markers[i].path, NULL), hits, markers[i].chosen, sum,
		       fperf_session__string(session, markers[i].note, NULL));
	}
}

int main(int argc, char **argv)
{
	struct fperf_session_damage damage;
	struct fperf_session *session;
	struct fperf_error err;
	size_t count;

	if (argc != 2 || fperf_session__load(argv[1], 0, &session, &damage, &err)) {
		printf("%s\n", argc == 2 ? err.text : "usage: show_marks FILE");
		return 1;
	}
	show_markers(session);
	const struct fperf_rec_jit_symbol *jit =
		fperf_session__records(session, FPERF_RECORD_JIT_SYMBOL, &count);
	for (size_t i = 0; i < count; i++)
		printf("jit\t%" PRIx64 "\t%" PRIx64 "\t%s\n", jit[i].address, jit[i].size,
		       fperf_session__string(session, jit[i].name, NULL));
	const struct fperf_rec_freq *freq = fperf_session__records(session, FPERF_RECORD_FREQ, &count);
	for (size_t i = 0; i < count; i++)
		printf("freq\t%u\t%u\t%u\t%u\t%u\t%u\n", freq[i].cpu, freq[i].kind, freq[i].polled,
		       freq[i].khz, freq[i].min_khz, freq[i].max_khz);
	fperf_session__free(session);
	return 0;
}
