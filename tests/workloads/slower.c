/* LD_PRELOAD: makes a game that nobody can rebuild slower in known ways, once a frame, at SDL_RenderPresent
 * or SDL_GL_SwapWindow. From the environment: SLOWER_WORK      rounds of work in draw_overlay()
 *   SLOWER_LOCK_MS   waits for a lock that another thread holds so long, in draw_overlay_locked()
 *   SLOWER_HITCHES   hitches of 30 ms a minute, in load_overlay()
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noipa))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, order = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ordered = PTHREAD_COND_INITIALIZER, taken = PTHREAD_COND_INITIALIZER;
static bool wanted, held;
static struct timespec lock_time;

static double setting(const char *name)
{
	const char *value = getenv(name);

	return value ? strtod(value, NULL) : 0;
}

NOINLINE void draw_overlay(uint64_t rounds)
{
	volatile float value = 1;

	while (rounds--)
		value = value * 0.999f + 0.001f;
}

NOINLINE void draw_overlay_locked(void)
{
	pthread_mutex_lock(&order);
	wanted = true;
	pthread_cond_signal(&ordered);
	while (!held)
		pthread_cond_wait(&taken, &order);
	held = false;
	pthread_mutex_unlock(&order);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	__asm__ volatile("" ::: "memory");
}

static void *holder(void *argument)
{
	for (;;) {
		pthread_mutex_lock(&order);
		while (!wanted)
			pthread_cond_wait(&ordered, &order);
		wanted = false;
		pthread_mutex_lock(&lock);
		held = true;
		pthread_cond_signal(&taken);
		pthread_mutex_unlock(&order);
		nanosleep(&lock_time, NULL);
		pthread_mutex_unlock(&lock);
	}
	return argument;
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

NOINLINE void load_overlay(void)
{
	double end = now_s() + 0.03;

	while (now_s() < end)
		draw_overlay(10000);
}

static void frame(void)
{
	static double rounds = -1, lock_ms, hitches, next_hitch;
	static unsigned int random = 1;
	pthread_t thread;

	if (rounds < 0) {
		random = (unsigned int)(now_s() * 1000);
		rounds = setting("SLOWER_WORK");
		lock_ms = setting("SLOWER_LOCK_MS");
		hitches = setting("SLOWER_HITCHES");
		lock_time.tv_nsec = (long)(lock_ms * 1e6);
		if (lock_ms > 0 && pthread_create(&thread, NULL, holder, NULL))
			abort();
	}
	draw_overlay((uint64_t)rounds);
	if (lock_ms > 0)
		draw_overlay_locked();
	if (hitches <= 0)
		return;
	if (next_hitch > 0 && now_s() >= next_hitch)
		load_overlay();
	else if (next_hitch > 0)
		return;
	next_hitch = now_s() + 120 / hitches * rand_r(&random) / RAND_MAX;
}

void SDL_RenderPresent(void *renderer)
{
	static void (*next)(void *);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "SDL_RenderPresent");
	frame();
	next(renderer);
}

void SDL_GL_SwapWindow(void *window)
{
	static void (*next)(void *);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "SDL_GL_SwapWindow");
	frame();
	next(window);
}
