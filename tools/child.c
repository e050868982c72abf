#include "child.h"

#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND	127

static bool number_from(const char *name, unsigned long *value)
{
	const char *text = getenv(name);
	char *end;

	if (!text || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*value = strtoul(text, &end, 10);
	return !*end && !errno && *value < UINT32_MAX;
}

struct fperf_invoker fperf_invoker__get(void)
{
	struct fperf_invoker nobody = {.uid = (uid_t)-1, .gid = (gid_t)-1};
	unsigned long uid, gid;

	if (geteuid() || !number_from("SUDO_UID", &uid) || !number_from("SUDO_GID", &gid) || !uid)
		return nobody;
	return (struct fperf_invoker){.uid = (uid_t)uid, .gid = (gid_t)gid};
}

static int executable(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		return -errno;
	if (!S_ISREG(status.st_mode) || access(path, X_OK))
		return -EACCES;
	return 0;
}

/* What execvp() would find, so that a typing mistake costs no recording. */
static int find_command(const char *name, struct fperf_error *err)
{
	const char *path = getenv("PATH"), *part;
	int found = -ENOENT;

	if (strchr(name, '/')) {
		found = executable(name);
		return found ? fperf_error__set_errno(err, found, "cannot run '%s'", name) : 0;
	}
	for (part = path ? path : "/usr/bin:/bin"; part && *name;
	     part = strchr(part, ':') ? strchr(part, ':') + 1 : NULL) {
		char file[PATH_MAX];
		int length = (int)strcspn(part, ":"), ret;

		if (snprintf(file, sizeof(file), "%.*s/%s", length ? length : 1, length ? part : ".", name) >=
		    (int)sizeof(file))
			continue;
		ret = executable(file);
		if (!ret)
			return 0;
		if (ret == -EACCES)
			found = ret;
	}
	return fperf_error__set(
		err, found, found == -EACCES ? "'%s' is not executable" : "there is no command '%s' in PATH",
		name);
}

/* Runs in the child: becomes the invoking user. Returns 0 or an errno. */
static int become(struct fperf_invoker invoker)
{
	const struct passwd *user = getpwuid(invoker.uid);
	char runtime[64];

	if (user ? initgroups(user->pw_name, invoker.gid) : setgroups(1, &invoker.gid))
		return errno;
	if (setresgid(invoker.gid, invoker.gid, invoker.gid) ||
	    setresuid(invoker.uid, invoker.uid, invoker.uid))
		return errno;
	if (user && (setenv("HOME", user->pw_dir, 1) || setenv("USER", user->pw_name, 1) ||
		     setenv("LOGNAME", user->pw_name, 1) || setenv("SHELL", user->pw_shell, 1)))
		return errno;
	snprintf(runtime, sizeof(runtime), "/run/user/%u", (unsigned int)invoker.uid);
	if (!access(runtime, X_OK) && setenv("XDG_RUNTIME_DIR", runtime, 0))
		return errno;
	return 0;
}

/* Never returns. */
static void child_main(int go, int failed, char *const *argv, struct fperf_invoker invoker)
{
	int code = invoker.uid == (uid_t)-1 ? 0 : become(invoker);
	ssize_t got;
	char byte;

	do
		got = read(go, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(EXIT_CANNOT_RUN); /* recording did not begin */
	fperf_signals__restore();
	if (!code) {
		execvp(argv[0], argv);
		code = errno;
	}
	if (write(failed, &code, sizeof(code)) < 0)
		_exit(EXIT_CANNOT_RUN);
	_exit(code == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

int fperf_child__start(struct fperf_child *child, char *const *argv, struct fperf_invoker invoker,
		       struct fperf_error *err)
{
	int go[2] = {-1, -1}, failed[2] = {-1, -1}, ret;

	*child = (struct fperf_child){.go = -1, .failed = -1};
	ret = find_command(argv[0], err);
	if (ret < 0)
		return ret;
	if (pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC)) {
		ret = fperf_error__set_errno(err, -errno, "cannot make a pipe to '%s'", argv[0]);
		goto fail;
	}
	child->pid = fork();
	if (child->pid < 0) {
		child->pid = 0;
		ret = fperf_error__set_errno(err, -errno, "cannot start a process for '%s'", argv[0]);
		goto fail;
	}
	if (!child->pid) {
		close(go[1]); /* else the end of the recorder would not be seen */
		child_main(go[0], failed[1], argv, invoker);
	}
	close(go[0]);
	close(failed[1]);
	child->go = go[1];
	child->failed = failed[0];
	return 0;
fail:
	for (int i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (failed[i] >= 0)
			close(failed[i]);
	}
	return ret;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int fperf_child__go(struct fperf_child *child, const char *name, struct fperf_error *err)
{
	int code = 0;
	ssize_t got;

	if (write(child->go, "g", 1) != 1)
		return fperf_error__set_errno(err, -errno, "'%s' ended before it could be started", name);
	close_fd(&child->go);
	do
		got = read(child->failed, &code, sizeof(code));
	while (got < 0 && errno == EINTR);
	close_fd(&child->failed);
	if (got == (ssize_t)sizeof(code))
		return fperf_error__set_errno(err, -code, "cannot run '%s'", name);
	return 0;
}

bool fperf_child__has_ended(struct fperf_child *child)
{
	if (child->pid && !child->ended && waitpid(child->pid, &child->status, WNOHANG) == child->pid)
		child->ended = true;
	return child->ended;
}

int fperf_child__exit_status(const struct fperf_child *child)
{
	if (WIFSIGNALED(child->status))
		return 128 + WTERMSIG(child->status);
	return WEXITSTATUS(child->status);
}

void fperf_child__close(struct fperf_child *child)
{
	bool waits = child->pid && child->go >= 0;

	close_fd(&child->go);
	close_fd(&child->failed);
	if (waits && !child->ended) {
		while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
			;
		child->ended = true;
	}
}
