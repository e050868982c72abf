#include "feed.h"

/* COL-01: one pid, two program images. The kernel renames the thread and maps the new program before it
 * reports the exec. */
Test(aggregate, exec_begins_a_new_process)
{
	struct feed feed;
	const struct fperf_rec_sample *samples;
	const struct fperf_rec_process *first, *second;
	size_t count;
	uint32_t pid;

	feed_begin(&feed);
	feed_process(&feed, 100, "launcher");
	feed_mapping(&feed, 100, 0, 0x400000, 0x401000, 0, "/opt/launcher");
	feed_pc(&feed, 1, 100, 100, 0x400010);
	feed_rename(&feed, 10, 100, 100, "game");
	feed_mapping(&feed, 100, 11, 0x500000, 0x501000, 0x1000, "/opt/game");
	feed_exec(&feed, 12, 100, 100, "game");
	feed_pc(&feed, 13, 100, 100, 0x500020);
	feed_pc(&feed, 2, 100, 100, 0x400030); /* late, from before the exec */
	cr_assert(fperf_aggregate__next_new_image(feed.agg, &pid));
	cr_assert_eq(pid, 100);
	cr_assert_not(fperf_aggregate__next_new_image(feed.agg, &pid));
	feed_finish(&feed, 20);

	samples = LOADED(&feed, SAMPLE, sample, &count);
	cr_assert_eq(count, 3);
	first = loaded_process_of(&feed, samples[0].thread);
	second = loaded_process_of(&feed, samples[2].thread);
	cr_assert_eq(samples[0].thread, samples[1].thread);
	cr_assert_neq(first->id, second->id);
	cr_assert_eq(first->pid, 100);
	cr_assert_eq(second->pid, 100);
	cr_assert_eq(second->generation, first->generation + 1);
	cr_assert_eq(second->start_ns, START + 12 * MS);
	cr_assert_str_eq(loaded_text(&feed, first->name), "launcher");
	cr_assert_str_eq(loaded_text(&feed, second->name), "game");
	cr_assert_str_eq(loaded_text(&feed, second->exe), "/opt/game");
	cr_assert_str_eq(loaded_leaf_path(&feed, samples[1].stack), "/opt/launcher");
	cr_assert_eq(loaded_leaf(&feed, samples[1].stack)->offset, 0x30);
	cr_assert_str_eq(loaded_leaf_path(&feed, samples[2].stack), "/opt/game");
	cr_assert_eq(loaded_leaf(&feed, samples[2].stack)->offset, 0x1020);
	LOADED(&feed, TASK_EVENT, task_event, &count);
	cr_assert_eq(count, 0, "the rename inside of the exec is none of the old program");
	feed_end(&feed);
}

/* What is still running at the end is reported with the time of its fork: the thread since the exec is meant.
 */
Test(aggregate, exec_keeps_one_main_thread)
{
	struct feed feed;
	const struct fperf_rec_thread *threads;
	size_t count, bearers = 0;

	feed_begin(&feed);
	feed_process(&feed, 100, "launcher");
	feed_exec(&feed, 2000, 100, 100, "game");
	feed_pc(&feed, 2001, 100, 100, 0x1000);
	cr_assert_eq(fperf_aggregate__add_thread(feed.agg, 100, 100, 5 * MS, "game", &err), 0);
	feed_finish(&feed, 3000);

	threads = LOADED(&feed, THREAD, thread, &count);
	for (size_t i = 0; i < count; i++)
		bearers += threads[i].tid == 100;
	cr_assert_eq(bearers, 2, "one before the exec and one after it");
	feed_end(&feed);
}

/* A thread that is not the leader execs: the others end, it continues with the leader's tid. */
Test(aggregate, exec_by_a_thread_ends_the_others)
{
	struct feed feed;
	const struct fperf_rec_sample *samples;
	size_t count;

	feed_begin(&feed);
	feed_process(&feed, 100, "a");
	feed_fork(&feed, 1, 100, 100, 101, "a");
	feed_pc(&feed, 2, 100, 101, 0x1000);
	feed_exec(&feed, 3, 100, 101, "b");
	feed_pc(&feed, 4, 100, 100, 0x2000);
	feed_fork(&feed, 5, 100, 100, 101, "b");
	feed_pc(&feed, 6, 100, 101, 0x3000);
	feed_finish(&feed, 10);
	samples = LOADED(&feed, SAMPLE, sample, &count);
	cr_assert_eq(count, 3);
	cr_assert_eq(loaded_process_of(&feed, samples[0].thread)->generation, 0);
	cr_assert_eq(loaded_process_of(&feed, samples[1].thread)->generation, 1);
	cr_assert_eq(loaded_process_of(&feed, samples[2].thread)->generation, 1);
	cr_assert_neq(samples[0].thread, samples[2].thread, "same tid, another thread");
	feed_end(&feed);
}

