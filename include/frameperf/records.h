/* Session records: what a session file holds, as the reader hands them out and the writer takes them. Their
 * stored form is columns in chunks, see docs/session-format.md; userspace/session/schema.c has one row per
 * field, and a new record type or field is a new row there.
 *
 * Rules: times are CLOCK_MONOTONIC ns. `string` fields are ids of string records, 0 is "". Ids of threads,
 * processes, modules, stacks and markers are session-wide, start at 1, and 0 means none. A value that was not
 * measured has the value the field's comment says.
 */
#ifndef FRAMEPERF_RECORDS_H
#define FRAMEPERF_RECORDS_H

#include "frameperf/reasons.h"

#include <stdint.h>

/* Numbers are stored in files: append only. Dictionary types come first, so that writing pending records in
 * this order never puts a reference before what it refers to. */
enum fperf_record_type {
	FPERF_RECORD_STRING = 1,
	FPERF_RECORD_META = 2,
	FPERF_RECORD_MODULE = 3,
	FPERF_RECORD_PROCESS = 4,
	FPERF_RECORD_THREAD = 5,
	FPERF_RECORD_MAPPING = 6,
	FPERF_RECORD_KERNEL_SYMBOL = 7,
	FPERF_RECORD_JIT_SYMBOL = 8,
	FPERF_RECORD_MARKER = 9,
	FPERF_RECORD_STACK = 10,
	FPERF_RECORD_SOURCE = 11,
	FPERF_RECORD_TASK_EVENT = 12,
	FPERF_RECORD_SAMPLE = 13,
	FPERF_RECORD_OFFCPU = 14,
	FPERF_RECORD_MARK = 15,
	FPERF_RECORD_FREQ = 16,
	FPERF_RECORD_ACCOUNT = 17,
	FPERF_RECORD_LOSS = 18,
	FPERF_RECORD_COUNTER = 19,
	FPERF_RECORD_UNWIND_FAILURE = 20,
	FPERF_RECORD_FUNCTION = 21,
	FPERF_RECORD_FRAME = 22,
	FPERF_RECORD_LEDGER = 23,
	FPERF_RECORD_HOT = 24,
	FPERF_RECORD_SUMMARY = 25,
	FPERF_RECORD_THREAD_STATS = 26,
	FPERF_RECORD_EFFORT = 27,
	FPERF_RECORD_TRIGGER = 28,
	FPERF_RECORD_SNAPSHOT = 29,
	FPERF_RECORD_GAP = 30,
	FPERF_RECORD_TYPES
};

struct fperf_rec_string {
	uint32_t id;
	uint32_t size;
	const char *bytes; /* NUL-terminated by the reader; may hold any bytes */
};

/* Everything that is said once about a session. Keys: see enum-like list in docs/session-format.md, e.g.
 * "host.kernel", "target.name", "label.scene", "start_ns", "end_ns", "end_reason", "sample.period_ns". Values
 * are text; numbers in decimal. A later record with the same key replaces an earlier one. */
struct fperf_rec_meta {
	uint32_t key;	/* string */
	uint32_t value; /* string */
};

enum fperf_module_kind {
	FPERF_MODULE_ELF = 0,	 /* file backed; offset in stacks = file offset */
	FPERF_MODULE_KERNEL = 1, /* offset in stacks = kernel address minus `base` */
	FPERF_MODULE_VDSO = 2,	 /* offset = offset in the vDSO image */
	FPERF_MODULE_ANON =
		3, /* executable memory without a file (JIT); offset in stacks = absolute address */
	FPERF_MODULE_SPECIAL = 4, /* [uprobes], [vsyscall]; offset = absolute address */
};

#define FPERF_BUILD_ID_MAX 32

struct fperf_rec_module {
	uint32_t id;
	uint32_t path;	 /* string: path as the target sees it; "[kernel]", "[vdso]", "[anon]"; never with "
			    (deleted)" */
	uint8_t kind;	 /* enum fperf_module_kind */
	uint8_t deleted; /* 1: the file was unlinked or replaced when it was seen */
	uint8_t build_id_size; /* 0: has none */
	uint8_t build_id[FPERF_BUILD_ID_MAX];
	uint64_t file_size;    /* bytes; 0: not known */
	uint64_t content_hash; /* FNV-1a over the first and last 4096 bytes, only if there is no build ID;
				  else 0 */
	uint64_t base;	       /* kernel only: address of _stext (stacks are relative to it); else 0 */
};

