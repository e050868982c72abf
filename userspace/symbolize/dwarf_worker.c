#include "symbolize/dwarf_worker.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/reader.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEP_SECONDS   20
#define WALL_STEPS     6  /* how many times as long it may take on a busy machine */
#define HANGS_MAX      4  /* the same for units at which it hangs */
#define DEATHS_MAX     16 /* each passes over one unit; then the file is given up */
#define UNITS_PER_CODE 4  /* units that claim the same address */
#define NO_UNIT	       UINT32_MAX
#define INDEX_ERROR    UINT32_MAX /* message that holds an error text instead of a result */
#define STRING_MAX     ((size_t)64 << 10)
#define MESSAGE_MAX    ((size_t)FPERF_DWARF_DEPTH * 2 * (STRING_MAX + 8))
#define FLUSH_SIZE     ((size_t)64 << 10)
#define MEMORY_MIN     ((uint64_t)1 << 30)
#define MEMORY_MAX     ((uint64_t)8 << 30)

/* What the worker tells while it works; shared memory, so it survives the worker's death. */
struct shared {
	volatile uint32_t unit; /* being looked into */
	volatile uint64_t progress;
};

struct run {
	const struct fperf_dwarf_job *job;
	struct fperf_error *err;
	struct shared *shared;
	uint8_t *done; /* per address: its result has arrived */
	uint32_t bad_units[DEATHS_MAX];
	size_t bad_count;
};

/* ---- in the worker ---- */

struct query {
	uint32_t unit;
	uint32_t index;
	uint64_t address;
};

