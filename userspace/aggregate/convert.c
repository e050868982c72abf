/* Wire records to session records: one row per wire type. */
#include "aggregate/aggregate_internal.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOSS_INTERVAL_NS FPERF_NS_PER_S
#define SWITCH_NS                                                                                            \
	(200 * FPERF_NS_PER_US) /* no switch takes longer; what does is time taken from the thread */

/* The fixed part of a record, copied out of the ring (which promises no alignment to us), and its stack. */
struct wire_record {
	union {
		struct fperf_wire_header header;
		struct fperf_wire_sample sample;
		struct fperf_wire_offcpu offcpu;
		struct fperf_wire_out_stack out_stack;
		struct fperf_wire_mark mark;
		struct fperf_wire_fork fork;
		struct fperf_wire_exec exec;
		struct fperf_wire_exit exit;
		struct fperf_wire_rename rename;
		struct fperf_wire_freq freq;
		struct fperf_wire_task_state task;
	};
	struct fperf_stack_input stack;
};

static struct fperf_thread *record_thread(struct fperf_aggregate *agg, const struct wire_record *wire,
					  struct fperf_error *err)
{
	const struct fperf_wire_header *header = &wire->header;
	struct fperf_thread *thread =
		fperf_task_table__at(&agg->tasks, header->pid, header->tid, header->time_ns, err);

	if (!thread || (thread->rename_pending_ns &&
			fperf_task_table__settle(&agg->tasks, thread, header->time_ns, err)))
		return NULL;
	return thread;
}

static int sample_convert(struct fperf_aggregate *agg, const struct wire_record *wire,
			  struct fperf_error *err)
{
	const struct fperf_wire_sample *sample = &wire->sample;
	struct fperf_rec_sample record = {
		.time_ns = sample->header.time_ns,
		.cpu = sample->header.cpu,
		.kernel = sample->flags & FPERF_SAMPLE_KERNEL ? 1 : 0,
		.period = sample->period,
	};
	struct fperf_thread *thread = record_thread(agg, wire, err);

	if (!thread)
		return err->code;
	record.thread = thread->id;
	if (fperf_aggregate__stack(agg, thread->process, &wire->stack, NULL, record.kernel,
				   FPERF_SOURCE_SAMPLE, &record.stack, err))
		return err->code;
	thread->sample_stack = record.stack;
	thread->sampled_ns = record.time_ns;
	return fperf_writer__add(agg->options.writer, FPERF_RECORD_SAMPLE, &record, err);
}

/* Recording began while the thread was off the CPU: where it was is known from the scan at the start. */
static int offcpu_complete(struct fperf_aggregate *agg, struct fperf_thread *thread,
			   struct fperf_rec_offcpu *record, struct fperf_error *err)
{
	const struct fperf_thread_at_start *at_start = thread->at_start;

	if (!record->out_ns) {
		record->out_ns = agg->options.start_ns;
		if (thread->start_ns > record->out_ns && thread->start_ns <= record->in_ns)
			record->out_ns = thread->start_ns;
		record->flags |= FPERF_OFFCPU_OPEN_START;
	}
	if (!at_start || !(record->flags & FPERF_OFFCPU_OPEN_START))
		return 0;
	if (!record->stack &&
	    fperf_aggregate__intern(agg, at_start->stack.outcome, at_start->stack.frames,
				    (uint32_t)at_start->stack.count, FPERF_SOURCE_SCHED, &record->stack, err))
		return err->code;
	if (record->syscall < 0 && at_start->syscall >= 0) {
		record->syscall = at_start->syscall;
		memcpy(record->args, at_start->args, sizeof(record->args));
	}
	if (!record->state)
		record->state = at_start->state;
	if (at_start->iowait)
		record->flags |= FPERF_OFFCPU_IOWAIT;
	return 0;
}

/* Clocks of two CPUs may disagree a little: never let that become an interval of 584 years. */
static void offcpu_clamp(struct fperf_aggregate *agg, struct fperf_rec_offcpu *record)
{
	bool clamped = record->flags & FPERF_OFFCPU_CLAMPED;

	if (record->out_ns > record->in_ns) {
		record->out_ns = record->in_ns;
		clamped = true;
	}
	if (record->wake_ns && record->wake_ns < record->out_ns)
		record->wake_ns = record->out_ns;
	if (record->wake_ns > record->in_ns)
		record->wake_ns = record->in_ns;
	if (!clamped)
		return;
	record->flags |= FPERF_OFFCPU_CLAMPED;
	fperf_aggregate__count_lost(agg, FPERF_SOURCE_SCHED, FPERF_LOSS_TIME_ORDER, 1);
}

