#include "capture/lock_owner.h"

#include <criterion/criterion.h>

#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

TestSuite(capture_lock_owner);

/* Locks as this machine's C library lays them out, held by a thread of this process. */
struct held {
	pthread_mutex_t mutex, inheriting;
	pthread_rwlock_t rwlock;
	sem_t taken, over;
	uint32_t tid;
};

static void *hold(void *context)
{
	struct held *held = context;

	held->tid = (uint32_t)syscall(SYS_gettid);
	pthread_mutex_lock(&held->mutex);
	pthread_mutex_lock(&held->inheriting);
	pthread_rwlock_wrlock(&held->rwlock);
	sem_post(&held->taken);
	sem_wait(&held->over);
	pthread_rwlock_unlock(&held->rwlock);
	pthread_mutex_unlock(&held->inheriting);
	pthread_mutex_unlock(&held->mutex);
	return NULL;
}

static uint32_t owner(const void *word, int operation)
{
	struct fperf_lock_wait wait = {
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)syscall(SYS_gettid),
		.syscall = SYS_futex,
		.args = {(uintptr_t)word, (uint64_t)operation | FUTEX_PRIVATE_FLAG, 2},
	};

	return fperf_lock_owner__find(&wait);
}

Test(capture_lock_owner, the_holder_is_found)
{
	static struct held held = {.mutex = PTHREAD_MUTEX_INITIALIZER, .rwlock = PTHREAD_RWLOCK_INITIALIZER};
	pthread_mutexattr_t attributes;
	pthread_t thread;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&held.inheriting, &attributes);
	sem_init(&held.taken, 0, 0);
	sem_init(&held.over, 0, 0);
	cr_assert_eq(pthread_create(&thread, NULL, hold, &held), 0);
	sem_wait(&held.taken);
	cr_assert_eq(owner(&held.mutex, FUTEX_WAIT), held.tid);
	cr_assert_eq(owner(&held.inheriting, FUTEX_LOCK_PI), held.tid);
	cr_assert_eq(owner((char *)&held.rwlock + 8, FUTEX_WAIT_BITSET), held.tid, "a reader waits");
	cr_assert_eq(owner((char *)&held.rwlock + 12, FUTEX_WAIT_BITSET), held.tid, "a writer waits");
	sem_post(&held.over);
	pthread_join(thread, NULL);
	cr_assert_eq(owner(&held.mutex, FUTEX_WAIT), 0, "nobody holds it any more");
}

Test(capture_lock_owner, what_is_no_lock_has_no_owner)
{
	static uint32_t words[8] = {2, 1, 0x7ffffff0, 3, 99, 5, 6, 7};
	struct fperf_lock_wait wait = {.pid = (uint32_t)getpid(), .tid = 1, .syscall = SYS_read};

	cr_assert_eq(owner(words, FUTEX_WAIT), 0, "numbers that are no threads");
	cr_assert_eq(owner((void *)8, FUTEX_WAIT), 0, "an address that cannot be read");
	words[2] = 1; /* a process, but not a thread of this one */
	cr_assert_eq(owner(words, FUTEX_WAIT), 0);
	cr_assert_eq(fperf_lock_owner__find(&wait), 0, "not a futex");
	wait = (struct fperf_lock_wait){.pid = 0x7ffffff0, .tid = 1, .syscall = SYS_futex};
	cr_assert_eq(fperf_lock_owner__find(&wait), 0, "no such process");
}
