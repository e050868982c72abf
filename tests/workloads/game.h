/* A program built like a game, which injects faults of known kind, place and length and logs the truth.
 *
 * Threads: Logic computes the world, Render draws and presents it, three workers take jobs from a queue,
 * Audio mixes in short periods. A helper process answers requests, a rival process takes a CPU at real-time
 * priority when told. Each frame passes through the same places (functions) and does a little ordinary work
 * in each; a fault is more of it, or something else, in one of them.
 */
#ifndef TESTS_WORKLOADS_GAME_H
#define TESTS_WORKLOADS_GAME_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noipa))
#endif
#define WORKERS	   3
#define CACHE_FILE (64u << 20)	/* bytes of the file that is read and mapped */
#define BLOCK	   (1u << 20)	/* bytes of one read */
#define STRIDE	   (128u << 10) /* between touched pages: beyond what the kernel reads ahead */

/* What a fault is, and the cause that a profiler should name. */
enum kind {
	KIND_CPU,	/* more work */
	KIND_LOCK,	/* a mutex is held by a worker */
	KIND_READ,	/* reads that bypass the page cache */
	KIND_FSYNC,	/* writes that are waited for */
	KIND_FAULT,	/* first touch of a file mapping that is not in memory */
	KIND_SLEEP,	/* sleeps */
	KIND_EVENT,	/* slow answer of the helper process */
	KIND_PREEMPT,	/* the rival takes the core in the middle of work */
	KIND_RUN_QUEUE, /* the rival holds the core on which the thread is woken */
	KINDS
};

enum role { ROLE_LOGIC, ROLE_RENDER, ROLE_WORKER, ROLES };

/* Every place where a fault can happen: function, the function that calls it, thread, kind. */
#define GAME_PLACES(X)                                                                                       \
	X(solve_constraints, update_physics, LOGIC, CPU)                                                     \
	X(integrate_bodies, update_physics, LOGIC, CPU)                                                      \
	X(plan_paths, update_ai, LOGIC, CPU)                                                                 \
	X(evaluate_behaviour, update_ai, LOGIC, CPU)                                                         \
	X(run_scripts, update_world, LOGIC, CPU)                                                             \
	X(cull_scene, prepare_scene, RENDER, CPU)                                                            \
	X(skin_meshes, prepare_scene, RENDER, CPU)                                                           \
	X(sort_draw_calls, prepare_scene, RENDER, CPU)                                                       \
	X(build_light_grid, submit_scene, RENDER, CPU)                                                       \
	X(record_commands, submit_scene, RENDER, CPU)                                                        \
	X(animate_skeletons, run_job, WORKER, CPU)                                                           \
	X(simulate_particles, run_job, WORKER, CPU)                                                          \
	X(spawn_entities, update_world, LOGIC, LOCK)                                                         \
	X(query_navmesh, update_ai, LOGIC, LOCK)                                                             \
	X(fetch_texture, submit_scene, RENDER, LOCK)                                                         \
	X(read_transforms, prepare_scene, RENDER, LOCK)                                                      \
	X(load_level_chunk, stream_world, LOGIC, READ)                                                       \
	X(read_dialogue, stream_world, LOGIC, READ)                                                          \
	X(stream_texture, stream_assets, RENDER, READ)                                                       \
	X(load_shader, stream_assets, RENDER, READ)                                                          \
	X(decode_sound, run_job, WORKER, READ)                                                               \
	X(write_savegame, save_state, LOGIC, FSYNC)                                                          \
	X(append_replay, save_state, LOGIC, FSYNC)                                                           \
	X(store_shader_cache, stream_assets, RENDER, FSYNC)                                                  \
	X(walk_terrain, stream_world, LOGIC, FAULT)                                                          \
	X(scan_nav_tiles, update_ai, LOGIC, FAULT)                                                           \
	X(sample_lightmap, prepare_scene, RENDER, FAULT)                                                     \
	X(page_in_mesh, stream_assets, RENDER, FAULT)                                                        \
	X(throttle_network, update_network, LOGIC, SLEEP)                                                    \
	X(retry_backoff, save_state, LOGIC, SLEEP)                                                           \
	X(poll_controller, poll_input, RENDER, SLEEP)                                                        \
	X(pace_overlay, submit_scene, RENDER, SLEEP)                                                         \
	X(yield_to_loader, run_job, WORKER, SLEEP)                                                           \
	X(query_matchmaker, update_network, LOGIC, EVENT)                                                    \
	X(validate_inventory, update_world, LOGIC, EVENT)                                                    \
	X(request_glyphs, stream_assets, RENDER, EVENT)                                                      \
	X(ask_overlay, submit_scene, RENDER, EVENT)                                                          \
	X(wait_for_frame, logic_loop, LOGIC, RUN_QUEUE)                                                      \
	X(wait_for_logic, render_frame, RENDER, RUN_QUEUE)

