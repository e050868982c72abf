#include "session/schema.h"

#include <string.h>

#define NO FPERF_SCHEMA_NO_OFFSET

#define WIDTH(st, field) ((uint8_t)sizeof(((struct fperf_rec_##st *)0)->field))
#define AT(st, field)	 ((uint16_t)offsetof(struct fperf_rec_##st, field))
#define KEY1(st, a)	 .keys = 1, .key = {AT(st, a)}, .key_width = {WIDTH(st, a)}
#define KEY2(st, a, b)	 .keys = 2, .key = {AT(st, a), AT(st, b)}, .key_width = {WIDTH(st, a), WIDTH(st, b)}
#define KEY3(st, a, b, c)                                                                                    \
	.keys = 3, .key = {AT(st, a), AT(st, b), AT(st, c)},                                                 \
	.key_width = {WIDTH(st, a), WIDTH(st, b), WIDTH(st, c)}

#define DICTIONARY(st, ...)                                                                                  \
	{                                                                                                    \
		.name = #st, .size = sizeof(struct fperf_rec_##st), .time = NO, .until = NO, .id = NO,       \
		__VA_ARGS__                                                                                  \
	}
#define WITH_ID(st, ...)                                                                                     \
	{                                                                                                    \
		.name = #st, .size = sizeof(struct fperf_rec_##st), .time = NO, .until = NO,                 \
		.id = AT(st, id), KEY1(st, id), __VA_ARGS__                                                  \
	}
#define INTERVAL(st, moment, until_field, from, ...)                                                         \
	{                                                                                                    \
		.name = #st, .size = sizeof(struct fperf_rec_##st), .time = AT(st, moment),                  \
		.until = AT(st, until_field), .id = NO, .source = from, __VA_ARGS__                          \
	}

#define EVENT(st, moment, ...) INTERVAL(st, moment, moment, __VA_ARGS__)

