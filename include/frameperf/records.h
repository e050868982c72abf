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

#endif
