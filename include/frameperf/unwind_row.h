/* Compact unwind rows: what userspace/unwind compiles from .eh_frame and what the unwinder (BPF and host)
 * walks. Never stored in sessions; the disk cache of tables carries FPERF_UNWIND_VERSION.
 *
 * A row says how to unwind from every text offset between its own and the next row's. Offsets are offsets in
 * the module's file, so that "address - mapping start + mapping file offset" needs nothing from the ELF
 * headers.
 *
 * A rule packs into 32 bits:
 *
 *   bits  0-3   enum fperf_rule_kind: how the canonical frame address (CFA) is found
 *   bits  4-5   arm64: enum fperf_rule_ra, where the return address is
 *   bits  4-5,7 x86-64: where the caller's rbx is, FPERF_RULE_BX_*; in FPERF_RULE_LARGE bits 4-5 only
 *   bit   6     signal frame: the address found is an interrupted pc, not a return address
 *   bit   7     FPERF_RULE_LARGE only: the base is fp, not sp
 *   bits  8-15  where the caller's fp is, FPERF_RULE_FP_*
 *   bits 16-31  offset, signed, in units of 8 bytes
 *
 * Kinds that use bits 8-31 in another way say so below.
 */
#ifndef FRAMEPERF_UNWIND_ROW_H
#define FRAMEPERF_UNWIND_ROW_H

#include "frameperf/wire.h"

#define FPERF_UNWIND_VERSION 3

enum fperf_rule_kind {
	FPERF_RULE_NONE = 0,  /* no unwind information covers this text */
	FPERF_RULE_SP = 1,    /* CFA = sp + offset */
	FPERF_RULE_FP = 2,    /* CFA = fp + offset */
	FPERF_RULE_LARGE = 3, /* CFA = sp or fp + offset: bits 11-31 hold it unsigned in units of 8, bits 8-10
				 a short form of the fp rule, FPERF_RULE_SHORT_* */
	FPERF_RULE_SP_DEREF =
		4, /* CFA = *(sp + a) + b: bits 16-26 a (signed), 27-31 b (unsigned), units of 8 */
	FPERF_RULE_FP_DEREF = 5, /* CFA = *(fp + a) + b, the same */
	FPERF_RULE_PLT = 6,	 /* CFA = sp + 8, and 8 more when (pc & 15) >= offset field */
	FPERF_RULE_REGISTER = 7, /* CFA = another register + offset, known in the interrupted function only:
				    bits 16-20 DWARF register, 21-31 offset (signed, units of 8) */
	FPERF_RULE_SIGNAL = 8,	 /* signal trampoline: everything comes from the saved context at sp */
	FPERF_RULE_END = 9,	 /* the thread starts here: no caller */
	FPERF_RULE_UNSUPPORTED = 10, /* valid unwind information that a rule cannot express */
	/* Made by the unwinder itself, never in tables. */
	FPERF_RULE_NO_ROWS = 11,  /* executable memory without rows (JIT): step by frame pointer */
	FPERF_RULE_MISSING = 12,  /* the module's table is not there (yet, or any more) */
	FPERF_RULE_UNMAPPED = 13, /* no executable mapping holds this address */
	FPERF_RULE_KINDS
};

enum fperf_rule_ra {
	FPERF_RULE_RA_DEFAULT = 0, /* x86-64, always: at CFA - 8; arm64: still in the link register */
	FPERF_RULE_RA_NEXT_FP = 1, /* at the slot of the caller's fp + 8 (arm64 frame record) */
	FPERF_RULE_RA_FP_SLOT = 2, /* at the slot that the fp field names; fp itself is unchanged */
};

/* rbx is the one other register whose value further up is wanted: the dynamic linker's resolver, which every
 * first call through a lazy PLT enters, computes its CFA from it. 1..6 is "saved at CFA - 8 * (n + 1)". */
#define FPERF_RULE_BX_SAME	 0u
#define FPERF_RULE_BX_SLOTS	 6u
#define FPERF_RULE_BX_LOST	 7u
#define FPERF_RULE_BX_LARGE_LOST 3u /* the same in FPERF_RULE_LARGE, which knows only this and SAME */

#define FPERF_RULE_SIGNAL_FRAME (1u << 6)
#define FPERF_RULE_BASE_FP	(1u << 7)

