#include "stop_compare.h"

#include "host_unwinder.h"
#include "unwind/table.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)

struct process {
	pid_t pid;
	struct host_unwinder *unwinder;
	Dwfl *dwfl;
	uint64_t registers[17]; /* by DWARF number */
};

struct judged {
	uint64_t frames[FPERF_USER_DEPTH];
	uint32_t count;
};

static bool process_read(void *context, uint64_t address, void *to, size_t size)
{
	struct process *process = context;
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};

	return process_vm_readv(process->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static void registers_get(struct process *process)
{
	struct user_regs_struct regs;

	ptrace(PTRACE_GETREGS, process->pid, NULL, &regs);
	const uint64_t by_number[17] = {regs.rax, regs.rdx, regs.rcx, regs.rbx, regs.rsi, regs.rdi,
					regs.rbp, regs.rsp, regs.r8,  regs.r9,	regs.r10, regs.r11,
					regs.r12, regs.r13, regs.r14, regs.r15, regs.rip};
	memcpy(process->registers, by_number, sizeof(by_number));
}

static void mapping_add(struct process *process, uint64_t start, uint64_t end, uint64_t offset,
			const char *path)
{
	struct fperf_unwind_table table = {0};
	struct fperf_error err;
	struct fperf_elf *elf = NULL;
	uint8_t *image = NULL;
	char file[96];

	if (strcmp(path, "[vdso]") == 0) {
		image = malloc(end - start);
		if (process_read(process, start, image, end - start))
			fperf_elf__open_memory(image, end - start, path, &elf, &err);
	} else if (path[0] == '/') {
		snprintf(file, sizeof(file), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, process->pid, start,
			 end);
		if (fperf_elf__open(file, &elf, &err))
			elf = NULL;
	}
	if (elf && fperf_unwind_table__build(elf, 0, &table, &err) == 0 && table.count)
		host_unwinder_map(process->unwinder, start, end, offset, &table);
	else
		host_unwinder_map(process->unwinder, start, end, offset, NULL);
	fperf_unwind_table__free(&table);
	fperf_elf__close(elf);
	free(image);
}

static void mappings_read(struct process *process)
{
	char path[64], line[4400];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", process->pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		uint64_t start, end, offset;
		char flags[8], file[4096] = "";

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %4095s", &start, &end,
			   flags, &offset, file) >= 4 &&
		    flags[2] == 'x')
			mapping_add(process, start, end, offset, file);
	}
	if (maps)
		fclose(maps);
}

static int debuginfo_none(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			  const char *file_name, const char *link, GElf_Word crc, char **found)
{
	(void)module, (void)userdata, (void)name, (void)base, (void)file_name, (void)link, (void)crc,
		(void)found;
	return -1;
}

static Dwfl *libdw_attach(pid_t pid)
{
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
						 .find_debuginfo = debuginfo_none};
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (dwfl_linux_proc_report(dwfl, pid) || dwfl_report_end(dwfl, NULL, NULL) ||
	    dwfl_linux_proc_attach(dwfl, pid, true)) {
		dwfl_end(dwfl);
		return NULL;
	}
	return dwfl;
}

static int judged_frame(Dwfl_Frame *frame, void *context)
{
	struct judged *judged = context;
	Dwarf_Addr pc;
	bool activation;

	if (judged->count == FPERF_USER_DEPTH || !dwfl_frame_pc(frame, &pc, &activation))
		return DWARF_CB_ABORT;
	if (pc)
		judged->frames[judged->count++] = pc | (activation ? FPERF_WIRE_PC_BIT : 0);
	return DWARF_CB_OK;
}

