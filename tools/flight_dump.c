#include "flight_dump.h"

#include "base/clock.h"
#include "frameperf/meta.h"
#include "host.h"
#include "output/paint.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOW_PRIORITY 10 /* nice */

/* The uninterrupted stretches that a session covers. */
struct stretches {
	struct fperf_writer *writer;
	uint64_t first_ns, last_ns;
	int result;
	struct fperf_error *err;
};

static void stretch_take(void *context, uint64_t from_ns, uint64_t to_ns)
{
	struct stretches *stretches = context;
	struct fperf_rec_gap gap = {.from_ns = stretches->last_ns, .to_ns = from_ns};

	if (!stretches->first_ns)
		stretches->first_ns = from_ns;
	else if (!stretches->result && gap.to_ns > gap.from_ns)
		stretches->result =
			fperf_writer__add(stretches->writer, FPERF_RECORD_GAP, &gap, stretches->err);
	stretches->last_ns = to_ns;
}

/* The recorder's cost, as far as it falls upon this session. Its CPU time is that of the process that was
 * copied. */
static int overhead_write(const struct fperf_dump *dump, struct fperf_writer *writer, uint64_t start_ns,
			  uint64_t cpu_ns, long max_rss_kb, struct fperf_error *err)
{
	double share = (double)(dump->end_ns - start_ns) / (double)(dump->end_ns - dump->begun_ns);
	int ret = fperf_writer__meta_u64(writer, FPERF_META_RECORDER_CPU_NS,
					 (uint64_t)((double)cpu_ns * (share < 1 ? share : 1)), err);

	return ret ? ret
		   : fperf_writer__meta_u64(writer, FPERF_META_RECORDER_MAX_RSS, (uint64_t)max_rss_kb * 1024,
					    err);
}

static int content_write(const struct fperf_dump *dump, struct fperf_writer *writer, uint64_t cpu_ns,
			 long max_rss_kb, struct fperf_error *err)
{
	struct stretches stretches = {.writer = writer, .err = err};
	int ret = fperf_host__write(writer, dump->config, err);

	ret = ret ? ret : fperf_ring__write(dump->ring, writer, dump->from_ns, dump->pinned_only, err);
	if (!ret && dump->extra)
		ret = dump->extra(dump->extra_context, writer, err);
	if (ret)
		return ret;
	/* What is kept of a long recording lies between gaps from its begin to its end. */
	if (dump->pinned_only)
		stretch_take(&stretches, dump->begun_ns, dump->begun_ns);
	fperf_ring__stretches(dump->ring, dump->from_ns, dump->pinned_only, stretch_take, &stretches);
	if (!stretches.first_ns)
		stretches.first_ns = stretches.last_ns = dump->end_ns;
	if (dump->pinned_only) /* up to the end, of which nothing but its state is known */
		stretch_take(&stretches, dump->end_ns, dump->end_ns);
	ret = stretches.result ? stretches.result
			       : fperf_capture__describe(dump->capture, writer, stretches.first_ns,
							 dump->end_reason, err);
	return ret ? ret : overhead_write(dump, writer, stretches.first_ns, cpu_ns, max_rss_kb, err);
}

static int dump_write(const struct fperf_dump *dump, const char *path, uint64_t cpu_ns, long max_rss_kb,
		      struct fperf_error *err)
{
	struct fperf_writer_options options = {
		.path = path,
		.owner_uid = dump->invoker.uid,
		.owner_gid = dump->invoker.gid,
		.first_string = dump->first_string,
	};
	struct fperf_error late;
	struct fperf_writer *writer;
	int ret = fperf_writer__open(&options, &writer, err);

	if (ret)
		return ret;
	ret = content_write(dump, writer, cpu_ns, max_rss_kb, err);
	/* Closed also after a failure: what is there is a whole session then. */
	if (fperf_writer__close(writer, &late) && !ret) {
		*err = late;
		ret = late.code;
	}
	return ret;
}

static int dump_child(const struct fperf_dump *dump, uint64_t cpu_ns, long max_rss_kb)
{
	char beside[PATH_MAX];
	struct fperf_error err;
	struct stat file = {0};
	int ret;

	/* Who ends the recorder wants this session to be written all the same. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	snprintf(beside, sizeof(beside), "%s.new", dump->path);
	ret = dump_write(dump, dump->replace ? beside : dump->path, cpu_ns, max_rss_kb, &err);
	if (!ret && dump->replace && rename(beside, dump->path))
		ret = fperf_error__set_errno(&err, -errno, "cannot put %s in its place", dump->path);
	if (ret) {
		if (dump->replace)
			unlink(beside);
		fperf_console__error(dump->console, "%s", err.text);
		return FPERF_EXIT_FAILED;
	}
	if (dump->quiet)
		return FPERF_EXIT_OK;
	stat(dump->path, &file);
	fperf_console__note(dump->console, "wrote %s: %s", dump->path,
			    fperf_words__bytes((uint64_t)file.st_size).text);
	return FPERF_EXIT_OK;
}

int fperf_dump__begin(const struct fperf_dump *dump, pid_t *child, struct fperf_error *err)
{
	uint64_t cpu_ns = fperf_clock__process_cpu_ns();
	struct rusage usage = {0};

	getrusage(RUSAGE_SELF, &usage);
	*child = fork();
	if (*child < 0) {
		*child = 0;
		return fperf_error__set_errno(err, -errno, "cannot start a process that writes it");
	}
	if (!*child) {
		setpriority(PRIO_PROCESS, 0, LOW_PRIORITY); /* it has time, the game has not */
		_exit(dump_child(dump, cpu_ns, usage.ru_maxrss));
	}
	return 0;
}
