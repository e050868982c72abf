/* Wire records: what the BPF programs write into the ring maps and the recorder reads. Shared by both sides;
 * never stored in files, so it may change freely. Native endianness. All times are CLOCK_MONOTONIC
 * nanoseconds (bpf_ktime_get_ns), pids and tids are those of the initial PID namespace.
 */
#ifndef FRAMEPERF_WIRE_H
#define FRAMEPERF_WIRE_H

#ifndef __VMLINUX_H__
#include <stdint.h>
typedef uint8_t fperf_u8;
typedef uint16_t fperf_u16;
typedef uint32_t fperf_u32;
typedef int32_t fperf_s32;
typedef uint64_t fperf_u64;
#else
typedef __u8 fperf_u8;
typedef __u16 fperf_u16;
typedef __u32 fperf_u32;
typedef __s32 fperf_s32;
typedef __u64 fperf_u64;
#endif

#define FPERF_COMM_SIZE	    16
#define FPERF_KERNEL_DEPTH  64	/* kernel stack frames kept per stack */
#define FPERF_USER_DEPTH    256 /* user stack frames kept per stack */
#define FPERF_MAX_CPUS	    1024
#define FPERF_ARRIVAL_NAMES 256	    /* names that a watcher waits for */
#define FPERF_PID_LIMIT	    4194304 /* PID_MAX_LIMIT of 64-bit kernels; a power of two */

/* Set in a user address of a stack that is an interrupted pc (leaf, or interrupted by a signal), clear in a
 * return address. User addresses never reach this bit on x86-64 and arm64. */
#define FPERF_WIRE_PC_BIT (1ull << 63)

enum fperf_wire_type {
	FPERF_WIRE_SAMPLE = 1,
	FPERF_WIRE_OFFCPU = 2,
	FPERF_WIRE_MARK = 3,
	FPERF_WIRE_FORK = 4,
	FPERF_WIRE_EXEC = 5,
	FPERF_WIRE_EXIT = 6,
	FPERF_WIRE_RENAME = 7,
	FPERF_WIRE_FREQ = 8,
	FPERF_WIRE_STACK_DUMP =
		9, /* registers and stack bytes of the sample or interval just before, same thread */
	FPERF_WIRE_TASK = 10,	   /* a target thread as it was at one moment (iterator at start and stop) */
	FPERF_WIRE_OUT_STACK = 11, /* user stack at a switch-out; the interval that it opens follows later */
};

struct fperf_wire_header {
	fperf_u16 type; /* enum fperf_wire_type */
	fperf_u16 cpu;
	fperf_u32 size; /* bytes of the whole record, this header included */
	fperf_u64 time_ns;
	fperf_u32 pid; /* thread group id */
	fperf_u32 tid;
};

/* Follows the fixed part of records that carry a stack: kernel_count kernel addresses, leaf first, then
 * user_count user addresses, leaf first, each 8 bytes. */
struct fperf_wire_stack {
	fperf_u16 kernel_count;
	fperf_u16 user_count;
	fperf_u8 outcome; /* enum fperf_stack_outcome, of the user part */
	fperf_u8 reserved;
	fperf_u16 gap;	     /* truncated: index of the first user address after the missing middle; else 0 */
	fperf_u64 failed_at; /* user address at which unwinding stopped; 0 when complete */
};

struct fperf_wire_sample {
	struct fperf_wire_header header;
	fperf_u64 period; /* ns (cpu-clock) or cycles since the sample before, as perf counts it */
	fperf_u32 flags;  /* FPERF_SAMPLE_* */
	fperf_u32 reserved;
	struct fperf_wire_stack stack;
	/* addresses follow */
};

#define FPERF_SAMPLE_KERNEL 1u /* interrupted in kernel mode */

/* What taking samples took, as the program measures itself where the kernel does not: value of the map
 * fperf_self_time, by CPU. */
struct fperf_self_time {
	fperf_u64 ns, count;
};

/* Another task, by value, since it may be gone when the record is read. tid 0 with a name is a CPU's idle
 * task; an all zero struct is "not known". */
struct fperf_wire_task {
	fperf_u32 pid;
	fperf_u32 tid;
	char name[FPERF_COMM_SIZE];
};