static bool write_all(int fd, const uint8_t *data, size_t size)
{
	while (size) {
		ssize_t written = write(fd, data, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		data += written;
		size -= (size_t)written;
	}
	return true;
}

static void append_string(struct fperf_buf *out, const char *string)
{
	size_t size = strnlen(string, STRING_MAX - 1);

	fperf_buf__u32(out, (uint32_t)size);
	fperf_buf__append(out, string, size);
	fperf_buf__u8(out, 0);
}

static void append_result(struct fperf_buf *out, uint32_t index, const struct fperf_dwarf_entry *entries,
			  size_t count)
{
	size_t start = out->size, size;

	fperf_buf__u32(out, 0);
	fperf_buf__u32(out, index);
	fperf_buf__u32(out, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		fperf_buf__u32(out, entries[i].line);
		append_string(out, entries[i].function);
		append_string(out, entries[i].file);
	}
	size = out->size - start - 4;
	if (!out->failed)
		for (int i = 0; i < 4; i++)
			out->data[start + (size_t)i] = (uint8_t)(size >> (8 * i));
}

static int query_compare(const void *a, const void *b)
{
	const struct query *left = a, *right = b;

	if (left->unit != right->unit)
		return left->unit < right->unit ? -1 : 1;
	return left->address < right->address ? -1 : left->address > right->address;
}

static bool unit_is_bad(const struct run *run, uint32_t unit)
{
	for (size_t i = 0; i < run->bad_count; i++)
		if (run->bad_units[i] == unit)
			return true;
	return false;
}

/* What has not been answered yet, by the unit to ask first; NULL when out of memory. */
static struct query *queries_make(const struct run *run, const struct fperf_dwarf_reader *reader,
				  size_t *count)
{
	struct query *queries = malloc((run->job->count + 1) * sizeof(*queries));

	*count = 0;
	for (size_t i = 0; queries && i < run->job->count; i++) {
		uint64_t address = run->job->addresses[i];
		uint32_t units[UNITS_PER_CODE];
		size_t found;

		if (run->done[i])
			continue;
		found = fperf_dwarf_reader__units(reader, address, units, UNITS_PER_CODE);
		for (size_t u = 0; u < found; u++)
			if (!unit_is_bad(run, units[u])) {
				queries[(*count)++] = (struct query){units[u], (uint32_t)i, address};
				break;
			}
	}
	if (*count)
		qsort(queries, *count, sizeof(*queries), query_compare);
	return queries;
}

/* The first unit that knows a function there counts, else the first that knows a line. */
static size_t query_answer(const struct run *run, struct fperf_dwarf_reader *reader,
			   const struct query *query, struct fperf_dwarf_entry entries[FPERF_DWARF_DEPTH])
{
	size_t count = fperf_dwarf_reader__lookup(reader, query->unit, query->address, entries), found;
	uint32_t units[UNITS_PER_CODE];

	if (count && *entries[count - 1].function)
		return count;
	found = fperf_dwarf_reader__units(reader, query->address, units, UNITS_PER_CODE);
	for (size_t u = 0; u < found; u++) {
		struct fperf_dwarf_entry other[FPERF_DWARF_DEPTH];
		size_t other_count;

		if (units[u] == query->unit || unit_is_bad(run, units[u]))
			continue;
		run->shared->unit = units[u];
		other_count = fperf_dwarf_reader__lookup(reader, units[u], query->address, other);
		if (!other_count || (!*other[other_count - 1].function && count))
			continue;
		memcpy(entries, other, other_count * sizeof(*other));
		return other_count;
	}
	return count;
}

static void answer_all(const struct run *run, struct fperf_dwarf_reader *reader, int fd,
		       struct fperf_buf *out)
{
	struct fperf_dwarf_entry entries[FPERF_DWARF_DEPTH];
	size_t count;
	struct query *queries = queries_make(run, reader, &count);

	for (size_t i = 0; i < count; i++) {
		size_t depth;

		run->shared->unit = queries[i].unit;
		run->shared->progress++;
		depth = query_answer(run, reader, &queries[i], entries);
		append_result(out, queries[i].index, entries, depth);
		if (out->failed || (out->size >= FLUSH_SIZE && !write_all(fd, out->data, out->size)))
			break;
		if (out->size >= FLUSH_SIZE)
			fperf_buf__clear(out);
	}
	run->shared->unit = NO_UNIT;
	free(queries);
}

/* Executable memory as the file's program headers tell it; all memory when it has none. */
static struct fperf_dwarf_code *code_ranges(const struct fperf_elf *elf, size_t *count)
{
	size_t segment_count;
	const struct fperf_elf_segment *segments = fperf_elf__segments(elf, &segment_count);
	struct fperf_dwarf_code *code = calloc(segment_count + 1, sizeof(*code));

	*count = 0;
	for (size_t i = 0; code && i < segment_count; i++)
		if (segments[i].flags & PF_X)
			code[(*count)++] = (struct fperf_dwarf_code){
				segments[i].address, segments[i].address + segments[i].memory_size};
	if (code && !*count)
		code[(*count)++] = (struct fperf_dwarf_code){0, UINT64_MAX};
	return code;
}

/* A worker that goes wrong must not take the machine with it, nor leave a core file, nor outlive its parent,
 * nor print what libraries print when they abort. */
static void worker_confine(pid_t parent)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPIPE, SIGINT, SIGTERM};
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
	unsigned long long used_pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	struct rlimit limit;
	int null;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1); /* after fork */
	prctl(PR_SET_DUMPABLE, 0);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		signal(faults[i], SIG_DFL);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	if (memory < MEMORY_MIN)
		memory = MEMORY_MIN;
	if (memory > MEMORY_MAX)
		memory = MEMORY_MAX;
	if (file && fscanf(file, "%llu", &used_pages) == 1) {
		memory += used_pages * (uint64_t)sysconf(_SC_PAGESIZE);
		limit = (struct rlimit){memory, memory};
		setrlimit(RLIMIT_AS, &limit);
	}
	if (file)
		fclose(file);
}