/* The kernel stops and starts its account of a thread's CPU time some us before it reports a switch: it may
 * search for other work in between, or wake up an idle CPU. For a thread that switches often this adds up to
 * some percent. Moving the switch-out by the difference makes running time equal to the kernel's account;
 * what cannot be moved, because the interval is too short, is owed to the next.
 *
 * More than a switch can take is something else: time for which the thread had the core and the kernel did
 * not charge it. On a virtual machine the host took it (the kernel calls it stolen); or records of switches
 * were lost. Returns how long that was; when, between switch-in and switch-out, nothing tells. */
static uint64_t offcpu_account(struct fperf_thread *thread, uint64_t cpu_ns, struct fperf_rec_offcpu *record)
{
	uint64_t taken = 0;
	uint64_t latest = record->wake_ns ? record->wake_ns : record->in_ns;
	int64_t charged = (int64_t)(cpu_ns - thread->last_cpu_ns), shift;
	int64_t ran = (int64_t)(record->out_ns - thread->last_in_ns);

	if (thread->last_in_ns && cpu_ns && charged >= 0 && ran >= 0) {
		shift = charged - ran + thread->owed_ns;
		if (shift < -(int64_t)SWITCH_NS) {
			taken = (uint64_t)(-shift < ran ? -shift : ran);
			shift = 0;
		} else if (shift > (int64_t)SWITCH_NS) {
			shift = 0;
		}
		thread->owed_ns = shift;
		if (shift > 0 && (uint64_t)shift > latest - record->out_ns)
			shift = (int64_t)(latest - record->out_ns);
		if (shift < -ran)
			shift = -ran;
		thread->owed_ns -= shift;
		record->out_ns += (uint64_t)shift;
	}
	thread->last_in_ns = record->in_ns;
	thread->last_cpu_ns = cpu_ns;
	return taken;
}

/* Time taken from a thread while it had the core becomes an interval before the one that `record` is: it was
 * ready to run and did not. */
static int taken_write(struct fperf_aggregate *agg, const struct fperf_rec_offcpu *record, uint64_t taken_ns,
		       struct fperf_error *err)
{
	struct fperf_rec_offcpu taken = {
		.out_ns = record->out_ns - taken_ns,
		.in_ns = record->out_ns,
		.thread = record->thread,
		.flags = FPERF_OFFCPU_PREEMPTED | FPERF_OFFCPU_TAKEN,
		.syscall = -1,
		.cpu_out = record->cpu_out,
		.cpu_in = record->cpu_out,
	};

	return fperf_writer__add(agg->options.writer, FPERF_RECORD_OFFCPU, &taken, err);
}

/* The user part was taken at the switch-out; without it the record tells why there is none. */
static int offcpu_stack(struct fperf_aggregate *agg, struct fperf_thread *thread,
			const struct wire_record *wire, uint32_t *id, struct fperf_error *err)
{
	struct fperf_stack_input input = wire->stack;
	struct fperf_out_stack *out = &thread->out_stack;
	bool fits = out->out_ns && out->out_ns == wire->offcpu.out_ns;
	int result;

	if (!fits && !input.head.user_count &&
	    wire->offcpu.flags & (FPERF_OFFCPU_SKIPPED | FPERF_OFFCPU_USER_STACK))
		input.head.outcome = FPERF_STACK_SKIPPED;
	result = fperf_aggregate__stack(agg, thread->process, &input,
					fits && !input.head.user_count ? out : NULL, false,
					FPERF_SOURCE_SCHED, id, err);
	out->out_ns = 0;
	return result;
}

static int out_stack_convert(struct fperf_aggregate *agg, const struct wire_record *wire,
			     struct fperf_error *err)
{
	struct fperf_thread *thread = record_thread(agg, wire, err);

	if (!thread)
		return err->code;
	return fperf_aggregate__keep_stack(agg, thread->process, &wire->stack, false, wire->header.time_ns,
					   &thread->out_stack, err);
}

static int account_write(struct fperf_aggregate *agg, const struct fperf_thread *thread, uint64_t time_ns,
			 uint64_t cpu_ns, struct fperf_error *err)
{
	struct fperf_rec_account record = {.time_ns = time_ns, .thread = thread->id, .cpu_ns = cpu_ns};

	return fperf_writer__add(agg->options.writer, FPERF_RECORD_ACCOUNT, &record, err);
}