struct fperf_rec_process {
	uint32_t id;
	uint32_t pid;	     /* in the initial PID namespace */
	uint32_t ns_pid;     /* in the target's own PID namespace; 0: not known */
	uint32_t parent;     /* process id (session-wide) of the parent, 0: outside of the recording */
	uint32_t generation; /* exec generation: 0, then one more for each exec */
	uint32_t name;	     /* string: comm */
	uint32_t exe;	     /* string: path of the program, "" when not known */
	uint8_t target;	     /* 1: recorded; 0: mentioned only (waker, preempting task) */
	uint64_t start_ns;   /* first moment of this identity: fork or exec, or process start if before
				recording */
};

struct fperf_rec_thread {
	uint32_t id;
	uint32_t process; /* process id (session-wide) */
	uint32_t tid;
	uint32_t name; /* string: comm when first seen; renames are task events */
	uint64_t start_ns;
};

/* One executable mapping for as long as it existed. May be written when it begins (to_ns 0) and again when it
 * ends: the last record of a (process, start, from_ns) counts. */
struct fperf_rec_mapping {
	uint32_t process;
	uint32_t module;
	uint64_t start; /* address */
	uint64_t end;
	uint64_t file_offset;
	uint64_t from_ns;
	uint64_t to_ns; /* 0: until the end */
};

/* Kernel symbols of this device that stacks refer to. */
struct fperf_rec_kernel_symbol {
	uint64_t address; /* relative to the kernel module's base, modulo 2^64 (modules lie outside the text)
			   */
	uint32_t size;	  /* bytes up to the next symbol, 0: not known */
	uint32_t name;	  /* string */
	uint32_t module;  /* string: kernel module name, "" for the core kernel */
};

/* Names of JIT code from perf-PID.map, captured on the device. */
struct fperf_rec_jit_symbol {
	uint32_t process;
	uint64_t address;
	uint64_t size;
	uint32_t name; /* string */
};

enum fperf_marker_kind {
	FPERF_MARKER_FRAME = 0, /* frame boundary candidate */
	FPERF_MARKER_MARK = 1,
	FPERF_MARKER_SCOPE_BEGIN = 2,
	FPERF_MARKER_SCOPE_END = 3,
};

struct fperf_rec_marker {
	uint32_t id;
	uint8_t kind;	     /* enum fperf_marker_kind */
	uint8_t rank;	     /* frame candidates: 0 is nearest to the driver; lower ranks are preferred */
	uint8_t surface_arg; /* frame candidates: which args[] of a mark names the surface; 255: none */
	uint8_t chosen; /* frame candidates: 1 if the recorder kept it; decided at the end, may be repeated */
	uint32_t name;	/* string: what the user called it, or the symbol */
	uint32_t path;	/* string */
	uint32_t symbol; /* string, "" if given by offset */
	uint64_t offset; /* file offset of the probe */
	uint32_t note;	 /* string: why it was chosen or dropped */
};

enum fperf_frame_kind {
	FPERF_FRAME_RETURN = 0, /* return address: names and rows are looked up at address - 1 */
	FPERF_FRAME_PC = 1,	/* interrupted pc: looked up as it is */
	FPERF_FRAME_GAP = 2, /* stands for the missing middle of a truncated stack; module and offset are 0 */
};

struct fperf_stack_frame {
	uint32_t module; /* module id; 0: address in no known mapping, offset is the address itself */
	uint8_t kind;	 /* enum fperf_frame_kind */
	uint8_t kernel;	 /* 1: kernel stack frame */
	uint16_t reserved;
	uint64_t offset;
};

/* Leaf first: kernel stack frames, then user stack frames. */
struct fperf_rec_stack {
	uint32_t id;
	uint8_t outcome; /* enum fperf_stack_outcome */
	uint32_t count;
	const struct fperf_stack_frame *frames;
};

struct fperf_rec_source {
	uint8_t source;	 /* enum fperf_source */
	uint8_t state;	 /* enum fperf_source_state; the last record of a source counts */
	uint32_t reason; /* string: what it uses, or why it is not there and what to do */
};

enum fperf_task_event {
	FPERF_TASK_RENAME = 0,
	FPERF_TASK_EXIT = 1,
};

struct fperf_rec_task_event {
	uint64_t time_ns;
	uint32_t thread;
	uint8_t event; /* enum fperf_task_event */
	uint32_t name; /* string: the new name (rename) */
	int32_t exit_code;
};

