#include "unwind/dump.h"

#include "frameperf/reasons.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__aarch64__)
#define REGISTER_PC 32
#define REGISTERS   32 /* without the pc */
#else
#define REGISTER_PC 16
#define REGISTERS   17
#endif

struct fperf_dump_process {
	Dwfl *dwfl;
	pid_t pid;
	const struct fperf_dump *dump; /* being unwound */
	bool unread;		       /* since the last stack frame, memory was wanted that the dump lacks */
};

/* Frames as libdw hands them out. */
struct collection {
	struct fperf_dump_process *process;
	uint64_t *frames;
	uint32_t count, max;
	bool too_many;
};

static int no_file(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, char **file_name,
		   Elf **elf)
{
	(void)module;
	(void)userdata;
	(void)name;
	(void)base;
	(void)file_name;
	(void)elf;
	return -1;
}

/* The default would search the machine, and the network, for files with debug information. */
static int no_debug_file(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			 const char *file_name, const char *link, GElf_Word crc, char **found)
{
	(void)module;
	(void)userdata;
	(void)name;
	(void)base;
	(void)file_name;
	(void)link;
	(void)crc;
	(void)found;
	return -1;
}

static const Dwfl_Callbacks dwfl_callbacks = {.find_elf = no_file, .find_debuginfo = no_debug_file};

int fperf_dump_process__new(pid_t pid, struct fperf_dump_process **out, struct fperf_error *err)
{
	struct fperf_dump_process *process = calloc(1, sizeof(*process));

	if (process)
		process->dwfl = dwfl_begin(&dwfl_callbacks);
	if (!process || !process->dwfl) {
		free(process);
		return fperf_error__no_memory(err, "libdw's view of a process");
	}
	process->pid = pid;
	dwfl_report_begin(process->dwfl);
	*out = process;
	return 0;
}

void fperf_dump_process__free(struct fperf_dump_process *process)
{
	if (!process)
		return;
	dwfl_end(process->dwfl);
	free(process);
}

void fperf_dump_process__add(struct fperf_dump_process *process, const char *name, int fd, uint64_t base)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (own >= 0 && !dwfl_report_elf(process->dwfl, name, name, own, base, false))
		close(own); /* libdw closes those that it takes */
}

static pid_t thread_next(Dwfl *dwfl, void *context, void **thread_context)
{
	struct fperf_dump_process *process = context;

	(void)dwfl;
	if (*thread_context)
		return 0;
	*thread_context = process;
	return process->pid;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *value, void *context)
{
	struct fperf_dump_process *process = context;
	const struct fperf_dump *dump = process->dump;

	(void)dwfl;
	if (address < dump->base || dump->size < sizeof(*value) ||
	    address - dump->base > dump->size - sizeof(*value)) {
		process->unread = true;
		return false;
	}
	memcpy(value, dump->bytes + (address - dump->base), sizeof(*value));
	return true;
}

static bool registers_set(Dwfl_Thread *thread, void *context)
{
	const struct fperf_dump *dump = ((struct fperf_dump_process *)context)->dump;

	dwfl_thread_state_register_pc(thread, dump->registers[REGISTER_PC]);
	return dwfl_thread_state_registers(thread, 0, REGISTERS, (const Dwarf_Word *)dump->registers);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = thread_next,
	.memory_read = memory_read,
	.set_initial_registers = registers_set,
};

int fperf_dump_process__seal(struct fperf_dump_process *process, struct fperf_error *err)
{
	if (dwfl_report_end(process->dwfl, NULL, NULL) ||
	    !dwfl_attach_state(process->dwfl, NULL, process->pid, &thread_callbacks, process))
		return fperf_error__set(err, -EINVAL, "libdw cannot unwind process %ld: %s",
					(long)process->pid, dwfl_errmsg(-1));
	return 0;
}

static int frame_collect(Dwfl_Frame *frame, void *context)
{
	struct collection *collection = context;
	Dwarf_Addr pc;
	bool interrupted;

	collection->process->unread = false;
	if (!dwfl_frame_pc(frame, &pc, &interrupted) || !pc)
		return DWARF_CB_ABORT;
	if (collection->count == collection->max) {
		collection->too_many = true;
		return DWARF_CB_ABORT;
	}
	collection->frames[collection->count++] = pc | (interrupted ? FPERF_WIRE_PC_BIT : 0);
	return DWARF_CB_OK;
}

uint32_t fperf_dump_process__unwind(struct fperf_dump_process *process, const struct fperf_dump *dump,
				    uint64_t *frames, uint32_t max, uint8_t *outcome)
{
	struct collection collection = {.process = process, .frames = frames, .max = max};
	int rc;

	process->dump = dump;
	rc = dwfl_getthread_frames(process->dwfl, process->pid, frame_collect, &collection);
	process->dump = NULL;
	/* Where it cannot read on, libdw may fall back on a frame pointer of 0 and call that the end. */
	*outcome = rc == 0 && !process->unread ? FPERF_STACK_COMPLETE
		   : collection.too_many       ? FPERF_STACK_TRUNCATED
					       : FPERF_STACK_BAD_READ;
	if (!collection.count) {
		frames[0] = dump->registers[REGISTER_PC] | FPERF_WIRE_PC_BIT;
		*outcome = FPERF_STACK_NO_MODULE;
		return 1;
	}
	return collection.count;
}

bool fperf_dump_process__knows(struct fperf_dump_process *process, uint64_t frame)
{
	Dwarf_Addr address = frame & FPERF_WIRE_PC_BIT ? frame & ~FPERF_WIRE_PC_BIT : frame - 1, bias = 0;
	Dwfl_Module *module = dwfl_addrmodule(process->dwfl, address);
	Dwarf_CFI *cfi = module ? dwfl_module_eh_cfi(module, &bias) : NULL;
	Dwarf_Frame *found = NULL;

	if (!cfi || dwarf_cfi_addrframe(cfi, address - bias, &found))
		return false;
	free(found);
	return true;
}