static int offcpu_convert(struct fperf_aggregate *agg, const struct wire_record *wire,
			  struct fperf_error *err)
{
	const struct fperf_wire_offcpu *offcpu = &wire->offcpu;
	struct fperf_rec_offcpu record = {
		.out_ns = offcpu->out_ns,
		.wake_ns = offcpu->wake_ns,
		.in_ns = offcpu->header.time_ns,
		.flags = offcpu->flags,
		.state = offcpu->state,
		.syscall = offcpu->syscall,
		.args = {offcpu->args[0], offcpu->args[1], offcpu->args[2]},
		.cpu_out = offcpu->cpu_out,
		.cpu_in = offcpu->header.cpu,
	};
	struct fperf_thread *thread = record_thread(agg, wire, err);
	uint64_t taken_ns;

	if (!thread)
		return err->code;
	/* Outside of a system call these registers hold anything: nothing to report, and hard to compress. */
	if (record.syscall < 0)
		memset(record.args, 0, sizeof(record.args));
	thread->seen_by_sched = true;
	record.thread = thread->id;
	if (fperf_task_table__mentioned(&agg->tasks, &offcpu->next, record.out_ns, &record.next, err) ||
	    fperf_task_table__mentioned(&agg->tasks, &offcpu->prev, record.in_ns, &record.prev, err) ||
	    fperf_task_table__mentioned(&agg->tasks, &offcpu->waker, record.wake_ns, &record.waker, err) ||
	    offcpu_stack(agg, thread, wire, &record.stack, err) || offcpu_complete(agg, thread, &record, err))
		return err->code;
	offcpu_clamp(agg, &record);
	taken_ns = offcpu_account(thread, offcpu->cpu_ns, &record);
	fperf_thread__forget_start(thread);
	if ((taken_ns && taken_write(agg, &record, taken_ns, err)) ||
	    fperf_writer__add(agg->options.writer, FPERF_RECORD_OFFCPU, &record, err))
		return err->code;
	return record.flags & FPERF_OFFCPU_EXITED
		       ? account_write(agg, thread, record.in_ns, offcpu->cpu_ns, err)
		       : 0;
}

static int mark_convert(struct fperf_aggregate *agg, const struct wire_record *wire, struct fperf_error *err)
{
	const struct fperf_wire_mark *mark = &wire->mark;
	struct fperf_rec_mark record = {
		.time_ns = mark->header.time_ns,
		.marker = mark->marker,
		.cpu = mark->header.cpu,
		.args = {mark->args[0], mark->args[1], mark->args[2]},
	};
	struct fperf_thread *thread = record_thread(agg, wire, err);

	if (!thread)
		return err->code;
	record.thread = thread->id;
	return fperf_writer__add(agg->options.writer, FPERF_RECORD_MARK, &record, err);
}

/* Names come from the kernel as arrays that need not end in a NUL. */
struct name {
	char text[FPERF_COMM_SIZE + 1];
};

static struct name name_copy(const char comm[FPERF_COMM_SIZE])
{
	struct name name = {0};

	memcpy(name.text, comm, strnlen(comm, FPERF_COMM_SIZE));
	return name;
}

/* A new process looks like its parent until it execs: same program, same mappings. */
static int fork_process(struct fperf_aggregate *agg, const struct fperf_wire_fork *fork, uint64_t start_ns,
			const char *name, struct fperf_error *err)
{
	struct fperf_process *parent = fperf_task_table__process(&agg->tasks, fork->parent_pid);
	size_t known = agg->tasks.process_count;
	struct fperf_process *process =
		fperf_task_table__add_process(&agg->tasks, fork->header.pid, fork->parent_pid, 0, start_ns,
					      name, parent && parent->exe ? parent->exe : "", err);

	if (!process)
		return err->code;
	if (agg->tasks.process_count == known)
		return 0; /* seen before its fork was reported: it has its mappings */
	if (!parent) {
		fperf_task_table__queue_image(&agg->tasks, process);
		return 0;
	}
	if (fperf_mapping_set__copy(&process->maps, &parent->maps))
		return fperf_error__no_memory(err, "the mappings of a process");
	for (size_t i = 0; i < process->maps.count; i++) {
		process->maps.mappings[i].from_ns = fork->header.time_ns;
		process->maps.mappings[i].written =
			false; /* when a stack needs it: many processes come and go */
	}
	return 0;
}

