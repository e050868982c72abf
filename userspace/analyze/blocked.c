#include "analyze/blocked.h"

#include <string.h>

/* Linux task state bits (include/linux/sched.h). */
#define TASK_UNINTERRUPTIBLE 2u

struct name_rule {
	const char *prefix;
	enum fperf_blocked_hint hint;
};

/* Kernel functions, looked up leaf first; the first function with a rule decides. Where one prefix is the
 * start of another, the longer one comes first. */
static const struct name_rule kernel_rules[] = {
	{"futex_lock_pi", FPERF_HINT_LOCK},
	{"futex_", FPERF_HINT_FUTEX},
	{"__futex_", FPERF_HINT_FUTEX},
	{"do_futex", FPERF_HINT_FUTEX},
	/* locks inside the kernel, mmap_lock among them */
	{"rwsem_", FPERF_HINT_LOCK},
	{"__down_", FPERF_HINT_LOCK},
	{"down_read", FPERF_HINT_LOCK},
	{"down_write", FPERF_HINT_LOCK},
	{"__mutex_lock", FPERF_HINT_LOCK},
	{"mutex_lock", FPERF_HINT_LOCK},
	{"__ww_mutex_lock", FPERF_HINT_LOCK},
	{"ww_mutex_lock", FPERF_HINT_LOCK},
	{"percpu_rwsem_wait", FPERF_HINT_LOCK},
	{"__percpu_down", FPERF_HINT_LOCK},
	{"rt_mutex_", FPERF_HINT_LOCK},
	{"__rt_mutex", FPERF_HINT_LOCK},
	{"rtlock_", FPERF_HINT_LOCK},
	{"locks_lock_", FPERF_HINT_LOCK},
	{"flock_lock_", FPERF_HINT_LOCK},
	{"fcntl_setlk", FPERF_HINT_LOCK},
	{"do_lock_file_wait", FPERF_HINT_LOCK},
	/* GPU */
	{"dma_fence_", FPERF_HINT_GPU},
	{"dma_resv_", FPERF_HINT_GPU},
	{"drm_", FPERF_HINT_GPU},
	{"amdgpu_", FPERF_HINT_GPU},
	{"amdttm_", FPERF_HINT_GPU},
	{"radeon_", FPERF_HINT_GPU},
	{"i915_", FPERF_HINT_GPU},
	{"xe_", FPERF_HINT_GPU},
	{"nouveau_", FPERF_HINT_GPU},
	{"nvidia_", FPERF_HINT_GPU},
	{"nvkms_", FPERF_HINT_GPU},
	{"kgsl_", FPERF_HINT_GPU},
	{"adreno_", FPERF_HINT_GPU},
	{"msm_gem_", FPERF_HINT_GPU},
	{"msm_wait_", FPERF_HINT_GPU},
	{"panfrost_", FPERF_HINT_GPU},
	{"panthor_", FPERF_HINT_GPU},
	{"lima_", FPERF_HINT_GPU},
	{"kbase_", FPERF_HINT_GPU},
	{"v3d_", FPERF_HINT_GPU},
	{"vc4_", FPERF_HINT_GPU},
	{"etnaviv_", FPERF_HINT_GPU},
	{"pvr_", FPERF_HINT_GPU},
	{"virtio_gpu_", FPERF_HINT_GPU},
	{"vmw_", FPERF_HINT_GPU},
	/* sleeping for a given time */
	{"hrtimer_nanosleep", FPERF_HINT_SLEEP},
	{"do_nanosleep", FPERF_HINT_SLEEP},
	{"common_nsleep", FPERF_HINT_SLEEP},
	{"msleep", FPERF_HINT_SLEEP},
	{"usleep_range", FPERF_HINT_SLEEP},
	{"timerfd_read", FPERF_HINT_SLEEP},
	/* waiting for somebody */
	{"do_poll", FPERF_HINT_POLL},
	{"do_sys_poll", FPERF_HINT_POLL},
	{"do_select", FPERF_HINT_POLL},
	{"core_sys_select", FPERF_HINT_POLL},
	{"poll_schedule_timeout", FPERF_HINT_POLL},
	{"ep_poll", FPERF_HINT_EVENT},
	{"do_epoll_wait", FPERF_HINT_EVENT},
	{"pipe_", FPERF_HINT_EVENT},
	{"anon_pipe_", FPERF_HINT_EVENT},
	{"fifo_open", FPERF_HINT_EVENT},
	{"eventfd_", FPERF_HINT_EVENT},
	{"unix_", FPERF_HINT_EVENT},
	{"__skb_", FPERF_HINT_EVENT},
	{"sk_wait_", FPERF_HINT_EVENT},
	{"sk_stream_wait", FPERF_HINT_EVENT},
	{"inet_", FPERF_HINT_EVENT},
	{"tcp_", FPERF_HINT_EVENT},
	{"udp_", FPERF_HINT_EVENT},
	{"sock_", FPERF_HINT_EVENT},
	{"vsock_", FPERF_HINT_EVENT},
	{"netlink_", FPERF_HINT_EVENT},
	{"binder_", FPERF_HINT_EVENT},
	{"do_wait_for_common", FPERF_HINT_NONE}, /* a completion: its caller says more */
	{"do_wait", FPERF_HINT_EVENT},
	{"kernel_wait", FPERF_HINT_EVENT},
	{"wait_for_vfork_done", FPERF_HINT_EVENT},
	{"wait_woken", FPERF_HINT_EVENT},
	{"do_sigtimedwait", FPERF_HINT_EVENT},
	{"sigsuspend", FPERF_HINT_EVENT},
	{"signalfd_", FPERF_HINT_EVENT},
	{"inotify_", FPERF_HINT_EVENT},
	{"n_tty_", FPERF_HINT_EVENT},
	{"do_msgrcv", FPERF_HINT_EVENT},
	{"do_msgsnd", FPERF_HINT_EVENT},
	{"do_semtimedop", FPERF_HINT_EVENT},
	{"__do_semtimedop", FPERF_HINT_EVENT},
	{"do_mq_", FPERF_HINT_EVENT},
	{"wq_sleep", FPERF_HINT_EVENT},
	{"snd_", FPERF_HINT_EVENT},
	{"evdev_read", FPERF_HINT_EVENT},
	{"hidraw_read", FPERF_HINT_EVENT},
	{"handle_userfault", FPERF_HINT_EVENT},
	/* files and disks */
	{"io_cqring_wait", FPERF_HINT_IO},
	{"io_uring", FPERF_HINT_IO},
	{"read_events", FPERF_HINT_IO},
	{"folio_", FPERF_HINT_IO},
	{"__folio_", FPERF_HINT_IO},
	{"wait_on_page_", FPERF_HINT_IO},
	{"__lock_page", FPERF_HINT_IO},
	{"lock_page", FPERF_HINT_IO},
	{"__wait_on_buffer", FPERF_HINT_IO},
	{"wait_on_buffer", FPERF_HINT_IO},
	{"bit_wait_io", FPERF_HINT_IO},
	{"submit_bio", FPERF_HINT_IO},
	{"bio_", FPERF_HINT_IO},
	{"blk_", FPERF_HINT_IO},
	{"__blk", FPERF_HINT_IO},
	{"blkdev_", FPERF_HINT_IO},
	{"rq_qos_wait", FPERF_HINT_IO},
	{"nvme_", FPERF_HINT_IO},
	{"scsi_", FPERF_HINT_IO},
	{"jbd2_", FPERF_HINT_IO},
	{"wait_transaction_locked", FPERF_HINT_IO},
	{"ext4_", FPERF_HINT_IO},
	{"xfs_", FPERF_HINT_IO},
	{"xlog_", FPERF_HINT_IO},
	{"btrfs_", FPERF_HINT_IO},
	{"f2fs_", FPERF_HINT_IO},
	{"erofs_", FPERF_HINT_IO},
	{"squashfs_", FPERF_HINT_IO},
	{"fat_", FPERF_HINT_IO},
	{"ntfs", FPERF_HINT_IO},
	{"fuse_", FPERF_HINT_IO},
	{"request_wait_answer", FPERF_HINT_IO},
	{"p9_", FPERF_HINT_IO},
	{"v9fs_", FPERF_HINT_IO},
	{"netfs_", FPERF_HINT_IO},
	{"nfs_", FPERF_HINT_IO},
	{"rpc_", FPERF_HINT_IO},
	{"cifs_", FPERF_HINT_IO},
	{"iomap_", FPERF_HINT_IO},
	{"dio_", FPERF_HINT_IO},
	{"filemap_", FPERF_HINT_IO},
	{"__filemap_", FPERF_HINT_IO},
	{"file_write_and_wait", FPERF_HINT_IO},
	{"balance_dirty_pages", FPERF_HINT_IO},
	{"wb_wait_for_completion", FPERF_HINT_IO},
	{"writeback_", FPERF_HINT_IO},
	{"sync_inodes", FPERF_HINT_IO},
	{"do_fsync", FPERF_HINT_IO},
	{"vfs_fsync", FPERF_HINT_IO},
	{"page_cache_", FPERF_HINT_IO},
	{"wait_for_completion_io", FPERF_HINT_IO},
	{"do_swap_page", FPERF_HINT_FAULT},
	{"swap_read", FPERF_HINT_FAULT},
	{"migration_entry_wait", FPERF_HINT_FAULT},
};

