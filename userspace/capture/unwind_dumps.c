#include "capture/unwind_dumps.h"

#include "base/clock.h"
#include "base/map.h"
#include "unwind/dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Processes that libdw holds at a time. */
#define PROCESSES_MAX 8

struct dumped_process {
	uint32_t pid; /* 0: unused */
	uint64_t version, made_ns, used_ns;
	struct fperf_dump_process *libdw; /* NULL: it would not have it */
};

struct fperf_unwind_dumps {
	struct fperf_unwind_processes *processes;
	struct fperf_unwind_modules *modules;
	struct dumped_process known[PROCESSES_MAX];
	uint64_t renew_ns;
	uint64_t count;
	uint32_t tid; /* of `stack` */
	uint64_t time_ns;
	struct fperf_unwind_dump_stack stack;
};

int fperf_unwind_dumps__new(struct fperf_unwind_processes *processes, struct fperf_unwind_modules *modules,
			    uint64_t renew_ns, struct fperf_unwind_dumps **out, struct fperf_error *err)
{
	struct fperf_unwind_dumps *dumps = calloc(1, sizeof(*dumps));

	if (!dumps)
		return fperf_error__no_memory(err, "stack dumps");
	dumps->processes = processes;
	dumps->modules = modules;
	dumps->renew_ns = renew_ns;
	*out = dumps;
	return 0;
}

static void known_drop(struct dumped_process *known)
{
	fperf_dump_process__free(known->libdw);
	*known = (struct dumped_process){0};
}

void fperf_unwind_dumps__free(struct fperf_unwind_dumps *dumps)
{
	if (!dumps)
		return;
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		known_drop(&dumps->known[i]);
	free(dumps);
}

/* Modules of which several pieces are mapped appear once. */
static void known_make(struct fperf_unwind_dumps *dumps, struct dumped_process *known, uint32_t pid,
		       uint64_t now_ns)
{
	const struct fperf_unwind_mapping *mappings;
	struct fperf_error err;
	uint64_t last_base = 0;
	size_t count;

	known_drop(known);
	known->pid = pid;
	known->made_ns = now_ns;
	known->version = fperf_unwind_processes__mappings(dumps->processes, pid, &mappings, &count);
	if (!count || fperf_dump_process__new((pid_t)pid, &known->libdw, &err))
		return;
	for (size_t i = 0; i < count; i++) {
		char name[64];
		int fd;

		if (mappings[i].delta == last_base)
			continue;
		fd = fperf_unwind_modules__file(dumps->modules, mappings[i].module, name, sizeof(name));
		if (fd < 0)
			continue;
		fperf_dump_process__add(known->libdw, name, fd, mappings[i].delta);
		close(fd);
		last_base = mappings[i].delta;
	}
	if (fperf_dump_process__seal(known->libdw, &err)) {
		fperf_dump_process__free(known->libdw);
		known->libdw = NULL;
	}
}

static struct fperf_dump_process *process_get(struct fperf_unwind_dumps *dumps, uint32_t pid)
{
	struct dumped_process *found = &dumps->known[0];
	uint64_t now_ns = fperf_clock__now_ns();

	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		struct dumped_process *known = &dumps->known[i];

		if (known->pid == pid) {
			found = known;
			break;
		}
		if (known->used_ns < found->used_ns)
			found = known;
	}
	if (found->pid != pid || (found->version != fperf_unwind_processes__version(dumps->processes, pid) &&
				  now_ns - found->made_ns >= dumps->renew_ns))
		known_make(dumps, found, pid, now_ns);
	found->used_ns = now_ns;
	return found->libdw;
}

void fperf_unwind_dumps__take(struct fperf_unwind_dumps *dumps, const void *record, size_t size)
{
	struct fperf_wire_stack_dump head;
	struct fperf_dump_process *process;
	struct fperf_dump dump;

	dumps->tid = 0;
	if (size < sizeof(head))
		return;
	memcpy(&head, record, sizeof(head));
	if (head.bytes > size - sizeof(head))
		return;
	process = process_get(dumps, head.header.pid);
	if (!process)
		return;
	dump = (struct fperf_dump){.registers = head.registers,
				   .bytes = (const uint8_t *)record + sizeof(head),
				   .size = head.bytes,
				   .base = head.base};
	dumps->stack.count = fperf_dump_process__unwind(process, &dump, dumps->stack.frames, FPERF_USER_DEPTH,
							&dumps->stack.outcome);
	dumps->tid = head.header.tid;
	dumps->time_ns = head.header.time_ns;
	dumps->count++;
}

const struct fperf_unwind_dump_stack *fperf_unwind_dumps__find(const struct fperf_unwind_dumps *dumps,
							       const struct fperf_wire_header *header)
{
	return dumps->tid && dumps->tid == header->tid && dumps->time_ns == header->time_ns ? &dumps->stack
											    : NULL;
}

bool fperf_unwind_dumps__knows(const struct fperf_unwind_dumps *dumps, uint32_t pid, uint64_t frame)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		if (dumps->known[i].pid == pid && dumps->known[i].libdw)
			return fperf_dump_process__knows(dumps->known[i].libdw, frame);
	}
	return false;
}

void fperf_unwind_dumps__exit(struct fperf_unwind_dumps *dumps, uint32_t pid)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		if (dumps->known[i].pid == pid)
			known_drop(&dumps->known[i]);
	}
}

uint64_t fperf_unwind_dumps__count(const struct fperf_unwind_dumps *dumps)
{
	return dumps->count;
}
