/* Shared by the files of the probe only. Each function tries one thing and fills `detail` (256 bytes). */
#ifndef FPERF_CAPTURE_PROBE_INTERNAL_H
#define FPERF_CAPTURE_PROBE_INTERNAL_H

#include "capture/probe.h"

#define FPERF_PROBE_DETAIL sizeof(((struct fperf_probe_result *)0)->detail)

typedef enum fperf_probe_state fperf_probe_function(char *detail);

/* probe_bpf.c */
fperf_probe_function probe_programs, probe_btf, probe_ring_buffer, probe_tp_btf, probe_task_iterator,
	probe_bpf_loop, probe_user_registers, probe_run_time, probe_gpu_tracepoints, probe_jit_compiler,
	probe_memory;

/* probe_perf.c */
fperf_probe_function probe_cycles, probe_cpu_clock, probe_side_band, probe_uprobe, probe_paranoid;

/* probe_system.c */
fperf_probe_function probe_privileges, probe_pid_namespace, probe_lockdown, probe_kallsyms, probe_cpufreq,
	probe_tracefs, probe_descriptors, probe_schedstat, probe_map_files;

/* A program of the type that only returns 0; a descriptor or a negative errno. */
int probe_program_load(int type, int attach_type, int btf_id);

/* Formats into `detail`. */
void probe_say(char *detail, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* First line of a small file without its newline; false when it can't be read. */
bool probe_read_line(const char *path, char *line, size_t size);

#endif