/* User functions. */
static const struct name_rule user_rules[] = {
	{"pthread_cond_", FPERF_HINT_EVENT},
	{"__pthread_cond_", FPERF_HINT_EVENT},
	{"___pthread_cond_", FPERF_HINT_EVENT},
	{"pthread_join", FPERF_HINT_EVENT},
	{"pthread_timedjoin", FPERF_HINT_EVENT},
	{"pthread_clockjoin", FPERF_HINT_EVENT},
	{"__pthread_clockjoin", FPERF_HINT_EVENT},
	{"pthread_barrier_", FPERF_HINT_EVENT},
	{"__pthread_barrier_", FPERF_HINT_EVENT},
	{"sem_wait", FPERF_HINT_EVENT},
	{"sem_timedwait", FPERF_HINT_EVENT},
	{"sem_clockwait", FPERF_HINT_EVENT},
	{"__new_sem_wait", FPERF_HINT_EVENT},
	{"cnd_wait", FPERF_HINT_EVENT},
	{"cnd_timedwait", FPERF_HINT_EVENT},
	{"thrd_join", FPERF_HINT_EVENT},
	{"std::condition_variable", FPERF_HINT_EVENT},
	{"std::_V2::condition_variable", FPERF_HINT_EVENT},
	{"std::__1::condition_variable", FPERF_HINT_EVENT},
	{"std::__ndk1::condition_variable", FPERF_HINT_EVENT},
	{"std::thread::join", FPERF_HINT_EVENT},
	{"std::__1::thread::join", FPERF_HINT_EVENT},
	{"std::__ndk1::thread::join", FPERF_HINT_EVENT},
	{"std::__atomic_wait", FPERF_HINT_EVENT},
	{"std::counting_semaphore", FPERF_HINT_EVENT},
	{"std::latch", FPERF_HINT_EVENT},
	{"std::barrier", FPERF_HINT_EVENT},
	{"std::sys::sync::condvar", FPERF_HINT_EVENT},
	{"std::thread::park", FPERF_HINT_EVENT},
	{"parking_lot::condvar", FPERF_HINT_EVENT},
	{"SDL_CondWait", FPERF_HINT_EVENT},
	{"SDL_WaitCondition", FPERF_HINT_EVENT},
	{"SDL_SemWait", FPERF_HINT_EVENT},
	{"SDL_WaitSemaphore", FPERF_HINT_EVENT},
	{"SDL_WaitThread", FPERF_HINT_EVENT},
	{"g_cond_wait", FPERF_HINT_EVENT},
	{"QWaitCondition", FPERF_HINT_EVENT},
	{"QSemaphore", FPERF_HINT_EVENT},
	{"QThread::wait", FPERF_HINT_EVENT},
	{"gomp_barrier_", FPERF_HINT_EVENT},
	{"gomp_team_barrier_", FPERF_HINT_EVENT},
	{"RtlSleepConditionVariable", FPERF_HINT_EVENT},
	{"SleepConditionVariable", FPERF_HINT_EVENT},
	{"NtWaitFor", FPERF_HINT_EVENT},
	{"WaitForSingleObject", FPERF_HINT_EVENT},
	{"WaitForMultipleObjects", FPERF_HINT_EVENT},
	{"Looper::poll", FPERF_HINT_EVENT},

	{"pthread_mutex_", FPERF_HINT_LOCK},
	{"__pthread_mutex_", FPERF_HINT_LOCK},
	{"___pthread_mutex_", FPERF_HINT_LOCK},
	{"__GI___pthread_mutex_", FPERF_HINT_LOCK},
	{"pthread_rwlock_", FPERF_HINT_LOCK},
	{"__pthread_rwlock_", FPERF_HINT_LOCK},
	{"___pthread_rwlock_", FPERF_HINT_LOCK},
	{"__lll_lock_wait", FPERF_HINT_LOCK},
	{"__lll_timedlock_wait", FPERF_HINT_LOCK},
	{"__lll_clocklock_wait", FPERF_HINT_LOCK},
	{"NonPI::", FPERF_HINT_LOCK},
	{"PIMutex", FPERF_HINT_LOCK},
	{"mtx_lock", FPERF_HINT_LOCK},
	{"mtx_timedlock", FPERF_HINT_LOCK},
	{"__cxa_guard_acquire", FPERF_HINT_LOCK},
	{"std::mutex::", FPERF_HINT_LOCK},
	{"std::timed_mutex::", FPERF_HINT_LOCK},
	{"std::recursive_", FPERF_HINT_LOCK},
	{"std::shared_mutex", FPERF_HINT_LOCK},
	{"std::shared_timed_mutex", FPERF_HINT_LOCK},
	{"std::__shared_mutex", FPERF_HINT_LOCK},
	{"std::lock_guard", FPERF_HINT_LOCK},
	{"std::unique_lock", FPERF_HINT_LOCK},
	{"std::scoped_lock", FPERF_HINT_LOCK},
	{"std::shared_lock", FPERF_HINT_LOCK},
	{"std::__1::mutex", FPERF_HINT_LOCK},
	{"std::__1::recursive_mutex", FPERF_HINT_LOCK},
	{"std::__1::__shared_mutex", FPERF_HINT_LOCK},
	{"std::__ndk1::mutex", FPERF_HINT_LOCK},
	{"std::__ndk1::recursive_mutex", FPERF_HINT_LOCK},
	{"std::__ndk1::__shared_mutex", FPERF_HINT_LOCK},
	{"std::sys::sync::mutex", FPERF_HINT_LOCK},
	{"std::sys::sync::rwlock", FPERF_HINT_LOCK},
	{"parking_lot::raw_mutex", FPERF_HINT_LOCK},
	{"parking_lot::raw_rwlock", FPERF_HINT_LOCK},
	{"SDL_LockMutex", FPERF_HINT_LOCK},
	{"SDL_mutexP", FPERF_HINT_LOCK},
	{"SDL_LockRWLock", FPERF_HINT_LOCK},
	{"g_mutex_lock", FPERF_HINT_LOCK},
	{"g_rw_lock_", FPERF_HINT_LOCK},
	{"QMutex::", FPERF_HINT_LOCK},
	{"QReadWriteLock::", FPERF_HINT_LOCK},
	{"gomp_mutex_lock", FPERF_HINT_LOCK},
	{"EnterCriticalSection", FPERF_HINT_LOCK},
	{"RtlEnterCriticalSection", FPERF_HINT_LOCK},
	{"RtlpWaitForCriticalSection", FPERF_HINT_LOCK},
	{"RtlAcquireSRWLock", FPERF_HINT_LOCK},
	{"AcquireSRWLock", FPERF_HINT_LOCK},
	{"absl::Mutex::", FPERF_HINT_LOCK},
};