struct fperf_rec_sample {
	uint64_t time_ns;
	uint32_t thread;
	uint32_t stack;
	uint16_t cpu;
	uint8_t kernel;	 /* 1: interrupted in kernel mode */
	uint64_t period; /* ns (cpu-clock) or cycles since the sample before */
};

/* One off-CPU interval. Between two intervals of a thread it was running. */
struct fperf_rec_offcpu {
	uint64_t out_ns;
	uint64_t wake_ns; /* 0: none */
	uint64_t in_ns;
	uint32_t thread;
	uint32_t flags;	 /* FPERF_OFFCPU_* of wire.h, same numbers */
	uint32_t state;	 /* task state bits: 0 runnable, 1 interruptible, 2 uninterruptible, ... */
	int32_t syscall; /* -1: none */
	uint64_t args[3];
	uint16_t cpu_out;
	uint16_t cpu_in;
	uint32_t next;	/* thread id of who took the core; 0: idle or not known */
	uint32_t prev;	/* thread id of who had the core before switch-in: just before, or, if that was for an
			 * instant only, for long since the wake-up; 0: idle or not known */
	uint32_t waker; /* thread id; 0: none, interrupt or not known */
	uint32_t stack; /* stack id; 0: none */
};

struct fperf_rec_mark {
	uint64_t time_ns;
	uint32_t thread;
	uint32_t marker;
	uint16_t cpu;
	uint64_t args[3];
};

struct fperf_rec_freq {
	uint64_t time_ns;
	uint16_t cpu;
	uint8_t kind;	  /* enum fperf_freq_kind of wire.h */
	uint8_t polled;	  /* 1: read from sysfs, 0: from the tracepoint */
	uint32_t khz;	  /* current */
	uint32_t min_khz; /* limits and hardware */
	uint32_t max_khz;
};

/* The kernel's own account of a thread, at the start of recording (or of the thread) and at its end. */
struct fperf_rec_account {
	uint64_t time_ns;
	uint32_t thread;
	uint64_t cpu_ns; /* total since the thread began */
};

struct fperf_rec_loss {
	uint64_t time_ns; /* when it was noticed */
	uint8_t source;	  /* enum fperf_source */
	uint8_t reason;	  /* enum fperf_loss_reason */
	uint64_t count;	  /* since the record before of the same source and reason */
};

enum fperf_counter {
	FPERF_COUNTER_RSS = 0,	       /* bytes, of the target process `process` */
	FPERF_COUNTER_TEMPERATURE = 1, /* millidegrees Celsius, of zone `index` */
	FPERF_COUNTER_POWER = 2,       /* microwatts */
};

struct fperf_rec_counter {
	uint64_t time_ns;
	uint32_t counter; /* enum fperf_counter */
	uint32_t index;	  /* CPU, zone or process id */
	int64_t value;
};

/* Failed unwinds by module and outcome; totals for the session, the last record of a (module, outcome)
 * counts. */
struct fperf_rec_unwind_failure {
	uint32_t module; /* module in which unwinding stopped; 0: none */
	uint8_t outcome; /* enum fperf_stack_outcome */
	uint64_t count;
};

/* ---- what is left of a recording at levels 1 and 0: results instead of events ---- */

/* A function that results refer to. Its name is the one found when the results were worked out; `module` and
 * `offset` are those of one of its stack frames, so that another machine may know better. */
struct fperf_rec_function {
	uint32_t id;
	uint32_t name;	      /* string: "module+0xoffset" when not known */
	uint32_t module_name; /* string: as shown, such as "libc.so.6" */
	uint32_t module;      /* module id; 0: none */
	uint8_t known;	      /* 1: the name is one */
	uint8_t kind;	      /* enum fperf_frame_kind: how offset is looked up */
	uint8_t kernel;	      /* 1: kernel function */
	uint64_t offset;      /* as in struct fperf_stack_frame */
};

#define FPERF_NO_CAUSE 255

/* One frame of the main surface. Everything from `cause` on is its verdict, which only slow frames have. */
struct fperf_rec_frame {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t limited_ns; /* the part spent waiting for the limiter: frame time minus active time */
	uint32_t index;	     /* from 0; one more for each frame */
	uint32_t thread;     /* that presented it */
	uint8_t slow;
	uint8_t cause;	       /* enum fperf_cause of analyze/analysis.h; FPERF_NO_CAUSE: no verdict */
	uint8_t suspect;       /* of a verdict "unknown": the cause with the greatest part; else the cause */
	uint32_t cause_thread; /* thread id */
	uint32_t place;	       /* function id; 0: not known */
	uint32_t leaf;	       /* function id */
	uint32_t by;	       /* thread id; 0: nobody or not known */
	uint32_t by_function;  /* function id */
	uint64_t excess_ns;    /* of the frame's excess, what the cause explains */
	uint64_t cause_ns;     /* how much more of the cause there was than in ordinary frames */
	uint64_t frame_excess_ns;     /* how much longer the frame took than ordinary ones */
	uint32_t slow_khz, usual_khz; /* cause "frequency" only */
};

