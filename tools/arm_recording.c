#include "arm_recording.h"

#include "arm_find.h"
#include "arm_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* OUTPUT/SECTION-YYYYMMDD-HHMMSS, with a number where there is one already. */
static char *path_choose(const char *directory, const char *section)
{
	char date[32] = "", *path = NULL;
	time_t now = time(NULL);
	struct tm local;

	if (localtime_r(&now, &local))
		strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &local);
	for (int number = 1; number < 1000; number++) {
		char suffix[16] = "";
		uint32_t sessions;
		uint64_t bytes;

		if (number > 1)
			snprintf(suffix, sizeof(suffix), "-%d", number);
		if (asprintf(&path, "%s/%s-%s%s", directory, section, date, suffix) < 0)
			return NULL;
		fperf_arm_recording__count(path, &sessions, &bytes);
		if (!sessions)
			return path;
		free(path);
	}
	return NULL;
}

void fperf_arm_recording__count(const char *path, uint32_t *sessions, uint64_t *bytes)
{
	char *directory = strdup(path);
	const char *name = fperf_path_name(path);
	size_t size = strlen(name);
	struct dirent *entry;
	struct stat file;
	DIR *listing = NULL;

	*sessions = 0;
	*bytes = 0;
	if (directory) {
		directory[name - path] = '\0';
		listing = opendir(directory);
	}
	while (listing && (entry = readdir(listing))) {
		const char *rest = entry->d_name + size;

		if (strncmp(entry->d_name, name, size) || (*rest != '.' && *rest != '-') ||
		    !strstr(rest, ".fperf") ||
		    fstatat(dirfd(listing), entry->d_name, &file, AT_SYMLINK_NOFOLLOW))
			continue;
		*sessions += 1;
		*bytes += (uint64_t)file.st_size;
	}
	if (listing)
		closedir(listing);
	free(directory);
}

static bool lies_in_wait(const struct fperf_arm_target *target, bool *limited)
{
	bool flight = false;

	*limited = false;
	for (size_t i = 0; i < target->argument_count; i++) {
		const char *argument = target->arguments[i];

		flight = flight || !strncmp(argument, "--trigger=", 10) || !strncmp(argument, "--flight=", 9);
		*limited = *limited || !strncmp(argument, "--trigger-limit=", 16);
	}
	return flight;
}

/* In the child. */
static void become(char **argv, pid_t parent)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	setpgid(0, 0); /* a Ctrl-C is for the watcher, which ends us */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv("/proc/self/exe", argv);
	_exit(127);
}

static int child_start(const struct fperf_arm_target *target, struct fperf_arm_recording *recording,
		       uint32_t left, struct fperf_error *err)
{
	char pid[32], window[48], limit[48], *output = NULL, *label = NULL;
	size_t count = 0;
	char **argv = calloc(target->argument_count + 10, sizeof(*argv));
	pid_t parent = getpid();
	bool limited;
	int rc = 0;

	snprintf(pid, sizeof(pid), "--pid=%d", (int)recording->game);
	snprintf(window, sizeof(window), "--duration=%.3f", (double)target->window_ns / 1e9);
	snprintf(limit, sizeof(limit), "--trigger-limit=%u", left);
	if (asprintf(&output, "--output=%s.fperf", recording->path) < 0)
		output = NULL;
	if (asprintf(&label, "--label=armed=%s", target->section) < 0)
		label = NULL;
	if (!argv || !output || !label) {
		rc = fperf_error__no_memory(err, "a recording");
		goto out;
	}
	argv[count++] = (char *)"frameperf";
	argv[count++] = (char *)"record";
	argv[count++] = (char *)"--quiet";
	argv[count++] = pid;
	argv[count++] = window;
	argv[count++] = output;
	argv[count++] = label;
	for (size_t i = 0; i < target->argument_count; i++)
		argv[count++] = target->arguments[i];
	if (lies_in_wait(target, &limited) && !limited)
		argv[count++] = limit;
	recording->child = fork();
	if (!recording->child)
		become(argv, parent);
	if (recording->child < 0)
		rc = fperf_error__set_errno(err, -errno, "cannot start a recording");
out:
	free(argv);
	free(output);
	free(label);
	return rc;
}

int fperf_arm_recording__start(const struct fperf_arm_config *config, const struct fperf_arm_target *target,
			       pid_t game, uint32_t left, struct fperf_arm_recording *recording,
			       struct fperf_error *err)
{
	const char *directory = target->output ? target->output : config->output;
	int rc = fperf_directory_make(directory, 0755, err);

	*recording = (struct fperf_arm_recording){.game = game, .since_s = (uint64_t)time(NULL)};
	if (rc)
		return rc;
	recording->section = strdup(target->section);
	recording->path = path_choose(directory, target->section);
	rc = recording->section && recording->path ? child_start(target, recording, left, err)
						   : fperf_error__no_memory(err, "a recording");
	if (rc)
		fperf_arm_recording__free(recording);
	return rc;
}

void fperf_arm_recording__free(struct fperf_arm_recording *recording)
{
	free(recording->section);
	free(recording->path);
	*recording = (struct fperf_arm_recording){0};
}
