#include "feed.h"

#include "frameperf/meta.h"

static struct fperf_wire_task task_of(uint32_t pid, uint32_t tid, const char *name)
{
	struct fperf_wire_task task = {.pid = pid, .tid = tid};

	memcpy(task.name, name, strnlen(name, sizeof(task.name)));
	return task;
}

static struct fperf_wire_offcpu interval_of(uint64_t out_ms, uint64_t in_ms, uint32_t pid, uint32_t tid)
{
	return (struct fperf_wire_offcpu){
		.header = feed_header(FPERF_WIRE_OFFCPU, sizeof(struct fperf_wire_offcpu), in_ms, pid, tid),
		.out_ns = START + out_ms * MS,
		.syscall = -1,
	};
}

static void out_stack_feed(struct feed *feed, uint64_t ms, uint32_t pid, uint32_t tid, const uint64_t *user,
			   uint16_t count)
{
	struct {
		struct fperf_wire_out_stack out;
		uint64_t addresses[8];
	} record = {0};
	size_t size = sizeof(record.out) + count * sizeof(uint64_t);

	record.out.header = feed_header(FPERF_WIRE_OUT_STACK, size, ms, pid, tid);
	record.out.stack.user_count = count;
	record.out.stack.outcome = FPERF_STACK_COMPLETE;
	memcpy(record.addresses, user, count * sizeof(uint64_t));
	feed_record(feed, &record, size);
}

Test(aggregate, stack_becomes_module_relative)
{
	const uint64_t kernel[] = {KERNEL_BASE + 0x100, KERNEL_BASE + 0x200, 0xffffffffc0000010ull};
	const uint64_t user[] = {0x400010 | FPERF_WIRE_PC_BIT, 0x401000, 0x700000};
	struct feed feed;
	const struct fperf_rec_sample *samples;
	const struct fperf_rec_stack *stack;
	const struct fperf_rec_module *module;
	size_t count;

	feed_begin(&feed);
	feed_process(&feed, 100, "game");
	feed_mapping(&feed, 100, 0, 0x400000, 0x401000, 0x2000, "/opt/game");
	feed_sample(&feed, 1, 100, 100, kernel, 3, user, 3);
	feed_sample(&feed, 2, 100, 100, kernel, 3, user, 3);
	feed_finish(&feed, 10);
	samples = LOADED(&feed, SAMPLE, sample, &count);
	cr_assert_eq(count, 2);
	cr_assert_eq(samples[0].stack, samples[1].stack);
	cr_assert_eq(samples[0].period, MS);
	cr_assert_eq(samples[0].kernel, 1);
	stack = fperf_session__stack(feed.session, samples[0].stack);
	cr_assert_eq(stack->count, 6);
	module = fperf_session__module(feed.session, stack->frames[0].module);
	cr_assert_eq(module->kind, FPERF_MODULE_KERNEL);
	cr_assert_eq(module->base, KERNEL_BASE);
	cr_assert_eq(stack->frames[0].offset, 0x100);
	cr_assert_eq(stack->frames[0].kind, FPERF_FRAME_PC, "the interrupted instruction");
	cr_assert_eq(stack->frames[0].kernel, 1);
	cr_assert_eq(stack->frames[1].kind, FPERF_FRAME_RETURN);
	cr_assert_eq(stack->frames[2].offset, 0xffffffffc0000010ull - KERNEL_BASE);
	cr_assert_eq(stack->frames[3].offset, 0x2010);
	cr_assert_eq(stack->frames[3].kind, FPERF_FRAME_PC);
	cr_assert_eq(stack->frames[3].kernel, 0);
	cr_assert_eq(stack->frames[4].offset, 0x3000, "behind the call that ends the mapping");
	cr_assert_eq(stack->frames[4].module, stack->frames[3].module);
	cr_assert_eq(stack->frames[5].module, 0);
	cr_assert_eq(stack->frames[5].offset, 0x700000);
	feed_end(&feed);
}

static void address_note(void *context, uint64_t address)
{
	uint64_t *sum = context;

	sum[0]++;
	sum[1] += address - KERNEL_BASE;
}

