#include "analyze/blocked.h"

#include <criterion/criterion.h>

enum { FUTEX_X86 = 202, FUTEX_ARM = 98 };

static enum fperf_state futex(enum fperf_arch arch, uint32_t op, uint64_t value, const char *user)
{
	struct fperf_blocked_facts facts = {
		.arch = arch,
		.syscall = arch == FPERF_ARCH_ARM64 ? FUTEX_ARM : FUTEX_X86,
		.args = {0x7000, op, value},
		.task_state = 1,
		.kernel_hint = (uint8_t)fperf_blocked__kernel_hint("futex_wait_queue"),
		.user_hint = (uint8_t)fperf_blocked__user_hint(user),
	};

	return fperf_blocked__classify(&facts);
}

/* FUTEX_WAIT 0, LOCK_PI 6, WAIT_BITSET 9, LOCK_PI2 13; PRIVATE 128, CLOCK_REALTIME 256. */
Test(analyze_blocked, futex_by_operation_and_value)
{
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 128, 2, ""), FPERF_STATE_LOCK, "glibc mutex");
	cr_expect_eq(futex(FPERF_ARCH_ARM64, 128, 2, ""), FPERF_STATE_LOCK, "glibc mutex on arm64");
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 9 | 128 | 256, 2, ""), FPERF_STATE_LOCK,
		     "timed or bionic mutex");
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 128, 0x80000123, ""), FPERF_STATE_LOCK, "musl mutex");
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 9 | 128, 3, ""), FPERF_STATE_LOCK, "glibc rwlock");
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 6 | 128, 0, ""), FPERF_STATE_LOCK, "priority inheritance");
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 13 | 128, 0, ""), FPERF_STATE_LOCK, "priority inheritance, 2");
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 9 | 128, 0, ""), FPERF_STATE_EVENT, "condition variable");
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 9 | 128 | 256, 12, ""), FPERF_STATE_EVENT, "counted condition");
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 9, 4711, ""), FPERF_STATE_EVENT, "pthread_join");
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 128, 0, ""), FPERF_STATE_EVENT, "semaphore or flag");
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 128, 1, ""), FPERF_STATE_LOCK, "not known: a lock");
}

Test(analyze_blocked, futex_by_user_names_first)
{
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 128, 1, "pthread_barrier_wait"), FPERF_STATE_EVENT);
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 128, 2, "sem_wait@@GLIBC_2.34"), FPERF_STATE_EVENT);
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 9 | 128, 0, "std::mutex::lock()"), FPERF_STATE_LOCK);
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 9 | 128, 0, "SDL_LockMutex"), FPERF_STATE_LOCK);
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 128, 2, "std::condition_variable::wait(std::unique_lock&)"),
		     FPERF_STATE_EVENT);
	cr_expect_eq(futex(FPERF_ARCH_X86_64, 9 | 128, 2, "pthread_rwlock_wrlock"), FPERF_STATE_LOCK);
}

static enum fperf_state by_kernel(const char *function, int32_t syscall, bool fault, uint32_t task_state)
{
	struct fperf_blocked_facts facts = {
		.arch = FPERF_ARCH_X86_64,
		.syscall = syscall,
		.fault = fault,
		.task_state = task_state,
		.args = {3, 1, 0},
		.kernel_hint = (uint8_t)fperf_blocked__kernel_hint(function),
	};

	return fperf_blocked__classify(&facts);
}

