/* Which fault happens when, and the log of what really happened. */
#include "game.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP_FRAMES 90
#define LEAST_NS                                                                                             \
	8000000u /* a fault's length is chosen from the frame time, but at a high limit from this            \
		  */

const struct place_info game_places[PLACES] = {
#define PLACE(function, caller, role, kind) {#function, #caller, ROLE_##role, KIND_##kind},
	GAME_PLACES(PLACE)
#undef PLACE
};

const char *const game_kind_names[KINDS] = {"cpu",   "lock",  "read",	 "fsync",    "fault",
					    "sleep", "event", "preempt", "run_queue"};
const char *const game_cause_names[KINDS] = {"cpu",   "lock",  "io",	    "io",	"fault",
					     "sleep", "event", "preempted", "run_queue"};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t game_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t game_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* splitmix64 */
static uint64_t random_next(uint64_t *state)
{
	uint64_t value = *state += 0x9e3779b97f4a7c15ull;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ value >> 27) * 0x94d049bb133111ebull;
	return value ^ value >> 31;
}

uint32_t game_random(struct game *game)
{
	return (uint32_t)(random_next(&game->random) >> 32);
}

/* A place for a kind: preemption strikes wherever work is done. */
static enum place place_choose(struct game *game, enum kind kind)
{
	enum kind of = kind == KIND_PREEMPT ? KIND_CPU : kind;
	uint32_t count = 0, chosen;

	for (int i = 0; i < PLACES; i++)
		count += game_places[i].kind == of;
	chosen = game_random(game) % count;
	for (int i = 0; i < PLACES; i++)
		if (game_places[i].kind == of && chosen-- == 0)
			return (enum place)i;
	return 0;
}

/* All kinds equally often, in random order. CPU faults come twice: on either thread. */
bool game_plan(struct game *game)
{
	uint64_t unit_ns = game->period_ns > LEAST_NS ? game->period_ns : LEAST_NS;

	game->random = game->options.seed;
	game->plan = calloc(game->options.faults + 1, sizeof(*game->plan));
	if (!game->plan)
		return false;
	game->plan_count = game->options.faults;
	for (size_t i = 0; i < game->plan_count; i++)
		game->plan[i].kind = i % (KINDS + 1) == KINDS ? KIND_CPU : (enum kind)(i % (KINDS + 1));
	for (size_t i = game->plan_count; i > 1; i--) {
		size_t other = game_random(game) % i;
		struct fault swap = game->plan[i - 1];

		game->plan[i - 1] = game->plan[other];
		game->plan[other] = swap;
	}
	for (size_t i = 0; i < game->plan_count; i++) {
		struct fault *fault = &game->plan[i];

		fault->place = place_choose(game, fault->kind);
		fault->want_ns = unit_ns * (120 + game_random(game) % 130) / 100;
		fault->variant = game_random(game);
	}
	game->next_fault_frame = WARM_UP_FRAMES;
	return true;
}

void game_choose_fault(struct game *game)
{
	struct fault *fault = NULL;

	if (game->frame >= game->next_fault_frame && game->plan_next < game->plan_count) {
		fault = &game->plan[game->plan_next++];
		fault->frame = game->frame;
		game->next_fault_frame = game->frame + 8 + game_random(game) % 8;
	}
	atomic_store(&game->claimed, false);
	atomic_store(&game->fault, fault);
}

struct fault *game_fault_here(struct game *game, enum place place)
{
	struct fault *fault = atomic_load_explicit(&game->fault, memory_order_acquire);

	if (!fault || fault->place != place)
		return NULL;
	if (game_places[place].role == ROLE_WORKER && atomic_exchange(&game->claimed, true))
		return NULL; /* another worker has it */
	return fault;
}

/* Uniform in 0..2 / rate: the mean is as asked for, and hitches do not come in step with anything. */
static void hitch_plan(struct game *game, uint64_t now_ns)
{
	game->next_hitch_ns = now_ns + (uint64_t)(120e9 / game->options.hitches_per_min *
						  (game_random(game) / 4294967296.0));
}

bool game_hitch_now(struct game *game)
{
	uint64_t now_ns = game_now_ns();

	if (game->options.slow_cpu >= 0 && sched_getcpu() == game->options.slow_cpu &&
	    game_random(game) % 16 == 0)
		return true;
	if (game->options.hitches_per_min > 0) {
		bool due = game->next_hitch_ns && now_ns >= game->next_hitch_ns;

		if (due || !game->next_hitch_ns)
			hitch_plan(game, now_ns);
		if (due)
			return true;
	}
	if (!game->options.stutter_ns || now_ns < game->next_stutter_ns)
		return false;
	game->next_stutter_ns += game->options.stutter_ns;
	if (game->next_stutter_ns > now_ns)
		return true;
	game->next_stutter_ns = now_ns + game->options.stutter_ns; /* the first time */
	return false;
}

void game_fault_thread(struct fault *fault)
{
	fault->tid = gettid();
	pthread_getname_np(pthread_self(), fault->name, sizeof(fault->name));
}

void game_fault_begin(struct fault *fault)
{
	game_fault_thread(fault);
	fault->cpu_ns = game_cpu_ns();
	fault->begin_ns = game_now_ns();
}

void game_fault_end(struct fault *fault)
{
	fault->end_ns = game_now_ns();
	fault->cpu_ns = game_cpu_ns() - fault->cpu_ns;
}