/* System calls that tell, where the kernel stack does not: number on x86-64 and on arm64, -1 if it has none
 * (arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h). */
static const struct syscall_rule {
	int16_t x86_64, arm64;
	enum fperf_blocked_hint hint;
} syscall_rules[] = {
	{202, 98, FPERF_HINT_FUTEX},  /* futex */
	{455, 455, FPERF_HINT_EVENT}, /* futex_wait */
	{449, 449, FPERF_HINT_EVENT}, /* futex_waitv */
	{35, 101, FPERF_HINT_SLEEP},  /* nanosleep */
	{230, 115, FPERF_HINT_SLEEP}, /* clock_nanosleep */
	{7, -1, FPERF_HINT_POLL},     /* poll */
	{271, 73, FPERF_HINT_POLL},   /* ppoll */
	{23, -1, FPERF_HINT_POLL},    /* select */
	{270, 72, FPERF_HINT_POLL},   /* pselect6 */
	{232, -1, FPERF_HINT_EVENT},  /* epoll_wait */
	{281, 22, FPERF_HINT_EVENT},  /* epoll_pwait */
	{441, 441, FPERF_HINT_EVENT}, /* epoll_pwait2 */
	{43, 202, FPERF_HINT_EVENT},  /* accept */
	{288, 242, FPERF_HINT_EVENT}, /* accept4 */
	{42, 203, FPERF_HINT_EVENT},  /* connect */
	{45, 207, FPERF_HINT_EVENT},  /* recvfrom */
	{47, 212, FPERF_HINT_EVENT},  /* recvmsg */
	{299, 243, FPERF_HINT_EVENT}, /* recvmmsg */
	{44, 206, FPERF_HINT_EVENT},  /* sendto */
	{46, 211, FPERF_HINT_EVENT},  /* sendmsg */
	{61, 260, FPERF_HINT_EVENT},  /* wait4 */
	{247, 95, FPERF_HINT_EVENT},  /* waitid */
	{34, -1, FPERF_HINT_EVENT},   /* pause */
	{128, 137, FPERF_HINT_EVENT}, /* rt_sigtimedwait */
	{130, 133, FPERF_HINT_EVENT}, /* rt_sigsuspend */
	{65, 193, FPERF_HINT_EVENT},  /* semop */
	{220, 192, FPERF_HINT_EVENT}, /* semtimedop */
	{70, 188, FPERF_HINT_EVENT},  /* msgrcv */
	{69, 189, FPERF_HINT_EVENT},  /* msgsnd */
	{243, 183, FPERF_HINT_EVENT}, /* mq_timedreceive */
	{0, 63, FPERF_HINT_FILE},     /* read */
	{17, 67, FPERF_HINT_FILE},    /* pread64 */
	{19, 65, FPERF_HINT_FILE},    /* readv */
	{295, 69, FPERF_HINT_FILE},   /* preadv */
	{1, 64, FPERF_HINT_FILE},     /* write */
	{18, 68, FPERF_HINT_FILE},    /* pwrite64 */
	{20, 66, FPERF_HINT_FILE},    /* writev */
	{296, 70, FPERF_HINT_FILE},   /* pwritev */
	{40, 71, FPERF_HINT_FILE},    /* sendfile */
	{326, 285, FPERF_HINT_FILE},  /* copy_file_range */
	{74, 82, FPERF_HINT_IO},      /* fsync */
	{75, 83, FPERF_HINT_IO},      /* fdatasync */
	{162, 81, FPERF_HINT_IO},     /* sync */
	{306, 267, FPERF_HINT_IO},    /* syncfs */
	{26, 227, FPERF_HINT_IO},     /* msync */
	{277, 84, FPERF_HINT_IO},     /* sync_file_range */
	{208, 4, FPERF_HINT_IO},      /* io_getevents */
	{426, 426, FPERF_HINT_IO},    /* io_uring_enter */
	{73, 32, FPERF_HINT_LOCK},    /* flock */
	{72, 25, FPERF_HINT_FCNTL},   /* fcntl */
};