Test(aggregate, kernel_addresses_are_told_once)
{
	const uint64_t first[] = {KERNEL_BASE + 1, KERNEL_BASE + 2},
		       second[] = {KERNEL_BASE + 2, KERNEL_BASE + 4};
	uint64_t sum[2] = {0};
	struct feed feed;

	feed_begin(&feed);
	feed_sample(&feed, 1, 100, 100, first, 2, NULL, 0);
	feed_sample(&feed, 2, 100, 100, second, 2, NULL, 0);
	feed_sample(&feed, 3, 100, 100, second, 2, NULL, 0);
	fperf_aggregate__kernel_addresses(feed.agg, address_note, sum);
	cr_assert_eq(sum[0], 3);
	cr_assert_eq(sum[1], 7);
	feed_finish(&feed, 10);
	feed_end(&feed);
}

Test(aggregate, truncated_stack_keeps_its_gap)
{
	struct {
		struct fperf_wire_sample sample;
		uint64_t addresses[4];
	} record = {.addresses = {1 | FPERF_WIRE_PC_BIT, 2, 3, 4}};
	const struct fperf_rec_sample *samples;
	const struct fperf_rec_stack *stack;
	struct feed feed;
	size_t count;

	feed_begin(&feed);
	record.sample.header = feed_header(FPERF_WIRE_SAMPLE, sizeof(record), 1, 100, 100);
	record.sample.stack.user_count = 4;
	record.sample.stack.gap = 2;
	record.sample.stack.outcome = FPERF_STACK_TRUNCATED;
	feed_record(&feed, &record, sizeof(record));
	feed_finish(&feed, 10);
	samples = LOADED(&feed, SAMPLE, sample, &count);
	stack = fperf_session__stack(feed.session, samples[0].stack);
	cr_assert_eq(stack->outcome, FPERF_STACK_TRUNCATED);
	cr_assert_eq(stack->count, 5);
	cr_assert_eq(stack->frames[1].offset, 2);
	cr_assert_eq(stack->frames[2].kind, FPERF_FRAME_GAP);
	cr_assert_eq(stack->frames[3].offset, 3);
	feed_end(&feed);
}

/* The user part taken at the switch-out and the kernel part taken at the switch-in make one stack. */
Test(aggregate, interval_gets_the_stack_of_its_switch_out)
{
	const uint64_t user[] = {0x400010 | FPERF_WIRE_PC_BIT, 0x400020};
	struct {
		struct fperf_wire_offcpu offcpu;
		uint64_t kernel[2];
	} record = {.kernel = {KERNEL_BASE + 0x10, KERNEL_BASE + 0x20}};
	const struct fperf_rec_offcpu *intervals;
	const struct fperf_rec_stack *stack;
	struct feed feed;
	size_t count;

	feed_begin(&feed);
	feed_process(&feed, 100, "game");
	feed_mapping(&feed, 100, 0, 0x400000, 0x401000, 0, "/opt/game");
	out_stack_feed(&feed, 5, 100, 100, user, 2);
	record.offcpu = interval_of(5, 9, 100, 100);
	record.offcpu.header.size = sizeof(record);
	record.offcpu.flags = FPERF_OFFCPU_USER_STACK;
	record.offcpu.state = 1;
	record.offcpu.stack.kernel_count = 2;
	feed_record(&feed, &record, sizeof(record));
	record.offcpu.out_ns = START + 11 * MS; /* its stack was lost: the old one must not be taken */
	record.offcpu.header.time_ns = START + 12 * MS;
	feed_record(&feed, &record, sizeof(record));
	feed_finish(&feed, 20);
	intervals = LOADED(&feed, OFFCPU, offcpu, &count);
	cr_assert_eq(count, 2);
	stack = fperf_session__stack(feed.session, intervals[0].stack);
	cr_assert_eq(stack->count, 4);
	cr_assert_eq(stack->outcome, FPERF_STACK_COMPLETE);
	cr_assert_eq(stack->frames[0].kernel, 1);
	cr_assert_eq(stack->frames[0].kind, FPERF_FRAME_RETURN);
	cr_assert_eq(stack->frames[2].offset, 0x10);
	cr_assert_eq(stack->frames[2].kind, FPERF_FRAME_PC);
	stack = fperf_session__stack(feed.session, intervals[1].stack);
	cr_assert_eq(stack->count, 2);
	cr_assert_eq(stack->outcome, FPERF_STACK_SKIPPED);
	feed_end(&feed);
}