static int fork_convert(struct fperf_aggregate *agg, const struct wire_record *wire, struct fperf_error *err)
{
	const struct fperf_wire_fork *fork = &wire->fork;
	struct name name = name_copy(fork->name);
	uint64_t start_ns = fork->start_ns ? fork->start_ns : fork->header.time_ns;
	struct fperf_process *process;

	if (fork->header.pid == fork->header.tid && fork_process(agg, fork, start_ns, name.text, err))
		return err->code;
	process = fperf_task_table__process(&agg->tasks, fork->header.pid);
	if (!process || process->end_ns) {
		process = fperf_task_table__add_process(&agg->tasks, fork->header.pid, 0, 0, start_ns, "", "",
							err);
		if (!process)
			return err->code;
		fperf_task_table__queue_image(&agg->tasks, process);
	}
	return fperf_task_table__add_thread(&agg->tasks, process, fork->header.tid, start_ns, name.text, err)
		       ? 0
		       : err->code;
}

/* The mappings that moved to the new program were written under the old one: there they last no time. */
static int exec_move_mappings(struct fperf_aggregate *agg, const struct fperf_process *old,
			      struct fperf_process *process, struct fperf_error *err)
{
	const struct fperf_mapping *first = NULL;

	for (size_t i = 0; i < process->maps.count; i++) {
		struct fperf_mapping *mapping = &process->maps.mappings[i];
		const struct fperf_module *module = fperf_module_table__get(agg->modules, mapping->module);

		if (module->kind == FPERF_MODULE_ELF && (!first || mapping->from_ns < first->from_ns))
			first = mapping;
		if (mapping->written &&
		    fperf_aggregate__write_mapping(agg, old, mapping, mapping->from_ns, err))
			return err->code;
		if (fperf_aggregate__write_mapping(agg, process, mapping, 0, err))
			return err->code;
	}
	if (!first)
		return 0;
	return fperf_task_table__set_exe(&agg->tasks, process,
					 fperf_module_table__get(agg->modules, first->module)->path, err);
}

static int exec_convert(struct fperf_aggregate *agg, const struct wire_record *wire, struct fperf_error *err)
{
	struct name name = name_copy(wire->exec.name);
	struct fperf_process *old = fperf_task_table__process(&agg->tasks, wire->header.pid);
	struct fperf_process *process = fperf_task_table__exec(&agg->tasks, &wire->exec, name.text, err);

	if (!process)
		return err->code;
	fperf_task_table__queue_image(&agg->tasks, process);
	return old ? exec_move_mappings(agg, old, process, err) : 0;
}

static int exit_convert(struct fperf_aggregate *agg, const struct wire_record *wire, struct fperf_error *err)
{
	const struct fperf_wire_exit *exit = &wire->exit;
	struct fperf_rec_task_event event = {
		.time_ns = exit->header.time_ns, .event = FPERF_TASK_EXIT, .exit_code = exit->exit_code};
	struct fperf_thread *thread = record_thread(agg, wire, err);

	if (!thread || fperf_task_table__settle(&agg->tasks, thread, UINT64_MAX, err))
		return err->code;
	event.thread = thread->id;
	event.name = fperf_writer__text(agg->options.writer, thread->name);
	thread->end_ns = exit->header.time_ns;
	free(thread->out_stack.frames);
	thread->out_stack = (struct fperf_out_stack){0};
	if (exit->last && !thread->process->end_ns)
		fperf_task_table__end_process(&agg->tasks, thread->process, exit->header.time_ns);
	if (fperf_writer__add(agg->options.writer, FPERF_RECORD_TASK_EVENT, &event, err))
		return err->code;
	return account_write(agg, thread, exit->header.time_ns, exit->cpu_ns, err);
}

static int rename_convert(struct fperf_aggregate *agg, const struct wire_record *wire,
			  struct fperf_error *err)
{
	struct name name = name_copy(wire->rename.name);
	struct fperf_thread *thread = record_thread(agg, wire, err);

	if (!thread)
		return err->code;
	return fperf_task_table__rename(&agg->tasks, thread, wire->header.time_ns, name.text, err);
}