static const char *const scheduler_names[] = {
	"__schedule",  "schedule",	     "preempt_schedule", "__cond_resched",
	"io_schedule", "__traceiter_sched_", "perf_trace_",	 "bpf_",
	"__bpf_",      "dynamic_preempt_",
};

static const char *const fault_entries[] = {
	"exc_page_fault",  "asm_exc_page_fault", "do_user_addr_fault",	 "do_page_fault", "__do_page_fault",
	"handle_mm_fault", "do_mem_abort",	 "do_translation_fault", "el0_da",	  "el0_ia",
};

static const char *const syscall_entries[] = {
	"do_syscall_64", "entry_SYSCALL_64", "do_el0_svc",	   "el0_svc", "invoke_syscall",
	"__x64_sys_",	 "__arm64_sys_",     "do_fast_syscall_32", "__ia32_",
};

static const char *const io_work[] = {
	"submit_bio",
	"blk_",
	"__blk_",
	"__submit_bio",
	"nvme_",
	"scsi_",
	"virtio_queue_rq",
	"virtblk_",
	"mpage_",
	"ext4_mpage_readpages",
	"ext4_sync_file",
	"page_cache_ra",
	"page_cache_sync",
	"page_cache_async",
	"force_page_cache_ra",
	"ondemand_readahead",
	"read_pages",
	"filemap_get_pages",
	"filemap_create_folio",
	"filemap_read_folio",
	"filemap_readahead",
	"iomap_read",
	"iomap_submit",
	"iomap_dio",
	"__iomap_dio",
	"jbd2_",
	"do_fsync",
	"vfs_fsync",
	"do_writepages",
	"balance_dirty",
	"p9_",
	"v9fs_",
	"fuse_",
	"netfs_",
	"io_submit",
};