Test(aggregate, other_tasks_are_told_apart_by_name)
{
	struct feed feed;
	const struct fperf_rec_offcpu *intervals;
	const struct fperf_rec_thread *thread;
	const struct fperf_rec_process *process;
	struct fperf_wire_offcpu interval;
	size_t count;

	feed_begin(&feed);
	feed_process(&feed, 100, "game");
	feed_fork(&feed, 0, 100, 100, 101, "Logic");
	interval = interval_of(1, 2, 100, 100);
	interval.wake_ns = START + 2 * MS;
	interval.waker = task_of(100, 101, "Logic");
	interval.next = task_of(0, 0, "swapper/1");
	interval.prev = task_of(700, 701, "Xorg:disk");
	feed_record(&feed, &interval, sizeof(interval));
	interval = interval_of(3, 4, 100, 100);
	interval.waker = task_of(700, 701, "Xorg:disk");
	interval.wake_ns = START + 4 * MS;
	interval.next = task_of(700, 700, "Xorg");
	interval.prev = task_of(700, 701, "Xorg:other"); /* the tid now is somebody else's */
	feed_record(&feed, &interval, sizeof(interval));
	feed_exit(&feed, 5, 100, 101, false, MS);
	interval = interval_of(4, 6, 100, 100);
	interval.waker = task_of(100, 101, "Logic"); /* woke us before it ended */
	interval.wake_ns = START + 5 * MS;
	feed_record(&feed, &interval, sizeof(interval));
	feed_finish(&feed, 10);

	intervals = LOADED(&feed, OFFCPU, offcpu, &count);
	cr_assert_eq(count, 3);
	cr_assert_eq(intervals[0].next, 0, "idle");
	thread = fperf_session__thread(feed.session, intervals[0].waker);
	cr_assert_str_eq(loaded_text(&feed, thread->name), "Logic");
	cr_assert_eq(fperf_session__process(feed.session, thread->process)->target, 1);
	cr_assert_eq(intervals[2].waker, intervals[0].waker);
	thread = fperf_session__thread(feed.session, intervals[0].prev);
	process = fperf_session__process(feed.session, thread->process);
	cr_assert_str_eq(loaded_text(&feed, thread->name), "Xorg:disk");
	cr_assert_eq(process->target, 0);
	cr_assert_eq(process->pid, 700);
	cr_assert_str_eq(loaded_text(&feed, process->name), "Xorg", "known once its leader was seen");
	cr_assert_eq(intervals[1].waker, intervals[0].prev, "one record for one task");
	cr_assert_neq(intervals[1].prev, intervals[1].waker);
	cr_assert_eq(intervals[2].next, 0, "not known");
	feed_end(&feed);
}

/* COL-12 */
Test(aggregate, interval_that_ends_before_it_begins_is_clamped)
{
	struct feed feed;
	const struct fperf_rec_offcpu *intervals;
	const struct fperf_rec_loss *losses;
	struct fperf_wire_offcpu interval;
	size_t count;

	feed_begin(&feed);
	feed_process(&feed, 100, "game");
	interval = interval_of(5, 4, 100, 100);
	interval.wake_ns = START + 3 * MS;
	feed_record(&feed, &interval, sizeof(interval));
	feed_finish(&feed, 10);
	intervals = LOADED(&feed, OFFCPU, offcpu, &count);
	cr_assert_eq(intervals[0].out_ns, intervals[0].in_ns);
	cr_assert_eq(intervals[0].wake_ns, intervals[0].in_ns);
	cr_assert(intervals[0].flags & FPERF_OFFCPU_CLAMPED);
	losses = LOADED(&feed, LOSS, loss, &count);
	cr_assert_eq(count, 1);
	cr_assert_eq(losses[0].source, FPERF_SOURCE_SCHED);
	cr_assert_eq(losses[0].reason, FPERF_LOSS_TIME_ORDER);
	cr_assert_eq(losses[0].count, 1);
	feed_end(&feed);
}

