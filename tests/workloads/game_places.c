/* The game's code: a frame's functions, each a place where a fault can happen. Innermost functions do their
 * work and call the C library themselves, so that they are what a profiler should find. */
#include "game.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void culprit_self(struct fault *fault, const char *function)
{
	struct culprit *culprit = &fault->culprit;

	culprit->pid = getpid();
	culprit->tid = gettid();
	pthread_getname_np(pthread_self(), culprit->name, sizeof(culprit->name));
	culprit->function = function;
	fault->has_culprit = true;
}

/* KIND_CPU and KIND_PREEMPT: ordinary work in every frame, more of it or a rival on the core in a bad one. */
#define CPU_PLACE(name, us)                                                                                  \
	NOINLINE static void name(struct game *game)                                                         \
	{                                                                                                    \
		struct fault *fault = game_fault_here(game, PLACE_##name);                                   \
                                                                                                             \
		WORK_US(game, (us)*game->work[PLACE_##name]);                                                \
		if (PLACE_##name == PLACE_evaluate_behaviour && game_hitch_now(game))                        \
			WORK_FOR(game, HITCH_NS);                                                            \
		if (!fault)                                                                                  \
			return;                                                                              \
		if (fault->kind == KIND_PREEMPT) {                                                           \
			int cpu = sched_getcpu();                                                            \
                                                                                                             \
			thread_pin(gettid(), cpu);                                                           \
			game_fault_begin(fault);                                                             \
			rival_run(game, cpu, fault->want_ns, &fault->culprit);                               \
			fault->has_culprit = true;                                                           \
			WORK_US(game, 1000);                                                                 \
			game_fault_end(fault);                                                               \
			thread_unpin();                                                                      \
		} else {                                                                                     \
			game_fault_begin(fault);                                                             \
			WORK_FOR(game, fault->want_ns);                                                      \
			game_fault_end(fault);                                                               \
		}                                                                                            \
		WORK_US(game, 20);                                                                           \
	}

CPU_PLACE(solve_constraints, 420)
CPU_PLACE(integrate_bodies, 260)
CPU_PLACE(plan_paths, 330)
CPU_PLACE(evaluate_behaviour, 210)
CPU_PLACE(run_scripts, 300)
CPU_PLACE(cull_scene, 280)
CPU_PLACE(skin_meshes, 360)
CPU_PLACE(sort_draw_calls, 190)
CPU_PLACE(build_light_grid, 310)
CPU_PLACE(record_commands, 400)
CPU_PLACE(animate_skeletons, 160)
CPU_PLACE(simulate_particles, 120)

/* KIND_LOCK: the place takes its mutex in every frame; in a bad one a worker holds it. */
#define HOLDER(name)                                                                                         \
	NOINLINE static void name(struct game *game, struct fault *fault, size_t lock)                       \
	{                                                                                                    \
		struct timespec pause = {.tv_nsec = (long)fault->want_ns};                                   \
                                                                                                             \
		if (fault->variant & 2)                                                                      \
			pthread_rwlock_wrlock(&game->shared_locks[lock]);                                    \
		else                                                                                         \
			pthread_mutex_lock(&game->locks[lock]);                                              \
		culprit_self(fault, #name);                                                                  \
		atomic_store(&game->lock_held, true);                                                        \
		if (fault->variant & 1)                                                                      \
			nanosleep(&pause, NULL);                                                             \
		else                                                                                         \
			WORK_FOR(game, fault->want_ns);                                                      \
		if (fault->variant & 2)                                                                      \
			pthread_rwlock_unlock(&game->shared_locks[lock]);                                    \
		else                                                                                         \
			pthread_mutex_unlock(&game->locks[lock]);                                            \
		WORK_US(game, 5);                                                                            \
	}

HOLDER(compact_entities)
HOLDER(rebuild_navmesh)
HOLDER(upload_textures)
HOLDER(publish_transforms)

typedef void (*holder)(struct game *game, struct fault *fault, size_t lock);

static size_t lock_index(enum place place)
{
	return (size_t)place - PLACE_spawn_entities;
}

static void queue_put(struct job_queue *queue, struct job job)
{
	pthread_mutex_lock(&queue->mutex);
	queue->jobs[queue->tail++ % 32] = job;
	queue->open++;
	pthread_cond_signal(&queue->work);
	pthread_mutex_unlock(&queue->mutex);
}

/* Returns when a worker has the lock. */
static void holder_arrange(struct game *game, struct fault *fault)
{
	atomic_store(&game->lock_held, false);
	queue_put(&game->queue, (struct job){.type = JOB_HOLD, .fault = fault});
	while (!atomic_load(&game->lock_held))
		sched_yield();
}

#define LOCK_PLACE(name)                                                                                     \
	NOINLINE static void name(struct game *game)                                                         \
	{                                                                                                    \
		struct fault *fault = game_fault_here(game, PLACE_##name);                                   \
		pthread_mutex_t *lock = &game->locks[lock_index(PLACE_##name)];                              \
		pthread_rwlock_t *shared = &game->shared_locks[lock_index(PLACE_##name)];                    \
                                                                                                             \
		if (fault) {                                                                                 \
			holder_arrange(game, fault);                                                         \
			game_fault_begin(fault);                                                             \
		} else if (PLACE_##name == PLACE_fetch_texture && game->options.lock_wait_ns) {              \
			holder_arrange(game, &(struct fault){.place = PLACE_##name,                          \
							     .want_ns = game->options.lock_wait_ns,          \
							     .variant = 1});                                 \
		}                                                                                            \
		pthread_mutex_lock(lock);                                                                    \
		pthread_rwlock_rdlock(shared);                                                               \
		if (fault)                                                                                   \
			game_fault_end(fault);                                                               \
		WORK_US(game, 40);                                                                           \
		pthread_rwlock_unlock(shared);                                                               \
		pthread_mutex_unlock(lock);                                                                  \
		WORK_US(game, 5);                                                                            \
	}

LOCK_PLACE(spawn_entities)
LOCK_PLACE(query_navmesh)
LOCK_PLACE(fetch_texture)
LOCK_PLACE(read_transforms)

/* KIND_READ: a small read that the page cache answers, or many that the disk must answer:
 * beyond the page cache, or through it when it is empty. */
#define READ_PLACE(name)                                                                                     \
	NOINLINE static void name(struct game *game)                                                         \
	{                                                                                                    \
		static _Thread_local uint8_t *block;                                                         \
		struct fault *fault = game_fault_here(game, PLACE_##name);                                   \
		uint32_t at = fault ? fault->variant : 0;                                                    \
                                                                                                             \
		if (!block)                                                                                  \
			block = aligned_alloc(4096, BLOCK);                                                  \
		if (pread(game->write_fd, block, 512, 0) < 0)                                                \
			abort();                                                                             \
		if (fault) {                                                                                 \
			int fd = fault->variant & 1 ? game->direct_fd : game->read_fd;                       \
                                                                                                             \
			posix_fadvise(game->read_fd, 0, 0, POSIX_FADV_DONTNEED);                             \
			game_fault_begin(fault);                                                             \
			while (game_now_ns() - fault->begin_ns < fault->want_ns) {                           \
				at = at * 1664525 + 1013904223;                                              \
				if (pread(fd, block, BLOCK, (off_t)(at % (CACHE_FILE / BLOCK)) * BLOCK) < 0) \
					abort();                                                             \
			}                                                                                    \
			game_fault_end(fault);                                                               \
		}                                                                                            \
		WORK_US(game, 20);                                                                           \
	}

READ_PLACE(load_level_chunk)
READ_PLACE(read_dialogue)
READ_PLACE(stream_texture)
READ_PLACE(load_shader)
READ_PLACE(decode_sound)

/* KIND_FSYNC: appends, so that the file system has to write more than the data. */
#define FSYNC_PLACE(name)                                                                                    \
	NOINLINE static void name(struct game *game)                                                         \
	{                                                                                                    \
		static _Thread_local uint8_t block[131072];                                                  \
		struct fault *fault = game_fault_here(game, PLACE_##name);                                   \
		off_t at = 65536;                                                                            \
                                                                                                             \
		if (fault) {                                                                                 \
			memset(block, (int)fault->variant, sizeof(block));                                   \
			game_fault_begin(fault);                                                             \
			while (game_now_ns() - fault->begin_ns < fault->want_ns)                             \
				if (pwrite(game->write_fd, block, sizeof(block), at += 131072) < 0 ||        \
				    (fault->variant & 1 ? fsync(game->write_fd)                              \
							: fdatasync(game->write_fd)))                        \
					abort();                                                             \
			game_fault_end(fault);                                                               \
			if (ftruncate(game->write_fd, 65536))                                                \
				abort();                                                                     \
		}                                                                                            \
		WORK_US(game, 15);                                                                           \
	}

FSYNC_PLACE(write_savegame)
FSYNC_PLACE(append_replay)
FSYNC_PLACE(store_shader_cache)

/* KIND_FAULT: the first page is always there, the others are not after the file was dropped from memory. */
#define FAULT_PLACE(name)                                                                                    \
	NOINLINE static void name(struct game *game)                                                         \
	{                                                                                                    \
		struct fault *fault = game_fault_here(game, PLACE_##name);                                   \
		const volatile uint8_t *map = game->map;                                                     \
		uint32_t at = fault ? fault->variant : 0, sum = map[0];                                      \
                                                                                                             \
		if (fault) {                                                                                 \
			madvise((void *)(uintptr_t)game->map, CACHE_FILE, MADV_DONTNEED);                    \
			posix_fadvise(game->map_fd, 0, 0, POSIX_FADV_DONTNEED);                              \
			game_fault_begin(fault);                                                             \
			while (game_now_ns() - fault->begin_ns < fault->want_ns) {                           \
				at = at * 1664525 + 1013904223;                                              \
				sum += map[(size_t)(at % (CACHE_FILE / STRIDE)) * STRIDE];                   \
			}                                                                                    \
			game_fault_end(fault);                                                               \
		}                                                                                            \
		WORK_US(game, 20 + (sum & 1));                                                               \
	}

FAULT_PLACE(walk_terrain)
FAULT_PLACE(scan_nav_tiles)
FAULT_PLACE(sample_lightmap)
FAULT_PLACE(page_in_mesh)

/* KIND_SLEEP */
#define SLEEP_PLACE(name)                                                                                    \
	NOINLINE static void name(struct game *game)                                                         \
	{                                                                                                    \
		struct fault *fault = game_fault_here(game, PLACE_##name);                                   \
                                                                                                             \
		if (fault) {                                                                                 \
			struct timespec pause = {.tv_nsec = (long)fault->want_ns};                           \
                                                                                                             \
			game_fault_begin(fault);                                                             \
			switch (fault->variant % 5) {                                                        \
			case 0:                                                                              \
				usleep((useconds_t)(fault->want_ns / 1000));                                 \
				break;                                                                       \
			case 1:                                                                              \
				nanosleep(&pause, NULL);                                                     \
				break;                                                                       \
			case 2:                                                                              \
				clock_nanosleep(CLOCK_BOOTTIME, 0, &pause, NULL);                            \
				break;                                                                       \
			case 3:                                                                              \
				poll(NULL, 0, (int)(fault->want_ns / 1000000));                              \
				break;                                                                       \
			default:                                                                             \
				select(0, NULL, NULL, NULL,                                                  \
				       &(struct timeval){.tv_usec = (suseconds_t)(fault->want_ns / 1000)});  \
				break;                                                                       \
			}                                                                                    \
			game_fault_end(fault);                                                               \
		}                                                                                            \
		WORK_US(game, 10);                                                                           \
	}

SLEEP_PLACE(throttle_network)
SLEEP_PLACE(retry_backoff)
SLEEP_PLACE(poll_controller)
SLEEP_PLACE(pace_overlay)
SLEEP_PLACE(yield_to_loader)

/* KIND_EVENT: asks the helper process now and then; in a bad frame the answer takes long. */
#define EVENT_PLACE(place_name)                                                                              \
	NOINLINE static void place_name(struct game *game)                                                   \
	{                                                                                                    \
		struct fault *fault = game_fault_here(game, PLACE_##place_name);                             \
		int fd = game->helper_fd[game_places[PLACE_##place_name].role];                              \
		struct request request = {.service = PLACE_##place_name - PLACE_query_matchmaker};           \
		struct answer answer;                                                                        \
                                                                                                             \
		if (!fault && (game->frame + PLACE_##place_name) % 4)                                        \
			return;                                                                              \
		if (fault) {                                                                                 \
			request.length_ns = fault->want_ns;                                                  \
			request.sleeps = fault->variant & 1;                                                 \
			game_fault_begin(fault);                                                             \
		}                                                                                            \
		struct pollfd ready = {.fd = fd, .events = POLLIN};                                          \
                                                                                                             \
		if (write(fd, &request, sizeof(request)) != sizeof(request) ||                               \
		    (fault && fault->variant & 2 && poll(&ready, 1, -1) < 0) ||                              \
		    read(fd, &answer, sizeof(answer)) != sizeof(answer))                                     \
			abort();                                                                             \
		if (fault) {                                                                                 \
			game_fault_end(fault);                                                               \
			fault->culprit = (struct culprit){.pid = answer.pid,                                 \
							  .tid = answer.tid,                                 \
							  .name = "assetd",                                  \
							  .function = helper_function(answer.service)};      \
			fault->has_culprit = true;                                                           \
		}                                                                                            \
		WORK_US(game, 10);                                                                           \
	}

EVENT_PLACE(query_matchmaker)
EVENT_PLACE(validate_inventory)
EVENT_PLACE(request_glyphs)
EVENT_PLACE(ask_overlay)

/* Waits for the next count of a gate; returns when it was given. */
#define GATE_PLACE(name, the_gate)                                                                           \
	NOINLINE static void name(struct game *game, uint64_t *seen)                                         \
	{                                                                                                    \
		struct gate *gate = &(the_gate);                                                             \
		struct fault *fault;                                                                         \
                                                                                                             \
		pthread_mutex_lock(&gate->mutex);                                                            \
		while (gate->count == *seen && !atomic_load(&game->stop))                                    \
			pthread_cond_wait(&gate->cond, &gate->mutex);                                        \
		*seen = gate->count;                                                                         \
		pthread_mutex_unlock(&gate->mutex);                                                          \
		fault = game_fault_here(game, PLACE_##name);                                                 \
		if (fault) {                                                                                 \
			game_fault_thread(fault);                                                            \
			fault->begin_ns = gate->signalled_ns;                                                \
			fault->end_ns = game_now_ns();                                                       \
			thread_unpin();                                                                      \
		}                                                                                            \
	}

GATE_PLACE(wait_for_frame, game->start_logic)
GATE_PLACE(wait_for_logic, game->logic_done)

void gate_open(struct gate *gate)
{
	pthread_mutex_lock(&gate->mutex);
	gate->count++;
	gate->signalled_ns = game_now_ns();
	pthread_cond_signal(&gate->cond);
	pthread_mutex_unlock(&gate->mutex);
}

/* KIND_RUN_QUEUE: before the other thread is woken, its CPU is given to the rival. It sleeps on the CPU that
 * it was pinned to; this thread must be on another one. */
static void gate_open_onto(struct game *game, struct gate *gate, struct fault *fault, pid_t tid, int own_cpu,
			   int cpu)
{
	uint64_t begin_ns = game_now_ns();

	thread_pin(gettid(), own_cpu);
	thread_pin(tid, cpu);
	rival_run(game, cpu, fault->want_ns, &fault->culprit);
	fault->has_culprit = true;
	while (!atomic_load(&game->rival->running) && game_now_ns() - begin_ns < 20000000)
		;
	gate_open(gate);
	thread_unpin();
}

/* In a frame in which one of them will be woken late, Logic is on the first CPU and Render on the last. */
#define LOGIC_CPU  0
#define RENDER_CPU ((int)sysconf(_SC_NPROCESSORS_ONLN) - 1)

NOINLINE static void update_physics(struct game *game)
{
	solve_constraints(game);
	integrate_bodies(game);
	WORK_US(game, 10);
}

NOINLINE static void update_ai(struct game *game)
{
	plan_paths(game);
	query_navmesh(game);
	scan_nav_tiles(game);
	evaluate_behaviour(game);
	WORK_US(game, 10);
}

NOINLINE static void stream_world(struct game *game)
{
	load_level_chunk(game);
	walk_terrain(game);
	read_dialogue(game);
	WORK_US(game, 5);
}

NOINLINE static void update_network(struct game *game)
{
	query_matchmaker(game);
	throttle_network(game);
	WORK_US(game, 5);
}

NOINLINE static void save_state(struct game *game)
{
	append_replay(game);
	retry_backoff(game);
	write_savegame(game);
	WORK_US(game, 5);
}

NOINLINE static void update_world(struct game *game)
{
	update_network(game);
	update_physics(game);
	spawn_entities(game);
	update_ai(game);
	run_scripts(game);
	validate_inventory(game);
	stream_world(game);
	save_state(game);
	WORK_US(game, 10);
}

NOINLINE static void logic_loop(struct game *game, uint64_t *seen)
{
	struct fault *fault;

	wait_for_frame(game, seen);
	if (atomic_load(&game->stop))
		return;
	update_world(game);
	fault = game_fault_here(game, PLACE_wait_for_logic);
	if (fault)
		gate_open_onto(game, &game->logic_done, fault, game->tids[ROLE_RENDER], LOGIC_CPU,
			       RENDER_CPU);
	else
		gate_open(&game->logic_done);
}

void logic_frame(struct game *game)
{
	static uint64_t seen;

	logic_loop(game, &seen);
	WORK_US(game, 1);
}

NOINLINE static void prepare_scene(struct game *game)
{
	read_transforms(game);
	cull_scene(game);
	sample_lightmap(game);
	skin_meshes(game);
	sort_draw_calls(game);
	WORK_US(game, 10);
}

NOINLINE static void poll_input(struct game *game)
{
	poll_controller(game);
	WORK_US(game, 5);
}

NOINLINE static void stream_assets(struct game *game)
{
	stream_texture(game);
	page_in_mesh(game);
	request_glyphs(game);
	load_shader(game);
	store_shader_cache(game);
	WORK_US(game, 5);
}

NOINLINE static void wait_for_jobs(struct game *game)
{
	struct job_queue *queue = &game->queue;

	pthread_mutex_lock(&queue->mutex);
	while (queue->open)
		pthread_cond_wait(&queue->done, &queue->mutex);
	pthread_mutex_unlock(&queue->mutex);
	WORK_US(game, 1);
}

NOINLINE static void submit_scene(struct game *game)
{
	fetch_texture(game);
	build_light_grid(game);
	ask_overlay(game);
	record_commands(game);
	pace_overlay(game);
	WORK_US(game, 10);
}

void render_frame(struct game *game)
{
	static uint64_t seen;
	struct fault *late = game_fault_here(game, PLACE_wait_for_frame);

	poll_input(game);
	if (late)
		gate_open_onto(game, &game->start_logic, late, game->tids[ROLE_LOGIC], RENDER_CPU, LOGIC_CPU);
	else
		gate_open(&game->start_logic);
	for (int i = 0; i < 10; i++)
		queue_put(&game->queue, (struct job){.type = (enum job_type)(i % JOB_HOLD)});
	wait_for_logic(game, &seen);
	prepare_scene(game);
	stream_assets(game);
	wait_for_jobs(game);
	submit_scene(game);
	WORK_US(game, 10);
}

NOINLINE static void test_occlusion(struct game *game)
{
	WORK_US(game, 110);
}

NOINLINE static void run_job(struct game *game, const struct job *job)
{
	static const holder holders[] = {compact_entities, rebuild_navmesh, upload_textures,
					 publish_transforms};
	size_t lock;

	switch (job->type) {
	case JOB_ANIMATE:
		animate_skeletons(game);
		break;
	case JOB_PARTICLES:
		simulate_particles(game);
		break;
	case JOB_OCCLUSION:
		test_occlusion(game);
		break;
	case JOB_SOUND:
		decode_sound(game);
		break;
	case JOB_YIELD:
		yield_to_loader(game);
		break;
	case JOB_HOLD:
		lock = lock_index(job->fault->place);
		holders[lock](game, job->fault, lock);
		break;
	}
	WORK_US(game, 1);
}

void *worker_main(void *argument)
{
	struct game *game = argument;
	struct job_queue *queue = &game->queue;

	pthread_mutex_lock(&queue->mutex);
	for (;;) {
		struct job job;

		while (queue->head == queue->tail && !queue->closed)
			pthread_cond_wait(&queue->work, &queue->mutex);
		if (queue->head == queue->tail)
			break;
		job = queue->jobs[queue->head++ % 32];
		pthread_mutex_unlock(&queue->mutex);
		run_job(game, &job);
		pthread_mutex_lock(&queue->mutex);
		if (--queue->open == 0)
			pthread_cond_broadcast(&queue->done);
	}
	pthread_mutex_unlock(&queue->mutex);
	return NULL;
}
