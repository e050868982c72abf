/* Keys of meta records, and who writes them. Values are text, numbers in decimal. Keys may be added; these
 * keep their meaning. A key whose value could not be had is left out. */
#ifndef FRAMEPERF_META_H
#define FRAMEPERF_META_H

/* Written by the session writer. */
#define FPERF_META_SESSION_ID "session.id" /* 32 hexadecimal digits: the UUID of the file header */

/* Written by the record command. */
#define FPERF_META_LEVEL	    "level"
#define FPERF_META_HOST_KERNEL	    "host.kernel" /* uname release */
#define FPERF_META_HOST_ARCH	    "host.arch"	  /* uname machine */
#define FPERF_META_HOST_CPUS	    "host.cpus"	  /* online at start */
#define FPERF_META_HOST_MODEL	    "host.model"  /* device or CPU model */
#define FPERF_META_LABEL_PREFIX	    "label."	  /* followed by the user's key */
#define FPERF_META_RECORDER	    "recorder.version"
#define FPERF_META_CONFIG_FREQUENCY "config.frequency_hz" /* as asked for */
#define FPERF_META_CONFIG_UNWIND    "config.unwind"	  /* "auto", "fp", "table", "dump", "check" */
#define FPERF_META_CONFIG_FRAME	    "config.frame"	  /* "auto", "off" or PATH:SYMBOL */
#define FPERF_META_RECORDER_CPU_NS  "overhead.recorder_cpu_ns"
#define FPERF_META_RECORDER_MAX_RSS "overhead.recorder_max_rss_bytes"

#define FPERF_META_MEMORY_PEAK "target.memory_peak_bytes" /* largest resident memory of the target */

/* Written by capture. */
#define FPERF_META_START_NS	    "start_ns" /* CLOCK_MONOTONIC */
#define FPERF_META_END_NS	    "end_ns"
#define FPERF_META_END_REASON	    "end_reason" /* "target ended", "duration", "interrupted", ... */
#define FPERF_META_BOOTTIME_OFFSET  "clock.boottime_offset_ns" /* add to CLOCK_MONOTONIC */
#define FPERF_META_REALTIME_OFFSET  "clock.realtime_offset_ns" /* add to CLOCK_MONOTONIC: ns since 1970 */
#define FPERF_META_TARGET_PID	    "target.pid"
#define FPERF_META_TARGET_NAME	    "target.name"      /* comm */
#define FPERF_META_TARGET_EXE	    "target.exe"       /* path of the program */
#define FPERF_META_SAMPLE_PERIOD_NS "sample.period_ns" /* nominal */
#define FPERF_META_SAMPLE_EVENT	    "sample.event"     /* "cycles" or "cpu-clock" */
#define FPERF_META_BPF_NS	    "overhead.bpf_ns"  /* run time of our BPF programs */

#define FPERF_META_OVERHEAD_BUDGET "overhead.budget_percent" /* left out: there is none */
#define FPERF_META_OVERHEAD_CPUS                                                                             \
	"overhead.cpus" /* percents of the budget are of the time of so many CPUs                            \
			 */
#define FPERF_META_OVERHEAD_BY	   "overhead.bpf_by"	/* "kernel" measured overhead.bpf_ns; "estimate" */
#define FPERF_META_OVERHEAD_SAMPLE "overhead.sample_ns" /* one whole sample, calibrated at the start */
#define FPERF_META_OVERHEAD_SWITCH "overhead.switch_ns" /* one switch, calibrated at the start */

/* Written by aggregate when it finishes: counts of struct fperf_aggregate_stats. */
#define FPERF_META_STACKS	       "aggregate.stacks"
#define FPERF_META_STACK_LOOKUPS       "aggregate.stack_lookups"
#define FPERF_META_FIRST_LEVEL_HITS    "aggregate.first_level_hits"
#define FPERF_META_SECOND_LEVEL_HITS   "aggregate.second_level_hits"
#define FPERF_META_SECOND_LEVEL_PROBES "aggregate.second_level_probes"
#define FPERF_META_SECOND_LEVEL_SLOTS  "aggregate.second_level_slots"
#define FPERF_META_HASH_COLLISIONS     "aggregate.hash_collisions"
#define FPERF_META_STACKS_LOST	       "aggregate.stacks_lost"

/* Written by capture's unwind source when it stops. */
#define FPERF_META_UNWIND_STACKS "unwind.stacks" /* user stacks walked in BPF */
#define FPERF_META_UNWIND_FRAMES "unwind.frames" /* stack frames of them */
#define FPERF_META_UNWIND_CACHE_MISSES                                                                       \
	"unwind.cache_misses"				     /* stack frames whose rule had to be searched   \
							      */
#define FPERF_META_UNWIND_DUMPS	       "unwind.dumps"	     /* copies of stacks, unwound by libdw */
#define FPERF_META_UNWIND_ROWS	       "unwind.rows"	     /* loaded at the end */
#define FPERF_META_UNWIND_TABLE_BYTES  "unwind.table_bytes"  /* memory of the loaded tables */
#define FPERF_META_UNWIND_BUILT	       "unwind.built"	     /* tables compiled from .eh_frame */
#define FPERF_META_UNWIND_FROM_CACHE   "unwind.from_cache"   /* tables read from the cache on disk */
#define FPERF_META_UNWIND_WITHOUT_ROWS "unwind.without_rows" /* modules without unwind information */
#define FPERF_META_UNWIND_EVICTED      "unwind.evicted" /* tables dropped because of the bound of memory */
#define FPERF_META_UNWIND_NO_ROOM      "unwind.no_room" /* processes with too many mappings */

/* The same, of --unwind check: user stacks found in BPF beside what libdw makes of a copy of them. */
#define FPERF_META_UNWIND_CHECK_EQUAL	"unwind.check.equal"   /* every stack frame */
#define FPERF_META_UNWIND_CHECK_SHORTER "unwind.check.shorter" /* as far as ours goes */
#define FPERF_META_UNWIND_CHECK_LONGER	"unwind.check.longer"  /* as far as libdw's goes */
#define FPERF_META_UNWIND_CHECK_GUESSED                                                                      \
	"unwind.check.guessed" /* differ behind code without unwind information, of which libdw only guesses \
				*/
#define FPERF_META_UNWIND_CHECK_WRONG "unwind.check.wrong"
#define FPERF_META_UNWIND_CHECK_FIRST "unwind.check.first_wrong" /* text, only if there is one */

#endif
