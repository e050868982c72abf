#include "arm_watch.h"

#include "arm_config.h"
#include "arm_find.h"
#include "arm_recording.h"
#include "arm_state.h"
#include "base/clock.h"
#include "base/vec.h"
#include "capture/arrivals.h"
#include "frameperf/wire.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS                                                                                              \
	60000	       /* where the kernel tells of arrivals: for programs run by another name, and midnight \
			*/
#define SEARCH_MS 2000 /* where it does not */
#define RETRY_MS  300  /* after an arrival: a process takes its name a moment before it has its program */
#define END_MS	  10000 /* how long recordings may take to end */

enum { POLL_SIGNALS, POLL_CONFIG, POLL_ARRIVALS, POLLS };

struct watch {
	struct fperf_console *console;
	const char *path;
	char *directory; /* of the configuration */
	struct fperf_arm_config config;
	char config_error[768]; /* "": the file is good */
	struct fperf_arm_state state;
	struct fperf_arrivals *arrivals; /* NULL: has to search */
	char search_why[768];
	int config_fd, signal_fd;
	struct fperf_arm_recording *recordings;
	size_t count, capacity;
	int ending; /* signal that asked for the end */
	bool again; /* look once more soon */
};

static struct fperf_arm_recording *recording_of(struct watch *watch, const char *section)
{
	for (size_t i = 0; i < watch->count; i++)
		if (!strcmp(watch->recordings[i].section, section))
			return &watch->recordings[i];
	return NULL;
}

static void text_set(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, json_string(text));
}

static uint32_t used_sessions(json_t *entry)
{
	return (uint32_t)json_integer_value(json_object_get(entry, "sessions"));
}

static bool quota_left(const struct fperf_arm_target *target, json_t *entry)
{
	return used_sessions(entry) < target->quota &&
	       (uint64_t)json_integer_value(json_object_get(entry, "bytes")) < target->quota_size;
}

static void target_describe(struct watch *watch, const struct fperf_arm_target *target)
{
	struct fperf_arm_recording *recording = recording_of(watch, target->section);
	json_t *entry = fperf_arm_state__target(&watch->state, target->section);

	if (!entry)
		return;
	text_set(entry, "state",
		 recording		     ? "recording"
		 : quota_left(target, entry) ? "waiting"
					     : "quota used up");
	json_object_set_new(entry, "quota", json_integer(target->quota));
	json_object_set_new(entry, "quota_bytes", json_integer((json_int_t)target->quota_size));
	json_object_set_new(entry, "window_s", json_real((double)target->window_ns / 1e9));
	if (!recording) {
		json_object_del(entry, "recording");
		return;
	}
	json_object_set_new(entry, "recording",
			    json_pack("{s:s, s:i, s:i, s:I}", "path", recording->path, "pid",
				      (int)recording->child, "game", (int)recording->game, "since",
				      (json_int_t)recording->since_s));
}

/* Writes down what is done now, for --status and for the next start. */
static void tell(struct watch *watch)
{
	json_t *root = watch->state.root, *targets = json_object_get(root, "targets"), *entry;
	struct fperf_error err;
	const char *section;
	void *next;

	json_object_set_new(root, "pid", json_integer(getpid()));
	text_set(root, "config", watch->path);
	text_set(root, "config_error", watch->config_error);
	text_set(root, "waits_by", watch->arrivals ? "kernel" : "search");
	text_set(root, "search_why", watch->search_why);
	for (size_t i = 0; i < watch->config.target_count; i++)
		target_describe(watch, &watch->config.targets[i]);
	json_object_foreach_safe(targets, next, section, entry)
	{
		if (!fperf_arm_config__target(&watch->config, section) && !recording_of(watch, section))
			text_set(entry, "state", "not armed");
	}
	if (fperf_arm_state__write(&watch->state, &err) < 0)
		fperf_console__error(watch->console, "%s", err.text);
}