static int freq_convert(struct fperf_aggregate *agg, const struct wire_record *wire, struct fperf_error *err)
{
	struct fperf_rec_freq record = {
		.time_ns = wire->header.time_ns,
		.cpu = wire->header.cpu,
		.kind = (uint8_t)wire->freq.kind,
		.khz = wire->freq.khz,
		.min_khz = wire->freq.min_khz,
		.max_khz = wire->freq.max_khz,
	};

	return fperf_writer__add(agg->options.writer, FPERF_RECORD_FREQ, &record, err);
}

static int at_start_keep(struct fperf_aggregate *agg, struct fperf_thread *thread,
			 const struct wire_record *wire, struct fperf_error *err)
{
	const struct fperf_wire_task_state *task = &wire->task;
	struct fperf_thread_at_start *at_start = calloc(1, sizeof(*at_start));

	if (!at_start)
		return fperf_error__no_memory(err, "the state of a thread");
	*at_start = (struct fperf_thread_at_start){
		.state = task->state,
		.syscall = task->syscall,
		.iowait = task->in_iowait,
		.args = {task->args[0], task->args[1], task->args[2]},
		.cpu_ns = task->cpu_ns,
	};
	thread->at_start = at_start;
	return fperf_aggregate__keep_stack(agg, thread->process, &wire->stack, true, task->header.time_ns,
					   &at_start->stack, err);
}

/* A thread as the scan at the start or at the end of recording found it. */
static int task_convert(struct fperf_aggregate *agg, const struct wire_record *wire, struct fperf_error *err)
{
	const struct fperf_wire_task_state *task = &wire->task;
	struct fperf_process *process = fperf_aggregate__process(agg, task->header.pid, task->start_ns, err);
	struct name name = name_copy(task->name);
	struct fperf_thread *thread;

	if (!process)
		return err->code;
	thread = fperf_task_table__add_thread(&agg->tasks, process, task->header.tid, task->start_ns,
					      name.text, err);
	if (!thread)
		return err->code;
	if (!thread->seen_by_scan && !thread->seen_by_sched && !task->on_cpu &&
	    at_start_keep(agg, thread, wire, err))
		return err->code;
	if (thread->at_start && thread->at_start->cpu_ns != task->cpu_ns)
		fperf_thread__forget_start(thread); /* it ran in between: its first interval was lost */
	thread->seen_by_scan = true;
	return account_write(agg, thread, task->header.time_ns, task->cpu_ns, err);
}

#define NO_STACK 0

static const struct wire_type {
	size_t size;	     /* of the fixed part */
	size_t stack;	     /* offset of its struct fperf_wire_stack, or NO_STACK */
	uint16_t user_depth; /* stack frames allowed */
	int (*convert)(struct fperf_aggregate *agg, const struct wire_record *wire, struct fperf_error *err);
} wire_types[] = {
	[FPERF_WIRE_SAMPLE] = {sizeof(struct fperf_wire_sample), offsetof(struct fperf_wire_sample, stack),
			       FPERF_USER_DEPTH, sample_convert},
	[FPERF_WIRE_OFFCPU] = {sizeof(struct fperf_wire_offcpu), offsetof(struct fperf_wire_offcpu, stack),
			       FPERF_USER_DEPTH, offcpu_convert},
	[FPERF_WIRE_OUT_STACK] = {sizeof(struct fperf_wire_out_stack),
				  offsetof(struct fperf_wire_out_stack, stack), FPERF_USER_DEPTH,
				  out_stack_convert},
	[FPERF_WIRE_MARK] = {sizeof(struct fperf_wire_mark), NO_STACK, 0, mark_convert},
	[FPERF_WIRE_FORK] = {sizeof(struct fperf_wire_fork), NO_STACK, 0, fork_convert},
	[FPERF_WIRE_EXEC] = {sizeof(struct fperf_wire_exec), NO_STACK, 0, exec_convert},
	[FPERF_WIRE_EXIT] = {sizeof(struct fperf_wire_exit), NO_STACK, 0, exit_convert},
	[FPERF_WIRE_RENAME] = {sizeof(struct fperf_wire_rename), NO_STACK, 0, rename_convert},
	[FPERF_WIRE_FREQ] = {sizeof(struct fperf_wire_freq), NO_STACK, 0, freq_convert},
	[FPERF_WIRE_TASK] = {sizeof(struct fperf_wire_task_state),
			     offsetof(struct fperf_wire_task_state, stack), FPERF_USER_DEPTH, task_convert},
};

