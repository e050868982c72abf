#include "capture/probe_internal.h"

#include <bpf/libbpf.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct row {
	const char *name;
	bool required;
	fperf_probe_function *run;
	const char *lost, *advice;
};

static const struct row rows[] = {
	{"privileges", true, probe_privileges, "loading BPF programs, reading other processes",
	 "run as root (sudo frameperf ...)"},
	{"initial PID namespace", true, probe_pid_namespace, "telling the target's processes from others",
	 "run frameperf outside of the container, with the target's pid as it is there"},
	{"kernel lockdown", true, probe_lockdown, "reading kernel memory from BPF",
	 "boot without lockdown=confidentiality (switching Secure Boot off usually does it)"},
	{"BPF programs", true, probe_programs, "everything",
	 "a kernel with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS"},
	{"kernel type information (BTF)", true, probe_btf, "scheduling, processes and stacks",
	 "a kernel with CONFIG_DEBUG_INFO_BTF"},
	{"BPF ring buffer", true, probe_ring_buffer, "everything", "Linux 5.8 or newer"},
	{"locked memory", true, probe_memory, "BPF maps",
	 "raise the limit ('ulimit -l unlimited') or use Linux 5.11 or newer"},
	{"BPF just-in-time compiler", false, probe_jit_compiler,
	 "speed: programs are interpreted, several times slower", "sysctl net.core.bpf_jit_enable=1"},
	{"BTF tracepoints", false, probe_tp_btf, "off-CPU intervals, processes that start later",
	 "a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_BPF_EVENTS"},
	{"task iterator", false, probe_task_iterator, "exact states of threads when recording starts",
	 "Linux 5.8 or newer with BTF"},
	{"bpf_loop", false, probe_bpf_loop, "nothing: stacks are walked by tail calls instead",
	 "Linux 5.17 or newer"},
	{"user registers of tasks", false, probe_user_registers,
	 "nothing on x86-64 and arm64: registers are found through the kernel stack", "Linux 5.15 or newer"},
	{"BPF run time", false, probe_run_time, "measuring what recording costs", "Linux 5.8 or newer"},
	{"hardware cycles", false, probe_cycles, "sampling by cycles: cpu-clock is used",
	 "nothing to do in a virtual machine without a PMU"},
	{"cpu-clock", false, probe_cpu_clock, "sampling", "a kernel with CONFIG_PERF_EVENTS"},
	{"mappings with build IDs", false, probe_side_band,
	 "some build IDs: files are read instead, which may be gone by then", "Linux 5.12 or newer"},
	{"uprobes", false, probe_uprobe, "frame boundaries, marks and scopes",
	 "a kernel with CONFIG_UPROBE_EVENTS"},
	{"perf_event_paranoid", false, probe_paranoid, "perf events without root",
	 "sysctl kernel.perf_event_paranoid=1"},
	{"kernel addresses", false, probe_kallsyms, "names of kernel functions",
	 "sysctl kernel.kptr_restrict=1"},
	{"mapped files of processes", false, probe_map_files,
	 "marks in files that were replaced or hidden after they were mapped", "run as root"},
	{"CPU time of threads", false, probe_schedstat, "checking the ledger against the kernel's account",
	 "a kernel with CONFIG_SCHED_INFO"},
	{"CPU clocks (cpufreq)", false, probe_cpufreq, "clocks: slow frames for a slow clock show as 'cpu'",
	 "nothing to do in a virtual machine"},
	{"GPU tracepoints", false, probe_gpu_tracepoints,
	 "GPU work; waits for it are told by kernel stacks only", "load the GPU's driver"},
	{"tracefs", false, probe_tracefs, "nothing: frameperf does not need it",
	 "mount -t tracefs tracefs /sys/kernel/tracing"},
	{"open files", false, probe_descriptors, "recording of processes with very many threads",
	 "ulimit -n 65536"},
};

size_t fperf_probe__count(void)
{
	return sizeof(rows) / sizeof(rows[0]);
}

/* What is refused to this user says nothing about the kernel. */
static bool is_refusal(const char *detail)
{
	char privileges[FPERF_PROBE_DETAIL];

	return (strstr(detail, strerror(EPERM)) || strstr(detail, strerror(EACCES))) &&
	       probe_privileges(privileges) != FPERF_PROBE_WORKS;
}

void fperf_probe__run(size_t index, struct fperf_probe_result *result)
{
	const struct row *row = &rows[index];

	*result = (struct fperf_probe_result){
		.name = row->name, .required = row->required, .lost = row->lost, .advice = row->advice};
	libbpf_set_print(NULL); /* what matters is in the detail */
	result->state = row->run(result->detail);
	if (result->state != FPERF_PROBE_WORKS && is_refusal(result->detail))
		result->advice = rows[0].advice;
}

const char *fperf_probe__state_name(enum fperf_probe_state state)
{
	static const char *const names[] = {"works", "limited", "missing"};

	return names[state];
}

void probe_say(char *detail, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(detail, FPERF_PROBE_DETAIL, format, args);
	va_end(args);
}

bool probe_read_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool read;

	if (!file)
		return false;
	read = fgets(line, (int)size, file);
	fclose(file);
	if (read)
		line[strcspn(line, "\n")] = 0;
	return read;
}
