#include "output/names.h"

#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *pick(const char *const *names, size_t count, unsigned int index)
{
	return index < count && names[index] ? names[index] : "unknown";
}

const char *fperf_source__key(unsigned int source)
{
	static const char *const names[FPERF_SOURCES] = {
		[FPERF_SOURCE_SAMPLE] = "sample",     [FPERF_SOURCE_SCHED] = "sched",
		[FPERF_SOURCE_FREQ] = "freq",	      [FPERF_SOURCE_FRAME] = "frame",
		[FPERF_SOURCE_MARK] = "mark",	      [FPERF_SOURCE_PROCESS] = "process",
		[FPERF_SOURCE_MAPPING] = "mapping",   [FPERF_SOURCE_UNWIND] = "unwind",
		[FPERF_SOURCE_KALLSYMS] = "kallsyms", [FPERF_SOURCE_GPU] = "gpu",
		[FPERF_SOURCE_COUNTER] = "counter",   [FPERF_SOURCE_JIT] = "jit",
	};

	return pick(names, COUNT(names), source);
}

const char *fperf_source_state__key(unsigned int state)
{
	static const char *const names[] = {
		[FPERF_SOURCE_STATE_ABSENT] = "absent",
		[FPERF_SOURCE_STATE_ACTIVE] = "active",
		[FPERF_SOURCE_STATE_FAILED] = "failed",
		[FPERF_SOURCE_STATE_OFF] = "absent",
	};

	return pick(names, COUNT(names), state);
}

struct reason_name {
	const char *key, *words;
};

static const struct reason_name loss_names[FPERF_LOSS_REASONS] = {
	[FPERF_LOSS_RING_FULL] = {"ring_full", "the recorder was too slow, a ring was full"},
	[FPERF_LOSS_MAP_FULL] = {"map_full", "too many threads or processes for a BPF map"},
	[FPERF_LOSS_STACK_SKIPPED] = {"stack_skipped",
				      "event kept without its stack: stack budget of a thread used up"},
	[FPERF_LOSS_MEMORY] = {"memory", "the recorder ran out of memory or reached its bound"},
	[FPERF_LOSS_WRITE] = {"write", "the session file could not be written"},
	[FPERF_LOSS_TIME_ORDER] = {"time_order",
				   "event kept, its length set to 0: clocks of two CPUs disagreed"},
	[FPERF_LOSS_SIDEBAND] = {"sideband", "the kernel lost mapping records"},
	[FPERF_LOSS_CHUNK] = {"chunk", "a part of the session file is damaged"},
	[FPERF_LOSS_THROTTLED] = {"throttled", "the kernel throttled sampling"},
	[FPERF_LOSS_TABLE_FULL] = {"table_full", "a table of the recorder was full"},
};

const char *fperf_loss__key(unsigned int reason)
{
	return reason < FPERF_LOSS_REASONS ? loss_names[reason].key : "unknown";
}

const char *fperf_loss__words(unsigned int reason)
{
	return reason < FPERF_LOSS_REASONS ? loss_names[reason].words
					   : "for a reason this version does not know";
}

static const struct {
	const char *key, *words;
	const char *advice; /* NULL: there is none */
} outcome_names[FPERF_STACK_OUTCOMES] = {
	[FPERF_STACK_NONE] = {"none", "no user stack exists", NULL},
	[FPERF_STACK_COMPLETE] = {"complete", "reach the thread's start", NULL},
	[FPERF_STACK_TRUNCATED] = {"truncated", "deeper than the limit: the middle is missing",
				   "such deep stacks are mostly recursion"},
	[FPERF_STACK_NO_ROW] = {"no_row", "stop at code without unwind information",
				"build it with -fasynchronous-unwind-tables or -fno-omit-frame-pointer"},
	[FPERF_STACK_NO_MODULE] = {"no_module", "stop in memory that belongs to no module (generated code)",
				   "if its compiler can keep frame pointers, let it"},
	[FPERF_STACK_BAD_READ] = {"bad_read", "stop where stack memory could not be read",
				  "it was not in memory, or its unwind information is wrong"},
	[FPERF_STACK_NO_PROGRESS] = {"no_progress", "stop where the stack pointer did not move",
				     "its unwind information is wrong"},
	[FPERF_STACK_BAD_ADDRESS] = {"bad_address", "stop at a return address outside of code",
				     "its unwind information is wrong, as that of assembly often is"},
	[FPERF_STACK_UNSUPPORTED] = {"unsupported", "stop at an unwind rule that is not supported",
				     "--unwind dump takes the rules that only libdw knows"},
	[FPERF_STACK_TABLE_MISSING] =
		{"table_missing", "stop where an unwind table was not ready yet",
		 "tables are kept on disk, so the next recording has them from the start"},
	[FPERF_STACK_BAD_REGISTERS] = {"bad_registers", "start from registers that could not be read", NULL},
	[FPERF_STACK_UNKNOWN_END] =
		{"unknown_end", "end by frame pointer, perhaps before the thread's start",
		 "--unwind auto goes by unwind tables; or build with -fno-omit-frame-pointer"},
	[FPERF_STACK_SKIPPED] = {"skipped", "were not captured: stack budget of the thread used up", NULL},
	[FPERF_STACK_LEAF] = {"leaf", "hold the innermost address only, as asked for", NULL},
};