/* Copies and checks; NULL for a record that is not what it should be. */
static const struct wire_type *record_read(const void *bytes, size_t size, struct wire_record *wire)
{
	const struct wire_type *type;
	struct fperf_wire_stack *head = &wire->stack.head;

	*wire = (struct wire_record){0};
	if (size < sizeof(wire->header))
		return NULL;
	memcpy(&wire->header, bytes, sizeof(wire->header));
	if (wire->header.type >= sizeof(wire_types) / sizeof(*wire_types))
		return NULL;
	type = &wire_types[wire->header.type];
	if (!type->convert || wire->header.size > size || wire->header.size < type->size)
		return NULL;
	memcpy(&wire->header, bytes, type->size);
	if (type->stack == NO_STACK)
		return type;
	memcpy(head, (const uint8_t *)bytes + type->stack, sizeof(*head));
	if (head->kernel_count > FPERF_KERNEL_DEPTH || head->user_count > type->user_depth ||
	    head->outcome >= FPERF_STACK_OUTCOMES ||
	    wire->header.size - type->size <
		    ((size_t)head->kernel_count + head->user_count) * sizeof(uint64_t))
		return NULL;
	wire->stack.kernel = (const uint8_t *)bytes + type->size;
	wire->stack.user = wire->stack.kernel + head->kernel_count * sizeof(uint64_t);
	return type;
}

static int record_convert(struct fperf_aggregate *agg, const struct wire_type *type,
			  const struct wire_record *wire, struct fperf_error *err)
{
	uint64_t now_ns = wire->header.time_ns;

	agg->stats.records[wire->header.type]++;
	fperf_task_table__free_old_maps(&agg->tasks, now_ns);
	if (fperf_task_table__forget(&agg->tasks, now_ns, err))
		return err->code;
	if (type->convert(agg, wire, err))
		return err->code;
	if (agg->lost_pending && now_ns > agg->lost_written_ns + LOSS_INTERVAL_NS)
		return fperf_aggregate__write_losses(agg, now_ns, err);
	return 0;
}

/* Left its core: the kernel part of the stack is as it is now, the user part as at the switch-out. */
static int snapshot_off(struct fperf_aggregate *agg, struct fperf_thread *thread,
			const struct wire_record *wire, struct fperf_rec_snapshot *record,
			struct fperf_error *err)
{
	const struct fperf_wire_offcpu *offcpu = &wire->offcpu;
	const struct fperf_out_stack *out = &thread->out_stack;
	bool fits = out->out_ns && out->out_ns == offcpu->out_ns;
	bool ready = offcpu->wake_ns || offcpu->flags & FPERF_OFFCPU_PREEMPTED;

	record->state = ready ? FPERF_SNAPSHOT_READY : FPERF_SNAPSHOT_WAITS;
	record->since_ns = offcpu->out_ns;
	record->syscall = offcpu->syscall;
	if (offcpu->syscall >= 0)
		memcpy(record->args, offcpu->args, sizeof(record->args));
	if (fperf_task_table__mentioned(&agg->tasks, &offcpu->waker, record->time_ns, &record->waker, err))
		return err->code;
	return fperf_aggregate__stack(agg, thread->process, &wire->stack, fits ? out : NULL, false,
				      FPERF_SOURCE_SCHED, &record->stack, err);
}

/* Has not moved since recording began, or runs: then its last sample tells where. */
static int snapshot_task(struct fperf_aggregate *agg, struct fperf_thread *thread,
			 const struct wire_record *wire, struct fperf_rec_snapshot *record,
			 struct fperf_error *err)
{
	const struct fperf_thread_at_start *at_start = thread->at_start;
	const struct fperf_wire_task_state *task = &wire->task;

	if (!at_start && !task->on_cpu && task->state) { /* without sched, all that is known */
		record->state = FPERF_SNAPSHOT_WAITS;
		record->syscall = task->syscall;
		if (task->syscall >= 0)
			memcpy(record->args, task->args, sizeof(record->args));
		return 0;
	}
	if (!at_start) {
		record->state = FPERF_SNAPSHOT_RUNS;
		record->stack = thread->sample_stack;
		record->since_ns = thread->sample_stack ? thread->sampled_ns : 0;
		return 0;
	}
	record->state = at_start->state ? FPERF_SNAPSHOT_WAITS : FPERF_SNAPSHOT_READY;
	record->syscall = at_start->syscall;
	if (at_start->syscall >= 0)
		memcpy(record->args, at_start->args, sizeof(record->args));
	return fperf_aggregate__intern(agg, at_start->stack.outcome, at_start->stack.frames,
				       (uint32_t)at_start->stack.count, FPERF_SOURCE_SCHED, &record->stack,
				       err);
}