const struct fperf_schema_type fperf_schema_types[FPERF_RECORD_TYPES] = {
	[FPERF_RECORD_END] = DICTIONARY(end, .closing = 1),
	[FPERF_RECORD_STRING] = WITH_ID(string, .tail = FPERF_TAIL_BYTES, .closing = 1),
	[FPERF_RECORD_META] = DICTIONARY(meta, KEY1(meta, key), .closing = 1),
	[FPERF_RECORD_MODULE] = WITH_ID(module, .source = FPERF_SOURCE_MAPPING),
	[FPERF_RECORD_PROCESS] = WITH_ID(process, .source = FPERF_SOURCE_PROCESS),
	[FPERF_RECORD_THREAD] = WITH_ID(thread, .source = FPERF_SOURCE_PROCESS),
	[FPERF_RECORD_MAPPING] =
		DICTIONARY(mapping, KEY3(mapping, process, start, from_ns), .source = FPERF_SOURCE_MAPPING),
	[FPERF_RECORD_KERNEL_SYMBOL] = DICTIONARY(kernel_symbol, .source = FPERF_SOURCE_KALLSYMS),
	[FPERF_RECORD_JIT_SYMBOL] = DICTIONARY(jit_symbol, .source = FPERF_SOURCE_JIT),
	[FPERF_RECORD_MARKER] = WITH_ID(marker, .source = FPERF_SOURCE_FRAME),
	[FPERF_RECORD_STACK] = WITH_ID(stack, .tail = FPERF_TAIL_FRAMES, .source = FPERF_SOURCE_SAMPLE),
	[FPERF_RECORD_SOURCE] = DICTIONARY(source, KEY1(source, source), .closing = 1),
	[FPERF_RECORD_TASK_EVENT] = EVENT(task_event, time_ns, FPERF_SOURCE_PROCESS),
	[FPERF_RECORD_SAMPLE] = EVENT(sample, time_ns, FPERF_SOURCE_SAMPLE),
	[FPERF_RECORD_OFFCPU] = INTERVAL(offcpu, out_ns, in_ns, FPERF_SOURCE_SCHED),
	[FPERF_RECORD_MARK] = EVENT(mark, time_ns, FPERF_SOURCE_MARK),
	[FPERF_RECORD_FREQ] = EVENT(freq, time_ns, FPERF_SOURCE_FREQ),
	[FPERF_RECORD_ACCOUNT] = EVENT(account, time_ns, FPERF_SOURCE_SCHED, .closing = 1),
	[FPERF_RECORD_LOSS] = EVENT(loss, time_ns, FPERF_SOURCE_PROCESS, .closing = 1),
	[FPERF_RECORD_COUNTER] = EVENT(counter, time_ns, FPERF_SOURCE_COUNTER),
	[FPERF_RECORD_UNWIND_FAILURE] = DICTIONARY(unwind_failure, KEY2(unwind_failure, module, outcome),
						   .closing = 1, .source = FPERF_SOURCE_UNWIND),
	[FPERF_RECORD_FUNCTION] = WITH_ID(function, .source = FPERF_SOURCE_MAPPING),
	[FPERF_RECORD_FRAME] = INTERVAL(frame, start_ns, end_ns, FPERF_SOURCE_FRAME),
	[FPERF_RECORD_LEDGER] = DICTIONARY(ledger, KEY2(ledger, frame, thread), .source = FPERF_SOURCE_SCHED),
	[FPERF_RECORD_HOT] = EVENT(hot, time_ns, FPERF_SOURCE_SAMPLE),
	[FPERF_RECORD_SUMMARY] =
		DICTIONARY(summary, KEY2(summary, fact, index), .closing = 1, .source = FPERF_SOURCE_FRAME),
	[FPERF_RECORD_THREAD_STATS] =
		DICTIONARY(thread_stats, KEY1(thread_stats, thread), .source = FPERF_SOURCE_SCHED),
	[FPERF_RECORD_EFFORT] = EVENT(effort, time_ns, FPERF_SOURCE_SAMPLE, .closing = 1),
	[FPERF_RECORD_TRIGGER] = EVENT(trigger, time_ns, FPERF_SOURCE_PROCESS, .closing = 1),
	[FPERF_RECORD_SNAPSHOT] = EVENT(snapshot, time_ns, FPERF_SOURCE_SCHED),
	[FPERF_RECORD_GAP] = INTERVAL(gap, from_ns, to_ns, FPERF_SOURCE_PROCESS, .closing = 1),
};

#define ROW(st, t, col, field, ...)                                                                          \
	{                                                                                                    \
		.name = #field, .type = FPERF_RECORD_##t, .column = col, .width = WIDTH(st, field),          \
		.offset = AT(st, field), __VA_ARGS__                                                         \
	}

#define INT(st, t, col, field)	  ROW(st, t, col, field, .predictor = FPERF_PREDICT_NONE)
#define SIGNED(st, t, col, field) ROW(st, t, col, field, .predictor = FPERF_PREDICT_ZERO)
#define TIME(st, t, col, field)	  ROW(st, t, col, field, .predictor = FPERF_PREDICT_PREVIOUS, .moment = 1)
#define DELTA(st, t, col, field)  ROW(st, t, col, field, .predictor = FPERF_PREDICT_PREVIOUS)
#define AFTER(st, t, col, field, base)                                                                       \
	ROW(st, t, col, field, .predictor = FPERF_PREDICT_COLUMN, .value = base)
#define KEYED_TIME(st, t, col, field, of, by)                                                                \
	ROW(st, t, col, field, .predictor = FPERF_PREDICT_KEYED, .value = of, .key = by, .moment = 1)
#define KEYED_SPARSE(st, t, col, field, of, by)                                                              \
	ROW(st, t, col, field, .predictor = FPERF_PREDICT_KEYED, .value = of, .key = by, .sparse = 1)
#define RECENT(st, t, col, field, by, and)                                                                   \
	ROW(st, t, col, field, .predictor = FPERF_PREDICT_RECENT, .key = by, .match = and)