const char *fperf_outcome__key(unsigned int outcome)
{
	return outcome < FPERF_STACK_OUTCOMES ? outcome_names[outcome].key : "unknown";
}

const char *fperf_outcome__words(unsigned int outcome)
{
	return outcome < FPERF_STACK_OUTCOMES ? outcome_names[outcome].words
					      : "ended in a way this version does not know";
}

const char *fperf_outcome__advice(unsigned int outcome)
{
	return outcome < FPERF_STACK_OUTCOMES ? outcome_names[outcome].advice : NULL;
}

const char *fperf_record_type__key(unsigned int type)
{
	static const char *const names[FPERF_RECORD_TYPES] = {
		[FPERF_RECORD_STRING] = "string",
		[FPERF_RECORD_META] = "meta",
		[FPERF_RECORD_MODULE] = "module",
		[FPERF_RECORD_PROCESS] = "process",
		[FPERF_RECORD_THREAD] = "thread",
		[FPERF_RECORD_MAPPING] = "mapping",
		[FPERF_RECORD_KERNEL_SYMBOL] = "kernel symbol",
		[FPERF_RECORD_JIT_SYMBOL] = "JIT symbol",
		[FPERF_RECORD_MARKER] = "marker",
		[FPERF_RECORD_STACK] = "stack",
		[FPERF_RECORD_SOURCE] = "source",
		[FPERF_RECORD_TASK_EVENT] = "task event",
		[FPERF_RECORD_SAMPLE] = "sample",
		[FPERF_RECORD_OFFCPU] = "off-CPU",
		[FPERF_RECORD_MARK] = "mark",
		[FPERF_RECORD_FREQ] = "frequency",
		[FPERF_RECORD_ACCOUNT] = "account",
		[FPERF_RECORD_LOSS] = "loss",
		[FPERF_RECORD_COUNTER] = "counter",
		[FPERF_RECORD_UNWIND_FAILURE] = "unwind failure",
		[FPERF_RECORD_FUNCTION] = "function",
		[FPERF_RECORD_FRAME] = "frame",
		[FPERF_RECORD_LEDGER] = "ledger",
		[FPERF_RECORD_HOT] = "hot function",
		[FPERF_RECORD_SUMMARY] = "summary",
		[FPERF_RECORD_THREAD_STATS] = "thread statistics",
		[FPERF_RECORD_EFFORT] = "effort",
		[FPERF_RECORD_TRIGGER] = "trigger",
		[FPERF_RECORD_SNAPSHOT] = "snapshot",
		[FPERF_RECORD_GAP] = "gap",
	};

	return pick(names, COUNT(names), type);
}

static const struct reason_name effort_names[FPERF_EFFORT_REASONS] = {
	[FPERF_EFFORT_START] = {"start", "the recording began"},
	[FPERF_EFFORT_OVER_BPF] = {"bpf", "the BPF programs took more than allowed"},
	[FPERF_EFFORT_OVER_RECORDER] = {"recorder", "the recorder took more than allowed"},
	[FPERF_EFFORT_LOW_FPS] = {"low_fps", "the game fell below 25 frames a second"},
	[FPERF_EFFORT_RECOVERED] = {"recovered", "the cost was well below the budget again"},
	[FPERF_EFFORT_FLOOR] = {"floor", "more than allowed, with nothing left to give up"},
};

const char *fperf_effort_reason__key(unsigned int reason)
{
	return reason < FPERF_EFFORT_REASONS ? effort_names[reason].key : "unknown";
}

const char *fperf_effort_reason__words(unsigned int reason)
{
	return reason < FPERF_EFFORT_REASONS ? effort_names[reason].words
					     : "for a reason this version does not know";
}

const char *fperf_trigger__key(unsigned int kind)
{
	static const char *const names[] = {
		[FPERF_TRIGGER_FRAME] = "frame",	 [FPERF_TRIGGER_STALL] = "stall",
		[FPERF_TRIGGER_HITCHES] = "hitches",	 [FPERF_TRIGGER_MARK] = "mark",
		[FPERF_TRIGGER_RUN_QUEUE] = "run-queue", [FPERF_TRIGGER_SIGNAL] = "signal",
		[FPERF_TRIGGER_COMMAND] = "command",	 [FPERF_TRIGGER_WORST] = "worst",
	};

	return pick(names, COUNT(names), kind);
}