/* One off-CPU interval of a target thread, written when it ends. header.time_ns is the switch-in. Its stack
 * holds the kernel part only; the user part came before in a struct fperf_wire_out_stack with the same tid
 * and out_ns, if FPERF_OFFCPU_USER_STACK is set. */
struct fperf_wire_offcpu {
	struct fperf_wire_header header; /* cpu: where it was switched in */
	fperf_u64 out_ns;		 /* switch-out; 0: was off the CPU before recording began */
	fperf_u64 wake_ns;		 /* last wake-up in the interval; 0: none (preempted) */
	fperf_u32 flags;		 /* FPERF_OFFCPU_* */
	fperf_u32 state;   /* task state bits at switch-out, without the report bits; 0 is runnable */
	fperf_s32 syscall; /* number of the system call it was in, -1: none or not known */
	fperf_u16 cpu_out;
	fperf_u16 wake_cpu;
	fperf_u64 args[3];	     /* first three system call arguments, when syscall >= 0 */
	struct fperf_wire_task next; /* who took the core at switch-out */
	struct fperf_wire_task prev; /* who had the core before switch-in: just before, or, if that was
				      * for an instant only, for long since the wake-up */
	struct fperf_wire_task waker;
	fperf_u64 cpu_ns; /* CPU time of the thread at switch-out, by the kernel's account; 0: not known */
	struct fperf_wire_stack stack;
	/* addresses follow */
};

#define FPERF_OFFCPU_PREEMPTED	1u   /* left the core although runnable, because of preemption */
#define FPERF_OFFCPU_IOWAIT	2u   /* task->in_iowait at switch-out */
#define FPERF_OFFCPU_OPEN_START 4u   /* began before the recording: out_ns is the start of recording */
#define FPERF_OFFCPU_OPEN_END	8u   /* still open when the recording stopped: header.time_ns is the stop */
#define FPERF_OFFCPU_WAKER_IRQ	16u  /* woken from interrupt context: the waker is not who caused it */
#define FPERF_OFFCPU_SKIPPED	32u  /* user stack skipped because of the budget */
#define FPERF_OFFCPU_EXITED	64u  /* last switch-out of a thread that ended; never switched in again */
#define FPERF_OFFCPU_CLAMPED	128u /* clocks of two CPUs disagreed; clamped */

#define FPERF_OFFCPU_TAKEN	512u /* made by the recorder, not a switch: see convert.c, offcpu_account() */
#define FPERF_OFFCPU_USER_STACK 256u /* a struct fperf_wire_out_stack came before */

/* The user stack at a switch-out: taken when it can be read, before it is known how long the interval will
 * be. */
struct fperf_wire_out_stack {
	struct fperf_wire_header header; /* time_ns: the switch-out */
	struct fperf_wire_stack stack;	 /* user part only */
					 /* addresses follow */
};

struct fperf_wire_mark {
	struct fperf_wire_header header;
	fperf_u32 marker; /* id given by the recorder when it attached the probe */
	fperf_u32 reserved;
	fperf_u64 args[3]; /* first three function arguments */
};

/* How often a frame candidate was hit in one process: not a record, but key and value of the map
 * fperf_mark_hits, which the recorder reads to choose by. */
#define FPERF_MARK_HITS_MAX 8192

struct fperf_mark_hits_key {
	fperf_u32 tgid;
	fperf_u32 marker;
};

struct fperf_mark_hits {
	fperf_u64 count;
	fperf_u64 first_ns, last_ns;
	fperf_u32 tid; /* the thread with most of the hits */
	fperf_u32 votes;
	fperf_u32 dropped; /* set by the recorder: count, but write no marks */
	fperf_u32 reserved;
};

struct fperf_wire_fork { /* header: the new task; written for threads and processes */
	struct fperf_wire_header header;
	fperf_u32 parent_pid;
	fperf_u32 parent_tid;
	fperf_u64 start_ns; /* task->start_time */
	char name[FPERF_COMM_SIZE];
};

struct fperf_wire_exec {
	struct fperf_wire_header header;
	fperf_u32 old_tid; /* thread that called exec; becomes the leader */
	fperf_u32 unused;
	char name[FPERF_COMM_SIZE]; /* new name */
};