/* COL-02 */
Test(aggregate, fork_without_exec_inherits_mappings)
{
	struct feed feed;
	const struct fperf_rec_sample *samples;
	const struct fperf_rec_process *child;
	size_t count;
	uint32_t pid;

	feed_begin(&feed);
	feed_process(&feed, 100, "game");
	feed_mapping(&feed, 100, 0, 0x400000, 0x401000, 0, "/opt/game");
	feed_fork(&feed, 5, 100, 200, 200, "game");
	feed_mapping(&feed, 100, 6, 0x400000, 0x401000, 0, "/opt/other"); /* the parent's own business */
	feed_pc(&feed, 7, 200, 200, 0x400040);
	feed_exit(&feed, 8, 200, 200, true, 2 * MS);
	feed_pc(&feed, 8, 200, 200, 0x400044); /* on its last steps */
	cr_assert_not(fperf_aggregate__next_new_image(feed.agg, &pid), "its maps are known");
	feed_finish(&feed, 10);
	samples = LOADED(&feed, SAMPLE, sample, &count);
	cr_assert_eq(count, 2);
	child = loaded_process_of(&feed, samples[0].thread);
	cr_assert_eq(child->pid, 200);
	cr_assert_eq(child->target, 1);
	cr_assert_eq(fperf_session__process(feed.session, child->parent)->pid, 100);
	cr_assert_str_eq(loaded_text(&feed, child->exe), "/opt/game");
	cr_assert_str_eq(loaded_leaf_path(&feed, samples[0].stack), "/opt/game");
	cr_assert_str_eq(loaded_leaf_path(&feed, samples[1].stack), "/opt/game");
	feed_end(&feed);
}

/* COL-04 */
Test(aggregate, reused_pid_is_another_process)
{
	struct feed feed;
	const struct fperf_rec_sample *samples;
	size_t count;

	feed_begin(&feed);
	feed_process(&feed, 100, "shell");
	feed_fork(&feed, 1, 100, 300, 300, "x");
	feed_mapping(&feed, 300, 2, 0x400000, 0x401000, 0, "/opt/x");
	feed_pc(&feed, 3, 300, 300, 0x400000);
	feed_exit(&feed, 4, 300, 300, true, MS);
	feed_fork(&feed, 5, 100, 300, 300, "y");
	feed_mapping(&feed, 300, 6, 0x400000, 0x401000, 0, "/opt/y");
	feed_pc(&feed, 7, 300, 300, 0x400000);
	feed_pc(&feed, 3, 300, 300, 0x400008); /* late, of the first */
	feed_finish(&feed, 10);
	samples = LOADED(&feed, SAMPLE, sample, &count);
	cr_assert_eq(count, 3);
	cr_assert_eq(samples[0].thread, samples[1].thread);
	cr_assert_neq(samples[0].thread, samples[2].thread);
	cr_assert_neq(loaded_process_of(&feed, samples[0].thread)->id,
		      loaded_process_of(&feed, samples[2].thread)->id);
	cr_assert_str_eq(loaded_leaf_path(&feed, samples[0].stack), "/opt/x");
	cr_assert_str_eq(loaded_leaf_path(&feed, samples[1].stack), "/opt/x");
	cr_assert_str_eq(loaded_leaf_path(&feed, samples[2].stack), "/opt/y");
	feed_end(&feed);
}

Test(aggregate, rename_is_an_event_of_the_thread)
{
	struct feed feed;
	const struct fperf_rec_task_event *events;
	size_t count;

	feed_begin(&feed);
	feed_process(&feed, 100, "game");
	feed_fork(&feed, 1, 100, 100, 101, "game");
	feed_rename(&feed, 2, 100, 101, "0123456789abcdef"); /* 16 bytes, no NUL */
	feed_rename(&feed, 3, 100, 101, "0123456789abcdef");
	feed_rename(&feed, 4, 100, 100, "Main");
	feed_finish(&feed, 10);
	events = LOADED(&feed, TASK_EVENT, task_event, &count);
	cr_assert_eq(count, 2, "a rename to the same name is none");
	cr_assert_eq(events[0].time_ns, START + 2 * MS);
	cr_assert_str_eq(loaded_text(&feed, events[0].name), "0123456789abcdef");
	cr_assert_eq(events[1].time_ns, START + 4 * MS);
	cr_assert_str_eq(loaded_text(&feed, events[1].name), "Main");
	cr_assert_str_eq(loaded_text(&feed, fperf_session__thread(feed.session, events[1].thread)->name),
			 "game", "the name when first seen stays");
	feed_end(&feed);
}

