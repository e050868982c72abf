/* Codes that travel from BPF through the session file to reports. Append only: numbers are stored in
 * sessions. */
#ifndef FRAMEPERF_REASONS_H
#define FRAMEPERF_REASONS_H

/* How the capture of one stack ended. Everything but COMPLETE keeps the stack frames that were found. */
enum fperf_stack_outcome {
	FPERF_STACK_NONE = 0,	   /* no user stack was asked for or exists (kernel thread) */
	FPERF_STACK_COMPLETE = 1,  /* reached the thread's start */
	FPERF_STACK_TRUNCATED = 2, /* deeper than the limit: leaf and root kept, the middle is missing */
	FPERF_STACK_NO_ROW = 3,	   /* an address in a known module that no unwind row covers */
	FPERF_STACK_NO_MODULE = 4, /* an address in no module that has rows, frame pointer step implausible */
	FPERF_STACK_BAD_READ = 5,  /* stack memory could not be read (swapped out, or a wrong CFA) */
	FPERF_STACK_NO_PROGRESS = 6,	/* the stack pointer did not move towards the root */
	FPERF_STACK_BAD_ADDRESS = 7,	/* return address outside executable memory */
	FPERF_STACK_UNSUPPORTED = 8,	/* a rule that the tables cannot express */
	FPERF_STACK_TABLE_MISSING = 9,	/* the module's table was not built or loaded yet, or was evicted */
	FPERF_STACK_BAD_REGISTERS = 10, /* user registers of the task could not be had */
	FPERF_STACK_UNKNOWN_END =
		11, /* frame pointer walk ended; whether at the thread's start cannot be known */
	FPERF_STACK_SKIPPED = 12, /* not captured: the budget for stacks at switch-out was used up */
	FPERF_STACK_LEAF = 13,	  /* only the innermost address was asked for */
	FPERF_STACK_OUTCOMES
};

/* Sources: what recording is made of. Each works or fails alone. */
enum fperf_source {
	FPERF_SOURCE_SAMPLE = 0,
	FPERF_SOURCE_SCHED = 1,
	FPERF_SOURCE_FREQ = 2,
	FPERF_SOURCE_FRAME = 3,	  /* frame boundaries */
	FPERF_SOURCE_MARK = 4,	  /* marks and scopes given by the user */
	FPERF_SOURCE_PROCESS = 5, /* fork, exec, exit, rename */
	FPERF_SOURCE_MAPPING = 6, /* executable mappings */
	FPERF_SOURCE_UNWIND = 7,  /* unwind tables */
	FPERF_SOURCE_KALLSYMS = 8,
	FPERF_SOURCE_GPU = 9,
	FPERF_SOURCE_COUNTER = 10, /* memory, temperature, power */
	FPERF_SOURCE_JIT = 11,	   /* names of code that was compiled at run time */
	FPERF_SOURCES
};

enum fperf_source_state {
	FPERF_SOURCE_STATE_ABSENT = 0, /* this machine or run does not have it */
	FPERF_SOURCE_STATE_ACTIVE = 1,
	FPERF_SOURCE_STATE_FAILED = 2, /* it should have worked; the reason says why not */
	FPERF_SOURCE_STATE_OFF = 3,    /* switched off by the user */
};

/* Why events of a source are missing. */
enum fperf_loss_reason {
	FPERF_LOSS_RING_FULL = 0,     /* the drain was too slow */
	FPERF_LOSS_MAP_FULL = 1,      /* a BPF map had no room for a new thread or process */
	FPERF_LOSS_STACK_SKIPPED = 2, /* event kept, stack not captured: budget */
	FPERF_LOSS_MEMORY = 3,	      /* the recorder's own bound or out of memory */
	FPERF_LOSS_WRITE = 4,	      /* the session file could not be written */
	FPERF_LOSS_TIME_ORDER = 5,    /* clock of two CPUs disagreed: interval clamped to zero and counted */
	FPERF_LOSS_SIDEBAND = 6,      /* PERF_RECORD_LOST in the mapping ring */
	FPERF_LOSS_CHUNK = 7, /* a damaged chunk of the session file was passed over (set by the reader) */
	FPERF_LOSS_THROTTLED = 8,  /* the kernel throttled sampling */
	FPERF_LOSS_TABLE_FULL = 9, /* a bounded table of the recorder (stacks, modules) was full */
	FPERF_LOSS_REASONS
};

#endif
