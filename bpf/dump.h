/* The last resort for a user stack: registers and stack memory as they are, unwound by libdw in user space.
 * Bounded in bytes, and in rate for each thread.
 */
#ifndef FPERF_BPF_DUMP_H
#define FPERF_BPF_DUMP_H

#include "maps.h"
#include "regs.h"

/* Set by the loader: least time between two dumps of a thread. */
const volatile __u64 dump_interval_ns = 5000000;

struct dump_scratch {
	struct fperf_wire_stack_dump head;
	__u8 bytes[FPERF_DUMP_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dump_scratch);
} fperf_dump_scratch SEC(".maps");

/* When a thread was dumped last. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} fperf_dumped SEC(".maps");

static __always_inline bool dump_affordable(__u32 tid, __u64 now)
{
	__u64 *last = bpf_map_lookup_elem(&fperf_dumped, &tid);

	if (last && now - *last < dump_interval_ns)
		return false;
	bpf_map_update_elem(&fperf_dumped, &tid, &now, BPF_ANY);
	return true;
}

#define DUMP_PAGE 4096

/* Whole pages from the one that sp is in, as far as they can be read. Returns how many bytes. */
static __always_inline __u32 dump_pages(struct dump_scratch *scratch, __u64 base)
{
	__u32 bytes = 0;

	for (int i = 0; i < FPERF_DUMP_BYTES / DUMP_PAGE; i++) {
		if (bpf_probe_read_user(&scratch->bytes[i * DUMP_PAGE], DUMP_PAGE,
					(const void *)(base + i * DUMP_PAGE)))
			break;
		bytes += DUMP_PAGE;
	}
	return bytes;
}

static __always_inline bool dump_registers(struct dump_scratch *scratch, const void *kernel_regs)
{
#if defined(__TARGET_ARCH_x86)
	struct pt_regs regs = {};
	__u64 *out = scratch->head.registers;

	if (bpf_probe_read_kernel(&regs, sizeof(regs), kernel_regs))
		return false;
	out[0] = regs.ax;
	out[1] = regs.dx;
	out[2] = regs.cx;
	out[3] = regs.bx;
	out[4] = regs.si;
	out[5] = regs.di;
	out[6] = regs.bp;
	out[7] = regs.sp;
	out[8] = regs.r8;
	out[9] = regs.r9;
	out[10] = regs.r10;
	out[11] = regs.r11;
	out[12] = regs.r12;
	out[13] = regs.r13;
	out[14] = regs.r14;
	out[15] = regs.r15;
	out[16] = regs.ip;
	return true;
#else
	/* registers, sp and pc lie in this order at the beginning, which is part of the ABI */
	return !bpf_probe_read_kernel(scratch->head.registers, 33 * sizeof(__u64), kernel_regs);
#endif
}

/* Writes a dump of `task` for the record that has `header`, to the same ring. `pc` is where the task is, in
 * place of what the registers say, which at a probe may be the address behind it. */
static __always_inline bool dump_emit(void *ring, struct task_struct *task,
				      const struct fperf_wire_header *header, __u64 pc)
{
	__u32 zero = 0, size;
	struct dump_scratch *scratch = bpf_map_lookup_elem(&fperf_dump_scratch, &zero);
	const void *kernel_regs = task_user_regs(task);
	__u64 sp;

	if (!scratch || !kernel_regs || !dump_affordable(header->tid, header->time_ns) ||
	    !dump_registers(scratch, kernel_regs))
		return false;
	scratch->head.header = *header;
	scratch->head.header.type = FPERF_WIRE_STACK_DUMP;
#if defined(__TARGET_ARCH_x86)
	sp = scratch->head.registers[7];
	scratch->head.registers[16] = pc;
#else
	sp = scratch->head.registers[31];
	scratch->head.registers[32] = pc;
#endif
	scratch->head.base = sp & ~(__u64)(DUMP_PAGE - 1);
	scratch->head.bytes = dump_pages(scratch, scratch->head.base);
	size = sizeof(scratch->head) + scratch->head.bytes;
	scratch->head.header.size = size;
	if (size > sizeof(*scratch))
		return false;
	return !bpf_ringbuf_output(ring, scratch, size, BPF_RB_NO_WAKEUP);
}

#endif
