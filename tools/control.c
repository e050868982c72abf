#include "control.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PREFIX	    "frameperf-recorder-"
#define HELLO	    "frameperf 1"
#define CLIENTS	    4
#define PATIENCE_NS (2 * FPERF_NS_PER_S)
#define ANSWER_MS   2000

struct client {
	int fd; /* 0: none */
	uint64_t since_ns;
};

struct fperf_control {
	int fd;
	uid_t uid;
	char hello[FPERF_CONTROL_ANSWER];
	struct client clients[CLIENTS];
};

static socklen_t address_of(pid_t pid, struct sockaddr_un *address)
{
	int size;

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	size = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, PREFIX "%d", (int)pid);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size);
}

int fperf_control__open(pid_t target, const char *name, uid_t uid, struct fperf_control **result,
			struct fperf_error *err)
{
	struct fperf_control *control = calloc(1, sizeof(*control));
	struct sockaddr_un address;
	socklen_t size = address_of(getpid(), &address);

	if (!control)
		return fperf_error__no_memory(err, "the control socket");
	control->uid = uid;
	snprintf(control->hello, sizeof(control->hello), HELLO " %d %.60s", (int)target, name);
	control->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (control->fd < 0 || bind(control->fd, (struct sockaddr *)&address, size) ||
	    listen(control->fd, CLIENTS)) {
		fperf_error__set_errno(err, -errno, "the control socket for `frameperf trigger`");
		fperf_control__close(control);
		return err->code;
	}
	*result = control;
	return 0;
}

void fperf_control__close(struct fperf_control *control)
{
	if (!control)
		return;
	for (size_t i = 0; i < CLIENTS; i++)
		if (control->clients[i].fd)
			close(control->clients[i].fd);
	if (control->fd >= 0)
		close(control->fd);
	free(control);
}

static bool peer_of(int fd, struct ucred *peer)
{
	socklen_t size = sizeof(*peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &size) && size == sizeof(*peer);
}

static void client_accept(struct fperf_control *control)
{
	int fd = accept4(control->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct ucred peer;

	if (fd < 0)
		return;
	for (size_t i = 0; i < CLIENTS; i++) {
		if (control->clients[i].fd || !peer_of(fd, &peer) || (peer.uid && peer.uid != control->uid) ||
		    send(fd, control->hello, strlen(control->hello), MSG_NOSIGNAL) < 0)
			continue;
		control->clients[i] = (struct client){.fd = fd, .since_ns = fperf_clock__now_ns()};
		return;
	}
	close(fd);
}

static void client_serve(struct client *client, void (*answer)(void *context, char *text, size_t size),
			 void *context)
{
	char text[FPERF_CONTROL_ANSWER] = "";
	ssize_t got = recv(client->fd, text, sizeof(text) - 1, 0);

	if (got < 0 && (errno == EAGAIN || errno == EINTR) &&
	    fperf_clock__now_ns() - client->since_ns < PATIENCE_NS)
		return;
	if (got > 0 && !strcmp(text, "trigger")) {
		answer(context, text, sizeof(text));
		send(client->fd, text, strlen(text), MSG_NOSIGNAL);
	}
	close(client->fd);
	client->fd = 0;
}

void fperf_control__serve(struct fperf_control *control,
			  void (*answer)(void *context, char *text, size_t size), void *context)
{
	client_accept(control);
	for (size_t i = 0; i < CLIENTS; i++)
		if (control->clients[i].fd)
			client_serve(&control->clients[i], answer, context);
}

static bool message_get(int fd, char *text, size_t size)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLIN};
	ssize_t got = poll(&pollfd, 1, ANSWER_MS) > 0 ? recv(fd, text, size - 1, 0) : -1;

	text[got > 0 ? got : 0] = '\0';
	for (char *at = text; *at; at++) /* it is shown on a terminal */
		if (*at < ' ' || *at > '~')
			*at = '?';
	return got > 0;
}

static bool recorder_connect(pid_t pid, struct fperf_recorder *recorder)
{
	struct sockaddr_un address;
	socklen_t size = address_of(pid, &address);
	char hello[FPERF_CONTROL_ANSWER];
	struct ucred peer;
	int target, at = 0;

	*recorder = (struct fperf_recorder){.pid = pid};
	recorder->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (recorder->fd < 0)
		return false;
	if (!connect(recorder->fd, (struct sockaddr *)&address, size) && peer_of(recorder->fd, &peer) &&
	    peer.pid == pid && (!peer.uid || peer.uid == getuid()) &&
	    message_get(recorder->fd, hello, sizeof(hello)) &&
	    sscanf(hello, HELLO " %d %n", &target, &at) == 1 && at) {
		recorder->target = target;
		snprintf(recorder->name, sizeof(recorder->name), "%.60s", hello + at);
		return true;
	}
	close(recorder->fd);
	return false;
}

int fperf_recorders__find(struct fperf_recorder *recorders, size_t size, size_t *count,
			  struct fperf_error *err)
{
	FILE *file = fopen("/proc/net/unix", "re");
	char line[512];

	*count = 0;
	if (!file)
		return fperf_error__set_errno(err, -errno, "/proc/net/unix, which lists recorders");
	while (*count < size && fgets(line, sizeof(line), file)) {
		const char *name = strstr(line, " @" PREFIX);
		char *end;
		long pid = name ? strtol(name + strlen(" @" PREFIX), &end, 10) : 0;
		bool known = pid <= 0 || *end != '\n';

		for (size_t i = 0; !known && i < *count; i++)
			known = recorders[i].pid == (pid_t)pid; /* connections have the name as well */
		if (!known && recorder_connect((pid_t)pid, &recorders[*count]))
			(*count)++;
	}
	fclose(file);
	return 0;
}

void fperf_recorder__close(struct fperf_recorder *recorder)
{
	close(recorder->fd);
}

int fperf_recorder__trigger(struct fperf_recorder *recorder, char answer[FPERF_CONTROL_ANSWER],
			    struct fperf_error *err)
{
	if (send(recorder->fd, "trigger", strlen("trigger"), MSG_NOSIGNAL) < 0)
		return fperf_error__set_errno(err, -errno, "recorder %d", (int)recorder->pid);
	if (!message_get(recorder->fd, answer, FPERF_CONTROL_ANSWER))
		return fperf_error__set(err, -ETIMEDOUT, "recorder %d (%s) does not answer",
					(int)recorder->pid, recorder->name);
	return 0;
}
