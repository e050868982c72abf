/* The game's threads, its limiter and its command line. See game.h for what it is for.
 *
 *   game [--faults N] [--no-faults] [--seed S] [--rate HZ] [--seconds T] [--truth FILE] [--directory DIR]
 *        [--rival CONTROL-FILE] [--speed ITERATIONS-PER-US]
 *        [--more PLACE=PERCENT] [--hitches PER-MINUTE] [--lock-wait MS] [--stutter SECONDS]
 *        [--slow-cpu CPU] [--clock FILE]
 *   game rival CONTROL-FILE SEED
 */
#include "game.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct surface {
	uint32_t width, height, presented;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

/* The frame boundary: called once per frame, when the frame is shown. */
NOINLINE void game_present(struct surface *surface)
{
	surface->presented++;
	__asm__ volatile("" ::: "memory");
}

static void sleep_until(uint64_t deadline_ns)
{
	struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
				 .tv_nsec = (long)(deadline_ns % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* Keeps the frame rate at its limit; a late frame is not made up for. */
NOINLINE static uint64_t limit_frame_rate(struct game *game, uint64_t deadline_ns)
{
	uint64_t now_ns = game_now_ns();

	game->limiter_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	if (deadline_ns > now_ns)
		sleep_until(deadline_ns);
	else
		deadline_ns = now_ns;
	return deadline_ns + game->period_ns;
}

static bool finished(const struct game *game, uint64_t end_ns)
{
	if (interrupted || game_now_ns() >= end_ns)
		return true;
	return game->options.faults && game->plan_next == game->plan_count &&
	       game->frame > game->next_fault_frame + 60;
}

static void *render_main(void *argument)
{
	struct game *game = argument;
	struct surface surface = {.width = 1920, .height = 1080};
	uint64_t start_ns = game_now_ns(), deadline_ns = start_ns + game->period_ns;
	uint64_t end_ns = start_ns + (uint64_t)(game->options.seconds * 1e9);

	game->tids[ROLE_RENDER] = gettid();
	while (!finished(game, end_ns)) {
		game_choose_fault(game);
		render_frame(game);
		deadline_ns = limit_frame_rate(game, deadline_ns);
		game_frame_end(game, game_now_ns());
		game_present(&surface);
		game->frame++;
	}
	atomic_store(&game->stop, true);
	gate_open(&game->start_logic);
	game_thread_end(game, ROLE_RENDER);
	return NULL;
}

static void *logic_main(void *argument)
{
	struct game *game = argument;

	game->tids[ROLE_LOGIC] = gettid();
	while (!atomic_load(&game->stop))
		logic_frame(game);
	game_thread_end(game, ROLE_LOGIC);
	return NULL;
}

NOINLINE static void mix_voices(struct game *game)
{
	WORK_US(game, 60);
}

static void *audio_main(void *argument)
{
	struct game *game = argument;
	uint64_t deadline_ns = game_now_ns();

	while (!atomic_load(&game->stop)) {
		deadline_ns += 5333333;
		sleep_until(deadline_ns);
		mix_voices(game);
	}
	return NULL;
}

static void calibrate(struct game *game)
{
	for (int i = 0; i < 20; i++) {
		uint64_t begin_ns = game_cpu_ns(), used_ns;

		WORK(500000);
		used_ns = game_cpu_ns() - begin_ns;
		if (500000e3 / (double)used_ns > game->iterations_per_us)
			game->iterations_per_us = 500000e3 / (double)used_ns;
	}
}

/* A file that is read and mapped, and one that is written; neither is left behind. */
static bool files_open(struct game *game)
{
	static uint8_t block[BLOCK] __attribute__((aligned(4096)));
	char path[4096];

	snprintf(path, sizeof(path), "%s/game-cache-%d", game->options.directory, getpid());
	game->map_fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	game->direct_fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	game->read_fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	snprintf(path, sizeof(path), "%s/game-save-%d", game->options.directory, getpid());
	game->write_fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	unlink(path);
	if (game->map_fd < 0 || game->direct_fd < 0 || game->read_fd < 0 || game->write_fd < 0)
		return false;
	for (size_t at = 0; at < CACHE_FILE; at += BLOCK) {
		for (size_t i = 0; i < BLOCK; i += 4) {
			uint32_t value = game_random(game);

			memcpy(block + i, &value, 4);
		}
		if (write(game->map_fd, block, BLOCK) != BLOCK)
			return false;
	}
	if (write(game->write_fd, block, 65536) != 65536 || fsync(game->map_fd) || fsync(game->write_fd))
		return false;
	game->map = mmap(NULL, CACHE_FILE, PROT_READ, MAP_SHARED, game->map_fd, 0);
	return game->map != MAP_FAILED;
}

static void locks_init(struct game *game)
{
	for (int i = 0; i < 4; i++) {
		pthread_mutex_init(&game->locks[i], NULL);
		pthread_rwlock_init(&game->shared_locks[i], NULL);
	}
	pthread_mutex_init(&game->start_logic.mutex, NULL);
	pthread_cond_init(&game->start_logic.cond, NULL);
	pthread_mutex_init(&game->logic_done.mutex, NULL);
	pthread_cond_init(&game->logic_done.cond, NULL);
	pthread_mutex_init(&game->queue.mutex, NULL);
	pthread_cond_init(&game->queue.work, NULL);
	pthread_cond_init(&game->queue.done, NULL);
}

static void thread_begin(pthread_t *thread, void *(*main)(void *), struct game *game, const char *name)
{
	if (pthread_create(thread, NULL, main, game))
		abort();
	pthread_setname_np(*thread, name);
}

static void threads_run(struct game *game)
{
	pthread_t logic, render, audio, workers[WORKERS];

	for (int i = 0; i < WORKERS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "Worker %d", i);
		thread_begin(&workers[i], worker_main, game, name);
	}
	thread_begin(&audio, audio_main, game, "Audio");
	thread_begin(&logic, logic_main, game, "Logic");
	while (!*(volatile pid_t *)&game->tids[ROLE_LOGIC])
		usleep(1000);
	thread_begin(&render, render_main, game, "Render");
	pthread_join(render, NULL);
	pthread_join(logic, NULL);
	pthread_join(audio, NULL);
	pthread_mutex_lock(&game->queue.mutex);
	game->queue.closed = true;
	pthread_cond_broadcast(&game->queue.work);
	pthread_mutex_unlock(&game->queue.mutex);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
}

/* "cull_scene=5": 5 % more work in a place of KIND_CPU. */
static bool more_parse(struct options *options, const char *argument)
{
	const char *equals = strchr(argument, '=');
	size_t size = equals ? (size_t)(equals - argument) : 0;

	for (int i = 0; equals && i < PLACES; i++)
		if (game_places[i].kind == KIND_CPU && strlen(game_places[i].function) == size &&
		    !memcmp(game_places[i].function, argument, size)) {
			options->more_place = (enum place)i;
			options->more_work = strtod(equals + 1, NULL) / 100;
			return options->more_work > -1;
		}
	return false;
}

static bool options_parse(struct options *options, int argc, char **argv)
{
	static const struct option known[] = {
		{"faults", required_argument, NULL, 'f'},    {"no-faults", no_argument, NULL, 'n'},
		{"seed", required_argument, NULL, 's'},	     {"rate", required_argument, NULL, 'r'},
		{"seconds", required_argument, NULL, 't'},   {"truth", required_argument, NULL, 'o'},
		{"directory", required_argument, NULL, 'd'}, {"rival", required_argument, NULL, 'R'},
		{"speed", required_argument, NULL, 'S'},     {"more", required_argument, NULL, 'm'},
		{"hitches", required_argument, NULL, 'h'},   {"lock-wait", required_argument, NULL, 'l'},
		{"stutter", required_argument, NULL, 'p'},   {"slow-cpu", required_argument, NULL, 'c'},
		{"clock", required_argument, NULL, 'C'},     {NULL, 0, NULL, 0},
	};
	int option;

	*options = (struct options){.seed = 1,
				    .rate_hz = 90,
				    .seconds = 60,
				    .faults = 200,
				    .slow_cpu = -1,
				    .truth_path = "truth.jsonl",
				    .directory = "/var/tmp"};
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 'f':
			options->faults = strtoull(optarg, NULL, 10);
			break;
		case 'n':
			options->faults = 0;
			break;
		case 's':
			options->seed = strtoull(optarg, NULL, 10);
			break;
		case 'r':
			options->rate_hz = strtod(optarg, NULL);
			break;
		case 't':
			options->seconds = strtod(optarg, NULL);
			break;
		case 'o':
			options->truth_path = optarg;
			break;
		case 'd':
			options->directory = optarg;
			break;
		case 'R':
			options->rival_path = optarg;
			break;
		case 'S':
			options->iterations_per_us = strtod(optarg, NULL);
			break;
		case 'm':
			if (!more_parse(options, optarg))
				return false;
			break;
		case 'h':
			options->hitches_per_min = strtod(optarg, NULL);
			break;
		case 'l':
			options->lock_wait_ns = (uint64_t)(strtod(optarg, NULL) * 1e6);
			break;
		case 'p':
			options->stutter_ns = (uint64_t)(strtod(optarg, NULL) * 1e9);
			break;
		case 'c':
			options->slow_cpu = atoi(optarg);
			break;
		case 'C':
			options->clock_path = optarg;
			break;
		default:
			return false;
		}
	}
	return optind == argc && options->rate_hz >= 10 && options->rate_hz <= 1000;
}

