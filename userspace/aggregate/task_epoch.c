/* Recordings that last: tasks that are gone are forgotten, those that are not are written again. */
#include "aggregate/task_table.h"

#include "base/clock.h"

/* Records of a task may still come for as long after its end; see fperf_task_table__at(). */
#define GONE_NS (15 * FPERF_NS_PER_S)

#define FORGET_INTERVAL_NS (5 * FPERF_NS_PER_S)

static bool ended_long_ago(uint64_t end_ns, uint64_t now_ns)
{
	return end_ns && end_ns + GONE_NS < now_ns;
}

struct sieve {
	uint64_t now_ns;
	bool others; /* keeps the tasks outside of the target */
	/* Tells those whose end was lost. NULL: nobody is asked. */
	bool (*lives)(void *context, uint32_t pid, uint32_t tid);
	void *context;
};

/* Threads of the target that did not end long ago; their processes are wanted. */
static bool thread_wanted(struct fperf_thread *thread, const struct sieve *sieve)
{
	if (!thread->process->target && !sieve->others)
		return false;
	if (ended_long_ago(thread->end_ns, sieve->now_ns))
		return false;
	if (sieve->lives && !thread->end_ns && thread->start_ns + GONE_NS < sieve->now_ns &&
	    !sieve->lives(sieve->context, thread->process->pid, thread->tid))
		thread->end_ns = sieve->now_ns; /* its end was lost */
	thread->process->wanted = true;
	thread->wanted = true;
	return true;
}

/* Keeps `wanted` ones at the front; returns how many. Those behind them are to be freed. */
static size_t threads_part(struct fperf_task_table *table, const struct sieve *sieve)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->thread_count; i++) {
		struct fperf_thread *thread = table->threads[i];

		if (!thread_wanted(thread, sieve))
			continue;
		table->threads[i] = table->threads[kept];
		table->threads[kept++] = thread;
	}
	return kept;
}

static size_t processes_part(struct fperf_task_table *table, const struct sieve *sieve)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->process_count; i++) {
		struct fperf_process *process = table->processes[i];

		if ((process->target || sieve->others) && !ended_long_ago(process->end_ns, sieve->now_ns))
			process->wanted = true;
		if (!process->wanted)
			continue;
		table->processes[i] = table->processes[kept];
		table->processes[kept++] = process;
	}
	return kept;
}

/* Bearers of an id before those that are kept. */
static void older_cut(struct fperf_task_table *table, size_t threads, size_t processes)
{
	for (size_t i = 0; i < threads; i++)
		if (table->threads[i]->older && !table->threads[i]->older->wanted)
			table->threads[i]->older = NULL;
	for (size_t i = 0; i < processes; i++)
		if (table->processes[i]->older && !table->processes[i]->older->wanted)
			table->processes[i]->older = NULL;
}

/* An id whose latest bearer goes is nobody's. */
static void maps_clean(struct fperf_task_table *table, size_t threads, size_t processes)
{
	for (size_t i = threads; i < table->thread_count; i++)
		if (fperf_task_table__thread(table, table->threads[i]->tid) == table->threads[i])
			fperf_map__remove(&table->by_tid, table->threads[i]->tid);
	for (size_t i = processes; i < table->process_count; i++)
		if (fperf_task_table__process(table, table->processes[i]->pid) == table->processes[i])
			fperf_map__remove(&table->by_pid, table->processes[i]->pid);
}

/* What waits in queues for processes that go. */
static void queues_clean(struct fperf_task_table *table)
{
	size_t kept = 0;

	for (size_t i = table->ended_next; i < table->ended_count; i++)
		if (table->ended[i]->wanted)
			table->ended[kept++] = table->ended[i];
	table->ended_count = kept;
	table->ended_next = 0;
	kept = 0;
	for (size_t i = table->new_image_next; i < table->new_image_count; i++)
		if (table->new_images[i]->wanted)
			table->new_images[kept++] = table->new_images[i];
	table->new_image_count = kept;
	table->new_image_next = 0;
}

static void tasks_sift(struct fperf_task_table *table, const struct sieve *sieve)
{
	size_t threads, processes;

	for (size_t i = 0; i < table->process_count; i++)
		table->processes[i]->wanted = false;
	for (size_t i = 0; i < table->thread_count; i++)
		table->threads[i]->wanted = false;
	threads = threads_part(table, sieve);
	processes = processes_part(table, sieve);
	older_cut(table, threads, processes);
	maps_clean(table, threads, processes);
	queues_clean(table);
	for (size_t i = threads; i < table->thread_count; i++)
		fperf_thread__free(table->threads[i]);
	for (size_t i = processes; i < table->process_count; i++)
		fperf_process__free(table->processes[i]);
	table->thread_count = threads;
	table->process_count = processes;
}

int fperf_task_table__epoch(struct fperf_task_table *table, uint64_t now_ns,
			    bool (*lives)(void *context, uint32_t pid, uint32_t tid), void *context,
			    struct fperf_error *err)
{
	struct sieve sieve = {.now_ns = now_ns, .lives = lives, .context = context};
	int result = 0;

	tasks_sift(table, &sieve);
	fperf_map__free(&table->other_by_pid);
	fperf_map__free(&table->other_by_task);
	for (size_t i = 0; i < table->thread_count; i++)
		table->threads[i]->sample_stack = 0;
	for (size_t i = 0; !result && i < table->process_count; i++)
		result = fperf_task_table__write_process(table, table->processes[i], err);
	for (size_t i = 0; !result && i < table->thread_count; i++)
		result = fperf_task_table__write_thread(table, table->threads[i], err);
	return result;
}

int fperf_task_table__forget(struct fperf_task_table *table, uint64_t now_ns, struct fperf_error *err)
{
	struct sieve sieve = {.now_ns = now_ns, .others = true};

	if (now_ns < table->forgotten_ns + FORGET_INTERVAL_NS)
		return 0;
	table->forgotten_ns = now_ns;
	for (size_t i = 0; i < table->thread_count; i++)
		if (ended_long_ago(table->threads[i]->end_ns, now_ns) &&
		    fperf_task_table__settle(table, table->threads[i], UINT64_MAX, err))
			return err->code;
	tasks_sift(table, &sieve);
	return 0;
}