struct fperf_wire_exit {
	struct fperf_wire_header header;
	fperf_s32 exit_code;
	fperf_u32 last;	  /* 1: last thread of its process */
	fperf_u64 cpu_ns; /* se.sum_exec_runtime: the kernel's own account of the thread's CPU time */
	char name[FPERF_COMM_SIZE];
};

struct fperf_wire_rename {
	struct fperf_wire_header header;
	char name[FPERF_COMM_SIZE];
};

struct fperf_wire_freq { /* header.cpu: the CPU that changed */
	struct fperf_wire_header header;
	fperf_u32 kind; /* enum fperf_freq_kind */
	fperf_u32 khz;
	fperf_u32 min_khz; /* limits only */
	fperf_u32 max_khz;
};

/* A copy of the user stack, for unwinding in user space. Written just before the record whose stack it is
 * (sample or switch-out), with the same time and tid. The bytes follow. */
#define FPERF_DUMP_REGISTERS 33
#define FPERF_DUMP_BYTES     (5 * 4096)

struct fperf_wire_stack_dump {
	struct fperf_wire_header header;
	fperf_u64 base; /* address of the first byte copied: the start of the page that sp is in */
	fperf_u32 bytes;
	fperf_u32 reserved;
	fperf_u64 registers[FPERF_DUMP_REGISTERS]; /* by DWARF number: x86-64 0-15 and 16 the pc; arm64 0-30,
						      31 sp, 32 the pc */
};

enum fperf_freq_kind {
	FPERF_FREQ_CURRENT = 0,	 /* khz */
	FPERF_FREQ_LIMITS = 1,	 /* min_khz, max_khz: what policy and thermal limits allow now */
	FPERF_FREQ_HARDWARE = 2, /* min_khz, max_khz: what the CPU can do (cpuinfo_min/max_freq), at start */
};

struct fperf_wire_task_state { /* FPERF_WIRE_TASK */
	struct fperf_wire_header header;
	fperf_u64 start_ns;
	fperf_u64 cpu_ns; /* se.sum_exec_runtime */
	fperf_u32 state;
	fperf_u32 on_cpu; /* 1: running, or has been switched out since recording began: nothing is open from
			     before */
	fperf_s32 syscall;
	fperf_u32 in_iowait;
	fperf_u64 args[3];
	char name[FPERF_COMM_SIZE];
	struct fperf_wire_stack stack; /* kernel part only */
};

/* State of a target thread between its switch-out and switch-in: value of the BPF map fperf_threads, by tid.
 * Read by the scan at the end too, to close the intervals that are open. */
struct fperf_wire_thread_state {
	fperf_u64 out_ns;      /* 0: on a CPU */
	fperf_u64 wake_ns;     /* 0: not woken since out_ns */
	fperf_u64 refilled_ns; /* token bucket of user stacks */
	fperf_u64 exec_ns;     /* se.sum_exec_runtime at out_ns */
	fperf_u64 args[3];
	fperf_u32 tokens;
	fperf_u32 flags; /* FPERF_OFFCPU_* */
	fperf_u32 state;
	fperf_s32 syscall;
	fperf_u16 cpu_out;
	fperf_u16 wake_cpu;
	fperf_u16 early_waker; /* 1: `waker` came just before switch-out */
	fperf_u16 waits;       /* 1: woken, counted as waiting for a core */
	fperf_u32 pid;
	fperf_u32 birth; /* low bits of the thread's start time: tells it from others with its tid */
	struct fperf_wire_task next;
	struct fperf_wire_task waker;
};

_Static_assert(sizeof(struct fperf_wire_header) == 24, "wire header");
_Static_assert(sizeof(struct fperf_wire_stack) == 16, "wire stack");
_Static_assert(sizeof(struct fperf_wire_sample) == 56, "wire sample");
_Static_assert(sizeof(struct fperf_wire_offcpu) == 176, "wire offcpu");
_Static_assert(sizeof(struct fperf_wire_mark) == 56, "wire mark");
_Static_assert(sizeof(struct fperf_wire_stack_dump) == 304, "wire stack dump");

#endif
