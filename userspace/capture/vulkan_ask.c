#include "capture/vulkan_ask.h"

#include "base/clock.h"
#include "base/vec.h"
#include "elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELPER_TIMEOUT_NS (10 * FPERF_NS_PER_S)
#define HELPER_CPU_S	  10
#define HELPER_LIFE_S	  15
#define MAX_HELPERS	  2 /* at once; the others wait */

enum question_state { WAITING, RUNNING, ANSWERED, TAKEN };

/* One driver file. */
struct question {
	enum question_state state;
	pid_t pid; /* whose view `path` is in */
	bool in_use;
	struct fperf_file_id file;
	char *path;
	uint8_t build_id[FPERF_BUILD_ID_MAX];
	size_t build_id_size;
	pid_t helper;
	int output; /* of the helper; -1: none */
	uint64_t started_ns;
	char said[4608];
	size_t said_size;
	struct fperf_vulkan_answer answer;
};

struct fperf_vulkan_ask {
	uint64_t cpu_ns; /* of helpers that have ended */
	const char *program, *cache;
	const struct fperf_log *log;
	struct question *questions;
	size_t count, capacity;
};

int fperf_vulkan_ask__new(const char *program, const char *cache, const struct fperf_log *log,
			  struct fperf_vulkan_ask **out, struct fperf_error *err)
{
	struct fperf_vulkan_ask *ask = calloc(1, sizeof(*ask));

	if (!ask)
		return fperf_error__no_memory(err, "questions to Vulkan drivers");
	ask->program = program;
	ask->cache = cache;
	ask->log = log;
	*out = ask;
	return 0;
}

static uint64_t time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * FPERF_NS_PER_S + (uint64_t)time->tv_usec * FPERF_NS_PER_US;
}

static void helper_end(struct fperf_vulkan_ask *ask, struct question *question)
{
	struct rusage usage = {0};

	if (question->output >= 0)
		close(question->output);
	question->output = -1;
	if (question->helper <= 0)
		return;
	kill(question->helper, SIGKILL);
	while (wait4(question->helper, NULL, 0, &usage) < 0 && errno == EINTR)
		;
	question->helper = 0;
	ask->cpu_ns += time_ns(&usage.ru_utime) + time_ns(&usage.ru_stime);
}

uint64_t fperf_vulkan_ask__cpu_ns(const struct fperf_vulkan_ask *ask)
{
	return ask ? ask->cpu_ns : 0;
}

void fperf_vulkan_ask__free(struct fperf_vulkan_ask *ask)
{
	if (!ask)
		return;
	for (size_t i = 0; i < ask->count; i++) {
		helper_end(ask, &ask->questions[i]);
		free(ask->questions[i].path);
	}
	free(ask->questions);
	free(ask);
}

/* Identity of a file in the view of a process. */
static bool file_identify(pid_t pid, const char *path, struct fperf_file_id *file, uint8_t *build_id,
			  size_t *build_id_size)
{
	struct fperf_error err;
	struct fperf_elf *elf;
	int fd = fperf_view__open(pid, path, file, &err);

	if (fd < 0)
		return false;
	if (fperf_elf__open_fd(fd, path, &elf, &err)) {
		close(fd);
		return false;
	}
	*build_id_size = fperf_elf__build_id(elf, build_id);
	fperf_elf__close(elf);
	close(fd);
	return true;
}

/* True when the answer's file is what it was: the driver itself, or a library with the build ID of then. */
static bool answer_holds(const struct question *question)
{
	const struct fperf_vulkan_answer *answer = &question->answer;
	uint8_t build_id[FPERF_BUILD_ID_MAX];
	struct fperf_file_id file;
	size_t size;

	return file_identify(question->pid, answer->path, &file, build_id, &size) &&
	       size == answer->build_id_size && !memcmp(build_id, answer->build_id, size);
}