/* Parts of a frame in which a thread's times are counted. */
#define FPERF_LEDGER_PARTS 4096

/* Where the time of one thread went in one frame, in parts of the frame's time (which add up to `lived`); the
 * states are those of enum fperf_state. */
struct fperf_rec_ledger {
	uint32_t frame; /* index */
	uint32_t thread;
	uint16_t lived; /* of the frame the thread existed */
	uint16_t user, kernel, runnable, preempted, lock, io, fault, gpu, sleep, event, other;
	uint16_t residual; /* of which nothing is known */
};

/* CPU time of a function since the record before; the records of a function add up. Function 0: all the
 * functions that were too small to be told apart. */
struct fperf_rec_hot {
	uint64_t time_ns; /* until when */
	uint32_t function;
	uint64_t self_ns, total_ns;
	uint64_t slow_self_ns, slow_total_ns; /* the part of it in slow frames */
};

/* What is known about a whole recording when its events are not kept. Numbers are stored in files: append
 * only. Shares are in parts per million, frame rates in thousandths. What is not there was not measured. */
enum fperf_fact {
	FPERF_FACT_FRAMES = 1,	     /* presented */
	FPERF_FACT_FRAMES_TIMED = 2, /* frames whose time is known */
	FPERF_FACT_FRAMES_NS = 3,    /* first boundary to last */
	FPERF_FACT_TIME_MEAN_NS = 4,
	FPERF_FACT_TIME_P50_NS = 5,
	FPERF_FACT_TIME_P90_NS = 6,
	FPERF_FACT_TIME_P95_NS = 7,
	FPERF_FACT_TIME_P99_NS = 8,
	FPERF_FACT_TIME_MAX_NS = 9,
	FPERF_FACT_LOW_1PCT = 10,
	FPERF_FACT_LOW_01PCT = 11,
	FPERF_FACT_BUDGET_NS = 12,
	FPERF_FACT_BUDGET_CHOSEN = 13, /* 1: from the frames, 0: given */
	FPERF_FACT_SLOW = 14,
	FPERF_FACT_JANK = 15,
	FPERF_FACT_BIG_JANK = 16,
	FPERF_FACT_TIME_ANOMALIES = 17,
	FPERF_FACT_MARKER = 18,	      /* string: what ends the frames */
	FPERF_FACT_SURFACE = 19,      /* string */
	FPERF_FACT_CAUSE_FRAMES = 20, /* index: cause */
	FPERF_FACT_CAUSE_NS = 21,     /* index: cause; excess */
	FPERF_FACT_CPU_NS = 22,	      /* of all threads of the target */
	FPERF_FACT_SAMPLES = 23,
	FPERF_FACT_SAMPLED_NS = 24,	 /* CPU time that the samples stand for */
	FPERF_FACT_SLOW_SAMPLED_NS = 25, /* the same in slow frames */
	FPERF_FACT_STACKS = 26,		 /* index: outcome of the stacks of samples */
	FPERF_FACT_FREQ_MIN_KHZ = 27,	 /* index: CPU, here and below */
	FPERF_FACT_FREQ_MAX_KHZ = 28,
	FPERF_FACT_FREQ_MEAN_KHZ = 29,
	FPERF_FACT_FREQ_TRANSITIONS = 30,
	FPERF_FACT_FREQ_BELOW_MAX = 31, /* share of the time */
	FPERF_FACT_LOST = 32,	/* index: 256 times source plus reason; level 0, instead of loss records */
	FPERF_FACT_SOURCE = 33, /* index: source; its state; level 0, instead of source records */
	FPERF_FACTS
};

/* The last of a (fact, index) counts. */
struct fperf_rec_summary {
	uint64_t value;
	uint32_t index; /* 0 where the fact has none */
	uint16_t fact;	/* enum fperf_fact */
};

/* A thread over the whole recording; the last of a thread counts. */
struct fperf_rec_thread_stats {
	uint32_t thread;
	uint64_t cpu_ns;
	uint64_t samples, switches;
	uint64_t run_queue_p50_ns, run_queue_p99_ns, run_queue_max_ns;
	uint64_t stacks, stacks_complete; /* of its samples */
};

