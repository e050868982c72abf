/* arrivals: for a watcher that lies in wait. Wakes it when a process begins to run a program, or takes a
 * name, that it waits for; everything else costs one lookup in a table. Shares nothing with a recording. */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "frameperf/wire.h"

char LICENSE[] SEC("license") = "GPL";

struct arrival_name {
	char text[FPERF_COMM_SIZE];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FPERF_ARRIVAL_NAMES);
	__type(key, struct arrival_name);
	__type(value, __u8);
} arrival_names SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} arrival_ring SEC(".maps");

/* A full ring loses nothing that counts: the watcher is awake then, and looks at all processes. */
static __always_inline void arrival_tell(const struct arrival_name *name, __u32 pid)
{
	if (bpf_map_lookup_elem(&arrival_names, name))
		bpf_ringbuf_output(&arrival_ring, &pid, sizeof(pid), 0);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(fperf_arrive_exec, struct task_struct *task, int old_pid, struct linux_binprm *binprm)
{
	struct arrival_name name = {};

	bpf_probe_read_kernel_str(name.text, sizeof(name.text), task->comm);
	arrival_tell(&name, task->tgid);
	return 0;
}

/* An app is forked from a process that waits with everything loaded, and then given its name. */
SEC("tp_btf/task_rename")
int BPF_PROG(fperf_arrive_name, struct task_struct *task, const char *comm)
{
	struct arrival_name name = {};

	if (task->pid != task->tgid)
		return 0;
	bpf_probe_read_kernel_str(name.text, sizeof(name.text), comm);
	arrival_tell(&name, task->tgid);
	return 0;
}