/* The place of the answer may be written down as another name of the driver than the one it has here. */
static bool cache_answers(const struct fperf_vulkan_ask *ask, struct question *question)
{
	struct fperf_vulkan_answer *answer = &question->answer;

	if (!fperf_vulkan_cache__get(ask->cache, question->build_id, question->build_id_size, answer))
		return false;
	if (!answer->found)
		return true;
	if (answer->build_id_size == question->build_id_size &&
	    !memcmp(answer->build_id, question->build_id, question->build_id_size))
		snprintf(answer->path, sizeof(answer->path), "%s", question->path);
	return answer_holds(question);
}

void fperf_vulkan_ask__driver(struct fperf_vulkan_ask *ask, pid_t pid, const char *path, bool in_use)
{
	struct question question = {.pid = pid, .in_use = in_use, .output = -1}, *place;

	if (!file_identify(pid, path, &question.file, question.build_id, &question.build_id_size))
		return;
	for (size_t i = 0; i < ask->count; i++) {
		struct question *other = &ask->questions[i];

		if (other->file.device != question.file.device || other->file.inode != question.file.inode)
			continue;
		other->in_use = other->in_use || in_use;
		return;
	}
	question.path = strdup(path);
	place = question.path ? fperf_vec__push(&ask->questions, &ask->count, &ask->capacity) : NULL;
	if (!place) {
		free(question.path);
		return;
	}
	if (cache_answers(ask, &question))
		question.state = ANSWERED;
	*place = question;
}

static void child_run(const char *program, const char *pid, const char *driver, int output)
{
	static char *const environment[] = {"PATH=/usr/bin:/bin", "HOME=/nonexistent",
					    "MESA_SHADER_CACHE_DISABLE=true", "MESA_LOG_FILE=/dev/null",
					    NULL};
	const struct rlimit cpu = {HELPER_CPU_S, HELPER_CPU_S}, core = {0, 0};
	char *const arguments[] = {(char *)(uintptr_t) "frameperf", (char *)(uintptr_t)FPERF_VULKAN_COMMAND,
				   (char *)(uintptr_t)pid, (char *)(uintptr_t)driver, NULL};
	sigset_t none;
	int null = open("/dev/null", O_RDWR);

	alarm(HELPER_LIFE_S); /* should nobody be left to end it */
	setsid();	      /* a Ctrl-C for the recording is not for the helper */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_CORE, &core);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0 ||
	    dup2(output, STDOUT_FILENO) < 0)
		_exit(126); /* after fork */
	execve(program, arguments, environment);
	_exit(127); /* after fork */
}

static void helper_start(struct fperf_vulkan_ask *ask, struct question *question)
{
	int pipes[2];
	char pid[16];

	question->state = ANSWERED;
	question->answer = (struct fperf_vulkan_answer){0};
	question->said_size = 0;
	if (!ask->program || pipe2(pipes, O_CLOEXEC))
		return;
	snprintf(pid, sizeof(pid), "%d", (int)question->pid);
	question->helper = fork();
	if (question->helper == 0)
		child_run(ask->program, pid, question->path, pipes[1]);
	close(pipes[1]);
	if (question->helper < 0) {
		close(pipes[0]);
		return;
	}
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	question->output = pipes[0];
	question->started_ns = fperf_clock__now_ns();
	question->state = RUNNING;
}

/* Reads what the helper has said; true at the end of it. */
static bool helper_read(struct question *question)
{
	for (;;) {
		size_t room = sizeof(question->said) - 1 - question->said_size;
		ssize_t got = room ? read(question->output, question->said + question->said_size, room) : 0;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno != EAGAIN;
		if (got == 0)
			return true;
		question->said_size += (size_t)got;
	}
}

