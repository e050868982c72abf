/* A program that presents a frame every 8 ms and goes wrong once, in a way and at a moment that are known:
 * for what lies in wait for it. Prints one line of truth for the fault: KIND BEGIN_NS END_NS TID HOLDER_TID.
 *
 *   stall KIND SECONDS SEED    KIND: none, frame, lock, rwlock, join, loop, sleep, row, hitches, scope,
 * run-queue
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noipa))
#endif

#define MS	  1000000ull
#define FRAME_NS  (8 * MS)
#define STALL_NS  (900 * MS)
#define WARMUP_NS (1500 * MS)

void stall_present(uint64_t frame);
void scope_begin(void);
void scope_end(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int hold, held, holder_tid;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t until_ns)
{
	struct timespec until = {.tv_sec = (time_t)(until_ns / (1000 * MS)),
				 .tv_nsec = (long)(until_ns % (1000 * MS))};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
		;
}

/* On one core, before everybody else: what a busy machine does must not look like a fault. */
static void pin(int cpu, int priority)
{
	struct sched_param param = {.sched_priority = priority};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) || sched_setscheduler(0, SCHED_FIFO, &param)) {
		perror("sched_setscheduler");
		exit(1);
	}
}

/* What frames end by; not empty, so that calls of it are not merged. */
NOINLINE void stall_present(uint64_t frame)
{
	__asm__ volatile("" ::"r"(frame) : "memory");
}

NOINLINE void scope_begin(void)
{
	__asm__ volatile("" ::: "memory");
}

NOINLINE void scope_end(void)
{
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void spin_for(uint64_t ns)
{
	uint64_t until = now_ns() + ns;

	while (now_ns() < until)
		__asm__ volatile("" ::: "memory");
}

NOINLINE static void rebuild_index(void)
{
	spin_for(STALL_NS);
}

/* Takes what it is told to, and does something else with it for long. */
static void *holder_main(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "Holder");
	pin(0, 10);
	holder_tid = (int)syscall(SYS_gettid);
	while (!hold)
		usleep(500);
	if (hold == 1)
		pthread_mutex_lock(&mutex);
	else if (hold == 2)
		pthread_rwlock_wrlock(&rwlock);
	held = 1;
	rebuild_index();
	if (hold == 1)
		pthread_mutex_unlock(&mutex);
	else if (hold == 2)
		pthread_rwlock_unlock(&rwlock);
	return NULL;
}

NOINLINE static void stall_in_lock(void)
{
	hold = 1;
	while (!held)
		usleep(100);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void stall_in_rwlock(void)
{
	hold = 2;
	while (!held)
		usleep(100);
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void stall_in_join(pthread_t holder)
{
	hold = 3;
	pthread_join(holder, NULL);
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void stall_in_loop(void)
{
	spin_for(STALL_NS);
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void stall_in_sleep(void)
{
	sleep_until(now_ns() + STALL_NS);
	__asm__ volatile("" ::: "memory");
}

/* A thread of high priority keeps the core for a while from one that has just been woken. */
static void *rival_main(void *unused)
{
	(void)unused;
	pin(0, 50);
	spin_for(600 * MS);
	return NULL;
}

static void *loader_main(void *unused)
{
	pthread_t rival;

	(void)unused;
	pin(0, 10);
	if (pthread_create(&rival, NULL, rival_main, NULL))
		exit(1);
	for (int i = 0; i < 650; i++)
		sleep_until(now_ns() + MS);
	pthread_join(rival, NULL);
	return NULL;
}

/* Its frames go on. */
static void keep_core(void)
{
	pthread_t loader;

	if (pthread_create(&loader, NULL, loader_main, NULL))
		exit(1);
	pthread_detach(loader);
}

static void fault(const char *kind, pthread_t *holder)
{
	if (!strcmp(kind, "frame"))
		spin_for(200 * MS);
	else if (!strcmp(kind, "lock"))
		stall_in_lock();
	else if (!strcmp(kind, "rwlock"))
		stall_in_rwlock();
	else if (!strcmp(kind, "join"))
		stall_in_join(*holder);
	else if (!strcmp(kind, "loop"))
		stall_in_loop();
	else if (!strcmp(kind, "sleep"))
		stall_in_sleep();
	else if (!strcmp(kind, "run-queue"))
		keep_core();
}

/* Faults that are spread over several frames, 0 ns: this frame is an ordinary one. */
static uint64_t extra_ns(const char *kind, uint64_t after)
{
	if (!strcmp(kind, "row") && after < 6)
		return 95 * MS;
	if (!strcmp(kind, "hitches") && after < 96 && after % 8 == 0)
		return 30 * MS;
	return 0;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "none";
	uint64_t start = now_ns(), end = start + (uint64_t)((argc > 2 ? atof(argv[2]) : 5) * 1e9), next,
		 began = 0;
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	uint64_t fault_ns = start + WARMUP_NS + seed * 2654435761u % (700 * MS), since = 0;
	pthread_t holder;

	if (pthread_create(&holder, NULL, holder_main, NULL))
		return 1;
	pthread_setname_np(pthread_self(), "Frames");
	pin(1, 20);
	next = now_ns();
	for (uint64_t frame = 0; now_ns() < end; frame++) {
		bool now = !began && now_ns() >= fault_ns;

		if (now)
			began = now_ns();
		scope_begin();
		spin_for(!strcmp(kind, "scope") && now ? 100 * MS : MS / 2);
		scope_end();
		if (now)
			fault(kind, &holder);
		if (began && extra_ns(kind, since))
			spin_for(extra_ns(kind, since));
		stall_present(frame);
		since += began != 0;
		if (now && strcmp(kind, "none")) {
			printf("%s %llu %llu %d %d\n", kind, (unsigned long long)began,
			       (unsigned long long)now_ns(), (int)getpid(), holder_tid);
			fflush(stdout);
		}
		next += FRAME_NS;
		if (next < now_ns())
			next = now_ns();
		sleep_until(next);
	}
	return 0;
}
