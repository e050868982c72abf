/* The command that `record -- COMMAND` starts: it waits before its exec until recording has begun. */
#ifndef FPERF_TOOLS_CHILD_H
#define FPERF_TOOLS_CHILD_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct fperf_child {
	pid_t pid;  /* 0: none */
	int go;	    /* writing a byte lets it exec, closing ends it */
	int failed; /* gives the errno of a failed exec; closed by a good one */
	bool ended;
	int status; /* of waitpid(), once it has ended */
};

/* Who called sudo, or (uid_t)-1 where nobody did. */
struct fperf_invoker {
	uid_t uid;
	gid_t gid;
};

struct fperf_invoker fperf_invoker__get(void);

/* Forks. With an invoker, the command will run as that user with its groups, HOME, USER and LOGNAME. A
 * command that cannot be found gives -ENOENT, one that is not executable -EACCES, both before anything was
 * forked. */
int fperf_child__start(struct fperf_child *child, char *const *argv, struct fperf_invoker invoker,
		       struct fperf_error *err);

/* Lets the command run; returns when its exec has happened, or failed (negative errno). */
int fperf_child__go(struct fperf_child *child, const char *name, struct fperf_error *err);

/* Whether it has ended; reaps it. */
bool fperf_child__has_ended(struct fperf_child *child);

/* Its exit status as a shell would say it: 128 + n when signal n killed it. */
int fperf_child__exit_status(const struct fperf_child *child);

/* Closes what is open; a command that still waits for its exec ends and is reaped. One that runs goes on. */
void fperf_child__close(struct fperf_child *child);

#endif
