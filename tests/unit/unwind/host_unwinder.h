/* The BPF unwinder as ordinary C, over memory that a test provides. */
#ifndef TESTS_HOST_UNWINDER_H
#define TESTS_HOST_UNWINDER_H

#include "frameperf/unwind_row.h"
#include "unwind/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host_memory {
	/* Copies `size` bytes of the unwound process's memory; false when they cannot be read. */
	bool (*read)(void *context, uint64_t address, void *to, size_t size);
	void *context;
};

struct host_registers {
	uint64_t pc, sp, fp, lr;
	bool leaf; /* `all` holds the other registers, by DWARF number */
	const uint64_t *all;
};

struct host_stack {
	uint64_t frames[FPERF_USER_DEPTH]; /* with FPERF_WIRE_PC_BIT */
	uint32_t count, total, outcome, gap;
	uint64_t failed_at;
	uint64_t sp, fp; /* after the last step */
	bool fp_lost;
	uint64_t bx;
	bool bx_lost;
};

struct host_unwinder;

struct host_unwinder *host_unwinder_new(void);
void host_unwinder_free(struct host_unwinder *host);

/* The module's rows are copied. `table` NULL: memory without rows. Mappings may come in any order. */
void host_unwinder_map(struct host_unwinder *host, uint64_t start, uint64_t end, uint64_t file_offset,
		       const struct fperf_unwind_table *table);
void host_unwinder_set_missing(struct host_unwinder *host,
			       uint64_t start); /* the table of this mapping is gone */
/* The rule that the unwinder finds for an address, by way of its cache when it is there. */
uint32_t host_unwinder_lookup(struct host_unwinder *host, uint64_t address);
void host_unwinder_new_generation(struct host_unwinder *host);
void host_unwinder_mode(struct host_unwinder *host, unsigned int mode);

/* At most `limit` steps. */
void host_unwinder_run(struct host_unwinder *host, const struct host_memory *memory,
		       const struct host_registers *registers, uint32_t limit, struct host_stack *stack);

/* One step by this rule, whatever the tables say. 1: `stack` has the caller in frames[0], sp and fp. */
int host_unwinder_rule(const struct host_memory *memory, const struct host_registers *registers,
		       uint32_t rule, struct host_stack *stack);

#endif