enum fperf_arch fperf_arch__from_name(const char *name)
{
	if (!name)
		return FPERF_ARCH_OTHER;
	if (!strcmp(name, "x86_64"))
		return FPERF_ARCH_X86_64;
	if (!strcmp(name, "aarch64") || !strcmp(name, "arm64"))
		return FPERF_ARCH_ARM64;
	return FPERF_ARCH_OTHER;
}

static bool has_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static enum fperf_blocked_hint rules_find(const struct name_rule *rules, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (has_prefix(name, rules[i].prefix))
			return rules[i].hint;
	return FPERF_HINT_NONE;
}

static bool names_find(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (has_prefix(name, names[i]))
			return true;
	return false;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum fperf_blocked_hint fperf_blocked__kernel_hint(const char *function)
{
	return rules_find(kernel_rules, COUNT(kernel_rules), function);
}

enum fperf_blocked_hint fperf_blocked__user_hint(const char *function)
{
	return rules_find(user_rules, COUNT(user_rules), function);
}

bool fperf_blocked__is_scheduler(const char *function)
{
	return names_find(scheduler_names, COUNT(scheduler_names), function);
}

bool fperf_blocked__is_fault_entry(const char *function)
{
	return names_find(fault_entries, COUNT(fault_entries), function);
}

bool fperf_blocked__is_syscall_entry(const char *function)
{
	return names_find(syscall_entries, COUNT(syscall_entries), function);
}

bool fperf_blocked__is_io_work(const char *function)
{
	return names_find(io_work, COUNT(io_work), function);
}

static enum fperf_blocked_hint syscall_hint(enum fperf_arch arch, int32_t number)
{
	if (number < 0 || arch == FPERF_ARCH_OTHER)
		return FPERF_HINT_NONE;
	for (size_t i = 0; i < COUNT(syscall_rules); i++) {
		int32_t of_rule = arch == FPERF_ARCH_ARM64 ? syscall_rules[i].arm64 : syscall_rules[i].x86_64;

		if (of_rule == number)
			return syscall_rules[i].hint;
	}
	return FPERF_HINT_NONE;
}

/* Futex operations of linux/futex.h, without the PRIVATE and CLOCK_REALTIME flags. */
enum { OP_WAIT = 0, OP_LOCK_PI = 6, OP_WAIT_BITSET = 9, OP_WAIT_REQUEUE_PI = 11, OP_LOCK_PI2 = 13 };

/* Mutex or condition variable? The word's expected value tells: 2 is "locked, with waiters" in the mutexes of
 * glibc, bionic, Rust and most engines; musl sets the top bit of the owner's id; a word that is 0 while
 * waited on is no lock (an unlocked one would not be waited for) but a counter or a flag: semaphore, event,
 * glibc's condition variable. glibc's rwlock waits with WAIT_BITSET on 3. A plain WAIT on any other value is
 * taken for a lock, WAIT_BITSET (glibc's and Rust's condition variables, pthread_join) for an event. */
static enum fperf_state futex_state(const struct fperf_blocked_facts *facts)
{
	uint32_t op = (uint32_t)facts->args[1] & 127, value = (uint32_t)facts->args[2];

	if (facts->user_hint == FPERF_HINT_EVENT)
		return FPERF_STATE_EVENT;
	if (facts->user_hint == FPERF_HINT_LOCK)
		return FPERF_STATE_LOCK;
	if (facts->syscall < 0)
		return FPERF_STATE_LOCK;
	if (syscall_hint(facts->arch, facts->syscall) == FPERF_HINT_EVENT) /* futex_wait, futex_waitv */
		return FPERF_STATE_EVENT;
	if (op == OP_LOCK_PI || op == OP_LOCK_PI2)
		return FPERF_STATE_LOCK;
	if (op == OP_WAIT_REQUEUE_PI || value == 0)
		return FPERF_STATE_EVENT;
	if (value == 2 || (value & 0x80000000u && value != UINT32_MAX))
		return FPERF_STATE_LOCK;
	if (op == OP_WAIT_BITSET)
		return value == 3 ? FPERF_STATE_LOCK : FPERF_STATE_EVENT;
	return FPERF_STATE_LOCK;
}

/* poll(fds, nfds, …) and select(nfds, …) that wait for no file are sleeps. */
static enum fperf_state poll_state(const struct fperf_blocked_facts *facts)
{
	bool x86 = facts->arch == FPERF_ARCH_X86_64, arm = facts->arch == FPERF_ARCH_ARM64;
	int32_t number = facts->syscall;

	if (((x86 && (number == 7 || number == 271)) || (arm && number == 73)) && !(uint32_t)facts->args[1])
		return FPERF_STATE_SLEEP;
	if (((x86 && (number == 23 || number == 270)) || (arm && number == 72)) && !(uint32_t)facts->args[0])
		return FPERF_STATE_SLEEP;
	return FPERF_STATE_EVENT;
}

static enum fperf_state hint_state(const struct fperf_blocked_facts *facts, enum fperf_blocked_hint hint)
{
	switch (hint) {
	case FPERF_HINT_LOCK:
		return FPERF_STATE_LOCK;
	case FPERF_HINT_IO:
		return facts->fault ? FPERF_STATE_FAULT : FPERF_STATE_IO;
	case FPERF_HINT_GPU:
		return FPERF_STATE_GPU;
	case FPERF_HINT_SLEEP:
		return FPERF_STATE_SLEEP;
	case FPERF_HINT_EVENT:
		return FPERF_STATE_EVENT;
	case FPERF_HINT_FAULT:
		return FPERF_STATE_FAULT;
	case FPERF_HINT_FUTEX:
		return futex_state(facts);
	case FPERF_HINT_POLL:
		return poll_state(facts);
	case FPERF_HINT_FILE:
		return facts->task_state & TASK_UNINTERRUPTIBLE ? FPERF_STATE_IO : FPERF_STATE_EVENT;
	case FPERF_HINT_FCNTL: /* F_SETLKW, F_OFD_SETLKW */
		return facts->args[1] == 7 || facts->args[1] == 38 ? FPERF_STATE_LOCK : FPERF_STATE_OTHER;
	case FPERF_HINT_NONE:
		break;
	}
	return FPERF_STATE_OTHER;
}

enum fperf_state fperf_blocked__classify(const struct fperf_blocked_facts *facts)
{
	enum fperf_state state = hint_state(facts, facts->kernel_hint);

	if (state != FPERF_STATE_OTHER)
		return state;
	if (facts->fault)
		return FPERF_STATE_FAULT;
	if (facts->iowait)
		return FPERF_STATE_IO;
	state = hint_state(facts, syscall_hint(facts->arch, facts->syscall));
	if (state != FPERF_STATE_OTHER)
		return state;
	state = hint_state(facts, facts->user_hint);
	if (state != FPERF_STATE_OTHER)
		return state;
	/* Whoever wakes a thread of its own game was being waited for, however it was done. */
	return facts->woken_by_thread && !(facts->task_state & TASK_UNINTERRUPTIBLE) ? FPERF_STATE_EVENT
										     : FPERF_STATE_OTHER;
}