static void record_start(struct watch *watch, const struct fperf_arm_target *target, pid_t pid,
			 uint64_t start)
{
	json_t *entry = fperf_arm_state__target(&watch->state, target->section);
	struct fperf_arm_recording recording, *slot;
	struct fperf_error err;

	if (!entry || !quota_left(target, entry))
		return;
	fperf_arm_state__done(&watch->state, target->section, pid, start);
	if (fperf_arm_recording__start(&watch->config, target, pid, target->quota - used_sessions(entry),
				       &recording, &err) < 0) {
		fperf_console__error(watch->console, "%s: %s", target->section, err.text);
		return;
	}
	slot = fperf_vec__push(&watch->recordings, &watch->count, &watch->capacity);
	if (!slot) {
		kill(recording.child, SIGTERM);
		fperf_arm_recording__free(&recording);
		return;
	}
	*slot = recording;
	fperf_console__note(watch->console, "%s: process %d is recorded for %g s into %s", target->section,
			    (int)pid, (double)target->window_ns / 1e9, recording.path);
	tell(watch);
}

static pid_t parent_of(pid_t pid)
{
	char path[64], line[512], *at = NULL;
	FILE *file;
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (file && fgets(line, sizeof(line), file))
		at = strrchr(line, ')');
	if (file)
		fclose(file);
	return at && sscanf(at, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* It, or a process that it comes from, has had its recording, which followed its children. */
static bool has_had_its_recording(const struct watch *watch, const char *section, pid_t pid)
{
	for (int depth = 0; pid > 1 && depth < 64; depth++, pid = parent_of(pid))
		if (fperf_arm_state__is_done(&watch->state, section, pid, fperf_process_start(pid)))
			return true;
	return false;
}

static void found(void *context, const struct fperf_arm_target *target, pid_t pid)
{
	uint64_t start = fperf_process_start(pid);
	struct watch *watch = context;

	if (start && !recording_of(watch, target->section) &&
	    !has_had_its_recording(watch, target->section, pid))
		record_start(watch, target, pid, start);
}

static void look(struct watch *watch)
{
	struct fperf_error err;

	if (fperf_arm_state__day(&watch->state))
		tell(watch);
	if (fperf_arm_find(&watch->config, found, watch, &err) < 0)
		fperf_console__error(watch->console, "%s", err.text);
}

/* Tells the kernel what to wait for. */
static void arrivals_begin(struct watch *watch)
{
	const char *names[2 * FPERF_ARM_TARGETS];
	struct fperf_error err;
	size_t count = 0;

	fperf_arrivals__close(watch->arrivals);
	watch->arrivals = NULL;
	watch->search_why[0] = '\0';
	for (size_t i = 0; i < watch->config.target_count; i++) {
		const struct fperf_arm_target *target = &watch->config.targets[i];

		if (target->name)
			names[count++] = target->name;
		if (target->exe)
			names[count++] = fperf_path_name(target->exe);
	}
	if (!fperf_arrivals__open(names, count, &watch->arrivals, &err))
		return;
	snprintf(watch->search_why, sizeof(watch->search_why), "%s", err.text);
	fperf_console__note(watch->console, "has to look for processes every %d s: %s", SEARCH_MS / 1000,
			    err.text);
}

/* Recordings of targets that are gone end; the others go on as they were begun. */
static void recordings_review(struct watch *watch)
{
	for (size_t i = 0; i < watch->count; i++)
		if (!fperf_arm_config__target(&watch->config, watch->recordings[i].section))
			kill(watch->recordings[i].child, SIGINT);
}

static void config_reload(struct watch *watch)
{
	struct fperf_arm_config fresh;
	struct fperf_error err;

	if (fperf_arm_config__load(watch->path, &fresh, &err) < 0) {
		if (strcmp(watch->config_error, err.text))
			fperf_console__error(watch->console, "%s; the configuration before stays", err.text);
		snprintf(watch->config_error, sizeof(watch->config_error), "%s", err.text);
		tell(watch);
		return;
	}
	watch->config_error[0] = '\0';
	if (strcmp(fresh.state, watch->state.directory))
		fperf_console__note(watch->console, "another state directory counts from the next start on");
	fperf_arm_config__free(&watch->config);
	watch->config = fresh;
	fperf_console__note(watch->console, "read %s: %zu targets", watch->path, watch->config.target_count);
	arrivals_begin(watch);
	recordings_review(watch);
	tell(watch);
	look(watch);
}

/* Editors write a file in place, or another one that then takes its place. */
static bool config_changed(struct watch *watch)
{
	char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	const char *name = fperf_path_name(watch->path);
	bool changed = false;
	ssize_t got;

	while ((got = read(watch->config_fd, buffer, sizeof(buffer))) > 0) {
		for (char *at = buffer; at < buffer + got;) {
			const struct inotify_event *event = (const void *)at;

			changed = changed || event->mask & IN_Q_OVERFLOW ||
				  (event->len && !strcmp(event->name, name));
			at += sizeof(*event) + event->len;
		}
	}
	return changed;
}

static void usage_add(struct watch *watch, json_t *entry, const char *path)
{
	uint32_t sessions;
	uint64_t bytes;

	if (!entry)
		return;
	fperf_arm_recording__count(path, &sessions, &bytes);
	fperf_arm_state__day(&watch->state);
	json_object_set_new(entry, "sessions", json_integer((json_int_t)used_sessions(entry) + sessions));
	json_object_set_new(
		entry, "bytes",
		json_integer(json_integer_value(json_object_get(entry, "bytes")) + (json_int_t)bytes));
	text_set(entry, "last", path);
	json_object_del(entry, "recording");
}

/* What was recorded when the watcher before was killed counts too. */
static void interrupted_count(struct watch *watch)
{
	json_t *targets = json_object_get(watch->state.root, "targets"), *entry;
	const char *section, *path;
	void *next;

	json_object_foreach_safe(targets, next, section, entry)
	{
		path = json_string_value(json_object_get(json_object_get(entry, "recording"), "path"));
		if (path)
			usage_add(watch, entry, path);
	}
}

static void recording_ended(struct watch *watch, size_t index, int status)
{
	struct fperf_arm_recording recording = watch->recordings[index];
	json_t *entry = fperf_arm_state__target(&watch->state, recording.section);

	watch->recordings[index] = watch->recordings[--watch->count];
	usage_add(watch, entry, recording.path);
	if (WIFSIGNALED(status))
		fperf_console__error(watch->console, "%s: the recording was killed by signal %d",
				     recording.section, WTERMSIG(status));
	else if (WEXITSTATUS(status))
		fperf_console__error(watch->console, "%s: the recording failed (exit status %d)",
				     recording.section, WEXITSTATUS(status));
	else
		fperf_console__note(watch->console, "%s: recorded; %u sessions today", recording.section,
				    used_sessions(entry));
	fperf_arm_recording__free(&recording);
}

static void children_reap(struct watch *watch)
{
	size_t before = watch->count;

	for (size_t i = watch->count; i-- > 0;) {
		int status;

		if (waitpid(watch->recordings[i].child, &status, WNOHANG) > 0)
			recording_ended(watch, i, status);
	}
	if (before == watch->count)
		return;
	tell(watch);
	if (!watch->ending)
		look(watch);
}

static void signals_take(struct watch *watch)
{
	struct signalfd_siginfo signal;

	while (read(watch->signal_fd, &signal, sizeof(signal)) == sizeof(signal)) {
		if (signal.ssi_signo == SIGHUP)
			config_reload(watch);
		else if (signal.ssi_signo != SIGCHLD)
			watch->ending = (int)signal.ssi_signo;
	}
	children_reap(watch);
}

static int signals_open(struct fperf_error *err)
{
	static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		sigaddset(&set, wanted[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? fperf_error__set_errno(err, -errno, "cannot wait for signals") : fd;
}

static int config_watch(struct watch *watch, struct fperf_error *err)
{
	const char *name = fperf_path_name(watch->path);

	watch->directory =
		name == watch->path ? strdup(".") : strndup(watch->path, (size_t)(name - watch->path));
	if (!watch->directory)
		return fperf_error__no_memory(err, "the configuration");
	watch->config_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->config_fd < 0 || inotify_add_watch(watch->config_fd, watch->directory,
						      IN_CLOSE_WRITE | IN_MOVED_TO | IN_ATTRIB) < 0)
		return fperf_error__set_errno(err, -errno, "cannot watch the directory %s", watch->directory);
	return 0;
}

static void wait_and_act(struct watch *watch)
{
	struct pollfd polls[POLLS] = {
		[POLL_SIGNALS] = {.fd = watch->signal_fd, .events = POLLIN},
		[POLL_CONFIG] = {.fd = watch->config_fd, .events = POLLIN},
		[POLL_ARRIVALS] = {.fd = watch->arrivals ? fperf_arrivals__fd(watch->arrivals) : -1,
				   .events = POLLIN},
	};
	int timeout = watch->again ? RETRY_MS : watch->arrivals ? LOOK_MS : SEARCH_MS;
	int ready = poll(polls, POLLS, timeout);

	watch->again = false;
	if (!ready) {
		look(watch);
		return;
	}
	if (polls[POLL_SIGNALS].revents)
		signals_take(watch);
	if (polls[POLL_CONFIG].revents && config_changed(watch) && !watch->ending)
		config_reload(watch);
	if (watch->arrivals && polls[POLL_ARRIVALS].revents) {
		fperf_arrivals__take(watch->arrivals);
		look(watch);
		watch->again = true;
	}
}

/* Ends what is being recorded, in order. */
static void recordings_end(struct watch *watch)
{
	uint64_t until_ns = fperf_clock__now_ns() + END_MS * FPERF_NS_PER_MS;

	for (size_t i = 0; i < watch->count; i++)
		kill(watch->recordings[i].child, SIGINT);
	while (watch->count && fperf_clock__now_ns() < until_ns) {
		struct pollfd wait = {.fd = watch->signal_fd, .events = POLLIN};

		poll(&wait, 1, 200);
		signals_take(watch);
	}
	for (size_t i = 0; i < watch->count; i++)
		kill(watch->recordings[i].child, SIGKILL);
	while (watch->count) {
		int status = 0;

		waitpid(watch->recordings[0].child, &status, 0);
		recording_ended(watch, 0, status);
	}
}

static void watch_close(struct watch *watch)
{
	fperf_arrivals__close(watch->arrivals);
	fperf_arm_config__free(&watch->config);
	fperf_arm_state__close(&watch->state);
	if (watch->config_fd >= 0)
		close(watch->config_fd);
	if (watch->signal_fd >= 0)
		close(watch->signal_fd);
	free(watch->recordings);
	free(watch->directory);
}

int fperf_arm_watch(const char *config_path, struct fperf_console *console, struct fperf_error *err)
{
	struct watch watch = {
		.console = console,
		.path = config_path,
		.config_fd = -1,
		.signal_fd = -1,
		.state = {.lock = -1},
	};
	int rc = fperf_arm_config__load(config_path, &watch.config, err);

	rc = rc ? rc : fperf_arm_state__open(watch.config.state, &watch.state, err);
	rc = rc ? rc : config_watch(&watch, err);
	if (!rc) {
		watch.signal_fd = signals_open(err);
		rc = watch.signal_fd < 0 ? watch.signal_fd : 0;
	}
	if (!rc) {
		interrupted_count(&watch);
		arrivals_begin(&watch);
		fperf_console__note(console, "armed: %zu targets; ends with SIGTERM or Ctrl-C",
				    watch.config.target_count);
		tell(&watch);
		look(&watch);
		while (!watch.ending)
			wait_and_act(&watch);
		recordings_end(&watch);
		tell(&watch);
	}
	watch_close(&watch);
	return rc;
}