#define SPARSE(st, t, col, field) ROW(st, t, col, field, .predictor = FPERF_PREDICT_NONE, .sparse = 1)

/* Sorted by type, then by column; a column that others refer to comes before them. */
static const struct fperf_schema_field fields[] = {
	INT(end, END, 1, type),
	INT(end, END, 2, count),

	DELTA(string, STRING, 1, id),
	ROW(string, STRING, 2, bytes, .kind = FPERF_FIELD_STRING),

	INT(meta, META, 1, key),
	INT(meta, META, 2, value),

	DELTA(module, MODULE, 1, id),
	INT(module, MODULE, 2, path),
	INT(module, MODULE, 3, kind),
	INT(module, MODULE, 4, deleted),
	ROW(module, MODULE, 5, build_id, .kind = FPERF_FIELD_BYTES),
	INT(module, MODULE, 6, file_size),
	INT(module, MODULE, 7, content_hash),
	INT(module, MODULE, 8, base),

	DELTA(process, PROCESS, 1, id),
	INT(process, PROCESS, 2, pid),
	INT(process, PROCESS, 3, ns_pid),
	INT(process, PROCESS, 4, parent),
	INT(process, PROCESS, 5, generation),
	INT(process, PROCESS, 6, name),
	INT(process, PROCESS, 7, exe),
	INT(process, PROCESS, 8, target),
	DELTA(process, PROCESS, 9, start_ns),

	DELTA(thread, THREAD, 1, id),
	INT(thread, THREAD, 2, process),
	INT(thread, THREAD, 3, tid),
	INT(thread, THREAD, 4, name),
	DELTA(thread, THREAD, 5, start_ns),

	INT(mapping, MAPPING, 1, process),
	INT(mapping, MAPPING, 2, module),
	DELTA(mapping, MAPPING, 3, start),
	AFTER(mapping, MAPPING, 4, end, 3),
	INT(mapping, MAPPING, 5, file_offset),
	DELTA(mapping, MAPPING, 6, from_ns),
	ROW(mapping, MAPPING, 7, to_ns, .predictor = FPERF_PREDICT_COLUMN, .value = 6, .sparse = 1),

	DELTA(kernel_symbol, KERNEL_SYMBOL, 1, address),
	INT(kernel_symbol, KERNEL_SYMBOL, 2, size),
	DELTA(kernel_symbol, KERNEL_SYMBOL, 3, name),
	INT(kernel_symbol, KERNEL_SYMBOL, 4, module),

	INT(jit_symbol, JIT_SYMBOL, 1, process),
	DELTA(jit_symbol, JIT_SYMBOL, 2, address),
	INT(jit_symbol, JIT_SYMBOL, 3, size),
	DELTA(jit_symbol, JIT_SYMBOL, 4, name),

	DELTA(marker, MARKER, 1, id),
	INT(marker, MARKER, 2, kind),
	INT(marker, MARKER, 3, rank),
	ROW(marker, MARKER, 4, surface_arg, .missing = 255),
	INT(marker, MARKER, 5, chosen),
	INT(marker, MARKER, 6, name),
	INT(marker, MARKER, 7, path),
	INT(marker, MARKER, 8, symbol),
	INT(marker, MARKER, 9, offset),
	INT(marker, MARKER, 10, note),

	DELTA(stack, STACK, 1, id),
	INT(stack, STACK, 2, outcome),
	ROW(stack, STACK, 3, frames, .kind = FPERF_FIELD_FRAMES),

	INT(source, SOURCE, 1, source),
	INT(source, SOURCE, 2, state),
	INT(source, SOURCE, 3, reason),

	TIME(task_event, TASK_EVENT, 1, time_ns),
	INT(task_event, TASK_EVENT, 2, thread),
	INT(task_event, TASK_EVENT, 3, event),
	INT(task_event, TASK_EVENT, 4, name),
	SIGNED(task_event, TASK_EVENT, 5, exit_code),

	INT(sample, SAMPLE, 1, cpu),
	KEYED_TIME(sample, SAMPLE, 2, time_ns, 2, 1),
	INT(sample, SAMPLE, 3, thread),
	RECENT(sample, SAMPLE, 4, stack, 3, 3),
	INT(sample, SAMPLE, 5, kernel),
	INT(sample, SAMPLE, 6, period),

	/* Records come in the order of switch-in. Where a thread was switched out, another was switched in:
	 * in the record whose `prev` it is, at the same time and on the same CPU. */
	INT(offcpu, OFFCPU, 1, thread),
	INT(offcpu, OFFCPU, 2, cpu_in),
	TIME(offcpu, OFFCPU, 3, in_ns),
	KEYED_SPARSE(offcpu, OFFCPU, 4, prev, 1, 2),
	ROW(offcpu, OFFCPU, 5, out_ns, .predictor = FPERF_PREDICT_MENTION, .value = 3, .key = 1, .match = 4,
	    .moment = 1),
	ROW(offcpu, OFFCPU, 6, cpu_out, .predictor = FPERF_PREDICT_MENTION, .value = 2, .key = 1, .match = 4),
	ROW(offcpu, OFFCPU, 7, next, .predictor = FPERF_PREDICT_HANDOVER, .value = 1, .key = 1, .match = 4,
	    .sparse = 1),
	ROW(offcpu, OFFCPU, 8, wake_ns, .predictor = FPERF_PREDICT_COLUMN, .value = 3, .sparse = 1,
	    .moment = 1),
	INT(offcpu, OFFCPU, 9, state),
	RECENT(offcpu, OFFCPU, 10, flags, 1, 9),
	RECENT(offcpu, OFFCPU, 11, waker, 1, 9),
	ROW(offcpu, OFFCPU, 12, syscall, .predictor = FPERF_PREDICT_RECENT, .key = 1, .match = 9,
	    .missing = UINT32_MAX),
	RECENT(offcpu, OFFCPU, 13, args[0], 1, 12),
	RECENT(offcpu, OFFCPU, 14, args[1], 1, 12),
	RECENT(offcpu, OFFCPU, 15, args[2], 1, 12),
	RECENT(offcpu, OFFCPU, 16, stack, 1, 12),

	INT(mark, MARK, 1, marker),
	KEYED_TIME(mark, MARK, 2, time_ns, 2, 1),
	INT(mark, MARK, 3, thread),
	INT(mark, MARK, 4, cpu),
	RECENT(mark, MARK, 5, args[0], 1, 3),
	RECENT(mark, MARK, 6, args[1], 1, 3),
	RECENT(mark, MARK, 7, args[2], 1, 3),

	INT(freq, FREQ, 1, cpu),
	DELTA(freq, FREQ, 2, time_ns),
	INT(freq, FREQ, 3, kind),
	INT(freq, FREQ, 4, polled),
	INT(freq, FREQ, 5, khz),
	INT(freq, FREQ, 6, min_khz),
	INT(freq, FREQ, 7, max_khz),

	DELTA(account, ACCOUNT, 1, time_ns),
	INT(account, ACCOUNT, 2, thread),
	INT(account, ACCOUNT, 3, cpu_ns),

	DELTA(loss, LOSS, 1, time_ns),
	INT(loss, LOSS, 2, source),
	INT(loss, LOSS, 3, reason),
	INT(loss, LOSS, 4, count),

	INT(counter, COUNTER, 1, counter),
	INT(counter, COUNTER, 2, index),
	DELTA(counter, COUNTER, 3, time_ns),
	SIGNED(counter, COUNTER, 4, value),

	INT(unwind_failure, UNWIND_FAILURE, 1, module),
	INT(unwind_failure, UNWIND_FAILURE, 2, outcome),
	INT(unwind_failure, UNWIND_FAILURE, 3, count),

	DELTA(function, FUNCTION, 1, id),
	INT(function, FUNCTION, 2, name),
	INT(function, FUNCTION, 3, module_name),
	INT(function, FUNCTION, 4, module),
	INT(function, FUNCTION, 5, known),
	INT(function, FUNCTION, 6, kind),
	INT(function, FUNCTION, 7, kernel),
	INT(function, FUNCTION, 8, offset),

	/* A frame begins where the one before ended; as no index is there twice, "keyed" finds just that. */
	DELTA(frame, FRAME, 1, index),
	TIME(frame, FRAME, 2, end_ns),
	KEYED_TIME(frame, FRAME, 3, start_ns, 2, 1),
	INT(frame, FRAME, 4, limited_ns),
	INT(frame, FRAME, 5, thread),
	INT(frame, FRAME, 6, slow),
	ROW(frame, FRAME, 7, cause, .sparse = 1, .missing = FPERF_NO_CAUSE),
	ROW(frame, FRAME, 8, suspect, .sparse = 1, .missing = FPERF_NO_CAUSE),
	SPARSE(frame, FRAME, 9, cause_thread),
	SPARSE(frame, FRAME, 10, place),
	SPARSE(frame, FRAME, 11, leaf),
	SPARSE(frame, FRAME, 12, by),
	SPARSE(frame, FRAME, 13, by_function),
	SPARSE(frame, FRAME, 14, excess_ns),
	SPARSE(frame, FRAME, 15, cause_ns),
	SPARSE(frame, FRAME, 16, frame_excess_ns),
	SPARSE(frame, FRAME, 17, slow_khz),
	SPARSE(frame, FRAME, 18, usual_khz),

	DELTA(ledger, LEDGER, 1, frame),
	INT(ledger, LEDGER, 2, thread),
	ROW(ledger, LEDGER, 3, lived, .sparse = 1, .missing = FPERF_LEDGER_PARTS),
	INT(ledger, LEDGER, 4, user),
	INT(ledger, LEDGER, 5, kernel),
	SPARSE(ledger, LEDGER, 6, runnable),
	SPARSE(ledger, LEDGER, 7, preempted),
	SPARSE(ledger, LEDGER, 8, lock),
	SPARSE(ledger, LEDGER, 9, io),
	SPARSE(ledger, LEDGER, 10, fault),
	SPARSE(ledger, LEDGER, 11, gpu),
	SPARSE(ledger, LEDGER, 12, sleep),
	SPARSE(ledger, LEDGER, 13, event),
	SPARSE(ledger, LEDGER, 14, other),
	SPARSE(ledger, LEDGER, 15, residual),

	DELTA(hot, HOT, 1, time_ns),
	INT(hot, HOT, 2, function),
	INT(hot, HOT, 3, self_ns),
	INT(hot, HOT, 4, total_ns),
	SPARSE(hot, HOT, 5, slow_self_ns),
	SPARSE(hot, HOT, 6, slow_total_ns),

	DELTA(summary, SUMMARY, 1, fact),
	INT(summary, SUMMARY, 2, index),
	INT(summary, SUMMARY, 3, value),

	DELTA(thread_stats, THREAD_STATS, 1, thread),
	INT(thread_stats, THREAD_STATS, 2, cpu_ns),
	INT(thread_stats, THREAD_STATS, 3, samples),
	INT(thread_stats, THREAD_STATS, 4, switches),
	INT(thread_stats, THREAD_STATS, 5, run_queue_p50_ns),
	INT(thread_stats, THREAD_STATS, 6, run_queue_p99_ns),
	INT(thread_stats, THREAD_STATS, 7, run_queue_max_ns),
	INT(thread_stats, THREAD_STATS, 8, stacks),
	INT(thread_stats, THREAD_STATS, 9, stacks_complete),

	DELTA(effort, EFFORT, 1, time_ns),
	INT(effort, EFFORT, 2, step),
	INT(effort, EFFORT, 3, from),
	INT(effort, EFFORT, 4, reason),
	INT(effort, EFFORT, 5, words),
	ROW(effort, EFFORT, 6, bpf_ppm, .missing = UINT32_MAX),
	ROW(effort, EFFORT, 7, recorder_ppm, .missing = UINT32_MAX),
	ROW(effort, EFFORT, 8, fps_milli, .missing = UINT32_MAX),
	ROW(effort, EFFORT, 9, hits_per_sample, .missing = 1),

	DELTA(trigger, TRIGGER, 1, time_ns),
	AFTER(trigger, TRIGGER, 2, since_ns, 1),
	INT(trigger, TRIGGER, 3, kind),
	INT(trigger, TRIGGER, 4, number),
	INT(trigger, TRIGGER, 5, first),
	INT(trigger, TRIGGER, 6, value),
	INT(trigger, TRIGGER, 7, limit),
	INT(trigger, TRIGGER, 8, rule),
	INT(trigger, TRIGGER, 9, reason),
	INT(trigger, TRIGGER, 10, thread),

	DELTA(snapshot, SNAPSHOT, 1, time_ns),
	AFTER(snapshot, SNAPSHOT, 2, since_ns, 1),
	INT(snapshot, SNAPSHOT, 3, thread),
	INT(snapshot, SNAPSHOT, 4, state),
	INT(snapshot, SNAPSHOT, 5, stack),
	INT(snapshot, SNAPSHOT, 6, owner),
	INT(snapshot, SNAPSHOT, 7, waker),
	ROW(snapshot, SNAPSHOT, 8, syscall, .predictor = FPERF_PREDICT_ZERO, .missing = UINT32_MAX),
	ROW(snapshot, SNAPSHOT, 9, args[0], .predictor = FPERF_PREDICT_NONE),
	ROW(snapshot, SNAPSHOT, 10, args[1], .predictor = FPERF_PREDICT_NONE),

	DELTA(gap, GAP, 1, from_ns),
	AFTER(gap, GAP, 2, to_ns, 1),
};