static void worker_main(const struct run *run, int fd, pid_t parent)
{
	struct fperf_dwarf_reader *reader = NULL;
	struct fperf_error err = {0};
	struct fperf_dwarf_code *code;
	struct fperf_buf out;
	size_t size, code_count;
	const uint8_t *image;
	bool written;

	worker_confine(parent);
	fperf_buf__init(&out, 2 * MESSAGE_MAX);
	code = code_ranges(run->job->elf, &code_count);
	image = fperf_elf__data(run->job->elf, &size);
	if (!code || !image)
		fperf_error__set(&err, -EIO, "the file cannot be read into memory");
	else if (!fperf_dwarf_reader__open(image, size, code, code_count, &reader, &err))
		answer_all(run, reader, fd, &out);
	if (err.code) {
		size_t length = strlen(err.text) + 1;

		fperf_buf__u32(&out, (uint32_t)(4 + 4 + length));
		fperf_buf__u32(&out, INDEX_ERROR);
		fperf_buf__u32(&out, (uint32_t)-err.code);
		fperf_buf__append(&out, err.text, length);
	}
	written = !out.failed && write_all(fd, out.data, out.size);
	_exit(written ? 0 : 1); /* after fork */
}

/* ---- in the parent ---- */

static const char *message_string(struct fperf_reader *message)
{
	uint32_t size = fperf_reader__u32(message);
	const uint8_t *bytes = fperf_reader__bytes(message, (size_t)size + 1);

	if (!bytes || bytes[size]) {
		message->failed = true;
		return "";
	}
	return (const char *)bytes;
}

static void message_take(struct run *run, struct fperf_reader *message)
{
	struct fperf_dwarf_entry entries[FPERF_DWARF_DEPTH];
	uint32_t index = fperf_reader__u32(message), count = fperf_reader__u32(message);

	if (index == INDEX_ERROR) {
		const char *text = (const char *)message->pos;
		size_t size = fperf_reader__left(message);

		if (size && !text[size - 1])
			fperf_error__set(run->err, -(int)count, "%s", text);
		return;
	}
	if (index >= run->job->count || count > FPERF_DWARF_DEPTH)
		return;
	for (uint32_t i = 0; i < count; i++) {
		entries[i].line = fperf_reader__u32(message);
		entries[i].function = message_string(message);
		entries[i].file = message_string(message);
	}
	if (message->failed || run->done[index])
		return;
	run->done[index] = 1;
	if (count)
		run->job->found(run->job->context, index, entries, count);
}

/* Takes the whole messages at the front of the buffer and keeps the rest. False when it is no message. */
static bool messages_take(struct run *run, struct fperf_buf *in)
{
	size_t at = 0;

	while (in->size - at >= 4) {
		struct fperf_reader reader, message;
		uint32_t size;

		fperf_reader__init(&reader, in->data + at, in->size - at);
		size = fperf_reader__u32(&reader);
		if (size < 8 || size > MESSAGE_MAX)
			return false;
		if (size > fperf_reader__left(&reader))
			break;
		message = fperf_reader__sub(&reader, size);
		message_take(run, &message);
		at += 4 + (size_t)size;
	}
	memmove(in->data, in->data + at, in->size - at);
	in->size -= at;
	return true;
}

/* When the worker last made progress. */
struct watch {
	clockid_t clock; /* CPU time of the worker: on a busy machine it may get little of it */
	bool has_clock;
	uint64_t progress, cpu_ns, wall_ns;
};

static uint64_t watch_cpu(const struct watch *watch)
{
	struct timespec now = {0};

	if (watch->has_clock)
		clock_gettime(watch->clock, &now);
	return (uint64_t)now.tv_sec * FPERF_NS_PER_S + (uint64_t)now.tv_nsec;
}

static bool watch_hangs(struct watch *watch, const struct run *run)
{
	uint64_t step = (run->job->step_seconds ? run->job->step_seconds : STEP_SECONDS) * FPERF_NS_PER_S;

	if (run->shared->progress != watch->progress || !watch->wall_ns) {
		watch->progress = run->shared->progress;
		watch->cpu_ns = watch_cpu(watch);
		watch->wall_ns = fperf_clock__now_ns();
		return false;
	}
	return watch_cpu(watch) - watch->cpu_ns > step ||
	       fperf_clock__now_ns() - watch->wall_ns > WALL_STEPS * step;
}