/* The account at a thread's exit is up to a tick old; the one at its last switch-out is exact. */
Test(aggregate, last_switch_out_tells_the_cpu_time_of_the_thread)
{
	struct feed feed;
	const struct fperf_rec_account *accounts;
	struct fperf_wire_offcpu interval;
	size_t count;

	feed_begin(&feed);
	feed_process(&feed, 100, "game");
	interval = interval_of(5, 5, 100, 100);
	interval.flags = FPERF_OFFCPU_EXITED;
	interval.cpu_ns = 1234567;
	feed_record(&feed, &interval, sizeof(interval));
	interval = interval_of(6, 7, 100, 100);
	interval.cpu_ns = 99; /* means nothing there */
	feed_record(&feed, &interval, sizeof(interval));
	feed_finish(&feed, 10);
	accounts = LOADED(&feed, ACCOUNT, account, &count);
	cr_assert_eq(count, 1);
	cr_assert_eq(accounts[0].time_ns, START + 5 * MS);
	cr_assert_eq(accounts[0].cpu_ns, 1234567);
	feed_end(&feed);
}

/* Running time between two intervals is what the kernel accounts for. */
Test(aggregate, switch_out_moves_to_the_kernels_account)
{
	static const struct {
		uint64_t out_us, wake_us, in_us, cpu_us, moved_us;
	} cases[] = {
		{1000, 1900, 2000, 1000, 1000},	    /* the first: nothing to compare with */
		{3000, 3900, 4000, 1990, 2990},	    /* charged 10 us less than from switch to switch */
		{5000, 5900, 6000, 2996, 5006},	    /* 6 us more */
		{7000, 7003, 8000, 4004, 7003},	    /* 8 us more, of which 3 fit in */
		{9000, 9900, 9950, 5004, 9005},	    /* and 5 come later */
		{9960, 9970, 9980, 4900, 9960},	    /* an account that goes back is none */
		{12000, 13000, 14000, 5900, 12000}, /* 1020 us less: taken by the host */
	};
	const size_t count = sizeof(cases) / sizeof(*cases);
	const struct fperf_rec_offcpu *intervals;
	struct feed feed;
	size_t loaded;

	feed_begin(&feed);
	feed_process(&feed, 100, "game");
	for (size_t i = 0; i < count; i++) {
		struct fperf_wire_offcpu interval = interval_of(0, 0, 100, 100);

		interval.out_ns = START + cases[i].out_us * 1000;
		interval.wake_ns = START + cases[i].wake_us * 1000;
		interval.header.time_ns = START + cases[i].in_us * 1000;
		interval.cpu_ns = cases[i].cpu_us * 1000;
		feed_record(&feed, &interval, sizeof(interval));
	}
	feed_finish(&feed, 20);
	intervals = LOADED(&feed, OFFCPU, offcpu, &loaded);
	cr_assert_eq(loaded, count + 1);
	/* What was taken is an interval of its own, before the one that it was found at. */
	cr_assert_eq((intervals[count - 1].out_ns - START) / 1000, 10980);
	cr_assert_eq((intervals[count - 1].in_ns - START) / 1000, 12000);
	cr_assert_eq(intervals[count - 1].flags, FPERF_OFFCPU_PREEMPTED | FPERF_OFFCPU_TAKEN);
	cr_assert_eq(intervals[count - 1].thread, intervals[count].thread);
	cr_assert_eq((intervals[count].out_ns - START) / 1000, cases[count - 1].moved_us);
	for (size_t i = 0; i < count - 1; i++) {
		cr_assert_eq((intervals[i].out_ns - START) / 1000, cases[i].moved_us, "interval %zu: %lu us",
			     i, (unsigned long)(intervals[i].out_ns - START) / 1000);
		cr_assert_eq((intervals[i].in_ns - START) / 1000, cases[i].in_us);
	}
	feed_end(&feed);
}