const struct fperf_schema_type *fperf_schema__type(uint32_t type)
{
	return type < FPERF_RECORD_TYPES && fperf_schema_types[type].name ? &fperf_schema_types[type] : NULL;
}

const struct fperf_schema_field *fperf_schema__fields(uint32_t type, size_t *count)
{
	const size_t all = sizeof(fields) / sizeof(fields[0]);
	size_t first = 0;

	while (first < all && fields[first].type != type)
		first++;
	*count = 0;
	while (first + *count < all && fields[first + *count].type == type)
		(*count)++;
	return *count ? &fields[first] : NULL;
}

const struct fperf_schema_field *fperf_schema__column(uint32_t type, uint8_t column)
{
	size_t count;
	const struct fperf_schema_field *rows = fperf_schema__fields(type, &count);

	for (size_t i = 0; i < count; i++)
		if (rows[i].column == column)
			return &rows[i];
	return NULL;
}

uint64_t fperf_schema__load(const void *record, uint16_t offset, uint8_t width)
{
	const char *at = (const char *)record + offset;
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;

	switch (width) {
	case 8:
		memcpy(&u64, at, 8);
		return u64;
	case 4:
		memcpy(&u32, at, 4);
		return u32;
	case 2:
		memcpy(&u16, at, 2);
		return u16;
	default:
		return (uint8_t)*at;
	}
}

void fperf_schema__store(void *record, uint16_t offset, uint8_t width, uint64_t value)
{
	char *at = (char *)record + offset;
	uint32_t u32 = (uint32_t)value;
	uint16_t u16 = (uint16_t)value;

	switch (width) {
	case 8:
		memcpy(at, &value, 8);
		break;
	case 4:
		memcpy(at, &u32, 4);
		break;
	case 2:
		memcpy(at, &u16, 2);
		break;
	default:
		*at = (char)value;
	}
}