/* The clock that somebody else turns, or one that stands still. */
static bool clock_open(struct game *game)
{
	static const uint32_t usual = 100;
	void *map;
	int fd;

	game->clock = &usual;
	if (!game->options.clock_path)
		return true;
	fd = open(game->options.clock_path, O_RDONLY | O_CLOEXEC);
	map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(usual), PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (map != MAP_FAILED)
		game->clock = map;
	return map != MAP_FAILED;
}

int main(int argc, char **argv)
{
	static struct game game;
	uint64_t start_ns = game_now_ns();

	if (argc > 1 && strcmp(argv[1], "rival") == 0)
		return rival_main(argc, argv);
	if (!options_parse(&game.options, argc, argv)) {
		fprintf(stderr, "usage: see the head of tests/workloads/game.c\n");
		return 2;
	}
	game.period_ns = (uint64_t)(1e9 / game.options.rate_hz);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	for (int i = 0; i < PLACES; i++)
		game.work[i] = 1;
	game.work[game.options.more_place] += game.options.more_work;
	game.iterations_per_us = game.options.iterations_per_us;
	if (game.iterations_per_us <= 0)
		calibrate(&game);
	locks_init(&game);
	if (!clock_open(&game)) {
		fprintf(stderr, "game: %s: %s\n", game.options.clock_path, strerror(errno));
		return 1;
	}
	if (!game_plan(&game) || !files_open(&game)) {
		fprintf(stderr, "game: %s: %s\n", game.options.directory, strerror(errno));
		return 1;
	}
	/* in this order: the helper ends when nobody holds the other ends of its sockets any more */
	if (!rival_start(&game) || !helper_start(&game)) {
		fprintf(stderr, "game: the helper or the rival did not start: %s\n", strerror(errno));
		return 1;
	}
	threads_run(&game);
	helper_stop(&game);
	rival_stop(&game);
	if (game_write_truth(&game, start_ns, game_now_ns()))
		return 0;
	fprintf(stderr, "game: %s: %s\n", game.options.truth_path, strerror(errno));
	return 1;
}
