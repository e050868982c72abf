#include "capture/probe_internal.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Numbers of linux/bpf.h that older headers do not have. */
#define HELPER_TASK_PT_REGS 175
#define HELPER_LOOP	    181

int probe_program_load(int type, int attach_type, int btf_id)
{
	static const struct bpf_insn return_zero[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = (enum bpf_attach_type)attach_type,
		    .attach_btf_id = (__u32)btf_id);
	int fd = bpf_prog_load((enum bpf_prog_type)type, "fperf_probe", "GPL", return_zero, 2, &options);

	return fd < 0 ? -errno : fd;
}

static enum fperf_probe_state missing(char *detail, const char *what, int code)
{
	probe_say(detail, "%s: %s", what, strerror(-code));
	return FPERF_PROBE_MISSING;
}

enum fperf_probe_state probe_programs(char *detail)
{
	int fd = probe_program_load(BPF_PROG_TYPE_PERF_EVENT, 0, 0);

	if (fd < 0)
		return missing(detail, "loading a program fails", fd);
	close(fd);
	probe_say(detail, "a program was loaded");
	return FPERF_PROBE_WORKS;
}

enum fperf_probe_state probe_btf(char *detail)
{
	struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		return missing(detail, "/sys/kernel/btf/vmlinux", -errno);
	if (btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT) < 0) {
		btf__free(btf);
		probe_say(detail, "does not know struct task_struct");
		return FPERF_PROBE_MISSING;
	}
	probe_say(detail, "%u types", btf__type_cnt(btf));
	btf__free(btf);
	return FPERF_PROBE_WORKS;
}

enum fperf_probe_state probe_ring_buffer(char *detail)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "fperf_probe", 0, 0, 65536, NULL);

	if (fd < 0)
		return missing(detail, "creating one fails", -errno);
	close(fd);
	probe_say(detail, "one was created");
	return FPERF_PROBE_WORKS;
}

/* As much as a recording takes: locked memory counts against a limit before Linux 5.11. */
enum fperf_probe_state probe_memory(char *detail)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "fperf_probe", 0, 0, 16 << 20, NULL);

	if (fd < 0)
		return missing(detail, "a map of 16 MiB can't be created", -errno);
	close(fd);
	probe_say(detail, "a map of 16 MiB was created");
	return FPERF_PROBE_WORKS;
}

enum fperf_probe_state probe_tp_btf(char *detail)
{
	int id = libbpf_find_vmlinux_btf_id("sched_switch", BPF_TRACE_RAW_TP), program, link;

	if (id < 0)
		return missing(detail, "sched_switch is not in the kernel's BTF", id);
	program = probe_program_load(BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, id);
	if (program < 0)
		return missing(detail, "a program for sched_switch can't be loaded", program);
	link = bpf_raw_tracepoint_open(NULL, program);
	if (link < 0) {
		int code = -errno;

		close(program);
		return missing(detail, "a program can't be attached to sched_switch", code);
	}
	close(link);
	close(program);
	probe_say(detail, "a program was attached to sched_switch");
	return FPERF_PROBE_WORKS;
}

enum fperf_probe_state probe_task_iterator(char *detail)
{
	int id = libbpf_find_vmlinux_btf_id("task", BPF_TRACE_ITER), program;

	if (id < 0)
		return missing(detail, "bpf_iter_task is not in the kernel's BTF", id);
	program = probe_program_load(BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, id);
	if (program < 0)
		return missing(detail, "loading one fails", program);
	close(program);
	probe_say(detail, "one was loaded");
	return FPERF_PROBE_WORKS;
}

static enum fperf_probe_state helper_try(char *detail, int number)
{
	int program = probe_program_load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0), result;

	if (program < 0) /* then nothing can be said about helpers */
		return missing(detail, "loading a program fails", program);
	close(program);
	result = libbpf_probe_bpf_helper(BPF_PROG_TYPE_TRACING, (enum bpf_func_id)number, NULL);
	if (result == -EOPNOTSUPP) /* libbpf can't load programs of that type without a target */
		result =
			libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, (enum bpf_func_id)number, NULL);
	probe_say(detail, result > 0 ? "the verifier knows it" : "the verifier does not know it");
	return result > 0 ? FPERF_PROBE_WORKS : FPERF_PROBE_MISSING;
}

enum fperf_probe_state probe_bpf_loop(char *detail)
{
	return helper_try(detail, HELPER_LOOP);
}

enum fperf_probe_state probe_user_registers(char *detail)
{
	return helper_try(detail, HELPER_TASK_PT_REGS);
}

enum fperf_probe_state probe_run_time(char *detail)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (fd < 0)
		return missing(detail, "can't be switched on", -errno);
	close(fd);
	probe_say(detail, "can be measured");
	return FPERF_PROBE_WORKS;
}

enum fperf_probe_state probe_jit_compiler(char *detail)
{
	char line[32];

	if (!probe_read_line("/proc/sys/net/core/bpf_jit_enable", line, sizeof(line))) {
		probe_say(detail, "the kernel does not tell");
		return FPERF_PROBE_LIMITED;
	}
	probe_say(detail, "net.core.bpf_jit_enable is %s", line);
	return line[0] == '0' ? FPERF_PROBE_MISSING : FPERF_PROBE_WORKS;
}

/* Named differently by driver and kernel version. */
enum fperf_probe_state probe_gpu_tracepoints(char *detail)
{
	static const char *const names[] = {
		"dma_fence_signaled",	   "drm_sched_job",   "drm_run_job",	     "drm_sched_job_queue",
		"drm_sched_job_run",	   "amdgpu_cs_ioctl", "i915_request_retire", "msm_gpu_submit_retired",
		"adreno_cmdbatch_retired", "gpu_frequency",   "gpu_work_period",
	};
	int program = probe_program_load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0);
	size_t used = 0;

	if (program < 0)
		return missing(detail, "a program for raw tracepoints can't be loaded", program);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int link = bpf_raw_tracepoint_open(names[i], program);

		if (link < 0)
			continue;
		close(link);
		if (used < FPERF_PROBE_DETAIL)
			used += (size_t)snprintf(detail + used, FPERF_PROBE_DETAIL - used, "%s%s",
						 used ? ", " : "", names[i]);
	}
	close(program);
	if (!used)
		probe_say(detail, "none of those that are known");
	return used ? FPERF_PROBE_WORKS : FPERF_PROBE_MISSING;
}
