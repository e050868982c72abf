/* How `frameperf trigger` reaches recorders that lie in wait: a socket in the abstract namespace, named after
 * the recorder's process. Nothing of it is in the file system, so nothing can be planted there; and each side
 * asks the kernel who the other one is. */
#ifndef FPERF_TOOLS_CONTROL_H
#define FPERF_TOOLS_CONTROL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FPERF_CONTROL_ANSWER 160

struct fperf_control;

/* The recorder's side. Root and the user `uid` may ask. -EADDRINUSE and so on when it cannot be. */
int fperf_control__open(pid_t target, const char *name, uid_t uid, struct fperf_control **control,
			struct fperf_error *err);
void fperf_control__close(struct fperf_control *control); /* NULL is fine */

/* Serves who has asked meanwhile, without waiting: `answer` is called for each request for a session. */
void fperf_control__serve(struct fperf_control *control,
			  void (*answer)(void *context, char *text, size_t size), void *context);

/* A recorder that lies in wait. */
struct fperf_recorder {
	pid_t pid, target;
	char name[64]; /* of the target */
	int fd;
};

/* All recorders that can be reached; *count of them, at most `size`. Only those of root or of the calling
 * user count: others are not what they say. The caller closes each. */
int fperf_recorders__find(struct fperf_recorder *recorders, size_t size, size_t *count,
			  struct fperf_error *err);
void fperf_recorder__close(struct fperf_recorder *recorder);

/* Asks one for a session; `answer` is what it says. */
int fperf_recorder__trigger(struct fperf_recorder *recorder, char answer[FPERF_CONTROL_ANSWER],
			    struct fperf_error *err);

#endif