/* COL-06 */
Test(aggregate, thousands_of_short_threads)
{
	struct feed feed;
	const struct fperf_rec_account *accounts;
	struct fperf_aggregate_stats stats;
	uint64_t cpu_ns = 0;
	size_t count;

	feed_begin(&feed);
	feed_process(&feed, 100, "game");
	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t tid = 1000 + i % 700; /* tids come round again */

		feed_fork(&feed, i + 1, 100, 100, tid, "worker");
		feed_pc(&feed, i + 1, 100, tid, 0x400000);
		feed_exit(&feed, i + 1, 100, tid, false, 2 * MS);
	}
	fperf_aggregate__stats(feed.agg, &stats);
	cr_assert_eq(stats.threads, 5001);
	cr_assert_eq(stats.processes, 1);
	feed_finish(&feed, 6000);
	accounts = LOADED(&feed, ACCOUNT, account, &count);
	cr_assert_eq(count, 5000);
	for (size_t i = 0; i < count; i++) {
		cr_assert_eq(accounts[i].thread, i + 2);
		cpu_ns += accounts[i].cpu_ns;
	}
	cr_assert_eq(cpu_ns, 5000 * 2 * MS);
	LOADED(&feed, TASK_EVENT, task_event, &count);
	cr_assert_eq(count, 5000);
	feed_end(&feed);
}

/* What capture finds in /proc and what BPF reports about the same start is one thread. */
Test(aggregate, scan_and_fork_meet_in_one_thread)
{
	struct feed feed;
	struct fperf_aggregate_process again = {
		.pid = 100, .start_ns = 9 * MS, .name = "game", .exe = "/opt/game", .ns_pid = 4};
	const struct fperf_rec_process *processes;
	size_t count;

	feed_begin(&feed);
	feed_process(&feed, 100, "game");
	feed_fork(&feed, 1, 100, 100, 101, "game");
	cr_assert_eq(fperf_aggregate__add_thread(feed.agg, 100, 101, START + 6 * MS, "game", &err), 0);
	cr_assert_eq(fperf_aggregate__add_process(feed.agg, &again, &err), 0);
	feed_finish(&feed, 10);
	LOADED(&feed, THREAD, thread, &count);
	cr_assert_eq(count, 2);
	processes = LOADED(&feed, PROCESS, process, &count);
	cr_assert_eq(count, 1);
	cr_assert_str_eq(loaded_text(&feed, processes[0].exe), "/opt/game", "completed");
	feed_end(&feed);
}

/* A thread whose start was not seen is taken in, and its process asked for. */
Test(aggregate, unknown_thread_of_a_record_is_added)
{
	struct feed feed;
	const struct fperf_rec_sample *samples;
	uint32_t pid = 0;
	size_t count;

	feed_begin(&feed);
	feed_pc(&feed, 1, 500, 501, 0x1234);
	feed_pc(&feed, 2, 500, 501, 0x1234);
	cr_assert(fperf_aggregate__next_new_image(feed.agg, &pid));
	cr_assert_eq(pid, 500);
	cr_assert_not(fperf_aggregate__next_new_image(feed.agg, &pid));
	cr_assert_eq(fperf_aggregate__thread_id(feed.agg, 501), 1);
	cr_assert_eq(fperf_aggregate__process_id(feed.agg, 500), 1);
	cr_assert_eq(fperf_aggregate__thread_id(feed.agg, 502), 0);
	feed_finish(&feed, 10);
	samples = LOADED(&feed, SAMPLE, sample, &count);
	cr_assert_eq(count, 2);
	cr_assert_eq(loaded_leaf(&feed, samples[0].stack)->module, 0);
	cr_assert_eq(loaded_leaf(&feed, samples[0].stack)->offset, 0x1234, "the address itself");
	feed_end(&feed);
}