Test(analyze_blocked, by_kernel_function)
{
	static const struct {
		const char *function;
		enum fperf_state state;
	} cases[] = {
		{"folio_wait_bit_common", FPERF_STATE_IO},
		{"__folio_lock", FPERF_STATE_IO},
		{"wait_on_page_bit_common", FPERF_STATE_IO},
		{"jbd2_log_wait_commit", FPERF_STATE_IO},
		{"blk_mq_get_tag", FPERF_STATE_IO},
		{"submit_bio_wait", FPERF_STATE_IO},
		{"balance_dirty_pages_ratelimited_flags", FPERF_STATE_IO},
		{"p9_client_rpc", FPERF_STATE_IO},
		{"rwsem_down_read_slowpath", FPERF_STATE_LOCK},
		{"__mutex_lock.constprop.0", FPERF_STATE_LOCK},
		{"dma_fence_default_wait", FPERF_STATE_GPU},
		{"drm_syncobj_array_wait_timeout", FPERF_STATE_GPU},
		{"kgsl_drawctxt_wait", FPERF_STATE_GPU},
		{"amdgpu_cs_wait_ioctl", FPERF_STATE_GPU},
		{"hrtimer_nanosleep", FPERF_STATE_SLEEP},
		{"do_sys_poll", FPERF_STATE_EVENT},
		{"ep_poll", FPERF_STATE_EVENT},
		{"pipe_read", FPERF_STATE_EVENT},
		{"anon_pipe_read", FPERF_STATE_EVENT},
		{"unix_stream_read_generic", FPERF_STATE_EVENT},
		{"binder_wait_for_work", FPERF_STATE_EVENT},
		{"eventfd_read", FPERF_STATE_EVENT},
		{"do_wait", FPERF_STATE_EVENT},
		{"do_swap_page", FPERF_STATE_FAULT},
		{"something_new", FPERF_STATE_OTHER},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(by_kernel(cases[i].function, -1, false, 1), cases[i].state, "%s",
			     cases[i].function);
}

Test(analyze_blocked, scheduler_functions_say_nothing)
{
	cr_expect_eq(fperf_blocked__kernel_hint("__schedule"), FPERF_HINT_NONE);
	cr_expect_eq(fperf_blocked__kernel_hint("schedule_timeout"), FPERF_HINT_NONE);
	cr_expect_eq(fperf_blocked__kernel_hint("io_schedule"), FPERF_HINT_NONE);
	cr_expect_eq(fperf_blocked__kernel_hint("do_wait_for_common"), FPERF_HINT_NONE);
	cr_expect(fperf_blocked__is_scheduler("schedule_hrtimeout_range_clock"));
	cr_expect_not(fperf_blocked__is_scheduler("futex_wait_queue"));
}

Test(analyze_blocked, page_fault_that_waits)
{
	cr_expect_eq(by_kernel("folio_wait_bit_common", -1, true, 2), FPERF_STATE_FAULT);
	cr_expect_eq(by_kernel("rwsem_down_read_slowpath", -1, true, 2), FPERF_STATE_LOCK, "mmap_lock");
	cr_expect_eq(by_kernel("something_new", -1, true, 2), FPERF_STATE_FAULT);
	cr_expect_eq(by_kernel("folio_wait_bit_common", 0, false, 2), FPERF_STATE_IO, "inside read()");
}

static enum fperf_state by_syscall(enum fperf_arch arch, int32_t number, uint64_t arg0, uint64_t arg1,
				   uint32_t task_state, bool iowait)
{
	struct fperf_blocked_facts facts = {
		.arch = arch,
		.syscall = number,
		.args = {arg0, arg1, 0},
		.task_state = task_state,
		.iowait = iowait,
	};

	return fperf_blocked__classify(&facts);
}

Test(analyze_blocked, by_system_call_without_a_kernel_stack)
{
	cr_expect_eq(by_syscall(FPERF_ARCH_X86_64, 74, 3, 0, 2, false), FPERF_STATE_IO, "fsync");
	cr_expect_eq(by_syscall(FPERF_ARCH_ARM64, 82, 3, 0, 2, false), FPERF_STATE_IO, "fsync on arm64");
	cr_expect_eq(by_syscall(FPERF_ARCH_X86_64, 0, 3, 0, 2, false), FPERF_STATE_IO, "read of a file");
	cr_expect_eq(by_syscall(FPERF_ARCH_X86_64, 0, 3, 0, 1, false), FPERF_STATE_EVENT, "read of a pipe");
	cr_expect_eq(by_syscall(FPERF_ARCH_X86_64, 0, 3, 0, 1, true), FPERF_STATE_IO, "iowait");
	cr_expect_eq(by_syscall(FPERF_ARCH_X86_64, 230, 1, 0, 1, false), FPERF_STATE_SLEEP,
		     "clock_nanosleep");
	cr_expect_eq(by_syscall(FPERF_ARCH_ARM64, 115, 1, 0, 1, false), FPERF_STATE_SLEEP);
	cr_expect_eq(by_syscall(FPERF_ARCH_X86_64, 7, 0x7000, 2, 1, false), FPERF_STATE_EVENT, "poll");
	cr_expect_eq(by_syscall(FPERF_ARCH_X86_64, 7, 0, 0, 1, false), FPERF_STATE_SLEEP, "poll of no file");
	cr_expect_eq(by_syscall(FPERF_ARCH_X86_64, 23, 0, 0, 1, false), FPERF_STATE_SLEEP,
		     "select of no file");
	cr_expect_eq(by_syscall(FPERF_ARCH_ARM64, 73, 0, 0, 1, false), FPERF_STATE_SLEEP, "ppoll of no file");
	cr_expect_eq(by_syscall(FPERF_ARCH_X86_64, 72, 3, 7, 1, false), FPERF_STATE_LOCK, "F_SETLKW");
	cr_expect_eq(by_syscall(FPERF_ARCH_X86_64, 72, 3, 1, 1, false), FPERF_STATE_OTHER, "other fcntl");
	cr_expect_eq(by_syscall(FPERF_ARCH_X86_64, 61, 3, 1, 1, false), FPERF_STATE_EVENT, "wait4");
	cr_expect_eq(by_syscall(FPERF_ARCH_X86_64, 16, 3, 1, 1, false), FPERF_STATE_OTHER, "ioctl");
	cr_expect_eq(by_syscall(FPERF_ARCH_OTHER, 74, 3, 0, 2, false), FPERF_STATE_OTHER, "unknown numbers");
	cr_expect_eq(by_syscall(FPERF_ARCH_X86_64, -1, 0, 0, 1, false), FPERF_STATE_OTHER);
}

Test(analyze_blocked, woken_by_a_thread_of_the_game)
{
	struct fperf_blocked_facts facts = {.syscall = 16, .task_state = 1, .woken_by_thread = true};

	cr_expect_eq(fperf_blocked__classify(&facts), FPERF_STATE_EVENT);
	facts.task_state = 2;
	cr_expect_eq(fperf_blocked__classify(&facts), FPERF_STATE_OTHER);
}

Test(analyze_blocked, architectures)
{
	cr_expect_eq(fperf_arch__from_name("x86_64"), FPERF_ARCH_X86_64);
	cr_expect_eq(fperf_arch__from_name("aarch64"), FPERF_ARCH_ARM64);
	cr_expect_eq(fperf_arch__from_name("riscv64"), FPERF_ARCH_OTHER);
	cr_expect_eq(fperf_arch__from_name(NULL), FPERF_ARCH_OTHER);
}