static void task_feed(struct feed *feed, uint64_t ms, uint32_t tid, uint32_t on_cpu, uint64_t cpu_ns)
{
	struct {
		struct fperf_wire_task_state task;
		uint64_t kernel[1];
	} record = {.kernel = {KERNEL_BASE + 0x777}};

	record.task.header = feed_header(FPERF_WIRE_TASK, sizeof(record), ms, 100, tid);
	record.task.start_ns = 6 * MS;
	record.task.cpu_ns = cpu_ns;
	record.task.state = 1;
	record.task.on_cpu = on_cpu;
	record.task.syscall = 202;
	memcpy(record.task.name, "sleeper", 8);
	record.task.stack.kernel_count = 1;
	feed_record(feed, &record, sizeof(record));
}

/* The most idle thread must not show as if it had not been there. */
Test(aggregate, sleeps_over_the_edges_are_counted)
{
	struct feed feed;
	const struct fperf_rec_offcpu *intervals;
	struct fperf_wire_offcpu interval;
	size_t count;

	feed_begin(&feed);
	feed_process(&feed, 100, "game");
	task_feed(&feed, 0, 101, 0, 5); /* sleeps all the time */
	task_feed(&feed, 0, 102, 0, 5); /* wakes up at 4 ms */
	task_feed(&feed, 0, 103, 1, 5); /* runs */
	interval = interval_of(0, 4, 100, 102);
	interval.out_ns = 0;
	feed_record(&feed, &interval, sizeof(interval));
	task_feed(&feed, 9, 101, 0, 5);
	task_feed(&feed, 9, 102, 0, 6);
	feed_finish(&feed, 10);
	intervals = LOADED(&feed, OFFCPU, offcpu, &count);
	cr_assert_eq(count, 2);
	for (size_t i = 0; i < count; i++) {
		bool all = intervals[i].flags & FPERF_OFFCPU_OPEN_END;

		cr_assert_eq(intervals[i].out_ns, START);
		cr_assert_eq(intervals[i].in_ns, START + (all ? 10 : 4) * MS);
		cr_assert(intervals[i].flags & FPERF_OFFCPU_OPEN_START);
		cr_assert_eq(intervals[i].syscall, 202);
		cr_assert_eq(intervals[i].state, 1);
		cr_assert_eq(loaded_leaf(&feed, intervals[i].stack)->offset, 0x777);
	}
	LOADED(&feed, ACCOUNT, account, &count);
	cr_assert_eq(count, 5);
	feed_end(&feed);
}

Test(aggregate, marks_and_frequencies_pass_through)
{
	struct feed feed;
	struct fperf_wire_mark mark = {.header = feed_header(FPERF_WIRE_MARK, sizeof(mark), 3, 100, 100),
				       .marker = 4,
				       .args = {1, UINT64_MAX, 3}};
	struct fperf_wire_freq freq = {.header = feed_header(FPERF_WIRE_FREQ, sizeof(freq), 4, 0, 0),
				       .kind = FPERF_FREQ_LIMITS,
				       .min_khz = 500,
				       .max_khz = 2000};
	struct fperf_rec_marker marker = {.id = 4, .kind = FPERF_MARKER_FRAME};
	const struct fperf_rec_mark *marks;
	const struct fperf_rec_freq *freqs;
	size_t count;

	feed_begin(&feed);
	cr_assert_eq(fperf_writer__add(feed.writer, FPERF_RECORD_MARKER, &marker, &err), 0);
	feed_record(&feed, &mark, sizeof(mark));
	feed_record(&feed, &freq, sizeof(freq));
	feed_finish(&feed, 10);
	marks = LOADED(&feed, MARK, mark, &count);
	cr_assert_eq(count, 1);
	cr_assert_eq(marks[0].time_ns, START + 3 * MS);
	cr_assert_eq(marks[0].marker, 4);
	cr_assert_eq(marks[0].args[1], UINT64_MAX);
	freqs = LOADED(&feed, FREQ, freq, &count);
	cr_assert_eq(count, 1);
	cr_assert_eq(freqs[0].cpu, 1);
	cr_assert_eq(freqs[0].kind, FPERF_FREQ_LIMITS);
	cr_assert_eq(freqs[0].max_khz, 2000);
	feed_end(&feed);
}