static void wrong_note(struct stop_totals *totals, const struct host_stack *ours, const struct judged *theirs)
{
	size_t at = 0, size = sizeof(totals->first_wrong);

	if (totals->wrong++)
		return;
	at += (size_t)snprintf(totals->first_wrong, size, "outcome %u\n", ours->outcome);
	for (uint32_t i = 0; (i < ours->count || i < theirs->count) && at < size - 80; i++)
		at += (size_t)snprintf(
			totals->first_wrong + at, size - at, "  %2u  %16" PRIx64 "  %16" PRIx64 "\n", i,
			i < ours->count ? ours->frames[i] : 0, i < theirs->count ? theirs->frames[i] : 0);
}

static void stack_compare(const struct host_stack *ours, const struct judged *theirs,
			  struct stop_totals *totals)
{
	uint32_t both = ours->count < theirs->count ? ours->count : theirs->count;

	totals->stops++;
	totals->frames += ours->count;
	for (uint32_t i = 0; i < both; i++) {
		if (ours->frames[i] != theirs->frames[i]) {
			wrong_note(totals, ours, theirs);
			return;
		}
	}
	if (ours->count > theirs->count) {
		totals->libdw_short++;
	} else if (ours->outcome == FPERF_STACK_COMPLETE && ours->count == theirs->count) {
		totals->equal++;
	} else if (ours->count == theirs->count) {
		totals->both_short++;
	} else if (ours->outcome == FPERF_STACK_COMPLETE) {
		wrong_note(totals, ours, theirs); /* called whole, and is not */
	} else if (!totals->shorter++) {
		snprintf(totals->first_short, sizeof(totals->first_short),
			 "outcome %u at 0x%" PRIx64 ", %u of %u stack frames", ours->outcome, ours->failed_at,
			 ours->count, theirs->count);
	}
}

static void stop_judge(struct process *process, struct stop_totals *totals)
{
	struct host_memory memory = {process_read, process};
	struct host_registers registers = {.leaf = true, .all = process->registers};
	struct judged theirs = {0};
	struct host_stack ours;

	registers_get(process);
	registers.pc = process->registers[16];
	registers.sp = process->registers[7];
	registers.fp = process->registers[6];
	host_unwinder_run(process->unwinder, &memory, &registers, FPERF_USER_DEPTH, &ours);
	dwfl_getthread_frames(process->dwfl, process->pid, judged_frame, &theirs);
	stack_compare(&ours, &theirs, totals);
}

static bool stopped_again(pid_t pid)
{
	int status;

	return waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status);
}

static void stops_visit(struct process *process, unsigned int steps, unsigned int stride, unsigned int pauses,
			struct stop_totals *totals)
{
	unsigned int random = 1;

	for (unsigned int i = 0; i < steps; i++) {
		if (i % stride == 0)
			stop_judge(process, totals);
		if (ptrace(PTRACE_SINGLESTEP, process->pid, NULL, NULL) || !stopped_again(process->pid))
			return;
	}
	for (unsigned int i = 0; i < pauses; i++) {
		int status, signal = 0;

		random = random * 1103515245 + 12345;
		ptrace(PTRACE_CONT, process->pid, NULL, NULL);
		usleep(random >> 16 & 1023);
		kill(process->pid, SIGSTOP);
		for (;;) { /* its own signals go on to it */
			if (waitpid(process->pid, &status, __WALL) != process->pid || !WIFSTOPPED(status))
				return;
			signal = WSTOPSIG(status);
			if (signal == SIGSTOP)
				break;
			ptrace(PTRACE_CONT, process->pid, NULL, signal == SIGTRAP ? 0 : signal);
		}
		stop_judge(process, totals);
	}
}

void stop_compare(pid_t pid, unsigned int steps, unsigned int stride, unsigned int pauses,
		  struct stop_totals *totals)
{
	struct process process = {.pid = pid, .unwinder = host_unwinder_new()};

	process.dwfl = libdw_attach(pid);
	mappings_read(&process);
	if (process.dwfl)
		stops_visit(&process, steps, stride, pauses, totals);
	dwfl_end(process.dwfl);
	host_unwinder_free(process.unwinder);
}

#endif