enum place {
#define PLACE(function, caller, role, kind) PLACE_##function,
	GAME_PLACES(PLACE)
#undef PLACE
		PLACES
};

struct place_info {
	const char *function, *caller;
	enum role role;
	enum kind kind;
};

extern const struct place_info game_places[PLACES];
extern const char *const game_kind_names[KINDS];
extern const char *const game_cause_names[KINDS]; /* as frameperf names them */

/* Who keeps a thread waiting, as far as the game knows. */
struct culprit {
	pid_t pid, tid;
	char name[16];
	const char *function; /* NULL: not known */
};

struct fault {
	enum kind kind;
	enum place place;
	uint64_t frame;
	uint64_t want_ns; /* length */
	uint32_t variant; /* random, for whatever the kind can choose */
	/* Filled in by the thread that suffers. */
	pid_t tid;
	char name[16];
	uint64_t begin_ns, end_ns;
	uint64_t cpu_ns; /* CPU time of the thread in between */
	bool has_culprit;
	struct culprit culprit;
};

struct frame_truth {
	uint64_t start_ns, end_ns; /* its two presents */
	uint64_t run_delay_ns[2];  /* of ROLE_LOGIC and ROLE_RENDER, as the kernel accounts it */
	uint64_t limiter_ns;	   /* waited for the frame's time to come */
};

/* Shared with the rival process. */
struct rival_control {
	atomic_uint command; /* number of the last order; also the futex it waits on */
	atomic_uint running; /* number of the order that it works on, 0: none */
	atomic_int cpu;
	atomic_ullong length_ns;
	atomic_int pid, tid;
	char name[16];
};

struct request { /* to the helper */
	uint32_t service;
	uint32_t sleeps;
	uint64_t length_ns;
};

struct answer {
	uint32_t service;
	pid_t pid, tid;
};

/* A signal from one thread to another, passed in steps so that none is missed. */
struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint64_t count;
	uint64_t signalled_ns; /* when the last count was added */
};

enum job_type { JOB_ANIMATE, JOB_PARTICLES, JOB_OCCLUSION, JOB_SOUND, JOB_YIELD, JOB_HOLD };

struct job {
	enum job_type type;
	struct fault *fault; /* JOB_HOLD: for whom */
};

struct job_queue {
	pthread_mutex_t mutex;
	pthread_cond_t work, done;
	struct job jobs[32];
	size_t head, tail, open; /* open: taken or waiting */
	bool closed;
};

struct options {
	uint64_t seed;
	double rate_hz, seconds;
	uint64_t faults;
	const char *truth_path, *directory, *rival_path;
	double iterations_per_us; /* of WORK(), for equal work in every run; 0: measured */
	/* What makes this build slower than another, all of it zero by default. */
	enum place more_place; /* does more_work more of its ordinary work: 0.05 is 5 % */
	double more_work;
	double hitches_per_min; /* at random times, of HITCH_NS */
	uint64_t lock_wait_ns;	/* in fetch_texture, in every frame */
	uint64_t stutter_ns;	/* a hitch each time this much has passed */
	int slow_cpu;		/* on this CPU evaluate_behaviour now and then takes HITCH_NS; -1: none */
	const char *clock_path; /* file of one uint32_t: how much longer work takes, in percent */
};

#define HITCH_NS 30000000u /* in evaluate_behaviour */

