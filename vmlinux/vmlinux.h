/* The kernel types that our BPF programs read, and of each only the fields they read. CO-RE finds the fields'
 * places on the running kernel by name, so order, offsets and what is left out do not matter here.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
enum {
	false = 0,
	true = 1,
};

/* Constants of linux/bpf.h. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_LPM_TRIE = 11,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_HASH_OF_MAPS = 13,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
	BPF_F_NO_PREALLOC = 1,
	BPF_F_USER_STACK = 256,
	BPF_F_MMAPABLE = 1024,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
};

enum bpf_func_id {
	BPF_FUNC_task_pt_regs = 175, /* its existence is asked for, the number is not used */
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long cs;
	unsigned long flags;
	unsigned long sp;
	unsigned long ss;
};
typedef struct pt_regs bpf_user_pt_regs_t;
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};
struct pt_regs { /* these four are in an anonymous union with a struct user_pt_regs */
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
	__u64 orig_x0;
	__s32 syscallno;
};
typedef struct user_pt_regs bpf_user_pt_regs_t;
#endif

struct bpf_perf_event_data {
	bpf_user_pt_regs_t regs;
	__u64 sample_period;
	__u64 addr;
};

struct sched_entity {
	__u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq; /* only with CONFIG_FAIR_GROUP_SCHED */
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;	/* threads that have not begun to exit */
	int nr_threads; /* threads that have not ended yet; a leader stays until it is waited for */
};

/* What a task is doing for uprobes. */
struct uprobe_task {
	unsigned long vaddr;	 /* of the probed instruction that is being carried out in a copy ... */
	void *active_uprobe;	 /* ... while this is not NULL ... */
	unsigned long xol_vaddr; /* ... which lies here */
};

struct task_struct {
	unsigned int __state;
	void *stack;
	unsigned int flags;
	int on_cpu;
	struct sched_entity se;
	int exit_code;
	unsigned int in_iowait : 1;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	__u64 start_time;
	char comm[16];
	struct signal_struct *signal;
	struct uprobe_task *utask;
};

struct task_struct___before_5_14 {
	long state; /* became __state */
};

struct linux_binprm {
	const char *filename;
};

struct cpufreq_policy {
	unsigned int cpu; /* the one that the policy is named after */
	unsigned int min;
	unsigned int max;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

#pragma clang attribute pop

#endif