/* schedstat: CPU time, time in the run queue (ns), number of turns. */
static void schedstat_read(pid_t tid, uint64_t *cpu_ns, uint64_t *delay_ns)
{
	char path[64], text[128];
	ssize_t size;
	int fd;

	*cpu_ns = *delay_ns = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size <= 0)
		return;
	text[size] = 0;
	sscanf(text, "%" SCNu64 " %" SCNu64, cpu_ns, delay_ns);
}

void game_thread_end(struct game *game, enum role role)
{
	schedstat_read(game->tids[role], &game->final_cpu_ns[role], &game->final_delay_ns[role]);
}

void game_frame_end(struct game *game, uint64_t present_ns)
{
	static uint64_t last_ns, last_delay_ns[2];
	struct frame_truth *frame;
	uint64_t delay_ns[2], cpu_ns;

	for (int i = 0; i < 2; i++)
		schedstat_read(game->tids[i], &cpu_ns, &delay_ns[i]);
	if (game->frame_count == game->frame_capacity) {
		size_t capacity = game->frame_capacity ? game->frame_capacity * 2 : 65536;
		struct frame_truth *grown = realloc(game->frames, capacity * sizeof(*grown));

		if (!grown)
			abort();
		game->frames = grown;
		game->frame_capacity = capacity;
	}
	frame = &game->frames[game->frame_count++];
	*frame = (struct frame_truth){
		.start_ns = last_ns, .end_ns = present_ns, .limiter_ns = game->limiter_ns};
	for (int i = 0; i < 2; i++) {
		frame->run_delay_ns[i] = delay_ns[i] - last_delay_ns[i];
		last_delay_ns[i] = delay_ns[i];
	}
	last_ns = present_ns;
}

/* Whether a fault was what it was meant to be: long enough, and by its own means. */
static const char *fault_missing(const struct fault *fault)
{
	uint64_t wall_ns = fault->end_ns - fault->begin_ns, idle_ns = wall_ns - fault->cpu_ns;

	if (!fault->end_ns)
		return "its place was not passed";
	if (fault->kind == KIND_CPU)
		return fault->cpu_ns * 10 < fault->want_ns * 9 ? "too little work" : NULL;
	if (wall_ns * 10 < fault->want_ns * 6)
		return "too short";
	if (fault->kind == KIND_FAULT)
		return NULL; /* handling a fault is work, too */
	return idle_ns * 2 < wall_ns ? "the thread worked instead of waiting" : NULL;
}

static void fault_write(FILE *file, const struct fault *fault)
{
	const struct place_info *place = &game_places[fault->place];
	const char *missing = fault_missing(fault);

	fprintf(file,
		"{\"type\":\"fault\",\"frame\":%" PRIu64 ",\"kind\":\"%s\",\"cause\":\"%s\","
		"\"thread\":{\"pid\":%d,\"tid\":%d,\"name\":\"%s\"},\"place\":\"%s\",\"caller\":\"%s\","
		"\"begin_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64 ",\"cpu_ns\":%" PRIu64 ",\"want_ns\":%" PRIu64,
		fault->frame, game_kind_names[fault->kind], game_cause_names[fault->kind], getpid(),
		fault->tid, fault->name, place->function, place->caller, fault->begin_ns, fault->end_ns,
		fault->cpu_ns, fault->want_ns);
	if (fault->has_culprit && fault->culprit.function)
		fprintf(file, ",\"by\":{\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"function\":\"%s\"}",
			fault->culprit.pid, fault->culprit.tid, fault->culprit.name, fault->culprit.function);
	else if (fault->has_culprit)
		fprintf(file, ",\"by\":{\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"function\":null}",
			fault->culprit.pid, fault->culprit.tid, fault->culprit.name);
	else
		fprintf(file, ",\"by\":null");
	if (missing)
		fprintf(file, ",\"arose\":false,\"why\":\"%s\"}\n", missing);
	else
		fprintf(file, ",\"arose\":true}\n");
}

bool game_write_truth(struct game *game, uint64_t start_ns, uint64_t end_ns)
{
	static const char *const roles[] = {"Logic", "Render"};
	FILE *file = fopen(game->options.truth_path, "w");

	if (!file)
		return false;
	fprintf(file,
		"{\"type\":\"start\",\"pid\":%d,\"seed\":%" PRIu64 ",\"period_ns\":%" PRIu64
		",\"start_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64 "}\n",
		getpid(), game->options.seed, game->period_ns, start_ns, end_ns);
	for (int i = 0; i < 2; i++)
		fprintf(file,
			"{\"type\":\"thread\",\"tid\":%d,\"name\":\"%s\",\"cpu_ns\":%" PRIu64
			",\"run_delay_ns\":%" PRIu64 "}\n",
			game->tids[i], roles[i], game->final_cpu_ns[i], game->final_delay_ns[i]);
	for (size_t i = 0; i < game->plan_next; i++)
		fault_write(file, &game->plan[i]);
	for (size_t i = 1; i < game->frame_count; i++) /* the first has no beginning */
		fprintf(file,
			"{\"type\":\"frame\",\"frame\":%zu,\"start_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64
			",\"logic_delay_ns\":%" PRIu64 ",\"render_delay_ns\":%" PRIu64
			",\"limiter_ns\":%" PRIu64 "}\n",
			i, game->frames[i].start_ns, game->frames[i].end_ns, game->frames[i].run_delay_ns[0],
			game->frames[i].run_delay_ns[1], game->frames[i].limiter_ns);
	return fclose(file) == 0;
}