Test(aggregate, failed_unwinds_are_counted_by_module)
{
	struct feed feed;
	struct fperf_wire_sample sample = {
		.header = feed_header(FPERF_WIRE_SAMPLE, sizeof(sample), 1, 100, 100)};
	const struct fperf_rec_unwind_failure *failures;
	uint32_t module;
	size_t count;

	feed_begin(&feed);
	feed_process(&feed, 100, "game");
	module = feed_mapping(&feed, 100, 0, 0x400000, 0x401000, 0, "/opt/game");
	sample.stack.outcome = FPERF_STACK_NO_ROW;
	sample.stack.failed_at = 0x400100;
	feed_record(&feed, &sample, sizeof(sample));
	feed_record(&feed, &sample, sizeof(sample));
	sample.stack.outcome = FPERF_STACK_COMPLETE;
	feed_record(&feed, &sample, sizeof(sample));
	feed_finish(&feed, 10);
	failures = LOADED(&feed, UNWIND_FAILURE, unwind_failure, &count);
	cr_assert_eq(count, 1);
	cr_assert_eq(failures[0].module, module);
	cr_assert_eq(failures[0].outcome, FPERF_STACK_NO_ROW);
	cr_assert_eq(failures[0].count, 2);
	feed_end(&feed);
}

/* AGG-02: overflow has its own bucket, the hot stack stays. */
Test(aggregate, full_stack_table_is_a_counted_loss)
{
	struct feed feed;
	const struct fperf_rec_sample *samples;
	const struct fperf_rec_loss *losses;
	uint64_t hot = 0, lost = 0;
	size_t count;

	feed_begin_with(&feed, 10);
	feed_process(&feed, 100, "game");
	for (uint32_t i = 0; i < 500; i++) {
		feed_pc(&feed, i * 10, 100, 100, 0x1000);
		feed_pc(&feed, i * 10 + 5, 100, 100, 0x2000 + i);
	}
	feed_finish(&feed, 6000);
	samples = LOADED(&feed, SAMPLE, sample, &count);
	cr_assert_eq(count, 1000, "no sample is dropped");
	for (size_t i = 0; i < count; i++)
		hot += samples[i].stack && loaded_leaf(&feed, samples[i].stack)->offset == 0x1000;
	cr_assert_eq(hot, 500);
	losses = LOADED(&feed, LOSS, loss, &count);
	cr_assert_gt(count, 1, "told while it goes on, not only at the end");
	for (size_t i = 0; i < count; i++) {
		cr_assert_eq(losses[i].reason, FPERF_LOSS_TABLE_FULL);
		lost += losses[i].count;
	}
	cr_assert_eq(lost, 500 - 9);
	cr_assert_eq(fperf_session__meta_u64(feed.session, FPERF_META_STACKS, 0), 10);
	cr_assert_eq(fperf_session__meta_u64(feed.session, FPERF_META_STACKS_LOST, 0), 491);
	cr_assert_eq(fperf_session__meta_u64(feed.session, FPERF_META_STACK_LOOKUPS, 0), 1000);
	feed_end(&feed);
}

Test(aggregate, stack_from_user_space_replaces_that_of_the_record)
{
	const uint64_t user[] = {0x11 | FPERF_WIRE_PC_BIT, 0x22, 0x33};
	uint64_t deep[FPERF_USER_DEPTH + 10] = {0};
	struct fperf_wire_sample sample = {
		.header = feed_header(FPERF_WIRE_SAMPLE, sizeof(sample), 1, 100, 100)};
	const struct fperf_rec_sample *samples;
	struct feed feed;
	size_t count;

	feed_begin(&feed);
	sample.stack.outcome = FPERF_STACK_NO_ROW;
	cr_assert_eq(fperf_aggregate__consume_with_stack(feed.agg, &sample, sizeof(sample), user, 3,
							 FPERF_STACK_COMPLETE, &err),
		     0);
	cr_assert_eq(fperf_aggregate__consume_with_stack(feed.agg, &sample, sizeof(sample), deep,
							 FPERF_USER_DEPTH + 10, FPERF_STACK_COMPLETE, &err),
		     0);
	feed_finish(&feed, 10);
	samples = LOADED(&feed, SAMPLE, sample, &count);
	cr_assert_eq(count, 2);
	cr_assert_eq(fperf_session__stack(feed.session, samples[0].stack)->count, 3);
	cr_assert_eq(fperf_session__stack(feed.session, samples[0].stack)->outcome, FPERF_STACK_COMPLETE);
	cr_assert_eq(fperf_session__stack(feed.session, samples[1].stack)->count, FPERF_USER_DEPTH);
	cr_assert_eq(fperf_session__stack(feed.session, samples[1].stack)->outcome, FPERF_STACK_TRUNCATED);
	feed_end(&feed);
}