/* "0xOFFSET PATH". Whoever puts a probe there checks that there is code. */
static bool answer_parse(struct question *question)
{
	struct fperf_vulkan_answer *answer = &question->answer;
	struct fperf_file_id file;
	char *end;

	question->said[question->said_size] = 0;
	if (strncmp(question->said, "0x", 2))
		return false;
	answer->file_offset = strtoull(question->said, &end, 16);
	if (end[0] != ' ' || end[1] != '/')
		return false;
	snprintf(answer->path, sizeof(answer->path), "%.*s", (int)strcspn(end + 1, "\n"), end + 1);
	answer->found =
		file_identify(question->pid, answer->path, &file, answer->build_id, &answer->build_id_size);
	return answer->found;
}

static void helper_finish(struct fperf_vulkan_ask *ask, struct question *question, const char *failure)
{
	bool absent;

	helper_end(ask, question);
	question->state = ANSWERED;
	if (!failure && answer_parse(question)) {
		fperf_vulkan_cache__put(ask->cache, question->build_id, question->build_id_size,
					&question->answer);
		return;
	}
	question->answer.found = false;
	question->said[question->said_size] = 0;
	question->said[strcspn(question->said, "\n")] = 0;
	absent = !failure && !strncmp(question->said, FPERF_VULKAN_ABSENT, strlen(FPERF_VULKAN_ABSENT));
	fperf_log__write(ask->log, question->in_use && !absent ? FPERF_LOG_NOTE : FPERF_LOG_DETAIL,
			 "%s: where this Vulkan driver presents is not known: %s", question->path,
			 failure	   ? failure
			 : *question->said ? question->said
					   : "the helper said nothing");
	if (absent)
		fperf_vulkan_cache__put(ask->cache, question->build_id, question->build_id_size,
					&question->answer);
}

static size_t helpers_running(const struct fperf_vulkan_ask *ask)
{
	size_t running = 0;

	for (size_t i = 0; i < ask->count; i++)
		running += ask->questions[i].state == RUNNING;
	return running;
}

/* Starts what waits, reads what runs. */
static void ask_advance(struct fperf_vulkan_ask *ask)
{
	size_t running = helpers_running(ask);

	for (size_t i = 0; i < ask->count; i++) {
		struct question *question = &ask->questions[i];

		if (question->state == RUNNING) {
			if (helper_read(question))
				helper_finish(ask, question, NULL);
			else if (fperf_clock__now_ns() - question->started_ns > HELPER_TIMEOUT_NS)
				helper_finish(ask, question, "the driver did not answer in time");
		} else if (question->state == WAITING && running < MAX_HELPERS) {
			helper_start(ask, question);
			running += question->state == RUNNING;
		}
	}
}

bool fperf_vulkan_ask__next(struct fperf_vulkan_ask *ask, pid_t *pid, struct fperf_vulkan_answer *answer)
{
	ask_advance(ask);
	for (size_t i = 0; i < ask->count; i++) {
		struct question *question = &ask->questions[i];

		if (question->state != ANSWERED)
			continue;
		question->state = TAKEN;
		if (!question->answer.found)
			continue;
		*pid = question->pid;
		*answer = question->answer;
		return true;
	}
	return false;
}

void fperf_vulkan_ask__wait(struct fperf_vulkan_ask *ask, int timeout_ms)
{
	uint64_t end_ns = fperf_clock__now_ns() + (uint64_t)timeout_ms * FPERF_NS_PER_MS;

	for (;;) {
		uint64_t now_ns = fperf_clock__now_ns();
		struct pollfd polled[MAX_HELPERS];
		nfds_t count = 0;

		ask_advance(ask);
		for (size_t i = 0; i < ask->count && count < MAX_HELPERS; i++)
			if (ask->questions[i].state == RUNNING)
				polled[count++] = (struct pollfd){ask->questions[i].output, POLLIN, 0};
		if (!count || now_ns >= end_ns)
			return;
		if (poll(polled, count, (int)((end_ns - now_ns) / FPERF_NS_PER_MS) + 1) < 0)
			return; /* a signal: the user wants something else */
	}
}