enum outcome { ENDED, DIED, HUNG };

/* Reads results until the worker closes its end, or makes no progress. */
static enum outcome results_read(struct run *run, int fd, pid_t child)
{
	struct watch watch = {0};
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	struct fperf_buf in;
	enum outcome outcome = DIED;

	watch.has_clock = !clock_getcpuclockid(child, &watch.clock);
	fperf_buf__init(&in, 4 * MESSAGE_MAX);
	for (;;) {
		int ready = poll(&poll_fd, 1, 200);
		uint8_t *room;
		ssize_t got;

		if (ready < 0 && errno != EINTR)
			break;
		if (watch_hangs(&watch, run)) {
			outcome = HUNG;
			break;
		}
		if (ready <= 0)
			continue;
		room = fperf_buf__reserve(&in, FLUSH_SIZE);
		got = room ? read(fd, room, FLUSH_SIZE) : 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0 && room)
			outcome = ENDED;
		if (got <= 0)
			break;
		in.size += (size_t)got;
		if (!messages_take(run, &in))
			break;
	}
	fperf_buf__free(&in);
	return outcome;
}

/* One worker from start to end. Returns an outcome or a negative error. */
static int worker_run(struct run *run)
{
	int fds[2], status = 0;
	pid_t parent = getpid(), child;
	enum outcome outcome;

	run->shared->unit = NO_UNIT;
	if (pipe2(fds, O_CLOEXEC))
		return fperf_error__set_errno(run->err, -errno, "debug information: pipe");
	child = fork();
	if (child < 0) {
		int result = fperf_error__set_errno(run->err, -errno, "debug information: fork");

		close(fds[0]);
		close(fds[1]);
		return result;
	}
	if (!child) {
		close(fds[0]);
		worker_main(run, fds[1], parent);
	}
	close(fds[1]);
	outcome = results_read(run, fds[0], child);
	close(fds[0]);
	if (outcome != ENDED)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (outcome == ENDED && !(WIFEXITED(status) && !WEXITSTATUS(status)))
		outcome = DIED;
	return outcome;
}

static int runs_all(struct run *run)
{
	int hung = 0;

	for (;;) {
		int result = worker_run(run);

		if (result < 0 || result == ENDED)
			return result < 0 ? result : run->err->code;
		hung += result == HUNG;
		if (run->shared->unit == NO_UNIT)
			return fperf_error__set(run->err, -EIO,
						"damaged debug information: its index cannot be read");
		if (run->bad_count == DEATHS_MAX || hung == HANGS_MAX)
			return fperf_error__set(
				run->err, -EIO,
				"damaged debug information: too many compile units cannot be read");
		run->bad_units[run->bad_count++] = run->shared->unit;
	}
}

int fperf_dwarf_worker__run(const struct fperf_dwarf_job *job, struct fperf_error *err)
{
	struct run run = {.job = job, .err = err};
	int result;

	if (job->count >= INDEX_ERROR)
		return fperf_error__set(err, -E2BIG, "debug information: %zu addresses", job->count);
	run.done = calloc(job->count + 1, 1);
	run.shared =
		mmap(NULL, sizeof(*run.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!run.done || run.shared == MAP_FAILED) {
		free(run.done);
		if (run.shared != MAP_FAILED)
			munmap(run.shared, sizeof(*run.shared));
		return fperf_error__no_memory(err, "debug information");
	}
	result = runs_all(&run);
	if (!result && run.bad_count)
		result = fperf_error__set(
			err, -EIO, "damaged debug information: %zu compile units passed over", run.bad_count);
	munmap(run.shared, sizeof(*run.shared));
	free(run.done);
	return result;
}