/* The fp field: 1..252 is "saved at CFA - 8 * n". */
#define FPERF_RULE_FP_SAME    0u   /* unchanged */
#define FPERF_RULE_FP_SLOTS   252u /* highest n */
#define FPERF_RULE_FP_AT_BASE 253u /* saved where the CFA's base register points */
#define FPERF_RULE_FP_AT_FP   254u /* saved where fp points */
#define FPERF_RULE_FP_LOST    255u /* undefined, or saved in a way that the field cannot express */

/* The short form in FPERF_RULE_LARGE: 1..5 is "saved at CFA - 8 * (n + 1)". */
#define FPERF_RULE_SHORT_SAME	 0u
#define FPERF_RULE_SHORT_SLOTS	 5u
#define FPERF_RULE_SHORT_AT_BASE 6u
#define FPERF_RULE_SHORT_LOST	 7u

struct fperf_unwind_row {
	fperf_u32 offset; /* file offset of the first byte that the rule is for */
	fperf_u32 rule;
};

/* The unwinder's view of the tables: one linear space of 8-byte cells, cut into shards of
 * FPERF_UNWIND_SHARD_CELLS. A module has `index_count` 32-bit index entries, two to a cell, then its rows,
 * one to a cell; both may cross from a shard to the next. Entry i of the index is the number of the last row
 * whose offset is at or before first + (i << shift); a row for an offset x of block b lies between entries b
 * and b + 1.
 */
#define FPERF_UNWIND_SHARD_BITS	 16
#define FPERF_UNWIND_SHARD_CELLS (1u << FPERF_UNWIND_SHARD_BITS)
#define FPERF_UNWIND_SHARDS	 512 /* 256 MiB of cells at most; the recorder's own bound is lower */
#define FPERF_UNWIND_MODULES	 8192
#define FPERF_UNWIND_MAPPINGS	 65536 /* of all processes together */
#define FPERF_UNWIND_PROCESSES	 16384
#define FPERF_UNWIND_CACHE_SLOTS 32768 /* a power of two */

enum fperf_unwind_module_state {
	FPERF_UNWIND_MODULE_MISSING = 0, /* not built yet, evicted, or could not be read */
	FPERF_UNWIND_MODULE_LOADED = 1,
	FPERF_UNWIND_MODULE_NO_ROWS = 2, /* is known to have no unwind information */
};

struct fperf_unwind_module {
	fperf_u32 state;      /* enum fperf_unwind_module_state */
	fperf_u32 first;      /* file offset of the first row */
	fperf_u32 end;	      /* file offset behind the last row's reach */
	fperf_u32 shift;      /* log2 of the bytes of a block */
	fperf_u32 index_cell; /* cell where the index begins */
	fperf_u32 index_count;
	fperf_u32 row_cell; /* cell of row 0 */
	fperf_u32 row_count;
	fperf_u64 used_ns; /* written by the unwinder when it searches the module: shows which are cold */
};

#define FPERF_UNWIND_NO_MODULE 0xffffffffu /* executable memory that no file backs */

struct fperf_unwind_mapping {
	fperf_u64 start, end;
	fperf_u64 delta;  /* address - delta = file offset */
	fperf_u32 module; /* slot in the module array, or FPERF_UNWIND_NO_MODULE */
	fperf_u32 reserved;
};

/* Mappings of a process: a sorted run in the mapping array. A new run is written elsewhere, then this entry
 * is replaced. The generation changes whenever an address may mean something else than before, so that what
 * is cached for the old one is never found. */
struct fperf_unwind_process {
	fperf_u32 first;
	fperf_u32 count;
	fperf_u32 generation; /* never 0 */
	fperf_u32 reserved;
};

/* Both words must match: the first is address and 16 bits of the generation, the second the rule and 32 bits
 * of a hash over all of address and generation. Two CPUs that write at once leave a pair that fits neither.
 */
struct fperf_unwind_cache_slot {
	fperf_u64 key;
	fperf_u32 rule;
	fperf_u32 check;
};

struct fperf_unwind_stats { /* per CPU */
	fperf_u64 stacks, frames;
	fperf_u64 misses; /* of the cache */
};

_Static_assert(sizeof(struct fperf_unwind_row) == 8, "unwind row");
_Static_assert(sizeof(struct fperf_unwind_module) == 40, "unwind module");
_Static_assert(sizeof(struct fperf_unwind_mapping) == 32, "unwind mapping");
_Static_assert(sizeof(struct fperf_unwind_process) == 16, "unwind process");
_Static_assert(sizeof(struct fperf_unwind_cache_slot) == 16, "unwind cache slot");

#endif