/* A copy on the heap, so that the sanitizer sees any read beyond `size`. */
static void feed_copy(struct feed *feed, const void *record, size_t size)
{
	void *copy = malloc(size ? size : 1);

	memcpy(copy, record, size);
	feed_record(feed, copy, size);
	free(copy);
}

Test(aggregate, hostile_records_are_counted_and_dropped)
{
	struct feed feed;
	struct fperf_wire_sample sample = {
		.header = feed_header(FPERF_WIRE_SAMPLE, sizeof(sample), 1, 100, 100)};
	struct fperf_wire_sample bad;
	struct fperf_aggregate_stats stats;
	uint64_t expected = 0;
	size_t count;

	feed_begin(&feed);
	for (size_t size = 0; size < sizeof(sample); size++, expected++)
		feed_copy(&feed, &sample, size);
	for (uint32_t type = 0; type < 70000; type += type < 300 ? 1 : 997) {
		if (type >= FPERF_WIRE_SAMPLE && type <= FPERF_WIRE_OUT_STACK &&
		    type != FPERF_WIRE_STACK_DUMP)
			continue;
		bad = sample;
		bad.header.type = (uint16_t)type;
		if (bad.header.type >= FPERF_WIRE_SAMPLE && bad.header.type <= FPERF_WIRE_OUT_STACK &&
		    bad.header.type != FPERF_WIRE_STACK_DUMP)
			continue;
		feed_copy(&feed, &bad, sizeof(bad));
		expected++;
	}
	for (int i = 0; i < 6; i++, expected++) {
		bad = sample;
		bad.stack.kernel_count = i == 0 ? 1 : i == 1 ? UINT16_MAX : 0;
		bad.stack.user_count = i == 2 ? 1 : i == 3 ? UINT16_MAX : 0;
		if (i == 4)
			bad.stack.outcome = FPERF_STACK_OUTCOMES;
		if (i == 5)
			bad.header.size = UINT32_MAX;
		feed_copy(&feed, &bad, sizeof(bad));
	}
	bad = sample;
	bad.stack.gap = UINT16_MAX; /* a gap behind the end is no gap */
	feed_copy(&feed, &bad, sizeof(bad));
	fperf_aggregate__stats(feed.agg, &stats);
	cr_assert_eq(stats.bad_records, expected);
	cr_assert_eq(stats.records[FPERF_WIRE_SAMPLE], 1);
	feed_finish(&feed, 10);
	LOADED(&feed, SAMPLE, sample, &count);
	cr_assert_eq(count, 1);
	feed_end(&feed);
}

/* Random bytes in all records: whatever comes out must be a session that can be read. */
Test(aggregate, random_records_leave_a_readable_session)
{
	struct feed feed;
	uint8_t bytes[400];

	feed_begin(&feed);
	srand(7);
	for (uint32_t round = 0; round < 20000; round++) {
		struct fperf_wire_header *header = (struct fperf_wire_header *)(void *)bytes;
		size_t size = 24 + (size_t)rand() % (sizeof(bytes) - 24);

		for (size_t i = 0; i < size; i++)
			bytes[i] = (uint8_t)(rand() >> 7) & (round % 3 ? 0x3 : 0xff);
		header->type = (uint16_t)(1 + rand() % FPERF_WIRE_OUT_STACK);
		if (header->type == FPERF_WIRE_MARK)
			continue; /* refers to a marker that capture would have written */
		header->size = (uint32_t)size;
		header->pid = 100 + (uint32_t)rand() % 5;
		header->tid = 100 + (uint32_t)rand() % 20;
		feed_copy(&feed, bytes, size);
	}
	feed_finish(&feed, 100000);
	feed_end(&feed);
}
