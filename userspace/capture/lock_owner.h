/* Who holds the lock that a thread waits for, from the memory of the process. */
#ifndef FPERF_CAPTURE_LOCK_OWNER_H
#define FPERF_CAPTURE_LOCK_OWNER_H

#include <stdint.h>

/* A system call that a thread waits in. */
struct fperf_lock_wait {
	uint32_t pid, tid;
	int32_t syscall;
	uint64_t args[3];
};

/* The thread that the waiting one needs to let go of a mutex or a read-write lock (glibc, musl, and mutexes
 * of bionic that keep an owner), or to end (pthread_join). 0: not a lock, its owner is not kept, or not a
 * thread of the process. What is read is compared with the threads that the process has: a wrong guess about
 * the layout does not come out as an owner, unless it is one by chance. */
uint32_t fperf_lock_owner__find(const struct fperf_lock_wait *wait);

#endif
