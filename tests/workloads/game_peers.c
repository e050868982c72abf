/* The game's neighbours: a helper process that answers requests, and a rival that takes a CPU. */
#include "game.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void thread_pin(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(tid, sizeof(set), &set);
}

void thread_unpin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (long i = 0, count = sysconf(_SC_NPROCESSORS_ONLN); i < count; i++)
		CPU_SET((int)i, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* The helper. */

#define SERVICE(name)                                                                                        \
	NOINLINE static void name(struct game *game, const struct request *request)                          \
	{                                                                                                    \
		struct timespec pause = {.tv_nsec = (long)request->length_ns};                               \
                                                                                                             \
		WORK_US(game, 8);                                                                            \
		if (request->length_ns && request->sleeps)                                                   \
			nanosleep(&pause, NULL);                                                             \
		else if (request->length_ns)                                                                 \
			WORK_FOR(game, request->length_ns);                                                  \
		WORK_US(game, 2);                                                                            \
	}

SERVICE(rank_players)
SERVICE(check_items)
SERVICE(rasterize_glyphs)
SERVICE(compose_overlay)

static const struct {
	const char *name;
	void (*serve)(struct game *game, const struct request *request);
} services[] = {
	{"rank_players", rank_players},
	{"check_items", check_items},
	{"rasterize_glyphs", rasterize_glyphs},
	{"compose_overlay", compose_overlay},
};

#define SERVICES (sizeof(services) / sizeof(*services))

const char *helper_function(uint32_t service)
{
	return services[service % SERVICES].name;
}

NOINLINE static bool helper_serve(struct game *game, int fd)
{
	struct request request;
	struct answer answer = {.pid = getpid(), .tid = gettid()};

	if (read(fd, &request, sizeof(request)) != sizeof(request))
		return false;
	services[request.service % SERVICES].serve(game, &request);
	answer.service = request.service;
	return write(fd, &answer, sizeof(answer)) == sizeof(answer);
}

NOINLINE static void helper_loop(struct game *game, int first, int second)
{
	struct pollfd fds[2] = {{.fd = first, .events = POLLIN}, {.fd = second, .events = POLLIN}};

	for (;;) {
		if (poll(fds, 2, -1) < 0)
			return;
		for (int i = 0; i < 2; i++)
			if (fds[i].revents && !helper_serve(game, fds[i].fd))
				return;
	}
}

/* Called while there is one thread only. */
bool helper_start(struct game *game)
{
	int pairs[2][2];

	for (int i = 0; i < 2; i++)
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pairs[i]))
			return false;
	game->helper_pid = fork();
	if (game->helper_pid < 0)
		return false;
	if (game->helper_pid == 0) {
		prctl(PR_SET_NAME, "assetd");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGINT, SIG_IGN);
		close(pairs[0][0]);
		close(pairs[1][0]);
		helper_loop(game, pairs[0][1], pairs[1][1]);
		_exit(0);
	}
	for (int i = 0; i < 2; i++) {
		game->helper_fd[i] = pairs[i][0];
		close(pairs[i][1]);
	}
	return true;
}

void helper_stop(struct game *game)
{
	close(game->helper_fd[0]);
	close(game->helper_fd[1]);
	waitpid(game->helper_pid, NULL, 0);
}

/* The rival. It is woken by the thread that it will disturb, and takes its core a moment later. */

static const char *const rival_names[] = {"indexer", "updater", "telemetryd", "scanner", "backupd"};

static void futex_wait(atomic_uint *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

NOINLINE static void scan_everything(struct game *game, uint64_t length_ns)
{
	uint64_t begin_ns = game_now_ns();

	while (game_now_ns() - begin_ns < length_ns)
		WORK((uint64_t)(game->iterations_per_us * 20));
}

NOINLINE static void rival_loop(struct game *game, struct rival_control *control)
{
	struct sched_param param = {.sched_priority = 50};
	uint32_t seen = atomic_load(&control->command);

	if (sched_setscheduler(0, SCHED_FIFO, &param)) {
		perror("sched_setscheduler SCHED_FIFO");
		return;
	}
	memcpy(control->name, rival_names[game->options.seed % 5],
	       strlen(rival_names[game->options.seed % 5]));
	prctl(PR_SET_NAME, control->name);
	atomic_store(&control->pid, getpid());
	atomic_store(&control->tid, gettid());
	for (;;) {
		while (atomic_load(&control->command) == seen)
			futex_wait(&control->command, seen);
		seen = atomic_load(&control->command);
		if (atomic_load(&control->cpu) < 0)
			return;
		usleep(300); /* then it strikes in the middle of what the other does next */
		thread_pin(0, atomic_load(&control->cpu));
		atomic_store(&control->running, seen);
		scan_everything(game, atomic_load(&control->length_ns));
		atomic_store(&control->running, 0);
	}
}

static struct rival_control *control_map(const char *path)
{
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : memfd_create("rival", MFD_CLOEXEC);
	struct rival_control *control = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, 4096))
		control = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return control == MAP_FAILED ? NULL : control;
}

bool rival_start(struct game *game)
{
	game->rival = control_map(game->options.rival_path);
	if (!game->rival)
		return false;
	if (!game->options.rival_path) {
		game->rival_pid = fork();
		if (game->rival_pid < 0)
			return false;
		if (game->rival_pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			signal(SIGINT, SIG_IGN);
			rival_loop(game, game->rival);
			_exit(1);
		}
	}
	for (int i = 0; i < 500 && !atomic_load(&game->rival->tid); i++)
		usleep(10000);
	return atomic_load(&game->rival->tid) != 0;
}

void rival_stop(struct game *game)
{
	atomic_store(&game->rival->cpu, -1);
	atomic_fetch_add(&game->rival->command, 1);
	syscall(SYS_futex, &game->rival->command, FUTEX_WAKE, 1, NULL, NULL, 0);
	if (game->rival_pid)
		waitpid(game->rival_pid, NULL, 0);
}

void rival_run(struct game *game, int cpu, uint64_t length_ns, struct culprit *culprit)
{
	struct rival_control *control = game->rival;

	*culprit = (struct culprit){.pid = atomic_load(&control->pid), .tid = atomic_load(&control->tid)};
	memcpy(culprit->name, control->name, sizeof(culprit->name));
	if (game->rival_pid) /* otherwise it is none of ours, and its functions are not seen */
		culprit->function = "scan_everything";
	thread_pin(culprit->tid, (cpu + 1) % (int)sysconf(_SC_NPROCESSORS_ONLN)); /* it wakes up elsewhere */
	atomic_store(&control->cpu, cpu);
	atomic_store(&control->length_ns, length_ns);
	atomic_fetch_add(&control->command, 1);
	syscall(SYS_futex, &control->command, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* `game rival CONTROL-FILE SEED`: the rival as a process that is no child of the game. */
int rival_main(int argc, char **argv)
{
	static const uint32_t usual = 100;
	static struct game game = {.iterations_per_us = 100, .clock = &usual};
	struct rival_control *control = argc == 4 ? control_map(argv[2]) : NULL;

	if (!control) {
		fprintf(stderr, "usage: game rival CONTROL-FILE SEED\n");
		return 2;
	}
	game.options.seed = strtoull(argv[3], NULL, 10);
	rival_loop(&game, control);
	return 0;
}
