#include "capture/lock_owner.h"

#include "capture/proc_files.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define OWNER_MASK 0x3fffffffu /* FUTEX_TID_MASK */

enum wait_kind {
	WAIT_PLAIN = 1,	 /* FUTEX_WAIT: mutexes of glibc and musl */
	WAIT_BITSET = 2, /* FUTEX_WAIT_BITSET: read-write locks of glibc, pthread_join, mutexes of bionic */
	WAIT_PI = 4,	 /* FUTEX_LOCK_PI: the word holds the owner */
};

/* Where the owner's thread id lies, seen from the word that is waited on. Layouts: glibc
 * sysdeps/nptl/bits/struct_mutex.h and struct_rwlock.h (x86-64 and arm64 agree), musl
 * src/internal/pthread_impl.h, bionic libc/bionic/pthread_mutex.cpp, all for 64-bit processes. */
static const struct {
	uint8_t kinds; /* enum wait_kind */
	int8_t offset;
} places[] = {
	{WAIT_PI | WAIT_PLAIN | WAIT_BITSET,
	 0},				/* PI mutexes; musl: _m_lock; the tid that pthread_join waits for */
	{WAIT_PLAIN, 8},		/* glibc mutex: __lock at 0, __owner at 8 */
	{WAIT_PLAIN | WAIT_BITSET, 4},	/* bionic mutex: state at 0, owner_tid at 4 */
	{WAIT_PLAIN | WAIT_BITSET, 16}, /* glibc rwlock: __wrphase_futex at 8, __cur_writer at 24 */
	{WAIT_PLAIN | WAIT_BITSET, 12}, /* glibc rwlock: __writers_futex at 12 */
};

static uint8_t kind_of(const struct fperf_lock_wait *wait)
{
	if (wait->syscall != SYS_futex)
		return 0;
	switch (wait->args[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
		return WAIT_PLAIN;
	case FUTEX_WAIT_BITSET:
		return WAIT_BITSET;
	case FUTEX_LOCK_PI:
	case 13: /* FUTEX_LOCK_PI2 (5.14) */
		return WAIT_PI;
	default:
		return 0;
	}
}

static bool word_read(uint32_t pid, uint64_t address, uint32_t *word)
{
	struct iovec to = {.iov_base = word, .iov_len = sizeof(*word)};
	struct iovec from = {.iov_base = (void *)(uintptr_t)address, .iov_len = sizeof(*word)};

	return process_vm_readv((pid_t)pid, &to, 1, &from, 1, 0) == (ssize_t)sizeof(*word);
}

static bool is_thread(uint32_t pid, uint32_t tid)
{
	return !syscall(SYS_tgkill, pid, tid, 0) || errno == EPERM;
}

/* In a PID namespace of its own, a process knows its threads by other numbers. */
static uint32_t thread_of_inner(uint32_t pid, uint32_t inner)
{
	struct fperf_error gone;
	uint32_t *tids, found = 0;
	size_t count;

	if (fperf_proc__threads(pid, &tids, &count, &gone))
		return 0;
	for (size_t i = 0; !found && i < count; i++)
		if (fperf_proc__namespace_tid(pid, tids[i]) == inner)
			found = tids[i];
	free(tids);
	return found;
}

uint32_t fperf_lock_owner__find(const struct fperf_lock_wait *wait)
{
	uint8_t kind = kind_of(wait);
	uint32_t inner = kind ? fperf_proc__namespace_pid(wait->pid) : 0;
	bool foreign = inner && inner != wait->pid;

	for (size_t i = 0; kind && i < sizeof(places) / sizeof(places[0]); i++) {
		uint32_t word, tid;

		if (!(places[i].kinds & kind) ||
		    !word_read(wait->pid, wait->args[0] + (uint64_t)(int64_t)places[i].offset, &word))
			continue;
		tid = word & OWNER_MASK;
		/* A count or a flag is small; the first processes of a namespace are no games. */
		if (!tid || (!foreign && tid < 100 && tid != wait->pid))
			continue;
		tid = foreign ? thread_of_inner(wait->pid, tid) : tid;
		if (tid && tid != wait->tid && is_thread(wait->pid, tid))
			return tid;
	}
	return 0;
}