int fperf_aggregate__snapshot(struct fperf_aggregate *agg, const void *bytes, size_t size, uint64_t time_ns,
			      uint32_t owner_tid, struct fperf_error *err)
{
	struct fperf_rec_snapshot record = {.time_ns = time_ns, .syscall = -1};
	struct fperf_thread *thread;
	struct wire_record wire;
	int result;

	if (!record_read(bytes, size, &wire) ||
	    (wire.header.type != FPERF_WIRE_TASK && wire.header.type != FPERF_WIRE_OFFCPU)) {
		agg->stats.bad_records++;
		return 0;
	}
	thread = record_thread(agg, &wire, err);
	if (!thread)
		return err->code;
	record.thread = thread->id;
	record.owner = fperf_aggregate__thread_id(agg, owner_tid);
	result = wire.header.type == FPERF_WIRE_OFFCPU ? snapshot_off(agg, thread, &wire, &record, err)
						       : snapshot_task(agg, thread, &wire, &record, err);
	return result ? result : fperf_writer__add(agg->options.writer, FPERF_RECORD_SNAPSHOT, &record, err);
}

int fperf_aggregate__still_off(struct fperf_aggregate *agg, const void *bytes, size_t size, uint64_t time_ns,
			       struct fperf_error *err)
{
	struct fperf_rec_snapshot snapshot = {.time_ns = time_ns, .syscall = -1};
	struct fperf_rec_offcpu record = {.in_ns = time_ns};
	struct fperf_thread *thread;
	struct wire_record wire;

	if (!record_read(bytes, size, &wire) ||
	    (wire.header.type != FPERF_WIRE_TASK && wire.header.type != FPERF_WIRE_OFFCPU)) {
		agg->stats.bad_records++;
		return 0;
	}
	thread = record_thread(agg, &wire, err);
	if (!thread)
		return err->code;
	if (wire.header.type == FPERF_WIRE_TASK)
		return thread->at_start ? fperf_aggregate__write_idle(agg, thread, time_ns, err) : 0;
	if (!wire.offcpu.out_ns || wire.offcpu.out_ns >= time_ns)
		return 0;
	if (snapshot_off(agg, thread, &wire, &snapshot, err))
		return err->code;
	record.thread = thread->id;
	record.out_ns = wire.offcpu.out_ns;
	record.wake_ns = wire.offcpu.wake_ns;
	record.flags = wire.offcpu.flags | FPERF_OFFCPU_OPEN_END;
	record.state = wire.offcpu.state;
	record.syscall = snapshot.syscall;
	memcpy(record.args, snapshot.args, sizeof(snapshot.args));
	record.cpu_out = record.cpu_in = wire.offcpu.cpu_out;
	record.waker = snapshot.waker;
	record.stack = snapshot.stack;
	return fperf_writer__add(agg->options.writer, FPERF_RECORD_OFFCPU, &record, err);
}

int fperf_aggregate__consume(struct fperf_aggregate *agg, const void *record, size_t size,
			     struct fperf_error *err)
{
	struct wire_record wire;
	const struct wire_type *type = record_read(record, size, &wire);

	if (!type) {
		agg->stats.bad_records++;
		return 0;
	}
	return record_convert(agg, type, &wire, err);
}

int fperf_aggregate__consume_with_stack(struct fperf_aggregate *agg, const void *record, size_t size,
					const uint64_t *user, uint32_t user_count, uint8_t outcome,
					struct fperf_error *err)
{
	struct wire_record wire;
	const struct wire_type *type = record_read(record, size, &wire);

	if (!type || type->stack == NO_STACK || outcome >= FPERF_STACK_OUTCOMES) {
		agg->stats.bad_records++;
		return 0;
	}
	if (user_count > FPERF_USER_DEPTH) {
		user_count = FPERF_USER_DEPTH;
		outcome = FPERF_STACK_TRUNCATED;
	}
	wire.stack.user = (const uint8_t *)user;
	wire.stack.head.user_count = (uint16_t)user_count;
	wire.stack.head.outcome = outcome;
	wire.stack.head.gap = 0;
	if (outcome == FPERF_STACK_COMPLETE)
		wire.stack.head.failed_at = 0;
	return record_convert(agg, type, &wire, err);
}
