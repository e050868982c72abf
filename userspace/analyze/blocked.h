/* What a thread was blocked on, told from facts: the kernel stack at switch-out, the system call and its
 * arguments, the task state, and names in the user stack. */
#ifndef FPERF_ANALYZE_BLOCKED_H
#define FPERF_ANALYZE_BLOCKED_H

#include "analyze/analysis.h"

enum fperf_arch { FPERF_ARCH_OTHER, FPERF_ARCH_X86_64, FPERF_ARCH_ARM64 };

/* What one function name says about a wait. */
enum fperf_blocked_hint {
	FPERF_HINT_NONE,
	FPERF_HINT_LOCK,
	FPERF_HINT_IO,
	FPERF_HINT_GPU,
	FPERF_HINT_SLEEP,
	FPERF_HINT_EVENT,
	FPERF_HINT_FAULT, /* the fault's own wait, whatever is below it */
	FPERF_HINT_FUTEX, /* the futex operation and the user stack decide */
	FPERF_HINT_POLL,  /* an event, or a sleep when it waits for no file */
	FPERF_HINT_FILE,  /* reads and writes: a file when uninterruptible, else a pipe or socket */
	FPERF_HINT_FCNTL, /* a file lock, when the command says so */
};

/* "x86_64", "aarch64" or "arm64"; anything else or NULL is FPERF_ARCH_OTHER. */
enum fperf_arch fperf_arch__from_name(const char *name);

/* By the name of a kernel function (with or without compiler suffixes); by that of a user function. */
enum fperf_blocked_hint fperf_blocked__kernel_hint(const char *function);
enum fperf_blocked_hint fperf_blocked__user_hint(const char *function);

/* Kernel functions that tell where a sample or a wait is, by name. */
bool fperf_blocked__is_scheduler(const char *function);	    /* __schedule and what is wrapped around it */
bool fperf_blocked__is_fault_entry(const char *function);   /* page fault exception */
bool fperf_blocked__is_syscall_entry(const char *function); /* system call dispatch */
bool fperf_blocked__is_io_work(const char *function); /* file systems and block layer, not the copying */

struct fperf_blocked_facts {
	enum fperf_arch arch;
	int32_t syscall; /* -1: none or not known */
	uint64_t args[3];
	uint32_t task_state; /* bits as in the record */
	bool iowait;
	bool fault;			/* the kernel stack shows a page fault outside of a system call */
	bool woken_by_thread;		/* by a thread of the target */
	uint8_t kernel_hint, user_hint; /* enum fperf_blocked_hint */
};

/* One of the blocked states, FPERF_STATE_OTHER when the facts do not tell. */
enum fperf_state fperf_blocked__classify(const struct fperf_blocked_facts *facts);

#endif