enum fperf_effort_reason {
	FPERF_EFFORT_START = 0,		/* the recording began: what it costs is not known yet */
	FPERF_EFFORT_OVER_BPF = 1,	/* the BPF programs took more than their budget */
	FPERF_EFFORT_OVER_RECORDER = 2, /* the recorder's own threads and helpers did */
	FPERF_EFFORT_LOW_FPS = 3,	/* the game fell below 25 frames a second */
	FPERF_EFFORT_RECOVERED = 4,	/* neither held any more, for long enough */
	FPERF_EFFORT_FLOOR = 5,		/* over the budget with nothing left to give up */
	FPERF_EFFORT_REASONS
};

#define FPERF_EFFORT_UNKNOWN UINT32_MAX

/* How much recording was allowed to cost changed, from this moment on: one step of the ladder in
 * userspace/capture/effort.c. Shares are in millionths of the CPU time that the budget refers to. */
struct fperf_rec_effort {
	uint64_t time_ns;
	uint8_t step;		  /* 0: everything; each further one gives up something more */
	uint8_t from;		  /* the step before */
	uint8_t reason;		  /* enum fperf_effort_reason */
	uint32_t words;		  /* string: what the step gives up */
	uint32_t bpf_ppm;	  /* cost of the BPF programs before, FPERF_EFFORT_UNKNOWN: not measured */
	uint32_t recorder_ppm;	  /* cost of the recorder before, or FPERF_EFFORT_UNKNOWN */
	uint32_t fps_milli;	  /* the game's frames per 1000 s before, or FPERF_EFFORT_UNKNOWN */
	uint32_t hits_per_sample; /* hits of the sampling event that one sample stands for: the rate is
				   * that asked for, divided by it */
};

/* Why a flight recorder wrote a session. Numbers are stored in files: append only. */
enum fperf_trigger_kind {
	FPERF_TRIGGER_FRAME = 0,     /* a frame took too long */
	FPERF_TRIGGER_STALL = 1,     /* no frame ended for too long, or several in a row were slow */
	FPERF_TRIGGER_HITCHES = 2,   /* too many slow frames in a time */
	FPERF_TRIGGER_MARK = 3,	     /* a scope took too long */
	FPERF_TRIGGER_RUN_QUEUE = 4, /* a thread waited for a core for too long */
	FPERF_TRIGGER_SIGNAL = 5,    /* somebody sent SIGUSR2 */
	FPERF_TRIGGER_COMMAND = 6,   /* `frameperf trigger` */
	FPERF_TRIGGER_WORST = 7,     /* one of the worst frames of a long recording: it is kept in full */
	FPERF_TRIGGER_KINDS
};

/* A trigger fired. */
struct fperf_rec_trigger {
	uint64_t time_ns;  /* when it fired */
	uint64_t since_ns; /* when what it is about began; 0: nothing */
	uint64_t value;	   /* measured, in ns; hitches: how many; 0: nothing was */
	uint64_t limit;	   /* of the rule; 0: none */
	uint32_t number;   /* of the session that it led to, from 1 in one run of the recorder */
	uint32_t rule;	   /* string: as given; "" where there is none */
	uint32_t reason;   /* string: one sentence */
	uint32_t thread;   /* that it is about; 0: none */
	uint8_t kind;	   /* enum fperf_trigger_kind */
	uint8_t first;	   /* 1: the session was written because of it; 0: it came while that was on */
};

enum fperf_snapshot_state {
	FPERF_SNAPSHOT_RUNS = 0,  /* on a core */
	FPERF_SNAPSHOT_READY = 1, /* woken or put aside, waits for a core */
	FPERF_SNAPSHOT_WAITS = 2,
};

/* A thread of the target as it was when a trigger fired. */
struct fperf_rec_snapshot {
	uint64_t time_ns;
	uint64_t since_ns; /* left its core; running: when the stack was taken; 0: not known */
	uint32_t thread;
	uint32_t stack;	 /* 0: none */
	uint32_t owner;	 /* thread that holds the lock that this one waits for; 0: not known or no lock */
	uint32_t waker;	 /* thread that woke it, of one that is ready; 0: none or not known */
	uint8_t state;	 /* enum fperf_snapshot_state */
	int32_t syscall; /* -1: none */
	uint64_t args[2];
};

/* A time of which events are not kept. A frame that lies across it has no time. */
struct fperf_rec_gap {
	uint64_t from_ns, to_ns;
};

#endif