struct game {
	struct options options;
	uint64_t period_ns;
	double iterations_per_us; /* of WORK() */

	struct fault *plan; /* in order */
	size_t plan_count, plan_next;
	uint64_t next_fault_frame;
	_Atomic(struct fault *) fault; /* of the current frame, NULL: an ordinary one */
	const volatile uint32_t *clock;
	double work[PLACES]; /* factor of the ordinary work; 1 but for more_place */
	uint64_t next_hitch_ns, next_stutter_ns;

	struct frame_truth *frames;
	size_t frame_count, frame_capacity;
	uint64_t frame; /* number of the current one */
	uint64_t limiter_ns;

	struct gate start_logic, logic_done;
	struct job_queue queue;
	pthread_mutex_t locks[4];	  /* one for each place of KIND_LOCK */
	pthread_rwlock_t shared_locks[4]; /* every other fault is one of these */
	atomic_bool lock_held;
	atomic_bool claimed; /* the fault of the frame, by the worker that does it */
	atomic_bool stop;

	int direct_fd, read_fd, write_fd, map_fd;
	const uint8_t *map;
	int helper_fd[2]; /* of ROLE_LOGIC and ROLE_RENDER */
	pid_t helper_pid;
	struct rival_control *rival;
	pid_t rival_pid; /* 0: started by somebody else */

	pid_t tids[ROLES];
	uint64_t final_cpu_ns[2], final_delay_ns[2]; /* of ROLE_LOGIC and ROLE_RENDER when they ended */
	uint64_t random;
};

/* Real work in the function that contains it: a macro, so that there is no other function to be found. */
#define WORK(iterations)                                                                                     \
	do {                                                                                                 \
		static _Thread_local float data_[1024] = {1.0f};                                             \
		for (uint64_t i_ = 0, n_ = (iterations); i_ < n_; i_++)                                      \
			data_[i_ & 1023] =                                                                   \
				data_[i_ & 1023] * 0.999f + data_[(i_ * 7 + 3) & 1023] * 0.001f + 1e-6f;     \
		__asm__ volatile("" ::: "memory");                                                           \
	} while (0)

/* WORK() in pieces until the thread has used so much CPU time. */
#define WORK_FOR(game, ns)                                                                                   \
	do {                                                                                                 \
		uint64_t until_ = game_cpu_ns() + (ns);                                                      \
		while (game_cpu_ns() < until_)                                                               \
			WORK((uint64_t)((game)->iterations_per_us * 50));                                    \
	} while (0)

#define WORK_US(game, us) WORK((uint64_t)((game)->iterations_per_us * (us) * *(game)->clock / 100))

/* game_truth.c */
uint64_t game_now_ns(void);
uint64_t game_cpu_ns(void); /* of the calling thread */
uint32_t game_random(struct game *game);
bool game_plan(struct game *game);
void game_choose_fault(struct game *game);		 /* at the beginning of a frame */
void game_thread_end(struct game *game, enum role role); /* by the thread itself, as its last act */
void game_frame_end(struct game *game, uint64_t present_ns);
struct fault *game_fault_here(struct game *game, enum place place); /* NULL: nothing happens here now */
void game_fault_thread(struct fault *fault); /* the calling thread is the one that suffers */
void game_fault_begin(struct fault *fault);
void game_fault_end(struct fault *fault);
bool game_hitch_now(struct game *game); /* a hitch of the options is due: true once */
bool game_write_truth(struct game *game, uint64_t start_ns, uint64_t end_ns);

/* game_places.c */
void logic_frame(struct game *game);
void render_frame(struct game *game);
void *worker_main(void *game);
void gate_open(struct gate *gate);

/* game_peers.c */
bool helper_start(struct game *game);
void helper_stop(struct game *game);
const char *helper_function(uint32_t service);
bool rival_start(struct game *game);
void rival_stop(struct game *game);
void rival_run(struct game *game, int cpu, uint64_t length_ns, struct culprit *culprit); /* returns at once */
int rival_main(int argc, char **argv); /* the rival as a program of its own */
void thread_pin(pid_t tid, int cpu);
void thread_unpin(void); /* the calling thread */

#endif
